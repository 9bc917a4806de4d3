"""What will go: it works until then, and says what to use instead.

A public name or parameter goes in two steps. It is marked here, with the version in which it will be
gone, at least two minor versions ahead; it is removed in that version, and a test reminds of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from coterie._params import ParameterError

P = ParamSpec("P")
R = TypeVar("R")


def deprecated(*, gone: str, instead: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a function that will go.

    Parameters
    ----------
    gone : str
        The version without it.
    instead : str
        What to use, as the user would write it.

    Examples
    --------
    >>> import warnings
    >>> @deprecated(gone="0.9", instead="twice(x)")
    ... def double(x):
    ...     return 2 * x
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     double(4), str(caught[0].message)
    (8, 'double will be gone in coterie 0.9; use twice(x)')
    """

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def warned(*args: P.args, **kwargs: P.kwargs) -> R:
            _warn(function.__name__, gone, instead)
            return function(*args, **kwargs)

        return warned

    return mark


def renamed_parameter(
    old: str, new: str, *, gone: str
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function take a keyword by its old name, too.

    Parameters
    ----------
    old, new : str
    gone : str
        The version that knows the new name only.

    Examples
    --------
    >>> import warnings
    >>> @renamed_parameter("n", "times", gone="0.9")
    ... def repeat(text, times=2):
    ...     return text * times
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     repeat("a", n=3), str(caught[0].message)
    ('aaa', 'repeat(n=...) will be gone in coterie 0.9; use times=...')
    """

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def renamed(*args: P.args, **kwargs: P.kwargs) -> R:
            if old in kwargs:
                if new in kwargs:
                    raise ParameterError(
                        f"{function.__name__}: {old} is the old name of {new}; give {new} only"
                    )
                _warn(f"{function.__name__}({old}=...)", gone, f"{new}=...")
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return renamed

    return mark


def _warn(what: str, gone: str, instead: str) -> None:
    # a FutureWarning is shown to users, a DeprecationWarning to programmers only
    warnings.warn(
        f"{what} will be gone in coterie {gone}; use {instead}", FutureWarning, stacklevel=3
    )
