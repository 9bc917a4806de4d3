"""The matrix: the order, the weights, the bins, and what is refused."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from coterie import EAC, Ensemble, MemoryBudgetError, ParameterError
from coterie.evidence import coassociation
from coterie.plot import matrix
from coterie.plot.arrange import Spans, bin_weights, block_means, leaf_order, pooled_coassociation
from tests.builders import noisy_members
from tests.naive import evidence as naive
from tests.strategies import label_matrices

noisy = partial(noisy_members, n_classes=4)

T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])


def drawn(ax):
    return np.asarray(ax.images[0].get_array())


# ---------------------------------------------------------------- the data drawn


@settings(max_examples=25)
@given(labels=label_matrices(), data=st.data())
def test_by_cluster_it_is_the_coassociation_of_the_samples_put_in_order(labels, data):
    n = len(labels)
    partition = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    ensemble = Ensemble.from_labels(labels)
    ax = matrix(ensemble, labels=partition, ax=Figure().add_subplot())
    full = naive.shares(labels)
    # a permutation of the samples within each label gives the picture: compare sorted blocks
    stops = np.cumsum(np.bincount(partition, minlength=3))
    starts = stops - np.bincount(partition, minlength=3)
    for a in range(3):
        for b in range(3):
            block = drawn(ax)[starts[a] : stops[a], starts[b] : stops[b]]
            expected = full[np.ix_(partition == a, partition == b)]
            assert np.sort(block, axis=None) == pytest.approx(np.sort(expected, axis=None))


def test_one_row_a_sample_where_weights_are_counts():
    ax = matrix(Ensemble.from_labels(T6))
    assert drawn(ax).shape == (6, 6)
    assert ax.images[0].get_extent() == [0.0, 6.0, 6.0, 0.0]
    assert ax.get_xlabel() == "6 samples"
    assert ax.get_title(loc="left") == ""


def test_microclusters_of_equal_weight_are_still_shown_by_sample():
    assert drawn(matrix(Ensemble.from_labels([[0], [0], [1], [1]]))).shape == (4, 4)
    ax = matrix(np.eye(3), weights=[2, 2, 2], max_rows=4, order="given")
    assert np.array_equal(drawn(ax), np.eye(3))
    assert ax.get_title(loc="left") == "means over 3 bins of 2 samples each"
    ax = matrix(np.eye(3), weights=[0.5, 0.5, 0.5], order="given")
    assert np.array_equal(drawn(ax), np.eye(3))
    assert ax.get_title(loc="left") == ""


def test_a_weighted_array_is_the_same_picture_as_repeated_rows():
    values = np.array([[1.0, 0.3, 0.2], [0.3, 1.0, 0.6], [0.2, 0.6, 1.0]])
    repeats = [2, 3, 1]
    weighted = drawn(matrix(values, weights=repeats, order="given"))
    rows = np.repeat(np.arange(3), repeats)
    assert weighted == pytest.approx(values[np.ix_(rows, rows)])


def test_a_learned_matrix_takes_weights_and_labels_from_its_ensemble():
    ensemble = Ensemble.from_labels(T6)
    learned = coassociation(ensemble) ** 2
    ax = matrix(learned, ensemble=ensemble, labels=list("aaabbb"), name="learned")
    assert drawn(ax).shape == (6, 6)
    assert drawn(ax)[3:, :2] == pytest.approx(0.0)
    assert drawn(ax)[3:, 3:] == pytest.approx(1.0)
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a", "b"]


def test_the_dendrogram_makes_every_cut_a_run_of_neighbours():
    labels, _ = noisy(0, 120)
    ensemble = Ensemble.from_labels(labels)
    model = EAC(n_clusters=4).fit(ensemble)
    leaves = leaf_order(model.dendrogram_)
    assert sorted(leaves.tolist()) == list(range(ensemble.n_microclusters))
    for k in (2, 4, 9, 30):
        cut = model.dendrogram_.cut(k)[leaves]
        assert np.count_nonzero(np.diff(cut)) == k - 1


def test_the_order_by_dendrogram_is_that_of_average_link():
    labels, _ = noisy(0, 80)
    ensemble = Ensemble.from_labels(labels)
    fitted = drawn(matrix(ensemble, dendrogram=EAC().fit(ensemble).dendrogram_))
    assert drawn(matrix(ensemble, order="dendrogram")) == pytest.approx(fitted)


def test_labels_may_part_a_microcluster():
    ax = matrix(Ensemble.from_labels(T6), labels=["a", "b", "a", "b", "b", "a"])
    # samples 0 and 1 are one microcluster, one in each class
    assert drawn(ax).shape == (6, 6)
    assert np.sort(drawn(ax)[:3, 3:], axis=None).tolist() == pytest.approx(
        sorted([1, 0, 0, 2 / 3, 1 / 3, 1 / 3, 0, 1, 1])
    )


def test_the_strips_show_where_each_label_lies():
    ax = matrix(Ensemble.from_labels(T6), labels=list("aaabbb"))
    top, left = ax.collections[:2]
    spans = [np.sort(path.vertices[:, 0])[[0, -1]].tolist() for path in top.get_paths()]
    assert spans == [[0.0, 3.0], [3.0, 6.0]]
    spans = [np.sort(path.vertices[:, 1])[[0, -1]].tolist() for path in left.get_paths()]
    assert spans == [[0.0, 3.0], [3.0, 6.0]]
    assert len(np.unique(top.get_facecolor(), axis=0)) == 2


# ---------------------------------------------------------------- pooling


@given(labels=label_matrices(max_samples=8), bins=st.integers(2, 5), data=st.data())
def test_bins_hold_the_mean_over_pairs_of_samples(labels, bins, data):
    n = len(labels)
    ensemble = Ensemble.from_labels(labels)
    order = np.array(data.draw(st.permutations(range(ensemble.n_microclusters))))
    spans = Spans(order, np.zeros_like(order), ensemble.weights[order].astype(float))
    inside = bin_weights(spans, bins, ensemble.n_microclusters)
    assert inside.toarray().sum(axis=1) == pytest.approx(n / bins)
    means = block_means(coassociation(ensemble), inside)
    # every sample cut into `bins` equal pieces: n pieces fill a bin exactly
    pieces = np.repeat(np.repeat(order, ensemble.weights[order]), bins)
    fine = coassociation(ensemble)[np.ix_(pieces, pieces)]
    expected = fine.reshape(bins, n, bins, n).mean(axis=(1, 3))
    assert means == pytest.approx(expected)


def test_without_the_matrix_the_means_are_the_same():
    labels, _ = noisy(0, 300)
    ensemble = Ensemble.from_labels(labels, member_weight=[1, 2, 1, 1, 3, 1, 1, 1])
    order = np.arange(ensemble.n_microclusters)
    spans = Spans(order, np.zeros_like(order), ensemble.weights.astype(float))
    inside = bin_weights(spans, 20, len(order))
    assert pooled_coassociation(ensemble, inside) == pytest.approx(
        block_means(coassociation(ensemble), inside)
    )


def test_with_missing_labels_a_bin_pools_what_members_saw():
    labels = np.array([[0, -1], [1, 0], [1, 0], [-1, 1]])
    ensemble = Ensemble.from_labels(labels)
    rows = ensemble.inverse.astype(np.int64)
    spans = Spans(rows, np.zeros_like(rows), np.ones(4))
    pooled = pooled_coassociation(ensemble, bin_weights(spans, 2, ensemble.n_microclusters))
    # first bin with the second: member 0 saw 2 pairs, 1 together; member 1 saw 2 pairs, 1 together
    assert pooled[0, 1] == pytest.approx(2 / 4)


def test_more_samples_than_rows_are_pooled_and_the_picture_says_so():
    labels, truth = noisy(0, 500)
    ax = matrix(Ensemble.from_labels(labels), labels=truth, max_rows=100)
    assert drawn(ax).shape == (100, 100)
    assert ax.get_title(loc="left") == "means over 100 bins of 5 samples each"
    assert ax.get_xlabel() == "500 samples"
    heavy = matrix(np.eye(2), weights=[3000, 1000], order="given", max_rows=4)
    assert heavy.get_title(loc="left") == "means over 4 bins of 1,000 samples each"
    full = drawn(matrix(Ensemble.from_labels(labels), labels=truth))
    assert drawn(ax).mean() == pytest.approx(full.mean())


def test_many_microclusters_by_cluster_need_no_square_of_them():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 20, (6000, 6))
    ensemble = Ensemble.from_labels(labels)
    assert ensemble.n_microclusters > 5000
    truth = labels[:, 0] % 4
    ax = matrix(ensemble, labels=truth, max_rows=200, memory_budget="40MB")
    assert drawn(ax).shape == (200, 200)
    with pytest.raises(MemoryBudgetError):
        matrix(ensemble, max_rows=200, memory_budget="40MB")


def test_weights_that_are_no_counts_are_called_weight():
    ax = matrix(np.eye(3), weights=[0.5, 1.5, 2.0], order="given", max_rows=8)
    assert drawn(ax)[:, 0].tolist() == [1.0] + 7 * [0.0]
    assert ax.get_xlabel() == "total weight 4"
    assert ax.get_title(loc="left") == "means over 8 bins of 0.5 weight each"


@pytest.mark.parametrize("order", ["cluster", "dendrogram"])
def test_the_order_of_samples_and_members_leaves_no_trace(order):
    labels, truth = noisy(0, 150)
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(150), rng.permutation(8)
    one = matrix(Ensemble.from_labels(labels), labels=truth, order=order)
    other = matrix(Ensemble.from_labels(labels[rows][:, columns]), labels=truth[rows], order=order)
    assert np.array_equal(drawn(one), drawn(other))


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"source": np.ones((2, 3))}, r"source must have shape 2 x 2, but has \(2, 3\)"),
        ({"source": [[1, 2], [3, 4]]}, "source must be symmetric"),
        (
            {"source": [[1, np.nan], [np.nan, 1]]},
            r"source must be finite, but entry \(0, 1\) is nan",
        ),
        ({"source": "text"}, "source must hold numbers, but is 'text'"),
        ({"source": np.empty((0, 0))}, "source is empty"),
        ({"source": np.eye(2), "order": "clusters"}, "order must be one of"),
        ({"source": np.eye(2), "order": "cluster"}, 'order="cluster" needs labels'),
        ({"source": np.eye(2), "labels": [1]}, "labels must hold 2 labels, but holds 1"),
        ({"source": np.eye(2), "labels": [1, None]}, "labels has no label in row 1"),
        ({"source": np.eye(2), "weights": [1, 0]}, "weights must be positive, but entry 1 is 0.0"),
        ({"source": np.eye(2), "max_rows": 1}, "max_rows must be a whole number of at least 2"),
        (
            {"source": np.eye(2), "ensemble": Ensemble.from_labels(T6)},
            "source must have shape 3 x 3",
        ),
        (
            {"source": Ensemble.from_labels(T6), "weights": [1, 1, 1]},
            "an Ensemble has its own weights; give weights only",
        ),
        (
            {"source": Ensemble.from_labels(T6), "ensemble": Ensemble.from_labels(T6)},
            "source is an Ensemble already; give ensemble only",
        ),
        (
            {"source": np.eye(2), "dendrogram": EAC().fit(T6).dendrogram_},
            "dendrogram joins 3 items, but the matrix has 2 rows",
        ),
        (
            {"source": np.eye(2), "dendrogram": EAC().fit(T6).dendrogram_, "order": "given"},
            'dendrogram needs order="dendrogram"',
        ),
    ],
)
def test_refusals(arguments, says):
    with pytest.raises(ParameterError, match=f"^plot.matrix: {says}"):
        matrix(**arguments)
