"""The factorised systems of EC-CMS against a dense solver."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from coterie.evidence.enhancement.kernels import PANEL, solve_factorised


def rows_of(triangle):
    packed = sparse.csr_array(triangle)
    return packed.indptr, packed.indices, packed.data


@pytest.mark.parametrize("size", [6, PANEL - 1, PANEL, PANEL + 1, 2 * PANEL + 1])
def test_every_column_is_solved_for(size):
    rng = np.random.default_rng(size)
    rows = rng.permutation(size)[:5]
    root = rng.normal(size=(5, 5))
    system = root @ root.T + np.eye(5)
    factor = np.linalg.cholesky(system)
    pivots = np.diag(factor)
    unit = factor / pivots
    X, r = rng.random((size, size)), rng.integers(1, 4, size).astype(np.float64)
    expected = X.copy()
    expected[rows] = np.linalg.solve(system, X[rows]) / r[rows, None]
    found = X.copy()
    total = solve_factorised(
        found, rows, rows_of(np.tril(unit, -1)), rows_of(np.triu(unit.T, 1)), pivots**-2.0, r
    )
    np.testing.assert_allclose(found, expected, atol=1e-12)
    parts = np.outer(r[rows], r) * expected[rows] * (X[rows] - 2 * expected[rows])
    assert total == pytest.approx(parts.sum())
