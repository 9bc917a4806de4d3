"""Random generators, seeds for parallel jobs, and fixed signs of eigenvectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import ParameterError
from coterie.core.params import SEED, shown

RandomState = int | np.random.Generator | np.random.RandomState | None


def generator(random_state: RandomState) -> np.random.Generator:
    """The numpy Generator for a scikit-learn style ``random_state``."""
    if not SEED.admits(random_state):
        raise ParameterError(
            f"random_state must be {SEED.describe()}, but is {shown(random_state)}"
        )
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        # One draw from a legacy generator, so that it advances between fits as users expect.
        return np.random.default_rng(random_state.randint(0, 2**31 - 1, size=4))
    return np.random.default_rng(random_state)


def child_seeds(rng: np.random.Generator, count: int) -> NDArray[np.int64]:
    """Seeds for ``count`` independent jobs, drawn before the jobs run in parallel."""
    return rng.integers(0, 2**31 - 1, size=count, dtype=np.int64)


def random_rows(n: int, most: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The positions 0 to n - 1, or ``most`` of them drawn at random if there are more; ascending."""
    if n <= most:
        return np.arange(n)
    return np.sort(rng.choice(n, most, replace=False))


def fix_signs(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make the largest entry of each column positive, because eigenvectors have no fixed sign."""
    if vectors.size == 0:
        return vectors
    rows = np.argmax(np.abs(vectors), axis=0)
    signs = np.where(vectors[rows, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
    return np.asarray(vectors * signs)
