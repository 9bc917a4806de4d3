"""Real tables and label files as users give them, where a wrong answer once looked like a sure one.

Each test is one such use. The answer must be right, or the verdict must say that it is not to be trusted.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score

from coterie import LWEA, ConsensusClustering
from coterie.cli import main
from tests.builders import noisy_members

WINE = load_wine(as_frame=True)
CANCER = load_breast_cancer(as_frame=True)


@pytest.fixture
def command(tmp_path, monkeypatch, capsys):
    """Run the command in an empty directory: its output as one line, and the labels it wrote."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> tuple[str, np.ndarray]:
        assert main([*arguments, "-o", "out.csv"]) == 0
        return " ".join(capsys.readouterr().out.split()), pd.read_csv("out.csv")["label"].to_numpy()

    return run


# ---------------------------------------------------------------------- tables


def test_columns_of_different_scales_are_standardised_and_this_is_said(command):
    WINE.data.to_csv("wine.csv", index=False)
    output, labels = command("cluster", "wine.csv", "-k", "3")
    assert adjusted_rand_score(WINE.target, labels) > 0.85
    assert "13 columns (number, standardised)" in output
    assert "A second run would give nearly the same partition" in output


def test_columns_that_are_left_unscaled_are_doubted(command):
    WINE.data.to_csv("wine.csv", index=False)
    output, _ = command("cluster", "wine.csv", "-k", "3", "--scale", "none")
    assert "Don't rely on this partition. 1 column of 13 ('proline') makes up 99.8%" in output
    assert float(output.split("mean confidence ")[1][:4]) <= 0.5


def test_a_column_of_ids_is_no_feature_for_the_choice_of_k(command):
    X, blobs = make_blobs(300, 8, centers=5, random_state=0)
    table = pd.DataFrame(X, columns=[f"feature {j}" for j in range(8)])
    table.insert(0, "id", np.arange(300))
    table.to_csv("blobs.csv", index=False)
    output, labels = command("cluster", "blobs.csv", "-k", "auto", "--members", "10")
    assert adjusted_rand_score(blobs, labels) == 1
    assert "column 'id' (id) left out" in output


# ---------------------------------------------------------------------- confidence and verdict


def test_the_printed_and_written_confidence_falls_with_the_verdict(command):
    # ten members that are nine times out of ten right; two samples are labelled once, alone
    labels, _ = noisy_members(0, n=300, n_members=10, wrong=0.1)
    labels[298:] = -1
    labels[298, 0], labels[299, 1] = 77, 78
    pd.DataFrame(labels).astype("Int64").mask(labels < 0).to_csv("labels.csv", index=False)
    arguments = ("combine", "labels.csv", "-k", "3", "--method", "lwea", "--report", "page.html")
    output, _ = command(*arguments)
    assert "Don't rely on this partition. It only sets 2 of 300 samples apart" in output
    assert "Another set of members like these would give" in output
    printed = float(output.split("mean confidence ")[1][:4])
    assert printed <= 0.5
    written = pd.read_csv("out.csv")["confidence"]
    assert written.mean() == pytest.approx(printed, abs=0.005)
    page = Path("page.html").read_text(encoding="utf-8")
    assert (
        f"3 clusters of 300 samples, unreliable (median confidence {written.median():.2f})" in page
    )
    assert "assignments sure" not in page


# ---------------------------------------------------------------------- tiny clusters and seeds


@pytest.mark.parametrize("method", ["eccms", "spce"])
def test_breast_cancer_is_not_split_into_one_sample_and_the_rest(method):
    model = ConsensusClustering(2, solver=method, random_state=0).fit(CANCER.data)
    assert np.bincount(model.labels_).min() > 150
    assert adjusted_rand_score(CANCER.target, model.labels_) > 0.6


@pytest.mark.filterwarnings("ignore:.*distances between samples")
def test_a_split_of_568_to_1_is_said():
    # unscaled, with members of many clusters, and with outliers kept
    model = ConsensusClustering(
        2,
        solver="spce",
        generator="kmeans",
        member_clusters=(2, 23),
        min_cluster_size=None,
        random_state=0,
    ).fit(CANCER.data.to_numpy())
    assert sorted(np.bincount(model.labels_)) == [1, 568]
    assert not model.verdict_.reliable
    assert model.verdict_.doubts[0] == "It only sets 1 of 569 samples apart from the rest."


def test_seeds_agree_on_breast_cancer():
    one, *others = (
        ConsensusClustering(2, random_state=seed).fit_predict(CANCER.data) for seed in range(3)
    )
    assert adjusted_rand_score(CANCER.target, one) > 0.6
    assert min(adjusted_rand_score(one, other) for other in others) > 0.95


def test_a_hundred_members_on_breast_cancer():
    model = ConsensusClustering(2, n_members=100, random_state=4)
    assert adjusted_rand_score(CANCER.target, model.fit_predict(CANCER.data)) > 0.65
    with pytest.warns(UserWarning, match="2 columns of 30 .* 99.1% of the squared distances"):
        unscaled = model.fit(CANCER.data.to_numpy())
    assert np.bincount(unscaled.labels_).min() > 100
    assert not unscaled.verdict_.reliable


