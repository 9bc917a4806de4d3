"""Compare the time of each kernel with a lower bound, and the memory of each method with a limit.

The first bound of a kernel is the larger of two times. One is the time to read and write every byte
once, at the measured bandwidth; new memory has its own bandwidth, because the system provides it page
by page. The other is the time of its operations at the measured speed of matrix products. Few
operations run at that speed. The second bound therefore counts the unavoidable operations of each
kind, each at the cost of the same operation in a loop of its own (units.py). If numpy or scipy has the
same step, its time is printed too.

Run: python benchmarks/bounds.py [--only kernels | --only memory]
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

import numba
import numpy as np
import units
from numba import njit, prange
from scipy import sparse
from scipy.cluster.hierarchy import linkage
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import squareform
from speed.inputs import members, repeated
from units import best_of

from coterie import CESHL, PCE, TRCE, Ensemble
from coterie.evidence import locally_weighted_coassociation
from coterie.evidence.enhancement.kernels import sweep
from coterie.evidence.enhancement.tiles import Layout
from coterie.evidence.reliability import cluster_reliability
from coterie.numerics.laplacian_kernels import dense_components
from coterie.numerics.linkage import weighted_linkage
from coterie.numerics.pairs import agreement_counts
from coterie.numerics.rows import RowTable
from coterie.solvers.ceshl import solver as ceshl
from coterie.solvers.methods import find_method
from coterie.solvers.pce import solver as pce
from coterie.solvers.spce import solver as spce
from coterie.solvers.trce import solver as trce

DATA = Path(os.environ.get("COTERIE_DATA", Path(__file__).parents[2] / "shared" / "data"))
MEMBERS, CLUSTERS = 20, 10
# largest allowed peak memory of each method, in N x N matrices of doubles
ALLOWED = {"eccms": 5.0, "spce": 3.0, "trce": 3.0}


@njit(parallel=True)
def _triad(a, b, out):
    for i in prange(len(out)):
        out[i] = a[i] + 3.0 * b[i]


@dataclass(frozen=True)
class Machine:
    """Bytes and operations per second, with the current number of threads of numba and BLAS."""

    bandwidth: float
    fresh: float
    products: float
    units: Mapping[str, float]

    @classmethod
    def measured(cls) -> Machine:
        a, b, out = (np.ones(20_000_000) for _ in range(3))
        square = np.random.default_rng(0).random((1_500, 1_500))
        return cls(
            bandwidth=24 * len(out) / best_of(lambda: _triad(a, b, out)),
            fresh=out.nbytes / best_of(lambda: np.empty_like(out).fill(0.0)),
            products=2 * len(square) ** 3 / best_of(lambda: square @ square),
            units=units.measured(),
        )


@dataclass(frozen=True)
class Kernel:
    """The measured time of a kernel, its unavoidable work, and the time of another implementation.

    ``moved`` and ``made`` are the bytes of existing and of new arrays. ``work`` is the number of
    operations of each kind in ``Machine.units``.
    """

    name: str
    seconds: float
    moved: float
    operations: float
    other: str = ""
    other_seconds: float = 0.0
    made: float = 0.0
    work: Mapping[str, float] = field(default_factory=dict)

    def line(self, machine: Machine) -> str:
        by_memory = self.moved / machine.bandwidth + self.made / machine.fresh
        by_products = self.operations / machine.products
        bound = max(by_memory, by_products)
        kind = "memory" if by_memory >= by_products else "products"
        text = (
            f"{self.name:<24}{1e3 * self.seconds:9.1f} ms{1e3 * bound:9.1f} ms by {kind:<9}"
            f"{bound / self.seconds:5.0%}"
        )
        if self.other:
            ratio = self.other_seconds / self.seconds
            text += f"   {self.other} {1e3 * self.other_seconds:.1f} ms: {ratio:.1f} times"
        parts = {kind: count * machine.units[kind] for kind, count in self.work.items()}
        # providing new pages occupies the processor; other operations can overlap with moving bytes
        least = self.made / machine.fresh + max(self.moved / machine.bandwidth, sum(parts.values()))
        listed = ", ".join(f"{kind} {1e3 * part:.1f}" for kind, part in parts.items())
        return f"{text}\n{1e3 * least:45.1f} ms with work{least / self.seconds:6.0%}   {listed}"


def kernels(n_samples: int, size: int) -> Iterator[Kernel]:
    """Kernels over n samples, then kernels over N distinct rows."""
    yield from of_samples(n_samples)
    ensemble = Ensemble.from_labels(members(size, MEMBERS, CLUSTERS)[0])
    yield from of_evidence(ensemble)
    for of in (sweep_of_ec_cms, pass_of_spce, pass_of_trce, gradient_of_ceshl, pass_of_pce):
        yield of(ensemble)


def of_samples(n: int) -> Iterator[Kernel]:
    labels, _ = repeated(n, 2_000, MEMBERS, CLUSTERS)
    codes, ids = labels.astype(np.int32), np.empty(n, dtype=np.int32)
    yield Kernel(
        "hashing compression",
        best_of(lambda: RowTable(MEMBERS).add(codes, ids)),
        moved=codes.nbytes + ids.nbytes,
        operations=0,
        other="numpy.unique",
        other_seconds=best_of(lambda: np.unique(codes[: n // 10], axis=0), 1) * 10,
        work={
            # two labels are one word of the hash, and each word depends on the previous one
            "mixings": n * MEMBERS / 2,
            # the row of the table to compare with is anywhere in memory
            "gathered reads": n,
        },
    )
    ensemble = Ensemble.from_labels(labels)
    values, inverse = np.arange(ensemble.n_microclusters), ensemble.inverse
    yield Kernel(
        "expansion",
        best_of(lambda: ensemble.expand(values)),
        moved=inverse.nbytes,
        made=8 * n,
        operations=0,
        other="numpy.take",
        other_seconds=best_of(lambda: values[inverse]),
        work={"gathered reads": n},
    )


def of_evidence(ensemble: Ensemble) -> Iterator[Kernel]:
    n, incidence = ensemble.n_microclusters, ensemble.incidence
    listed = entries_listed(ensemble)
    counts = agreement_counts(ensemble.labels)
    yield Kernel(
        "co-association",
        best_of(lambda: agreement_counts(ensemble.labels)),
        moved=0,
        made=counts.nbytes,
        operations=listed,
        other="scipy's sparse product",
        other_seconds=best_of(lambda: (incidence @ incidence.T).toarray(), 1),
        # vectorised; the fewer but scattered additions of LWCA would take longer
        work={"comparisons": n * n * MEMBERS},
    )
    values = sparse.diags_array(cluster_reliability(ensemble))
    yield Kernel(
        "LWCA",
        best_of(lambda: locally_weighted_coassociation(ensemble)),
        moved=0,
        made=8 * n * n,
        operations=listed,
        other="scipy's sparse product",
        other_seconds=best_of(lambda: (incidence @ values @ incidence.T).toarray(), 1),
        # one addition per pair in a base cluster, then a division per pair by the members that saw it
        work={"scattered additions": listed, "divisions": n * n},
    )
    distance, weights = 1.0 - counts / MEMBERS, ensemble.weights.astype(float)
    condensed = squareform(distance, checks=False)
    yield Kernel(
        "average link",
        best_of(lambda: weighted_linkage(distance, weights)),
        # a merge reads two rows, writes one and searches one; rows have half their length on average
        moved=16 * n * n,
        made=8 * n * n,
        operations=0,
        other="scipy",
        other_seconds=best_of(lambda: linkage(condensed, "average"), 1),
        work={
            # the matrix is symmetric, so a merge writes a column of the remaining clusters, on average
            # half of all, and marks the column of the cluster that disappears
            "column writes": n * n,
            # the new distances of the remaining clusters
            "branches": n * n,
        },
    )
    blocks = np.kron(np.eye(4), np.ones((n // 4, n // 4)))
    yield Kernel(
        "components",
        best_of(lambda: dense_components(blocks)),
        moved=blocks.nbytes,
        operations=0,
        other="scipy",
        other_seconds=best_of(lambda: connected_components(sparse.csr_array(blocks)), 1),
        # the step after a link depends on the unions before
        work={"branches": n * n},
    )


def entries_listed(ensemble: Ensemble) -> float:
    """Number of pairs in a base cluster, summed over all base clusters."""
    return float((ensemble.incidence.sum(axis=0) ** 2).sum())


def pairs_linked(ensemble: Ensemble) -> float:
    """Number of pairs that are in some base cluster together."""
    return float((agreement_counts(ensemble.labels) > 0).sum())


def sweep_of_ec_cms(ensemble: Ensemble) -> Kernel:
    n, rng = ensemble.n_microclusters, np.random.default_rng(0)
    layout = Layout.of(np.arange(n), np.ones((n, n), dtype=np.bool_))
    C, X = (rng.random(layout.by_panel) for _ in range(2))
    A, E, mirrored, turned, shifted = (rng.random(layout.by_pair) for _ in range(5))
    pinned, r = A > 0.9, layout.padded(ensemble.weights, np.dtype(float))
    return Kernel(
        "EC-CMS sweep",
        best_of(
            lambda: sweep(
                layout.corners, r, 0.4, 1.0, A, pinned, C, X, E, mirrored, turned, shifted
            )
        ),
        # reads C, and reads and writes X and E; the same for one half of A and Omega, and of two parts of P
        moved=60.5 * n * n,
        operations=50 * n * n,
        work={
            # five changes and five norms, of which two need one half, and the objective
            "weighted squares": 10 * n * n,
            # one half of C and of X
            "turned entries": n * n,
        },
    )


def pass_of_spce(ensemble: Ensemble) -> Kernel:
    n, listed, linked = ensemble.n_microclusters, entries_listed(ensemble), pairs_linked(ensemble)
    problem = spce.Problem.of(ensemble, CLUSTERS, 0.2)
    state = spce.start(problem, ensemble, None)
    spce.grow(problem, state, 9)
    spce.weigh_pairs(problem, state, paced=True)
    return Kernel(
        "SPCE pass",
        best_of(lambda: spce.learn_consensus(problem, state)),
        # reads half of W and S, writes S
        moved=16 * n * n,
        operations=(3 * CLUSTERS + 20) * linked / 2,
        # everything is symmetric, so each pair counts once
        work={
            # the members that join a pair; then S, and the costs of joining and of separating it
            "scattered additions": (listed + 3 * linked) / 2,
            # both costs for each member that joins the pair; before, W, S, the support and the weight
            "gathered reads": (2 * listed + 4 * linked) / 2,
            # the pairs that some member joins
            "selections": n * n / 2,
            "gathered coordinates": CLUSTERS * linked / 2,
            # division by W squared
            "divisions": linked / 2,
            # S on the other side of the diagonal, one cache line per eight rows
            "column writes": linked / 16,
        },
    )


def pass_of_trce(ensemble: Ensemble) -> Kernel:
    n, listed, linked = ensemble.n_microclusters, entries_listed(ensemble), pairs_linked(ensemble)
    problem = trce.Problem.of(ensemble, TRCE(CLUSTERS))
    state = trce.start(problem, ensemble)
    return Kernel(
        "TRCE pass",
        best_of(lambda: trce.learn_graph(problem, state)),
        # reads and writes A
        moved=16 * n * n,
        operations=(3 * CLUSTERS + 10) * n * n,
        work={
            # the members' links, and the logarithms of B at these links
            "scattered additions": listed,
            "gathered reads": listed,
            # every pair may be near enough to have an entry in A
            "coordinates": CLUSTERS * n * n,
            # the pairs that some member links; the projection visits them twice
            "selections": n * n + 2 * linked,
            # three steps for the multiplier of a row, then B
            "divisions": 4 * linked,
            "logarithms": linked,
            # the change of A, its norm, and the noise
            "weighted squares": 3 * n * n,
        },
    )


def gradient_of_ceshl(ensemble: Ensemble) -> Kernel:
    n, k = ensemble.n_microclusters, ensemble.n_base_clusters
    problem = ceshl.Problem.of(ensemble, np.ones(k), CESHL(CLUSTERS))
    state = ceshl.start(problem, ensemble, 1.0)
    fit, out = ceshl.Fit(problem, state.embedding, 1.0), np.empty((n, k))
    fit.value(state.incidence)
    gradient = fit.gradient()
    return Kernel(
        "CESHL gradient",
        best_of(lambda: gradient.rows(0, n, out)),
        moved=16 * n * k,
        operations=2 * n * k * CLUSTERS,
        # inner products of a node with all hyperedges, coordinate by coordinate
        work={"row products": n * k * CLUSTERS},
    )


def pass_of_pce(ensemble: Ensemble) -> Kernel:
    n, m, c = ensemble.n_microclusters, MEMBERS, CLUSTERS
    problem = pce.Problem.of(ensemble, PCE(c), np.random.default_rng(0))
    state = pce.start(problem)
    polar_steps = 20

    def one_pass() -> None:
        pce.weigh_samples(problem, state)
        pce.fit_embedding(problem, state)
        pce.impute_labels(problem, state)
        pce.weigh_members(problem, state)
        pce.align_members(problem, state)
        pce.rotate(problem, state)

    return Kernel(
        "PCE pass",
        best_of(one_pass),
        moved=8 * n * m + 8 * n * c,
        # the products of all pairs of members, their mean in every step that needs it, and four
        # products of N x c with c x c per step of the embedding
        operations=n * c * m * (m + 8) + 8 * polar_steps * n * c * c,
        work={
            # three means, the rotation of each member, and the members side by side
            "gathered points": 5 * n * m * c,
            "narrow products": 4 * polar_steps * n * c * c,
            # those of the embedding, and ten steps per member
            "small eigenproblems": polar_steps + 10 * m,
        },
    )


def memory(pools: tuple[str, ...]) -> Iterator[str]:
    """Peak memory of each solver above the memory before the fit, on pools of real members."""
    for pool in pools:
        for method in ALLOWED:
            # a separate process for each, because a peak is measured per process
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
                size, peak = process.submit(peak_of, method, pool).result()
            doubles = 8 * size**2
            yield (
                f"{pool:<8}N = {size:<6,}{method:<7}{peak / 2**20:8.0f} MiB: {peak / doubles:.2f} "
                f"N x N doubles of at most {ALLOWED[method]:g}"
            )


def peak_of(method: str, pool: str) -> tuple[int, int]:
    with np.load(DATA / "pools" / f"{pool}.npz") as file:
        labels, n_classes = file["members"], len(np.unique(file["gt"]))
    rng = np.random.default_rng(0)
    labels = labels[:, rng.choice(labels.shape[1], MEMBERS, replace=False)]
    solver = find_method(method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # the first fit loads or compiles the kernels, with enough rows for the parallel ones
        solver(3).fit(labels[:4_000])
        ensemble = Ensemble.from_labels(labels)
        # reset the high-water mark, so that it is that of the fit
        Path("/proc/self/clear_refs").write_text("5")
        before = status("VmRSS")
        solver(n_classes).fit(ensemble)
    return ensemble.n_microclusters, status("VmHWM") - before


def status(entry: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{entry}:"):
            return 1024 * int(line.split()[1])
    raise AssertionError(entry)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["kernels", "memory"])
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--distinct", type=int, default=4_000)
    parser.add_argument("--pools", nargs="+", default=["ls", "isolet"])
    given = parser.parse_args()
    if given.only != "memory":
        machine = Machine.measured()
        print(
            f"{numba.get_num_threads()} threads, {machine.bandwidth / 1e9:.1f} GB/s "
            f"(new memory {machine.fresh / 1e9:.1f}), products {machine.products / 1e9:.1f} Gflop/s; "
            f"n = {given.samples:,}, N = {given.distinct:,}, m = {MEMBERS}, c = {CLUSTERS}: "
            "time, bound, bound / time"
        )
        for kernel in kernels(given.samples, given.distinct):
            print(kernel.line(machine), flush=True)
    if given.only != "kernels":
        for line in memory(tuple(given.pools)):
            print(line, flush=True)


if __name__ == "__main__":
    main()
