"""Rules: what they say is true of the samples that they have not seen."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, load_wine

from coterie import profile
from coterie.profiles._groups import Clustering, Groups
from coterie.profiles._rules import _first_half


def held_out_rows(labels, result):
    """The rows that the rules were tested on."""
    groups = Groups.of(Clustering.of(labels), len(labels), None, None)
    learns = _first_half(groups, np.random.default_rng(int(result._seeds[2])))
    return groups.rows[~learns]


@pytest.mark.parametrize("weighted", [False, True])
def test_the_shares_are_those_of_held_out_samples(weighted):
    wine = load_wine(as_frame=True)
    # so that pandas can compute a rule
    wine.data.columns = [name.replace("/", "_") for name in wine.data]
    rng = np.random.default_rng(0)
    weight = rng.integers(1, 4, 178) if weighted else np.ones(178, dtype=int)
    result = profile(wine.data, wine.target, sample_weight=weight, n_bootstrap=0)
    rows = held_out_rows(wine.target, result)
    for row in result.rules.rows():
        met = wine.data.eval(row["rule"]).to_numpy()[rows]
        inside = wine.target.to_numpy()[rows] == row["cluster"]
        own, others = weight[rows][met & inside].sum(), weight[rows][met & ~inside].sum()
        assert row["recall"] == pytest.approx(own / weight[rows][inside].sum())
        assert row["others"] == pytest.approx(others / weight[rows][~inside].sum())
        assert row["precision"] == pytest.approx(own / (own + others))
        assert row["tested"] == inside.sum()


def test_half_of_each_cluster_is_held_out():
    labels = np.repeat([0, 1, 2], [10, 11, 1])
    groups = Groups.of(Clustering.of(labels), 22, None, None)
    learns = _first_half(groups, np.random.default_rng(0))
    assert np.bincount(labels, weights=learns).tolist() == [5, 6, 1]


def test_a_border_between_two_clusters_is_learned():
    rng = np.random.default_rng(1)
    X = rng.uniform(0, 100, size=(2000, 3))
    rules = profile(X, X[:, 1] > 60, n_bootstrap=0).rules
    for row in rules.rows():
        name, sign, number = row["rule"].split()
        assert (name, sign) == ("x1", ">" if row["cluster"] else "<=")
        assert float(number) == pytest.approx(60, abs=0.5)
        assert min(row["recall"], row["precision"]) > 0.99


def test_two_borders_become_one_condition():
    X = np.arange(400.0)[:, None]
    rules = profile(X, (X[:, 0] > 100) & (X[:, 0] <= 200), n_bootstrap=0).rules
    assert rules["rule"][1].startswith(("1", "9"))
    assert " < x0 <= " in rules["rule"][1]


def test_a_rule_may_name_levels():
    rng = np.random.default_rng(2)
    plan = rng.choice(["basic", "pro", "team"], 300)
    rules = profile({"plan": plan}, plan == "pro", n_bootstrap=0).rules
    assert rules["rule"].tolist() == ["plan is not pro", "plan is pro"]
    assert rules["precision"].tolist() == [1, 1]


def test_missing_values_do_not_meet_a_rule():
    X = np.arange(200.0)[:, None]
    labels = (X[:, 0] >= 100).astype(int)
    X[::4] = np.nan
    rules = profile(X, labels, n_bootstrap=0).rules
    assert (rules["precision"] > 0.95).all()
    assert (rules["recall"] < 0.9).all()


def test_external_columns_make_no_rule_unless_there_are_no_others():
    rng = np.random.default_rng(6)
    X = rng.uniform(0, 10, size=(200, 1))
    labels = X[:, 0] > 5
    rules = profile(X, labels, external={"class": labels.astype(str)}, n_bootstrap=0).rules
    assert all("x0" in rule for rule in rules["rule"])
    alone = profile({"class": labels.astype(str)}, labels, external=["class"], n_bootstrap=0)
    assert all("class is" in rule for rule in alone.rules["rule"])


def test_dates_in_rules():
    days = pd.date_range("2024-01-01", periods=400)
    result = profile(pd.DataFrame({"joined": days}), days.year > 2024, n_bootstrap=0)
    assert result.rules["rule"][1].startswith(("joined > 2024-12", "joined > 2025-01"))


def test_small_clusters_and_one_cluster_have_no_rule():
    X = np.random.default_rng(3).normal(size=(30, 2))
    result = profile(X, [0] * 14 + [1] * 13 + [2] * 3, n_bootstrap=0)
    assert result.rules["rule"][2] is None
    assert np.isnan(result.rules["recall"][2])
    assert result.rule_sentences[2] == "no rule for cluster 2"
    assert profile(X, [0] * 30).rules["rule"].tolist() == [None]


def test_a_rule_that_held_out_samples_do_not_confirm_is_left_out():
    left_out = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rules = profile(rng.normal(size=(100, 40)), rng.integers(0, 2, 100), n_bootstrap=0).rules
        left_out += sum(rule is None for rule in rules["rule"].tolist())
    # of 40 rules for noise, about 2 are confirmed by chance; those of both clusters go together
    assert left_out >= 32


def test_units_do_not_matter():
    iris = load_iris(as_frame=True)
    one = profile(iris.data, iris.target, n_bootstrap=0).rules
    # 32-bit floats, which trees use, do not hold such numbers
    other = profile(iris.data * 1e60, iris.target, n_bootstrap=0).rules
    for name in ("recall", "others", "precision"):
        assert one[name].tolist() == other[name].tolist()


def test_more_columns_than_a_tree_looks_at():
    rng = np.random.default_rng(4)
    labels = np.arange(200) % 2
    X = rng.normal(size=(200, 300))
    X[:, 250] += 6 * labels
    rules = profile(X, labels, n_bootstrap=0).rules
    assert all("x250" in rule for rule in rules["rule"])


def test_a_sentence():
    rng = np.random.default_rng(5)
    X = rng.uniform(0, 10, size=(400, 1))
    sentence = profile(X, X[:, 0] > 5, n_bootstrap=0, column_names=["age"]).rule_sentences[1]
    assert sentence.startswith("age > ")
    assert sentence.endswith(" of cluster True, 0 % of others")
