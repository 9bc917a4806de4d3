"""
How certain is the cluster of each sample?
==========================================

Every solver gives each sample a confidence between 0 and 1: one minus the ratio of the support for the
next best cluster to the support for its own. It is lower if members put the sample with its cluster less
often than usual. It is multiplied by the agreement that a second run is expected to have,
and by at most 0.5 if there is a doubt about the partition.
"""

# %%
# Samples on which members disagree are pale. They lie where clusters meet.

import matplotlib.pyplot as plt
from sklearn.decomposition import PCA

from coterie import ConsensusClustering
from coterie.datasets import load
from coterie.plot import confidence, embedding

digits = load("digits")
model = ConsensusClustering(n_clusters=10, random_state=0).fit(digits.X)
plane = PCA(2, random_state=0).fit_transform(digits.X)

figure, ax = plt.subplots(figsize=(6.8, 4.8), layout="constrained")
embedding(plane, model.labels_, model.sample_confidence_, name="PCA of 64 features", ax=ax)

# %%
# One histogram per cluster: some clusters are certain, others are less so as a whole or have a tail to the
# left. The line is the median.

figure, ax = plt.subplots(figsize=(6.0, 6.0), layout="constrained")
confidence(model.sample_confidence_, labels=model.labels_, ax=ax)
