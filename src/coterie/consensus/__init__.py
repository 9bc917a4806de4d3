"""Features in, labels out: the estimator and the steps of its fit."""

from coterie.consensus.estimator import ConsensusClustering
from coterie.consensus.prototyping import ASSIGNING
from coterie.consensus.steps import CHOOSING, CHOOSING_MEMBERS, MAKING

__all__ = ["ASSIGNING", "CHOOSING", "CHOOSING_MEMBERS", "MAKING", "ConsensusClustering"]
