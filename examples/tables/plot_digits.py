"""
Digits: look at the clusters, and at the doubtful samples
=========================================================

You learn to look at a result: the mean of each cluster, and the samples of which the members are
least certain.
"""

# %%
# 1,797 handwritten digits with 8 x 8 grey levels, in ten clusters.

import matplotlib.pyplot as plt
import numpy as np

from coterie import ConsensusClustering
from coterie.datasets import load

digits = load("digits")
model = ConsensusClustering(n_clusters=10, random_state=0).fit(digits.X)
print(model.verdict_)

# %%
# The mean of each cluster, with its size. One digit may be two clusters, because people write it in
# two ways.


def show(ax, pixels, title):
    ax.imshow(pixels.reshape(8, 8), cmap="Greys")
    ax.set_title(title, fontsize=9)
    ax.set_axis_off()


figure, axes = plt.subplots(2, 5, figsize=(7, 3.4), layout="constrained")
for cluster, ax in enumerate(axes.flat):
    members = digits.X[model.labels_ == cluster]
    show(ax, members.mean(axis=0), f"cluster {cluster}: {len(members)}")

# %%
# The ten least certain digits, and in how many clusters the members see each of them.

unsure = np.argsort(model.sample_confidence_)[:10]
soft = model.soft_labels()
figure, axes = plt.subplots(2, 5, figsize=(7, 3.4), layout="constrained")
for sample, ax in zip(unsure, axes.flat, strict=True):
    first, second = np.argsort(soft[sample])[::-1][:2]
    show(ax, digits.X[sample], f"a {digits.y[sample]}: {first} or {second}?")

# %%
# Why is the first of them where it is?

print(model.explain(int(unsure[0])).sentence)

# %%
# **Conclude:** look at the mean of each cluster before you name it, and at the least certain
# samples before you trust it. Both take one line.
