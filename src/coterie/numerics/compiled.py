"""Functions compiled at their first call, with nothing compiled that is not used.

numba compiles two wrappers for each function: one for calls from Python, and one for calls from C, which we
never make. The second is never
made here, and the first only for functions that Python calls.
"""

from __future__ import annotations

from typing import Any

from numba import njit


def kernel(**options: Any) -> Any:
    """Decorator of a function that Python calls; the options are those of ``numba.njit``.

    Examples
    --------
    >>> from coterie.numerics.compiled import kernel, part_of_kernels
    >>> @kernel(cache=False)
    ... def double(x):
    ...     return 2 * x
    >>> double(3)
    6
    """
    return njit(**{"cache": True, "nogil": True, "no_cfunc_wrapper": True, **options})


def part_of_kernels(**options: Any) -> Any:
    """Decorator of a function that only other compiled functions call; a call from Python crashes it.

    Examples
    --------
    >>> from coterie.numerics.compiled import kernel, part_of_kernels
    >>> @part_of_kernels(cache=False)
    ... def square(x):
    ...     return x * x
    >>> @kernel(cache=False)
    ... def fourth_power(x):
    ...     return square(square(x))
    >>> fourth_power(2)
    16
    """
    return kernel(no_cpython_wrapper=True, **options)
