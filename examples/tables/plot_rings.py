"""
Rings: shapes that k-means cannot see
=====================================

You learn why many small clusters, combined, follow any shape.
"""

# %%
# Two rings. K-means with two clusters cuts both in halves.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from coterie import ConsensusClustering
from coterie.datasets import load
from coterie.evaluate import ari
from coterie.plot import embedding, matrix

rings = load("rings")
inner = rings.y < 2
X, truth = rings.X[inner], rings.y[inner]
alone = KMeans(2, n_init=10, random_state=0).fit_predict(X)
model = ConsensusClustering(n_clusters=2, random_state=0).fit(X)
print(f"k-means: ARI {ari(truth, alone):.2f}, consensus: ARI {ari(truth, model.labels_):.2f}")

# %%
# coterie noticed that members with two clusters cut across a border, and made members with many
# clusters.

sizes = [len(np.unique(column)) for column in model.ensemble_.labels.T]
print(f"{len(sizes)} members with {min(sizes)} to {max(sizes)} clusters each")

figure, (left, right) = plt.subplots(1, 2, figsize=(9.4, 4.2), layout="constrained")
embedding(X, alone, name="k-means", ax=left)
embedding(X, model.labels_, model.sample_confidence_, name="consensus", ax=right)

# %%
# The consensus matrix shows the chain: each point is together with its neighbours on the ring, and
# with hardly any point of the other ring.

figure, ax = plt.subplots(figsize=(6.0, 5.0), layout="constrained")
matrix(model, ax=ax)

# %%
# **Conclude:** for clusters that are not round, let coterie choose the members, or set
# ``member_clusters`` to many small ones. With noise between the shapes, this may fail; the verdict
# then says not to rely on the result.
