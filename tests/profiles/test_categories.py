"""Categories: shares, the level that is shown, and tests of independence."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from coterie import profile


def observed(values, labels, cluster):
    levels = sorted({*values})
    return np.array(
        [
            [sum(v == level and (y == cluster) == inside for v, y in zip(values, labels, strict=True))
             for level in levels]
            for inside in (True, False)
        ]
    )  # fmt: skip


@pytest.fixture
def case():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 300)
    plan = np.where(rng.random(300) < 0.2 + 0.3 * labels, "pro", "basic")
    region = rng.choice(["north", "south", "east"], 300)
    return {"plan": plan.tolist(), "region": region.tolist()}, labels


def test_shares_and_tests_equal_scipys(case):
    table, labels = case
    for row in profile(table, labels, n_bootstrap=0).table.rows():
        values = np.array(table[row["column"]])
        inside = labels == row["cluster"]
        assert row["typical"] == pytest.approx((values[inside] == row["level"]).mean())
        assert row["typical_rest"] == pytest.approx((values[~inside] == row["level"]).mean())
        assert row["auc"] == pytest.approx(0.5 + (row["typical"] - row["typical_rest"]) / 2)
        counts = observed(values, labels, row["cluster"])
        expected = stats.chi2_contingency(counts, correction=False).pvalue
        assert row["p_value"] == pytest.approx(expected)


def test_of_two_levels_the_more_frequent_one_is_shown(case):
    table, labels = case
    rows = [row for row in profile(table, labels).table.rows() if row["column"] == "plan"]
    assert {rows[0]["cluster"]: rows[0]["level"], rows[2]["cluster"]: rows[2]["level"]} == {
        0: "basic",
        2: "pro",
    }
    assert all(row["difference"] > 0 for row in rows)


def test_association_is_cramers_v(case):
    table, labels = case
    for row in profile(table, labels).columns.rows():
        values = table[row["column"]]
        counts = stats.contingency.crosstab(labels, values).count
        assert row["association"] == pytest.approx(stats.contingency.association(counts))
        expected = stats.chi2_contingency(counts, correction=False).pvalue
        assert row["p_value"] == pytest.approx(expected)


def test_rare_levels_get_fishers_test():
    values = ["yes"] * 3 + ["no"] * 17
    labels = [0] * 4 + [1] * 16
    row = next(profile({"sick": values}, labels).table.rows())
    assert row["p_value"] == pytest.approx(stats.fisher_exact([[3, 1], [0, 16]]).pvalue)


def test_rare_levels_of_many_get_tables_drawn_at_random():
    rng = np.random.default_rng(1)
    p_values = []
    for _ in range(200):
        labels = np.arange(40) % 2
        values = rng.choice(["a", "b", "c", "d"], 40, p=[0.85, 0.05, 0.05, 0.05])
        if len({*values}) > 2:
            p_values.append(profile({"x": values}, labels, n_bootstrap=0).table["p_value"][0])
    # without any association the test rejects at most as often as its level says: 5 % and two errors more
    assert np.mean(np.array(p_values) < 0.05) <= 0.08
    assert min(p_values) > 0


def test_numbers_can_be_categories():
    table = {"code": [1, 1, 2, 2, 3, 3] * 10}
    labels = [0, 0, 0, 1, 1, 1] * 10
    row = next(profile(table, labels, categories=["code"]).table.rows())
    assert (row["kind"], row["level"]) == ("category", "1")
    assert row["typical"] == pytest.approx(2 / 3)


def test_a_missing_value_of_a_category_is_a_level():
    table = {"income": ["low", None, "high", None, "low", "high"] * 5}
    labels = [0, 1, 0, 1, 0, 0] * 5
    rows = {row["cluster"]: row for row in profile(table, labels).table.rows()}
    assert rows[1]["level"] == "(missing)"
    assert rows[1]["typical"] == 1


def test_whole_weights_are_copies_of_samples():
    rng = np.random.default_rng(2)
    values, labels = rng.choice(["a", "b", "c"], 40), rng.integers(0, 2, 40)
    weight = rng.integers(1, 4, 40)
    weighted = profile({"x": values}, labels, sample_weight=weight, n_bootstrap=0)
    copied = profile({"x": np.repeat(values, weight)}, np.repeat(labels, weight), n_bootstrap=0)
    for one, other in zip(weighted.table.rows(), copied.table.rows(), strict=True):
        assert one["level"] == other["level"]
        for name in ("size", "typical", "difference", "auc", "p_value"):
            assert one[name] == pytest.approx(other[name])
