from itertools import product

import numpy as np
import pytest
from scipy import stats

from coterie_bench.statistics import (
    critical_difference,
    friedman,
    holm,
    mean_ranks,
    paired_tests,
)


def row(scores, reference="a"):
    (found,) = paired_tests(scores, reference).rows()
    return found


def test_holm_is_the_step_down_rule():
    p = np.array([0.02, 0.3, 0.001, 0.04])
    # by hand: 4 x 0.001, 3 x 0.02, 2 x 0.04 = 0.08, 0.3
    np.testing.assert_allclose(holm(p), [0.06, 0.3, 0.004, 0.08])


def test_holm_never_falls_below_a_smaller_p_and_stops_at_one():
    np.testing.assert_allclose(holm([0.02, 0.021, 0.9]), [0.06, 0.06, 0.9])
    np.testing.assert_allclose(holm([0.6, 0.7]), [1, 1])


def test_holm_leaves_out_what_was_not_tested():
    with_gap = holm([0.01, np.nan, 0.02])
    np.testing.assert_allclose(with_gap[[0, 2]], holm([0.01, 0.02]))
    assert np.isnan(with_gap[1])
    assert holm([]).shape == (0,)


def test_paired_tests_equal_scipy():
    rng = np.random.default_rng(0)
    a = rng.random(15)
    b = a + rng.normal(0.05, 0.1, 15)
    found = row({"a": a, "b": b})
    expected = stats.ttest_rel(b, a)
    assert found["t"] == pytest.approx(expected.statistic)
    assert found["t_p"] == pytest.approx(expected.pvalue)
    assert found["wilcoxon_p"] == pytest.approx(stats.wilcoxon(b, a, method="exact").pvalue)
    assert found["difference"] == pytest.approx(b.mean() - a.mean())


def test_signed_rank_with_ties_is_the_share_of_all_signs():
    d = np.array([0.1, 0.1, -0.1, 0.2, 0.3, 0.3, -0.2, 0.0])
    ranks = stats.rankdata(np.abs(d[d != 0]))
    sums = np.array([np.dot(signs, ranks) for signs in product((0, 1), repeat=len(ranks))])
    seen = ranks[d[d != 0] > 0].sum()
    two_sided = 2 * min(np.mean(sums <= seen), np.mean(sums >= seen))
    assert row({"a": np.zeros(8), "b": d})["wilcoxon_p"] == pytest.approx(min(two_sided, 1))


def test_signed_rank_of_many_pairs_is_normal():
    rng = np.random.default_rng(1)
    d = rng.normal(0.03, 0.3, 400)
    expected = stats.wilcoxon(d).pvalue
    assert row({"a": np.zeros(400), "b": d})["wilcoxon_p"] == pytest.approx(expected)


def test_rounding_makes_no_difference():
    a = np.array([0.1, 0.2, 0.3])
    found = row({"a": a, "b": (a + 0.7) - 0.7})
    assert found["note"] == "not tested: equal in every run"
    assert found["difference"] == 0
    assert np.isnan(found["t_p"])
    assert np.isnan(found["wilcoxon_p"])


def test_a_constant_difference_has_no_t_test_but_ranks():
    found = row({"a": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6], "b": [0.2, 0.3, 0.4, 0.5, 0.6, 0.7]})
    assert found["note"] == "no t-test: the same difference in every run"
    assert np.isnan(found["t_p"])
    assert found["wilcoxon_p"] == pytest.approx(2 / 2**6)


@pytest.mark.parametrize(
    ("b", "pairs", "note"),
    [
        ([np.nan, np.nan], 0, "not tested: no run in common"),
        ([0.4, np.nan], 1, "not tested: one run"),
    ],
)
def test_too_few_runs_are_not_tested(b, pairs, note):
    found = row({"a": [0.1, 0.2], "b": b})
    assert (found["pairs"], found["note"]) == (pairs, note)
    assert np.isnan(found["t_p"])


def test_failed_runs_leave_their_pairs_out():
    a = np.array([0.5, 0.6, 0.7, 0.9])
    b = np.array([0.4, np.nan, 0.5, 0.95])
    kept = ~np.isnan(b)
    found = row({"a": a, "b": b})
    assert found["pairs"] == 3
    assert found["t_p"] == pytest.approx(stats.ttest_rel(b[kept], a[kept]).pvalue)


def test_holm_counts_the_methods_of_the_table():
    rng = np.random.default_rng(2)
    scores = {name: rng.random(10) for name in "abcd"}
    table = paired_tests(scores, "b")
    assert table["method"].tolist() == ["a", "c", "d"]
    np.testing.assert_allclose(table["t_holm"], holm(table["t_p"]))
    np.testing.assert_allclose(table["wilcoxon_holm"], holm(table["wilcoxon_p"]))


def test_reference_alone_gives_an_empty_table():
    assert len(paired_tests({"a": [0.1, 0.2]}, "a")) == 0


def test_ranks_share_ties_and_put_failures_last():
    nan = np.nan
    ranks = mean_ranks([[0.9, 0.9, 0.1, nan], [0.2, 0.3, nan, nan]])
    np.testing.assert_allclose(ranks, [(1.5 + 2) / 2, (1.5 + 1) / 2, (3 + 3.5) / 2, (4 + 3.5) / 2])


def test_ranks_always_add_up():
    rng = np.random.default_rng(3)
    scores = rng.random((6, 5)).round(1)
    scores[rng.random((6, 5)) < 0.2] = np.nan
    assert mean_ranks(scores).sum() == pytest.approx(5 * 6 / 2)


def test_a_data_set_without_any_result_does_not_count():
    nan = np.nan
    np.testing.assert_array_equal(mean_ranks([[0.1, 0.2], [nan, nan]]), [2, 1])
    assert np.isnan(mean_ranks([[nan, nan]])).all()


@pytest.mark.parametrize(("methods", "q"), [(2, 1.960), (5, 2.728), (10, 3.164)])
def test_critical_difference_has_the_tabled_quantiles(methods, q):
    expected = q * np.sqrt(methods * (methods + 1) / (6 * 12))
    assert critical_difference(methods, 12) == pytest.approx(expected, rel=1e-3)


def test_critical_difference_of_too_little_is_nan():
    assert np.isnan(critical_difference(1, 10))
    assert np.isnan(critical_difference(5, 1))


def test_friedman_equals_scipy_with_and_without_ties():
    rng = np.random.default_rng(4)
    for scores in (rng.random((8, 4)), rng.random((8, 4)).round(1)):
        expected = stats.friedmanchisquare(*scores.T)
        found = friedman(scores)
        assert found.statistic == pytest.approx(expected.statistic)
        assert found.p == pytest.approx(expected.pvalue)
        assert (found.n_data, found.n_methods, found.note) == (8, 4, "")


@pytest.mark.parametrize(
    ("scores", "note"),
    [
        ([[0.1], [0.2]], "fewer than two methods"),
        ([[0.1, 0.2]], "one data set"),
        ([[np.nan, np.nan]], "no data set has a result"),
        ([[0.5, 0.5], [0.1, 0.1]], "equal on every data set"),
    ],
)
def test_friedman_says_why_it_did_not_test(scores, note):
    found = friedman(scores)
    assert note in found.note
    assert np.isnan(found.p)
    assert np.isnan(found.statistic)
