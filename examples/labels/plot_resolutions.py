"""
Communities at many resolutions
===============================

You learn to combine Leiden or Louvain results at many resolutions instead of choosing one of
them.
"""

# %%
# Digits as a graph: each is linked to its ten nearest neighbours. Louvain finds communities; how
# many depends on its resolution. Leiden results, for example from scanpy, are used in the same way.

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from sklearn.neighbors import kneighbors_graph

from coterie import EAC, LWEA, Ensemble, plot
from coterie.datasets import load
from coterie.evaluate import ari

digits = load("digits")
X, y = digits.X[:800], digits.y[:800]
graph = nx.from_scipy_sparse_array(kneighbors_graph(X, 10))
members = {}
for resolution in (0.3, 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 4.0):
    communities = nx.community.louvain_communities(graph, resolution=resolution, seed=0)
    labels = np.empty(len(X), dtype=int)
    for number, community in enumerate(communities):
        labels[list(community)] = number
    members[f"resolution {resolution}"] = labels

ensemble = Ensemble.from_labels(members)
for name, labels in members.items():
    print(f"{name}: {labels.max() + 1:2} communities, ARI {ari(y, labels):.2f}")

# %%
# The consensus with ten clusters, and with the number that EAC finds in the dendrogram.

ten = LWEA(n_clusters=10).fit(ensemble)
free = EAC(n_clusters=None).fit(ensemble)
print(f"10 clusters: ARI {ari(y, ten.labels_):.2f}")
print(f"{free.n_clusters_} clusters, chosen by EAC: ARI {ari(y, free.labels_):.2f}")

# %%
# Which resolutions agree with each other? Neighbours in the list should; a resolution that agrees
# with none stands apart.

figure, ax = plt.subplots(figsize=(6.4, 5.2), layout="constrained")
plot.members(ensemble, ax=ax)

# %%
# Which of them to use? The table ranks them by their ARI with the consensus.

print(ten.judge_members())
print(ten.diagnose_members())

# %%
# **Conclude:** keep all resolutions. The consensus says what they have in common, the table says
# which of them is nearest to it, and the confidence says which samples change sides.
