"""
The consensus matrix
====================

You learn to read the consensus matrix: how often do the members put two samples together? With
the samples ordered by cluster, clusters are dark blocks. Pale areas between blocks show samples
on which members disagree.
"""

# %%
# Twenty k-means clusterings of handwritten digits, with 10 to 30 clusters each, and the consensus
# of evidence accumulation.

import matplotlib.pyplot as plt

from coterie import EAC
from coterie.datasets import load
from coterie.generate import kmeans_pool
from coterie.plot import matrix

digits = load("digits")
ensemble = kmeans_pool(digits.X, 20, n_clusters=(10, 30), random_state=0)
model = EAC(n_clusters=10).fit(ensemble)

figure, ax = plt.subplots(figsize=(6.4, 5.2), layout="constrained")
matrix(ensemble, labels=model.labels_, ax=ax)

# %%
# Ordered by the dendrogram, the blocks show clusters inside clusters. The strip of colours at the
# edge is the partition into ten.

figure, ax = plt.subplots(figsize=(6.4, 5.2), layout="constrained")
matrix(ensemble, labels=model.labels_, dendrogram=model.dendrogram_, ax=ax)

# %%
# Ordered by the true digits, the picture shows where the members are wrong: the ones (1) and the
# eights (8) are split, and the nines (9) are mixed with the threes (3).

figure, ax = plt.subplots(figsize=(6.4, 5.2), layout="constrained")
matrix(ensemble, labels=digits.y, ax=ax)

# %%
# **Conclude:** sharp dark blocks are clusters that the members confirm. A pale block is a cluster
# in name only, and a grey field between two blocks shows two clusters that some members join.
