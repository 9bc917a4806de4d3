"""Randomness for the tests of experiments."""

from __future__ import annotations

import numpy as np
import pytest


@pytest.fixture
def rng():
    """The same numbers in every run."""
    return np.random.default_rng(0)
