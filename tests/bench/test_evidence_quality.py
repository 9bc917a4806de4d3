"""Evidence against classes: equal to listing all pairs of samples."""

from __future__ import annotations

import numpy as np
import pytest

from coterie import Ensemble, MemoryBudgetError, ParameterError
from coterie.evaluate.external import contingency_table
from coterie.evidence import coassociation
from coterie_bench import evidence_quality as module
from coterie_bench.evidence_quality import evidence_quality
from tests.naive import pairs as naive


def drawn(seed, n=60, m=5, missing=0.0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, (n, m))
    labels[rng.random((n, m)) < missing] = -1
    labels[(labels < 0).all(axis=1), 0] = 0
    return labels, rng.integers(0, 4, n)


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("levels", [1, 5, 7])
@pytest.mark.parametrize("weights", [[1] * 5, [1, 2, 3, 5, 7]])
def test_equal_to_all_pairs_listed(missing, levels, weights, monkeypatch):
    # several blocks, the last one not full
    monkeypatch.setattr(module, "BLOCK", 7)
    labels, classes = drawn(levels, missing=missing)
    ensemble = Ensemble.from_labels(labels, member_weight=weights)
    found = evidence_quality(ensemble, classes, levels=levels)
    pairs, together = naive.evidence_quality(labels, classes, levels, weights)
    assert found.pairs.tolist() == pairs
    assert found.together.tolist() == together
    assert found.values.tolist() == [level / levels for level in range(levels + 1)]


def test_every_member_count_has_a_level_by_default_and_many_members_share():
    labels, classes = drawn(1)
    assert len(evidence_quality(Ensemble.from_labels(labels), classes).values) == 6
    labels, classes = drawn(1, m=51)
    assert len(evidence_quality(Ensemble.from_labels(labels), classes).values) == 21


def test_one_member_is_a_partition():
    labels, classes = drawn(2, m=1)
    found = evidence_quality(Ensemble.from_labels(labels), classes)
    table = contingency_table(classes, labels[:, 0])
    both = (table.data * (table.data - 1)).sum() / 2
    apart = [sizes @ (sizes - 1) / 2 for sizes in (table.sum(axis=0), table.sum(axis=1))]
    assert found.precision[1] == both / apart[0]
    assert found.recall[1] == both / apart[1]


def test_weights_are_samples_given_more_than_once():
    labels, classes = drawn(3)
    times = np.random.default_rng(4).integers(1, 4, len(labels))
    weighted = evidence_quality(Ensemble.from_labels(labels, sample_weight=times), classes)
    repeated = evidence_quality(
        Ensemble.from_labels(np.repeat(labels, times, axis=0)), np.repeat(classes, times)
    )
    assert weighted.pairs.tolist() == repeated.pairs.tolist()
    assert weighted.together.tolist() == repeated.together.tolist()


def test_shares_are_those_of_the_definition():
    labels, classes = drawn(5)
    found = evidence_quality(Ensemble.from_labels(labels), classes)
    assert found.share.sum() == pytest.approx(1)
    assert found.recall[0] == 1
    assert (np.diff(found.recall) <= 0).all()
    for level in range(len(found.values)):
        above = slice(level, None)
        assert found.precision[level] == pytest.approx(
            found.together[above].sum() / found.pairs[above].sum()
        )
    assert found.precision_at == pytest.approx(found.together / found.pairs)


def test_what_is_not_there_has_no_share():
    found = evidence_quality(Ensemble.from_labels([[0, 0], [1, 1]]), ["a", "b"])
    assert found.pairs.tolist() == [1, 0, 0]
    assert np.isnan(found.precision).tolist() == [False, True, True]
    assert np.isnan(found.recall).all()
    alone = evidence_quality(Ensemble.from_labels([[0, 0]]), ["a"])
    assert np.isnan(alone.share).all()


def test_a_matrix_takes_the_place_of_the_coassociation():
    labels, classes = drawn(6)
    ensemble = Ensemble.from_labels(labels)
    given = evidence_quality(ensemble, classes, coassociation(ensemble))
    own = evidence_quality(ensemble, classes)
    assert given.pairs.tolist() == own.pairs.tolist()
    flat = evidence_quality(ensemble, classes, np.zeros((ensemble.n_microclusters,) * 2), levels=2)
    assert flat.pairs.tolist() == [60 * 59 / 2, 0, 0]


def test_refusals():
    labels, classes = drawn(7)
    ensemble = Ensemble.from_labels(labels)
    n = ensemble.n_microclusters
    with pytest.raises(ValueError, match="classes has 3 labels, but the ensemble has 60 samples"):
        evidence_quality(ensemble, [0, 1, 2])
    with pytest.raises(ParameterError, match="levels must be a whole number of at least 1"):
        evidence_quality(ensemble, classes, levels=0)
    with pytest.raises(ParameterError, match=rf"per microcluster \({n} x {n}\), but has shape"):
        evidence_quality(ensemble, classes, np.eye(3))
    wrong = np.eye(n)
    wrong[2, 1] = np.nan
    with pytest.raises(ParameterError, match=r"lie in \[0, 1\], but entry \(2, 1\) is nan"):
        evidence_quality(ensemble, classes, wrong)
    wrong[2, 1] = 0.5
    with pytest.raises(ParameterError, match="matrix must be symmetric"):
        evidence_quality(ensemble, classes, wrong)
    with pytest.raises(MemoryBudgetError):
        evidence_quality(ensemble, classes, memory_budget=1000)
