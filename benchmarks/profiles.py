"""Profiles: do they find planted columns, do they find columns that are not there, and how long do they take.

Run: python benchmarks/profiles.py [planted | null | intervals | speed | scanpy]

planted: 50 tables of 30 columns, of which 3 are shifted by 1.5 standard deviations in each cluster. Recall of
these among the first 3 columns of each cluster, and the share of noise columns that are called discoveries
(adjusted p-value below 0.05) if they are tested against the clusters they helped to make, among samples that
were held out, and against clusters that were made without them.
null: the same shares for 50 tables of noise only.
intervals: how often the 95 % intervals of small clusters of 500 samples hold the true difference.
speed: 5,000 samples, 2,000 columns, 10 clusters; processor time, on one thread.
scanpy: the same table, and logarithms of counts of which 87 % are zero, beside
scanpy.tl.rank_genes_groups(method="wilcoxon"), which must be installed.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from scipy.stats import spearmanr
from threadpoolctl import threadpool_limits

from coterie import ConsensusClustering, profile
from coterie.evaluate import ari

N_TABLES, N_SAMPLES, N_COLUMNS, N_INFORMATIVE, EFFECT = 50, 400, 30, 3, 1.5
LEVEL = 0.05


def planted_table(seed, effect=EFFECT):
    """A table, the true clusters, and the informative columns of each cluster."""
    rng = np.random.default_rng(seed)
    k = 3 + seed % 3
    truth = rng.integers(0, k, N_SAMPLES)
    informative = rng.permutation(N_COLUMNS)[: k * N_INFORMATIVE].reshape(k, N_INFORMATIVE)
    X = rng.normal(size=(N_SAMPLES, N_COLUMNS))
    for cluster, columns in enumerate(informative):
        X[np.ix_(truth == cluster, columns)] += effect * rng.choice([-1, 1], N_INFORMATIVE)
    return X, truth, informative


def counterparts(labels, truth):
    """The true cluster that each cluster is matched with."""
    overlap = np.zeros((labels.max() + 1, truth.max() + 1))
    np.add.at(overlap, (labels, truth), 1)
    return dict(zip(*linear_sum_assignment(overlap, maximize=True), strict=True))


def recall(table, informative, match):
    """Share of the informative columns of each cluster among its first ones."""
    shares = []
    for cluster, true in match.items():
        first = (table["cluster"] == cluster) & (table["rank"] <= N_INFORMATIVE)
        named = {int(name[1:]) for name in table["column"][first]}
        shares.append(len(named & {*informative[true].tolist()}) / N_INFORMATIVE)
    return float(np.mean(shares))


def discoveries(table, columns):
    """Share of the tests of these columns with an adjusted p-value below the level."""
    chosen = np.isin(table["column"], [f"x{j}" for j in columns])
    return float(np.mean(table["p_adjusted"][chosen] < LEVEL))


def held_out_samples(X, k, seed):
    """A profile of one half of the samples, in clusters made from the other half."""
    half = np.random.default_rng(seed).permutation(len(X)) < len(X) // 2
    model = ConsensusClustering(k, random_state=seed).fit(X[half])
    return profile(X[~half], model.predict(X[~half]), n_bootstrap=0)


def false_discoveries(effect):
    measured: dict[str, list[float]] = {}
    for seed in range(N_TABLES):
        X, truth, informative = planted_table(seed, effect)
        k = len(informative)
        noise = [*range(N_COLUMNS)]
        signal: list[int] = []
        if effect:
            signal = informative.ravel().tolist()
            noise = np.setdiff1d(noise, signal).tolist()
        model = ConsensusClustering(k, random_state=seed).fit(X)
        plain = model.profile(X, n_bootstrap=0)
        row = {}
        if effect:
            row["ARI with the planted clusters"] = ari(truth, model.labels_)
            row["recall of the first 3, true clusters"] = recall(
                profile(X, truth, n_bootstrap=0).table, informative, {c: c for c in range(k)}
            )
            row["recall of the first 3, found clusters"] = recall(
                plain.table, informative, counterparts(model.labels_, truth)
            )
        row["noise discovered, columns used"] = discoveries(plain.table, noise)
        row["noise discovered, half of the samples"] = discoveries(
            held_out_samples(X, k, seed).table, noise
        )
        for folds in (2, 5):
            held_out = model.profile(X, held_out=folds, n_bootstrap=0, random_state=seed)
            name = f"{folds} groups of columns held out"
            row[f"noise discovered, {name}"] = discoveries(held_out.table, noise)
            if signal:
                overall = held_out.columns
                chosen = np.isin(overall["column"], [f"x{j}" for j in signal])
                row[f"informative discovered, {name}"] = float(
                    np.mean(overall["p_adjusted"][chosen] < LEVEL)
                )
        for name, value in row.items():
            measured.setdefault(name, []).append(value)
    for name, values in measured.items():
        print(f"  {name:<62} mean {np.mean(values):.3f}  largest {np.max(values):.3f}", flush=True)


def intervals():
    rng = np.random.default_rng(0)
    for name, values in {"normal": lambda x: x, "log-normal": np.exp}.items():
        for size in (3, 5, 10, 20, 50):
            covered = []
            for seed in range(5):
                X = values(rng.normal(size=(500, 400)))
                table = profile(X, np.arange(500) < size, random_state=seed).table
                of_cluster = table["cluster"]
                low, high = table["low"][of_cluster], table["high"][of_cluster]
                covered.append(np.mean((low <= 0) & (high >= 0)))
            print(f"  {name}, {size} samples: {np.mean(covered):.3f}", flush=True)


def big_table():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 10, 5000)
    X = rng.normal(size=(5000, 2000)) + rng.normal(scale=0.5, size=(10, 2000))[labels]
    # counts of genes are not negative, and often 0
    return np.maximum(X, 0.0), labels


def counts_table():
    """Like counts of genes: 5,000 samples, 10 clusters, most values 0."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 10, 5000)
    of_clusters = np.exp(rng.normal(scale=0.5, size=(10, 2000)))
    counts = rng.poisson(rng.gamma(0.3, 0.5, size=2000) * of_clusters[labels])
    counts = counts[:, counts.any(axis=0)]
    return np.log1p(1e4 * counts / counts.sum(axis=1, keepdims=True)), labels


