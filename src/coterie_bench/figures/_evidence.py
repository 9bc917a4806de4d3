"""Figures of the evidence: how well co-association predicts the classes, and the learned matrices."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from coterie.core.types import FloatArray
from coterie.ensemble import Ensemble
from coterie.evidence import (
    cluster_reliability,
    coassociation,
    locally_weighted_coassociation,
    transitions,
)
from coterie.evidence.reliability import mean_reliability
from coterie.solvers.methods import find_method
from coterie_bench.evidence_quality import evidence_quality
from coterie_bench.figures._plan import (
    COLUMN,
    BenchFigure,
    Kind,
    ensembles_words,
    file_name,
    listed,
)
from coterie_bench.pictures import evidence, matrices

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# from the name of a data set to an ensemble and the classes of its samples (None if unknown)
Ensembles = Callable[[str], tuple[Ensemble, Any]]
# no figure of learned matrices for more microclusters than this, because solving takes too long
LARGEST = 2500


def locally_weighted(ensemble: Ensemble) -> FloatArray:
    """The evidence of EC-CMS; the diagonal holds that between two samples of one microcluster."""
    reliability = cluster_reliability(ensemble)
    between = locally_weighted_coassociation(ensemble, reliability=reliability)
    np.fill_diagonal(between, mean_reliability(ensemble, reliability))
    return between


# the initial matrix of each method that learns one, on the same scale as the learned matrix
BEFORE: dict[str, tuple[str, Callable[[Ensemble], FloatArray]]] = {
    "eccms": ("locally weighted co-association", locally_weighted),
    "spce": ("co-association", coassociation),
    "trce": ("mean transitions", transitions),
    "rce": ("co-association", coassociation),
    "drec": ("co-association", coassociation),
}


def evidence_figures(
    spec: Any, usual: Mapping[str, Kind], ensembles: Ensembles | None, left_out: list[str]
) -> Iterator[BenchFigure]:
    """Precision and recall of the co-association; learned matrices beside the initial ones."""
    if ensembles is None:
        left_out.append("evidence and matrices: the data were not given, only the runs")
        return
    learners = [
        method for method in spec.methods if method.solver in BEFORE and not method.ablation_of
    ]
    if not learners:
        left_out.append(f"matrices: the spec has none of {listed(sorted(BEFORE))}")
    for data, kind in usual.items():
        try:
            ensemble, classes = ensembles(data)
        except (ValueError, OSError) as error:
            left_out.append(f"evidence and matrices of {data}: {error}")
            continue
        if classes is None:
            left_out.append(f"evidence and matrices of {data}: its classes are unknown")
            continue
        where = (
            f"{data} ({ensemble.n_samples:,} samples in {ensemble.n_microclusters:,} microclusters; "
            f"{ensembles_words(*kind)}, one ensemble, seed {spec.seed})"
        )
        yield BenchFigure(
            name=file_name("evidence", data),
            title=f"What co-association is worth, {data}",
            caption=(
                f"Pairs of samples of {where} by their co-association: share of all pairs (above), "
                "and how many of them are of one class (below). Counted exactly over all pairs."
            ),
            size=(COLUMN, 3.4),
            draw=partial(_draw_evidence, ensemble=ensemble, classes=classes),
        )
        if ensemble.n_microclusters > LARGEST:
            left_out.append(
                f"matrices of {data}: {ensemble.n_microclusters:,} microclusters, more than "
                f"{LARGEST:,}"
            )
            continue
        yield from _matrix_figures(learners, data, where, ensemble, classes, spec.seed)


def _matrix_figures(
    learners: Sequence[Any], data: str, where: str, ensemble: Ensemble, classes: Any, seed: int
) -> Iterator[BenchFigure]:
    # a method may be in two figures but is fitted once
    learned = lru_cache(maxsize=len(learners) or 1)(
        partial(_learned, learners, ensemble, len(np.unique(classes)), seed)
    )
    order = "ordered by class, inside a class by average link of the first matrix"
    for i, method in enumerate(learners):
        before = BEFORE[method.solver][0]
        yield BenchFigure(
            name=file_name("matrix", method.name, data),
            title=f"Before and after {method.name}, {data}",
            caption=(
                f"The {before} of {where}, what {method.name} at its default setting makes of it, "
                f"the difference, and the ideal matrix of the classes; {order}. The colours end at "
                "the 99.5 % quantile off the diagonal."
            ),
            size=(COLUMN, 3.0),
            draw=partial(
                _draw_pair, index=i, method=method, learned=learned, ensemble=ensemble,
                classes=classes,
            ),
        )  # fmt: skip
    alike = [i for i, method in enumerate(learners) if BEFORE[method.solver][1] is coassociation]
    if len(alike) > 1:
        yield BenchFigure(
            name=file_name("matrices", data),
            title=f"Learned matrices, {data}",
            caption=(
                f"The co-association of {where}, what {listed(learners[i].name for i in alike)} make "
                f"of it at their default settings, and the ideal matrix of the classes; {order}."
            ),
            size=(COLUMN, 0.1 + 1.4 * -(-(len(alike) + 2) // 2)),
            draw=partial(
                _draw_all, alike=alike, learners=learners, learned=learned, ensemble=ensemble,
                classes=classes,
            ),
        )  # fmt: skip


def _learned(
    learners: Sequence[Any], ensemble: Ensemble, n_clusters: int, seed: int, index: int
) -> tuple[FloatArray, bool]:
    """The matrix that a method learns, and whether it converged."""
    method = learners[index]
    parameters = dict(getattr(method, "default", None) or {})
    model = find_method(method.solver)(n_clusters=n_clusters, random_state=seed, **parameters)
    with warnings.catch_warnings():
        # the title of the panel says so
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(ensemble)
    return np.asarray(model.consensus_matrix_), bool(model.converged_)


Learned = Callable[[int], tuple[FloatArray, bool]]


def _draw_evidence(figure: Figure, *, ensemble: Ensemble, classes: Any) -> None:
    evidence(evidence_quality(ensemble, classes), ax=figure.add_subplot())


def _draw_pair(
    figure: Figure,
    *,
    index: int,
    method: Any,
    learned: Learned,
    ensemble: Ensemble,
    classes: Any,
) -> None:
    before, of = BEFORE[method.solver]
    matrix, converged = learned(index)
    after = _panel_title(method.name, converged)
    short = "LWCA" if method.solver == "eccms" else before
    matrices(
        {short: of(ensemble), after: matrix},
        classes,
        ensemble,
        difference=(short, after),
        ax=figure.add_subplot(),
    )


def _draw_all(
    figure: Figure,
    *,
    alike: Sequence[int],
    learners: Sequence[Any],
    learned: Learned,
    ensemble: Ensemble,
    classes: Any,
) -> None:
    named = {"co-association": coassociation(ensemble)}
    for i in alike:
        matrix, converged = learned(i)
        named[_panel_title(learners[i].name, converged)] = matrix
    matrices(named, classes, ensemble, columns=2, ax=figure.add_subplot())


def _panel_title(method: str, converged: bool) -> str:
    return method if converged else f"{method} (not converged)"
