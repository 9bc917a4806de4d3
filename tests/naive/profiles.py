"""Profiles from their definitions: one cluster, one column and one pair of samples at a time."""

from __future__ import annotations

import numpy as np


def repeated(values, labels, weight):
    """Each sample as often as its whole weight says, without missing values."""
    values, labels = np.repeat(values, weight), np.repeat(labels, weight)
    return values[~np.isnan(values)], labels[~np.isnan(values)]


def auc(inside, outside):
    wins = sum((a > b) + (a == b) / 2 for a in inside for b in outside)
    return wins / (len(inside) * len(outside))


def difference(inside, outside):
    both = np.concatenate([inside, outside])
    return (inside.mean() - outside.mean()) / both.std()


def benjamini_hochberg(p_values):
    """The smallest level at which the step-up procedure rejects each hypothesis."""
    m = len(p_values)
    ascending = sorted(p_values)
    return [
        min(1.0, *(m * ascending[i] / (i + 1) for i in range(m) if ascending[i] >= p))
        for p in p_values
    ]
