"""Trust: how sure each sample is, which members to doubt, how clusters hold together.

Pure functions of an ensemble and a partition of its samples; nothing here is n x n.
"""

from coterie.core.errors import SampleError
from coterie.trust.cluster_diagnoses import clusters
from coterie.trust.explanation import Explanation, explain
from coterie.trust.member_diagnoses import member_agreement, members
from coterie.trust.sample_diagnoses import samples, soft_labels

__all__ = [
    "Explanation",
    "SampleError",
    "clusters",
    "explain",
    "member_agreement",
    "members",
    "samples",
    "soft_labels",
]
