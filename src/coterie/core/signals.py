"""Processes that leave it to the one that started them to answer signals of the whole group."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker


@contextmanager
def unheard(*names: str) -> Iterator[None]:
    """Processes and threads started within it by this thread do not hear these signals.

    A terminal sends Ctrl-C to all processes of a command. Those that only work for another would each
    speak of it, while the one that answers ends them anyway.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Python's own process for lost resources, started now: its start would lift the mask
    resource_tracker.ensure_running()
    numbers = {getattr(signal, name) for name in names}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
