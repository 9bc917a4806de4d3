"""The agreement table: coterie's methods beside the runs of the authors' own programs.

Run: make golden, or python -m tests.golden.agreement
"""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie import CESHL, ECCMS, PCE, SPCE, TRCE
from coterie.evaluate import accuracy, ari, nmi
from coterie.solvers.ecpcs import ECPCSHC, ECPCSMC
from coterie.solvers.locally_weighted import LWEA, LWGP
from coterie.solvers.trajectories import PTA, PTGP
from tests.naive.bipartite import lloyd as resumed_kmeans
from tests.naive.ceshl import ceshl as naive_ceshl
from tests.naive.ecpcs import rotate
from tests.naive.trce import trce as naive_trce

DATA = Path(os.environ.get("COTERIE_DATA", Path(__file__).parents[3] / "shared" / "data"))
Labels = NDArray[np.int64]


@dataclass(frozen=True)
class Row:
    """One method on one data set at one setting, over several ensembles."""

    method: str
    dataset: str
    setting: str
    runs: int
    equal: int
    ours: tuple[float, float, float]
    theirs: tuple[float, float, float]

    @property
    def all_equal(self) -> bool:
        return self.equal == self.runs


def rows(data: Path = DATA) -> Iterator[Row]:
    """Every row of the table, one after the other as it is computed."""
    golden = data / "golden"
    yield from _grid(
        "SPCE components",
        golden / "spce_lung.npz",
        "theta",
        lambda base, c, theta: SPCE(c, theta=theta).fit(base).component_labels_,
    )
    yield from _grid(
        "SPCE labels",
        golden / "spce_lung.npz",
        "theta",
        lambda base, c, theta: SPCE(c, theta=theta).fit(base).labels_,
    )
    yield from _grid(
        "TRCE twin, slip",
        golden / "trce_lung.npz",
        "lam",
        lambda base, c, lam: naive_trce(base, c, lam, last_member_only=True).component_labels,
    )
    yield from _grid(
        "TRCE labels",
        golden / "trce_lung.npz",
        "lam",
        lambda base, c, lam: TRCE(c, lam=lam).fit(base).labels_,
    )
    for name in ("ecoli", "aggregation", "umist", "spf"):
        yield from _pool(golden / f"pool_{name}.npz", name)
    for name in ("ecoli", "aggregation", "umist", "spf"):
        yield from _locally_weighted(golden / f"pool_{name}.npz", name)
    for name in ("ecoli", "aggregation", "umist", "spf"):
        yield from _random_walks(golden / f"pool_{name}.npz", name)
    for share in (10, 30, 50):
        yield _partial(golden / f"pce_pixraw_missing{share}.npz", share)
    yield from _grid(
        "CESHL twin",
        golden / "ceshl_glioma.npz",
        "lam",
        lambda base, c, lam: naive_ceshl(base, c, lam, authors=True).component_labels,
    )
    yield from _grid(
        "CESHL labels",
        golden / "ceshl_glioma.npz",
        "lam",
        lambda base, c, lam: CESHL(c, lam=lam).fit(base).labels_,
    )


def _grid(
    method: str, path: Path, name: str, solve: Callable[[Any, int, float], Any]
) -> Iterator[Row]:
    """A file with one label array per ensemble and setting."""
    with np.load(path) as file:
        base, truth, settings, golden = (file[key] for key in ("base", "y", "settings", "labels"))
    for column, setting in enumerate(settings):
        found = [_quiet(solve, one, len(np.unique(truth)), float(setting)) for one in base]
        yield _row(
            method, path.stem.split("_")[1], f"{name}={setting:g}", truth, found, golden[:, column]
        )


def _pool(path: Path, name: str) -> Iterator[Row]:
    """A file of EC-CMS runs on draws from a pool, one label array per setting."""
    with np.load(path) as file:
        base, truth = file["base"], file["y"]
        goldens = {key: file[key] for key in file.files if key.startswith("eccms_")}
    for key, golden in goldens.items():
        alpha, lam = (float(part.lstrip("aphlm")) for part in key.split("_")[1:])
        solver = ECCMS(len(np.unique(truth)), alpha=alpha, lam=lam)
        found = [_quiet(solver.fit_predict, one) for one in base]
        yield _row("ECCMS labels", name, f"{alpha:g} / {lam:g}", truth, found, golden)


def _locally_weighted(path: Path, name: str) -> Iterator[Row]:
    """LWEA and LWGP on the same draws; the authors' k-means of LWGP ran with three random starts.

    Where that ended in another optimum than ours, "LWGP resumed" tells whether the labels of their
    program are one of k-means in our embedding: k-means started from them stays where it is.
    """
    with np.load(path) as file:
        base, truth, lwea, lwgp = (file[key] for key in ("base", "y", "lwea", "lwgp"))
    n_clusters = len(np.unique(truth))
    found = [LWEA(n_clusters).fit(one).labels_ for one in base]
    yield _row("LWEA labels", name, "theta=0.4", truth, found, lwea)
    models = [_quiet(LWGP(n_clusters, random_state=0).fit, one) for one in base]
    yield _row("LWGP labels", name, "theta=0.4", truth, [one.labels_ for one in models], lwgp)
    resumed = [
        resumed_kmeans(model.ensemble_.expand(model.embedding_), labels)
        for model, labels in zip(models, lwgp, strict=True)
    ]
    yield _row("LWGP resumed", name, "theta=0.4", truth, resumed, lwgp)


