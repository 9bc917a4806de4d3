"""Enhancing a similarity matrix by its own certain pairs: the function, and the passes behind it.

:mod:`coterie.solvers.ec_cms` describes the problem, its steps and why microclusters are sufficient.
Numbers in parentheses are the paper's equations.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from coterie.core.budget import Budget, require
from coterie.core.errors import ParameterError
from coterie.core.params import (
    CALLBACK,
    STRENGTH,
    Choice,
    Domain,
    Integer,
    Real,
    check_parameters,
    is_matrix,
)
from coterie.core.types import FloatArray, Pass
from coterie.ensemble import Ensemble
from coterie.evidence.coassociation import coassociation, require_dense
from coterie.evidence.enhancement.problem import (
    BYTES_PER_PAIR,
    Precision,
    Problem,
    SampleMatrix,
    bytes_per_pair,
    confident_pairs,
)
from coterie.evidence.enhancement.tiles import Numbers
from coterie.evidence.given import checked_similarity
from coterie.evidence.reliability import reliability_for

DOMAINS: Mapping[str, Domain] = {
    "alpha": Real(0.0, 1.0, closed_low=False),
    "lam": STRENGTH,
    "evidence": Choice(("lwca", "ca", "pts"), also=is_matrix, also_words="a symmetric matrix"),
    "theta": Real(0.0, closed_low=False, closed_high=False),
    "propagate": Choice((True, False)),
    "keep_confident": Choice((True, False)),
    "tol": Real(0.0),
    "max_iter": Integer(1),
    "precision": Choice(("double", "single")),
    "callback": CALLBACK,
}
# changes smaller than this share of the evidence are rounding errors, by precision
NEGLIGIBLE: Mapping[str, float] = {"f8": 1e-7, "f4": 1e-3}
ADVICE = "Take a larger tol, or a smaller alpha if few pairs are certain."


def enhance(
    source: Ensemble | ArrayLike,
    *,
    confidence: Ensemble | ArrayLike | None = None,
    alpha: float = 0.8,
    lam: float = 0.4,
    evidence: str | ArrayLike = "lwca",
    theta: float = 0.4,
    propagate: bool = True,
    keep_confident: bool = True,
    tol: float = 1e-2,
    max_iter: int = 100,
    precision: Precision = "double",
    callback: Callable[[Pass], object] | None = None,
    memory_budget: Budget = None,
) -> FloatArray:
    """Enhance a similarity matrix by its own certain pairs; the first half of :class:`ECCMS`.

    Parameters
    ----------
    source : array, shape (n, n), or Ensemble
        A symmetric similarity with entries in [0, 1], each row a sample; or an Ensemble, whose
        ``evidence`` is enhanced.
    confidence : array, shape (n, n), Ensemble or None, default None
        For a matrix only: a co-association matrix, or an ensemble, that says which pairs are certain.
        None takes the similarity itself, so its entries should be on the scale of ``alpha``.
    alpha, lam, propagate, keep_confident, tol, max_iter, precision, callback, memory_budget
        As in :class:`ECCMS`.
    evidence, theta
        As in :class:`ECCMS`; for an Ensemble only.

    Returns
    -------
    ndarray
        For a matrix, n x n with the diagonal of ``source``. For an Ensemble, N x N as
        ``ECCMS.consensus_matrix_``; ``enhanced[ensemble.inverse][:, ensemble.inverse]`` is n x n.

    Examples
    --------
    >>> import numpy as np
    >>> from coterie import enhance
    >>> similarity = np.array([[1, 0.9, 0.5, 0.1], [0.9, 1, 0.1, 0.1],
    ...                        [0.5, 0.1, 1, 0.8], [0.1, 0.1, 0.8, 1]])
    >>> enhance(similarity).round(2)
    array([[1.  , 0.9 , 0.25, 0.19],
           [0.9 , 1.  , 0.19, 0.17],
           [0.25, 0.19, 1.  , 0.8 ],
           [0.19, 0.17, 0.8 , 1.  ]])
    """
    given = {
        "alpha": alpha, "lam": lam, "evidence": evidence, "theta": theta, "propagate": propagate,
        "keep_confident": keep_confident, "tol": tol, "max_iter": max_iter, "precision": precision,
        "callback": callback,
    }  # fmt: skip
    check_parameters("enhance", given, DOMAINS)
    if isinstance(source, Ensemble):
        if confidence is not None:
            raise ParameterError("enhance: confidence is for a matrix; Ensembles have their own")
        needed = bytes_per_pair(evidence, precision)
        require_dense(source, needed, "The enhanced matrix", memory_budget)
        labelled = source.without_blank
        ensemble = labelled.reorder_members(labelled.canonical_member_order).with_fewer_copies()
        problem = Problem.of(
            ensemble,
            evidence,
            reliability_for(ensemble, evidence, theta),
            alpha=alpha,
            propagate=propagate,
            keep_confident=keep_confident,
            precision=precision,
        )
    else:
        matrix = checked_similarity(source, "enhance: source")
        require(
            float(BYTES_PER_PAIR[precision]) * matrix.size,
            f"The enhanced matrix for n = {len(matrix):,} samples",
            "Give an Ensemble, which is solved on its distinct label rows.",
            memory_budget,
        )
        once = np.ones(len(matrix))
        problem = Problem.pose(
            SampleMatrix(matrix, np.diag(matrix)),
            confident_pairs(_shares(confidence, matrix), once, alpha),
            once,
            propagate,
            keep_confident,
            precision,
        )
    learned, _, converged = minimise(problem, lam, tol, max_iter, callback)
    if not converged:
        warnings.warn(
            f"enhance did not converge in {max_iter} passes. Raise max_iter. {ADVICE}",
            ConvergenceWarning,
            stacklevel=2,
        )
    return source.with_blank_pairs(learned) if isinstance(source, Ensemble) else learned


def _shares(confidence: Ensemble | ArrayLike | None, matrix: FloatArray) -> FloatArray:
    """The similarity that says which pairs of a user's matrix are certain."""
    if confidence is None:
        return matrix
    if isinstance(confidence, Ensemble):
        shares = coassociation(confidence)[np.ix_(confidence.inverse, confidence.inverse)]
    else:
        shares = checked_similarity(confidence, "enhance: confidence")
    if len(shares) != len(matrix):
        raise ParameterError(
            f"enhance: source has {len(matrix)} samples, but confidence has {len(shares)}"
        )
    return shares


