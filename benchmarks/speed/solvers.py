"""The methods on microclusters."""

from __future__ import annotations

import warnings

from coterie import Ensemble
from coterie.evaluate import ari
from coterie.evidence import coassociation
from coterie.kernels.linkage import weighted_linkage
from coterie.solvers._catalogue import METHODS

from .inputs import members

CLUSTERS = 10


def fit(method, ensemble):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return METHODS[method].load()(CLUSTERS, random_state=0).fit(ensemble)


class Solvers:
    """Every method of the catalogue, by the number N of distinct rows."""

    params = [list(METHODS), [250, 1_000]]
    param_names = ["method", "N"]
    timeout = 300

    def setup(self, method, N):
        labels, self.hidden = members(N, 20, CLUSTERS)
        self.ensemble = Ensemble.from_labels(labels)
        # the first fit loads the compiled kernels
        fit(method, Ensemble.from_labels(labels[:100]))

    def time_fit(self, method, N):
        fit(method, self.ensemble)

    def peakmem_fit(self, method, N):
        fit(method, self.ensemble)

    def track_ari(self, method, N):
        return ari(self.hidden, fit(method, self.ensemble).labels_)


class Evidence:
    """What most methods begin and end with."""

    params = [250, 1_000, 2_000]
    param_names = ["N"]

    def setup(self, N):
        self.ensemble = Ensemble.from_labels(members(N, 20, CLUSTERS)[0])
        self.distance = 1 - coassociation(self.ensemble)
        self.weights = self.ensemble.weights.astype(float)
        weighted_linkage(self.distance.copy(), self.weights, "average")

    def time_coassociation(self, N):
        coassociation(self.ensemble)

    def time_average_link(self, N):
        weighted_linkage(self.distance.copy(), self.weights, "average")
