"""Where the work is done: a Dask cluster, or whatever scheduler Dask is set to without one."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from coterie._budget import Budget, memory_budget
from coterie._params import Integer, ParameterError, Real, check_parameters


class SchedulerError(ConnectionError):
    """No cluster to work on."""


class WorkersLostError(MemoryError):
    """The same piece of work ended one worker after the other."""


def connect(address: str, timeout: float = 5.0) -> Any:
    """A client of the Dask scheduler at an address.

    Parameters
    ----------
    address : str
        Such as ``"tcp://10.0.0.5:8786"``.
    timeout : float, default 5.0
        Seconds to wait for the scheduler and its first worker.

    Returns
    -------
    distributed.Client
        It becomes the one that Dask uses from here on; close it when done.

    Raises
    ------
    SchedulerError
        One line, when nothing answers in time.

    Examples
    --------
    >>> from coterie.scale import connect
    >>> connect("tcp://127.0.0.1:1", timeout=0.2)
    Traceback (most recent call last):
    coterie.scale._engine.SchedulerError: no Dask scheduler answers at tcp://127.0.0.1:1, waited 0.2 s; ...
    """
    from distributed import Client

    check_parameters("connect", {"timeout": timeout}, {"timeout": Real(0, closed_low=False)})
    try:
        # a first client only knocks: one that becomes Dask's own and then fails would leave Dask set
        # to a cluster that is not there
        with _quiet():
            first = Client(address, timeout=timeout, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        said = "" if isinstance(error, OSError) else f" ({' '.join(str(error).split())})"
        raise SchedulerError(
            f"no Dask scheduler answers at {address}{said}, waited {timeout:g} s; start one with "
            "`dask scheduler` and workers with `dask worker ADDRESS`, or work on this machine with "
            "coterie.scale.local_cluster"
        ) from None
    try:
        first.wait_for_workers(1, timeout=timeout)
    except TimeoutError:
        raise SchedulerError(
            f"the Dask scheduler at {address} has no workers (waited {timeout:g} s); start some "
            f"with `dask worker {address}`"
        ) from None
    finally:
        first.close()
    return Client(address, timeout=timeout)


@contextmanager
def local_cluster(n_workers: int | None = None, memory_limit: Budget = None) -> Iterator[Any]:
    """Worker processes on this machine, there for the length of a ``with`` block.

    Parameters
    ----------
    n_workers : int or None, default None
        Processes; None takes one per core.
    memory_limit : int, str or None, default None
        Bytes (or text such as "3GB") of each worker: from 60 % of it on it writes to disk, at 95 % it
        is restarted. None divides :func:`coterie.memory_budget` among the workers.

    Yields
    ------
    distributed.Client

    Notes
    -----
    Workers import the script that starts them: keep the call below ``if __name__ == "__main__":``.
    """
    from dask.system import CPU_COUNT
    from distributed import Client, LocalCluster

    given = {"n_workers": n_workers}
    check_parameters("local_cluster", given, {"n_workers": Integer(1, optional=True)})
    count = int(CPU_COUNT) if n_workers is None else n_workers
    limit = memory_budget() // count if memory_limit is None else memory_budget(memory_limit)
    with (
        LocalCluster(
            n_workers=count,
            # one thread each: a worker's memory is then that of one partition
            threads_per_worker=1,
            processes=True,
            memory_limit=limit,
            host="127.0.0.1",
            # any free port: a second cluster on this machine must not be in the way
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def dashboard_address(client: Any) -> str | None:
    """Where a browser shows what the workers do; None where it does not run.

    It runs where the scheduler does, and needs bokeh there.
    """
    link = client.dashboard_link
    if not link:
        return None
    # without bokeh the address is answered too, by a page that says so
    bokeh = client.run_on_scheduler(find_spec, "bokeh")
    return str(link) if bokeh is not None and bokeh.origin is not None else None


def active_client(client: Any = None) -> Any:
    """The given client, else the one that Dask would use, else None (a scheduler in this process)."""
    if client is not None:
        if not hasattr(client, "scheduler_info"):
            raise ParameterError(
                f"client must be a distributed.Client or None, but is {type(client).__name__}"
            )
        return client
    if "distributed" not in sys.modules:
        return None
    from dask.base import get_scheduler
    from distributed import Client

    owner = getattr(get_scheduler(), "__self__", None)
    return owner if isinstance(owner, Client) else None


def compute(
    watched: Sequence[Any],
    last: Any,
    each: Callable[[Any], None],
    client: Any = None,
) -> Any:
    """Compute all tasks; hand the watched results to ``each`` as they come, return the last.

    An error in a task or in ``each`` ends the others. A worker that is lost takes nothing with it:
    every task is in the graph, and its scheduler does again what is missing.
    """
    client = active_client(client)
    if client is None:
        return _compute_here(watched, last, each)
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    futures = client.compute([*watched, last])
    try:
        for _, result in as_completed(futures[:-1], with_results=True):
            each(result)
        return futures[-1].result()
    except KilledWorker as error:
        raise WorkersLostError(
            f"{error.allowed_failures + 1} workers ended one after the other over the same piece of "
            "work, most often for want of memory; give each worker more memory, or divide the rows "
            "into smaller partitions"
        ) from None
    finally:
        # what is done is let go, what is not is not begun any more
        client.cancel(futures)


def _compute_here(watched: Sequence[Any], last: Any, each: Callable[[Any], None]) -> Any:
    import dask
    from dask.callbacks import Callback

    keys = {task.key for task in watched}

    def done(key: Any, result: Any, *_: Any) -> None:
        if key in keys:
            each(result)

    with Callback(posttask=done):
        return dask.compute(*watched, last)[-1]


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the log of each attempt to connect: the error says it once."""
    logger = logging.getLogger("distributed")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)
