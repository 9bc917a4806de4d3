"""How many clusters: coterie's choice against usual rules, on sets with and without structure.

    python benchmarks/choose_k.py --half choose           the half that rules are chosen on
    python benchmarks/choose_k.py --half check            the half that no choice was made on
    python benchmarks/choose_k.py --kind real             one kind of sets
    python benchmarks/choose_k.py --half choose --ours-only --draws 1   a quick look at a new rule
    python benchmarks/choose_k.py --stability --seeds 10  real sets: how often seeds agree
    python benchmarks/choose_k.py --stability --seeds 10 --left-out .1   the same, without a tenth of the rows
    python benchmarks/choose_k.py --level                 1,000 null sets: how often p < .05
    python benchmarks/choose_k.py --list                  the sets, and what a classifier knows of the classes

benchmarks/choose_k_sets.py has the sets and the rule that splits them. A choice is right if it is one of
the numbers of clusters that the set has; on a set without structure only 1 is right. Answers of the other
rules are kept in .bench/choose_k/peers.json and computed again if a set has changed; remove the file after
changing a rule here. ours.json beside it holds coterie's answers of the last run. Seconds (s) are processor
time, because other jobs may share the cores.

The other rules, with k-means and k up to 15 unless stated otherwise:

features   silhouette           largest mean silhouette; cannot answer 1
           gap                  gap statistic, rule of one standard error, 20 uniform references in the box
                                of the principal axes (Tibshirani, Walther and Hastie 2001)
           BIC                  Gaussian mixtures, full or diagonal covariances, whichever is better
           HDBSCAN              scikit-learn's, clusters of at least max(5, n / 50) samples
           prediction strength  largest k with at least .8, five random splits into halves
                                (Tibshirani and Walther 2005)
labels     members' k           the most frequent number of clusters of the members
           lifetime             longest lifetime of average link of the co-association (Fred and Jain 2005)
           PAC                  smallest share of ambiguous pairs of cuts by random halves of the members
                                (Șenbabaoğlu, Michailidis and Li 2014); cannot answer 1
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from choose_k_sets import (
    FIRST_DRAW_OF_LEVEL,
    KINDS,
    LEVEL_FAMILIES,
    MIN_ARI,
    REAL,
    Features,
    Labels,
    Set,
    coassociation,
    draw_set,
    family_name,
    oracle,
    recovered,
    sets,
)
from joblib import Parallel, delayed
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.metrics import silhouette_score
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from coterie import ConsensusClustering, Ensemble
from coterie.select import Selection, select_k
from coterie.select.feature_structure import choose_from_features

CACHE = Path(__file__).parent.parent / ".bench" / "choose_k"
PEER_ANSWERS = CACHE / "peers.json"
MAX_K = 15
LEVEL_SETS = 1000

# ---------------------------------------------------------------------- ours


@dataclass(frozen=True)
class Answer:
    """The recommended number of clusters, the supported ones, a p-value if there is one; processor time."""

    k: int
    supported: frozenset[int]
    p_value: float
    seconds: float


def selection_of(data: Set, seed: int) -> Selection:
    if data.is_labels:
        labels = np.where(data.data < 0, np.nan, data.data)
        return select_k(Ensemble.from_labels(labels), random_state=seed)
    return ConsensusClustering(n_clusters="auto", random_state=seed).fit(data.data).selection_


def ours(data: Set, seed: int) -> Answer:
    start = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        selection = selection_of(data, seed)
    return Answer(
        selection.recommended,
        frozenset(selection.supported or (1,)),
        selection.p_value,
        time.process_time() - start,
    )


# ---------------------------------------------------------------------- others: features


def silhouette(X: Features) -> int:
    ks = range(2, _max_k(X) + 1)
    scores = [silhouette_score(X, _kmeans(X, k, starts=5).labels_) for k in ks]
    return ks[int(np.argmax(scores))]


def gap(X: Features) -> int:
    rng = np.random.default_rng(0)
    ks = range(1, _max_k(X) + 1)

    def dispersions(points: Features) -> Features:
        return np.log([_kmeans(points, k, starts=2).inertia_ for k in ks])

    # rotating to the principal axes does not change distances, so the box need not be rotated back
    centred = X - X.mean(axis=0)
    scores = centred @ np.linalg.svd(centred, full_matrices=False)[2].T
    low, high = scores.min(axis=0), scores.max(axis=0)
    references = np.stack([dispersions(rng.uniform(low, high, scores.shape)) for _ in range(20)])
    gaps = references.mean(axis=0) - dispersions(scores)
    errors = references.std(axis=0) * np.sqrt(1 + 1 / 20)
    enough = gaps[:-1] >= gaps[1:] - errors[1:]
    return ks[int(np.argmax(enough))] if enough.any() else ks[-1]


def bic(X: Features) -> int:
    # full covariances need more rows than columns, and much time from some tens of columns on
    shapes = ("full", "diag") if X.shape[1] <= min(40, len(X) // 3) else ("diag",)
    scores = {}
    for k in range(1, _max_k(X) + 1):
        for shape in shapes:
            mixture = GaussianMixture(k, covariance_type=shape, reg_covar=1e-4, random_state=0)
            scores[shape, k] = mixture.fit(X).bic(X)
    return min(scores, key=scores.__getitem__)[1]


def hdbscan(X: Features) -> int:
    labels = HDBSCAN(min_cluster_size=max(5, len(X) // 50), copy=True).fit_predict(X)
    return max(1, int(labels.max()) + 1)


def prediction_strength(X: Features) -> int:
    rng = np.random.default_rng(0)
    strengths = np.zeros(_max_k(X[: len(X) // 2]) + 1)
    for _ in range(5):
        halves = np.array_split(rng.permutation(len(X)), 2)
        for k in range(2, len(strengths)):
            fits = [_kmeans(X[rows], k, starts=3) for rows in halves]
            for fit, other, rows in zip(fits, fits[::-1], halves, strict=True):
                strengths[k] += _share_kept(fit.labels_, other.predict(X[rows]), k) / 10
    return int(np.flatnonzero(strengths >= 0.8).max(initial=1))


def _share_kept(labels: Labels, predicted: Labels, k: int) -> float:
    """Smallest share, over the clusters, of the pairs that the clusters of the other half keep together."""
    table = np.zeros((k, k))
    np.add.at(table, (labels, predicted), 1)
    sizes = table.sum(axis=1)
    pairs = np.maximum(sizes * (sizes - 1), 1)
    shares = (table * (table - 1)).sum(axis=1) / pairs
    return float(np.where(sizes > 1, shares, 0.0).min())


def _kmeans(X: Features, k: int, starts: int) -> KMeans:
    return KMeans(k, n_init=starts, random_state=0).fit(X)


def _max_k(X: Features) -> int:
    return min(MAX_K, len(np.unique(X, axis=0)) - 1)


# ---------------------------------------------------------------------- others: labels


def members_k(labels: Labels) -> int:
    sizes = Counter(len(np.unique(column[column >= 0])) for column in labels.T)
    return min(sizes, key=lambda k: (-sizes[k], k))


def lifetime(labels: Labels) -> int:
    heights = np.append(_tree(labels)[:, 2], 1.0)[::-1]
    lifetimes = (heights[:-1] - heights[1:])[:MAX_K]
    return int(np.argmax(lifetimes)) + 1


def pac(labels: Labels) -> int:
    rng = np.random.default_rng(0)
    ks = np.arange(2, MAX_K + 1)
    n, m = labels.shape
    together = np.zeros((len(ks), n * (n - 1) // 2), dtype=np.int8)
    for _ in range(20):
        half = rng.permutation(m)[: max(1, m // 2)]
        cuts = cut_tree(_tree(labels[:, half]), ks)
        for row, cut in zip(together, cuts.T, strict=True):
            row += (cut[:, None] == cut)[np.triu_indices(n, 1)]
    ambiguous = ((together > 2) & (together < 18)).mean(axis=1)
    return int(ks[np.argmin(ambiguous)])


def _tree(labels: Labels) -> Features:
    return linkage(squareform(1 - coassociation(labels), checks=False), "average")


PEERS: dict[str, Callable[[Any], int]] = {
    "silhouette": silhouette,
    "gap": gap,
    "BIC": bic,
    "HDBSCAN": hdbscan,
    "prediction strength": prediction_strength,
}
LABEL_PEERS: dict[str, Callable[[Any], int]] = {
    "members' k": members_k,
    "lifetime": lifetime,
    "PAC": pac,
}


def peers_of(data: Set) -> dict[str, Callable[[Any], int]]:
    return LABEL_PEERS if data.is_labels else PEERS


# ---------------------------------------------------------------------- a run


@dataclass(frozen=True)
class Row:
    """What all rules answered on one set: ours for each seed, the others once."""

    data: Set
    ours: tuple[Answer, ...]
    peers: dict[str, int]
    peer_seconds: dict[str, float]

    def right(self) -> dict[str, float]:
        """Share of right answers of each rule."""
        peers = {name: float(k in self.data.right) for name, k in self.peers.items()}
        if not self.ours:
            return peers
        return {"coterie": np.mean([a.k in self.data.right for a in self.ours])} | peers


def answered(data: Set, seeds: Iterable[int], cached: dict[str, Any] | None, peers: bool) -> Row:
    """Run all rules on a set, with one thread."""
    answers: dict[str, int] = {}
    seconds: dict[str, float] = {}
    if peers and cached is not None and cached["digest"] == data.digest:
        answers, seconds = dict(cached["k"]), dict(cached["seconds"])
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, rule in peers_of(data).items() if peers else ():
            if name not in answers:
                start = time.process_time()
                answers[name] = int(rule(data.data))
                seconds[name] = time.process_time() - start
        return Row(data, tuple(ours(data, seed) for seed in seeds), answers, seconds)


def run(chosen: Iterable[Set], n_seeds: int, n_jobs: int, peers: bool) -> list[Row]:
    """All answers; those of the other rules are kept as they come."""
    CACHE.mkdir(parents=True, exist_ok=True)
    kept = _kept()
    rows = []
    jobs = (delayed(answered)(s, range(n_seeds), kept.get(s.name), peers) for s in chosen)
    for row in Parallel(n_jobs=n_jobs, return_as="generator")(jobs):
        rows.append(row)
        if peers:
            record = {"digest": row.data.digest, "k": row.peers, "seconds": row.peer_seconds}
            # another run may have added sets since
            PEER_ANSWERS.write_text(json.dumps(_kept() | {row.data.name: record}))
    answers = {row.data.name: [_record(answer) for answer in row.ours] for row in rows if row.ours}
    (CACHE / "ours.json").write_text(json.dumps(answers))
    return rows


def _kept() -> dict[str, Any]:
    return json.loads(PEER_ANSWERS.read_text()) if PEER_ANSWERS.exists() else {}


def _record(answer: Answer) -> dict[str, Any]:
    return vars(answer) | {"supported": sorted(answer.supported)}


# ---------------------------------------------------------------------- tables and totals


def by_family(rows: list[Row]) -> pd.DataFrame:
    """Share of right answers per family, or the answers on each real set, and seconds per set."""
    lines: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        lines.setdefault((row.data.kind, row.data.family), []).append(row)
    table = []
    for (kind, family), mine in lines.items():
        line: dict[str, Any] = {"kind": kind, "family": family, "sets": len(mine)}
        if kind == "real":
            line["right"] = _text(mine[0].data.right)
            if mine[0].ours:
                line["coterie"] = _counted(a.k for a in mine[0].ours)
                line["supported"] = _counted(_text(a.supported) for a in mine[0].ours)
            line |= {name: str(k) for name, k in mine[0].peers.items()}
        else:
            shares = pd.DataFrame([row.right() for row in mine]).mean()
            line |= {name: _short(share) for name, share in shares.items()}
            line["answers"] = " ".join(_counted(a.k for a in row.ours) for row in mine)
            line["right"] = " ".join(_text(row.data.right) for row in mine)
        if mine[0].ours:
            line["s"] = round(np.mean([a.seconds for row in mine for a in row.ours]), 1)
        if mine[0].peers:
            line["s of others"] = round(np.mean([sum(r.peer_seconds.values()) for r in mine]), 1)
        table.append(line)
    return pd.DataFrame(table)


def _text(ks: Iterable[int]) -> str:
    return ",".join(map(str, sorted(ks)))


def _short(share: float) -> str:
    return f"{share:.2f}".removeprefix("0")


def _counted(answers: Iterable[Any]) -> str:
    """The answers of several seeds, each with its number if it is not the only one."""
    counts = Counter(answers).most_common()
    return "/".join(str(k) if len(counts) == 1 else f"{k}x{times}" for k, times in counts)


def totals(rows: list[Row]) -> Iterator[str]:
    """The shares over all artificial sets, the lead over the best other rule, and the real sets."""
    for kinds, words in (
        (("structure", "labels"), "right with structure"),
        (("null", "null labels"), "false structure"),
    ):
        mine = [row for row in rows if row.data.kind in kinds]
        for some, what in [(mine, "all"), *((_of(mine, kind), kind) for kind in kinds)]:
            if some and (what != "all" or some[0].ours):
                shares = _shares(some)
                if kinds[0] == "null":
                    shares = 1 - shares
                yield f"{words}, {what} ({len(some)} sets): {_listed(shares)}"
    features, labels = _of(rows, "structure", "null"), _of(rows, "labels", "null labels")
    for some, what in ((features, "features"), (labels, "labels")):
        if some:
            yield f"right over all {what} ({len(some)} sets): {_listed(_shares(some))}"
    made = [part for part in (features, labels) if part]
    if made and all(row.ours and row.peers for part in made for row in part):
        # the best rule for features and the best for labels, as if one had known which to take
        n = sum(map(len, made))
        mine = sum(len(part) * _shares(part)["coterie"] for part in made) / n
        best = [_shares(part).drop("coterie") for part in made]
        other = sum(len(part) * shares.max() for part, shares in zip(made, best, strict=True)) / n
        names = " and ".join(str(shares.idxmax()) for shares in best)
        yield (
            f"over all {n} artificial sets: coterie {mine:.3f}, best other {other:.3f} ({names}), "
            f"lead {mine - other:+.3f}"
        )
    if real := _of(rows, "real"):
        for is_labels, what in ((False, "features"), (True, "labels")):
            if some := [row for row in real if row.data.is_labels == is_labels]:
                yield f"right, real {what} ({len(some)} sets): {_listed(_shares(some))}"
        if real[0].ours:
            supported = [[bool(a.supported & row.data.right) for a in row.ours] for row in real]
            sizes = [len(a.supported) for row in real for a in row.ours]
            yield (
                "real sets whose supported numbers contain the truth: "
                f"{np.mean(supported, axis=1).sum():.1f} of {len(real)}; "
                f"{np.mean(sizes):.1f} numbers supported on average"
            )


def _of(rows: Iterable[Row], *kinds: str) -> list[Row]:
    return [row for row in rows if row.data.kind in kinds]


def _shares(rows: list[Row]) -> pd.Series:
    """Share of right answers of each rule that answered on all of these sets."""
    return pd.DataFrame([row.right() for row in rows]).dropna(axis="columns").mean()


def _listed(shares: pd.Series) -> str:
    return ", ".join(f"{name} {share:.3f}" for name, share in shares.items())


def compare(chosen: Iterable[Set], n_seeds: int, n_jobs: int, peers: bool) -> None:
    rows = run(chosen, n_seeds, n_jobs, peers)
    for half in ("choose", "check"):
        mine = [row for row in rows if row.data.half == half]
        if mine:
            print(f"\n{half}")
            for kinds in (("structure", "null"), ("labels", "null labels"), ("real",)):
                if some := _of(mine, *kinds):
                    print(f"\n{by_family(some).fillna('').to_string(index=False)}")
            print("\n" + "\n".join(totals(mine)))


def stability(chosen: Iterable[Set], n_seeds: int, n_jobs: int, left_out: float) -> None:
    """In how many seeds the most frequent answer, or the most frequent supported set, comes."""

    def answers_of(data: Set) -> tuple[Set, list[Answer]]:
        found = []
        for seed in range(n_seeds):
            n = len(data.data)
            kept = np.random.default_rng(seed).permutation(n)[: n - int(left_out * n)]
            part = replace(data, data=data.data[np.sort(kept)]) if left_out else data
            with threadpool_limits(1):
                found.append(ours(part, seed))
        return data, found

    table = []
    for data, found in Parallel(n_jobs=n_jobs)(delayed(answers_of)(data) for data in chosen):
        answers = Counter(a.k for a in found)
        supported = Counter(_text(a.supported) for a in found)
        table.append(
            {
                "set": data.name,
                "half": data.half,
                "right": _text(data.right),
                "answers": _counted(answers.elements()),
                "supported": _counted(supported.elements()),
                "same answer": max(answers.values()),
                "same supported": max(supported.values()),
            }
        )
    frame = pd.DataFrame(table)
    print(frame.to_string(index=False))
    print(frame.groupby("half")[["same answer", "same supported"]].agg(["mean", "min"]).round(1))


def level(n_sets: int, n_jobs: int) -> None:
    """Share of p-values below .05 on each kind of null sets."""
    per_family = -(-n_sets // sum(exact for *_, exact in LEVEL_FAMILIES))
    table = []
    for kind, family, exact in LEVEL_FAMILIES:
        drawn = (draw_set(kind, family, FIRST_DRAW_OF_LEVEL + i) for i in range(per_family))
        values = np.array(Parallel(n_jobs=n_jobs)(delayed(p_value_of)(data) for data in drawn))
        share = float((values < 0.05).mean())
        table.append(
            {
                "kind": family_name(family),
                "null": "exact" if exact else "harder",
                "sets": len(values),
                "p < .05": share,
                "se": np.sqrt(share * (1 - share) / len(values)),
            }
        )
        print(pd.DataFrame(table).round(3).iloc[[-1]].to_string(index=False), flush=True)


def p_value_of(data: Set) -> float:
    """The p-value of the choice; the members that only describe it are not made."""
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if data.is_labels:
            return selection_of(data, 0).p_value
        return choose_from_features(data.data, np.arange(2, 31)).p_value


def listed(chosen: Iterable[Set]) -> None:
    table = [
        {
            "set": data.name,
            "kind": data.kind,
            "half": data.half,
            "rows": len(data.data),
            "columns": data.data.shape[1],
            "right": _text(data.right),
            "oracle": oracle(data),
            "recovered": recovered(data) if data.kind == "real" else np.nan,
            "listed": data.name in REAL if data.kind == "real" else "",
        }
        for data in chosen
    ]
    frame = pd.DataFrame(table)
    print(frame.round(2).to_string(index=False, na_rep=""))
    print(frame.groupby(["half", "kind"]).size().to_string())
    real = frame[frame.kind == "real"]
    if len(wrong := real[real.listed != (real.recovered >= MIN_ARI)]):
        print(f"the rule for real sets decides otherwise on: {', '.join(wrong.set)}")
    made = frame[frame.kind.isin(["structure", "labels"])]
    if len(made):
        print(f"smallest ARI of the oracle on artificial sets: {made.oracle.min():.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--half", choices=("choose", "check"))
    parser.add_argument("--kind", choices=(*KINDS, "candidates"), action="append")
    parser.add_argument("--family", action="append", help="only sets of this family")
    parser.add_argument("--draws", type=int, default=3, help="sets per family and half")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--ours-only", action="store_true")
    only.add_argument("--peers-only", action="store_true")
    parser.add_argument("--stability", action="store_true")
    parser.add_argument(
        "--left-out", type=float, default=0.0, help="share of rows, for --stability"
    )
    parser.add_argument("--level", action="store_true")
    parser.add_argument("--sets", type=int, default=LEVEL_SETS, help="null sets for --level")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    if arguments.level:
        level(arguments.sets, arguments.jobs)
        return
    kinds = ["real"] if arguments.stability else arguments.kind or KINDS
    chosen: Iterator[Set] = chain.from_iterable(
        sets(kind, arguments.half, arguments.draws) for kind in kinds
    )
    if arguments.family:
        chosen = (data for data in chosen if data.family in arguments.family)
    if arguments.list:
        listed(chosen)
    elif arguments.stability:
        stability(chosen, arguments.seeds, arguments.jobs, arguments.left_out)
    else:
        seeds = 0 if arguments.peers_only else arguments.seeds
        compare(chosen, seeds, arguments.jobs, peers=not arguments.ours_only)


if __name__ == "__main__":
    main()
