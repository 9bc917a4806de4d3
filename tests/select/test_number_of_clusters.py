"""The number of clusters on data with a known answer, and what must not change it."""

import json
import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import fcluster, linkage
from sklearn.datasets import load_digits, load_wine, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from coterie import ConsensusClustering, Ensemble, ParameterError
from coterie.cli import main
from coterie.generate import kmeans_pool
from coterie.select import compare, select_k

TRIANGLE = 10 * np.array([[0.0, 0.0], [1.0, 0.0], [0.5, 0.9]])


def select(X, k="auto", seed=0):
    """Few members and one criterion, because they do not influence the choice from features."""
    return select_k(X, k, n_members=3, criteria="lifetime", random_state=seed)


def answer(selection):
    return selection.recommended, selection.supported, selection.p_value


def fitted(X, n_clusters="auto", seed=0):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return ConsensusClustering(n_clusters, n_members=20, random_state=seed).fit(X)


def three_blobs(size=50, seed=0, scales=(1.0, 1.0, 1.0)):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], size)
    return TRIANGLE[y] + np.array(scales)[y][:, None] * rng.standard_normal((3 * size, 2)), y


def with_outliers(seed):
    rng = np.random.default_rng(seed)
    return np.vstack([three_blobs(50, seed)[0], rng.uniform(-60, 60, (3, 2))])


def heavy_tails(seed):
    y = np.repeat([0, 1, 2], 60)
    return TRIANGLE[y] + np.random.default_rng(seed).standard_t(2, (180, 2))


def sheared(seed):
    """Four corners of a square that is sheared so far that k-means cuts across them."""
    rng = np.random.default_rng(seed)
    corners = 10 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])
    X = np.repeat(corners, 60, axis=0) + 1.2 * rng.standard_normal((240, 2))
    return X @ [[1, 0], [3, 1]]


def overlapping(seed):
    """Three and a half standard deviations apart."""
    rng = np.random.default_rng(seed)
    return 0.35 * np.repeat(TRIANGLE, 150, axis=0) + rng.standard_normal((450, 2))


def trajectory(seed):
    """Samples along a smooth curve, with varying speed."""
    rng = np.random.default_rng(seed)
    t = rng.random(400)
    waves = np.stack([t, t**2, np.sin(np.pi * t), np.cos(np.pi * t)], axis=1)
    return waves @ (3 * rng.standard_normal((4, 20))) + 0.3 * rng.standard_normal((400, 20))


