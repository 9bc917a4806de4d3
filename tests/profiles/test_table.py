"""The table of a profile equals scipy, scikit-learn and the definitions, and keeps the symmetries."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import sparse, stats
from sklearn.metrics import roc_auc_score

from coterie import profile
from coterie.profiles._groups import Clustering, Groups
from coterie.profiles._measures import summary
from coterie.profiles._ranks import RankSums
from tests.naive import profiles as naive

STATISTICS = (
    "typical",
    "typical_rest",
    "mean",
    "mean_rest",
    "difference",
    "auc",
    "p_value",
    "p_adjusted",
)


@st.composite
def tables(draw, *, max_samples=16):
    """Numbers with ties and gaps, at least two clusters, and whole weights."""
    n = draw(st.integers(4, max_samples))
    d = draw(st.integers(1, 3))
    cells = st.one_of(st.integers(-3, 3).map(float), st.just(np.nan), st.floats(-5, 5, width=16))
    X = np.array(draw(st.lists(st.lists(cells, min_size=d, max_size=d), min_size=n, max_size=n)))
    assume(any(len(np.unique(column[~np.isnan(column)])) > 1 for column in X.T))
    labels = draw(
        st.lists(st.integers(0, 2), min_size=n, max_size=n).filter(lambda y: len({*y}) > 1)
    )
    weight = draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    return X, np.array(labels), np.array(weight)


def rows_of(table):
    return {(row["cluster"], row["column"]): row for row in table.rows()}


def assert_same(one, other, names=STATISTICS):
    one, other = rows_of(one), rows_of(other)
    assert {*one} == {*other}
    for key, row in one.items():
        for name in names:
            assert row[name] == pytest.approx(other[key][name], rel=1e-9, abs=1e-9, nan_ok=True), (
                name
            )


@given(case=tables())
def test_statistics_equal_their_definitions(case):
    X, labels, weight = case
    table = profile(X, labels, sample_weight=weight, n_bootstrap=0).table
    for (cluster, column), row in rows_of(table).items():
        values, clusters = naive.repeated(X[:, int(column[1:])], labels, weight)
        inside, outside = values[clusters == cluster], values[clusters != cluster]
        assert row["size"] == weight[labels == cluster].sum()
        if len(inside) == 0 or len(outside) == 0:
            assert np.isnan(row["auc"])
            assert np.isnan(row["p_value"])
            continue
        assert row["typical"] == pytest.approx(np.median(inside), rel=1e-9, abs=1e-9)
        assert row["typical_rest"] == pytest.approx(np.median(outside), rel=1e-9, abs=1e-9)
        assert row["mean"] == pytest.approx(inside.mean(), rel=1e-9, abs=1e-9)
        assert row["mean_rest"] == pytest.approx(outside.mean(), rel=1e-9, abs=1e-9)
        assert row["difference"] == pytest.approx(naive.difference(inside, outside), abs=1e-9)
        assert row["auc"] == pytest.approx(naive.auc(inside, outside), abs=1e-9)
        everyone = weight[labels == cluster].sum()
        assert row["missing"] == pytest.approx(1 - len(inside) / everyone, abs=1e-9)


@given(case=tables())
def test_without_weights_the_rank_test_is_scipys(case):
    X, labels, _ = case
    result = profile(X, labels, n_bootstrap=0)
    for (cluster, column), row in rows_of(result.table).items():
        values, clusters = naive.repeated(X[:, int(column[1:])], labels, np.ones(len(X), dtype=int))
        inside, outside = values[clusters == cluster], values[clusters != cluster]
        if len(inside) and len(outside):
            expected = stats.mannwhitneyu(inside, outside).pvalue
            assert row["p_value"] == pytest.approx(expected, rel=1e-6)
    for row in result.columns.rows():
        values, clusters = naive.repeated(
            X[:, int(row["column"][1:])], labels, np.ones(len(X), dtype=int)
        )
        groups = [values[clusters == c] for c in np.unique(clusters)]
        if len(groups) > 1:
            test = stats.kruskal(*groups)
            assert row["p_value"] == pytest.approx(test.pvalue, rel=1e-6, abs=1e-12)
            ratio = np.sqrt(max(test.statistic, 0) / (len(values) - 1))
            assert row["association"] == pytest.approx(ratio, abs=1e-6)


@given(case=tables())
def test_weights_are_copies_of_samples(case):
    X, labels, weight = case
    weighted = profile(X, labels, sample_weight=weight, n_bootstrap=0)
    copied = profile(np.repeat(X, weight, axis=0), np.repeat(labels, weight), n_bootstrap=0)
    # the exact test of small clusters is only used where every sample counts once
    names = [name for name in STATISTICS if name not in ("p_value", "p_adjusted")]
    assert_same(weighted.table, copied.table, names)
    assert weighted.columns == copied.columns


@given(case=tables(), seed=st.integers(0, 9))
def test_the_order_of_samples_does_not_matter(case, seed):
    X, labels, weight = case
    order = np.random.default_rng(seed).permutation(len(X))
    one = profile(X, labels, sample_weight=weight, n_bootstrap=0)
    other = profile(X[order], labels[order], sample_weight=weight[order], n_bootstrap=0)
    assert_same(one.table, other.table)
    assert one.sentences == other.sentences


@given(case=tables())
def test_the_names_of_clusters_do_not_matter(case):
    X, labels, _ = case
    names = np.array(["c", "a", "b"])
    one = rows_of(profile(X, labels, n_bootstrap=0).table)
    other = rows_of(profile(X, names[labels], n_bootstrap=0).table)
    for (cluster, column), row in one.items():
        renamed = other[names[cluster], column]
        for name in STATISTICS:
            assert row[name] == pytest.approx(renamed[name], rel=1e-9, abs=1e-12, nan_ok=True)


@given(
    values=st.lists(
        st.one_of(st.floats(-1e100, 1e100), st.sampled_from([-np.nan, -0.0])), min_size=2
    ),
    n_clusters=st.integers(2, 40),
)
def test_values_are_sorted_with_their_clusters(values, n_clusters):
    values = np.array(values)
    # neighbours of a value differ in their last bits only
    values = np.concatenate([values, np.nextafter(values, np.inf), -values])[None, :]
    labels = np.arange(values.size) % n_clusters
    groups = Groups.of(Clustering.of(labels), values.size, None, None)
    ordered = values[:, groups.rows]
    weighted = replace(groups, weight=groups.weight * 2)
    one, other = summary(ordered, groups), summary(ordered, weighted)
    for name, position in {"weight": 0, "median": 2, "median of the rest": 3}.items():
        factor = 2 if name == "weight" else 1
        np.testing.assert_array_equal(factor * one[0][position], other[0][position], name)
    # a copy of each value shifts ranks, not the share of pairs
    shares = [RankSums(of[0][0], of[0][1], of[1][0]).auc() for of in (one, other)]
    np.testing.assert_allclose(*shares, atol=1e-12)
    assert one[1][1] == other[1][1]


@pytest.mark.parametrize(("size", "rest"), [(1, 1), (1, 40), (2, 3), (8, 8), (8, 300), (5, 2000)])
def test_small_clusters_get_the_exact_test(size, rest):
    rng = np.random.default_rng(9)
    labels = np.repeat([0, 1], [size, rest])
    X = rng.normal(size=(size + rest, 30)) + (labels == 0)[:, None]
    # some clusters at the very end
    X[labels == 0, :3] += 100
    exact = stats.mannwhitneyu(X[:size], X[size:], method="exact").pvalue
    table = profile(X, labels, n_bootstrap=0).table
    for row in table.rows():
        expected = exact[int(row["column"][1:])]
        assert row["p_value"] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("gaps", [False, True])
def test_zeros_are_values_like_others(gaps):
    # one column per share of zeros, so that some of them are gathered and others are not
    rng = np.random.default_rng(0)
    zero_shares = np.repeat([0.0, 0.3, 0.5, 0.8, 0.95, 1.0], 3)
    X = np.round(rng.normal(size=(300, len(zero_shares))), 1)
    X[rng.random(X.shape) < zero_shares] = 0.0
    X[::7, 0::3] *= -0.0
    X[:, 1::3] = np.abs(X[:, 1::3])
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
    X[0] = 5.0
    labels = rng.integers(0, 4, 300)
    zeros, ones = (profile(X + shift, labels).table for shift in (0, 1))
    names = ("difference", "low", "high", "auc", "p_value", "p_adjusted", "missing", "rank")
    assert_same(zeros, ones, names)
    for name in ("typical", "typical_rest", "mean", "mean_rest"):
        np.testing.assert_allclose(zeros[name] + 1, ones[name], rtol=1e-9)


def test_auc_is_scikit_learns():
    rng = np.random.default_rng(0)
    X, labels = rng.normal(size=(90, 4)).round(1), rng.integers(0, 3, 90)
    for (cluster, column), row in rows_of(profile(X, labels, n_bootstrap=0).table).items():
        expected = roc_auc_score(labels == cluster, X[:, int(column[1:])])
        assert row["auc"] == pytest.approx(expected, abs=1e-12)


def test_turning_a_column_around_turns_its_signs():
    rng = np.random.default_rng(1)
    X, labels = rng.normal(size=(60, 3)), rng.integers(0, 3, 60)
    one, other = (rows_of(profile(sign * X, labels, n_bootstrap=0).table) for sign in (1, -1))
    for key, row in one.items():
        assert row["difference"] == pytest.approx(-other[key]["difference"])
        assert row["auc"] == pytest.approx(1 - other[key]["auc"])
        assert row["p_value"] == pytest.approx(other[key]["p_value"])


def test_q_values_are_adjusted_for_used_and_external_columns_apart():
    rng = np.random.default_rng(2)
    X, labels = rng.normal(size=(80, 6)), rng.integers(0, 3, 80)
    X[:, 0] += 2 * labels
    table = profile(X, labels, external=["x4", "x5"], n_bootstrap=0).table
    for role in ("used", "external"):
        of_role = table["role"] == role
        p, q = table["p_value"][of_role], table["p_adjusted"][of_role]
        np.testing.assert_allclose(q, stats.false_discovery_control(p))
        np.testing.assert_allclose(q, naive.benjamini_hochberg(p.tolist()))


def test_a_sparse_matrix_gives_the_same_profile_as_a_dense_one():
    rng = np.random.default_rng(3)
    X = sparse.random_array((70, 9), density=0.3, rng=rng, format="csr")
    labels = rng.integers(0, 3, 70)
    assert profile(X, labels).table == profile(X.toarray(), labels).table


def test_blocks_do_not_change_the_profile(monkeypatch):
    rng = np.random.default_rng(4)
    X, labels = rng.normal(size=(50, 7)), rng.integers(0, 3, 50)
    X[3, 2] = np.nan
    whole = profile(X, labels)
    monkeypatch.setattr("coterie.profiles._variables.BLOCK_SIZE", 100)
    monkeypatch.setattr("coterie.profiles._bootstrap.DRAWN_COUNTS", 100)
    monkeypatch.setattr("coterie.profiles._bootstrap.DRAWN_MEANS", 700)
    pieces = profile(X, labels)
    names = ("low", "high", *STATISTICS)
    assert_same(whole.table, pieces.table, names)


def test_intervals_surround_the_difference_and_shrink_with_samples():
    rng = np.random.default_rng(5)
    widths = []
    for n in (100, 1600):
        labels = np.arange(n) % 2
        X = rng.normal(size=(n, 20))
        table = profile(X, labels).table
        assert (table["low"] < table["difference"]).all()
        assert (table["difference"] < table["high"]).all()
        widths.append(float(np.mean(table["high"] - table["low"])))
    # the standard error is proportional to 1 / sqrt(n)
    assert widths[0] / widths[1] == pytest.approx(4, rel=0.15)


@pytest.mark.parametrize(("size", "rest"), [(60, 140), (10, 190)])
def test_intervals_cover_the_true_difference(size, rest):
    rng = np.random.default_rng(6)
    labels = np.repeat([0, 1], [size, rest])
    shift = 0.7
    X = rng.normal(size=(200, 400)) + shift * (labels == 0)[:, None]
    table = profile(X, labels).table
    own = table["cluster"] == 0
    # the difference is divided by the standard deviation of the column, which the shift widens
    truth = shift / np.sqrt(1 + shift**2 * size * rest / 200**2)
    covered = (table["low"][own] <= truth) & (truth <= table["high"][own])
    # 380 of 400 are expected, with a standard deviation of 4
    assert 0.91 <= covered.mean() <= 0.98


def test_a_seed_gives_the_same_profile_again():
    rng = np.random.default_rng(7)
    X, labels = rng.normal(size=(50, 3)), rng.integers(0, 2, 50)
    assert profile(X, labels).table == profile(X, labels).table
    assert profile(X, labels, random_state=1).table != profile(X, labels, random_state=2).table


def test_the_most_telling_column_comes_first():
    rng = np.random.default_rng(8)
    labels = np.repeat([0, 1, 2], 50)
    X = rng.normal(size=(150, 8))
    X[labels == 0, 5] += 3
    X[labels == 1, 2] -= 3
    table = profile(X, labels, n_bootstrap=0).table
    best = {row["cluster"]: row["column"] for row in table.rows() if row["rank"] == 1}
    assert best[0] == "x5"
    assert best[1] == "x2"
    for cluster in range(3):
        own = table["cluster"] == cluster
        assert table["rank"][own].tolist() == [*range(1, 9)]
        assert (np.diff(np.abs(table["auc"][own] - 0.5)) <= 1e-12).all()
