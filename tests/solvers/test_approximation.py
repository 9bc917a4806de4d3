"""Grouped label rows: what must not matter, what the result says, and how good the labels are."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import pytest

from coterie import CESHL, EAC, ECCMS, PCE, SPCE, TRCE, Ensemble, MemoryBudgetError, ParameterError
from coterie.evaluate import ari
from coterie.numerics.modes import fit_modes
from coterie.solvers import approximation
from coterie.solvers.cutting import replace_crumbs
from coterie.solvers.methods import all_methods, find_method
from coterie.testing import check_blank_sample, check_order_and_names, check_weights
from tests.builders import cells_of_blobs, fit_quietly, noisy_members

noisy = partial(noisy_members, n=80, n_classes=4, wrong=(0.05, 0.4))
QUADRATIC = [EAC, SPCE, TRCE, ECCMS]


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_each_row_is_with_its_nearest_mode_and_each_label_is_the_most_frequent(missing):
    labels, _ = noisy(0, n=120, missing=missing)
    ensemble = Ensemble.from_labels(labels, sample_weight=np.arange(120) % 3 + 1)
    member_weights = np.linspace(1.0, 2.0, ensemble.n_members)
    for rounds in (0, 1, 3):
        groups = fit_modes(
            ensemble.labels, ensemble.sizes, member_weights, 20, np.random.default_rng(0), rounds
        )
        apart = np.array(
            [
                [
                    sum(
                        w * (0.0 if a == b else 0.5 if min(a, b) < 0 else 1.0)
                        for a, b, w in zip(row, mode, member_weights, strict=True)
                    )
                    for mode in groups.modes
                ]
                for row in ensemble.labels
            ]
        )
        np.testing.assert_allclose(groups.distance, apart.min(axis=1), rtol=1e-5)
        chosen = apart[np.arange(len(apart)), groups.group]
        np.testing.assert_allclose(chosen, apart.min(axis=1), rtol=1e-5)
        assert set(groups.group) == set(range(len(groups.modes)))
    # the modes after a round are those of the groups before it
    before = fit_modes(
        ensemble.labels, ensemble.sizes, member_weights, 20, np.random.default_rng(0), 0
    )
    after = fit_modes(
        ensemble.labels, ensemble.sizes, member_weights, 20, np.random.default_rng(0), 1
    )
    expected = set()
    for g in range(len(before.modes)):
        rows = before.group == g
        mode = []
        for column in ensemble.labels[rows].T:
            seen = column >= 0
            counts = np.bincount(column[seen], weights=ensemble.sizes[rows][seen])
            mode.append(int(counts.argmax()) if seen.any() else -1)
        expected.add(tuple(mode))
    assert set(map(tuple, after.modes.tolist())) <= expected


@pytest.mark.parametrize("name", [*all_methods()])
def test_every_method_takes_it_and_returns_exact_labels_where_nothing_is_grouped(name):
    labels, _ = noisy(1, n=60)
    solver = find_method(name)
    assert solver.domains()["approximate"].admits("auto")
    exact = fit_quietly(solver(3, random_state=0), labels)
    assert exact.approximation_ is None
    for approximate in ("auto", 60):
        model = fit_quietly(solver(3, random_state=0, approximate=approximate), labels)
        assert model.approximation_ is None
        np.testing.assert_array_equal(model.labels_, exact.labels_)
    grouped = fit_quietly(solver(3, random_state=0, approximate=30), labels)
    assert grouped.approximation_.n_groups <= 30
    assert len(np.unique(grouped.labels_)) == 3
    assert grouped.ensemble_.n_microclusters == exact.ensemble_.n_microclusters
    assert len(grouped.sample_confidence_) == 60


@pytest.mark.parametrize("solver", QUADRATIC)
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_order_names_weights_and_blank_samples_do_not_matter(solver, missing):
    labels, _ = noisy(2, n=60, missing=missing)
    rng = np.random.default_rng(0)
    model = solver(4, random_state=0, approximate=25)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_order_and_names(model, labels, 4, rng.permutation(60), rng.permutation(8))
        check_weights(model, labels, 4, rng.integers(1, 4, 60))
        check_blank_sample(model, labels, 4, 7)


def test_the_seed_does_not_change_the_groups():
    labels, _ = noisy(3, n=200)
    texts = {
        fit_quietly(PCE(4, random_state=seed, approximate=50), labels).approximation_.text
        for seed in range(3)
    }
    assert len(texts) == 1


def test_the_result_says_how_many_rows_were_grouped_and_how_far():
    labels, _ = noisy(4, n=200, missing=0.1)
    model = fit_quietly(EAC(4, approximate=40), labels)
    found = model.approximation_
    exact, grouped = model.ensemble_, found.ensemble
    assert (found.n_rows, found.n_groups) == (exact.n_microclusters, grouped.n_microclusters)
    assert f"{found.n_rows:,} distinct label rows were grouped into {found.n_groups}" in found.text
    # the labels of the rows that stand for others are the codes of the ensemble
    codes = np.column_stack(
        [
            np.where(stand < 0, -1, values[stand])
            for stand, values in zip(
                grouped.expand(grouped.labels).T, grouped.categories, strict=True
            )
        ]
    )
    own = exact.expand(exact.labels)
    apart = np.where(own == codes, 0.0, np.where(np.minimum(own, codes) < 0, 0.5, 1.0)).mean(axis=1)
    assert found.distance == pytest.approx(apart.mean())
    assert found.largest_distance == pytest.approx(apart.max())
    for name in ("weights", "labels"):
        assert len(getattr(grouped, name)) == found.n_groups
    assert grouped.weights.sum() == exact.weights.sum()


@pytest.mark.parametrize("solver", QUADRATIC)
def test_auto_groups_rows_only_if_all_need_too_much_memory(solver, monkeypatch):
    monkeypatch.setattr("coterie.solvers.base.ROWS", 60)
    labels, _ = noisy(5, n=2_000)
    model = fit_quietly(solver(4, approximate="auto", memory_budget="1MB"), labels)
    assert model.approximation_.n_groups <= 60
    same = fit_quietly(solver(4, approximate=60), labels)
    assert np.array_equal(model.labels_, same.labels_)


def test_auto_is_exact_if_memory_suffices(monkeypatch):
    monkeypatch.setattr("coterie.solvers.base.ROWS", 50)
    labels, _ = noisy(5, n=200)
    model = fit_quietly(EAC(4, approximate="auto"), labels)
    assert model.approximation_ is None
    assert np.array_equal(model.labels_, fit_quietly(EAC(4), labels).labels_)


def test_auto_groups_into_at_least_as_many_rows_as_clusters(monkeypatch):
    monkeypatch.setattr("coterie.solvers.base.ROWS", 50)
    labels, _ = noisy(5, n=2_000)
    model = fit_quietly(EAC(60, approximate="auto", memory_budget="1MB"), labels)
    assert model.n_clusters_ == 60


@pytest.mark.parametrize(("solver", "reference"), [(EAC, EAC(12)), (TRCE, PCE(12, random_state=0))])
def test_labels_of_many_rows_stay_as_near_to_the_truth(solver, reference):
    labels, blobs = cells_of_blobs(6_000, 1, spread=3.0, n_members=20)
    ensemble = Ensemble.from_labels(labels)
    assert ensemble.n_microclusters > 4_000
    exact = ari(blobs, fit_quietly(reference, ensemble).labels_)
    model = fit_quietly(solver(12, approximate=500), ensemble)
    assert model.approximation_.n_groups <= 500
    assert ari(blobs, model.labels_) > exact - 0.05
    assert np.bincount(model.labels_).min() > 60


def test_fewer_rows_than_clusters_are_refused():
    labels, _ = noisy(6)
    with pytest.raises(ParameterError, match="approximate=3 leaves fewer label rows"):
        EAC(4, approximate=3).fit(labels)
    for wrong in (0, -1, "all", 2.5, True):
        with pytest.raises(ParameterError, match="approximate must be None, 'auto' or a whole"):
            EAC(4, approximate=wrong).fit(labels)


def test_as_many_rows_as_clusters_keep_that_many_groups():
    labels, _ = noisy(7, n=200)
    for count in (4, 10, 40):
        assert fit_quietly(EAC(count, approximate=count), labels).n_clusters_ == count
        assert (
            approximation.Approximation.of(Ensemble.from_labels(labels), count, count).n_groups
            == count
        )


def test_a_method_that_needs_too_much_memory_advises_to_group_rows():
    labels, _ = noisy(8, n=2_000)
    for solver in QUADRATIC:
        with pytest.raises(
            MemoryBudgetError, match="or group similar label rows with approximate='auto'"
        ):
            solver(4, memory_budget="1MB").fit(labels)
        model = fit_quietly(solver(4, memory_budget="1MB", approximate=60), labels)
        assert model.approximation_.n_groups <= 60
    # a linear method is slow on that many rows for other reasons
    with pytest.raises(MemoryBudgetError) as error:
        CESHL(4, memory_budget="10kB").fit(labels)
    assert "approximate" not in str(error.value)


# ---------------------------------------------------------------- crumbs


def two_overlapping_blobs_and_others(seed):
    """Rows whose blobs 0 and 1 are near each other."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(scale=6.0, size=(5, 4))
    centres[1] = centres[0] + 3.5 * np.eye(4)[0]
    blobs = rng.integers(0, 5, 3000)
    points = centres[blobs] + rng.normal(scale=0.7, size=(3000, 4))
    labels = []
    for _ in range(15):
        chosen = points[rng.choice(3000, rng.integers(6, 15), replace=False)]
        labels.append(((points[:, None] - chosen) ** 2).sum(axis=2).argmin(axis=1))
    return np.column_stack(labels), blobs


