"""A user's own similarity matrix: what is taken and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie import Ensemble, ParameterError
from coterie.evidence.given import checked_similarity, given_similarity
from tests.strategies import ensembles


@given(ensemble=ensembles(max_samples=10), seed=st.integers(0, 100))
def test_matrices_of_samples_are_compressed_without_loss(ensemble, seed):
    rng = np.random.default_rng(seed)
    values = rng.random((ensemble.n_microclusters, ensemble.n_microclusters))
    values = (values + values.T) / 2
    rows = ensemble.inverse
    matrix = values[np.ix_(rows, rows)]
    np.fill_diagonal(matrix, 0.9)
    between, own = given_similarity(ensemble, matrix)
    again = between[np.ix_(rows, rows)]
    np.fill_diagonal(again, own[rows])
    np.testing.assert_array_equal(again, matrix)


def test_matrices_of_microclusters_are_taken_as_they_are():
    ensemble = Ensemble.from_labels([[0], [0], [1]])
    between, own = given_similarity(ensemble, [[0.6, 0.1], [0.1, 0.8]])
    assert between.tolist() == [[0.6, 0.1], [0.1, 0.8]]
    assert own.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.ones((2, 3)), r"square matrix of similarities, but has shape \(2, 3\)"),
        (np.zeros((0, 0)), "square matrix"),
        ([[1.0, np.nan], [np.nan, 1.0]], "finite, but row 0, column 1 is nan"),
        ([[1.0, 0.2], [0.3, 1.0]], r"symmetric, but row 0, column 1 is 0.2 and .* is 0.3"),
        ([[1.0, -0.5], [-0.5, 1.0]], r"in \[0, 1\], but ranges from -0.5 to 1"),
        ([[5.0, 0.5], [0.5, 5.0]], r"ranges from 0.5 to 5; rescale"),
    ],
)
def test_what_is_no_similarity_is_refused(matrix, words):
    with pytest.raises(ParameterError, match=words):
        checked_similarity(matrix, "evidence")


def test_a_matrix_that_splits_a_microcluster_is_refused():
    ensemble = Ensemble.from_labels([[0], [0], [1]])
    matrix = np.array([[1.0, 0.7, 0.1], [0.7, 1.0, 0.4], [0.1, 0.4, 1.0]])
    with pytest.raises(ParameterError, match="differs between samples that have the same labels"):
        given_similarity(ensemble, matrix)


def test_a_matrix_of_another_size_is_refused():
    with pytest.raises(ParameterError, match=r"3 x 3 .samples. or 2 x 2 .microclusters."):
        given_similarity(Ensemble.from_labels([[0], [0], [1]]), np.eye(5))
