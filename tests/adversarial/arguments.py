"""What is no value of an argument, in the place of every argument of the public functions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans

from coterie import (
    ConsensusClustering,
    Ensemble,
    MemoryBudgetError,
    datasets,
    enhance,
    evaluate,
    evidence,
    generate,
    memory_budget,
    plot,
    select_k,
    trust,
)
from coterie.solvers.methods import all_methods, find_method
from coterie_bench import pictures
from coterie_bench.evidence_quality import evidence_quality
from tests.adversarial.outcomes import Tally, Violation, documented_warnings_only

# a clumsy user's values: of the wrong type, size, sign and length
OTHERS: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    2.5,
    float("nan"),
    float("inf"),
    10**400,
    "no such thing",
    "",
    b"x",
    [],
    [1],
    [[1], [2, 3]],
    {},
    {"a": 1},
    set(),
    object(),
    int,
    1j,
    Decimal("NaN"),
    Fraction(1, 2),
    pd.NA,
    pd.NaT,
    np.array(0.5),
    np.array([1, 2]),
    np.array(["a", "b"]),
    np.array([None, 1], dtype=object),
    np.zeros((2, 2)),
    np.bool_(True),
    pd.Series([1, 2]),
)

Call = tuple[Callable[..., Any], dict[str, Any]]

ROWS = 14
LABELS = np.column_stack([(np.arange(ROWS) * step // 4) % 3 for step in (1, 2, 3, 5)])
ENSEMBLE = Ensemble.from_labels(LABELS)
FEATURES = np.random.default_rng(0).normal(size=(ROWS, 3)) + 4.0 * (np.arange(ROWS) % 2)[:, None]
# a partition that keeps equal label rows together
PARTITION = (ENSEMBLE.inverse % 2).astype(int).tolist()
ONES = [1.0] * ROWS
MATRIX = evidence.coassociation(ENSEMBLE)


def of_methods(names: Sequence[str] = ()) -> Iterator[tuple[str, Call]]:
    """Every method with its parameters, fitted."""
    for name in names or all_methods():
        made = find_method(name)
        parameters = made(2, random_state=0).get_params(deep=False)

        def fit(made: Any = made, **given: Any) -> Any:
            return made(**given).fit(LABELS)

        yield name, (fit, parameters)


def of_functions() -> Iterator[tuple[str, Call]]:
    """Functions of features, labels and ensembles, each with arguments that it takes."""
    of_ensemble = {"ensemble": ENSEMBLE}
    yield "memory_budget", (memory_budget, {"budget": 1})
    yield "load", (datasets.load, {"name": "iris", "random_state": 0})
    weights = {"sample_weight": ONES, "member_weight": [1.0] * 4}
    more = {**weights, "missing": -1, "sample_ids": [*range(ROWS)], "names": [*"abcd"]}
    yield "from_labels", (Ensemble.from_labels, {"labels": LABELS, **more})
    yield "from_members", (Ensemble.from_members, {"members": [*LABELS.T], **more})
    tables = {
        "north": {"id": [1, 2, 3], "c": [0, 0, 1]},
        "south": {"id": [2, 3, 4], "c": [0, 1, 1]},
    }
    joined = {"tables": tables, "id": "id", "label": "c", "member_weight": [1, 1]}
    yield "from_tables", (Ensemble.from_tables, joined)
    yield "select", (ENSEMBLE.select, {"members": [0]})
    yield "subset", (ENSEMBLE.subset, {"rows": [0, 1]})
    yield "concat", (ENSEMBLE.concat, {"other": ENSEMBLE})
    yield "filled", (ENSEMBLE.filled, {"random_state": 0})
    for name in ("accuracy", "ari", "nmi", "pairwise_f", "purity", "scores"):
        given = {"truth": PARTITION, "labels": PARTITION, "sample_weight": ONES}
        yield name, (getattr(evaluate, name), given)
    yield "anmi", (evaluate.anmi, {**of_ensemble, "labels": PARTITION, "average": "max"})
    yield "pac", (evaluate.pac, {**of_ensemble, "lower": 0.1, "upper": 0.9, "memory_budget": None})
    yield (
        "cophenetic_correlation",
        (evaluate.cophenetic_correlation, {**of_ensemble, "dendrogram": None}),
    )
    quality = {**of_ensemble, "classes": PARTITION, "matrix": None, "levels": 3}
    yield "evidence_quality", (evidence_quality, quality)
    with_theta, with_decay = {**of_ensemble, "theta": 0.4}, {**of_ensemble, "decay": 0.8}
    yield "coassociation", (evidence.coassociation, {**of_ensemble, "memory_budget": None})
    yield "contingency", (evidence.contingency, of_ensemble)
    yield "cluster_reliability", (evidence.cluster_reliability, with_theta)
    yield "locally_weighted", (evidence.locally_weighted_coassociation, with_theta)
    yield "connected_triple", (evidence.connected_triple, with_decay)
    yield "approximate_simrank", (evidence.approximate_simrank, with_decay)
    yield "simrank", (evidence.simrank, {**with_decay, "n_rounds": 2})
    yield "propagated_similarity", (evidence.propagated_similarity, {**of_ensemble, "n_steps": 2})
    propagated = {**of_ensemble, "n_steps": 2, "rest": 0.1}
    yield "propagated_clusters", (evidence.propagated_cluster_similarity, propagated)
    walked = {**of_ensemble, "n_neighbors": 2, "n_steps": 2}
    yield "trajectory_similarity", (evidence.trajectory_similarity, walked)
    valued = {**of_ensemble, "member_values": [1.0] * 4}
    yield "transitions", (evidence.transitions, {**of_ensemble, "memory_budget": None})
    yield "weighted_coassociation", (evidence.weighted_coassociation, valued)
    supported = {**of_ensemble, "labels": np.zeros(ENSEMBLE.n_microclusters, int), "n_clusters": 1}
    yield "cluster_support", (evidence.cluster_support, supported)
    parted = {**of_ensemble, "labels": PARTITION}
    yield "trust.diagnose_clusters", (trust.diagnose_clusters, parted)
    yield "trust.diagnose_samples", (trust.diagnose_samples, parted)
    yield "soft_labels", (trust.soft_labels, parted)
    yield (
        "trust.diagnose_members",
        (trust.diagnose_members, {**parted, "member_weights": [1.0] * 4}),
    )
    yield "member_agreement", (trust.member_agreement, of_ensemble)
    yield "explain", (trust.explain, {**parted, "sample": 0})
    pooled = {"n_members": 2, "n_clusters": 2, "random_state": 0, "n_jobs": None, "callback": None}
    yield "kmeans_pool", (_on_features(generate.kmeans_pool), pooled)
    yield "spectral_pool", (_on_features(generate.spectral_pool), {**pooled, "memory_budget": None})
    for name in ("subsample_pool", "feature_pool"):
        given = {**pooled, "share": 0.5, "clusterer": None}
        yield name, (_on_features(getattr(generate, name)), given)
    of_clusterers = {"estimators": [KMeans(2, n_init=1)], "names": ["k"], "n_jobs": None}
    yield "from_estimators", (_on_features(generate.from_estimators), of_clusterers)
    enhanced = {
        "source": ENSEMBLE, "confidence": None, "alpha": 0.8, "lam": 0.4, "evidence": "lwca",
        "theta": 0.4, "propagate": True, "keep_confident": True, "tol": 0.01, "max_iter": 5,
        "precision": "double", "callback": None, "memory_budget": None,
    }  # fmt: skip
    yield "enhance", (enhance, enhanced)
    chosen = {
        "k": [2, 3], "solver": None, "criteria": "pac", "resamples": 2, "n_members": 3,
        "callback": None, "random_state": 0, "n_jobs": None, "memory_budget": None,
    }  # fmt: skip
    yield "select_k", (lambda **given: select_k(ENSEMBLE, **given), chosen)
    whole = ConsensusClustering(2, n_members=2, random_state=0).get_params(deep=False)
    yield "ConsensusClustering", (lambda **given: ConsensusClustering(**given).fit(FEATURES), whole)
    table = {"x": FEATURES[:, 0], "y": FEATURES[:, 1], "z": [*"ab"] * (ROWS // 2)}
    encoded = generate.TableEncoder().get_params(deep=False)
    yield "TableEncoder", (lambda **given: generate.TableEncoder(**given).fit(table), encoded)


def of_pictures() -> Iterator[tuple[str, Call]]:
    """Pictures, each with what it can draw."""
    bars = {
        "names": ["a", "b"], "values": [1.0, 2.0], "spread": [0.1, 0.2], "absent": None,
        "notes": {"a": "n"}, "stressed": ["a"], "log": False, "form": "{:.3g}", "ax": None,
    }  # fmt: skip
    yield "bars", (pictures.bars, bars)
    distributions = {
        "ks": [2, 3], "grid": [0.0, 1.0], "values": [[0.0, 1.0], [0.5, 1.0]], "recommended": 2,
    }  # fmt: skip
    yield "cdf", (plot.cdf, distributions)
    yield "delta_area", (plot.delta_area, {"ks": [2, 3], "values": [0.5, 0.2], "recommended": 2})
    judged = {"ks": [2, 3], "values": {"pac": [0.1, 0.2]}, "recommended": 2, "columns": 1}
    yield "criteria", (plot.criteria, judged)
    lines = {
        "x": [1, 2], "lines": {"a": [1.0, 2.0]}, "spread": {"a": [0.1, 0.1]}, "partial": None,
        "levels": {"l": 1.0}, "marked": 1, "scale": None,
    }  # fmt: skip
    yield "curves", (pictures.curves, lines)
    panels = {
        "named": {"a": MATRIX, "b": MATRIX}, "labels": PARTITION, "ensemble": ENSEMBLE,
        "difference": ("a", "b"), "ideal": True, "columns": 2, "max_rows": 400,
    }  # fmt: skip
    yield "matrices", (pictures.matrices, panels)
    one = {"source": MATRIX, "labels": PARTITION, "ensemble": ENSEMBLE, "dendrogram": None}
    yield "matrix", (plot.matrix, {**one, "order": None, "max_rows": 10})
    ranked = {"names": ["a", "b"], "ranks": [1.0, 2.0], "critical_difference": 0.5}
    yield "ranks", (pictures.ranks, ranked)
    mapped = {"values": [[1.0, 2.0]], "rows": [1], "columns": ["a", "b"], "marked": (1, "a")}
    yield "score_map", (pictures.score_map, mapped)
    followed = {"labels": [PARTITION, PARTITION], "ks": [2, 3], "recommended": 2}
    yield "tracking", (plot.tracking, followed)
    shares = {"values": [0.5] * ROWS, "labels": PARTITION, "sample_weight": ONES, "bins": 20}
    yield "confidence", (plot.confidence, shares)
    points = {"coordinates": FEATURES[:, :2], "labels": PARTITION, "confidence": None}
    yield "embedding", (plot.embedding, {**points, "max_points": 10, "random_state": 0})
    yield "palette", (plot.palette, {"count": 3})


def _on_features(pool: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **given: pool(FEATURES, **given)


def attack(call: Call, name: str, value: object) -> BaseException | None:
    """The call with one value changed: it works, or the error is one of ours."""
    function, arguments = call
    with documented_warnings_only():
        try:
            function(**{**arguments, name: value})
        except (ValueError, ImportError, MemoryBudgetError) as error:
            if not _is_ours(error):
                raise Violation(f"{type(error).__name__} of a library: {error}") from error
            return error
    return None


def _is_ours(error: BaseException) -> bool:
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    return place is not None and "coterie" in place.tb_frame.f_globals["__name__"]


def is_callable_of_another_kind(name: str, value: object) -> bool:
    """A class in the place of a user's own function, which is called and may do what it likes."""
    return name in ("callback", "evidence") and callable(value)


def run(cases: int, seed: int = 0, names: Sequence[str] = ()) -> Iterator[Tally]:
    """All of it; the number of cases is fixed."""
    groups: Mapping[str, Iterator[tuple[str, Call]]] = {
        "methods": of_methods(names),
        "functions": of_functions(),
        "pictures": of_pictures(),
    }
    for group, calls in groups.items():
        tally = Tally(f"arguments, {group}")
        for called, call in calls:
            for name in call[1]:
                for value in OTHERS:
                    if is_callable_of_another_kind(name, value):
                        continue
                    with tally.watch(f"{called}({name}={value!r:.60})"):
                        tally.count(attack(call, name, value))
        yield tally
