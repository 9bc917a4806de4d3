"""Runs on Dask workers: the same records as here, caps and losses included."""

from __future__ import annotations

import asyncio
import gc
import os
import re
import signal
import time
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

pytest.importorskip("distributed", reason="distributed is not installed")
pytest.importorskip("pyarrow", reason="the table of runs is parquet")

from coterie.cli import main
from coterie.core.errors import SchedulerError
from coterie.scale import local_cluster
from coterie_bench import parse_spec, run
from coterie_bench._remote import RunActor
from coterie_bench._run import _tasks
from coterie_bench._store import RunStore

pytestmark = pytest.mark.timeout(300)

SPEC = """
metrics = ["ari"]

[protocol]
members = 6
repetitions = 2

[[data]]
embedded = "iris"
generate = { pool = 12 }

[[method]]
solver = "eac"

[[method]]
solver = "lwea"
grid = "paper"
"""


def facts(directory):
    """What must not depend on where the runs were done."""
    return [
        (run.key, run.status, run.scores, run.labels_digest, run.seed, run.objective)
        for run in RunStore(directory).runs()
    ]


def children() -> list[str]:
    """Processes for runs of this worker that have not ended."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            text = status.read_text()
        except OSError:
            continue
        if re.search(rf"^PPid:\t{os.getpid()}$", text, re.MULTILINE) and "State:\tZ" not in text:
            found.append(status.parent.name)
    return found


@pytest.fixture(scope="module")
def cluster():
    with local_cluster(2, "2GB") as client:
        yield client


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("here")
    run(parse_spec(SPEC), folder)
    return facts(folder)


def test_workers_give_the_runs_of_one_machine(cluster, here, tmp_path, monkeypatch):
    # nothing is run by processes of this one
    monkeypatch.setattr("coterie_bench._run.RunProcess", None)
    told = []
    outcome = run(
        parse_spec(SPEC), tmp_path, client=cluster, callback=lambda *step: told.append(step[:2])
    )
    assert facts(tmp_path) == here
    assert outcome.failed == 0
    assert [done for done, _ in told] == [*range(outcome.total + 1)]
    assert RunStore(tmp_path).facts()["workers"]["count"] == 2
    done = [one for one in RunStore(tmp_path).runs() if one.solver]
    assert all(one.seconds > 0 for one in done)
    assert set(map(len, cluster.run(children).values())) == {0}
    # and a second call has nothing left to do
    assert run(parse_spec(SPEC), tmp_path, client=cluster).done_now == 0


def test_caps_hold_there(cluster, tmp_path):
    # a process that is stopped is started again, which takes seconds: one method each
    text = SPEC.replace("[[data]]", "[caps]\nseconds = 0.0001\n\n[[data]]", 1)
    text = text.replace("repetitions = 2", "repetitions = 3")
    text = text.partition("[[method]]")[0] + '[[method]]\nsolver = "nmfc"\n'
    run(parse_spec(text), tmp_path / "time", client=cluster, n_jobs=1)
    capped = [one for one in RunStore(tmp_path / "time").runs() if one.key.method == "nmfc"]
    assert [one.status for one in capped] == ["time cap"] * 3
    assert sum("not tried" in one.message for one in capped) == 1
    if not os.path.exists("/proc/self/status"):
        return
    text = text.replace("seconds = 0.0001", 'memory = "20MB"').replace('"nmfc"', '"eac"')
    text = text.replace("repetitions = 3", "repetitions = 1")
    run(parse_spec(text), tmp_path / "memory", client=cluster, n_jobs=1)
    capped = [one for one in RunStore(tmp_path / "memory").runs() if one.key.method == "eac"]
    assert {one.status for one in capped} == {"memory cap"}


def test_a_killed_worker_changes_nothing(here, tmp_path):
    # another takes its place
    with local_cluster(1, "2GB") as client:
        (victim,) = client.run(os.getpid).values()
        killed = []

        def kill(done, total, finished):
            if done == 5:
                os.kill(victim, signal.SIGKILL)
                killed.append(victim)

        run(parse_spec(SPEC), tmp_path, client=client, callback=kill)
        assert killed == [victim]
    assert facts(tmp_path) == here


def test_stopped_it_leaves_no_process_on_the_workers(cluster, here, tmp_path):
    def stop(done, total, finished):
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(parse_spec(SPEC), tmp_path, client=cluster, n_jobs=1, callback=stop)
    deadline = time.monotonic() + 30
    while any(cluster.run(children).values()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert len(RunStore(tmp_path).runs()) >= 5
    run(parse_spec(SPEC), tmp_path, client=cluster, n_jobs=1)
    assert facts(tmp_path) == here


@pytest.fixture
def passing():
    """A place for passing files, by a name short enough for the sockets there."""
    with TemporaryDirectory() as place:
        yield Path(place)


def test_a_pool_is_sent_not_shared(here, tmp_path, passing, monkeypatch):
    # of the agent and of its processes, not of this one
    monkeypatch.setenv("TMPDIR", str(passing))
    plan = parse_spec(SPEC)
    store = RunStore(tmp_path)
    store.begin(plan)
    tasks, _, _ = _tasks(plan, store, [], 1)
    task = next(task for task in tasks if task.method is not None and task.method.name == "eac")
    content = task.pool.read_bytes()
    actor = RunActor(plan.caps)
    key = task.run_keys()[0]

    def ask(actor, where, pool):
        return asyncio.run(actor.do(replace(task, pool=where), key, pool))

    elsewhere = Path("/nowhere") / task.pool.name
    first, again = ask(actor, elsewhere, content), ask(actor, elsewhere, None)
    # without it the run fails, and that is a record too
    lost = ask(actor, Path("/nowhere/unsent.npz"), None)
    # an actor that nobody holds any more takes its agent and its pools with it
    agent, folder = actor._agent, actor._folder
    assert agent.poll() is None
    assert folder.is_dir()
    del actor
    gc.collect()
    assert agent.poll() == 0
    assert not folder.exists()
    assert not [*passing.iterdir()]
    digests = {key: digest for key, _, _, digest, _, _ in here}
    assert first.labels_digest == again.labels_digest == digests[key]
    assert lost.status == "failed"
    assert "the process ended" in lost.message


def test_the_command_takes_a_scheduler(cluster, here, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("spec.toml").write_text(SPEC)
    address = cluster.scheduler.address
    code = main(
        ["bench", "run", "spec.toml", "--out", "runs", "--scheduler", address, "--jobs", "1"]
    )
    captured = capsys.readouterr()
    assert code == 0, captured.err
    assert "none failed" in captured.out
    assert "watch the workers at" in captured.err
    assert facts("runs") == here
    code = main(["bench", "run", "spec.toml", "--scheduler", "tcp://127.0.0.1:1"])
    assert code == 2
    assert "no Dask scheduler answers" in capsys.readouterr().err
    assert not Path("bench-spec").exists()


def test_workers_with_another_coterie_are_refused(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "run", lambda *_: {"tcp://there:1": "0.0.1"})
    with pytest.raises(
        SchedulerError, match=r"worker tcp://there:1 has coterie 0\.0\.1, but this machine has"
    ):
        run(parse_spec(SPEC), tmp_path / "runs", client=cluster)
    assert not (tmp_path / "runs").exists()
