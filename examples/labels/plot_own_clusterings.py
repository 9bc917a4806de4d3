"""
Clusterings of several algorithms
=================================

You learn to combine the results of different algorithms, and to see which of them stands apart.
"""

# %%
# Four algorithms of scikit-learn on the same wines, each with two settings, and one that went
# wrong: its columns were not scaled.

import matplotlib.pyplot as plt
from sklearn.cluster import AgglomerativeClustering, Birch, KMeans, SpectralClustering
from sklearn.datasets import load_wine
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import StandardScaler

from coterie import LWEA, Ensemble, plot
from coterie.evaluate import ari

wine = load_wine()
X = StandardScaler().fit_transform(wine.data)
members = {
    "k-means 3": KMeans(3, n_init=10, random_state=0).fit_predict(X),
    "k-means 5": KMeans(5, n_init=10, random_state=0).fit_predict(X),
    "Ward 3": AgglomerativeClustering(3).fit_predict(X),
    "Ward 6": AgglomerativeClustering(6).fit_predict(X),
    "mixture 3": GaussianMixture(3, covariance_type="diag", random_state=0).fit_predict(X),
    "mixture 4": GaussianMixture(4, covariance_type="diag", random_state=0).fit_predict(X),
    "spectral 3": SpectralClustering(3, random_state=0).fit_predict(X),
    "Birch 4": Birch(n_clusters=4).fit_predict(X),
    "unscaled": KMeans(3, n_init=10, random_state=0).fit_predict(wine.data),
}
ensemble = Ensemble.from_labels(members)
model = LWEA(n_clusters=3).fit(ensemble)

# %%
# Which member agrees with which?

figure, ax = plt.subplots(figsize=(6.6, 5.4), layout="constrained")
plot.members(ensemble, ax=ax)

# %%
# ``agreement`` is how well a member agrees with the result. The one without scaling comes last.

ranked = model.diagnose_members().to_pandas().sort_values("agreement", ascending=False)
print(
    ranked[["member", "clusters", "weight", "agreement", "most_like"]]
    .round(2)
    .to_string(index=False)
)
print(f"ARI with the growers: {ari(wine.target, model.labels_):.2f}")
print({name: round(ari(wine.target, labels), 2) for name, labels in members.items()})

# %%
# **Conclude:** without the growers you could not know which algorithm is best. Combine all of
# them. A member that stands apart is outvoted, and the table names it: find out why.
