"""
How certain is the cluster of each sample?
==========================================

You learn what the confidence of a sample means: how far the support for its own cluster is ahead
of the support for the next best one.
"""

# %%
# Iris flowers in three clusters. One species stands apart; the two others are close. Pale points
# are flowers on which the members disagree.

import matplotlib.pyplot as plt
from sklearn.decomposition import PCA

from coterie import ConsensusClustering
from coterie.datasets import load
from coterie.plot import confidence, embedding

iris = load("iris")
model = ConsensusClustering(n_clusters=3, random_state=0).fit(iris.X)
plane = PCA(2).fit_transform(iris.X)

figure, ax = plt.subplots(figsize=(6.8, 4.4), layout="constrained")
embedding(plane, model.labels_, model.sample_confidence_, name="PCA of 4 features", ax=ax)

# %%
# One histogram per cluster. The line is the median. A cluster whose histogram has a tail to the
# left has a border that members draw in different places.

figure, ax = plt.subplots(figsize=(6.0, 3.6), layout="constrained")
confidence(model, ax=ax)

# %%
# The least certain flower. How large is its membership in each cluster, and why?

flower = int(model.sample_confidence_.argmin())
print(model.soft_labels()[flower].round(2))
print(model.explain(flower).sentence)

# %%
# **Conclude:** report the confidence with the labels. Flowers on the border belong to two clusters,
# and no single label can say so. See :doc:`/trust`.
