"""The command ``coterie``.

Only the standard library is imported here and in ``_arguments``; what a command needs is imported
when it runs, so that ``coterie --help`` answers at once. Exit codes: 0, 2 for a mistake of the user's
(one line on stderr), 1 for a mistake of coterie's, 128 and its number after a signal (130: Ctrl-C).
"""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from pathlib import Path

from coterie.cli.arguments import UsageError, further_commands, parse
from coterie.core.errors import CoterieError
from coterie.core.text import printable

__all__ = ["main"]

MOST_WARNINGS = 3
THREADS = "NUMBA_NUM_THREADS"
# beyond what a process may start on most machines
MOST_THREADS = 1024
# commands that ask something of data or of a result, instead of clustering
HOMES = {"select": "_questions", "report": "_questions", "explain": "_questions"}
# by which others end a process: a system that stops, a terminal that is closed
ENDS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Ended(KeyboardInterrupt):
    """A signal that ends the command as Ctrl-C does: what is half-done is taken away first."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    _open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # a name that the terminal cannot show is no reason to fail after the work
        sys.stdout.reconfigure(errors="backslashreplace")
    written: list[tuple[str, Path]] = []
    try:
        with _ended_in_order(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _run(sys.argv[1:] if argv is None else [*argv], caught, written)
        sys.stdout.flush()
        _tell_warnings(caught)
        return 0
    except KeyboardInterrupt as interrupt:
        number = interrupt.number if isinstance(interrupt, Ended) else signal.SIGINT
        how = (
            f"ended by {signal.Signals(number).name}"
            if isinstance(interrupt, Ended)
            else "interrupted"
        )
        complete = ", ".join(str(path) for _, path in written)
        _tell(f"{how}; {f'only {complete} was' if complete else 'nothing was'} written")
        return 128 + number
    except BrokenPipeError:
        # the reader of our output has gone (coterie methods | head): nobody's mistake
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get("COTERIE_DEBUG") == "1":
            import traceback

            traceback.print_exc()
        if _is_the_users(error):
            _tell(f"error: {_words(error, _command(argv))}")
            return 2
        _tell(
            f"error: a fault in coterie, not in your data ({type(error).__name__}: {error}); please "
            "report it, with what COTERIE_DEBUG=1 shows"
        )
        return 1


@contextmanager
def _ended_in_order() -> Iterator[None]:
    """Within it, the signals that would end the process at once let it put things in order."""
    if threading.current_thread() is not threading.main_thread():
        # only the main thread may say what a signal does
        yield
        return
    # one that is ignored (nohup) or has another's answer keeps it
    answered = [number for number in ENDS if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, frame: object) -> None:
        for other in answered:
            # who asks twice does not want to wait
            signal.signal(other, signal.SIG_DFL)
        raise Ended(number)

    for number in answered:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in answered:
            signal.signal(number, signal.SIG_DFL)


def _open_closed_streams() -> None:
    """Where a stream was closed (>&-), nobody listens; but the next file to be opened would be it."""
    for place in range(3):
        try:
            os.fstat(place)
        except OSError:
            # the lowest free number is the one that is missing
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False))
    if sys.stderr is None:
        sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False))


def _run(
    argv: list[str],
    caught: Sequence[warnings.WarningMessage],
    written: list[tuple[str, Path]],
) -> None:
    try:
        arguments = parse(argv)
    except SystemExit:  # --help and --version have been answered
        return
    if arguments is not None:
        _check_threads(os.environ.get(THREADS, ""))
        from coterie.cli.outputs import Journal

        journal = Journal(caught, written)
        further = further_commands()
        if arguments.command in further:
            further[arguments.command].run(arguments, journal)
            return
        home = import_module(f"coterie.cli.{HOMES.get(arguments.command, '_commands')}")
        getattr(home, arguments.command)(arguments, journal)


def _check_threads(asked: str) -> None:
    """Refuse a number of threads that numba would stumble over when it is first needed."""
    text = asked.strip()
    if text and not (text.isascii() and text.isdecimal() and 1 <= int(text) <= MOST_THREADS):
        raise UsageError(
            f"the environment variable {THREADS} must be a whole number from 1 to {MOST_THREADS}, "
            f"but is {asked!r}; correct or unset it"
        )


def _is_the_users(error: Exception) -> bool:
    kinds = CoterieError | OSError | MemoryError
    return isinstance(error, kinds) or _lacks_memory(error) or _lacks_cache(error)


def _lacks_memory(error: Exception) -> bool:
    """Whether a library could not even be loaded, as under a tight ``ulimit -v``."""
    words = ("failed to map segment", "annot allocate memory")
    return isinstance(error, ImportError) and any(word in str(error) for word in words)


def _lacks_cache(error: Exception) -> bool:
    """Whether numba found no directory to write to, as in a container that is read-only."""
    return isinstance(error, RuntimeError) and "no locator available" in str(error)


def _command(argv: Sequence[str] | None) -> str:
    return next(iter(sys.argv[1:] if argv is None else argv), "")


def _words(error: Exception, command: str = "") -> str:
    if isinstance(error, CoterieError) and error.advice:
        return error.text(partial(_as_option, command))
    if _lacks_cache(error):
        return (
            "numba has no directory to keep compiled kernels in; let the environment variable "
            "NUMBA_CACHE_DIR name one that you may write to"
        )
    if _lacks_memory(error):
        return "out of memory while loading libraries; allow the process more (ulimit -v)"
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f"{error.filename}: "
        return f"{place}{error.strerror}"
    return str(error) or "out of memory"


def _as_option(command: str, parameter: str, value: str | None) -> str:
    """The option that a parameter of the library has on the command line."""
    option = {"sample_ids": "--id"}.get(parameter, f"--{parameter}")
    if command == "combine" and parameter == "columns":
        option = "--label"
    return option if value is None else f"{option} {value}"


def _tell(message: str) -> None:
    # a full or closed stderr changes neither the work nor its exit code
    with suppress(OSError):
        sys.stderr.write(f"coterie: {printable(' '.join(message.split()))}\n")
        sys.stderr.flush()


def _tell_warnings(caught: Sequence[warnings.WarningMessage]) -> None:
    # warnings of other kinds speak to programmers
    found = dict.fromkeys(
        str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)
    )
    for message in [*found][:MOST_WARNINGS]:
        _tell(f"warning: {message}")
