"""
Did the solver arrive?
======================

A solver keeps a record of every pass in ``history_``. The self-paced method takes in harder pairs of
samples stage by stage: the thin lines part the stages, and the objective may jump there.
"""

# %%

import matplotlib.pyplot as plt

from coterie import SPCE
from coterie.datasets import load
from coterie.generate import kmeans_pool
from coterie.plot import convergence, matrix

iris = load("iris")
ensemble = kmeans_pool(iris.X, 20, n_clusters=(3, 12), random_state=0)
model = SPCE(n_clusters=3, random_state=0).fit(ensemble)

figure, ax = plt.subplots(figsize=(5.6, 4.6), layout="constrained")
convergence(model.history_, tol=model.tol, ax=ax)

# %%
# What it learned: a matrix that falls into three parts.

figure, ax = plt.subplots(figsize=(6.4, 5.2), layout="constrained")
matrix(
    model.consensus_matrix_,
    ensemble=ensemble,
    labels=model.labels_,
    name="learned by SPCE",
    ax=ax,
)
