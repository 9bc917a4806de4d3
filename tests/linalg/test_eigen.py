from __future__ import annotations

import numpy as np
import pytest

from coterie.linalg.eigen import eigenpairs


def matrix_of_low_rank(n: int = 40) -> np.ndarray:
    factor = np.random.default_rng(0).normal(size=(n, 3))
    return factor @ factor.T


def decomposes(matrix: np.ndarray) -> None:
    values, vectors = eigenpairs(matrix)
    assert (np.diff(values) >= 0).all()
    np.testing.assert_allclose((vectors * values) @ vectors.T, matrix, atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(len(matrix)), atol=1e-12)


def test_decomposes() -> None:
    decomposes(matrix_of_low_rank())


def test_decomposes_where_divide_and_conquer_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(matrix: np.ndarray) -> None:
        raise np.linalg.LinAlgError("Eigenvalues did not converge")

    monkeypatch.setattr(np.linalg, "eigh", fails)
    decomposes(matrix_of_low_rank())


def test_what_is_not_finite_is_named() -> None:
    with pytest.raises(FloatingPointError, match="the matrix is not finite"):
        eigenpairs(np.array([[np.nan, 0.0], [0.0, 1.0]]))
