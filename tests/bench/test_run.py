"""A spec is carried out once, whatever interrupts it and however many work on it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from multiprocessing import active_children

import numpy as np
import pytest

from coterie.core.errors import DataError
from coterie.ensemble import Ensemble
from coterie_bench import parse_spec, plot, run
from coterie_bench._spec import SpecError
from coterie_bench._store import RunStore
from coterie_bench._worker import blank_samples_filled

pytest.importorskip("pyarrow", reason="the table of runs is parquet")

METHODS = """[[method]]
solver = "eac"

[[method]]
solver = "lwea"
grid = "paper"

[[method]]
solver = "lwgp"
"""
SPEC = f"""
metrics = ["ari"]

[protocol]
members = 6
repetitions = 3

[[data]]
embedded = "iris"
generate = {{ pool = 12 }}

{METHODS}"""


def facts(directory):
    """What must not depend on how the runs were done."""
    return [
        (run.key, run.status, run.scores, run.labels_digest, run.seed, run.objective)
        for run in RunStore(directory).runs()
    ]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The runs of an uninterrupted call."""
    folder = tmp_path_factory.mktemp("whole")
    outcome = run(parse_spec(SPEC), folder)
    return outcome, facts(folder)


def test_all_runs_are_there(whole):
    outcome, found = whole
    # base average and best, eac, five thetas of lwea (its default among them) and lwgp
    settings = {(key.method, key.setting) for key, *_ in found}
    assert len(found) == 3 * len(settings) == outcome.total == outcome.done_now
    assert outcome.failed == 0
    assert {key.method for key, *_ in found} == {"base average", "base best", "eac", "lwea", "lwgp"}
    best = {
        key.repetition: scores["ari"] for key, _, scores, *_ in found if key.method == "base best"
    }
    average = {
        key.repetition: scores["ari"]
        for key, _, scores, *_ in found
        if key.method == "base average"
    }
    assert all(best[repetition] >= average[repetition] for repetition in range(3))


def test_two_jobs_give_the_same(whole, tmp_path):
    run(parse_spec(SPEC), tmp_path / "runs", n_jobs=2)
    assert facts(tmp_path / "runs") == whole[1]


def test_a_second_call_does_nothing(whole):
    seen = []
    outcome = run(
        parse_spec(SPEC), whole[0].directory, callback=lambda done, total, one: seen.append(one)
    )
    assert outcome.done_now == 0
    assert seen == [None]
    assert outcome.total == whole[0].total


@pytest.mark.parametrize("after", [2, 11])
def test_killed_and_started_again_it_is_the_same_table(whole, tmp_path, after):
    (tmp_path / "spec.toml").write_text(SPEC)
    program = (
        "from coterie_bench import run\n"
        "if __name__ == '__main__':\n"
        f"    run({str(tmp_path / 'spec.toml')!r}, {str(tmp_path / 'runs')!r})\n"
    )
    (tmp_path / "program.py").write_text(program)
    process = subprocess.Popen([sys.executable, str(tmp_path / "program.py")])
    store = RunStore(tmp_path / "runs")
    deadline = time.monotonic() + 120
    while len(store.runs() if store.directory.exists() else []) < after:
        assert process.poll() is None, "it ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    done = len(store.runs())
    outcome = run(parse_spec(SPEC), tmp_path / "runs")
    assert outcome.done_now == outcome.total - done
    assert facts(tmp_path / "runs") == whole[1]


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="no signals to be deaf to")
def test_a_signal_to_the_whole_group_spoils_no_run(whole, tmp_path):
    reached = []

    def signal_all(done, total, finished):
        # as a terminal does on Ctrl-C, or the command timeout; the process of the runs is not asked
        for process in active_children():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                os.kill(process.pid, number)
            reached.append(process.pid)

    run(parse_spec(SPEC), tmp_path / "runs", callback=signal_all)
    assert reached
    assert facts(tmp_path / "runs") == whole[1]


