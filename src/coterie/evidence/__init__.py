"""Evidence: pure functions of an Ensemble, at the level of microclusters."""

from coterie.evidence.coassociation import coassociation, transitions, weighted_coassociation
from coterie.evidence.contingency import contingency
from coterie.evidence.enhancement import enhance
from coterie.evidence.links import approximate_simrank, connected_triple, simrank
from coterie.evidence.propagation import propagated_cluster_similarity, propagated_similarity
from coterie.evidence.reliability import cluster_reliability, locally_weighted_coassociation
from coterie.evidence.support import cluster_support
from coterie.evidence.trajectories import trajectory_similarity

__all__ = [
    "approximate_simrank",
    "cluster_reliability",
    "cluster_support",
    "coassociation",
    "connected_triple",
    "contingency",
    "enhance",
    "locally_weighted_coassociation",
    "propagated_cluster_similarity",
    "propagated_similarity",
    "simrank",
    "trajectory_similarity",
    "transitions",
    "weighted_coassociation",
]
