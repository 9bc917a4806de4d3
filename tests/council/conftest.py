"""Members to combine, clear ones and disputed ones."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture(scope="module")
def labels():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 20)
    members = [np.where(rng.random(60) < 0.15, rng.integers(0, 3, 60), truth) for _ in range(8)]
    return np.stack(members, axis=1)


@pytest.fixture(scope="module")
def disputed():
    rng = np.random.default_rng(5)
    truth = np.arange(90) % 4
    members = [np.where(rng.random(90) < 0.3, rng.integers(0, 6, 90), truth) for _ in range(10)]
    return np.stack(members, axis=1)
