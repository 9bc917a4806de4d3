"""On worker processes: the same labels, also when one of them is killed."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from urllib.request import urlopen

import numpy as np
import pytest

pytest.importorskip("distributed", reason="distributed is not installed")
import dask
import dask.array as da
import distributed
import joblib
from dask import delayed
from pyarrow import parquet
from sklearn.base import BaseEstimator, ClusterMixin

from coterie import (
    EAC,
    ConsensusClustering,
    Ensemble,
    LabelError,
    MemoryBudgetError,
    ParameterError,
)
from coterie.core.errors import SchedulerError, WorkersLostError
from coterie.generate import kmeans_pool
from coterie.scale import (
    connect,
    dashboard_address,
    ensemble_from_dask,
    expand_to_dask,
    features_from_dask,
    kmeans_pool_dask,
    labels_to_parquet,
    local_cluster,
)
from coterie.scale.engine import quiet
from tests.scale.pools import label_pool
from tests.scale.test_pool import table

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


class Killing:
    """Kills a worker when so many steps are done, once."""

    def __init__(self, client: distributed.Client, after: int) -> None:
        self.victim = min(client.run(os.getpid).values())
        self._after = after
        self.killed = False
        self.began = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        if done == self._after and not self.killed:
            self.killed = True
            os.kill(self.victim, signal.SIGKILL)

    def check(self, client: distributed.Client) -> None:
        """That it happened, and that all was over soon nevertheless."""
        assert self.killed
        assert time.monotonic() - self.began < 240
        assert self.victim not in client.run(os.getpid).values()


def test_a_killed_worker_changes_nothing(whole, tmp_path):
    labels = in_parts(24, 0.1)
    with local_cluster(2, "1GB") as client:
        kill = Killing(client, 4)
        ensemble = ensemble_from_dask(labels, client=client, callback=kill)
        kill.check(client)
        np.testing.assert_array_equal(ensemble.labels, whole.ensemble_.labels)
        np.testing.assert_array_equal(ensemble.weights, whole.ensemble_.weights)
        found = EAC(4).fit(ensemble).labels_
        kill = Killing(client, 5)
        values = {"label": found}
        labels_to_parquet(tmp_path / "out", ensemble, values, labels, client=client, callback=kill)
        kill.check(client)
    files = sorted((tmp_path / "out").iterdir())
    assert len(files) == 24
    written = np.concatenate([parquet.read_table(file)["label"].to_numpy() for file in files])
    np.testing.assert_array_equal(written, whole.labels_)


def test_a_worker_killed_among_the_members_changes_nothing():
    X = da.from_array(features(2000), chunks=(300, 3))

    def labels(callback: Killing | None) -> np.ndarray:
        pool = kmeans_pool_dask(X, 8, 5, sample=500, random_state=0, callback=callback)
        return pool.labels.compute()

    with dask.config.set(scheduler="synchronous"):
        expected = labels(None)
    with local_cluster(2, "1GB") as client:
        kill = Killing(client, 2)
        with joblib.parallel_config("dask"):
            found = labels(kill)
        kill.check(client)
    np.testing.assert_array_equal(found, expected)


def test_workers_leave_ctrl_c_to_the_one_that_started_them(cluster):
    before = {*cluster.run(os.getpid).values()}
    for process in before:
        os.kill(process, signal.SIGINT)
    time.sleep(0.5)
    assert {*cluster.run(os.getpid).values()} == before


def deadly_part() -> np.ndarray:
    # not while the worker starts, of which Dask says only that none is left
    time.sleep(1.0)
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def test_work_that_ends_every_worker_is_given_up():
    # Dask gives a piece of work three more chances
    with local_cluster(2, "1GB") as client:
        labels = da.from_delayed(delayed(deadly_part)(), (10, 2), int)
        with pytest.raises(WorkersLostError, match="4 workers ended one after the other"):
            ensemble_from_dask(labels, client=client)


def test_work_without_any_worker_left_is_given_up():
    soon = dask.config.set({"distributed.scheduler.no-workers-timeout": "1s"})
    with (
        soon,
        distributed.LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as empty,
        distributed.Client(empty) as client,
        pytest.raises(WorkersLostError, match="no worker is left at the Dask scheduler at"),
    ):
        ensemble_from_dask(in_parts(3, 0.0), client=client)


SCHEDULER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    with LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, protocol="tcp", host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
    ) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


def test_a_scheduler_that_is_lost_is_told(tmp_path, whole):
    labels = in_parts(24, 0.1)
    with subprocess.Popen(
        [sys.executable, "-c", SCHEDULER],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        address = process.stdout.readline().strip()
        client = connect(address)
        try:
            ensemble = ensemble_from_dask(labels, client=client)
            values = {"label": EAC(4).fit_predict(ensemble)}

            def kill(done: int, total: int) -> None:
                process.kill()

            began = time.monotonic()
            lost = f"the Dask scheduler at {address} was lost during the work"
            with quiet(), pytest.raises(SchedulerError, match=lost) as caught:
                labels_to_parquet(
                    tmp_path / "out", ensemble, values, labels, client=client, callback=kill
                )
            assert "\n" not in str(caught.value)
            assert [*tmp_path.iterdir()] == []
            # by now the client may have closed itself, and forgotten the address
            with quiet(), pytest.raises(SchedulerError, match=r"the Dask scheduler .*was lost"):
                ensemble_from_dask(labels, client=client)
            assert time.monotonic() - began < 120
        finally:
            process.kill()
            with quiet():
                client.close()
        with pytest.raises(SchedulerError, match="the Dask scheduler was lost"):
            ensemble_from_dask(labels, client=client)


def test_a_client_that_dask_does_not_use_by_itself(cluster, whole):
    with (
        distributed.Client(cluster.scheduler.address, set_as_default=False) as client,
        cluster.as_current(),
    ):
        ensemble = ensemble_from_dask(in_parts(3, 0.0), client=client)
    np.testing.assert_array_equal(ensemble.labels, whole.ensemble_.labels)


def features(rows: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    centres = rng.normal(size=(4, 3)) * 6
    return centres[rng.integers(0, 4, rows)] + rng.normal(size=(rows, 3))


def test_features_get_the_same_labels_from_none_one_or_two_workers(cluster):
    X = features(2000)

    def labels(chunk: int) -> np.ndarray:
        model = ConsensusClustering(4, n_members=6, random_state=0)
        model.fit(features_from_dask(da.from_array(X, chunks=(chunk, 3)), sample=500))
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


def test_too_many_rows_are_refused_before_they_leave_the_workers(cluster):
    rng = np.random.default_rng(0)
    labels = da.from_array(rng.integers(0, 9, (20_000, 8)), chunks=(500, 8))
    with pytest.raises(MemoryBudgetError, match=r"19,\d+ distinct label rows among 20,000"):
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


@pytest.mark.parametrize("bokeh", [None, SimpleNamespace(origin=None), SimpleNamespace(origin="x")])
def test_the_dashboard_has_an_address(cluster, monkeypatch, bokeh):
    monkeypatch.setattr("coterie.scale.engine.find_spec", lambda name: bokeh)
    address = dashboard_address(cluster)
    if bokeh is not None and bokeh.origin is not None:
        assert address == cluster.dashboard_link
        return
    # what Dask serves in any case
    with urlopen(address, timeout=10) as page:
        assert "Workers" in page.read().decode()


def test_no_scheduler_is_told_within_seconds():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
    before = dask.config.get("scheduler", None)
    began = time.monotonic()
    with pytest.raises(SchedulerError, match=f"no Dask scheduler answers at {address}") as caught:
        connect(address, timeout=1.0)
    assert time.monotonic() - began < 60
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


def test_workers_encode_tables(cluster):
    import dask.dataframe as dd

    frame = table()
    whole = ConsensusClustering(3, n_members=8, random_state=0).fit(frame)
    model = ConsensusClustering(3, n_members=8, random_state=0)
    model.fit(dd.from_pandas(frame, npartitions=5))
    np.testing.assert_array_equal(model.labels_.compute(), whole.labels_)
