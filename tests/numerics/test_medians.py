"""The weighted median against the median of repeated values."""

import itertools

import numpy as np
import pytest

from coterie.numerics.medians import weighted_median


@pytest.mark.parametrize("counts", [[1, 1, 1, 1], [3, 1, 1, 2], [1, 5, 1, 1], [2, 2, 2, 2]])
def test_weighted_median_is_that_of_repeated_values(counts):
    values = np.array([0.4, 0.1, 0.9, 0.6])
    assert weighted_median(values, np.array(counts)) == np.median(values.repeat(counts))


def test_half_of_the_weight_reaches_the_median():
    values = np.array([0.3, 0.1, 0.2, 0.4])
    assert weighted_median(values, np.ones(4), lower=True) == 0.2
    assert weighted_median(values, np.array([1, 1, 1, 4]), lower=True) == 0.4
    # in some order these sums fall short of a half in their last digit
    tenths = np.array([0.1, 0.3, 0.3, 0.7])
    for order in itertools.permutations(range(4)):
        rows = list(order)
        assert weighted_median(values[rows], tenths[rows], lower=True) == 0.3
