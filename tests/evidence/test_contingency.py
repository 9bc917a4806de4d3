"""How base clusters overlap: all at once, some members at a time, and within the memory budget."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

from coterie import Ensemble
from coterie.core.errors import MemoryBudgetError
from coterie.evidence import contingency
from coterie.evidence.contingency import ENTRY_BYTES, contingency_by_members

# the package has the function under the module's name
MODULE = import_module("coterie.evidence.contingency")


@pytest.fixture
def ensemble():
    rng = np.random.default_rng(0)
    labels = rng.integers(-1, 4, size=(30, 7))
    labels[0] = 0
    return Ensemble.from_labels(labels, sample_weight=rng.integers(1, 5, 30))


def shared(ensemble):
    """Weights of the samples in both of each two base clusters, counted sample by sample."""
    rows = ensemble.incidence.toarray()[ensemble.inverse] > 0
    return np.array(
        [[ensemble.sample_weight[a & b].sum() for b in rows.T] for a in rows.T], dtype=float
    )


def test_it_counts_the_samples_in_both(ensemble):
    np.testing.assert_array_equal(contingency(ensemble).toarray(), shared(ensemble))


@pytest.mark.parametrize(("at_a_time", "pieces"), [(0, 7), (1, 7), (2, 4), (3, 3), (6, 2), (7, 1)])
def test_members_at_a_time_give_its_rows(ensemble, monkeypatch, at_a_time, pieces):
    monkeypatch.setattr(MODULE, "ENTRIES", at_a_time * ensemble.incidence.nnz)
    found = [*contingency_by_members(ensemble)]
    assert len(found) == pieces
    assert [place.start for place, _ in found][1:] == [place.stop for place, _ in found][:-1]
    rows = np.concatenate([part.toarray() for _, part in found])
    np.testing.assert_array_equal(rows, shared(ensemble))
    assert (found[0][0].start, found[-1][0].stop) == (0, ensemble.n_base_clusters)


def test_members_are_taken_one_by_one_where_all_would_not_fit(ensemble, monkeypatch):
    monkeypatch.setattr(MODULE, "ENTRIES", 2 * ensemble.incidence.nnz - 1)
    assert len([*contingency_by_members(ensemble)]) == ensemble.n_members


def test_what_it_takes_is_asked_for_first(ensemble):
    needed = int(ENTRY_BYTES) * ensemble.n_base_clusters**2
    assert contingency(ensemble, memory_budget=needed).shape[0] == ensemble.n_base_clusters
    with pytest.raises(MemoryBudgetError, match="overlaps of k = "):
        contingency(ensemble, memory_budget=needed - 1)
