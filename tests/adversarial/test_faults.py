"""Faults and company, a little of each; the long run takes more."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info

from coterie import EAC
from coterie._threads import one_blas_thread, one_thread
from coterie.io._write import whole_file
from tests.adversarial import concurrency, faults

needs_posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="limits and forks are POSIX's")


@needs_posix
def test_a_full_disk_leaves_what_was_there():
    pytest.importorskip("pyarrow", reason="parquet needs it")
    tally = faults.full_disk(4, 0)
    assert tally.violations == []
    assert tally.cases == 24


@needs_posix
@pytest.mark.parametrize("nameless", [True, False])
def test_a_kill_while_writing_leaves_the_old_file(tmp_path, nameless, monkeypatch):
    path = tmp_path / "t.txt"
    path.write_text("old")
    program = (
        "import os\n"
        f"{'' if nameless else 'del os.O_TMPFILE'}\n"
        "from coterie.io._write import whole_file\n"
        f"with whole_file({str(path)!r}) as file:\n"
        "    file.write(b'new' * 100_000)\n"
        "    file.flush()\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    answer = subprocess.run([sys.executable, "-c", program], check=False)
    assert answer.returncode == -signal.SIGKILL
    assert path.read_text() == "old"
    left = [name for name in os.listdir(tmp_path) if name != "t.txt"]
    if nameless and hasattr(os, "O_TMPFILE"):
        assert left == []
    # whatever is left is in nobody's way
    with whole_file(path) as file:
        file.write(b"newer")
    assert path.read_bytes() == b"newer"


def test_company_in_threads():
    alone = {name: concurrency.fit(name) for name in ("eac", "lwea", "voting", "kcc")}
    assert concurrency.in_threads(alone, 3).violations == []


def blas_threads() -> list[int]:
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


def test_the_last_to_leave_restores_the_threads_of_blas():
    before = blas_threads()
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with one_thread():
            inside.set()
            leave.wait(10)

    worker = threading.Thread(target=other)
    with one_blas_thread():
        worker.start()
        assert inside.wait(10)
    # one is still inside
    assert set(blas_threads()) <= {1}
    leave.set()
    worker.join()
    assert blas_threads() == before


@needs_posix
def test_a_fork_after_a_fit_answers_or_says_why(tmp_path):
    labels = [[0, 0], [0, 1], [1, 1]]
    EAC(2).fit(labels)
    place = tmp_path / "said"
    context = multiprocessing.get_context("fork")
    child = context.Process(target=_fit_and_tell, args=(labels, place))
    child.start()
    child.join(60)
    assert child.exitcode == 0
    assert place.read_text() in ("[0, 0, 1]", "ForkedError")


def _fit_and_tell(labels, place: Path) -> None:
    try:
        place.write_text(str(EAC(2).fit_predict(labels).tolist()))
    except RuntimeError as error:
        place.write_text(type(error).__name__)


def test_weights_out_of_bounds_are_refused():
    from coterie import Ensemble, LabelError

    for weights in ([1e-31, 1.0], [1.0, 1e31]):
        with pytest.raises(LabelError, match="must lie between 1e-30 and 1e"):
            Ensemble.from_labels([[0], [1]], sample_weight=weights)
    # whole numbers whose sum is no 64-bit number
    ensemble = Ensemble.from_labels([[0], [0], [1]], sample_weight=[2**62, 2**62, 2**62])
    assert ensemble.weights.tolist() == [2.0**63, 2.0**62]


def test_a_tiny_theta_leaves_every_member_some_influence():
    from coterie import LWEA, Ensemble
    from coterie.evidence import cluster_reliability

    ensemble = Ensemble.from_labels([[0, 0], [0, 1], [1, 0], [1, 1]])
    assert (cluster_reliability(ensemble, 1e-300) > 0).all()
    assert LWEA(2, theta=1e-300).fit(ensemble).n_clusters_ == 2
