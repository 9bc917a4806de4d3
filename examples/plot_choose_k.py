"""
Choosing the number of clusters
===============================

Eight criteria over k, each beside what it would be for data without structure.
"""

# %%
# Five round clusters. One call computes everything; the dashed lines are the null model.

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
# The distribution of the co-association. A line that stays flat between the ends belongs to a k at which
# pairs of samples are either always or never together.

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
cdf(selection, ax=axes[0])
delta_area(selection, ax=axes[1])

# %%
# Where do the clusters of one k come from? Up to five, every step parts whole clusters; past it, small
# pieces break off what belongs together.

figure, ax = plt.subplots(figsize=(8, 4.4), layout="constrained")
tracking(selection, ax=ax)
