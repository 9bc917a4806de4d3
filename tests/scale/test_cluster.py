"""On worker processes: the same labels, also when one of them is killed."""

from __future__ import annotations

import os
import signal
import socket
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("distributed", reason="distributed is not installed")
import dask
import dask.array as da
import distributed
import joblib
from dask import delayed
from sklearn.base import BaseEstimator, ClusterMixin

from coterie import (
    EAC,
    ConsensusClustering,
    Ensemble,
    LabelError,
    MemoryBudgetError,
    ParameterError,
)
from coterie.generate import kmeans_pool
from coterie.scale import (
    SchedulerError,
    WorkersLostError,
    connect,
    dashboard_address,
    ensemble_from_dask,
    expand_to_dask,
    fit_dask,
    kmeans_pool_dask,
    labels_to_parquet,
    local_cluster,
)
from tests.scale.pools import label_pool

pytestmark = pytest.mark.timeout(180)


def slow_part(begin: int, end: int, seconds: float) -> np.ndarray:
    time.sleep(seconds)
    return label_pool(6000, 6, 4, seed=8)[begin:end]


def in_parts(count: int, seconds: float) -> da.Array:
    step = 6000 // count
    return da.concatenate(
        [
            da.from_delayed(delayed(slow_part)(i * step, (i + 1) * step, seconds), (step, 6), int)
            for i in range(count)
        ]
    )


@pytest.fixture(scope="module")
def whole() -> EAC:
    return EAC(4).fit(Ensemble.from_labels(label_pool(6000, 6, 4, seed=8)))


@pytest.mark.parametrize("parts", [3, 20])
def test_workers_give_the_labels_of_one_process(cluster, whole, tmp_path, parts):
    labels = in_parts(parts, 0.0)
    told: list[tuple[int, int]] = []
    ensemble = ensemble_from_dask(labels, callback=lambda *step: told.append(step))
    np.testing.assert_array_equal(ensemble.labels, whole.ensemble_.labels)
    np.testing.assert_array_equal(ensemble.weights, whole.ensemble_.weights)
    assert told == [(i + 1, parts) for i in range(parts)]
    found = EAC(4).fit(ensemble)
    lazy = expand_to_dask(ensemble, found.labels_, labels)
    np.testing.assert_array_equal(lazy.compute(), whole.labels_)
    assert labels_to_parquet(tmp_path / "out", ensemble, {"label": found.labels_}, labels) == 6000


def test_a_killed_worker_changes_nothing(whole):
    killed: list[int] = []
    with local_cluster(2, "1GB") as client:
        pids = client.run(os.getpid)
        victim = sorted(pids.values())[0]

        def kill(done: int, total: int) -> None:
            if done == 4:
                os.kill(victim, signal.SIGKILL)
                killed.append(done)

        began = time.monotonic()
        ensemble = ensemble_from_dask(in_parts(24, 0.1), client=client, callback=kill)
        assert time.monotonic() - began < 60
        assert killed == [4]
        assert victim not in client.run(os.getpid).values()
    np.testing.assert_array_equal(ensemble.labels, whole.ensemble_.labels)
    np.testing.assert_array_equal(ensemble.weights, whole.ensemble_.weights)
    np.testing.assert_array_equal(
        ensemble.inverse[whole.ensemble_.inverse * 0], ensemble.inverse[0]
    )


def first_rows(model: EAC) -> np.ndarray:
    """Where each distinct row first occurs, in that order."""
    return np.sort(np.unique(model.ensemble_.inverse, return_index=True)[1])


def deadly_part() -> np.ndarray:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def test_work_that_ends_every_worker_is_given_up():
    once = dask.config.set({"distributed.scheduler.allowed-failures": 1})
    with once, local_cluster(1, "1GB") as client:
        labels = da.from_delayed(delayed(deadly_part)(), (10, 2), int)
        with pytest.raises(WorkersLostError, match="2 workers ended one after the other"):
            ensemble_from_dask(labels, client=client)


def features(rows: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(4, 3)) * 6
    return centres[rng.integers(0, 4, rows)] + rng.normal(size=(rows, 3))


