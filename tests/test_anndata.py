"""AnnData: what is read from obs, and what is written under which key."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from coterie import EAC, LWEA, PCE, SPCE, ConsensusClustering, Ensemble, LabelError, ParameterError
from coterie.anndata import combine, ensemble
from coterie.evaluate import ari
from coterie.trust import soft_labels

anndata = pytest.importorskip("anndata", reason="anndata is not installed")

TRUTH = np.repeat([0, 1, 2], 20)


def cells(seed=0, missing=False):
    """Sixty cells of three kinds, clustered at four resolutions."""
    rng = np.random.default_rng(seed)
    obs = pd.DataFrame(
        {"n_genes": rng.integers(100, 900, 60)}, index=[f"cell{i}" for i in range(60)]
    )
    for resolution in ("0.2", "0.5", "1.0", "2.0"):
        labels = np.where(rng.random(60) < 0.85, TRUTH, rng.integers(0, 3, 60)).astype(str)
        column = pd.Categorical(labels)
        if missing:
            column = pd.Categorical(np.where(rng.random(60) < 0.3, None, labels))
        obs[f"leiden_{resolution}"] = column
    return anndata.AnnData(X=np.zeros((60, 2), dtype=np.float32), obs=obs)


LEIDEN = ["leiden_0.2", "leiden_0.5", "leiden_1.0", "leiden_2.0"]

# ---------------------------------------------------------------- what is read


def test_a_pattern_finds_the_columns_in_their_order():
    adata = cells()
    found = ensemble(adata, "leiden_*")
    assert list(found.members) == LEIDEN
    assert found.sample_ids.tolist() == adata.obs_names.tolist()
    assert ensemble(adata, ["leiden_2*", "leiden_0.2"]).members == ("leiden_0.2", "leiden_2.0")
    assert ensemble(adata, "leiden_[01].[05]").members == ("leiden_0.5", "leiden_1.0")


def test_a_name_with_a_bracket_is_a_name_first():
    adata = cells()
    adata.obs["kinds[1]"] = adata.obs["leiden_0.2"]
    assert ensemble(adata, ["kinds[1]"]).members == ("kinds[1]",)


def test_a_missing_category_is_a_missing_label():
    adata = cells(missing=True)
    members = ensemble(adata, "leiden_*")
    absent = members.expand(members.labels) < 0
    assert absent.any()
    assert np.array_equal(absent, adata.obs[LEIDEN].isna().to_numpy())


def test_values_that_mean_missing():
    adata = cells()
    adata.obs["hdbscan"] = np.where(TRUTH == 2, -1, TRUTH)
    assert not ensemble(adata, ["hdbscan", "leiden_0.2"]).is_complete
    assert ensemble(adata, ["hdbscan", "leiden_0.2"], missing=None).is_complete


@pytest.mark.parametrize("missing", [-1, None, "1", ["0", -1]])
def test_categories_numbers_and_text_are_read_as_elsewhere(missing):
    adata = cells(missing=True)
    adata.obs["numbers"] = pd.Categorical(np.where(TRUTH == 1, -1, TRUTH), categories=[5, 2, 0, -1])
    adata.obs["text"] = adata.obs["leiden_1.0"].astype(object)
    adata.obs["whole"] = np.where(TRUTH == 1, np.nan, TRUTH)
    columns = [*LEIDEN, "numbers", "text", "whole"]
    found = ensemble(adata, columns, missing=missing)
    expected = Ensemble.from_labels(
        adata.obs[columns], missing=missing, sample_ids=adata.obs_names.to_numpy(str)
    )
    assert found == expected
    for one, other in zip(found.categories, expected.categories, strict=True):
        assert one.tolist() == other.tolist()


# ---------------------------------------------------------------- what is written


def test_labels_confidence_and_settings_are_written():
    adata = cells()
    model = combine(adata, "leiden_*", n_clusters=3, member_weight=[1, 1, 2, 1])
    labels = adata.obs["coterie"]
    assert labels.cat.categories.tolist() == ["0", "1", "2"]
    assert labels.cat.codes.tolist() == model.labels_.tolist()
    assert ari(TRUTH, labels) > 0.9
    assert np.array_equal(adata.obs["coterie_confidence"], model.sample_confidence_)
    settings = adata.uns["coterie"]
    assert settings["method"] == "lwea"
    assert settings["params"] == {"n_clusters": 3, "theta": 0.4, "random_state": 0}
    assert settings["members"].tolist() == LEIDEN
    assert np.array_equal(settings["member_weights"], model.member_weights_)
    assert settings["member_weights"].argmax() == 2
    assert settings["n_clusters"] == 3
    assert {"coterie", "python", "numpy", "scikit-learn", "scipy"} <= {*settings["versions"]}
    assert "coterie_soft" not in adata.obsm


def test_it_is_the_solver_on_the_same_labels():
    adata = cells(missing=True)
    combine(adata, LEIDEN, solver=EAC(linkage="complete"), n_clusters=3, key_added="agreed")
    plain = EAC(n_clusters=3, linkage="complete").fit(adata.obs[LEIDEN])
    assert adata.obs["agreed"].cat.codes.tolist() == plain.labels_.tolist()


def test_soft_labels_have_a_column_per_category():
    adata = cells()
    model = combine(adata, "leiden_*", n_clusters=3, soft=True)
    soft = adata.obsm["coterie_soft"]
    assert soft.shape == (60, 3)
    assert soft.sum(axis=1) == pytest.approx(1.0)
    assert np.array_equal(soft, soft_labels(model.ensemble_, model.labels_))


def test_the_solver_may_be_the_name_of_a_method():
    adata = cells()
    model = combine(adata, LEIDEN, solver="eac", n_clusters=3)
    assert isinstance(model, EAC)
    assert adata.uns["coterie"]["method"] == "eac"


def test_the_given_solver_stays_as_it_was_and_its_seed_counts():
    adata = cells()
    solver = SPCE(n_clusters=2, random_state=7)
    combine(adata, "leiden_*", solver=solver, n_clusters=3)
    assert solver.n_clusters == 2
    assert not hasattr(solver, "labels_")
    assert adata.uns["coterie"]["method"] == "spce"
    assert adata.uns["coterie"]["params"]["random_state"] == 7
    assert adata.uns["coterie"]["params"]["n_clusters"] == 3


def test_the_same_call_gives_the_same_labels():
    one, other = cells(), cells()
    for adata in (one, other):
        combine(adata, "leiden_*", solver=PCE(n_clusters=3))
    assert one.obs["coterie"].tolist() == other.obs["coterie"].tolist()
    assert np.array_equal(one.obs["coterie_confidence"], other.obs["coterie_confidence"])


def test_everything_survives_a_file(tmp_path):
    adata = cells()
    adata.uns["other"] = 1
    combine(adata, "leiden_*", solver=EAC(), n_clusters=3, soft=True)
    combine(adata, "leiden_*", solver=SPCE(n_clusters=3), key_added="spce")
    adata.write_h5ad(tmp_path / "cells.h5ad")
    back = anndata.read_h5ad(tmp_path / "cells.h5ad")
    assert back.obs["coterie"].tolist() == adata.obs["coterie"].tolist()
    assert back.uns["coterie"]["params"]["linkage"] == "average"
    assert back.uns["coterie"]["members"].tolist() == LEIDEN
    assert np.array_equal(back.obsm["coterie_soft"], adata.obsm["coterie_soft"])
    assert back.uns["other"] == 1


# ---------------------------------------------------------------- again


def test_results_are_not_overwritten_unasked():
    adata = cells()
    combine(adata, "leiden_*", n_clusters=3, soft=True)
    before = adata.obs["coterie"].tolist()
    with pytest.raises(ParameterError) as caught:
        combine(adata, "leiden_*", n_clusters=2)
    assert str(caught.value) == (
        "combine: adata already has obs['coterie'], obs['coterie_confidence'], uns['coterie'], "
        "obsm['coterie_soft']; choose another key_added, or set overwrite=True"
    )
    assert adata.obs["coterie"].tolist() == before


def test_overwriting_leaves_nothing_of_the_old():
    adata = cells()
    combine(adata, "leiden_*", n_clusters=3, soft=True)
    combine(adata, "leiden_*", n_clusters=2, overwrite=True)
    assert adata.obs["coterie"].nunique() == 2
    assert "coterie_soft" not in adata.obsm


def test_a_result_is_no_member_of_itself():
    adata = cells()
    del adata.obs["n_genes"]
    combine(adata, "*", n_clusters=3)
    combine(adata, "*", n_clusters=3, overwrite=True)
    assert adata.uns["coterie"]["members"].tolist() == LEIDEN
    with pytest.raises(
        ParameterError, match="keys contains 'coterie', which the result would overwrite"
    ):
        combine(adata, ["coterie", "leiden_1.0"], overwrite=True)


def test_a_failure_writes_nothing():
    adata = cells()
    with pytest.raises(ParameterError, match="n_clusters is 1000"):
        combine(adata, "leiden_*", n_clusters=1000)
    assert "coterie" not in adata.obs
    assert "coterie" not in adata.uns


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ("leidan_1.0", r"no column of adata.obs matches 'leidan_1.0'; did you mean 'leiden_1.0'\?"),
        (["leiden_0.2", "louvain_1"], "no column of adata.obs matches 'louvain_1'"),
        ("louvain_*", r"no column of adata.obs matches 'louvain_\*' \(it has: n_genes, leiden_0.2"),
        ([], "keys is empty"),
        ([3], "keys must be names of columns of adata.obs, but contains 3"),
    ],
)
def test_keys_that_are_not_there(keys, says):
    for call in (ensemble, combine):
        with pytest.raises(ParameterError, match=says):
            call(cells(), keys)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"n_clusters": 0}, "combine: n_clusters must be a whole number of at least 1"),
        ({"solver": 3}, "combine: solver must be None, the name of a method"),
        ({"solver": "eak"}, "unknown method 'eak'; did you mean 'eac'"),
        ({"key_added": ""}, "combine: key_added must be a name"),
        ({"random_state": "x"}, "combine: random_state must be None, a whole number"),
    ],
)
def test_parameters_out_of_their_domain(arguments, says):
    with pytest.raises(ParameterError, match=says):
        combine(cells(), "leiden_*", **arguments)


def test_other_things_than_an_anndata():
    with pytest.raises(ParameterError, match="adata must be an AnnData, but is DataFrame"):
        combine(cells().obs, "leiden_*")
    with pytest.raises(ParameterError, match=r"adata is a view .* pass adata.copy\(\)"):
        combine(cells()[:30], "leiden_*")


def test_a_column_of_measurements_is_no_clustering():
    adata = cells()
    adata.obs["leiden_score"] = np.linspace(0, 1, 60)
    with pytest.raises(LabelError, match="member 'leiden_score', row 1"):
        combine(adata, "leiden_*")


def test_cells_that_no_clustering_labels_stay_without_a_label():
    adata = cells()
    adata.obs.loc["cell7", LEIDEN] = None
    combine(adata, LEIDEN, n_clusters=3)
    assert adata.obs["coterie"].isna().sum() == 1
    assert adata.obs["coterie"].isna()["cell7"]


def test_an_anndata_object_given_to_fit_is_refused_with_what_to_pass():
    adata = cells()
    with pytest.raises(ParameterError, match=r"X is an AnnData object; give .*obsm\['X_pca'\]"):
        ConsensusClustering(3).fit(adata)
    with pytest.raises(
        LabelError, match=r"labels is an AnnData object; use coterie.anndata.combine"
    ):
        LWEA(3).fit(adata)


@pytest.mark.skipif(importlib.util.find_spec("scanpy") is None, reason="scanpy is not installed")
def test_the_example_prints_what_its_page_says():
    root = Path(__file__).resolve().parents[1]
    run = subprocess.run(
        [sys.executable, root / "examples" / "single_cell.py"],
        capture_output=True,
        text=True,
        check=True,
    )
    page = (root / "docs" / "single_cell.md").read_text(encoding="utf-8")
    printed = page.split("It prints:\n\n```text\n")[1].split("```")[0]
    assert run.stdout == printed
