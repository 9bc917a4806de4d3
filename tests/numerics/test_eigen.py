from __future__ import annotations

import numpy as np
import pytest
from scipy import linalg
from scipy.sparse.linalg import ArpackError, ArpackNoConvergence

from coterie.numerics.eigen import eigenpairs, extreme_eigenpairs, leading_eigenpairs


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


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("fails", ["not at all", "with an error", "with too few pairs"])
def test_extremes(monkeypatch: pytest.MonkeyPatch, largest: bool, fails: str) -> None:
    matrix, whole = matrix_of_low_rank(), linalg.eigh

    def some(given: np.ndarray, **options: object) -> tuple[np.ndarray, np.ndarray]:
        if fails == "with an error":
            raise np.linalg.LinAlgError("internal error")
        values, vectors = whole(given, **options)
        return (values[1:], vectors[:, 1:]) if fails == "with too few pairs" else (values, vectors)

    monkeypatch.setattr(linalg, "eigh", some)
    values, vectors = extreme_eigenpairs(matrix, 3, largest=largest)
    expected = np.linalg.eigvalsh(matrix)
    np.testing.assert_allclose(values, expected[-3:] if largest else expected[:3], atol=1e-12)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-12)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(3), atol=1e-12)


def test_extremes_of_what_is_not_finite() -> None:
    with pytest.raises(FloatingPointError, match="the matrix is not finite"):
        extreme_eigenpairs(np.array([[np.nan, 0.0], [0.0, 1.0]]), 1)


@pytest.mark.parametrize("count", [1, 4, 7, 12])
@pytest.mark.parametrize("repeats", [1, 3, 9])
@pytest.mark.parametrize("sign", [1.0, -0.3])
def test_repeated_eigenvalues_are_all_found_by_products(count, repeats, sign):
    """Also with negative ones, and where the last that is wanted is repeated."""
    n = 90
    turn, _ = np.linalg.qr(np.random.default_rng(1).normal(size=(n, n)))
    spectrum = np.linspace(1.0, 0.0, n // repeats).repeat(repeats)
    spectrum[n // 2 :] *= sign
    matrix = (turn * spectrum) @ turn.T
    values, vectors = leading_eigenpairs(lambda x: matrix @ x, n, count)
    np.testing.assert_allclose(values, np.sort(spectrum)[::-1][:count], atol=1e-10)
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-9)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(count), atol=1e-10)


@pytest.mark.parametrize(
    "error", [ArpackNoConvergence("no", np.empty(0), np.empty((0, 0))), ArpackError(3)]
)
def test_products_that_do_not_settle_give_nothing(monkeypatch, error):
    def gives_up(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("coterie.numerics.eigen.eigsh", gives_up)
    assert leading_eigenpairs(lambda x: x, 10, 2) is None
