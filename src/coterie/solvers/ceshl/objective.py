"""CESHL's objective (8) as a function of the incidence Y, and its gradient (13)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from coterie.core.types import FloatArray
from coterie.numerics.row_ranges import over_rows
from coterie.solvers.ceshl.box_lbfgs import FreeEntries, SparseRows
from coterie.solvers.ceshl.kernels import costs_of_degrees, losses_and_means, slopes, slopes_at

if TYPE_CHECKING:
    from coterie.solvers.ceshl.solver import Problem


class Fit:
    """The objective (8) as a function of Y, per sample and hyperedge copy."""

    def __init__(self, problem: Problem, embedding: FloatArray, rho: float) -> None:
        self.problem = problem
        self.embedding = np.ascontiguousarray(embedding)
        self.rho = rho
        self.rank = float(problem.weights @ (embedding**2).sum(axis=1))

    def value(self, point: SparseRows) -> float:
        """The objective (8); its trace is tr(F'F) minus what the means explain."""
        problem = self.problem
        self.point = point
        self.degrees = np.empty(len(problem.weights))
        self.means = np.empty((point.width, self.embedding.shape[1]))
        losses, explained = losses_and_means(
            point.starts, point.columns, point.values, problem.edges, problem.member_of,
            problem.edge_weights, problem.multiplicity, problem.least_degree, problem.weights,
            self.embedding, self.degrees, self.means,
        )  # fmt: skip
        trace = self.rank - float(problem.edge_mass @ explained)
        value = float(problem.weights @ losses) + self.rho * trace
        if not np.isfinite(value):
            raise FloatingPointError("CESHL: the objective (8) is not finite in the step for Y")
        return value

    def gradient(self) -> Slopes:
        """The gradient (13) where ``value`` was called last."""
        return Slopes(self)


class Slopes:
    """The gradient (13) at one Y, from which its entries can be computed in any order."""

    def __init__(self, fit: Fit) -> None:
        self.problem, self.embedding, self.rho = fit.problem, fit.embedding, fit.rho
        self.point, self.degrees, self.means = fit.point, fit.degrees, fit.means
        self.squares = (self.means**2).sum(axis=1)
        self.costs = np.empty_like(self.degrees)
        over_rows(
            costs_of_degrees, self.point.starts, self.point.columns, self.point.values,
            self.problem.edge_mass, self.problem.least_degree, self.degrees, self.embedding,
            self.means, self.costs,
        )  # fmt: skip

    def rows(self, begin: int, end: int, out: FloatArray) -> None:
        """All entries of some rows."""
        slopes(
            begin, end, self.point.starts, self.point.columns, self.point.values, self.problem.edges,
            self.problem.edge_weights, self.degrees, self.embedding, self.means, self.squares,
            self.costs, self.rho, out,
        )  # fmt: skip

    def at(self, free: FreeEntries, values: FloatArray) -> FloatArray:
        """Some entries, where Y has these values."""
        out = np.empty(len(values))
        over_rows(
            slopes_at, free.starts, free.columns, values, self.problem.edges,
            self.problem.member_of, self.problem.edge_weights, self.degrees, self.embedding,
            self.means, self.squares, self.rho, out, self.costs,
        )  # fmt: skip
        return out