def test_two_processes_share_the_work(whole, tmp_path):
    (tmp_path / "spec.toml").write_text(SPEC)
    program = (
        "from coterie_bench import run\n"
        "if __name__ == '__main__':\n"
        f"    print(run({str(tmp_path / 'spec.toml')!r}, {str(tmp_path / 'runs')!r}).done_now)\n"
    )
    (tmp_path / "program.py").write_text(program)
    processes = [
        subprocess.Popen(
            [sys.executable, str(tmp_path / "program.py")], stdout=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    done = [int(process.communicate(timeout=300)[0]) for process in processes]
    assert facts(tmp_path / "runs") == whole[1]
    assert sum(done) == whole[0].total


def test_a_time_cap_is_a_result_and_patience_ends(tmp_path):
    text = SPEC.replace("[[data]]", "[caps]\nseconds = 0.0001\n\n[[data]]", 1)
    text = text.replace(METHODS, '[[method]]\nsolver = "nmfc"\n')
    outcome = run(parse_spec(text), tmp_path / "runs")
    capped = [one for one in RunStore(tmp_path / "runs").runs() if one.key.method == "nmfc"]
    assert outcome.failed >= 3
    assert [one.status for one in capped] == ["time cap"] * 3
    assert all(one.scores == {} for one in capped)
    assert sum("not tried" in one.message for one in capped) == 1


def test_a_memory_cap_is_a_result(tmp_path):
    if not os.path.exists("/proc/self/status"):
        pytest.skip("the system does not tell a process's memory")
    # a process that is stopped is started again, which takes seconds: one method, one run
    text = SPEC.replace("[[data]]", '[caps]\nmemory = "20MB"\n\n[[data]]', 1)
    text = text.replace(METHODS, '[[method]]\nsolver = "eac"\n')
    text = text.replace("repetitions = 3", "repetitions = 1")
    run(parse_spec(text), tmp_path / "runs")
    found = [one for one in RunStore(tmp_path / "runs").runs() if one.key.method == "eac"]
    assert {one.status for one in found} == {"memory cap"}
    assert "stopped at" in found[0].message


def test_a_method_that_refuses_is_recorded(tmp_path, rng):
    labels = rng.integers(0, 2, size=(12, 4))
    np.savez(tmp_path / "small.npz", members=labels, gt=np.arange(12))
    text = """
    [[data]]
    name = "small"
    [[method]]
    solver = "eac"
    [protocol]
    members = 4
    repetitions = 1
    """
    outcome = run(parse_spec(text), tmp_path / "runs", data=[tmp_path])
    (found,) = [one for one in RunStore(tmp_path / "runs").runs() if one.key.method == "eac"]
    # twelve clusters out of fewer distinct rows cannot be had
    assert found.status == "failed"
    assert "n_clusters" in found.message
    assert outcome.failed == 1


def test_without_classes_scores_are_left_out(tmp_path, rng):
    np.savez(tmp_path / "small.npz", members=rng.integers(0, 3, size=(30, 4)))
    text = """
    [[data]]
    name = "small"
    [[data]]
    name = "elsewhere"
    [[method]]
    solver = "eac"
    [protocol]
    members = 4
    repetitions = 1
    """
    outcome = run(parse_spec(text), tmp_path / "runs", data=[tmp_path])
    assert outcome.absent == ("elsewhere",)
    assert "no classes" in outcome.remarks[0]
    found = RunStore(tmp_path / "runs").runs()
    assert [one.status for one in found] == ["ok"] * 3
    assert all(one.scores == {} for one in found)
    assert RunStore(tmp_path / "runs").facts()["absent"] == ["elsewhere"]


def test_no_data_at_all_is_refused_with_advice(tmp_path):
    text = SPEC.replace('embedded = "iris"', 'name = "tdt2"')
    with pytest.raises(DataError, match=r"none of the data sets .*tdt2.*--data"):
        run(parse_spec(text), tmp_path / "runs", data=[tmp_path])
    assert not (tmp_path / "runs").exists()


DRAWS = """
[[data]]
name = "small"
[[method]]
solver = "eac"
[protocol]
members = 3
repetitions = 2
columns = "draws"
"""


def test_draws_are_kept_with_the_runs(tmp_path, rng):
    np.savez(tmp_path / "small.npz", members=rng.integers(0, 3, size=(30, 6)), gt=np.arange(30) % 3)
    np.savez(tmp_path / "draws.npz", columns=np.array([[0, 1, 2], [3, 4, 5]]))
    spec, out = parse_spec(DRAWS), tmp_path / "runs"
    run(spec, out, data=[tmp_path])
    before = facts(out)
    (tmp_path / "draws.npz").unlink()
    assert run(spec, out, data=[tmp_path]).done_now == 0
    assert facts(out) == before
    assert (
        plot(out, formats=["svg"], data=[tmp_path]).left_out == plot(out, formats=["svg"]).left_out
    )


def test_draws_that_are_not_there_are_refused_but_for_a_paper(tmp_path, rng):
    np.savez(tmp_path / "small.npz", members=rng.integers(0, 3, size=(30, 6)), gt=np.arange(30) % 3)
    with pytest.raises(DataError, match=r"'draws' \(protocol\.columns\) are not in"):
        run(parse_spec(DRAWS), tmp_path / "own", data=[tmp_path])
    paper = parse_spec(f'paper = "eccms"\n{DRAWS}')
    outcome = run(paper, tmp_path / "paper", data=[tmp_path])
    assert (outcome.total, outcome.failed) == (6, 0)
    assert "drawn by the seed" in outcome.remarks[0]
    # draws that turn up later do not mix with these
    np.savez(tmp_path / "draws.npz", columns=np.array([[0, 1, 2], [3, 4, 5]]))
    again = run(paper, tmp_path / "paper", data=[tmp_path])
    assert again.done_now == 0
    assert again.remarks == outcome.remarks


def test_data_that_do_not_fit_are_left_out_and_said_so(tmp_path, rng):
    np.savez(tmp_path / "pool.npz", members=rng.integers(0, 3, size=(30, 6)))
    text = """
    [[data]]
    name = "pool"
    generate = { kind = "subsample", pool = 4 }
    [[method]]
    solver = "eac"
    [protocol]
    members = 4
    repetitions = 1
    """
    with pytest.raises(SpecError, match="holds labels"):
        run(parse_spec(text), tmp_path / "alone", data=[tmp_path])
    both = f'{text}[[data]]\nembedded = "iris"\ngenerate = {{ kind = "subsample", pool = 4 }}\n'
    outcome = run(parse_spec(both), tmp_path / "both", data=[tmp_path])
    assert outcome.absent == ("pool",)
    assert any("holds labels" in remark for remark in outcome.remarks)
    assert outcome.total == 3


def test_a_pool_too_small_for_the_draws_leaves_the_others_alone(tmp_path, rng):
    for name, n_members in (("small", 5), ("large", 6)):
        np.savez(tmp_path / f"{name}.npz", members=rng.integers(0, 3, size=(30, n_members)))
    np.savez(tmp_path / "draws.npz", columns=np.array([[0, 1, 2], [3, 4, 5]]))
    outcome = run(
        parse_spec(f'{DRAWS}[[data]]\nname = "large"\n'), tmp_path / "runs", data=[tmp_path]
    )
    assert outcome.absent == ("small",)
    assert any("go up to member 5, but data 'small' has 5" in words for words in outcome.remarks)
    assert (outcome.total, outcome.failed) == (6, 0)


def test_fewer_groups_than_repetitions_are_said(tmp_path, rng):
    np.savez(tmp_path / "small.npz", members=rng.integers(0, 3, size=(30, 7)))
    text = DRAWS.replace('columns = "draws"', 'kind = "groups"').replace("= 2", "= 10")
    outcome = run(parse_spec(text), tmp_path / "runs", data=[tmp_path])
    assert "its 7 members suffice for 2 of the 10 groups of 3" in outcome.remarks[-1]


def test_data_whose_names_differ_by_a_sign_are_kept_apart(tmp_path):
    store = RunStore(tmp_path)
    paths = {store.pool_path(name) for name in ("a b", "a_b", "a/b")}
    assert len(paths) == 3


def test_samples_without_any_label_get_random_ones_where_a_method_cannot_place_them():
    labels = np.array([[0, 1], [1, -1], [-1, -1], [2, 0], [-1, -1]])
    partial = Ensemble.from_labels(labels)
    filled = blank_samples_filled(partial, seed=3)
    rows = filled.labels[filled.inverse]
    assert filled.blank_samples().size == 0
    assert (rows[[2, 4]] >= 0).all()
    np.testing.assert_array_equal(rows[[0, 1, 3]] < 0, labels[[0, 1, 3]] < 0)
    assert filled.n_clusters_per_member.tolist() == partial.n_clusters_per_member.tolist()
    assert filled == blank_samples_filled(partial, seed=3)
    whole = Ensemble.from_labels(labels[[0, 1, 3]])
    assert blank_samples_filled(whole, seed=3) is whole


def test_members_that_see_little_leave_no_method_without_a_result(tmp_path):
    text = """
    [[data]]
    embedded = "iris"
    generate = { kind = "subsample", pool = 4, clusters = 3 }
    [[method]]
    solver = "eac"
    [[method]]
    solver = "pce"
    [protocol]
    members = 4
    missing = 0.7
    repetitions = 1
    """
    outcome = run(parse_spec(text), tmp_path / "runs")
    assert (outcome.total, outcome.failed) == (4, 0)


def test_a_damaged_pool_is_set_aside_and_made_again(tmp_path):
    text = SPEC.replace("repetitions = 3", "repetitions = 1")
    run(parse_spec(text), tmp_path / "whole")
    store = RunStore(tmp_path / "runs")
    store.begin(parse_spec(text))
    store.pool_path("iris").write_bytes(b"PK\x03\x04 nothing more")
    with pytest.warns(UserWarning, match=r"iris\.npz is damaged .* it is generated again"):
        run(parse_spec(text), store.directory)
    assert facts(store.directory) == facts(tmp_path / "whole")
    assert (store.directory / "set-aside" / "iris.npz").exists()


def test_missing_labels_are_filled_for_methods_that_need_them(tmp_path):
    text = SPEC.replace("members = 6", "members = 6\nmissing = [0.0, 0.4]")
    text = text.replace("repetitions = 3", "repetitions = 1")
    text = text.replace('solver = "lwgp"', 'solver = "lwgp"\nfill = "random"')
    run(parse_spec(text), tmp_path / "runs")
    runs = RunStore(tmp_path / "runs").runs()
    assert {one.status for one in runs} == {"ok"}
    by_method = {
        (one.key.method, one.key.missing): one.n_microclusters for one in runs if one.default
    }
    assert by_method["lwgp", 0.4] != by_method["eac", 0.4]
    assert by_method["lwgp", 0.0] == by_method["eac", 0.0]


def test_a_run_says_what_it_cost(whole):
    found = [one for one in RunStore(whole[0].directory).runs() if one.solver]
    assert all(one.seconds > 0 for one in found)
    if os.path.exists("/proc/self/clear_refs"):
        assert all(one.peak_mib is not None for one in found)
