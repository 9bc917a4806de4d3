"""The errors that coterie raises on purpose; all of them are a ``CoterieError``."""

from __future__ import annotations


class CoterieError(Exception):
    """Base of every error that says what the caller can do about it.

    Examples
    --------
    >>> from coterie import EAC, CoterieError
    >>> try:
    ...     EAC(n_clusters=0).fit([[0, 0], [1, 1]])
    ... except CoterieError as error:
    ...     print(error)
    EAC: n_clusters must be a whole number of at least 1 or None, but is 0
    """


class ParameterError(CoterieError, ValueError):
    """A parameter is outside its domain."""


class LabelError(CoterieError, ValueError):
    """Labels that cannot make an ensemble; the message names the member and the row."""


class SampleError(CoterieError, ValueError):
    """A sample that does not exist; the message suggests similar ids."""


class DataError(CoterieError, ValueError):
    """A file that cannot be read or written as asked; the message names file, row and value."""


class ResultFileError(CoterieError, ValueError):
    """A result file that cannot be read or written; the message names the file."""


class MemoryBudgetError(CoterieError, MemoryError):
    """An array does not fit into the memory budget."""


class ForkedError(CoterieError, RuntimeError):
    """This process was forked from one whose kernels had already started OpenMP threads.

    Those threads do not survive a fork, and numba aborts a process that uses them. Start processes
    with "spawn" or "forkserver", or fork before the first fit.
    """


class SchedulerError(CoterieError, ConnectionError):
    """No Dask cluster to work on."""


class WorkersLostError(CoterieError, MemoryError):
    """The work ended one Dask worker after the other, or all of them."""


class PartitionerMissing(CoterieError, ImportError):
    """A graph partitioner is not installed."""
