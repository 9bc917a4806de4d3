"""Run tasks on a Dask cluster or, without one, on Dask's scheduler in this process."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from typing import Any

from coterie.core.budget import Budget, memory_budget
from coterie.core.errors import ParameterError, SchedulerError, WorkersLostError
from coterie.core.params import Integer, Real, check_parameters
from coterie.core.signals import blocked_signals

# Seconds that a local cluster without workers waits for a new one.
PATIENCE = 60


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
        Dask uses it from now on. Close it when done.

    Raises
    ------
    SchedulerError
        If no scheduler answers in time, or if it has no workers.

    Examples
    --------
    >>> from coterie.scale import connect
    >>> connect("tcp://127.0.0.1:1", timeout=0.2)
    Traceback (most recent call last):
    coterie.core.errors.SchedulerError: no Dask scheduler answers at tcp://127.0.0.1:1, waited 0.2 s; ...
    """
    from distributed import Client

    check_parameters("connect", {"timeout": timeout}, {"timeout": Real(0, closed_low=False)})
    try:
        # This client only tests the address. If Dask's default client failed, Dask would stay set to
        # a cluster that does not exist.
        with quiet():
            first = Client(address, timeout=timeout, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        reason = "" if isinstance(error, OSError) else f" ({' '.join(str(error).split())})"
        raise SchedulerError(
            f"no Dask scheduler answers at {address}{reason}, waited {timeout:g} s; start one with "
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
    """Worker processes on this machine, which end with the ``with`` block.

    Parameters
    ----------
    n_workers : int or None, default None
        Number of processes. None is one per core.
    memory_limit : int, str or None, default None
        Bytes (or text such as "3GB") per worker. Above 60 % of it a worker writes to disk, at 95 % it
        is restarted. None divides :func:`coterie.memory_budget` among the workers.

    Yields
    ------
    distributed.Client

    Notes
    -----
    Workers import the script that starts them: put the call under ``if __name__ == "__main__":``.

    Examples
    --------
    >>> from coterie.scale import local_cluster
    >>> with local_cluster(1, "1GB") as client:
    ...     client.submit(sum, [1, 2]).result()
    3
    """
    import dask
    from dask.system import CPU_COUNT
    from distributed import Client, LocalCluster

    given = {"n_workers": n_workers}
    check_parameters("local_cluster", given, {"n_workers": Integer(1, optional=True)})
    count = int(CPU_COUNT) if n_workers is None else n_workers
    limit = memory_budget() // count if memory_limit is None else memory_budget(memory_limit)
    # Dask does not replace a worker that ends during its start, and would wait forever.
    bounded = dask.config.set({"distributed.scheduler.no-workers-timeout": f"{PATIENCE}s"})
    with bounded, ExitStack() as stack:
        # Not SIGTERM: Dask ends workers with it. The thread started here also starts later workers.
        with blocked_signals("SIGINT"):
            cluster = stack.enter_context(
                LocalCluster(
                    n_workers=count,
                    # With one thread, a worker holds one partition in memory.
                    threads_per_worker=1,
                    processes=True,
                    memory_limit=limit,
                    host="127.0.0.1",
                    # Any free port, because another cluster may run on this machine.
                    dashboard_address="127.0.0.1:0",
                    silence_logs=logging.CRITICAL,
                )
            )
        yield stack.enter_context(Client(cluster))


def dashboard_address(client: Any) -> str | None:
    """Address at which a browser shows the workers, or None if the scheduler serves no pages.

    If bokeh is installed beside the scheduler, this is Dask's dashboard, otherwise its plain pages
    about the workers.

    Examples
    --------
    >>> from distributed import Client
    >>> from coterie.scale import dashboard_address
    >>> with Client(processes=False, dashboard_address="127.0.0.1:0") as client:
    ...     dashboard_address(client)
    'http://...'
    """
    link = client.dashboard_link
    if not link:
        return None
    # Without bokeh the address leads to a page that says so.
    bokeh = client.run_on_scheduler(find_spec, "bokeh")
    if bokeh is not None and bokeh.origin is not None:
        return str(link)
    return f"{str(link).removesuffix('/status')}/info/main/workers.html"


def active_client(client: Any = None) -> Any:
    """The given client, or the one that Dask would use, or None for a scheduler in this process."""
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
    """Compute all tasks, call ``each`` with the watched results as they arrive, and return the last.

    An error in a task or in ``each`` ends the others. Tasks of a lost worker are computed again by the
    scheduler.
    """
    client = active_client(client)
    if client is None:
        return _compute_here(watched, last, each)
    from distributed import as_completed
    from distributed.scheduler import KilledWorker

    futures: list[Any] = []
    try:
        futures = client.compute([*watched, last])
        # Results are fetched here: as_completed would wait forever for a result that is lost together
        # with its scheduler.
        for future in as_completed(futures[:-1], loop=client.loop):
            each(future.result())
        return futures[-1].result()
    except KilledWorker as error:
        raise WorkersLostError(
            f"{error.allowed_failures + 1} workers ended one after the other during the same task, "
            "most often because of too little memory; give each worker more memory, or divide the "
            "rows into smaller partitions"
        ) from None
    except Exception as error:
        # Compared by name, because older releases of Dask do not have these errors.
        if type(error).__name__ in ("NoWorkerError", "NoValidWorkerError"):
            raise WorkersLostError(
                f"no worker is left at {_scheduler_of(client)}, and none was started in time; check "
                "why they ended, most often because of too little memory"
            ) from None
        if (reason := _given_up(error, client)) is None:
            raise
        raise SchedulerError(reason) from None
    finally:
        # Release finished tasks and do not start the others.
        if client.status == "running":
            client.cancel(futures)


def gather(tasks: Sequence[Any], client: Any = None) -> list[Any]:
    """The results of all tasks, in their order."""
    from dask import delayed

    results: list[Any] = compute([], delayed(list)(tasks), lambda _: None, client)
    return results


def _given_up(error: Exception, client: Any) -> str | None:
    """Why the cluster failed, or None if the error came from a task."""
    of_dask = type(error).__module__.partition(".")[0] == "distributed"
    if not of_dask and not isinstance(error, CancelledError):
        return None
    where = _scheduler_of(client)
    if client.status != "running" or isinstance(error, OSError):
        return f"{where} was lost during the work; check that it runs, and start again"
    return f"{where} gave up the work: {' '.join(str(error).split())}"


def _scheduler_of(client: Any) -> str:
    # A closed client no longer knows the address.
    address = getattr(client.scheduler, "address", None)
    return f"the Dask scheduler{'' if address is None else f' at {address}'}"


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
def quiet() -> Iterator[None]:
    """Silence Dask's log about a cluster that cannot be reached; the error that is raised says the same."""
    loggers = [
        logging.getLogger(name)
        for name in [*logging.root.manager.loggerDict]
        # Some of Dask's loggers set their own level and ignore that of their parent.
        if name == "distributed" or name.startswith("distributed.")
    ]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