def _random_walks(path: Path, name: str) -> Iterator[Row]:
    """PTA, PTGP and ECPCS on the same draws, at the authors' settings.

    "PTGP resumed" tells whether the authors' labels are an optimum of k-means in our embedding, as
    "LWGP resumed" does. The authors' ECPCS-MC rotates from one base cluster drawn at random:
    "ECPCS-MC starts" has the start, of all there are, that comes nearest to their labels.
    """
    with np.load(path) as file:
        base, truth = file["base"], file["y"]
        golden = {key: file[key] for key in file.files if key.startswith(("pt", "ecpcs"))}
    n_clusters = len(np.unique(truth))
    for key, linkage in (("pta_al", "average"), ("pta_cl", "complete"), ("pta_sl", "single")):
        found = [PTA(n_clusters, linkage=linkage).fit(one).labels_ for one in base]
        yield _row("PTA labels", name, linkage, truth, found, golden[key])
    models = [_quiet(PTGP(n_clusters, random_state=0).fit, one) for one in base]
    found = [one.labels_ for one in models]
    yield _row("PTGP labels", name, "", truth, found, golden["ptgp"])
    resumed = [_resumed(*run) for run in zip(models, golden["ptgp"], strict=True)]
    yield _row("PTGP resumed", name, "", truth, resumed, golden["ptgp"])
    found = [ECPCSHC(n_clusters).fit(one).labels_ for one in base]
    yield _row("ECPCS-HC labels", name, "t=20", truth, found, golden["ecpcs_hc"])
    models = [_quiet(ECPCSMC(n_clusters, random_state=0).fit, one) for one in base]
    found = [one.labels_ for one in models]
    yield _row("ECPCS-MC labels", name, "t=20", truth, found, golden["ecpcs_mc"])
    nearest = [_nearest_start(*run) for run in zip(models, golden["ecpcs_mc"], strict=True)]
    yield _row("ECPCS-MC starts", name, "t=20", truth, nearest, golden["ecpcs_mc"])


def _resumed(model: PTGP, labels: Labels) -> Labels:
    """k-means from the given labels, each microcluster counting once."""
    _, first = np.unique(model.ensemble_.inverse, return_index=True)
    return model.ensemble_.expand(resumed_kmeans(model.embedding_, labels[first]))


def _nearest_start(model: ECPCSMC, labels: Labels) -> Labels:
    """Of the rotations from every base cluster, for as many rounds as the program's, the nearest."""
    c, best, nearest = model.n_clusters, -1.0, labels
    for row in range(len(model.cluster_embedding_)):
        groups, _ = rotate(model.cluster_embedding_, row, rounds=20)
        held = model.ensemble_.incidence @ np.eye(c)[groups]
        votes = held / np.maximum(np.bincount(groups, minlength=c), 1)
        found = model.ensemble_.expand(votes.argmax(axis=1))
        if (agreement := ari(labels, found)) > best:
            best, nearest = agreement, found
    return nearest


def _partial(path: Path, share: int) -> Row:
    """A file of PCE runs with missing labels; the authors' program ran with three seeds."""
    with np.load(path) as file:
        base, truth, golden = file["base"], file["y"], file["labels"]
    n_clusters = len(np.unique(truth))
    found = [
        _quiet(lambda one, seed: PCE(n_clusters, random_state=seed).fit(one).labels_, one, seed)
        for one in base
        for seed in range(golden.shape[1])
    ]
    flat = golden.reshape(-1, golden.shape[-1])
    return _row("PCE labels", "pixraw", f"{share} % missing", truth, found, flat)


def _row(
    method: str, dataset: str, setting: str, truth: Labels, found: list[Labels], golden: Labels
) -> Row:
    equal = sum(ari(one, other) == 1.0 for one, other in zip(found, golden, strict=True))
    return Row(
        method, dataset, setting, len(found), equal, _means(truth, found), _means(truth, golden)
    )


def _means(truth: Labels, runs: Any) -> tuple[float, float, float]:
    scored = [
        (accuracy(truth, run), nmi(truth, run, average="max"), ari(truth, run)) for run in runs
    ]
    acc, information, rand = np.mean(scored, axis=0)
    return float(acc), float(information), float(rand)


def _quiet(solve: Callable[..., Any], *arguments: Any) -> Any:
    with warnings.catch_warnings():
        # at the ends of the grids the methods arrive at other numbers of components, and say so
        warnings.simplefilter("ignore")
        return solve(*arguments)


def main() -> int:
    """Print the table."""
    if not (DATA / "golden").is_dir():
        print(f"no golden runs in {DATA}; set COTERIE_DATA to the folder that has them")
        return 0
    print(
        "equal: runs with ARI = 1 against the authors' labels; scores: mean ACC / NMI(max) / ARI\n"
    )
    print(f"{'method':<16}{'data':<13}{'setting':<14}{'equal':>7}  {'ours':<23}{'theirs'}")
    for row in rows():
        ours, theirs = (" / ".join(f"{s:.3f}" for s in scores) for scores in (row.ours, row.theirs))
        count = f"{row.equal}/{row.runs}"
        print(
            f"{row.method:<16}{row.dataset:<13}{row.setting:<14}{count:>7}  {ours:<23}{theirs}",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
