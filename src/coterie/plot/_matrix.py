"""Matrices of samples and of members, reordered so that similar rows are adjacent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from coterie.core.budget import Budget
from coterie.core.errors import ParameterError
from coterie.core.params import Choice, Integer, check_parameters
from coterie.core.types import FloatArray, IntArray
from coterie.ensemble import Ensemble, require_ensemble
from coterie.plot._given import read
from coterie.plot.arrange import Arrangement, Spans, arrange, similarity_order
from coterie.plot.canvas import axes, colour_bar, note, settle, shown
from coterie.plot.checks import label_codes, symmetric, weights
from coterie.plot.colours import INK, SEQUENTIAL, palette
from coterie.trust import DiagnosisMixin, member_agreement

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from coterie.numerics.linkage import Dendrogram

# ------------------------------------------------------------------ samples


Order = Literal["dendrogram", "cluster", "given"]
# narrower blocks (as a share of the axis) are not named: the names would overlap
NARROWEST_NAMED = 0.025
# width of the strip of cluster colours, as a share of the axis
STRIP = 0.035


def matrix(
    source: Any,
    *,
    labels: Any = None,
    ensemble: Ensemble | None = None,
    weights: ArrayLike | None = None,
    order: Order | None = None,
    dendrogram: Dendrogram | None = None,
    name: str | None = None,
    max_rows: int = 2000,
    memory_budget: Budget = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how often samples are clustered together, reordered by a dendrogram or by cluster.

    Parameters
    ----------
    source : fitted model, Result, Ensemble, or array of shape (N, N)
        The co-association is drawn. A model or Result supplies its ensemble and labels, too. An array is
        any symmetric similarity, such as a solver's ``consensus_matrix_``.
    labels : sequence, optional
        One label per sample of the ensemble (or per row of an array without an ensemble). Drawn as a
        strip of colours beside the matrix; the default order is then "cluster".
    ensemble : Ensemble, optional
        With an array: the ensemble whose microclusters are its rows; it supplies their weights.
    weights : array of shape (N,), optional
        With an array but no ensemble: how many samples each row represents.
    order : {"dendrogram", "cluster", "given"}, optional
        By average linkage of the matrix, by label, or unchanged. The default is "cluster" with labels
        and "dendrogram" without.
    dendrogram : Dendrogram, optional
        Dendrogram of the rows to order by, such as ``EAC().fit(ensemble).dendrogram_``.
    name : str, optional
        Title of the colour bar.
    max_rows : int, default 2000
        More samples than this are pooled into this many bins of equal weight; the picture says so.
    memory_budget : int, str or None, default None
        Bytes (or text such as "4GB") that may be allocated. Ordering an ensemble of more than
        ``max_rows`` microclusters by cluster never computes their N x N matrix.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        ``ax.images[0]`` holds the (B, B) array drawn: means of the matrix over the pairs of samples
        of two bins, with one bin per sample up to ``max_rows`` samples. Both axes run over the
        samples, so a microcluster is as wide as its weight.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.plot import matrix
    >>> ensemble = Ensemble.from_labels([[0, 0], [1, 1], [0, 1], [0, 0]])
    >>> ax = matrix(ensemble, labels=["a", "b", "b", "a"])
    >>> ax.images[0].get_array().tolist()
    [[1.0, 1.0, 0.0, 0.5], [1.0, 1.0, 0.0, 0.5], [0.0, 0.0, 1.0, 0.5], [0.5, 0.5, 0.5, 1.0]]
    """
    check_parameters(
        "plot.matrix",
        {"order": order, "max_rows": max_rows},
        {"order": Choice(("dendrogram", "cluster", "given", None)), "max_rows": Integer(2)},
    )
    given = read(
        "plot.matrix: source", source, "a model, a Result, an Ensemble or a symmetric matrix"
    )
    if given is not None:
        source = given.ensemble
        labels = given.labels if labels is None else labels
    values, drawn_ensemble, spans, names = _read_matrix(source, ensemble, weights, labels)
    if order is None:
        order = "cluster" if names and dendrogram is None else "dendrogram"
    if order == "cluster" and not names:
        raise ParameterError('plot.matrix: order="cluster" needs labels')
    if dendrogram is not None:
        _refuse_dendrogram(dendrogram, order, 1 + int(spans.row.max()))
    arranged = arrange(values, drawn_ensemble, spans, order, dendrogram, max_rows, memory_budget)
    top = 1.0 if values is None else max(float(arranged.values.max()), 1e-300)
    # room for the cluster names on the left
    longest = max((len(shown(label)) for label in names), default=0) if order == "cluster" else 4
    is_new, ax = ax is None, axes(ax, (6.1 + 0.08 * longest, 5.2))
    image = ax.imshow(
        arranged.values,
        cmap=SEQUENTIAL,
        vmin=min(0.0, float(arranged.values.min())),
        vmax=top,
        extent=(0.0, arranged.total, arranged.total, 0.0),
        aspect="equal",
    )
    share = "share of members that put two samples together" if values is None else "similarity"
    colour_bar(ax, image, share if name is None else shown(name, 60))
    _describe_axes(ax, arranged)
    if names:
        _mark_clusters(ax, arranged.spans, names, by_cluster=order == "cluster")
    if is_new:
        settle(ax)
    return ax


