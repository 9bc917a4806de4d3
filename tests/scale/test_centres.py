"""Nearest centres against all squared distances."""

from __future__ import annotations

import numpy as np
import pytest

from coterie.scale.centres import nearest_centres


@pytest.mark.parametrize("seed", range(4))
def test_the_nearest_is_found_and_the_lower_of_two(seed):
    rng = np.random.default_rng(seed)
    # small whole numbers tie often, and their squares add up exactly
    rows = rng.integers(0, 3, (60, 2)).astype(np.float64)
    centres = rng.integers(0, 3, (5, 2)).astype(np.float64)
    distances = ((rows[:, None] - centres) ** 2).sum(axis=2)
    found = np.empty(60, dtype=np.int32)
    nearest_centres(rows, np.ascontiguousarray(centres.T), found)
    assert found.tolist() == distances.argmin(axis=1).tolist()
