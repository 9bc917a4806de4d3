"""Trust: how sure each sample is, which members to doubt, how clusters hold together.

Pure functions of an ensemble and a partition of its samples; nothing here is n x n.
"""

from coterie.trust._clusters import clusters
from coterie.trust._explain import Explanation, SampleError, explain
from coterie.trust._members import member_agreement, members
from coterie.trust._samples import samples, soft_labels

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
