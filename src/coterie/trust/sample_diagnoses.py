"""Samples: soft labels, confidence and the cluster that each could also belong to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.budget import require
from coterie.core.tables import Table
from coterie.ensemble import Ensemble
from coterie.trust.votes import ClusterVotes


def soft_labels(ensemble: Ensemble, labels: Any) -> NDArray[np.float64]:
    """Membership of each sample in each cluster, n x c; rows sum to one.

    A member that labelled a sample votes with the company it puts it in: of the sample's base
    cluster, the share that belongs to each cluster of the partition. The soft label is the mean
    vote, weighted by ``member_weight``. A sample that no member labelled gets a uniform row.

    Parameters
    ----------
    ensemble : Ensemble
    labels : array of int, shape (n,)
        A partition of the samples, as a solver's ``labels_``.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.trust import soft_labels
    >>> ensemble = Ensemble.from_labels([[0, 0], [0, 0], [0, 1], [1, 1]])
    >>> soft_labels(ensemble, [0, 0, 1, 1]).round(3).tolist()
    [[0.833, 0.167], [0.833, 0.167], [0.333, 0.667], [0.0, 1.0]]
    """
    return soft_labels_of(ClusterVotes.of(ensemble, labels))


def soft_labels_of(votes: ClusterVotes) -> NDArray[np.float64]:
    """The memberships from votes that are there already."""
    ensemble = votes.ensemble
    require(
        8 * ensemble.n_samples * votes.n_clusters,
        f"Soft labels of {ensemble.n_samples:,} samples in {votes.n_clusters:,} clusters",
        "samples() gives the two best clusters of each sample instead.",
    )
    return ensemble.expand(votes.soft())


def samples(ensemble: Ensemble, labels: Any) -> Table:
    """One row a sample: its cluster, how sure that is, and the next best cluster.

    Columns: ``sample`` (id, or row number), ``cluster``, ``confidence``, ``rival`` (-1 where there is
    only one cluster), ``support`` and ``rival_support`` (soft membership in the own and in the rival
    cluster), ``attachment``: mean co-association with the samples of the own cluster, over the median
    of that in all samples, at most 1; 0 where no member labelled the sample.

    ``confidence`` is (1 - ``rival_support`` / ``support``, not below 0) times the fourth root of
    ``attachment``. With only one cluster it is 1 wherever a member labelled the sample, and says
    nothing.

    Parameters
    ----------
    ensemble : Ensemble
    labels : array of int, shape (n,)

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.trust import samples
    >>> ensemble = Ensemble.from_labels([[0, 0], [0, 0], [0, 1], [1, 1]])
    >>> samples(ensemble, [0, 0, 1, 1])
    sample  cluster  confidence  rival  support  rival_support  attachment
         0        0         0.8      1   0.8333         0.1667           1
         1        0         0.8      1   0.8333         0.1667           1
         2        1         0.5      0   0.6667         0.3333           1
         3        1           1      0        1              0           1
    """
    return samples_of(ClusterVotes.of(ensemble, labels))


def samples_of(votes: ClusterVotes) -> Table:
    """The table from votes that are there already."""
    ensemble = votes.ensemble
    own, rival, which = votes.standing()
    ids = ensemble.sample_ids
    return Table(
        {
            "sample": np.arange(ensemble.n_samples) if ids is None else ids,
            "cluster": ensemble.expand(votes.labels),
            "confidence": ensemble.expand(votes.confidence_of(own, rival)),
            "rival": ensemble.expand(which),
            "support": ensemble.expand(own),
            "rival_support": ensemble.expand(rival),
            "attachment": ensemble.expand(votes.attachment),
        }
    )
