"""Rows of labels sample by sample, and partitions compared up to the names of their clusters."""

from __future__ import annotations

import numpy as np


def as_given(ensemble):
    """The labels an ensemble stands for in the user's own terms: a list per member, None missing."""
    members = []
    for j in range(ensemble.n_members):
        codes = ensemble.labels[ensemble.inverse, j]
        categories = ensemble.categories[j].tolist()
        members.append([None if code < 0 else categories[code] for code in codes])
    return members


def same_partition(one, other):
    """Whether two label vectors group the samples alike."""
    there, back = {}, {}
    return len(one) == len(other) and all(
        there.setdefault(a, b) == b and back.setdefault(b, a) == a
        for a, b in zip(np.asarray(one).tolist(), np.asarray(other).tolist(), strict=True)
    )


def distinct(labels):
    """Distinct rows with the samples that have them, by first appearance."""
    found = {}
    for i, row in enumerate(np.asarray(labels).tolist()):
        found.setdefault(tuple(row), []).append(i)
    return found