def quickest(call, times=5):
    """The least processor time of several runs after a first one, and what the call returned."""
    result = call()
    seconds = []
    for _ in range(times):
        begin = time.process_time()
        result = call()
        seconds.append(time.process_time() - begin)
    return min(seconds), result


def speed():
    X, labels = big_table()
    with threadpool_limits(1):
        seconds, result = quickest(lambda: profile(X, labels))
        print(f"  5,000 x 2,000, 10 clusters: table and intervals {seconds:.2f} s")
        seconds, _ = quickest(lambda: profile(X, labels, n_bootstrap=0))
        print(f"  without intervals {seconds:.2f} s")
        begin = time.process_time()
        _ = result.rules
        print(f"  rules {time.process_time() - begin:.2f} s", flush=True)


def against_scanpy():
    import anndata
    import scanpy

    warnings.filterwarnings("ignore")
    tables = {"half zeros": big_table(), "counts": counts_table()}
    tables |= {f"{name}, float32": (X.astype(np.float32), c) for name, (X, c) in tables.items()}
    tables |= {f"{name}, sparse": (sparse.csr_matrix(X), c) for name, (X, c) in tables.items()}
    for name, (X, labels) in tables.items():
        data = anndata.AnnData(X, obs={"cluster": [str(label) for label in labels]})
        data.obs["cluster"] = data.obs["cluster"].astype("category")

        def rank(data=data):
            scanpy.tl.rank_genes_groups(data, "cluster", method="wilcoxon")

        with threadpool_limits(1):
            theirs, _ = quickest(rank)
            ours, result = quickest(lambda X=X, labels=labels: profile(X, labels))
            bare, _ = quickest(lambda X=X, labels=labels: profile(X, labels, n_bootstrap=0))
        print(
            f"  {name}: scanpy {theirs:.2f} s; profile {bare:.2f} s without intervals "
            f"({theirs / bare:.1f} times faster), {ours:.2f} s with them ({theirs / ours:.1f} times); "
            f"Spearman of AUC and score: at least {rank_correlation(result.table, data):.4f}",
            flush=True,
        )


def rank_correlation(table, data):
    """The least correlation of AUC and score in a cluster."""
    names, scores = (data.uns["rank_genes_groups"][part] for part in ("names", "scores"))
    correlations = []
    for cluster in np.unique(table["cluster"]):
        of_cluster = table["cluster"] == cluster
        auc = dict(zip(table["column"][of_cluster], table["auc"][of_cluster], strict=True))
        gene_auc = [auc[f"x{name}"] for name in names[str(cluster)]]
        correlations.append(spearmanr(gene_auc, scores[str(cluster)]).statistic)
    return min(correlations)


PARTS = {
    "planted": lambda: false_discoveries(EFFECT),
    "null": lambda: false_discoveries(0.0),
    "intervals": intervals,
    "speed": speed,
    "scanpy": against_scanpy,
}


def main() -> None:
    for name in sys.argv[1:] or ["planted", "null", "intervals", "speed"]:
        print(name)
        PARTS[name]()


if __name__ == "__main__":
    main()
