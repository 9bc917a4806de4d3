"""The recommended number of clusters, with the evidence for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

# level of all tests
LEVEL = 0.05


@dataclass(frozen=True)
class Choice:
    """A recommended number of clusters.

    Attributes
    ----------
    recommended : int
        1 if there is no structure.
    supported : tuple of int
        Every number of clusters that there is evidence for, ascending.
    p_value : float
        The probability of at least as much evidence without structure; NaN if it cannot be computed.
    reason : str
        Why this number is recommended.
    notes : tuple of str
        Further remarks.
    """

    recommended: int
    supported: tuple[int, ...]
    p_value: float
    reason: str
    notes: tuple[str, ...] = ()


class Steps:
    """Counts steps of about equal length, and reports (steps done, number of steps) to a callback."""

    def __init__(self, callback: Callable[[int, int], None] | None, total: int) -> None:
        self._callback, self.total, self.n_done = callback, total, 0

    def take(self, count: int = 1) -> None:
        """Report that ``count`` more steps are done, or turned out not to be needed."""
        self.n_done += count
        if self._callback is not None and count:
            self._callback(self.n_done, self.total)

    def after_member(self, done: int, total: int) -> None:
        """One more step, as the callback of functions that make members."""
        self.take()


def listed_ks(ks: Sequence[int]) -> str:
    """Numbers of clusters in words.

    Examples
    --------
    >>> from coterie.select.choice import listed_ks
    >>> listed_ks([2]), listed_ks([2, 3, 9])
    ('2', '2, 3 and 9')
    """
    words = [str(k) for k in ks]
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
