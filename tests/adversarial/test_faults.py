"""Faults and company, a little of each; the long run takes more."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import pkgutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

import coterie
from coterie import (
    EAC,
    ConsensusClustering,
    Ensemble,
    enhance,
    evidence,
    generate,
    select_k,
    trust,
)
from coterie.core.threads import one_blas_thread, one_thread
from coterie.io.write import whole_file
from tests.adversarial import concurrency, faults, kills

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
        "from coterie.io.write import whole_file\n"
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


@pytest.fixture
def _two_blas_threads():
    """So that a number that is not restored is seen; the other tests have one thread."""
    with threadpool_limits(2, "blas"):
        yield


@pytest.mark.usefixtures("_two_blas_threads")
def test_company_in_threads():
    alone = {name: concurrency.fit(name) for name in ("eac", "lwea", "voting", "kcc")}
    assert concurrency.in_threads(alone, 3).violations == []


def blas_threads() -> list[int]:
    return [info["num_threads"] for info in threadpool_info() if info["user_api"] == "blas"]


@pytest.mark.usefixtures("_two_blas_threads")
def test_the_last_to_leave_restores_the_threads_of_blas():
    before = blas_threads()
    assert set(before) <= {2}
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


X = np.random.default_rng(0).normal(size=(60, 2)) + np.repeat([[0.0], [9.0]], 30, axis=0)
MODEL = ConsensusClustering(2, n_members=4, random_state=0)
ENTRIES = {
    "fit": lambda: EAC(2).fit([[0, 0], [0, 1], [1, 1]]),
    "fit on features": lambda: clone(MODEL).fit(X),
    "predict": lambda: MODEL.predict(X[::-1]),
    "select_k": lambda: select_k(MODEL.ensemble_, [2, 3], random_state=0),
    "generate": lambda: generate.kmeans_pool(X, 3, n_clusters=(2, 3), random_state=0),
    "evidence": lambda: evidence.coassociation(MODEL.ensemble_),
    "trust": lambda: trust.diagnose_samples(MODEL.ensemble_, MODEL.labels_),
    "enhance": lambda: enhance(MODEL.ensemble_),
}


@needs_posix
@pytest.mark.parametrize("entry", ENTRIES)
def test_a_fork_after_a_fit_answers(tmp_path, entry):
    if not hasattr(MODEL, "labels_"):
        MODEL.fit(X)
    ENTRIES[entry]()
    place = tmp_path / "said"
    child = multiprocessing.get_context("fork").Process(target=_call_and_tell, args=(entry, place))
    child.start()
    child.join(60)
    hangs = child.exitcode is None
    child.kill()
    assert not hangs
    assert place.read_text() == "answered"


def _call_and_tell(entry: str, place: Path) -> None:
    ENTRIES[entry]()
    place.write_text("answered")


def test_no_kernel_has_threads_of_its_own():
    from numba.core.dispatcher import Dispatcher

    seen = []
    for module in pkgutil.walk_packages(coterie.__path__, "coterie."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, Dispatcher):
                assert not value.targetoptions.get("parallel"), f"{module.name}.{name}"
                seen.append(name)
    assert len(seen) > 10


def test_a_tiny_theta_leaves_every_member_some_influence():
    from coterie import LWEA
    from coterie.evidence import cluster_reliability

    ensemble = Ensemble.from_labels([[0, 0], [0, 1], [1, 0], [1, 1]])
    assert (cluster_reliability(ensemble, 1e-300) > 0).all()
    assert LWEA(2, theta=1e-300).fit(ensemble).n_clusters_ == 2


def test_every_command_is_killed():
    from coterie.cli.arguments import _parser, further_commands

    def steps(parser) -> dict:
        choices = [action.choices for action in parser._actions if isinstance(action.choices, dict)]
        return choices[0] if choices else {}

    named = set()
    for name, parser in steps(_parser(further_commands())).items():
        named |= {f"{name} {step}" for step in steps(parser)} or {name}
    assert named == {command.name for command in kills.COMMANDS}
