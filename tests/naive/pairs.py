"""Pairs of samples by their co-association, listed one by one, in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import floor


def value(first, second, weights):
    """Weighted share of the members that put two samples together among those that saw both."""
    seen = [i for i, (a, b) in enumerate(zip(first, second, strict=True)) if a >= 0 and b >= 0]
    total = sum(Fraction(weights[i]) for i in seen)
    if total == 0:
        # samples of one label row are the same to every member
        return Fraction(1) if list(first) == list(second) else Fraction(0)
    return sum(Fraction(weights[i]) for i in seen if first[i] == second[i]) / total


def evidence_quality(labels, classes, levels, weights):
    """Pairs and pairs of one class on each level."""
    pairs, together = [0] * (levels + 1), [0] * (levels + 1)
    for i, j in combinations(range(len(labels)), 2):
        level = floor(value(labels[i], labels[j], weights) * levels)
        pairs[level] += 1
        together[level] += classes[i] == classes[j]
    return pairs, together
