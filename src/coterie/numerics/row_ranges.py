"""Kernels on ranges of rows, one range for each thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numba
import numpy as np

# with fewer rows, starting threads costs more than it saves
SERIAL_ROWS = 500


def over_rows(
    kernel: Callable[..., None], *arguments: Any, height: int = 1, falling: bool = False
) -> None:
    """Run a kernel, which must release the GIL, on ranges of rows, one for each thread that numba may use.

    Rows do not depend on each other, so the ranges do not change the result. They take equal work if all
    rows have the same length, or (``falling``) if the length falls linearly to zero at the last row.

    Parameters
    ----------
    kernel : callable
        Takes the first row, the row after the last, and the arguments.
    arguments
        The last one has one entry per row.
    height : int
        How many microclusters a row stands for.
    falling : bool

    Examples
    --------
    >>> import numpy as np
    >>> from coterie.numerics.row_ranges import over_rows
    >>> squares = np.arange(5)
    >>> def kernel(begin, end, out):
    ...     out[begin:end] **= 2
    >>> over_rows(kernel, squares)
    >>> squares.tolist()
    [0, 1, 4, 9, 16]
    """
    n = len(arguments[-1])
    n_threads = numba.get_num_threads() if n * height > SERIAL_ROWS else 1
    if n_threads == 1:
        kernel(0, n, *arguments)
        return
    shares = np.arange(n_threads + 1) / n_threads
    bounds = np.rint(n * (1.0 - np.sqrt(1.0 - shares) if falling else shares)).astype(int).tolist()
    with ThreadPoolExecutor(n_threads) as threads:
        runs = [threads.submit(kernel, begin, end, *arguments) for begin, end in pairwise(bounds)]
        for run in runs:
            run.result()
