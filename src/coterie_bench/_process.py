"""The process that executes runs, watched from outside: a run that exceeds a cap is stopped and recorded."""

from __future__ import annotations

import platform
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from time import monotonic
from typing import Any

from coterie.core.budget import shown_bytes
from coterie.core.signals import blocked_signals
from coterie_bench._records import RunKey, RunRecord
from coterie_bench._spec import Caps
from coterie_bench._worker import Task, memory_of, serve

# seconds between two checks of a process
POLL_SECONDS = 0.02
# seconds that an idle process may take to end
END_SECONDS = 5.0


class RunProcess:
    """A process for runs of one group, replaced when the group changes or a run breaks it."""

    def __init__(self, caps: Caps, threads: int, stop: threading.Event) -> None:
        self._caps = caps
        self._threads = threads
        self._stop = stop
        self._process: Any = None
        self._connection: Connection | None = None
        self._lifeline: Connection | None = None
        self.group: tuple[str, str] | None = None

    def do(self, task: Task, keys: list[RunKey], keep: Callable[[RunRecord], None]) -> bool:
        """Execute runs until all are finished or one breaks the process; False if asked to stop."""
        if self.group != task.group or self._process is None or not self._process.is_alive():
            self._restart(task.group)
        assert self._connection is not None
        self._connection.send((task, keys))
        for key in keys:
            finished = self._await(task, key)
            if finished is None:
                return False
            keep(finished)
            if self._process is None:
                break
        return True

    def _await(self, task: Task, key: RunKey) -> RunRecord | None:
        """The record of the run, finished or stopped; None if asked to stop."""
        assert self._connection is not None
        began: float | None = None
        while True:
            if self._stop.is_set():
                self.close()
                return None
            try:
                if self._connection.poll(POLL_SECONDS):
                    _, finished = self._connection.recv()
                    if finished is not None:
                        return finished
                    began = monotonic()
                    continue
            except (EOFError, OSError):
                return self._broken(task, key)
            if began is not None and monotonic() - began > self._caps.seconds:
                self.close()
                seconds = self._caps.seconds
                return replace(
                    task.blank(key),
                    status="time cap",
                    message=f"stopped after {seconds:g} s",
                    seconds=seconds,
                )
            held = memory_of(self._process.pid)
            if held is not None and held > self._caps.memory:
                self.close()
                return replace(
                    task.blank(key),
                    status="memory cap",
                    message=f"stopped at {shown_bytes(held)} of {shown_bytes(self._caps.memory)}",
                    peak_mib=held / 1024**2,
                )

    def _broken(self, task: Task, key: RunKey) -> RunRecord:
        self._process.join(5)
        code = self._process.exitcode
        self.close()
        how = f"by signal {-code}" if code is not None and code < 0 else f"with exit code {code}"
        return replace(task.blank(key), message=f"the process ended {how}")

    def _restart(self, group: tuple[str, str]) -> None:
        self.close(at_once=False)
        known = get_all_start_methods()
        context: Any = get_context("forkserver" if "forkserver" in known else "spawn")
        if "forkserver" in known:
            # so that the processes do not import these again
            context.set_forkserver_preload(["coterie_bench._worker", "coterie.solvers.ec_cms"])
        self._connection, theirs = context.Pipe()
        self._lifeline, their_line = context.Pipe()
        self._process = context.Process(
            target=serve, args=(theirs, their_line, self._threads), daemon=True
        )
        # otherwise a run whose process ends by these signals would be recorded as failed
        with blocked_signals("SIGINT", "SIGTERM", "SIGHUP"):
            self._process.start()
        theirs.close()
        their_line.close()
        self.group = group

    def close(self, at_once: bool = True) -> None:
        """End the process: at once, or when it has finished its work."""
        if self._process is not None and at_once:
            self._process.kill()
        for connection in (self._connection, self._lifeline if at_once else None):
            if connection is not None:
                connection.close()
        if self._process is not None:
            self._process.join(END_SECONDS)
            if self._process.exitcode is None:
                self._process.kill()
                self._process.join()
        if self._lifeline is not None:
            self._lifeline.close()
        self._process = self._connection = self._lifeline = None
        self.group = None


def processor() -> str:
    """The name of the processor."""
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
