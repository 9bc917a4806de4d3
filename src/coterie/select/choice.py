"""The recommended number of clusters, with the evidence for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from coterie.core.text import enumerated

# level of all tests
LEVEL = 0.05
# What is less than this share is negligible: neighbours across a border, of those across a cut through a
# cluster; dependence of members that classes leave unexplained.
NEGLIGIBLE = 0.1


@dataclass(frozen=True)
class Choice:
    """A recommended number of clusters.

    Attributes
    ----------
    recommended : int
        1 if there is no structure.
    evidence : dict of int to str
        Every number of clusters that there is evidence for, ascending, with the kinds of evidence,
        separated by commas.
    p_value : float
        The probability of at least as much evidence in data without structure; NaN if it cannot be
        computed.
    reason : str
        Why this number is recommended.
    notes : tuple of str
        Further remarks.
    """

    recommended: int
    evidence: Mapping[int, str]
    p_value: float
    reason: str
    notes: tuple[str, ...] = ()

    @property
    def supported(self) -> tuple[int, ...]:
        """Every number of clusters that there is evidence for, ascending."""
        return tuple(self.evidence)


def evidence_for(ks_of: Mapping[str, Iterable[int]]) -> dict[int, str]:
    """The kinds of evidence for each number of clusters, ascending.

    Parameters
    ----------
    ks_of : dict of str to iterable of int
        The numbers of clusters that each kind of evidence supports.

    Examples
    --------
    >>> from coterie.select.choice import evidence_for
    >>> evidence_for({"borders": [3], "replication": [2, 3]})
    {2: 'replication', 3: 'borders, replication'}
    """
    all_ks = sorted({int(k) for ks in ks_of.values() for k in ks})
    return {k: ", ".join(kind for kind, ks in ks_of.items() if k in ks) for k in all_ks}


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
    return enumerated([str(k) for k in ks])
