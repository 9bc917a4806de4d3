"""Columns that were clustered by are tested against clusters made without them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.cluster import KMeans

from coterie import EAC, ConsensusClustering, ParameterError, Result, profile

# three clusters in the columns 0 to 5, and noise
CENTRES = np.zeros((3, 12))
CENTRES[1, [0, 1, 2]] = 4
CENTRES[2, [3, 4, 5]] = 4


def planted(seed, n=150):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    return CENTRES[truth] + rng.normal(size=(n, 12)), truth


@pytest.fixture
def case():
    X, _ = planted(0)
    return X, KMeans(3, n_init=5, random_state=0).fit(X)


def test_named_columns_are_tested_against_clusters_made_without_them(case):
    X, model = case
    result = profile(X, model, held_out=["x1", "x7"], n_bootstrap=0)
    kept = [j for j in range(12) if j not in (1, 7)]
    others = KMeans(3, n_init=5, random_state=0).fit(X[:, kept]).labels_
    rows = {(row["cluster"], row["column"]): row for row in result.table.rows()}
    for column in (1, 7):
        p_values = {
            stats.mannwhitneyu(X[others == c, column], X[others != c, column]).pvalue
            for c in range(3)
        }
        of_profile = {rows[c, f"x{column}"]["p_value"] for c in range(3)}
        assert sorted(of_profile) == pytest.approx(sorted(p_values))
    roles = dict(zip(result.columns["column"], result.columns["role"], strict=True))
    assert {name for name, role in roles.items() if role == "held out"} == {"x1", "x7"}
    # what describes the clusters does not change
    plain = profile(X, model, n_bootstrap=0)
    assert result.table["auc"].tolist() == plain.table["auc"].tolist()
    assert result.sentences == plain.sentences
    assert any("by construction" in note for note in result.notes)
    assert {*result.between(0, 1)["role"]} == {"used"}


def test_groups_of_columns_hold_out_every_column_once(case):
    X, model = case
    result = profile(X, model, held_out=3, n_bootstrap=0)
    assert {*result.columns["role"]} == {"held out"}
    assert not np.isnan(result.table["p_value"]).any()
    assert not any("by construction" in note for note in result.notes)
    assert "these agree with the clusters described here (ARI) by 0.9" in result.notes[0]
    q = dict(zip(result.columns["column"], result.columns["p_adjusted"], strict=True))
    assert all(q[f"x{j}"] < 1e-6 for j in range(6))
    assert all(q[f"x{j}"] > 0.01 for j in range(6, 12))


def test_clusters_keep_their_names(case):
    X, model = case
    table = profile(X, model, held_out=4, n_bootstrap=0).table
    for row in table.rows():
        if row["column"] in {f"x{j}" for j in range(6)}:
            # the test is about the cluster in whose row it stands
            assert (row["p_value"] < 1e-3) == (abs(row["difference"]) > 0.6)


def test_noise_is_found_where_columns_are_used_and_not_where_they_are_held_out():
    used, held_out = [], []
    for seed in range(20):
        X = np.random.default_rng(seed).normal(size=(120, 6))
        model = KMeans(3, n_init=1, random_state=0).fit(X)
        used += profile(X, model, n_bootstrap=0).columns["p_value"].tolist()
        held_out += profile(X, model, held_out=2, n_bootstrap=0).columns["p_value"].tolist()
    assert np.mean(np.array(used) < 0.05) > 0.5
    # 6 of 120 are expected, with a standard deviation of 2.4
    assert np.mean(np.array(held_out) < 0.05) <= 0.1


@pytest.mark.parametrize("prepare", ["auto", None])
def test_a_table_and_a_consensus(prepare):
    X, _ = planted(1, n=90)
    table = pd.DataFrame(X[:, :8], columns=[f"c{j}" for j in range(8)])
    model = ConsensusClustering(3, n_members=6, prepare=prepare, random_state=0).fit(table)
    wider = table.assign(plan=["a", "b"] * 45)
    roles = profile(wider, model, held_out=["c0", "c7"], n_bootstrap=0).columns
    expected = {"c0": "held out", "c7": "held out", "plan": "external"}
    for name, role in zip(roles["column"], roles["role"], strict=True):
        assert role == expected.get(name, "used")


def test_a_chosen_number_of_clusters_is_kept():
    X, _ = planted(2, n=90)
    model = ConsensusClustering("auto", n_members=10, random_state=0).fit(X)
    result = profile(X, model, held_out=["x0"], n_bootstrap=0)
    p_value = result.table["p_value"][result.table["column"] == "x0"]
    assert not np.isnan(p_value).any()


def test_a_model_profiles_itself():
    X, _ = planted(3, n=90)
    model = ConsensusClustering(3, n_members=6, random_state=0).fit(X)
    outcome = {"outcome": np.arange(90) % 2}
    settings = dict(external=outcome, sample_weight="confidence", held_out=2, n_bootstrap=10)
    one, other = model.profile(X, **settings), profile(X, model, **settings)
    assert one.table == other.table
    assert str(one) == str(other)
    ids = [f"s{i}" for i in range(90)]
    named = pd.DataFrame(X, index=ids)
    by_id = ConsensusClustering(3, n_members=6, prepare=None, random_state=0)
    by_id.fit(named.rename(columns="x{}".format))
    shuffled = model.profile(X, n_bootstrap=0)
    assert shuffled.table == by_id.profile(
        X[::-1], sample_ids=ids[::-1], n_bootstrap=0
    ).table  # fmt: skip


def test_what_cannot_be_held_out(case):
    X, model = case
    with pytest.raises(ParameterError, match="which labels cannot do"):
        profile(X, model.labels_, held_out=2)
    solver = EAC(3).fit(np.column_stack([model.labels_] * 2))
    with pytest.raises(ParameterError, match="which EAC cannot do"):
        profile(X, solver, held_out=2)
    with pytest.raises(ParameterError, match="which labels cannot do"):
        profile(X, Result.of(solver), held_out=2)
    for wrong in (1, "x0", 0.5, []):
        with pytest.raises(ParameterError, match="held_out must be a whole number of at least 2"):
            profile(X, model, held_out=wrong)
    with pytest.raises(ParameterError, match="held_out is 13, but only 12 columns"):
        profile(X, model, held_out=13)
    with pytest.raises(ParameterError, match="held_out names 'x99'"):
        profile(X, model, held_out=["x99"])
    with pytest.raises(ParameterError, match="held_out names all columns"):
        profile(X, model, held_out=[f"x{j}" for j in range(12)])