def test_features_get_the_same_labels_from_none_one_or_two_workers(cluster):
    X = features(2000)

    def labels(chunk: int) -> np.ndarray:
        model = ConsensusClustering(4, members=6, random_state=0)
        fit_dask(model, da.from_array(X, chunks=(chunk, 3)), sample=500)
        return model.labels_.compute()

    by_two = labels(300)
    with local_cluster(1, "1GB"):
        by_one = labels(300)
    with dask.config.set(scheduler="synchronous"):
        by_none = labels(1100)
    np.testing.assert_array_equal(by_two, by_one)
    np.testing.assert_array_equal(by_two, by_none)


def test_errors_come_home_as_they_are(cluster):
    labels = np.zeros((60, 2))
    labels[41, 1] = 0.5
    with pytest.raises(LabelError, match="partition 2: member 'member_1', row 1: 0"):
        ensemble_from_dask(da.from_array(labels, chunks=(20, 2)))


def test_too_many_rows_are_refused_while_others_are_not_read_yet(cluster):
    rng = np.random.default_rng(0)
    labels = da.from_array(rng.integers(0, 9, (20_000, 8)), chunks=(500, 8))
    with pytest.raises(MemoryBudgetError, match=r"distinct label rows in \d+ of 40 partitions"):
        ensemble_from_dask(labels, memory_budget="1MB", client=cluster)


def test_joblib_on_the_workers_makes_the_same_members(cluster):
    X = np.random.default_rng(0).normal(size=(300, 3))
    with joblib.parallel_config("dask"):
        there = kmeans_pool(X, 6, (2, 6), random_state=0)
    assert there == kmeans_pool(X, 6, (2, 6), random_state=0)


class Halves(ClusterMixin, BaseEstimator):
    """Two clusters, and the process that found them."""

    def __init__(self, column: int = 0) -> None:
        self.column = column

    def fit(self, X: np.ndarray, y: object = None) -> Halves:
        self.process_ = os.getpid()
        self.labels_ = (X[:, self.column] > 0).astype(int)
        return self


def test_joblib_has_the_members_fitted_on_the_workers(cluster):
    X = np.random.default_rng(0).normal(size=(60, 3))
    model = ConsensusClustering(2, generator=[Halves(j) for j in range(3)], random_state=0)
    with joblib.parallel_config("dask"):
        there = model.fit(X).labels_
    assert {member.process_ for member in model.members_} <= {*cluster.run(os.getpid).values()}
    np.testing.assert_array_equal(there, model.fit(X).labels_)
    assert {member.process_ for member in model.members_} == {os.getpid()}


def test_batches_follow_the_rows_on_the_workers(cluster):
    X = features(2000)

    def labels(chunk: int) -> np.ndarray:
        array = da.from_array(X, chunks=(chunk, 3))
        pool = kmeans_pool_dask(array, 3, 5, sample=100, batch=300, random_state=0)
        return pool.labels.compute()

    there = labels(450)
    with dask.config.set(scheduler="synchronous"):
        np.testing.assert_array_equal(labels(2000), there)


@pytest.mark.parametrize("bokeh", [None, SimpleNamespace(origin=None), SimpleNamespace(origin="x")])
def test_the_dashboard_has_an_address_where_bokeh_is(cluster, monkeypatch, bokeh):
    monkeypatch.setattr("coterie.scale._engine.find_spec", lambda name: bokeh)
    shown = bokeh is not None and bokeh.origin is not None
    assert dashboard_address(cluster) == (cluster.dashboard_link if shown else None)


def test_no_scheduler_is_told_within_seconds():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
    before = dask.config.get("scheduler", None)
    began = time.monotonic()
    with pytest.raises(SchedulerError, match=f"no Dask scheduler answers at {address}") as caught:
        connect(address, timeout=1.0)
    assert time.monotonic() - began < 10
    assert "\n" not in str(caught.value)
    # Dask is not left waiting for a cluster that is not there
    assert dask.config.get("scheduler", None) == before
    with pytest.raises(SchedulerError, match="no Dask scheduler answers at nonsense://x"):
        connect("nonsense://x", timeout=1.0)


def test_a_scheduler_without_workers_is_told():
    with (
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty,
        pytest.raises(SchedulerError, match="has no workers"),
    ):
        connect(empty.scheduler_address, timeout=1.0)


def test_connect_to_workers(cluster):
    client = connect(cluster.scheduler.address)
    try:
        assert len(client.scheduler_info()["workers"]) == 2
    finally:
        client.close()


def test_other_clients_are_refused():
    with pytest.raises(ParameterError, match=r"client must be a distributed\.Client"):
        ensemble_from_dask(da.zeros((4, 2), dtype=int), client="tcp://here:1")
