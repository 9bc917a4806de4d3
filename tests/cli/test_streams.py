"""Streams that are closed or full, signals, and a process that may hardly have memory."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from coterie import cli

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="a shell's streams are POSIX's")


def shell(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", "-c", command.replace("coterie", f"{sys.executable} -m coterie", 1)],
        cwd=folder,
        capture_output=True,
        check=False,
        text=True,
    )


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_closed_streams_leave_the_work_alone(tmp_path, closed):
    (tmp_path / "m.csv").write_text("a,b\n" + "0,0\n" * 4 + "1,1\n" * 4)
    answer = shell(f"coterie combine m.csv -k 2 -o out.csv {closed}", tmp_path)
    assert (answer.returncode, answer.stderr) == (0, "")
    lines = (tmp_path / "out.csv").read_text().splitlines()
    assert (len(lines), lines[0]) == (9, "row,label,confidence")


@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"])
def test_a_mistake_is_one_where_nobody_hears_of_it(tmp_path, where):
    if "full" in where and not Path("/dev/full").exists():
        pytest.skip("no full device here")
    answer = shell(f"coterie combine missing.csv -k 2 {where}", tmp_path)
    assert (answer.returncode, answer.stdout) == (2, "")


def test_a_library_that_finds_no_memory_is_no_fault(monkeypatch, capsys):
    def load(*_: object) -> None:
        raise ImportError("some.so: failed to map segment from shared object")

    monkeypatch.setattr(cli, "_run", load)
    assert cli.main(["methods"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "out of memory while loading libraries" in said


def test_no_place_for_compiled_kernels_is_no_fault(monkeypatch, capsys):
    def compile_rows(*_: object) -> None:
        # nowhere to write, whoever runs this
        from numba import njit
        from numba.core import caching

        monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
        njit(cache=True)(shell)

    monkeypatch.setattr(cli, "_run", compile_rows)
    assert cli.main(["methods"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "NUMBA_CACHE_DIR" in said


def test_an_error_of_the_system_is_told_without_its_number(monkeypatch, capsys):
    def fail(*_: object) -> None:
        raise FileNotFoundError(2, "No such file or directory", "there.csv")

    monkeypatch.setattr(cli, "_run", fail)
    assert cli.main(["methods"]) == 2
    assert capsys.readouterr().err == "coterie: error: there.csv: No such file or directory\n"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_lets_the_command_put_things_in_order(monkeypatch, capsys, number):
    cleared = []

    def work(argv: object, caught: object, written: list[tuple[str, Path]]) -> None:
        written.append(("labels", Path("labels.csv")))
        try:
            os.kill(os.getpid(), number)
        finally:
            # from here on a second one ends the process at once
            cleared.append(signal.getsignal(number))

    monkeypatch.setattr(cli, "_run", work)
    before = signal.signal(number, signal.SIG_DFL)
    try:
        assert cli.main(["methods"]) == 128 + number
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert cleared == [signal.SIG_DFL]
    said = capsys.readouterr().err
    assert said == f"coterie: ended by {number.name}; already written: labels.csv\n"


def test_signals_that_have_an_answer_keep_it(monkeypatch):
    seen = []
    monkeypatch.setattr(cli, "_run", lambda *_: seen.append(signal.getsignal(signal.SIGHUP)) or [])
    # as nohup sets it
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert cli.main(["methods"]) == 0
    finally:
        signal.signal(signal.SIGHUP, before)
    # outside the main thread nothing can be set, and nothing needs to be
    thread = threading.Thread(target=cli.main, args=(["methods"],))
    thread.start()
    thread.join()
    assert seen == [signal.SIG_IGN, before]
