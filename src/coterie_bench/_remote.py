"""Runs on the workers of a Dask cluster, each in its own process; this process keeps the records.

A runner in this process owns a Dask actor on a worker. The actor keeps copies of the pools that were
sent to it, and an agent: a process that starts and watches the process of a run, as on a single machine.
If an actor is lost with its worker, another one repeats the run.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import platform
import shutil
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from queue import Queue
from tempfile import mkdtemp
from time import monotonic, sleep
from typing import Any

from coterie.core.errors import SchedulerError
from coterie.scale.engine import active_client
from coterie_bench._process import END_SECONDS, POLL_SECONDS, RunProcess, processor
from coterie_bench._records import RunKey, RunRecord
from coterie_bench._spec import Caps
from coterie_bench._worker import Task, in_words

AGENT = "from coterie_bench._remote import run_agent; run_agent()"
# a run is given up after this many lost actors
LOSSES = 3
# seconds that a cluster may take to create an actor
PATIENCE = 60.0


@dataclass(frozen=True, eq=False)
class Workers:
    """The workers of a cluster, with one slot per thread; the first slots of all workers come first."""

    client: Any
    slots: tuple[str, ...]

    @classmethod
    def of(cls, client: Any) -> Workers:
        """The current workers; they need this version of coterie."""
        client = active_client(client)
        here = version("coterie")
        try:
            there = client.run(version, "coterie")
        except PackageNotFoundError:
            raise SchedulerError(
                f"the workers of {client.scheduler.address} have no coterie; install {here} there"
            ) from None
        for address, installed in there.items():
            if installed != here:
                raise SchedulerError(
                    f"the worker {address} has coterie {installed}, but this machine has {here}; install the "
                    "same version"
                )
        if not there:
            raise SchedulerError(f"the Dask scheduler at {client.scheduler.address} has no workers")
        threads = client.nthreads()
        slots = sorted((i, address) for address, count in threads.items() for i in range(count))
        return cls(client, tuple(address for _, address in slots))

    def joblib(self) -> AbstractContextManager[Any]:
        """A context in which joblib uses the workers."""
        from joblib import parallel_config

        config: AbstractContextManager[Any] = parallel_config("dask", client=self.client)
        return config

    def facts(self) -> dict[str, Any]:
        """Number of workers and threads, and their processors."""
        processors = {*self.client.run(_processor).values()}
        return {
            "count": len({*self.slots}),
            "threads": len(self.slots),
            "processors": sorted(processors),
        }

    def runner(self, slot: int, caps: Caps, stop: threading.Event) -> RemoteRunner:
        """A runner for the worker of a slot."""
        return RemoteRunner(self.client, self.slots[slot % len(self.slots)], caps, stop)


class RemoteRunner:
    """Executes runs through an actor on a worker, and replaces an actor that is lost."""

    def __init__(self, client: Any, address: str, caps: Caps, stop: threading.Event) -> None:
        self._client = client
        self._address = address
        self._caps = caps
        self._stop = stop
        self._actor: Any = None
        self._sent: set[Path] = set()
        self.group: tuple[str, str] | None = None

    def do(self, task: Task, keys: list[RunKey], keep: Callable[[RunRecord], None]) -> bool:
        """Execute runs and keep each record; False if asked to stop."""
        self.group = task.group
        for key in keys:
            finished = self._await(task, key)
            if finished is None:
                return False
            keep(finished)
        return True

    def _await(self, task: Task, key: RunKey) -> RunRecord | None:
        for _ in range(LOSSES):
            try:
                if self._actor is None:
                    self._actor = self._create_actor()
                pool = None if task.pool in self._sent else task.pool.read_bytes()
                finished: RunRecord | None = self._answer(self._actor.do(task, key, pool))
            except SchedulerError:
                raise
            except (OSError, RuntimeError, KeyError, ValueError):
                # errors of the run itself are in its record, so the connection failed
                self._actor = None
                self._sent.clear()
                continue
            self._sent.add(task.pool)
            return finished
        message = f"{LOSSES} Dask workers were lost during this run, one after the other"
        return replace(task.blank(key), message=message)

    def _create_actor(self) -> Any:
        # Dask would wait forever for a worker that is gone
        own = [self._address] if self._address in self._client.nthreads() else None
        future = self._client.submit(
            RunActor,
            self._caps,
            actor=True,
            pure=False,
            workers=own,
            allow_other_workers=own is not None,
        )
        deadline = monotonic() + PATIENCE
        while not future.done():
            if self._stop.is_set() or monotonic() > deadline:
                raise SchedulerError(
                    f"no worker of {self._client.scheduler.address} took a run within "
                    f"{PATIENCE:g} s; check that its workers are still there"
                )
            sleep(POLL_SECONDS)
        return future.result()

    def _answer(self, answer: Any) -> Any:
        """The answer of the actor; None if asked to stop."""
        while not answer.done():
            if self._stop.is_set():
                return None
            sleep(POLL_SECONDS)
        return answer.result()

    def close(self, at_once: bool = True) -> None:
        """End the actor, even if it is busy."""
        if self._actor is not None:
            # on a lost worker there is nothing to close
            with suppress(OSError, RuntimeError, KeyError, ValueError):
                self._actor.close().result(timeout=PATIENCE)
        self._actor = None


class RunActor:
    """On a worker: an agent that executes each run in its own process, and the pools that runs need.

    The agent is a process too, because Dask's workers are daemons, which may not start processes with
    multiprocessing.
    """

    def __init__(self, caps: Caps) -> None:
        self._caps = caps
        self._folder = Path(mkdtemp(prefix="coterie-bench-", dir=_own_directory()))
        self._remove = weakref.finalize(self, shutil.rmtree, self._folder, True)
        self._agent: subprocess.Popen[bytes] | None = None
        self._end: weakref.finalize[..., RunActor] | None = None
        self._closed = False

    async def do(self, task: Task, key: RunKey, pool: bytes | None) -> RunRecord | None:
        """Execute one run; ``pool`` holds its pool file if that was not sent before. None if closed."""
        # all actors of a worker share one thread, which must not be blocked
        return await asyncio.to_thread(self._do, task, key, pool)

    def _do(self, task: Task, key: RunKey, pool: bytes | None) -> RunRecord | None:
        try:
            path = self._folder / task.pool.name
            if pool is not None:
                path.write_bytes(pool)
            finished: RunRecord = self._ask(replace(task, pool=path), key)
            return finished
        except Exception as error:
            if self._closed:
                return None
            self._end_agent()
            return replace(task.blank(key), message=f"on its worker: {in_words(error)}")

    def _ask(self, task: Task, key: RunKey) -> Any:
        if self._agent is None:
            self._agent = subprocess.Popen(
                [sys.executable, "-c", AGENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            # also when Dask drops the actor
            self._end = weakref.finalize(self, _end, self._agent)
            self._send(self._caps)
        self._send((task, key))
        assert self._agent.stdout is not None
        return pickle.load(self._agent.stdout)

    def _send(self, message: object) -> None:
        assert self._agent is not None
        assert self._agent.stdin is not None
        pickle.dump(message, self._agent.stdin)
        self._agent.stdin.flush()

    async def close(self) -> None:
        """End the agent, even if it is busy, and remove the pools."""
        self._closed = True
        await asyncio.to_thread(self._close)

    def _close(self) -> None:
        self._end_agent()
        self._remove()

    def _end_agent(self) -> None:
        if self._end is not None:
            self._end()
        self._agent = self._end = None


def _own_directory() -> str | None:
    """The directory of the worker, which Dask removes even if the worker is killed."""
    from distributed import get_worker

    try:
        directory: str = get_worker().local_directory
    except ValueError:
        # not on a worker: the system's temporary directory
        return None
    return directory


def _end(agent: subprocess.Popen[bytes]) -> None:
    # when its input is closed, the agent cleans up and ends
    try:
        agent.communicate(timeout=END_SECONDS)
    except subprocess.TimeoutExpired:
        agent.kill()
        agent.communicate()


def run_agent() -> None:
    """The main function of the agent: reads caps and then runs from stdin, writes records to stdout.

    It ends, together with the process of its run, when the other end is closed.
    """
    answers = os.fdopen(os.dup(1), "wb")
    # what imported packages print must not mix with the answers
    os.dup2(2, 1)
    asked: Queue[tuple[Task, RunKey] | None] = Queue()
    stop = threading.Event()

    def listen() -> None:
        with suppress(EOFError, OSError):
            while True:
                asked.put(pickle.load(sys.stdin.buffer))
        stop.set()
        asked.put(None)

    process = RunProcess(pickle.load(sys.stdin.buffer), 1, stop)
    threading.Thread(target=listen, daemon=True).start()
    while (wanted := asked.get()) is not None:
        task, key = wanted
        finished: list[RunRecord] = []
        if not process.do(task, [key], finished.append):
            break
        # the actor may be gone
        with suppress(OSError):
            pickle.dump(finished[0], answers)
            answers.flush()
    process.close()
    # the buffer would be written again at exit
    with suppress(OSError):
        answers.close()


def _processor() -> str:
    return f"{processor()}, {platform.system()}, {os.cpu_count()} cores"
