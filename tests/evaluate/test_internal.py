"""Internal scores against all pairs of samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform

from coterie import EAC, Ensemble, MemoryBudgetError, ParameterError
from coterie.evaluate import anmi, cophenetic_correlation, nmi, pac
from coterie.numerics.linkage import Dendrogram, weighted_linkage
from tests.naive import evidence as naive
from tests.naive import scores as naive_scores
from tests.strategies import dissimilarities, label_matrices

AVERAGES = ["arithmetic", "max", "min", "geometric"]
T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])


def pairs_of(matrix):
    return matrix[np.triu_indices(len(matrix), 1)]


# ---------------------------------------------------------------- agreement with the members


@given(labels=label_matrices(), data=st.data(), average=st.sampled_from(AVERAGES))
def test_anmi_against_its_definition(labels, data, average):
    n, m = labels.shape
    partition = data.draw(st.lists(st.integers(-1, 3), min_size=n, max_size=n))
    weight = data.draw(st.lists(st.integers(1, 4), min_size=m, max_size=m))
    ensemble = Ensemble.from_labels(labels, member_weight=weight)
    expected = naive_scores.anmi(labels, partition, average, weight)
    assert anmi(ensemble, partition, average) == pytest.approx(expected, abs=1e-12)


@given(labels=label_matrices(max_samples=6), data=st.data())
def test_anmi_with_sample_weights_is_that_of_repeated_rows(labels, data):
    n = len(labels)
    partition = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    repeats = np.array(data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n)))
    weighted = Ensemble.from_labels(labels, sample_weight=repeats)
    repeated = Ensemble.from_labels(np.repeat(labels, repeats, axis=0))
    assert anmi(weighted, partition) == pytest.approx(
        anmi(repeated, np.repeat(partition, repeats)), abs=1e-12
    )


def test_anmi_of_one_member_is_nmi():
    ensemble = Ensemble.from_labels(T6[:, [1]])
    partition = ["a", "a", "a", "b", "b", "b"]
    assert anmi(ensemble, partition, "max") == pytest.approx(nmi(T6[:, 1], partition, "max"))


def test_anmi_refuses():
    ensemble = Ensemble.from_labels(T6)
    with pytest.raises(ValueError, match="labels has 3 labels, but the ensemble has 6 samples"):
        anmi(ensemble, [0, 1, 2])
    with pytest.raises(ParameterError, match="anmi: average must be one of"):
        anmi(ensemble, [0] * 6, "mean")


# ---------------------------------------------------------------- cophenetic correlation


@pytest.mark.parametrize("method", ["average", "complete", "single"])
@pytest.mark.parametrize("seed", range(3))
def test_cophenetic_correlation_against_scipy(method, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 3, (70, 4))
    weight = rng.random(4) + 0.5
    ensemble = Ensemble.from_labels(labels, member_weight=weight)
    assert ensemble.n_microclusters < 70
    apart = squareform(1 - naive.shares(labels, weight), checks=False)
    expected = np.corrcoef(apart, cophenet(linkage(apart, method)))[0, 1]
    model = EAC(2, linkage=method).fit(ensemble)
    found = cophenetic_correlation(ensemble, model.dendrogram_)
    assert found == pytest.approx(expected, abs=1e-10)
    if method == "average":
        assert cophenetic_correlation(ensemble) == pytest.approx(found, abs=1e-14)


def height_matrix(dendrogram, inverse):
    """The height at which each pair of samples is joined."""
    n = len(dendrogram.sizes)
    groups = {i: [i] for i in range(n)}
    heights = np.zeros((n, n))
    for (low, high), height in zip(dendrogram.pairs.tolist(), dendrogram.heights, strict=True):
        for u in groups[low]:
            for v in groups[high]:
                heights[u, v] = heights[v, u] = height
        groups[low] += groups.pop(high)
    return heights[np.ix_(inverse, inverse)]


@given(labels=label_matrices(), case=dissimilarities(max_items=14))
def test_cophenetic_correlation_of_any_dendrogram(labels, case):
    ensemble = Ensemble.from_labels(labels)
    matrix, _ = case
    n = ensemble.n_microclusters
    assume(len(matrix) >= n)
    dendrogram = weighted_linkage(matrix[:n, :n], ensemble.weights.astype(float), "complete")
    apart = pairs_of(1 - naive.shares(labels))
    heights = pairs_of(height_matrix(dendrogram, ensemble.inverse))
    flat = [len(values) == 0 or np.ptp(values) < 1e-12 for values in (apart, heights)]
    if any(flat):
        expected = float(all(flat))
    else:
        expected = np.corrcoef(apart, heights)[0, 1]
    assert cophenetic_correlation(ensemble, dendrogram) == pytest.approx(expected, abs=1e-9)


@given(labels=label_matrices(max_samples=6), data=st.data())
def test_cophenetic_correlation_with_weights_is_that_of_repeated_rows(labels, data):
    repeats = data.draw(st.lists(st.integers(1, 3), min_size=len(labels), max_size=len(labels)))
    weighted = Ensemble.from_labels(labels, sample_weight=repeats)
    repeated = Ensemble.from_labels(np.repeat(labels, repeats, axis=0))
    assert cophenetic_correlation(weighted) == pytest.approx(
        cophenetic_correlation(repeated), abs=1e-12
    )
    assert pac(weighted) == pytest.approx(pac(repeated), abs=1e-12)


@pytest.mark.parametrize("labels", [[[0]], [[0], [0]], [[0], [1]], [[0, 0], [1, 0], [2, 0]]])
def test_nothing_varies(labels):
    assert cophenetic_correlation(Ensemble.from_labels(labels)) == 1.0


def test_a_flat_dendrogram_says_nothing():
    ensemble = Ensemble.from_labels([[0, 0], [0, 1], [1, 2]])
    flat = Dendrogram(np.array([[0, 1], [0, 2]]), np.array([0.5, 0.5]), np.ones(3))
    assert cophenetic_correlation(ensemble, flat) == 0.0


def test_cophenetic_correlation_refuses():
    ensemble = Ensemble.from_labels(T6)
    other = EAC(1).fit([[0], [1]]).dendrogram_
    with pytest.raises(ValueError, match="joins 2 items, but the ensemble has 3 microclusters"):
        cophenetic_correlation(ensemble, other)
    with pytest.raises(MemoryBudgetError, match="The cophenetic correlation for N = 3"):
        cophenetic_correlation(ensemble, memory_budget=100)


# ---------------------------------------------------------------- ambiguous pairs


@given(
    labels=label_matrices(),
    bounds=st.sampled_from([(0.1, 0.9), (0.0, 1.0), (0.25, 0.5), (1 / 3, 2 / 3)]),
)
def test_pac_against_all_pairs(labels, bounds):
    lower, upper = bounds
    share = pairs_of(naive.shares(labels))
    expected = ((share > lower) & (share < upper)).mean() if len(share) else 0.0
    found = pac(Ensemble.from_labels(labels), lower, upper)
    assert found == pytest.approx(expected, abs=1e-12)


def test_pac_bounds_are_outside():
    # one member of ten puts the two together
    labels = np.stack([np.zeros(10, int), np.arange(10)])
    ensemble = Ensemble.from_labels(labels)
    assert pac(ensemble) == 0.0
    assert pac(ensemble, 0.09) == 1.0
    assert pac(ensemble, 0.0, 0.1) == 0.0


def test_pac_over_more_microclusters_than_a_block():
    labels = np.random.default_rng(0).integers(0, 12, (900, 3))
    ensemble = Ensemble.from_labels(labels)
    assert ensemble.n_microclusters > 512
    share = pairs_of(naive.shares(labels))
    assert pac(ensemble, 0.2, 0.5) == pytest.approx(((share > 0.2) & (share < 0.5)).mean())
    apart = squareform(1 - naive.shares(labels), checks=False)
    dendrogram = weighted_linkage(
        1 - naive.shares(labels)[np.ix_(*2 * [np.unique(ensemble.inverse, return_index=True)[1]])],
        ensemble.weights.astype(float),
        "single",
    )
    expected = np.corrcoef(apart, pairs_of(height_matrix(dendrogram, ensemble.inverse)))[0, 1]
    assert cophenetic_correlation(ensemble, dendrogram) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        (-0.1, 0.9, r"pac: lower must be a number in \[0, 1\], but is -0.1"),
        (0.1, 1.1, r"pac: upper must be a number in \[0, 1\], but is 1.1"),
        (0.5, 0.5, "pac: lower must be below upper, but is 0.5 with upper 0.5"),
    ],
)
def test_pac_refuses(lower, upper, message):
    with pytest.raises(ParameterError, match=message):
        pac(Ensemble.from_labels(T6), lower, upper)
