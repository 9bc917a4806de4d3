"""Limits on the threads of BLAS and OpenMP, safe for several Python threads and forks."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Lock
from typing import Any

from threadpoolctl import OpenBLASController, ThreadpoolController


@lru_cache(maxsize=2)
def _libraries(user_api: str, n_modules: int) -> ThreadpoolController:
    """The loaded libraries of one kind; cached, because a search takes longer than a small fit.

    ``n_modules`` is part of the key: an import may load further libraries, so they are searched again.
    """
    return ThreadpoolController().select(user_api=user_api)


def _limited(user_api: str) -> Any:
    return _libraries(user_api, len(sys.modules)).limit(limits=1, user_api=user_api)


class _BlasLimit:
    """One BLAS thread while any Python thread is inside; the last thread to leave restores the number.

    The number belongs to the whole process. If every caller saved and restored it, the first to leave
    would lift the limit for the others, and the last would restore the number it saw: the limit.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._inside = 0
        self._original: Any = None

    def enter(self) -> None:
        with self._lock:
            # Set by every caller: in a BLAS built on OpenMP the number belongs to the thread.
            limits = _limited("blas")
            if self._inside == 0:
                self._original = limits
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            # A fork has reset the count.
            if self._inside == 0:
                return
            self._inside -= 1
            if self._inside == 0:
                _restore(self._original)

    def forget(self) -> None:
        """Lift the limit in the child of a fork, where the threads that set it do not exist."""
        original = self._original if self._inside else None
        self._lock, self._inside, self._original = Lock(), 0, None
        if original is not None:
            _restore(original)


def _restore(limits: Any) -> None:
    """Undo limits from any thread.

    Newer versions of threadpoolctl let only the first thread set the number of OpenBLAS threads, and
    silently ignore the others. Here the last to leave must be able to set it.
    """
    release = getattr(OpenBLASController, "clear_controlling_thread", None)
    if release is not None:
        release(force=True)
    limits.restore_original_limits()
    if release is not None:
        release(force=True)


_BLAS = _BlasLimit()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_BLAS.forget)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """BLAS on one thread, because the last digits of a product depend on the number of threads."""
    _BLAS.enter()
    try:
        yield
    finally:
        _BLAS.leave()


@contextmanager
def one_thread() -> Iterator[None]:
    """BLAS and OpenMP on one thread. The number for OpenMP belongs to the calling thread."""
    with one_blas_thread(), _limited("openmp"):
        yield