def _read_matrix(
    source: Any,
    ensemble: Ensemble | None,
    given_weights: ArrayLike | None,
    labels: Any,
) -> tuple[FloatArray | None, Ensemble | None, Spans, list[Any]]:
    """The matrix (None: the co-association), its ensemble, the spans, and the distinct labels."""
    values, drawn_ensemble = None, ensemble
    if isinstance(source, Ensemble):
        if ensemble is not None:
            raise ParameterError(
                "plot.matrix: source is an Ensemble already; give ensemble only with an array"
            )
        drawn_ensemble = source
    else:
        if ensemble is not None:
            require_ensemble(ensemble, "plot.matrix: ensemble")
        size = None if ensemble is None else ensemble.n_microclusters
        values = symmetric("plot.matrix: source", source, size)
    rows: NDArray[Any]
    if drawn_ensemble is None:
        assert values is not None
        rows = np.arange(len(values))
        row_weights = weights("plot.matrix: weights", given_weights, len(rows))
    elif given_weights is not None:
        raise ParameterError(
            "plot.matrix: an Ensemble has its own weights; give weights only with an array and "
            "without an Ensemble"
        )
    elif labels is None:
        rows, row_weights = np.arange(drawn_ensemble.n_microclusters), drawn_ensemble.sizes
    else:
        rows, row_weights = drawn_ensemble.inverse, drawn_ensemble.sample_counts
    codes: IntArray = np.zeros(len(rows), dtype=np.int64)
    names: list[Any] = []
    if labels is not None:
        codes, names = label_codes("plot.matrix: labels", labels, len(rows))
    return values, drawn_ensemble, Spans.of(rows, codes, row_weights), names


def _refuse_dendrogram(dendrogram: Dendrogram, order: str, n_rows: int) -> None:
    if order != "dendrogram":
        raise ParameterError(
            f'plot.matrix: dendrogram needs order="dendrogram", but order is {order!r}'
        )
    if not hasattr(dendrogram, "sizes"):
        raise ParameterError(
            "plot.matrix: dendrogram must be a solver's dendrogram_, but is "
            f"{type(dendrogram).__name__}"
        )
    if len(dendrogram.sizes) != n_rows:
        raise ParameterError(
            f"plot.matrix: dendrogram joins {len(dendrogram.sizes):,} items, but the matrix has "
            f"{n_rows:,} rows; fit it on the same ensemble"
        )


def _describe_axes(ax: Axes, arranged: Arrangement) -> None:
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter

    unit, total = "samples", f"{arranged.total:,.0f} samples"
    if not arranged.spans.are_counts:
        unit, total = "weight", f"total weight {arranged.total:,.4g}"
    ax.set_xlabel(total)
    ax.set_ylabel(unit)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(nbins=5, integer=True))
        axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
    if arranged.pooled:
        bins = len(arranged.values)
        each = arranged.total / bins
        size = f"{each:,.0f}" if each >= 100 else f"{each:.3g}"
        note(ax, f"means over {bins:,} bins of {size} {unit} each")