@pytest.mark.parametrize("seed", range(4))
def test_a_crumb_does_not_take_the_place_of_a_cluster(seed):
    labels, blobs = two_overlapping_blobs_and_others(seed)
    ensemble = Ensemble.from_labels(labels)
    of_rows = np.empty(ensemble.n_microclusters, dtype=int)
    of_rows[ensemble.inverse] = np.maximum(blobs, 1) - 1
    # blobs 0 and 1 in one cluster, and a single row cut off
    of_rows[np.argmin(ensemble.sizes)] = 4
    mended, n_replaced = replace_crumbs(ensemble, of_rows)
    assert n_replaced == 1
    assert ari(blobs, mended[ensemble.inverse]) > ari(blobs, of_rows[ensemble.inverse]) + 0.1
    again, n_again = replace_crumbs(ensemble, mended)
    assert n_again == 0
    np.testing.assert_array_equal(again, mended)


def test_a_small_cluster_unlike_all_others_stays():
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1, 2], [1000, 1000, 10])
    labels = np.where(
        rng.random((2010, 12)) < 0.1, rng.integers(0, 3, (2010, 12)), classes[:, None]
    )
    ensemble = Ensemble.from_labels(labels)
    of_rows = np.empty(ensemble.n_microclusters, dtype=int)
    of_rows[ensemble.inverse] = classes
    mended, n_replaced = replace_crumbs(ensemble, of_rows)
    assert n_replaced == 0
    np.testing.assert_array_equal(mended[ensemble.inverse], classes)


def test_the_result_says_that_clusters_were_replaced_and_exact_results_never_change():
    labels, _ = two_overlapping_blobs_and_others(1)
    found = fit_quietly(SPCE(5, approximate=300), labels)
    record = found.approximation_
    assert ("merged into others" in record.text) == (record.n_replaced > 0)
    exact = fit_quietly(SPCE(5, approximate="auto"), labels)
    assert exact.approximation_ is None
    np.testing.assert_array_equal(exact.labels_, fit_quietly(SPCE(5), labels).labels_)
