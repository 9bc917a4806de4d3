"""The table of runs survives kills, damage and company."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from coterie.core.errors import DataError
from coterie_bench import SpecError, parse_spec
from coterie_bench._records import RunKey, RunRecord
from coterie_bench._store import Journal, RunStore

pytest.importorskip("pyarrow", reason="the table of runs is parquet")

SPEC = parse_spec('[[data]]\nembedded = "iris"\n[[method]]\nsolver = "eac"\n')


def a_run(repetition=0, **changes):
    run = RunRecord(
        key=RunKey("iris", 10, 0.0, repetition, "eac", "{}"),
        solver="eac",
        default=True,
        ablation_of="",
        status="ok",
        message="",
        scores={"ari": 0.5 + repetition / 100},
        n_clusters=3,
        n_clusters_wanted=3,
        n_samples=150,
        n_microclusters=40,
        seconds=0.25,
        peak_mib=1.5,
        converged=True,
        passes=2,
        objective=(3.0, 1.0),
        labels_digest="abc",
        seed=7,
    )
    return replace(run, **changes)


@pytest.fixture
def store(tmp_path):
    store = RunStore(tmp_path / "runs")
    store.begin(SPEC)
    return store


def test_a_disk_that_takes_half_a_line_is_no_success():
    class Filling:
        def write(self, line):
            return len(line) // 2

    with pytest.raises(OSError, match="No space left"):
        Journal(Filling()).append(a_run())


def test_what_is_written_is_read(store):
    runs = [a_run(0), a_run(1, status="failed", message="x", scores={}, seconds=None, passes=None)]
    with store.journal() as journal:
        for run in runs:
            journal.append(run)
        assert store.runs() == runs
    assert not list((store.directory / "journals").iterdir())
    assert store.runs() == runs


def test_a_process_that_was_killed_leaves_its_runs(store):
    pid = os.fork()
    if pid == 0:
        with store.journal() as journal:
            journal.append(a_run(0))
            journal.append(a_run(1))
            os.kill(os.getpid(), 9)
    os.waitpid(pid, 0)
    assert len(list((store.directory / "journals").iterdir())) == 1
    assert [run.key.repetition for run in store.runs()] == [0, 1]
    store.fold()
    assert not list((store.directory / "journals").iterdir())
    assert [run.key.repetition for run in store.runs()] == [0, 1]


def test_a_line_cut_short_is_no_run(store):
    with store.journal() as journal:
        journal.append(a_run(0))
        (path,) = (store.directory / "journals").iterdir()
        with path.open("ab") as file:
            file.write(b"deadbeef {half of a")
        assert [run.key.repetition for run in store.runs()] == [0]
    assert [run.key.repetition for run in store.runs()] == [0]


def test_a_damaged_line_is_set_aside_and_nothing_else_lost(store):
    with store.journal() as journal:
        journal.append(a_run(0))
        (path,) = (store.directory / "journals").iterdir()
        with path.open("ab") as file:
            file.write(b"00000000 {}\n")
        journal.append(a_run(1))
        with pytest.warns(UserWarning, match="1 of 3 lines are damaged"):
            assert [run.key.repetition for run in store.runs()] == [0, 1]
        (kept,) = (store.directory / "set-aside").iterdir()
        assert kept.read_bytes() == b"00000000 {}\n"
        path.write_bytes(path.read_bytes().replace(b"00000000 {}\n", b""))


def test_a_damaged_part_is_set_aside_and_nothing_else_lost(store):
    for repetition in (0, 1):
        with store.journal() as journal:
            journal.append(a_run(repetition))
    first, _ = sorted((store.directory / "runs").iterdir())
    first.write_bytes(first.read_bytes()[:-40])
    with pytest.warns(UserWarning, match="is damaged .* was moved to"):
        left = store.runs()
    assert len(left) == 1
    assert (store.directory / "set-aside" / first.name).exists()
    assert store.runs() == left


def test_the_same_run_twice_is_one(store):
    for _ in range(2):
        with store.journal() as journal:
            journal.append(a_run(0))
            journal.append(a_run(1))
    assert len(store.runs()) == 2


def test_a_living_process_keeps_its_journal(store):
    with store.journal() as journal:
        journal.append(a_run(0))
        store.fold()
        assert len(list((store.directory / "journals").iterdir())) == 1
        with store.journal() as other:
            other.append(a_run(1))
            assert len(store.runs()) == 2


def test_a_task_belongs_to_one_process_at_a_time(store):
    with store.claimed("task") as mine:
        assert mine is not None
        assert not mine.touched
        with store.claimed("task") as theirs:
            assert theirs is None
        with store.claimed("another") as other:
            assert other is not None
    with store.claimed("task") as again:
        assert again is not None
        assert again.touched


def test_a_directory_belongs_to_one_spec(store):
    store.begin(SPEC)
    other = parse_spec(SPEC.text + '[[method]]\nsolver = "lwea"\n')
    with pytest.raises(SpecError, match=r"another spec .* or remove this one: it holds no runs"):
        store.begin(other)


def test_a_directory_without_a_spec_is_none_of_ours(tmp_path):
    with pytest.raises(DataError, match="not a directory of runs"):
        RunStore(tmp_path).spec()
