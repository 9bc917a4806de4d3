"""What pictures over k share: a Selection or arrays in, an axis of k, the mark of the recommended."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from coterie.core.errors import ParameterError
from coterie.core.types import IntArray
from coterie.plot._check import numbers, refuse_records
from coterie.plot._palette import ACCENT

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

# more tick labels than this on an axis of k run into each other
TICKS = 10


class Choice(Protocol):
    """What ``coterie.select_k`` returns, as far as it is drawn."""

    @property
    def ks(self) -> Any: ...
    @property
    def recommended(self) -> int: ...


def is_choice(ks: object) -> bool:
    """Whether a Selection came in the place of ks."""
    return hasattr(ks, "ks")


def with_choice(choice: Any, given: Mapping[str, Any]) -> tuple[Any, ...]:
    """What was given, and the rest out of the Selection."""
    return tuple(getattr(choice, name) if value is None else value for name, value in given.items())


def needed(owner: str, name: str, value: Any) -> Any:
    """The value, which only a Selection would have made superfluous."""
    if value is None:
        raise ParameterError(f"{owner}: {name} is needed, unless the first argument is a Selection")
    return value


def refuse_choiceless(owner: str, name: str, given: Any) -> None:
    """Refuse what is neither a Selection nor arrays; a model has one only if it chose k itself."""
    if given is None or (hasattr(given, "labels_") and not hasattr(given, "selection_")):
        what = "None" if given is None else f"a {type(given).__name__} that did not choose k"
        raise ParameterError(
            f"{owner}: {name} is {what}; pass a Selection: what select_k returns, or the selection_ of "
            'a ConsensusClustering("auto")'
        )
    refuse_records(owner, name, given, "selection")


def counted(owner: str, ks: Any) -> IntArray:
    """The numbers of clusters, ascending."""
    refuse_choiceless(owner, "ks", ks)
    given = numbers(owner, "ks", ks.ks if is_choice(ks) else ks, (None,))
    if (given != np.rint(given)).any() or (given < 1).any():
        raise ParameterError(f"{owner}: ks must be whole numbers of at least 1, but is {ks!r:.60}")
    if (np.diff(given) <= 0).any():
        raise ParameterError(f"{owner}: ks must be ascending without repeats, but is {ks!r:.60}")
    return given.astype(np.int64)


def mark_recommended(ax: Axes, counts: IntArray, recommended: int | None) -> list[Artist]:
    """A line at the recommended k, if it is on the axis; one cluster is said in words instead."""
    if recommended is None or recommended not in counts or recommended == 1:
        return []
    return [ax.axvline(recommended, color=ACCENT, linewidth=1.6, alpha=0.75, zorder=0)]


def k_axis(ax: Axes, counts: IntArray) -> None:
    """Whole numbers along the axis of k."""
    every = -(-len(counts) // TICKS)
    ax.set_xticks(counts[::every])
    ax.set_xlim(counts[0] - 0.5, counts[-1] + 0.5)
