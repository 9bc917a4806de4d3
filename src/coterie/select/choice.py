"""The recommended number of clusters, with the evidence for it."""

from __future__ import annotations

from collections.abc import Sequence
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
