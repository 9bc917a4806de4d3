"""
How far can you rely on a partition?
====================================

You learn to read the verdict: on separated clusters, on clusters that touch, and on a single
cloud.
"""

# %%
# Three tables with 300 rows, each in three clusters.

import matplotlib.pyplot as plt
import numpy as np

from coterie import ConsensusClustering
from coterie.plot import embedding

rng = np.random.default_rng(0)
corners = np.repeat([[0, 0], [1, 0], [0.5, 0.9]], 100, axis=0)
tables = {
    "separated": 8 * corners + rng.normal(size=(300, 2)),
    "touching": 3.2 * corners + rng.normal(size=(300, 2)),
    "one cloud": 1.5 * rng.normal(size=(300, 2)),
}
figure, axes = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
for (name, X), ax in zip(tables.items(), axes, strict=True):
    model = ConsensusClustering(n_clusters=3, random_state=0).fit(X)
    embedding(X, model.labels_, model.sample_confidence_, name=name, ax=ax)
    print(f"{name}: {model.verdict_}")

# %%
# The pieces of the cloud look as neat as the other clusters. Only the verdict says that there is
# nothing behind them.
#
# **Conclude:** read the verdict first. The confidence of a sample means little if the whole cannot
# be relied on, so coterie multiplies it by the expected agreement.
