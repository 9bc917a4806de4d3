"""
Choosing the number of clusters
===============================

You learn how the number of clusters is chosen, and to read the criteria that describe the
partition at each number.
"""

# %%
# Five round clusters. One call computes everything. The criteria do not decide which number is
# recommended.

import matplotlib.pyplot as plt

from coterie.datasets import load
from coterie.plot import cdf, criteria, delta_area, tracking
from coterie.select import select_k

blobs = load("blobs")
selection = select_k(blobs.X, range(2, 9), resamples=10, random_state=0)
print(selection.reason)

figure, ax = plt.subplots(figsize=(9.3, 6.6), layout="constrained")
criteria(selection, ax=ax)

# %%
# The cumulative distribution of the co-association. If a line is flat in the middle, pairs of
# samples are either always or never together at this k.

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
cdf(selection, ax=axes[0])
delta_area(selection, ax=axes[1])

# %%
# Where do the clusters of each k come from? Up to k = 5, every step separates whole blobs; after
# that, single blobs are cut into pieces.

figure, ax = plt.subplots(figsize=(8, 4.4), layout="constrained")
tracking(selection, ax=ax)

# %%
# **Conclude:** take the recommended number and its reason. The criteria show what each number would
# mean; they do not vote. ``ConsensusClustering(n_clusters="auto")`` does all of this in one step.
# See :doc:`/choosing_k`.
