"""The weighted chain against SciPy without ties, and against plain agglomeration with them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform

from coterie.numerics.linkage import Dendrogram, weighted_linkage
from tests.naive import linkage as naive
from tests.naive.rows import same_partition
from tests.strategies import dissimilarities

METHODS = ["average", "complete", "single"]


def random_matrix(rng, n):
    upper = np.triu(rng.random((n, n)), 1)
    return upper + upper.T


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", range(5))
def test_sizes_are_what_scipy_makes_of_repeated_rows(method, seed):
    rng = np.random.default_rng(seed)
    n = 30
    sizes = rng.integers(1, 5, n)
    matrix = random_matrix(rng, n)
    item = np.repeat(np.arange(n), sizes)
    long = matrix[np.ix_(item, item)]
    reference = linkage(squareform(long), method)
    dendrogram = weighted_linkage(matrix, sizes.astype(float), method)
    # repeated items merge at height 0, before all others
    assert np.allclose(reference[-(n - 1) :, 2], dendrogram.heights, atol=1e-9)
    for c in (1, 2, 3, 7, n - 1, n):
        expected = cut_tree(reference, n_clusters=c)[:, 0]
        assert same_partition(dendrogram.cut(c)[item], expected)


@pytest.mark.parametrize("method", METHODS)
@given(case=dissimilarities(max_items=9, levels=3))
def test_ties_go_as_in_plain_agglomeration(method, case):
    matrix, sizes = case
    n = len(sizes)
    thirds = [[Fraction(round(3 * value), 3) for value in row] for row in matrix]
    found = naive.merges(thirds, sizes, method)
    dendrogram = weighted_linkage(matrix, sizes, method)
    assert dendrogram.pairs.tolist() == [[low, high] for low, high, _ in found]
    assert np.allclose(dendrogram.heights, [float(height) for *_, height in found], atol=1e-9)
    assert np.allclose(dendrogram.lifetimes(), [float(x) for x in naive.lifetimes(found)])
    for c in range(1, n + 1):
        assert np.array_equal(dendrogram.cut(c), naive.cut(found, n, c))


@pytest.mark.parametrize("method", METHODS)
@given(case=dissimilarities(max_items=6, levels=2))
def test_sizes_are_repeated_items_where_values_tie(method, case):
    matrix, sizes = case
    # repeated items come first only if no two others are at 0
    matrix = np.where(np.eye(len(sizes), dtype=bool), 0.0, matrix + 1)
    item = np.repeat(np.arange(len(sizes)), sizes.astype(int))
    long = weighted_linkage(matrix[np.ix_(item, item)], np.ones(len(item)), method)
    short = weighted_linkage(matrix, sizes, method)
    for c in range(1, len(sizes) + 1):
        assert np.array_equal(short.cut(c)[item], long.cut(c))


@pytest.mark.parametrize("method", METHODS)
@given(case=dissimilarities(max_items=12, levels=2))
def test_exactly_as_many_clusters_as_asked_for(method, case):
    matrix, sizes = case
    dendrogram = weighted_linkage(matrix, sizes, method)
    for c in range(1, len(sizes) + 1):
        labels = dendrogram.cut(c)
        assert np.unique(labels).tolist() == list(range(c))
        # numbered by their lowest item
        assert (np.diff(np.unique(labels, return_index=True)[1]) > 0).all()


def test_of_equal_links_of_an_item_that_to_the_lower_one_comes_first():
    # 1 and 3 are close; 0 is as far from each of 1, 2 and 3
    dissimilarity = np.full((4, 4), 9.0)
    for i, j, value in ((1, 3, 1.0), (0, 1, 5.0), (0, 2, 5.0), (0, 3, 5.0)):
        dissimilarity[i, j] = dissimilarity[j, i] = value
    dendrogram = weighted_linkage(dissimilarity, np.ones(4), "single")
    assert dendrogram.pairs.tolist() == [[1, 3], [0, 1], [0, 2]]
    assert dendrogram.cut(2).tolist() == [0, 0, 1, 0]


def test_three_tied_pairs_can_be_cut_anywhere():
    matrix = np.ones((6, 6))
    for i in (0, 2, 4):
        matrix[i, i + 1] = matrix[i + 1, i] = 0.5
    dendrogram = weighted_linkage(matrix, np.ones(6))
    assert [len(np.unique(dendrogram.cut(c))) for c in range(1, 7)] == [1, 2, 3, 4, 5, 6]
    assert dendrogram.cut(4).tolist() == [0, 0, 1, 1, 2, 3]


@pytest.mark.parametrize("method", METHODS)
def test_rounding_does_not_decide_ties(method):
    rng = np.random.default_rng(3)
    matrix = np.rint(random_matrix(rng, 25) * 5) / 5
    noise = random_matrix(rng, 25) * 1e-14
    np.fill_diagonal(matrix, 0)
    sizes = rng.integers(1, 4, 25).astype(float)
    clean = weighted_linkage(matrix, sizes, method)
    noisy = weighted_linkage(matrix + noise, sizes, method)
    assert np.array_equal(clean.pairs, noisy.pairs)


@pytest.mark.parametrize("method", METHODS)
@given(scale=st.sampled_from([1e-12, 0.25, 3.0, 1e9]), case=dissimilarities(max_items=8))
def test_the_unit_of_dissimilarity_does_not_matter(method, scale, case):
    matrix, sizes = case
    one, other = (weighted_linkage(matrix * unit, sizes, method) for unit in (1.0, scale))
    assert np.array_equal(one.pairs, other.pairs)
    assert np.allclose(one.heights * scale, other.heights)


def test_the_matrix_is_left_alone_unless_offered():
    matrix = random_matrix(np.random.default_rng(0), 6)
    np.fill_diagonal(matrix, 7.0)
    before = matrix.copy()
    dendrogram = weighted_linkage(matrix, np.ones(6))
    assert np.array_equal(matrix, before)
    assert np.array_equal(
        weighted_linkage(matrix, np.ones(6), overwrite=True).pairs, dendrogram.pairs
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [1, 2])
def test_very_few_items(method, n):
    dendrogram = weighted_linkage(np.full((n, n), 0.5), np.ones(n), method)
    assert dendrogram.pairs.shape == (n - 1, 2)
    assert dendrogram.cut(n).tolist() == list(range(n))
    assert dendrogram.cut(1).tolist() == [0] * n
    assert dendrogram.lifetimes().tolist() == [0.5] * (n - 1)


@pytest.mark.parametrize("n_clusters", [0, -1, 4])
def test_impossible_cuts(n_clusters):
    dendrogram = weighted_linkage(np.zeros((3, 3)), np.ones(3))
    with pytest.raises(ValueError, match=rf"n_clusters must be in 1 .. 3, but is {n_clusters}"):
        dendrogram.cut(n_clusters)


def test_lifetimes_of_the_small_example():
    # two samples, one sample, three samples: the lone one is nearer to the two
    matrix = np.array([[0, 1 / 3, 1], [1 / 3, 0, 2 / 3], [1, 2 / 3, 0]])
    dendrogram = weighted_linkage(matrix, np.array([2.0, 1.0, 3.0]))
    assert np.allclose(dendrogram.heights, [1 / 3, 8 / 9])
    assert np.allclose(dendrogram.lifetimes(), [8 / 9 - 1 / 3, 1 / 3])


def test_without_weights_and_ties_it_is_scipys():
    rng = np.random.default_rng(5)
    matrix = random_matrix(rng, 12)
    dendrogram = weighted_linkage(matrix, np.ones(12))
    reference = linkage(squareform(matrix, checks=False), "average")
    assert np.allclose(dendrogram.heights, reference[:, 2])
    for c in range(1, 13):
        assert same_partition(dendrogram.cut(c), cut_tree(reference, c).ravel())


def test_a_dendrogram_made_by_hand():
    hand = Dendrogram(np.array([[1, 2], [0, 3], [0, 1]]), np.array([0.1, 0.1, 0.4]), np.ones(4))
    assert hand.cut(2).tolist() == [0, 1, 1, 0]
    assert hand.cut(3).tolist() == [0, 1, 1, 2]
