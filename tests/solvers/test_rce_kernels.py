"""The steps of RCE on single pairs."""

from __future__ import annotations

import numpy as np

from coterie.solvers.rce.kernels import approach


def test_a_pair_stays_a_probability_and_a_settled_one_stays():
    consensus = np.array([[0.5, 0.0], [1.0, 0.9]])
    none, seen = np.zeros((2, 2)), np.ones((1, 1))
    assert approach(consensus, np.full((2, 2), -1e6), none, none, seen) == 0.5
    np.testing.assert_array_equal(consensus, [[1.0, 0.0], [1.0, 1.0]])