def on_a_grid(k, size=25, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(k), size)
    centres = 10 * np.stack([np.arange(k) % 5, np.arange(k) // 5], axis=1)
    return centres[y] + rng.standard_normal((k * size, 2)), y


def binary_columns(seed):
    rng = np.random.default_rng(seed)
    patterns = np.kron(np.eye(4), np.ones(3))
    likely = np.where(patterns[np.repeat(range(4), 50)] > 0, 0.9, 0.1)
    return (rng.random(likely.shape) < likely).astype(float)


def wine():
    return StandardScaler().fit_transform(load_wine().data)


def raters(n_raters, right, k, n=300, seed=0):
    """Labels of raters who are right with a probability, and guess otherwise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, k, n)
    known = rng.random((n, n_raters)) < right
    return np.where(known, y[:, None], rng.integers(0, k, (n, n_raters))), y


def long_sticks(seed):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], 150)
    return np.stack([rng.normal(0, 16, 450), 8 * y + rng.normal(size=450)], axis=1)


# ---------------------------------------------------------------------- features


@pytest.mark.parametrize(
    ("X_of", "k"),
    [
        (with_outliers, 3),
        (lambda seed: three_blobs(40, seed, (0.3, 1.0, 2.0))[0], 3),
        (heavy_tails, 3),
        (lambda seed: three_blobs(20, seed)[0], 3),
        (binary_columns, 4),
        (long_sticks, 3),
        (sheared, 4),
        (lambda seed: overlapping(seed + 1), 3),
    ],
    ids=[
        *("outliers", "densities", "heavy tails", "60 points", "binary", "long sticks"),
        *("sheared", "overlapping"),
    ],
)
def test_separated_clusters_are_counted(X_of, k):
    found = select(X_of(0))
    assert found.recommended == k
    assert found.p_value < 0.05


@pytest.mark.parametrize(
    "X_of",
    [
        lambda rng: rng.standard_normal((200, 2)),
        lambda rng: rng.standard_normal((100, 40)),
        lambda rng: rng.random((200, 10)),
        lambda rng: rng.standard_normal((200, 3)) * [10, 3, 1],
    ],
    ids=["normal", "wide", "uniform", "stretched"],
)
def test_one_cloud_has_no_structure(X_of):
    found = select(X_of(np.random.default_rng(0)))
    assert (found.recommended, found.supported) == (1, ())
    assert found.p_value >= 0.05
    assert "no structure" in found.reason


@pytest.mark.parametrize("seed", range(3))
def test_a_trajectory_is_a_continuum(seed):
    found = select(trajectory(seed))
    assert found.recommended == 1
    assert found.p_value >= 0.05 or "a continuum, not groups" in found.reason


def moons():
    return make_moons(600, noise=0.06, random_state=0)


def rings():
    return make_circles(400, noise=0.05, factor=0.4, random_state=0)


def sticks():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 200)
    return np.stack([rng.uniform(0, 16, 600), 3 * y + rng.normal(0, 0.33, 600)], axis=1), y


@pytest.mark.parametrize(("shapes", "k"), [(moons, 2), (rings, 2), (sticks, 3)])
def test_shapes_are_counted_and_found(shapes, k):
    X, y = shapes()
    model = fitted(X)
    assert model.n_clusters_ == k
    assert adjusted_rand_score(y, model.labels_) > 0.95


@pytest.mark.parametrize("k", [12, 20])
def test_auto_finds_more_than_ten_clusters(k):
    found = select(on_a_grid(k, 15)[0])
    assert found.recommended == k
    assert found.ks.tolist() == list(range(2, k + 1))


def test_a_range_that_ends_too_early_says_so():
    found = select(on_a_grid(15, 15)[0], range(2, 11))
    assert found.recommended == 10
    assert found.ks.max() == 10
    assert "k = 10 is the largest number compared" in found.notes[0]


# ---------------------------------------------------------------------- what must not matter


def test_the_order_of_samples_does_not_matter():
    X = wine()
    expected = answer(select(X))
    assert expected[0] == 3
    assert answer(select(X[np.random.default_rng(0).permutation(len(X))])) == expected


def test_the_seed_does_not_matter_on_wine():
    X = wine()
    assert select(X, seed=1).recommended == 3


@pytest.mark.parametrize("X", [three_blobs(20)[0], binary_columns(0)], ids=["blobs", "binary"])
def test_sparse_and_dense_give_the_same_answer(X):
    assert answer(select(sparse.csr_matrix(X))) == answer(select(X))


def test_the_largest_number_compared_does_not_matter():
    X, _ = three_blobs(20)
    answers = [answer(select(X, k)) for k in (range(2, 6), range(2, 11), "auto")]
    assert answers[0][0] == 3
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize(
    ("X", "n_clusters", "k"),
    [
        (on_a_grid(12, 15)[0], "auto", "auto"),
        (three_blobs(30)[0], (2, 10), range(2, 11)),
    ],
    ids=["auto", "range"],
)
def test_class_and_function_give_the_same_answer(X, n_clusters, k):
    model = fitted(X, n_clusters, seed=7)
    found = select(X, k, seed=7)
    assert answer(model.selection_) == answer(found)
    assert model.selection_.ks.tolist() == found.ks.tolist()
    assert (model.selection_.reason, model.selection_.notes) == (found.reason, found.notes)


def test_the_command_gives_the_answer_of_the_function(tmp_path, monkeypatch, capsys):
    pd = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    frame = pd.DataFrame(on_a_grid(12, 15)[0], columns=["x", "y"])
    frame.to_csv("data.csv", index=False)
    expected = answer(select(pd.read_csv("data.csv"), seed=7))
    assert expected[0] == 12
    for command in (["select"], ["cluster", "-k", "auto"]):
        arguments = [command[0], "data.csv", *command[1:], "--members", "10", "--seed", "7"]
        assert main([*arguments, "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)
        facts = facts.get("selection", facts)
        assert (facts["recommended"], tuple(facts["supported"]), facts["p_value"]) == expected


def test_rows_in_dask_give_the_answer_of_rows_in_memory():
    da = pytest.importorskip("dask.array")
    X, _ = three_blobs()
    lazy = fitted(da.from_array(X, chunks=(40, 2)))
    assert answer(lazy.selection_) == answer(fitted(X).selection_)


@pytest.mark.parametrize(
    "choose",
    [lambda X: select_k(X, criteria="lifetime", random_state=0), lambda X: fitted(X).selection_],
    ids=["select", "fit"],
)
def test_members_of_many_rows_are_fitted_on_a_part_and_label_all(choose, monkeypatch):
    X, y = three_blobs(100)
    monkeypatch.setattr(compare, "MAX_FITTED", 60)
    found = choose(X)
    assert found.recommended == 3
    assert adjusted_rand_score(y, found.labels_at(3)) > 0.98


# ---------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ("n_raters", "right", "k"), [(20, 0.95, 4), (8, 0.7, 4), (8, 0.95, 2), (40, 0.7, 8)]
)
def test_classes_of_raters_are_counted(n_raters, right, k):
    labels, _ = raters(n_raters, right, k)
    found = select_k(Ensemble.from_labels(labels), resamples=2, random_state=0)
    assert found.recommended == k
    assert found.p_value < 0.05


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_six_parties_with_missing_labels(missing):
    labels, _ = raters(6, 0.92, 3)
    labels[np.random.default_rng(1).random(labels.shape) < missing] = -1
    found = select_k(Ensemble.from_labels(labels), resamples=2, random_state=0)
    assert found.recommended == 3


def test_four_of_six_members_that_agree():
    labels, y = raters(6, 0.95, 3, n=180)
    labels[:, 0] = y
    labels[:, 4:] = np.random.default_rng(1).integers(0, 4, (180, 2))
    found = select_k(Ensemble.from_labels(labels), resamples=2, random_state=0)
    assert found.recommended == 3


def test_modalities_that_complement_each_other():
    first, a = raters(10, 0.95, 2, seed=0)
    second, b = raters(10, 0.95, 2, seed=1)
    ensemble = Ensemble.from_labels(np.hstack([first, second]))
    groups = ["first"] * 10 + ["second"] * 10
    found = select_k(ensemble, groups=groups, resamples=2, random_state=0)
    assert found.recommended == 4
    assert adjusted_rand_score(2 * a + b, found.labels_at(4)) > 0.9
    assert found.notes[:2] == (
        "The members of first alone support k = 2.",
        "The members of second alone support k = 2.",
    )


def two_modalities(missing=0.0):
    """k-means members that tell 0 | 1 | 23 apart, and others that tell 01 | 2 | 3."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), 60)
    centres = np.array([[0, 0], [9, 0], [4, 8]])
    views = []
    for view in (np.array([0, 1, 2, 2])[y], np.array([0, 0, 1, 2])[y]):
        X = centres[view] + rng.normal(size=(240, 2))
        pool = kmeans_pool(X, 20, (2, 11), random_state=0)
        views.append(pool.expand(pool.labels))
    views[1][rng.random(240) < missing] = -1
    return np.hstack(views), ["rna"] * 20 + ["protein"] * 20


@pytest.mark.parametrize("missing", [0.0, 0.25, 0.5])
def test_cells_of_two_modalities_intersect_in_four_clusters(missing):
    labels, groups = two_modalities(missing)
    found = select_k(Ensemble.from_labels(labels), groups=groups, resamples=2, random_state=0)
    assert found.recommended == 4
    assert found.p_value < 0.05
    assert "alone they support 3, 3, and these intersect in 4 clusters" in found.reason


def test_groups_that_see_the_same_clusters_do_not_split_them():
    labels, _ = raters(16, 0.8, 4)
    ensemble = Ensemble.from_labels(labels)
    found = select_k(ensemble, groups=["a", "b"] * 8, resamples=2, random_state=0)
    assert found.recommended == 4


def test_function_command_and_dask_give_the_same_answer_with_groups(tmp_path, monkeypatch, capsys):
    pd = pytest.importorskip("pandas")
    da = pytest.importorskip("dask.array")
    pytest.importorskip("pyarrow")
    from coterie.scale import ensemble_from_dask

    monkeypatch.chdir(tmp_path)
    labels, groups = two_modalities(missing=0.25)
    names = [f"{group}_{j}" for j, group in enumerate(groups)]
    ensemble = Ensemble.from_labels(labels, names=names)
    expected = answer(select_k(ensemble, groups=groups, random_state=0))
    assert expected[0] == 4
    lazy = ensemble_from_dask(da.from_array(labels, chunks=(100, 40)))
    assert answer(select_k(lazy, groups=groups, random_state=0)) == expected
    frame = pd.DataFrame(labels, columns=names)
    frame.to_csv("labels.csv", index=False)
    frame.to_parquet("labels.parquet", row_group_size=100)
    for command in (
        ["select", "labels.csv", "--labels"],
        ["select", "labels.parquet", "--labels", "--workers", "0"],
        ["combine", "labels.csv", "-k", "auto"],
    ):
        assert main([*command, "--groups", "rna", "protein", "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)
        facts = facts.get("selection", facts)
        assert (facts["recommended"], tuple(facts["supported"]), facts["p_value"]) == expected


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["select", "labels.csv", "--labels", "--groups", "rna"], "begins with none of 'rna'"),
        (
            ["select", "labels.csv", "--labels", "--groups", "", "dna"],
            "no clustering is in the group",
        ),
        (["select", "labels.csv", "--groups", "rna"], "use it with --labels"),
        (["combine", "labels.csv", "-k", "2", "--groups", "rna"], "use it with -k auto"),
    ],
)
def test_groups_that_cannot_be_used(arguments, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = ["rna_1,rna_2,protein", *["0,0,0", "1,1,1", "1,0,1"] * 5]
    (tmp_path / "labels.csv").write_text("\n".join(rows))
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


def test_one_group_per_member():
    labels, _ = raters(6, 0.9, 3)
    with pytest.raises(ParameterError, match="groups has length 5"):
        select_k(Ensemble.from_labels(labels), groups=list("aabbb"))


@pytest.mark.parametrize("method", ["average", "ward"])
def test_cuts_of_one_dendrogram_are_no_evidence(method):
    tree = linkage(np.random.default_rng(0).standard_normal((200, 5)), method)
    cuts = np.stack([fcluster(tree, k, "maxclust") for k in range(2, 12)], axis=1)
    found = select_k(Ensemble.from_labels(cuts), resamples=2, random_state=0)
    assert found.recommended == 1
    assert not found.tested
    assert "one hierarchy" in found.reason


def test_independent_members_share_nothing():
    labels = np.random.default_rng(0).integers(0, 4, (300, 12))
    found = select_k(Ensemble.from_labels(labels), resamples=2, random_state=0)
    assert (found.recommended, found.supported) == (1, ())
    assert found.p_value > 0.05


def test_labels_in_dask_give_the_answer_of_labels_in_memory():
    da = pytest.importorskip("dask.array")
    from coterie.scale import ensemble_from_dask

    labels, _ = raters(8, 0.8, 3, n=120)
    lazy = ensemble_from_dask(da.from_array(labels, chunks=(50, 8)))
    found = [
        select_k(ensemble, resamples=2, random_state=0)
        for ensemble in (lazy, Ensemble.from_labels(labels))
    ]
    assert answer(found[0]) == answer(found[1])
    assert found[0].recommended == 3


def test_weights_count_like_repeated_samples():
    X, _ = three_blobs(20)
    labels = kmeans_pool(X, 10, 6, random_state=0)
    rows = labels.expand(labels.labels)
    weighted = Ensemble.from_labels(rows, sample_weight=np.full(len(rows), 3))
    repeated = Ensemble.from_labels(np.repeat(rows, 3, axis=0))
    found = [select_k(ensemble, resamples=2, random_state=0) for ensemble in (weighted, repeated)]
    assert answer(found[0]) == answer(found[1])


def test_more_clusters_than_ten_are_found_in_labels():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(15), 40)
    X = rng.uniform(-10, 10, (15, 6))[y] + 0.5 * rng.normal(size=(600, 6))
    members = kmeans_pool(X, 20, (2, 30), random_state=0)
    found = select_k(members, criteria="lifetime", random_state=0)
    assert found.recommended == 15
    assert found.ks.max() == 15
    assert select_k(members, range(2, 9), criteria="lifetime", random_state=0).ks.max() == 8


def test_no_seed_changes_the_choice_from_features():
    X = load_digits().data[:500]
    assert answer(select(X, seed=1)) == answer(select(X, seed=0))