@dataclass
class Matrix:
    """An n x n matrix: values of pairs of different samples, and of samples with themselves.

    Attributes
    ----------
    between : ndarray
        Of two microclusters; on the diagonal, of two samples of the same one.
    own : ndarray, shape (N,)
        Of a sample with itself.
    """

    between: Numbers
    own: Numbers


@dataclass
class State:
    """The variables of the iteration.

    F is the symmetric part of P = C + Y2, clipped, and Y2 = P - F. So P and Y2 have the same antisymmetric
    part, and one of each kind of part is enough for all three.

    Attributes
    ----------
    learned, target : Matrix
        C, and the X that it overwrites; the next X then overwrites the old C. In panels.
    error : Matrix
        E outside Omega, Y1 inside, by pairs of tiles.
    mirrored : ndarray, shape (S, TILE ** 2)
        The same for the mirror image of each pair, transposed; not used on the diagonal.
    turned : ndarray, shape (S, TILE ** 2)
        Antisymmetric part of Y2.
    shifted : ndarray, shape (S, TILE ** 2)
        Symmetric part of P.
    own_shifted : ndarray, shape (N,)
        P of a sample with itself.
    norms : ndarray, shape (5,)
        Of C, E, F, Y1 and Y2.
    """

    learned: Matrix
    target: Matrix
    error: Matrix
    mirrored: Numbers
    turned: Numbers
    shifted: Numbers
    own_shifted: Numbers
    norms: FloatArray

    @classmethod
    def at_start(cls, problem: Problem) -> Self:
        """C = E = F = Y2 = 0 and Y1 = A, hence X = 2 A."""
        A, own, layout = problem.evidence, problem.own, problem.layout
        twice = layout.panels_of_pairs(A)
        twice *= 2.0
        return cls(
            learned=Matrix(np.zeros_like(twice), np.zeros_like(own)),
            target=Matrix(twice, 2.0 * own),
            error=Matrix(np.zeros_like(A), np.zeros_like(own)),
            mirrored=np.zeros_like(A),
            turned=np.zeros_like(A),
            shifted=np.zeros_like(A),
            own_shifted=np.zeros_like(own),
            norms=np.array([0.0, 0.0, 0.0, problem.scale, 0.0]),
        )


