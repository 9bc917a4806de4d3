"""Any number of components becomes exactly the number of clusters asked for."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from coterie import Ensemble, LabelConsensus, Partition
from coterie.numerics.partitions import by_first_appearance
from coterie.solvers.cutting import bipartite_components, finish_partition
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


class Toy(LabelConsensus):
    """Returns the partition that it is given."""

    def __init__(self, n_clusters=None, *, max_iter=20, answer=None, random_state=None):
        self.n_clusters = n_clusters
        self.max_iter = max_iter
        self.answer = answer
        self.random_state = random_state

    def _solve(self, ensemble, rng):
        return self.answer


def test_one_warning_that_says_what_happened():
    labels, advice = [[0, 0], [1, 0], [2, 1]], "Lower theta."
    two = Partition(np.array([0, 1, 1]), advice=advice)
    three = replace(two, labels=np.arange(3))
    with pytest.warns(ConvergenceWarning, match="Toy arrived at 3 components instead of 2.*merged"):
        assert Toy(2, answer=three).fit(labels).n_clusters_ == 2
    with pytest.warns(
        ConvergenceWarning, match="Toy did not converge in 20 passes.*or lower theta"
    ):
        Toy(2, answer=replace(two, converged=False)).fit(labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Toy(2, answer=two).fit(labels)
        Toy(2, answer=replace(two, converged=False, advice=None)).fit(labels)
        assert (
            Toy(2, answer=replace(three, converged=False, advice="")).fit(labels).n_clusters_ == 2
        )


def test_the_warning_points_to_the_caller_of_fit():
    answer = Partition(np.array([0, 1]), converged=False, advice="Do this.")
    with pytest.warns(ConvergenceWarning) as caught:
        Toy(2, answer=answer).fit([[0], [1]])
    assert caught[0].filename == __file__


def test_every_method_ends_with_the_same_attributes():
    history = [{"pass": 1, "objective": 3.0, "residual": 0.5}]
    answer = Partition(np.array([0, 1, 2]), history=history, advice="")
    model = Toy(2, answer=answer).fit([[0, 0], [1, 0], [2, 1]])
    assert (model.n_clusters_, model.n_components_) == (2, 3)
    assert (model.objective_, model.residual_, model.n_iter_) == (3.0, 0.5, 1)
    plain = Toy(2, answer=Partition(np.array([0, 1, 1]))).fit([[0, 0], [1, 0], [2, 1]])
    assert plain.n_components_ == 2
    np.testing.assert_array_equal(by_first_appearance(plain.component_labels_), plain.labels_)
    assert not hasattr(plain, "objective_")


def test_rows_are_connected_through_columns():
    links = np.array([[0.5, 0.0, 0.0], [0.0, 0.0, 0.0], [0.1, 0.2, 0.0], [0.0, 0.0, 1.0]])
    assert bipartite_components(links).tolist() == [0, 1, 0, 2]
