"""The steps of a fit of ConsensusClustering that concern prototypes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import ParameterError
from coterie.core.estimators import BaseEstimator
from coterie.generate.columns import read_columns
from coterie.generate.members import Pool
from coterie.generate.prototypes import (
    FEWEST,
    SIZING_ROWS,
    Draw,
    Prototypes,
    count_that_fits,
    prototype_count,
    shape_of,
    take_rows,
)
from coterie.solvers.methods import solver_of

# the name of a stage of a fit, as a callback gets it, and the number of rows of one step
ASSIGNING, STEP_ROWS = "finding the nearest prototypes", 2**16
SPECTRAL = "generator is 'spectral', whose members cannot label rows that they were not fitted on"


def predicts(estimator: PrototypeSteps) -> bool:
    """Whether the members can label rows that they were not fitted on."""
    return not (isinstance(estimator.generator, str) and estimator.generator == "spectral")


class PrototypeSteps(BaseEstimator):
    """Which rows a fit draws, how many of them become prototypes, and which is nearest to each row."""

    _drawn: Draw | None

    def _draw(self, X: Any, total: int | None, rng: np.random.Generator) -> Draw | None:
        """The rows to draw for prototypes; None to use all rows."""
        n_rows, width = shape_of(X)
        self._n_rows = n_rows if total is None else total
        count = prototype_count(
            self.prototypes,
            self._n_rows,
            compares_pairs=self.solver is not None and not self._bears_many,
            n_clusters=self.n_clusters,
            can_label=self._can_label,
        )
        if count is None:
            return None
        if count > n_rows and self.prototypes != "auto":
            raise ParameterError(
                f"prototypes is {count:,}, but only {n_rows:,} rows were drawn from the partitions "
                "(sample= of features_from_dask)",
                "lower {prototypes}",
            )
        # a child generator, so that the members get the same random numbers as without prototypes
        return Draw.of(
            n_rows, max(1, width), min(count, n_rows), rng.spawn(1)[0], larger=self._can_label
        )

    @property
    def _bears_many(self) -> bool:
        """Whether the method can combine as many distinct label rows as there may be prototypes."""
        return self.solver is not None and solver_of(self.solver).about.scaling == "linear"

    def _with_prototypes(self, pool: Pool) -> Pool:
        """Keep the labels of the prototypes, as many as the method can combine."""
        assert self._drawn is not None
        labels = pool.labels[: self._drawn.count]
        if self.prototypes == "auto" and not self._bears_many:
            labels = labels[: count_that_fits(labels, FEWEST)]
        points = self._features[: len(labels)]
        prototypes, kept = Prototypes.of(points, labels, self._n_rows)
        self._drawn = replace(self._drawn, kept=kept)
        return replace(pool, labels=prototypes.labels, prototypes=prototypes)

    def _relabelled(self, pool: Pool, again: Pool) -> Pool:
        """The pool with other members, which labelled the same sample."""
        assert self._drawn is not None
        assert pool.prototypes is not None
        prototypes = replace(pool.prototypes, labels=again.labels[self._drawn.kept])
        return replace(again, labels=prototypes.labels, prototypes=prototypes, nearest=pool.nearest)

    @property
    def _rows_for_sizes(self) -> int:
        """The number of rows whose square root is the largest number of clusters of a member."""
        n = int(self._features.shape[0])
        return n if self._drawn is None else min(self._n_rows, SIZING_ROWS)

    @property
    def _can_label(self) -> bool:
        """Whether the members can label rows that they were not fitted on."""
        if isinstance(self.generator, str):
            clusterers = [] if self.clusterer is None else [self.clusterer]
            return predicts(self) and all(hasattr(each, "predict") for each in clusterers)
        return all(hasattr(each, "predict") for each in self.generator)

    def _find_nearest(self, X: Any, prototypes: Prototypes) -> NDArray[np.int32]:
        """The prototype of each row in memory, block by block."""
        if self._preparation is None:
            rows = self._checked(X, reset=False)
        else:
            rows = read_columns(X)
        nearest = np.empty(self._n_rows, dtype=np.int32)
        follow = self._progress(ASSIGNING)
        for begin in range(0, len(nearest), STEP_ROWS):
            block = slice(begin, begin + STEP_ROWS)
            some = take_rows(rows, block)
            features = some if self._preparation is None else self._preparation(some)
            nearest[block] = prototypes.nearest(features)
            if follow is not None:
                follow(min(begin + STEP_ROWS, len(nearest)), len(nearest))
        return nearest
