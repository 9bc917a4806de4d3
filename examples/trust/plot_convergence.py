"""
Did the solver converge?
========================

You learn to check that a method has converged. A solver keeps a record of every pass in
``history_``. SPCE adds harder pairs of samples stage by stage. The thin lines separate the
stages, where the objective may jump.
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
convergence(model, ax=ax)

# %%
# The learned matrix has three unconnected parts.

figure, ax = plt.subplots(figsize=(6.4, 5.2), layout="constrained")
matrix(
    model.consensus_matrix_,
    ensemble=ensemble,
    labels=model.labels_,
    name="learned by SPCE",
    ax=ax,
)

# %%
# **Conclude:** if ``converged_`` is false, there is a warning that names the parameter to change.
# If it is true, you need not look at this picture.
