"""
What the clusters are
=====================

You learn to describe clusters: by the columns that tell them apart, by a rule, and by columns
that were not clustered by.
"""

# %%
# Wines in three clusters. The alcohol is left out of the clustering, to be used as an outcome.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine

from coterie import ConsensusClustering

wine = load_wine(as_frame=True).data
model = ConsensusClustering(n_clusters=3, random_state=0).fit(wine.drop(columns="alcohol"))
profile = model.profile(wine)
print(profile)

# %%
# The standardised difference of each column in each cluster, the most telling column first.

table = profile.to_pandas()
grid = table.pivot(index="column", columns="cluster", values="difference")
grid = grid.loc[grid.abs().max(axis=1).sort_values(ascending=False).index]
figure, ax = plt.subplots(figsize=(6.6, 4.8), layout="constrained")
limit = np.abs(grid.to_numpy()).max()
drawn = ax.imshow(grid, cmap="RdBu_r", vmin=-limit, vmax=limit, aspect="auto")
ax.set_xticks(range(3), [f"cluster {c}" for c in grid.columns])
ax.set_yticks(range(len(grid)), grid.index)
figure.colorbar(drawn, ax=ax, label="standard deviations from the rest")

# %%
# Why are two clusters apart, and how do you recognise one?

print(profile.between(0, 2).to_pandas().iloc[:4, :5].to_string(index=False))
for sentence in profile.rule_sentences:
    print(sentence)

# %%
# Alcohol was not clustered by, so its p-value is a proof that the clusters differ in it. Those of
# the others are not: the clusters were made so that these columns differ.

print(profile.annotations)

# %%
# **Conclude:** name the clusters by their sentences, give the rule to people who must recognise
# them, and test only columns that were not clustered by. See :doc:`/profiles`.
