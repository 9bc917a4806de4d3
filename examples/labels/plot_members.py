"""
Which members agree?
====================

You learn to find copies and nonsense among the members. A consensus is only as good as its
members. A copied member counts twice without adding information, and a member that agrees with no
other only adds noise. The picture shows both.
"""

# %%
# Six k-means clusterings of wines, a copy of one of them with renamed labels, and random labels.

import matplotlib.pyplot as plt
import numpy as np

from coterie import Ensemble, plot
from coterie.datasets import load
from coterie.generate import kmeans_pool

wine = load("wine")
X = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
pool = kmeans_pool(X, 6, n_clusters=(3, 6), random_state=0)
members = pool.expand(pool.labels)
columns = {name: members[:, j] for j, name in enumerate(pool.members)}
columns["a copy"] = np.array(["x", "y", "z", "u", "v", "w"])[members[:, 2]]
columns["random"] = np.random.default_rng(0).integers(0, 3, len(X))

figure, ax = plt.subplots(figsize=(6.4, 5.4), layout="constrained")
plot.members(Ensemble.from_labels(columns), ax=ax)

# %%
# **Conclude:** remove copies, or give them half the weight (``member_weight``). A random member
# does little harm, because it agrees with no other; several that are wrong in the same way do.
