"""One thread for a while, also where several threads of Python ask for it at a time."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache, wraps
from threading import Lock
from typing import Any, ParamSpec, TypeVar

from threadpoolctl import OpenBLASController, ThreadpoolController

from coterie.core.errors import ForkedError

P = ParamSpec("P")
R = TypeVar("R")


@lru_cache(maxsize=2)
def _libraries(user_api: str, n_modules: int) -> ThreadpoolController:
    """The loaded libraries of a kind, searched again once a module was imported: it may load more.

    A search takes several milliseconds, longer than many a member takes to fit.
    """
    return ThreadpoolController().select(user_api=user_api)


def _limited(user_api: str) -> Any:
    return _libraries(user_api, len(sys.modules)).limit(limits=1, user_api=user_api)


class _BlasLimit:
    """The first to come in notes how many BLAS threads there were, the last to go out restores it.

    That number belongs to the whole process. Were every caller to save and restore it by itself, one
    that leaves would take the limit from the others, and the last would restore what it had found:
    the limit.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._original: Any = None

    def enter(self) -> None:
        with self._lock:
            # by everyone: in a BLAS built on OpenMP the number belongs to the thread
            limits = _limited("blas")
            if self._inside == 0:
                self._original = limits
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            # forgotten in between
            if self._inside == 0:
                return
            self._inside -= 1
            if self._inside == 0:
                _restore(self._original)

    def forget(self) -> None:
        """In the child of a fork the other threads are gone, and with them what they held."""
        original = self._original if self._inside else None
        self._lock, self._inside, self._original = Lock(), 0, None
        if original is not None:
            _restore(original)


def _restore(limits: Any) -> None:
    """Undo limits from whatever thread.

    Newer versions of threadpoolctl let only the thread that came first set the number of OpenBLAS's
    threads, and silently ignore the others; here the last to leave must be heard.
    """
    release = getattr(OpenBLASController, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)
    limits.restore_original_limits()
    if release is not None:
        release(force=True)


_BLAS = _BlasLimit()
_LOST: list[str] = []


def _after_fork() -> None:
    _BLAS.forget()
    numba = sys.modules.get("numba")
    if numba is None or sys.platform != "linux":
        return
    try:
        layer = numba.threading_layer()
    except ValueError:
        # no kernel has run in parallel yet
        return
    if layer == "omp":
        _LOST.append(layer)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def refuse_lost_threads() -> None:
    """Raise ForkedError where kernels could not run; see there."""
    if _LOST:
        raise ForkedError(
            "this process was forked after coterie had run in its parent, and the threads of GNU "
            'OpenMP did not come along; start processes by "spawn" or "forkserver" '
            '(multiprocessing.get_context("spawn")), or set NUMBA_THREADING_LAYER=workqueue'
        )


def needs_threads(kernel: Callable[P, R]) -> Callable[P, R]:
    """A kernel that runs in parallel, as Python calls it: with ForkedError where it cannot."""

    @wraps(kernel)
    def call(*arguments: P.args, **named: P.kwargs) -> R:
        refuse_lost_threads()
        return kernel(*arguments, **named)

    return call


@contextmanager
def kernel_threads(jobs: int) -> Iterator[None]:
    """For the kernels that this thread of Python calls, its share of the threads, one of ``jobs``."""
    import numba

    before = numba.get_num_threads()
    numba.set_num_threads(max(1, before // jobs))
    try:
        yield
    finally:
        numba.set_num_threads(before)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS on one thread: the last digits of a product depend on how many there are."""
    _BLAS.enter()
    try:
        yield
    finally:
        _BLAS.leave()


@contextmanager
def one_thread() -> Iterator[None]:
    """BLAS and OpenMP on one thread; OpenMP's number belongs to the thread that asks."""
    with one_blas_thread(), _limited("openmp"):
        yield