def test_one_member_splits_two_far_blobs_and_is_not_sure():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(10, 2)), rng.normal(size=(10, 2)) + 20])
    for seed in range(5):
        model = ConsensusClustering(2, n_members=1, random_state=seed).fit(X)
        assert model.labels_.tolist() == [0] * 10 + [1] * 10
        assert not model.sample_confidence_.any()
        assert str(model.verdict_) == "Whether a second run would agree is unknown."


# ---------------------------------------------------------------------- trust


def test_slices_of_a_stretched_cloud_are_doubted():
    cloud = np.random.default_rng(0).normal(size=(300, 2)) * [30, 1]
    for X in (cloud, pd.DataFrame(cloud, columns=["length", "width"])):
        for seed in range(2):
            verdict = ConsensusClustering(2, random_state=seed).fit(X).verdict_
            assert verdict.text.startswith("Don't rely on this partition.")
            assert "they may be slices of a continuum" in verdict.text


def test_the_page_does_not_call_slices_of_a_cloud_sure(command):
    cloud = np.random.default_rng(0).normal(size=(300, 2)) * [30, 1]
    pd.DataFrame(cloud, columns=["length", "width"]).to_csv("cloud.csv", index=False)
    command("cluster", "cloud.csv", "-k", "2", "--scale", "none", "--report", "page.html")
    page = Path("page.html").read_text(encoding="utf-8")
    assert "2 clusters of 300 samples, unreliable (median confidence" in page
    assert "assignments sure" not in page


def test_a_wild_column_beside_wine():
    wild = WINE.data.assign(wild=1e6 * np.random.default_rng(0).standard_cauchy(178))
    model = ConsensusClustering(3, random_state=0).fit(wild)
    assert adjusted_rand_score(WINE.target, model.labels_) > 0.85
    # who is sure of a sample is right
    sure = model.sample_confidence_ >= 0.95
    assert sure.sum() > 100
    assert adjusted_rand_score(WINE.target[sure], model.labels_[sure]) > 0.95
    with pytest.warns(UserWarning, match=r"1 column of 14 \(13\) makes up 99.9%"):
        unscaled = ConsensusClustering(3, random_state=0).fit(wild.to_numpy())
    assert unscaled.verdict_.text.startswith("Don't rely on this partition. 1 column of 14 (13)")


@pytest.mark.parametrize("n_columns", [1, 2, 4])
@pytest.mark.parametrize("seed", [0, 1])
def test_columns_of_yes_and_no_that_mean_nothing_do_not_decide(n_columns, seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=300)
    centres = np.array([[0, 0, 0], [5, 5, 0], [0, 5, 5]])
    table = pd.DataFrame(centres[truth] + rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    for j in range(n_columns):
        table[f"answer{j}"] = rng.choice(["yes", "no"], 300)
    model = ConsensusClustering(3, random_state=seed).fit(table)
    assert adjusted_rand_score(truth, model.labels_) > 0.95
    assert model.verdict_.reliable


@pytest.mark.parametrize("kind", ["uniform", "exponential", "lognormal", "categories"])
def test_noise_is_not_called_reliable(kind):
    rng = np.random.default_rng(0)
    if kind == "categories":
        table = {f"c{j}": rng.choice(["x", "y", "z"], 300).tolist() for j in range(6)}
    else:
        table = {f"c{j}": getattr(rng, kind)(size=300).tolist() for j in range(3)}
    for k in (2, 3, 5):
        assert not ConsensusClustering(k, random_state=0).fit(table).verdict_.reliable


def test_a_chosen_k_of_two_gives_the_partition_of_two_given():
    X, _ = make_blobs(100, 4, centers=[[0] * 4, [3] * 4], cluster_std=1.0, random_state=0)
    chosen = ConsensusClustering("auto", n_members=10, random_state=0).fit(X)
    assert chosen.n_clusters_ == 2
    given = ConsensusClustering(2, n_members=10, random_state=0).fit(X)
    assert chosen.labels_.tolist() == given.labels_.tolist()
    assert chosen.ensemble_ == given.ensemble_


# ---------------------------------------------------------------------- labels


def test_the_default_for_missing_labels_is_said_and_better_than_lwea(command):
    # PCE is ahead with each of the seeds 0 to 5; with this one LWEA is furthest behind
    rng = np.random.default_rng(2)
    truth = rng.integers(4, size=300)
    labels = np.empty((300, 20), dtype=int)
    missing = rng.random((300, 2)) < 0.25
    missing[missing.all(axis=1), 0] = False
    for modality in range(2):
        X = 2 * rng.normal(size=(4, 3))[truth] + rng.normal(size=(300, 3))
        for j in range(10 * modality, 10 * modality + 10):
            labels[:, j] = KMeans(rng.integers(3, 9), n_init=1, random_state=j).fit_predict(X)
            labels[missing[:, modality], j] = -1
    pd.DataFrame(labels).to_csv("labels.csv", index=False)
    output, combined = command("combine", "labels.csv", "-k", "4")
    assert "Method: PCE, because labels are missing." in output
    lwea = LWEA(4).fit(labels)
    default, other = (adjusted_rand_score(truth, one) for one in (combined, lwea.labels_))
    assert default > other + 0.1
    assert not lwea.verdict_.reliable


def test_few_distinct_rows_suffice_for_fewer_clusters():
    X = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 15, dtype=float)
    for k in (2, 3, 4):
        labels = ConsensusClustering(k, random_state=0).fit(X).labels_
        assert len(np.unique(labels)) == k
