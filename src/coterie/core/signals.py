"""Child processes that ignore signals meant for the process that started them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker


@contextmanager
def blocked_signals(*signal_names: str) -> Iterator[None]:
    """Block these signals in processes and threads that this thread starts within the block.

    A terminal sends Ctrl-C to all processes of a command. Each worker would print its own error, while
    the process that handles the signal ends the workers anyway.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    # Start Python's resource tracker now, because its start would lift the mask.
    resource_tracker.ensure_running()
    numbers = {getattr(signal, name) for name in signal_names}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