def _mark_clusters(ax: Axes, spans: Spans, names: list[Any], *, by_cluster: bool) -> None:
    """Draw a strip of colours along the top and the left, and the names of the blocks."""
    from matplotlib.collections import PolyCollection

    edges = spans.edges
    # adjacent spans with the same label are one block
    first = np.flatnonzero(np.concatenate([[True], spans.label[1:] != spans.label[:-1]]))
    start, stop = edges[first], np.append(edges[first[1:]], edges[-1])
    colours = [palette(len(names))[label] for label in spans.label[first]]
    near, far = -STRIP * edges[-1], -0.2 * STRIP * edges[-1]
    top = np.array(
        [[(a, near), (b, near), (b, far), (a, far)] for a, b in zip(start, stop, strict=True)]
    )
    for corners in (top, top[..., ::-1]):
        strip = PolyCollection([*corners], facecolors=colours, linewidths=0)
        ax.add_collection(strip, autolim=False)
    ax.set_xlim(near, edges[-1])
    ax.set_ylim(edges[-1], near)
    ax.spines[:].set_visible(False)
    if not by_cluster:
        return
    ax.hlines(start[1:], 0.0, edges[-1], color=INK, linewidth=0.4)
    ax.vlines(start[1:], 0.0, edges[-1], color=INK, linewidth=0.4)
    wide = (stop - start) >= NARROWEST_NAMED * edges[-1]
    ax.set_yticks(
        ((start + stop) / 2)[wide],
        [shown(names[label]) for label in spans.label[first][wide]],
    )
    ax.tick_params(axis="y", length=0)
    hidden = int((~wide).sum())
    ax.set_ylabel("cluster" if not hidden else f"cluster ({hidden:,} too small to name)")


# ------------------------------------------------------------------ members


# colour of a pair of members without a sample in common
NOTHING = "#D9D9D9"
# more names than this on an axis are unreadable
NAMED = 40
# larger matrices have no numbers in their cells
WRITTEN = 12


def members(
    source: Any,
    *,
    names: Sequence[str] | None = None,
    order: str = "similarity",
    ax: Axes | None = None,
) -> Axes:
    """Draw the agreement of every two members, similar members next to each other.

    Parameters
    ----------
    source : fitted model, Result, Ensemble, or array of shape (m, m)
        The NMI (arithmetic mean) of every two members is drawn, over the samples that both
        label. An array is drawn unchanged. NaN, for a pair without a sample in common, is grey.
    names : sequence of str, optional
        Member names for an array; an ensemble has its own.
    order : {"similarity", "given"}, default "similarity"
        By average linkage of the agreement, or unchanged.
    ax : Axes, optional
        Axes to draw on; by default a new figure.

    Returns
    -------
    Axes
        ``ax.images[0]`` holds the reordered (m, m) array; the tick labels name its rows.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.plot import members
    >>> labels = {"a": [0, 0, 1, 1], "noise": [0, 1, 0, 1], "b": ["x", "x", "y", "y"]}
    >>> ax = members(Ensemble.from_labels(labels))
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['a', 'b', 'noise']
    >>> ax.images[0].get_array().tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    check_parameters("plot.members", {"order": order}, {"order": Choice(("similarity", "given"))})
    agreement, member_names = _read_agreement(source, names)
    if order == "similarity":
        position = similarity_order(np.nan_to_num(agreement), np.ones(len(agreement)))
    else:
        position = np.arange(len(agreement))
    drawn = agreement[np.ix_(position, position)]
    side = float(np.clip(2.2 + 0.22 * min(len(drawn), NAMED), 4.0, 7.2))
    is_new, ax = ax is None, axes(ax, (side + 1.2, side))
    low = min(0.0, float(np.nan_to_num(drawn).min()))
    ax.set_facecolor(NOTHING)
    image = ax.imshow(drawn, cmap=SEQUENTIAL, vmin=low, vmax=1.0, aspect="equal")
    is_nmi = isinstance(source, Ensemble | DiagnosisMixin)
    words = "NMI of two members" if is_nmi else "agreement"
    colour_bar(ax, image, words)
    if len(drawn) <= NAMED:
        named = [shown(member_names[j]) for j in position]
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
    if is_new:
        settle(ax)
    return ax


def _read_agreement(source: Any, names: Sequence[str] | None) -> tuple[FloatArray, tuple[str, ...]]:
    if isinstance(source, Ensemble):
        if names is not None:
            raise ParameterError(
                "plot.members: an Ensemble has its own names; give names only with an array"
            )
        return member_agreement(source), source.members
    given = read(
        "plot.members: source", source, "a model, a Result, an Ensemble or an m x m matrix"
    )
    if given is not None:
        return _read_agreement(given.ensemble, names)
    agreement = symmetric("plot.members: source", source, nan=True)
    if names is None:
        names = [f"member_{j}" for j in range(len(agreement))]
    members = tuple(str(name) for name in names)
    if len(members) != len(agreement):
        raise ParameterError(
            f"plot.members: names must hold {len(agreement)} names, but holds {len(members)}"
        )
    return agreement, members


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
