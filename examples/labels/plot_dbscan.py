"""
DBSCAN and HDBSCAN: noise as a missing label
============================================

You learn to combine density clusterings, whose result depends on a radius, and what happens to
their noise.
"""

# %%
# Two moons (the first 500 samples) and 60 samples of noise. DBSCAN needs a radius, ``eps``. Too
# small, and the moons fall to pieces; too large, and they merge.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import DBSCAN, HDBSCAN

from coterie import LWEA, Ensemble
from coterie.datasets import load
from coterie.evaluate import ari

moons = load("moons")
rng = np.random.default_rng(0)
X = np.concatenate([moons.X, rng.uniform([-1.6, -1.2], [2.6, 1.7], (60, 2))])

members = {
    f"DBSCAN {eps:.2f}": DBSCAN(eps=eps, min_samples=8).fit_predict(X)
    for eps in (0.06, 0.08, 0.10, 0.12, 0.14, 0.16, 0.18, 0.20)
}
for size in (10, 15, 20):
    members[f"HDBSCAN {size}"] = HDBSCAN(min_cluster_size=size, copy=True).fit_predict(X)
for name, labels in members.items():
    agreement = ari(moons.y, labels[:500])
    print(f"{name}: {labels.max() + 1} clusters, {(labels < 0).sum()} noise, ARI {agreement:.2f}")

# %%
# Label -1 is noise, so it is a missing label: the member says nothing about this sample. A sample
# that all members call noise stays noise.

ensemble = Ensemble.from_labels(members)
model = LWEA(n_clusters=2).fit(ensemble)
print(ensemble)
print(f"noise of all members: {(model.labels_ < 0).sum()} samples")
print(f"ARI on the moons: {ari(moons.y, model.labels_[:500]):.2f}")

# %%
# How often was each sample noise? This says how far outside it lies.

noise = (ensemble.expand(ensemble.labels) < 0).mean(axis=1)
colours = np.array(["#0072B2", "#E69F00", "#999999"])
figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained")
left.scatter(*X.T, s=12, c=colours[model.labels_], linewidths=0)
left.set_title("consensus (grey: noise of all members)")
drawn = right.scatter(*X.T, s=12, c=noise, cmap="viridis", linewidths=0)
right.set_title("share of members that call it noise")
figure.colorbar(drawn, ax=right)

# %%
# Which member is nearest to the consensus, and which one stands apart?

print(model.judge_members())
print(model.diagnose_members())

# %%
# **Conclude:** you need not find the one right radius. Combine a range of them, and look at which
# members agree. If most radii are too large, the moons are merged in most members, and the
# consensus merges them, too: leave out members with a single cluster. See also :doc:`/faq`.
