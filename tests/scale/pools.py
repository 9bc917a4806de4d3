"""Labels to compress."""

from __future__ import annotations

import numpy as np


def label_pool(n: int, m: int, k: int, *, noise: float = 0.15, seed: int = 0) -> np.ndarray:
    """Members that agree on k groups but for some noise; few distinct rows."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, k, n)
    labels = np.repeat(truth[:, None], m, axis=1)
    wrong = rng.random((n, m)) < noise
    labels[wrong] = rng.integers(0, k, int(wrong.sum()))
    return labels