def minimise(
    problem: Problem,
    lam: float,
    tol: float,
    max_iter: int,
    callback: Callable[[Pass], object] | None,
) -> tuple[FloatArray, tuple[Pass, ...], bool]:
    """Passes until the relative change is below ``tol``, at most ``max_iter``.

    Returns the symmetric part of C, one record per pass, and whether it converged.
    """
    history: list[Pass] = []
    state = State.at_start(problem)
    # the scale is zero if all evidence is
    least = NEGLIGIBLE[problem.evidence.dtype.str[1:]] * (problem.scale or 1.0)
    converged = settled = False
    while not converged and len(history) < max_iter:
        propagate(problem, state)  # 2
        smoothness, changes = relax(problem, state, lam, least, first=not history)  # 3
        objective = smoothness + lam / 2.0 * float(state.norms[1]) ** 2
        # the first C is (Phi + I)^-1 A: if tr(C' Phi C) is zero, so is tr(A' Phi A), and A is the optimum
        settled = not history and smoothness <= least**2
        if settled:
            objective, changes = 0.0, np.zeros(5)
        if not np.isfinite(objective + changes.sum()):
            raise FloatingPointError(f"EC-CMS: pass {len(history) + 1} gave non-finite numbers")
        history.append(_record(len(history) + 1, objective, changes))
        if callback is not None:
            callback(history[-1])
        converged = settled or bool(changes.max() < tol)  # 4
    if settled:
        del state
        learned = problem.layout.panels_of_pairs(problem.evidence)
    else:
        learned = state.learned.between
        # free all but C before the symmetric part is allocated
        del state
    return _symmetric_part(problem, learned), tuple(history), converged


def _symmetric_part(problem: Problem, panels: Numbers) -> FloatArray:
    learned = problem.layout.symmetric_part(panels)
    np.clip(learned, 0.0, 1.0, out=learned)
    # no pair inside a microcluster of one sample: its diagonal is the sample with itself
    lone = np.flatnonzero(problem.weights <= 1.0)
    learned[lone, lone] = problem.own[lone]
    return learned


def propagate(problem: Problem, state: State) -> None:
    """Step 2, which overwrites X with C."""
    from coterie.evidence.enhancement.kernels import solve

    X, layout, dtype = state.target, problem.layout, problem.evidence.dtype
    own = layout.padded(X.own, dtype)
    r, t = layout.padded(problem.weights, dtype), layout.padded(problem.degrees, dtype)
    solve(problem.factor, layout.slots, r, t, X.between, own)
    X.own = own[layout.positions]
    state.learned, state.target = X, state.learned


def relax(
    problem: Problem, state: State, lam: float, least: float, first: bool
) -> tuple[float, FloatArray]:
    """Step 3; returns tr(C' Phi C) and the five relative changes."""
    from coterie.evidence.enhancement.kernels import sweep

    A, Z, layout = problem.evidence, state.error, problem.layout
    precision = A.dtype
    penalty, begun = precision.type(lam), precision.type(not first)
    if first:
        # Y1 = A, which is lambda E outside of Omega
        np.divide(A, penalty, out=Z.between, where=~problem.pinned)
        np.copyto(Z.between, A, where=problem.pinned)
        np.copyto(state.mirrored, Z.between)
    sums = sweep(
        layout.corners, layout.padded(problem.weights, precision), penalty, begun, A, problem.pinned,
        state.learned.between, state.target.between, Z.between, state.mirrored, state.turned,
        state.shifted,
    )  # fmt: skip
    sums += _relax_own(problem, state, lam, first)
    if first:
        # E was zero, although its array held Y1
        sums[1] = sums[6]
    changes = np.sqrt(sums[:5]) / np.maximum(state.norms, least)
    state.norms = np.sqrt(sums[5:10])
    # of X = 2 Phi C + 2 C
    return max(float(sums[10]) / 2.0, 0.0), changes


def _relax_own(problem: Problem, state: State, lam: float, first: bool) -> FloatArray:
    """Step 3 for the pairs of a sample with itself, which are never in Omega."""
    a, c, c_was = problem.own, state.learned.own, state.target.own
    p, e_was = state.own_shifted, state.error.own
    y_was = a if first else lam * e_was
    f_was = np.clip(p, 0.0, 1.0)
    shifted = c + p - f_was
    f = np.clip(shifted, 0.0, 1.0)
    e = (a - c + y_was) / (1.0 + lam)
    y = lam * e
    x_was = a - e_was + y_was + 2.0 * f_was - p
    state.target.own = (a - e + y + 2.0 * f - shifted).astype(a.dtype)
    state.error.own, state.own_shifted = e.astype(a.dtype), shifted.astype(a.dtype)
    changes = [c - c_was, e - e_was, f - f_was, y - y_was, c - f]
    squares = np.array([*changes, c, e, f, y, shifted - f], dtype=np.float64) ** 2
    return np.vstack([squares, c * (x_was - 2.0 * c)]) @ problem.weights


def _record(number: int, objective: float, changes: FloatArray) -> Pass:
    changed = ("change_C", "change_E", "change_F", "change_Y1", "change_Y2")
    return {
        "pass": number,
        "objective": objective,
        "residual": float(changes.max()),
        **dict(zip(changed, changes.tolist(), strict=True)),
    }
