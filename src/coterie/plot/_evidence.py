"""What the evidence is worth: precision and recall by the value of the co-association."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coterie.core.errors import ParameterError
from coterie.evaluate import EvidenceQuality
from coterie.plot._palette import OKABE_ITO, QUIET
from coterie.plot._series import legend_under
from coterie.plot.canvas import axes, note, panels, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def evidence(
    quality: EvidenceQuality, *, name: str = "co-association", ax: Axes | None = None
) -> Axes:
    """Draw how many pairs of samples have each value, and how many of them are truly together.

    Parameters
    ----------
    quality : EvidenceQuality
        From :func:`coterie.evaluate.evidence_quality`.
    name : str, default "co-association"
        What the values are.
    ax : Axes, optional

    Returns
    -------
    Axes
        ``ax.child_axes`` are two panels. The upper one has a bar per level, the share of all pairs
        (logarithmic: most pairs are never together). The lower one has three lines: precision at or
        above a value, recall at or above it, and precision of the pairs at that value.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.evaluate import evidence_quality
    >>> from coterie.plot import evidence
    >>> ensemble = Ensemble.from_labels([[0, 0], [0, 0], [0, 1], [1, 1]])
    >>> ax = evidence(evidence_quality(ensemble, ["a", "a", "b", "b"]))
    >>> ax.child_axes[1].lines[1].get_ydata().tolist()
    [1.0, 1.0, 0.5]
    """
    if not isinstance(quality, EvidenceQuality):
        raise ParameterError(
            "plot.evidence: quality must be what coterie.evaluate.evidence_quality returns, "
            f"but is {type(quality).__name__}"
        )
    ax = axes(ax, (4.8, 4.4))
    upper, lower = panels(ax, 2, 1, (0.0, 16.0))
    step = float(quality.values[1])
    share = quality.share
    upper.set_yscale("log")
    if (share > 0).any():
        upper.bar(
            quality.values[share > 0], share[share > 0], 0.8 * step, color=OKABE_ITO[4], linewidth=0
        )
    upper.set_ylabel("share of pairs")
    upper.tick_params(labelbottom=False)
    styles = (
        ("precision at or above", quality.precision, OKABE_ITO[0], "o", "-"),
        ("recall at or above", quality.recall, OKABE_ITO[5], "s", (0, (5, 1.6))),
        ("precision at the value", quality.precision_at, QUIET, "", (0, (1.2, 1.2))),
    )
    handles = [
        lower.plot(
            quality.values, line, color=colour, marker=marker, linestyle=stroke, markersize=3.5,
            linewidth=1.2,
        )[0]
        for _, line, colour, marker, stroke in styles
    ]  # fmt: skip
    lower.set_ylim(-0.03, 1.03)
    lower.set_ylabel("precision, recall")
    lower.set_xlabel(name)
    for panel in (upper, lower):
        panel.set_xlim(-0.7 * step, 1 + 0.7 * step)
        plain(panel)
    if np.isnan(quality.recall).all():
        note(upper, "no two samples are of one class")
    legend_under(lower, handles, [words for words, *_ in styles])
    return ax
