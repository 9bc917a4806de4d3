"""Trust: how sure each sample's cluster is, which members to doubt, how well clusters hold together.

The diagnoses and explanations are pure functions of an ensemble and a partition of its samples. They
work on microclusters and never build an n x n matrix.
"""

from coterie.core.errors import SampleError
from coterie.trust.diagnosis import (
    DiagnosisMixin,
    diagnose_clusters,
    diagnose_samples,
    soft_labels,
)
from coterie.trust.explanation import Explanation, explain
from coterie.trust.members import (
    MemberVerdict,
    diagnose_members,
    judge_members,
    member_agreement,
)
from coterie.trust.verdict import Verdict
from coterie.trust.votes import ClusterVotes

__all__ = [
    "ClusterVotes",
    "DiagnosisMixin",
    "Explanation",
    "MemberVerdict",
    "SampleError",
    "Verdict",
    "diagnose_clusters",
    "diagnose_members",
    "diagnose_samples",
    "explain",
    "judge_members",
    "member_agreement",
    "soft_labels",
]
