"""Labels to compress."""

from __future__ import annotations

import numpy as np

from tests.builders import noisy_members


def label_pool(n: int, m: int, k: int, *, noise: float = 0.15, seed: int = 0) -> np.ndarray:
    """Members that agree on k groups but for some noise; few distinct rows."""
    return noisy_members(seed, n, m, k, wrong=noise, random_classes=True)[0]
