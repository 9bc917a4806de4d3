"""Data sets are found and read, and repetitions draw from them as the protocol says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.io import savemat

from coterie.core.errors import DataError
from coterie_bench._data import DataPool, _features_of, data_folders, find, load_pool
from coterie_bench._protocol import count_repetitions, ensemble_of, repetition_seed, without
from coterie_bench._spec import DataSource, Generate, Protocol, SpecError


@pytest.fixture
def labels(rng):
    return rng.integers(0, 4, size=(30, 12))


def source(name, **options):
    return DataSource(name, (name,), **options)


def rows_of(ensemble):
    return ensemble.labels[ensemble.inverse]


@pytest.mark.parametrize("kind", ["npz", "members.mat", "cells.mat"])
def test_pools_of_every_usual_kind(tmp_path, labels, kind):
    classes = labels[:, 0] + 5
    if kind == "npz":
        np.savez(tmp_path / "trial.npz", members=labels + 1, gt=classes[:, None])
    elif kind == "members.mat":
        savemat(tmp_path / "trial.mat", {"members": labels + 1, "gt": classes[:, None]})
    else:
        cells = np.empty((1, 12), dtype=object)
        for j in range(12):
            cells[0, j] = np.eye(4)[labels[:, j]]
        savemat(tmp_path / "trial.mat", {"Yi": cells, "y": classes[:, None]})
    pool = load_pool(source("Trial"), [tmp_path], seed=0)
    assert pool.labels.shape == (30, 12)
    for j in range(12):
        pairs = {*zip(pool.labels[:, j].tolist(), labels[:, j].tolist(), strict=True)}
        assert len(pairs) == len({*labels[:, j].tolist()})
    assert pool.n_classes == len(np.unique(classes))


@pytest.mark.parametrize(("X", "y"), [("X", "Y"), ("fea", "gnd"), ("fea", "gt"), ("X", "y")])
def test_features_of_every_usual_kind(tmp_path, rng, X, y):
    values = np.repeat([[0.0], [9.0]], 15, axis=0) + rng.normal(size=(30, 1))
    savemat(tmp_path / "two.mat", {X: np.hstack([values, values]), y: np.repeat([1, 2], 15)})
    pool = load_pool(
        source("two", generate=Generate(pool=6, clusters="classes")), [tmp_path], seed=0
    )
    assert pool.labels.shape == (30, 6)
    assert pool.n_classes == 2
    assert all(len(np.unique(pool.labels[:, j])) == 2 for j in range(6))


def test_classes_of_another_length_are_refused(tmp_path, labels):
    np.savez(tmp_path / "trial.npz", members=labels, gt=np.arange(29))
    with pytest.raises(DataError, match="29 classes in 'gt' for 30 samples"):
        load_pool(source("trial"), [tmp_path], seed=0)


def test_a_matrix_the_wrong_way_round_is_recognised(tmp_path, labels):
    np.savez(tmp_path / "trial.npz", members=labels.T, gt=labels[:, 0])
    with pytest.raises(DataError, match=r"30 classes in 'gt' for 12 samples.*transpose the matrix"):
        load_pool(source("trial"), [tmp_path], seed=0)


def test_a_class_that_is_not_known_is_no_class_of_its_own(tmp_path, labels):
    classes = labels[:, 0].astype(float)
    classes[3] = np.nan
    np.savez(tmp_path / "trial.npz", members=labels, gt=classes)
    with pytest.raises(DataError, match="'gt' must be known for every sample"):
        load_pool(source("trial"), [tmp_path], seed=0)


def test_labels_beside_features_are_the_classes(tmp_path, rng):
    np.savez(tmp_path / "trial.npz", X=rng.normal(size=(20, 3)), labels=np.arange(20) % 2)
    pool = load_pool(source("trial", generate=Generate(pool=4)), [tmp_path], seed=0)
    assert pool.labels.shape == (20, 4)
    assert pool.n_classes == 2


def test_labels_alone_are_a_pool(tmp_path, labels):
    np.savez(tmp_path / "trial.npz", labels=labels)
    pool = load_pool(source("trial"), [tmp_path], seed=0)
    assert pool.labels.shape == labels.shape
    assert pool.classes is None


def test_matlab_files_of_version_7_3_are_named_as_such(tmp_path):
    (tmp_path / "trial.mat").write_bytes(
        b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\2IM" + b"\0" * 999
    )
    with pytest.raises(DataError, match=r"version 7\.3"):
        load_pool(source("trial"), [tmp_path], seed=0)


def test_a_pool_without_classes_is_taken(tmp_path, labels):
    np.savez(tmp_path / "trial.npz", members=labels)
    pool = load_pool(source("trial"), [tmp_path], seed=0)
    assert pool.classes is None


def test_labels_that_are_there_are_not_made(tmp_path, labels):
    np.savez(tmp_path / "trial.npz", members=labels)
    pool = load_pool(source("trial", generate=Generate()), [tmp_path], seed=0)
    plain = load_pool(source("trial"), [tmp_path], seed=0)
    np.testing.assert_array_equal(pool.labels, plain.labels)


def test_members_on_subsamples_cannot_come_from_labels(tmp_path, labels):
    np.savez(tmp_path / "trial.npz", members=labels)
    with pytest.raises(SpecError, match="holds labels"):
        load_pool(source("trial", generate=Generate(kind="subsample")), [tmp_path], seed=0)


def test_a_damaged_archive_is_named(tmp_path):
    (tmp_path / "trial.npz").write_bytes(b"PK\x03\x04 nothing more")
    with pytest.raises(DataError, match=r"trial\.npz is damaged"):
        load_pool(source("trial"), [tmp_path], seed=0)


def test_a_folder_comes_before_its_subfolders_and_pools_before_others(tmp_path, labels):
    for place in ("golden", "pools"):
        (tmp_path / place).mkdir()
        np.savez(tmp_path / place / "Trial.npz", members=labels)
    assert find(["absent", "trial"], [tmp_path]) == tmp_path / "pools" / "Trial.npz"
    np.savez(tmp_path / "trial.npz", members=labels)
    assert find(["trial"], [tmp_path]) == tmp_path / "trial.npz"
    assert find(["golden/trial"], [tmp_path]) == tmp_path / "golden" / "Trial.npz"
    assert find(["absent"], [tmp_path, tmp_path / "nowhere"]) is None


def test_files_are_found_by_the_names_that_authors_give_them(tmp_path, labels):
    for name in ("Tr41_878n_7454d_10c_tfidf_uni", "bc_pool_FCT", "warpAR10P", "lung_discrete"):
        savemat(tmp_path / f"{name}.mat", {"members": labels})
    for name in ("Tr41", "FCT", "WarpAR"):
        assert find([name], [tmp_path]) is not None
    assert find(["Lung"], [tmp_path]) is None
    # a name that is just so comes first, also as the second choice
    np.savez(tmp_path / "other.npz", members=labels)
    assert find(["Tr41", "other"], [tmp_path]) == tmp_path / "other.npz"


def test_folders_are_given_or_in_the_environment_or_data(tmp_path, monkeypatch):
    monkeypatch.delenv("COTERIE_DATA", raising=False)
    assert [str(folder) for folder in data_folders()] == ["data"]
    monkeypatch.setenv("COTERIE_DATA", str(tmp_path))
    assert data_folders() == [tmp_path]
    with pytest.raises(DataError, match="no such directory"):
        data_folders([tmp_path / "nowhere"])


def test_a_pool_survives_saving(tmp_path, labels):
    pool = DataPool("trial", labels.astype(np.int32), np.arange(30))
    pool.save(tmp_path / "trial.npz")
    again = DataPool.load("trial", tmp_path / "trial.npz")
    assert (again.labels == pool.labels).all()
    assert (again.classes == pool.classes).all()


def test_groups_are_disjoint_and_draws_differ(labels):
    pool = DataPool("trial", labels.astype(np.int32), None)
    groups = Protocol(kind="groups", members=(4,), repetitions=9)
    assert count_repetitions(groups, pool, 4) == 3
    for repetition in range(3):
        ensemble = ensemble_of(source("trial"), pool, groups, 4, 0.0, repetition, seed=0)
        expected = labels[:, 4 * repetition : 4 * repetition + 4]
        assert (rows_of(ensemble).max(axis=0) == expected.max(axis=0)).all()
        assert ensemble.n_members == 4
    draw = Protocol(kind="draw", members=(4,), repetitions=9)
    ensembles = [ensemble_of(source("trial"), pool, draw, 4, 0.0, r, seed=0) for r in (0, 0, 1)]
    assert (rows_of(ensembles[0]) == rows_of(ensembles[1])).all()
    assert not np.array_equal(rows_of(ensembles[0]), rows_of(ensembles[2]))


def test_given_draws_are_followed(labels):
    pool = DataPool("trial", labels.astype(np.int32), None)
    columns = np.array([[0, 3], [5, 1]])
    protocol = Protocol(members=(2,), repetitions=2)
    ensemble = ensemble_of(source("trial"), pool, protocol, 2, 0.0, 1, seed=0, columns=columns)
    for j, column in enumerate((5, 1)):
        pairs = {*zip(rows_of(ensemble)[:, j], labels[:, column], strict=True)}
        assert len(pairs) == 4


def test_a_file_of_ensembles_gives_its_own(tmp_path, labels):
    base = np.stack([labels, np.where(labels == 0, -1, labels)])
    np.savez(tmp_path / "trial.npz", base=base, y=labels[:, 0])
    pool = load_pool(source("trial"), [tmp_path], seed=0)
    protocol = Protocol(kind="groups", repetitions=10)
    assert count_repetitions(protocol, pool, 12) == 2
    ensemble = ensemble_of(source("trial"), pool, protocol, 12, 0.0, 1, seed=0)
    assert ((rows_of(ensemble) < 0) == (labels == 0)).all()
    with pytest.raises(SpecError, match="instead of a pool"):
        count_repetitions(Protocol(kind="draw"), pool, 12)


def test_more_members_than_there_are_is_refused(labels):
    pool = DataPool("trial", labels.astype(np.int32), None)
    with pytest.raises(SpecError, match=r"has 12 members, but protocol.members is 20"):
        count_repetitions(Protocol(), pool, 20)


@pytest.mark.parametrize("missing", [0.1, 0.5, 0.9])
def test_missing_labels_leave_no_sample_blank(labels, missing):
    partial = without(labels.astype(np.int32), missing, np.random.default_rng(0))
    gone = partial < 0
    assert (partial[~gone] == labels[~gone]).all()
    assert not gone.all(axis=1).any()
    assert gone.sum(axis=0).max() <= round(missing * 30)
    assert gone.sum() >= 0.8 * round(missing * 30) * 12


def test_members_made_on_subsamples_lose_no_more(rng):
    X = rng.normal(size=(40, 2))
    from coterie_bench._data import _codes, _members_of

    how = Generate("subsample", pool=6, clusters=3)
    pool = DataPool("x", _codes(_members_of(X, None, how, 0, 0.5, None)), None)
    absent = (pool.labels < 0).sum(axis=0)
    ensemble = ensemble_of(source("x", generate=how), pool, Protocol(), 6, 0.5, 0, seed=0)
    assert sorted((rows_of(ensemble) < 0).sum(axis=0)) == sorted(absent)


def test_seeds_differ_by_everything_that_names_a_repetition():
    seeds = {
        repetition_seed(*words)
        for words in [
            (0, "a", 10, 0.0, 0),
            (1, "a", 10, 0.0, 0),
            (0, "b", 10, 0.0, 0),
            (0, "a", 20, 0.0, 0),
            (0, "a", 10, 0.1, 0),
            (0, "a", 10, 0.0, 1),
        ]
    }
    assert len(seeds) == 6


def test_two_columns_that_may_be_the_classes_are_refused(tmp_path):
    path = tmp_path / "points.csv"
    path.write_text("x,y,class\n0.5,1,a\n1.5,2,b\n")
    with pytest.raises(DataError, match="columns 'y', 'class' may hold the classes"):
        _features_of(path)
