"""
Customers: categories, dates and gaps
=====================================

You learn how a raw table becomes clusters: ids, constants, categories, dates and gaps are
handled, and coterie says how. Then you read what the clusters are.
"""

# %%
# A table of 400 customers, as a shop may export it. There are three kinds of customers, and one
# value in twelve is missing.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from coterie import ConsensusClustering
from coterie.evaluate import ari

rng = np.random.default_rng(0)
kind = rng.choice(3, 400, p=[0.5, 0.3, 0.2])
days = np.array([150, 900, 2200])[kind] + rng.normal(0, 120, 400)
table = pd.DataFrame(
    {
        "customer": [f"C{i:04}" for i in range(400)],
        "age": rng.normal([26, 41, 63], [4, 6, 6], (400, 3))[np.arange(400), kind].round(),
        "orders": rng.poisson(np.array([3, 18, 8])[kind]),
        "basket": np.exp(rng.normal([3.0, 3.6, 4.6], 0.3, (400, 3)))[np.arange(400), kind].round(2),
        "channel": [rng.choice(["app", "web", "shop"], p=p) for p in
                    np.array([[0.8, 0.15, 0.05], [0.2, 0.7, 0.1], [0.05, 0.15, 0.8]])[kind]],
        "newsletter": rng.random(400) < np.array([0.2, 0.7, 0.5])[kind],
        "first_order": pd.Timestamp("2025-01-01") - pd.to_timedelta(days.round(), "D"),
        "country": "CH",
    }
)  # fmt: skip
for column in ("age", "basket", "channel"):
    table.loc[rng.random(400) < 1 / 12, column] = None
table.head()

# %%
# Three clusters are asked for. The summary says what became of each column. The id and the constant
# column were left out, the text became categories, and the gaps were filled from similar rows.

model = ConsensusClustering(n_clusters=3, random_state=0).fit(table)
print(model.encoder_.summary())

# %%
# Can the result be relied on?

print(model.verdict_)
print(f"agreement with the true kinds (ARI): {ari(kind, model.labels_):.2f}")

# %%
# What are the clusters? One sentence for each.

profile = model.profile(table)
for sentence in profile.sentences:
    print(sentence)

# %%
# The same for two columns, as a picture. Pale points are less certain.

colours = np.array(["#0072B2", "#E69F00", "#009E73"])
figure, ax = plt.subplots(figsize=(6.4, 4.4), layout="constrained")
ax.scatter(
    table["age"],
    table["basket"],
    c=colours[model.labels_],
    alpha=0.2 + 0.8 * model.sample_confidence_,
    s=22,
    linewidths=0,
)
ax.set(xlabel="age", ylabel="basket", yscale="log")
ax.spines[["top", "right"]].set_visible(False)

# %%
# **Conclude:** give coterie the raw table. Read the summary once to see that no column was misread,
# the verdict to see whether to go on, and the sentences to name the clusters.
