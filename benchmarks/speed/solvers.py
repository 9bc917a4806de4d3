"""The methods on microclusters, and the evidence and linkage that most of them use."""

from __future__ import annotations

import warnings

from coterie import Ensemble
from coterie.evaluate import ari
from coterie.evidence import coassociation, locally_weighted_coassociation, transitions
from coterie.numerics.linkage import weighted_linkage
from coterie.solvers.methods import all_methods, find_method

from .inputs import members

CLUSTERS = 10


def fit(method, ensemble):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return find_method(method)(CLUSTERS, random_state=0).fit(ensemble)


class Solvers:
    """Every method, by the number N of distinct rows."""

    params = [list(all_methods()), [250, 1_000]]
    param_names = ["method", "N"]
    timeout = 300
    n_members = 20

    def setup(self, method, N):
        labels, self.hidden = members(N, self.n_members, CLUSTERS)
        self.ensemble = Ensemble.from_labels(labels)
        # the first fit loads the compiled kernels
        fit(method, Ensemble.from_labels(labels[:100]))

    def time_fit(self, method, N):
        fit(method, self.ensemble)

    def peakmem_fit(self, method, N):
        fit(method, self.ensemble)

    def track_ari(self, method, N):
        return ari(self.hidden, fit(method, self.ensemble).labels_)


class Quadratic(Solvers):
    """Methods with N x N matrices, for larger N."""

    params = [["eac", "lwea", "spce", "eccms", "trce"], [4_000]]


class Linear(Solvers):
    """Methods without N x N matrices."""

    params = [["pce", "ceshl", "lwgp", "usenc"], [4_000, 20_000]]


class ManyMembers(Solvers):
    """Fifty members instead of twenty."""

    params = [["eac", "spce", "eccms", "trce", "pce", "ceshl"], [1_000]]
    n_members = 50


class Evidence:
    """N x N evidence, by distinct rows, hidden classes and members."""

    params = [[250, 1_000, 4_000], [3, 10], [20, 100]]
    param_names = ["N", "k", "m"]

    def setup(self, N, k, m):
        self.ensemble = Ensemble.from_labels(members(N, m, k)[0])
        for evidence in (coassociation, locally_weighted_coassociation, transitions):
            evidence(self.ensemble)

    def time_coassociation(self, N, k, m):
        coassociation(self.ensemble)

    def peakmem_coassociation(self, N, k, m):
        coassociation(self.ensemble)

    def time_locally_weighted(self, N, k, m):
        locally_weighted_coassociation(self.ensemble)

    def time_transitions(self, N, k, m):
        transitions(self.ensemble)


class Linkage:
    """Average link of the co-association, by the number N of distinct rows."""

    params = [250, 1_000, 4_000, 8_000]
    param_names = ["N"]

    def setup(self, N):
        ensemble = Ensemble.from_labels(members(N, 20, CLUSTERS)[0])
        self.distance = 1 - coassociation(ensemble)
        self.weights = ensemble.weights.astype(float)
        weighted_linkage(self.distance[:100, :100].copy(), self.weights[:100], "average")

    def time_average_link(self, N):
        weighted_linkage(self.distance.copy(), self.weights, "average")

    def peakmem_average_link(self, N):
        weighted_linkage(self.distance.copy(), self.weights, "average")
