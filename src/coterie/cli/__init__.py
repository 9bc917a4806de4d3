"""The command ``coterie``.

Only the standard library is imported here, in ``values`` and in ``arguments``; a command's own modules
are imported when it runs, so that ``coterie --help`` is fast. Exit codes: 0 for success; 2 for a mistake
in the input or the options, with one message on stderr; 1 for a bug in coterie; 128 plus the signal number
after a signal (130 for Ctrl-C).

The modules import each other in this order: ``values``, ``arguments``, ``screen``, ``outputs``,
``_methods``, ``_label_files``, ``_clustering``, ``_questions``, ``_profiles``, ``partitions``.
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
from shutil import get_terminal_size
from textwrap import fill

from coterie.cli.arguments import COMMANDS, UsageError, in_partitions, parse
from coterie.core.errors import CoterieError
from coterie.core.text import printable

__all__ = ["main"]

MAX_WARNINGS = 3
THREADS = "NUMBA_NUM_THREADS"
# more threads than a process may start on most machines
MAX_THREADS = 1024
# longer lines are hard to read
WIDEST = 100
# sent when the system shuts down, or when the terminal is closed
ENDING_SIGNALS = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]


class Ended(KeyboardInterrupt):
    """A signal that ends the command like Ctrl-C: unfinished files are removed first."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command line and return its exit code."""
    _open_closed_streams()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # a character that the terminal cannot show must not end a finished command with an error
        sys.stdout.reconfigure(errors="backslashreplace")
    written: list[tuple[str, Path]] = []
    try:
        with _signals_raised(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            messages = _run(sys.argv[1:] if argv is None else [*argv], caught, written)
        sys.stdout.flush()
        for message in messages[:MAX_WARNINGS]:
            _print(f"warning: {message}")
        return 0
    except KeyboardInterrupt as interrupt:
        number = interrupt.number if isinstance(interrupt, Ended) else signal.SIGINT
        cause = (
            f"ended by {signal.Signals(number).name}"
            if isinstance(interrupt, Ended)
            else "interrupted"
        )
        # the stage that was interrupted
        cause = " ".join([cause, *getattr(interrupt, "__notes__", ())])
        complete = ", ".join(str(path) for _, path in written)
        _print(f"{cause}; {f'already written: {complete}' if complete else 'nothing was written'}")
        return 128 + number
    except BrokenPipeError:
        # the reader closed the pipe (coterie methods | head), which is not an error
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if os.environ.get("COTERIE_DEBUG") == "1":
            import traceback

            traceback.print_exc()
        if _is_user_error(error):
            _print(f"error: {_error_message(error, _command(argv))}")
            return 2
        _print(
            f"error: a bug in coterie, not in your data ({type(error).__name__}: {error}); please "
            "report it with the output of COTERIE_DEBUG=1"
        )
        return 1


@contextmanager
def _signals_raised() -> Iterator[None]:
    """Raise ``Ended`` at a signal that would end the process, so that unfinished files are removed."""
    if threading.current_thread() is not threading.main_thread():
        # only the main thread may handle signals
        yield
        return
    # a signal that is ignored (nohup) or handled by someone else is left alone
    handled = [number for number in ENDING_SIGNALS if signal.getsignal(number) is signal.SIG_DFL]

    def end(number: int, frame: object) -> None:
        for other in handled:
            # a second signal ends the process at once
            signal.signal(other, signal.SIG_DFL)
        raise Ended(number)

    for number in handled:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in handled:
            signal.signal(number, signal.SIG_DFL)


def _open_closed_streams() -> None:
    """Reopen closed standard streams (>&-), so that no other file takes their descriptor."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # os.open takes the lowest free descriptor, which is this one
            os.open(os.devnull, os.O_RDWR)
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False))
    if sys.stderr is None:
        sys.stderr = io.TextIOWrapper(io.FileIO(2, "w", closefd=False))


def _run(
    argv: list[str],
    caught: Sequence[warnings.WarningMessage],
    written: list[tuple[str, Path]],
) -> list[str]:
    """Run a command and return the warnings for the user."""
    try:
        arguments = parse(argv)
    except SystemExit:  # after --help and --version
        return []
    if arguments is None:
        return []
    _check_threads(os.environ.get(THREADS, ""))
    from coterie.cli.outputs import RunLog

    log = RunLog(caught, written)
    if "run" in arguments:
        # a command from another package
        arguments.run(arguments, log)
        return log.warnings()
    home = "partitions" if in_partitions(arguments) else COMMANDS[arguments.command].home
    getattr(import_module(f"coterie.cli.{home}"), arguments.command)(arguments, log)
    return log.unsaid()


def _check_threads(setting: str) -> None:
    """Refuse a number of threads that numba would reject later, in the middle of the work."""
    text = setting.strip()
    if text and not (text.isascii() and text.isdecimal() and 1 <= int(text) <= MAX_THREADS):
        raise UsageError(
            f"the environment variable {THREADS} must be a whole number from 1 to {MAX_THREADS}, "
            f"but is {setting!r}; correct or unset it"
        )


def _is_user_error(error: Exception) -> bool:
    """Whether the input or the machine caused an error, not a bug."""
    kinds = CoterieError | OSError | MemoryError
    return isinstance(error, kinds) or _lacks_memory(error) or _lacks_cache(error)


def _lacks_memory(error: Exception) -> bool:
    """Whether a library could not be loaded for lack of memory, as under a tight ``ulimit -v``."""
    phrases = ("failed to map segment", "annot allocate memory")
    return isinstance(error, ImportError) and any(phrase in str(error) for phrase in phrases)


def _lacks_cache(error: Exception) -> bool:
    """Whether numba found no directory to write to, as in a read-only container."""
    return isinstance(error, RuntimeError) and "no locator available" in str(error)


def _command(argv: Sequence[str] | None) -> str:
    return next(iter(sys.argv[1:] if argv is None else argv), "")


def _error_message(error: Exception, command: str = "") -> str:
    if isinstance(error, CoterieError) and error.advice:
        return error.text(partial(_as_option, command))
    if _lacks_cache(error):
        return (
            "numba has no directory to keep compiled code in; set the environment variable "
            "NUMBA_CACHE_DIR to a writable directory"
        )
    if _lacks_memory(error):
        return "out of memory while loading libraries; allow the process more memory (ulimit -v)"
    if isinstance(error, OSError) and error.strerror:
        path = "" if error.filename is None else f"{error.filename}: "
        return f"{path}{error.strerror}"
    return str(error) or "out of memory"


def _as_option(command: str, parameter: str, value: str | None) -> str:
    """The command line option for a parameter of the library."""
    option = {"sample_ids": "--id", "n_clusters": "-k"}.get(parameter, f"--{parameter}")
    if command == "combine" and parameter == "columns":
        option = "--label"
    if command != "combine" and parameter == "approximate":
        return f"--set approximate={value or 'auto'}"
    return option if value is None else f"{option} {value}"


def _print(message: str) -> None:
    """Print one message on stderr: wrapped on a terminal, one line elsewhere."""
    text = f"coterie: {printable(' '.join(message.split()))}"
    # a full or closed stderr must not change the exit code
    with suppress(OSError):
        if sys.stderr.isatty():
            text = fill(
                text,
                min(get_terminal_size().columns, WIDEST),
                subsequent_indent="  ",
                break_long_words=False,
                break_on_hyphens=False,
            )
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
