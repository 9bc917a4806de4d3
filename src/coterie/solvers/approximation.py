"""Fewer label rows for a method: groups of similar rows, each replaced by the row of its modes.

A quadratic method on N = 200,000 distinct rows would need 300 GiB for each N x N matrix. Here the rows are
put into at most p groups (:mod:`coterie.numerics.modes`), the method solves the p rows that stand for
them exactly, with the weights of the groups added, and every sample gets the cluster of its group.

The first modes are drawn with the same seed for every fit, in the canonical order of rows and members, so
the groups do not depend on ``random_state``, on the order of samples and members, or on names.

The one constant that affects the groups, :data:`ROUNDS`, was chosen on draws of 20 members from the pools
Ecoli, Steel plates and Landsat, for EAC, SPCE, TRCE and EC-CMS, by the ARI with the exact labels; it was
checked on Umist, KDD99, Aggregation and Isolet (``benchmarks/approximation.py``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np

from coterie.core.errors import ParameterError
from coterie.core.params import Integer, Kind
from coterie.core.text import counted
from coterie.core.types import IntArray
from coterie.ensemble import Ensemble
from coterie.solvers.cutting import CRUMB, replace_crumbs

# groups of "auto": the slowest of our methods solves that many in a minute or two
ROWS = 5_000
# how often the modes are computed anew; more did not help
ROUNDS = 1

Approximate = Literal["auto"] | int | None


def _read(text: str) -> Approximate:
    if text.lower() == "none":
        return None
    return "auto" if text.lower() == "auto" else int(text)


APPROXIMATE = Kind(
    lambda value: (
        value is None or (isinstance(value, str) and value == "auto") or Integer(1).admits(value)
    ),
    "None, 'auto' or a whole number of at least 1",
    read=_read,
)


@dataclass(frozen=True)
class Approximation:
    """What was solved instead of all distinct rows.

    Attributes
    ----------
    ensemble : Ensemble
        The same samples, each with the label row that stands for its own.
    n_rows, n_groups : int
        Number of distinct rows before and after.
    distance : float
        Share of the members, by weight, that label a sample differently from the row that stands for it;
        mean over the samples. A label that is missing in only one of the two counts half.
    largest_distance : float
        The largest of these shares.
    n_replaced : int
        Number of very small clusters of the method that were merged into others, the widest cluster
        being split instead.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import EAC
    >>> rng = np.random.default_rng(0)
    >>> labels = np.repeat([0, 1, 2], 100)[:, None] * 5 + rng.integers(0, 5, (300, 8))
    >>> model = EAC(3, approximate=60).fit(labels)
    >>> print(model.approximation_.text)
    300 distinct label rows were grouped into 60. ...
    >>> np.bincount(model.labels_).tolist()
    [100, 100, 100]
    """

    ensemble: Ensemble
    n_rows: int
    n_groups: int
    distance: float
    largest_distance: float
    n_replaced: int = 0

    @property
    def text(self) -> str:
        """How many rows were merged and how far, and whether clusters were replaced."""
        replaced = (
            f" {counted(self.n_replaced, 'cluster')} of less than {CRUMB:.0%} of the mean size "
            f"{'was' if self.n_replaced == 1 else 'were'} merged into others, and the widest cluster was "
            "split instead, which fits the members better."
            if self.n_replaced
            else ""
        )
        return (
            f"{self.n_rows:,} distinct label rows were grouped into {self.n_groups:,}. On average, "
            f"{100 * self.distance:.2g} % of the members label a sample differently from the row that "
            f"stands for it (at most {100 * self.largest_distance:.2g} %).{replaced}"
        )

    @classmethod
    def of(cls, ensemble: Ensemble, most: int, least: int = 1) -> Self | None:
        """Groups of the rows of an ensemble; None if it has at most ``most`` already.

        Modes of different groups may become equal. If fewer than ``least`` groups would remain, each
        of the first modes keeps a group.
        """
        from coterie.numerics.modes import fit_modes

        if most < least:
            raise ParameterError(
                f"approximate={most} leaves fewer label rows than n_clusters={least}; ask for more rows"
            )
        labelled = ensemble.without_blank
        if labelled.n_microclusters <= most:
            return None
        order = labelled.canonical_member_order
        weights, sizes = labelled.member_weight[order], labelled.sizes
        labels = labelled.labels[:, order]
        for rounds in (ROUNDS, 0):
            groups = fit_modes(labels, sizes, weights, most, np.random.default_rng(0), rounds)
            if len(groups.modes) >= least:
                break
        rows = np.full((ensemble.n_microclusters, ensemble.n_members), -1, dtype=np.int32)
        rows[np.ix_(ensemble.has_label, order)] = groups.modes[groups.group]
        distinct = Ensemble.from_labels(
            rows,
            names=ensemble.members,
            sample_weight=ensemble.weights,
            member_weight=ensemble.member_weight,
        )
        shares = groups.distance.astype(np.float64) / weights.sum()
        return cls(
            ensemble=replace(
                distinct,
                inverse=distinct.inverse[ensemble.inverse],
                sample_weight=ensemble.sample_weight,
                sample_ids=ensemble.sample_ids,
            ),
            n_rows=labelled.n_microclusters,
            n_groups=len(groups.modes),
            distance=float(np.average(shares, weights=sizes)),
            largest_distance=float(shares.max()),
        )

    def without_crumbs(self, labels: IntArray, order: IntArray) -> tuple[Self, IntArray]:
        """The record and the labels of the groups after :func:`~coterie.solvers.cutting.replace_crumbs`.

        ``order`` is the order of the members in which the result does not depend on the user's.
        """
        canonical = self.ensemble.without_blank.reorder_members(order)
        labels, n_replaced = replace_crumbs(canonical, labels)
        return replace(self, n_replaced=n_replaced), labels
