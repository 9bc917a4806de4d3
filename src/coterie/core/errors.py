"""The errors that coterie raises on purpose; all of them are a ``CoterieError``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from string import Formatter

Spelling = Callable[[str, str | None], str]


def as_argument(parameter: str, value: str | None) -> str:
    """A parameter, and its value if one is known, in Python syntax."""
    return f"{parameter}=" if value is None else f"{parameter}={value!r}"


def with_advice(
    message: str, advice: str, values: Mapping[str, str], spelling: Spelling = as_argument
) -> str:
    """A message and its advice, with the parameters in braces written as arguments or options."""
    if not advice:
        return message
    parameters = {field for _, field, _, _ in Formatter().parse(advice) if field}
    spelled = {name: spelling(name, values.get(name)) for name in parameters}
    return f"{message}; {advice.format_map(spelled)}"


class CoterieError(Exception):
    """Base class of the errors that coterie raises on purpose.

    Parameters
    ----------
    message : str
        What is wrong.
    advice : str
        What to do about it. Parameters are written in braces, as in ``"leave it out with {drop}"``.
        In Python they become arguments (``drop=``), on the command line options (``--drop``).
    values : mapping of parameter to str
        Suggested values of parameters in the advice, if known.

    Examples
    --------
    >>> from coterie import EAC, CoterieError
    >>> try:
    ...     EAC(n_clusters=0).fit([[0, 0], [1, 1]])
    ... except CoterieError as error:
    ...     print(error)
    EAC: n_clusters must be a whole number of at least 1, or None, but is 0
    """

    def __init__(
        self, message: str = "", advice: str = "", values: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice
        self.values = dict(values or {})

    def __str__(self) -> str:
        return self.text()

    def text(self, spelling: Spelling = as_argument) -> str:
        """Message and advice; ``spelling`` writes the parameters in the advice."""
        return with_advice(super().__str__(), self.advice, self.values, spelling)


class ParameterError(CoterieError, ValueError):
    """A parameter is outside its domain."""


class LabelError(CoterieError, ValueError):
    """Labels that cannot make an ensemble; the message names the member and the row."""


class SampleError(CoterieError, ValueError):
    """A sample that does not exist; the message suggests similar ids."""


class DataError(CoterieError, ValueError):
    """A table or file that cannot be used; the message names the file, column, row or value."""


class ResultFileError(CoterieError, ValueError):
    """A result file that cannot be read or written; the message names the file."""


class MemoryBudgetError(CoterieError, MemoryError):
    """An array does not fit into the memory budget."""


class SchedulerError(CoterieError, ConnectionError):
    """A Dask cluster cannot be started or reached."""


class WorkersLostError(CoterieError, MemoryError):
    """Dask workers were lost during the work, one after the other or all of them."""


class PackageMissing(CoterieError, ImportError):
    """A package of an extra, such as ``coterie[report]``, is not installed."""
