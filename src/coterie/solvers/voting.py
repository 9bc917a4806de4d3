r"""Majority voting: clusters are renamed to match a reference; a sample joins the one with most votes.

The labels of different members cannot be compared until they are aligned. With a reference partition z of
c clusters, the overlap of member j is the k_j x c table

.. math:: O^{(j)}_{ql} = \sum_i [y_{ij} = q] \, [z_i = l]

over the samples that both label, and the renaming :math:`\pi_j` of its clusters is the one of largest total
overlap :math:`\sum_q O^{(j)}_{q \pi_j(q)}`:

- one to one where k_j <= c (Hungarian method);
- onto all c names where k_j > c: c of its clusters get different names, so that the total loss against their
  largest overlaps is smallest, and every other cluster goes to its largest overlap. Without ``cover`` every
  cluster goes to its largest overlap, whether or not all names are used.

Steps
  1. reference: the member of exactly c clusters that agrees most with the others (mean NMI), or, where
     no member has c clusters, the k-means consensus of the label rows (KCC with utility U_c)
  2. renaming of every member
  3. vote: :math:`z_i = \arg\max_l \sum_j w_j [\pi_j(y_{ij}) = l]`, the lower name in a tie
  4. the result is the new reference; repeat 2 and 3 until the number of votes that agree with the
     result no longer rises. Neither step can lower this number.

There is no canonical paper for this; E. Dimitriadou, A. Weingessel, K. Hornik, "A combination scheme for
fuzzy clustering", International Journal of Pattern Recognition and Artificial Intelligence 16 (2002), and
A. Topchy, M. Law, A. Jain, A. Fred, "Analysis of consensus partition in cluster ensemble", IEEE
International Conference on Data Mining (2004), study such schemes.

Exactness. Overlaps are sums over samples and votes are by row, so a microcluster of weight r gives the
same result as r samples.

Missing labels cast no vote, and overlaps are taken over samples that both label. A base cluster that
overlaps no cluster of the reference casts no vote either. Samples without a vote form a cluster of their
own, which is then merged by the co-association.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from coterie.core.params import Choice, parameter
from coterie.core.types import FloatArray, IntArray, Pass
from coterie.ensemble import Ensemble
from coterie.evidence.contingency import compare_members
from coterie.solvers._label_kmeans import kmeans_partition
from coterie.solvers.base import Callback, Method, MethodInfo
from coterie.solvers.partition import Partition

# two votes tie if they differ by less than this share of the largest
TIE = 1e-10
# starts of the k-means that gives the reference where no member does
STARTS = 10
CONSENSUS = "k-means of label rows"
ADVICE = "Ask for fewer clusters, or give members with at least n_clusters clusters."


@dataclass(eq=False, repr=False, kw_only=True)
class MajorityVoting(Method):
    """Majority voting by label alignment.

    Renames the clusters of every member to match a reference, counts the votes, and takes the result
    as the next reference until it settles.

    Parameters
    ----------
    reference : {"member", "consensus"}, default "member"
        What members are first aligned to: the member of n_clusters clusters that agrees most with
        the others, where there is one, or a k-means consensus of the label rows.
    cover : bool, default True
        Whether a member with more than n_clusters clusters must vote for every cluster of the
        reference. Then fewer clusters end up without votes.
    max_iter : int, default 20
        Maximum number of rounds; 1 is a single vote.
    random_state : int, Generator or None, default None
        Seed of the k-means reference; ignored if a member is the reference.

    Attributes
    ----------
    reference_ : str
        Name of the member taken as reference, or "k-means of label rows".
    objective_ : float
        Share of the votes that agree with the consensus, samples and members weighted.

    See Also
    --------
    coterie.EAC : needs no alignment.

    Notes
    -----
    Variants differ in reference, alignment and repetition; the module's docstring says what is done
    here. A missing label casts no vote.

    Examples
    --------
    >>> from coterie import MajorityVoting
    >>> labels = [["a", 2, 0], ["a", 2, 0], ["a", 1, 0], ["b", 1, 1], ["b", 1, 1], ["b", 1, 1]]
    >>> model = MajorityVoting(n_clusters=2).fit(labels)
    >>> model.labels_.tolist(), round(model.objective_, 4)
    ([0, 0, 0, 1, 1, 1], 0.9444)
    """

    about = MethodInfo(
        name="voting",
        cost="O(N m) per round and O(m k_j c^2); O(N (m + c)) memory",
        paper="A. Topchy, M. H. Law, A. K. Jain, A. Fred. Analysis of consensus partition in "
        "cluster ensemble. IEEE International Conference on Data Mining, 2004.",
        scaling="linear",
        random=True,
    )

    reference: Literal["member", "consensus"] = parameter("member", Choice(("member", "consensus")))
    cover: bool = parameter(True, Choice((True, False)))
    max_iter: int = 20
    callback: Callback = None

    def _solve(self, ensemble: Ensemble, rng: np.random.Generator) -> Partition:
        c = self.n_clusters
        labels, reference = first_reference(ensemble, c, self.reference, rng)  # 1
        weights = ensemble.sizes
        all_votes = float(weights @ ensemble.observed_weight)
        votes = np.zeros((len(labels), c))
        agreed = 0.0
        history: list[Pass] = []
        settled = False
        for _ in range(self.max_iter):
            renamed = rename(ensemble, labels, c, cover=self.cover)  # 2
            new_votes = count_votes(ensemble, renamed, c)
            new_labels = winners(new_votes)  # 3
            cast = new_labels >= 0
            new_agreed = float(weights[cast] @ new_votes[cast, new_labels[cast]])
            settled = new_agreed <= agreed * (1 + TIE)
            if settled:
                break
            changed = float(weights[new_labels != labels].sum() / weights.sum())
            labels, votes, agreed = new_labels, new_votes, new_agreed
            self._add_pass(history, {"objective": agreed / all_votes, "residual": changed})
        # samples without a vote form a cluster of their own
        components = np.where(labels < 0, c, labels)
        # max_iter=1 asks for a single vote, which is not a failure to converge
        complete = self.max_iter == 1 and len(np.unique(components)) == c
        return Partition(
            components,
            converged=settled,
            history=history,
            advice="" if complete else ADVICE,
            embedding=votes,
            other={"reference_": reference},
        )


def first_reference(
    ensemble: Ensemble, n_clusters: int, kind: str, rng: np.random.Generator
) -> tuple[IntArray, str]:
    """Step 1: labels (-1 where the reference is a member that has none), and the reference's name."""
    candidates = np.flatnonzero(ensemble.n_clusters_per_member == n_clusters)
    if kind == "member" and candidates.size:
        best = int(candidates[0])
        if candidates.size > 1:
            agreement = mean_agreement(ensemble)[candidates]
            best = int(candidates[np.argmax(agreement >= agreement.max() - TIE)])
        return ensemble.labels[:, best].astype(np.int64), ensemble.members[best]
    return kmeans_partition(ensemble, n_clusters, rng, n_init=STARTS), CONSENSUS


