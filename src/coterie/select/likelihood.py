"""Numbers of clusters that Gaussian mixtures describe best, by the Bayesian information criterion.

Clusters that overlap have no border between them, and partitions of overlapping clusters replicate badly.
Their sum still has a density that no single normal distribution has.
"""

from __future__ import annotations

import numpy as np

from coterie.core.threads import one_thread
from coterie.select.candidates import MAX_MIXTURE, Candidates

# one covariance for all clusters; one each; one each, without correlations
SHAPES = ("tied", "full", "diag")


def likely_ks(candidates: Candidates, top: int) -> list[int]:
    """Numbers of clusters up to ``top`` at which mixtures of one of the shapes have the lowest BIC.

    If the BIC of a shape is lowest at the largest number that is tried, more may be better still, so this
    shape adds no number.

    Parameters
    ----------
    candidates : Candidates
    top : int

    Examples
    --------
    >>> from coterie.datasets import load
    >>> from coterie.select.candidates import Candidates
    >>> from coterie.select.likelihood import likely_ks
    >>> likely_ks(Candidates(load("blobs").X, 15), 10)
    [5]
    """
    largest = min(MAX_MIXTURE, candidates.largest)
    ks = set()
    for shape in SHAPES:
        with one_thread():
            values = [candidates.mixture(k, shape).bic(candidates.X) for k in range(1, largest + 1)]
        best = int(np.argmin(values)) + 1
        if 1 < best < largest and best <= top:
            ks.add(best)
    return sorted(ks)
