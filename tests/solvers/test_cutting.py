"""Any number of components becomes exactly the number of clusters asked for."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from coterie import Ensemble
from coterie.numerics.partitions import by_first_appearance
from coterie.solvers.cutting import finish_partition, finished, warn_if_unfinished
from tests.strategies import ensembles


@given(ensemble=ensembles(), data=st.data())
def test_exactly_and_only_by_merging_or_splitting(ensemble, data):
    n = ensemble.n_microclusters
    components = by_first_appearance(
        np.array(data.draw(st.lists(st.integers(0, 4), min_size=n, max_size=n)))
    )
    n_clusters = data.draw(st.integers(1, n))
    labels = finish_partition(ensemble, components, n_clusters)
    assert len(np.unique(labels)) == n_clusters
    found = len(np.unique(components))
    joint = len(np.unique(np.column_stack([components, labels]), axis=0))
    # merging keeps components whole, splitting keeps clusters inside components
    assert joint == max(found, n_clusters)


def test_merges_by_the_learned_matrix_first():
    ensemble = Ensemble.from_labels([[0, 0], [1, 0], [2, 1]])
    learned = np.zeros((3, 3))
    learned[0, 2] = learned[2, 0] = 0.5
    rows = ensemble.inverse
    labels = finish_partition(
        ensemble, np.arange(3), 2, similarity=learned[np.argsort(rows)][:, np.argsort(rows)]
    )[rows]
    assert labels[0] == labels[2] != labels[1]


def test_merges_by_co_association_where_nothing_was_learned():
    ensemble = Ensemble.from_labels([[0, 0], [1, 0], [2, 1]])
    labels = finish_partition(ensemble, np.arange(3), 2, similarity=np.zeros((3, 3)))
    assert by_first_appearance(labels[ensemble.inverse]).tolist() == [0, 0, 1]


def test_splits_by_the_embedding_first_then_by_the_labels():
    ensemble = Ensemble.from_labels([[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 2]])
    one = np.zeros(4, dtype=np.int64)
    position = np.array([[0.0], [5.0], [0.1], [5.1]])[np.argsort(ensemble.inverse)]
    by_embedding = finish_partition(ensemble, one, 2, embedding=position)[ensemble.inverse]
    assert by_first_appearance(by_embedding).tolist() == [0, 1, 0, 1]
    by_labels = finish_partition(ensemble, one, 2, embedding=np.ones((4, 1)))[ensemble.inverse]
    assert by_first_appearance(by_labels).tolist() == [0, 0, 1, 1]


def test_one_warning_that_says_what_happened():
    with pytest.warns(ConvergenceWarning, match="arrived at 7 components instead of 3.*merged"):
        warn_if_unfinished("SPCE", True, 7, 3, 20, "Lower theta.")
    with pytest.warns(ConvergenceWarning, match="did not converge in 20 passes.*or lower theta"):
        warn_if_unfinished("SPCE", False, 3, 3, 20, "Lower theta.")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_if_unfinished("SPCE", True, 3, 3, 20, "Lower theta.")


def test_an_iterative_solver_ends_with_the_same_attributes():
    class Toy:
        n_clusters, max_iter = 2, 7

    ensemble = Ensemble.from_labels([[0, 0], [1, 0], [2, 1]])
    history = [{"pass": 1, "objective": 3.0, "residual": 0.5}]
    with pytest.warns(ConvergenceWarning, match="Toy arrived at 3 components .* Do this"):
        partition = finished(
            Toy(), ensemble, np.arange(3), history, converged=True, advice="Do this.",
            member_weights=np.ones(2), by_sample={"a_": np.zeros(3)}, other={"objective_": 4.0},
        )  # fmt: skip
    assert len(np.unique(partition.labels)) == 2
    assert partition.history == tuple(history)
    assert set(partition.by_sample) == {"component_labels_", "a_"}
    assert partition.other == {"n_components_": 3, "objective_": 4.0, "residual_": 0.5}