def mean_agreement(ensemble: Ensemble) -> FloatArray:
    """Mean NMI of each member with the others it shares samples with, weighted; 0 if there are none."""
    agreement = compare_members(ensemble).agreement
    weight = np.where(np.isnan(agreement), 0.0, ensemble.member_weight)
    np.fill_diagonal(weight, 0.0)
    total = weight.sum(axis=1)
    return (weight * np.nan_to_num(agreement)).sum(axis=1) / np.where(total > 0, total, 1.0)


def rename(ensemble: Ensemble, labels: IntArray, n_clusters: int, *, cover: bool) -> IntArray:
    """Step 2: the cluster that each base cluster is renamed to, shape (k,); -1 where none overlaps it."""
    n = len(labels)
    seen = np.flatnonzero(labels >= 0)
    chosen = sparse.csr_array((ensemble.sizes[seen], (seen, labels[seen])), shape=(n, n_clusters))
    overlaps = np.asarray((ensemble.incidence.T @ chosen).toarray())
    renamed = np.empty(len(overlaps), dtype=np.int64)
    for begin, end in zip(ensemble.cluster_starts, ensemble.cluster_offsets[1:], strict=True):
        renamed[begin:end] = _align(overlaps[begin:end], cover)
    renamed[overlaps[np.arange(len(renamed)), renamed] == 0] = -1
    return renamed


def _align(overlap: FloatArray, cover: bool) -> IntArray:
    """The renaming of largest total overlap, from the k_j x c table of one member."""
    k, c = overlap.shape
    largest = np.argmax(overlap, axis=1)
    if k > c and not cover:
        return largest
    loss = overlap.max(axis=1, keepdims=True) - overlap if k > c else -overlap
    clusters, assigned = linear_sum_assignment(loss)
    largest[clusters] = assigned
    return largest


def count_votes(ensemble: Ensemble, renamed: IntArray, n_clusters: int) -> FloatArray:
    """Weight of the members that vote for each cluster, N x c."""
    voting = np.flatnonzero(renamed >= 0)
    ballot = sparse.csr_array(
        (ensemble.weight_of_cluster[voting], (voting, renamed[voting])),
        shape=(len(renamed), n_clusters),
    )
    return np.asarray((ensemble.incidence @ ballot).toarray())


def winners(votes: FloatArray) -> IntArray:
    """Step 3: the cluster with most votes, the lower one in a tie, -1 where no vote was cast."""
    most = votes.max(axis=1, keepdims=True)
    return np.where(most[:, 0] > 0, np.argmax(votes >= most * (1 - TIE), axis=1), -1)
