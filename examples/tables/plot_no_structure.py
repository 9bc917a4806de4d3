"""
When there are no clusters
==========================

You learn that "no clusters" is an answer, and how to get it.
"""

# %%
# 442 diabetes patients with ten measurements. K-means happily returns as many clusters as you ask
# for.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_diabetes
from sklearn.decomposition import PCA

from coterie import ConsensusClustering
from coterie.select import select_k

patients = load_diabetes(as_frame=True, scaled=False).data
print(np.bincount(KMeans(4, n_init=10, random_state=0).fit_predict(patients)))

# %%
# ``select_k`` compares the best clusters with those of random clouds that have the same spread.

selection = select_k(patients, range(2, 7), resamples=5, random_state=0)
print("recommended:", selection.recommended)
print(selection.reason)

# %%
# If you ask for four clusters, you get them, with a doubt.

model = ConsensusClustering(n_clusters=4, random_state=0).fit(patients)
print(model.verdict_)
plane = PCA(2).fit_transform(model.features_of(patients))
colours = np.array(["#0072B2", "#E69F00", "#009E73", "#CC79A7"])
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
left.scatter(*plane.T, s=12, c="#777777", linewidths=0)
left.set(title="patients", xlabel="first component", ylabel="second component")
right.scatter(*plane.T, s=12, c=colours[model.labels_], linewidths=0)
right.set(title="four slices of one cloud", xlabel="first component")

# %%
# **Conclude:** ask ``n_clusters="auto"``, and believe the answer "no structure". If you need
# slices, for example risk groups, use them, but do not look for a reason behind their limits.
