"""Combine clusterings of single cells in an AnnData object.

The data are the 700 blood cells that scanpy ships (no download). k-means with 4 to 15 clusters on the
principal components gives the members; in practice they would be Leiden at many resolutions.

Run: python examples/single_cell.py        (needs scanpy)
"""

from __future__ import annotations

import warnings

from sklearn.cluster import KMeans

from coterie import anndata as coterie_anndata
from coterie.evaluate import ari

with warnings.catch_warnings():
    # scanpy's imports and its old file cause deprecation warnings
    warnings.simplefilter("ignore")
    import scanpy as sc

    adata = sc.datasets.pbmc68k_reduced()

for k in range(4, 16):
    adata.obs[f"kmeans_{k}"] = KMeans(k, n_init=1, random_state=k).fit_predict(adata.obsm["X_pca"])

model = coterie_anndata.combine(adata, "kmeans_*", n_clusters=8)

print(model.ensemble_)
print(adata.obs["coterie"].value_counts(sort=False).to_string())
print()
single = [ari(adata.obs["bulk_labels"], adata.obs[f"kmeans_{k}"]) for k in range(4, 16)]
print(f"ARI with the cell types, single members: {min(single):.2f} to {max(single):.2f}")
print(
    f"ARI with the cell types, consensus:      {ari(adata.obs['bulk_labels'], adata.obs['coterie']):.2f}"
)
print(
    f"ARI with scanpy's own Louvain:           {ari(adata.obs['louvain'], adata.obs['coterie']):.2f}"
)
print()
sure = adata.obs["coterie_confidence"]
print(f"confidence: median {sure.median():.2f}, below 0.3: {(sure < 0.3).sum()} cells")
unsure = sure.idxmin()
print(f"least sure: {unsure}")
settings = adata.uns["coterie"]
print(settings["method"], settings["params"], len(settings["members"]), "members")
