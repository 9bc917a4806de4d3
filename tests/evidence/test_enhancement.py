"""The factors and the storage of EC-CMS against dense arrays."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from coterie import enhance
from coterie.evidence.enhancement import factors
from coterie.evidence.enhancement.kernels import solve
from coterie.evidence.enhancement.tiles import TILE, Layout


def scattered(size, density, seed):
    """A symmetric graph with several connected components."""
    rng = np.random.default_rng(seed)
    half = sparse.triu(sparse.random_array((size, size), density=density, rng=rng), 1)
    return sparse.csr_array(half + half.T), rng


@pytest.mark.parametrize("size", [1, 6, TILE - 1, TILE, TILE + 1, 2 * TILE + 3])
@pytest.mark.parametrize("density", [0.01, 0.2])
@pytest.mark.parametrize("share", [0.0, 1.0])
def test_every_column_is_solved_for(monkeypatch, size, density, share):
    monkeypatch.setattr(factors, "SPARSE_SHARE", share)
    monkeypatch.setattr(factors, "SMALL_BLOCK", 5)
    confident, rng = scattered(size, density, size)
    _, groups = connected_components(confident, directed=False)
    r = rng.integers(1, 4, size).astype(np.float64)
    degrees = 2.0 * (confident @ r) + 2.0
    positions, factor = factors.factorised(
        confident, groups, np.zeros(size, dtype=np.int32), r, degrees, np.dtype(float)
    )
    layout = Layout.of(positions, np.ones((size, size), dtype=bool))
    X, own = rng.random((size, size)), rng.random(size)
    panels = np.zeros(layout.by_panel)
    for v, at in enumerate(positions):
        panels[at // TILE, positions, at % TILE] = X[:, v]
    own_by_position = layout.padded(own, np.dtype(float))
    solve(
        factor, layout.slots, layout.padded(r, np.dtype(float)),
        layout.padded(degrees, np.dtype(float)), panels, own_by_position,
    )  # fmt: skip
    system = np.diag(degrees) - 2.0 * confident.toarray() * r
    surplus = own - np.diag(X)
    expected = np.linalg.solve(system, X + np.diag(surplus / r)) - np.diag(surplus / (r * degrees))
    found = np.stack([panels[at // TILE, positions, at % TILE] for at in positions], axis=1)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    np.testing.assert_allclose(
        own_by_position[positions], np.diag(expected) + surplus / degrees, atol=1e-12
    )


def test_panels_and_pairs_hold_the_same_matrix():
    size = 2 * TILE + 9
    rng = np.random.default_rng(0)
    # the second block begins after a gap
    positions = np.arange(size) + 20 * (np.arange(size) >= size // 2)
    linked = np.zeros((size, size), dtype=bool)
    linked[: size // 2, : size // 2] = linked[size // 2 :, size // 2 :] = True
    matrix = rng.random((size, size)) * linked
    matrix += matrix.T
    order = rng.permutation(size)
    positions, matrix = positions[order], matrix[np.ix_(order, order)]
    layout = Layout.of(positions, linked[np.ix_(order, order)])
    panels = layout.panels_of_pairs(layout.paired(matrix, np.dtype(float)))
    np.testing.assert_array_equal(layout.symmetric_part(panels), matrix)
    by_position = np.concatenate(list(panels), axis=1)
    np.testing.assert_array_equal(by_position[np.ix_(positions, positions)], matrix)


def test_evidence_of_zeros_stays_zero():
    assert not enhance(np.zeros((4, 4))).any()
