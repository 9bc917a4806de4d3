"""
Wine: columns in different units
================================

You learn why the units of the columns decide what k-means finds, and what coterie does about it.
"""

# %%
# 178 Italian wines with 13 measurements, from three growers. One column, proline, has values around
# 750; the others lie between 0.1 and 160.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_wine

from coterie import ConsensusClustering
from coterie.evaluate import ari

wine = load_wine(as_frame=True)
kmeans = [KMeans(3, n_init=1, random_state=seed).fit_predict(wine.data) for seed in range(10)]
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    array = ConsensusClustering(n_clusters=3, random_state=0).fit(wine.data.to_numpy())
frame = ConsensusClustering(n_clusters=3, random_state=0).fit(wine.data)

# %%
# An array is taken as it is. coterie warns that one column decides alone. A data frame is scaled
# first.

print("warning:", caught[0].message)
print("array:", array.verdict_)
print("data frame:", frame.verdict_)

# %%
# Agreement with the growers (ARI; 1 is the same partition).

scores = {
    "k-means, unscaled": np.mean([ari(wine.target, labels) for labels in kmeans]),
    "consensus, array": ari(wine.target, array.labels_),
    "consensus, data frame": ari(wine.target, frame.labels_),
}
figure, ax = plt.subplots(figsize=(6.4, 2.2), layout="constrained")
bars = ax.barh(list(scores), list(scores.values()), color=["#999999", "#999999", "#0072B2"])
ax.bar_label(bars, fmt="%.2f", padding=4)
ax.set(xlim=(0, 1.08), xlabel="ARI")
ax.invert_yaxis()
ax.spines[["top", "right"]].set_visible(False)

# %%
# What the three clusters are, and a rule to recognise each.

profile = frame.profile(wine.data)
for sentence in [*profile.sentences, *profile.rule_sentences]:
    print(sentence)

# %%
# **Conclude:** give coterie a data frame, or scale arrays yourself. No way to combine clusterings
# helps if all members look at the same single column.
