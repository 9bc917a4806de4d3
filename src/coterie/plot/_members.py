"""Which members say the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from coterie.core.errors import ParameterError
from coterie.core.params import Choice, check_parameters
from coterie.core.types import FloatArray
from coterie.ensemble import Ensemble
from coterie.plot._arrange import similarity_order
from coterie.plot._check import numbers, refuse_records
from coterie.plot._palette import SEQUENTIAL
from coterie.plot.canvas import axes, colour_bar, settle, shown
from coterie.trust import member_agreement as member_agreement_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# a pair of members that share no sample
NOTHING = "#D9D9D9"
# more names than this along a side cannot be read
NAMED = 40
# numbers are written into the cells of a matrix no larger than this
WRITTEN = 12


def member_agreement(
    source: Ensemble | ArrayLike,
    *,
    names: Sequence[str] | None = None,
    order: str = "similarity",
    ax: Axes | None = None,
) -> Axes:
    """Draw how far each member agrees with each other one, like beside like.

    Parameters
    ----------
    source : Ensemble, or array of shape (m, m)
        An ensemble stands for the NMI (arithmetic mean) of its members, each pair over the samples
        that both label. An array is drawn as it is. NaN, for a pair without a sample in common, is
        drawn grey.
    names : sequence of str, optional
        Names of the members, with an array; an ensemble has them.
    order : {"similarity", "given"}, default "similarity"
        By average link of the agreement, or as it is.
    ax : Axes, optional

    Returns
    -------
    Axes
        ``ax.images[0]`` holds the reordered (m, m) array; the tick labels name its rows.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.plot import member_agreement
    >>> labels = {"a": [0, 0, 1, 1], "noise": [0, 1, 0, 1], "b": ["x", "x", "y", "y"]}
    >>> ax = member_agreement(Ensemble.from_labels(labels))
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['a', 'b', 'noise']
    >>> ax.images[0].get_array().tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    check_parameters(
        "plot.member_agreement", {"order": order}, {"order": Choice(("similarity", "given"))}
    )
    agreement, members = _read(source, names)
    if order == "similarity":
        turn = similarity_order(np.nan_to_num(agreement), np.ones(len(agreement)))
    else:
        turn = np.arange(len(agreement))
    drawn = agreement[np.ix_(turn, turn)]
    side = float(np.clip(2.2 + 0.22 * min(len(drawn), NAMED), 4.0, 7.2))
    own, ax = ax is None, axes(ax, (side + 1.2, side))
    low = min(0.0, float(np.nan_to_num(drawn).min()))
    ax.set_facecolor(NOTHING)
    image = ax.imshow(drawn, cmap=SEQUENTIAL, vmin=low, vmax=1.0, aspect="equal")
    words = "NMI of two members" if isinstance(source, Ensemble) else "agreement"
    colour_bar(ax, image, words)
    if len(drawn) <= NAMED:
        named = [shown(members[j]) for j in turn]
        ax.set_yticks(np.arange(len(drawn)), named)
        ax.set_xticks(np.arange(len(drawn)), named, rotation=90)
        ax.tick_params(length=0, labelsize="small" if len(drawn) > WRITTEN else "medium")
    else:
        ax.set_xticks([])
        ax.set_yticks([])
        ordered = "ordered by similarity" if order == "similarity" else "as given"
        ax.set_xlabel(f"{len(drawn):,} members, {ordered}")
    if len(drawn) <= WRITTEN:
        _write_numbers(ax, drawn, low)
    if own:
        settle(ax)
    return ax


def _read(
    source: Ensemble | ArrayLike, names: Sequence[str] | None
) -> tuple[FloatArray, tuple[str, ...]]:
    if isinstance(source, Ensemble):
        if names is not None:
            raise ParameterError(
                "plot.member_agreement: names goes with an array; an Ensemble has them"
            )
        return member_agreement_of(source), source.members
    refuse_records("plot.member_agreement", "source", source, "ensemble")
    shape = np.shape(source)
    size = shape[0] if shape else None
    agreement = numbers("plot.member_agreement", "source", source, (size, size), nan=True)
    if not np.allclose(agreement, agreement.T, rtol=0.0, atol=1e-6, equal_nan=True):
        raise ParameterError("plot.member_agreement: source must be symmetric, but is not")
    found = (
        tuple(f"member_{j}" for j in range(len(agreement)))
        if names is None
        else tuple(str(name) for name in names)
    )
    if len(found) != len(agreement):
        raise ParameterError(
            f"plot.member_agreement: names must hold {len(agreement)} names, but holds {len(found)}"
        )
    return agreement, found


def _write_numbers(ax: Axes, drawn: FloatArray, low: float) -> None:
    middle = low + 0.6 * (1.0 - low)
    for (row, column), value in np.ndenumerate(drawn):
        ax.text(
            column,
            row,
            "–" if np.isnan(value) else f"{value:.2f}",
            ha="center",
            va="center",
            fontsize="small",
            color="white" if value > middle else "black",
        )
