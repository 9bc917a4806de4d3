"""The commands that cluster: each checks its options, clusters, writes files and prints a summary."""

from __future__ import annotations

import argparse
import re
import warnings
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.cli._label_files import read_label_files, read_oriented
from coterie.cli._methods import SET_ELSEWHERE, settable
from coterie.cli.arguments import UsageError
from coterie.cli.outputs import (
    CONFIDENCE,
    DISTINCT,
    LABEL,
    RunLog,
    agreement,
    check_outputs,
    facts,
    file_facts,
    write_outputs,
)
from coterie.cli.screen import MAX_CLUSTERS, Screen, Stages
from coterie.core.errors import DataError
from coterie.core.packages import require_package
from coterie.core.params import parse_parameter
from coterie.core.text import counted, listed, percent
from coterie.ensemble import Ensemble
from coterie.generate.tables import TableEncoder
from coterie.io.table import FileTable
from coterie.result import Result
from coterie.solvers.base import LabelConsensus
from coterie.solvers.methods import (
    MANY_ROWS,
    choose_method,
    default_method,
    find_method,
    solver_of,
)

if TYPE_CHECKING:
    from coterie.consensus import ConsensusClustering
    from coterie.select import Selection

# names of samples, in the public archives and elsewhere
SAMPLE_NAME = re.compile(
    r"(sample|patient|subject|donor|case|control|cell|array|mouse)[ _.-]?s?[ _.-]?\d"
    r"|GSM\d|[SED]RR\d|SAM[NED]|TCGA-|[ACGT]{12,}-?\d*$",
    re.IGNORECASE,
)
MIN_SAMPLE_NAMES = 4


def cluster(arguments: argparse.Namespace, log: RunLog) -> None:
    """Cluster a table of features."""
    solver = requested_solver(arguments)
    check_outputs(arguments, [arguments.data])
    with Stages() as stages:
        stages.begin(f"reading {arguments.data.name}")
        table, arguments.id = read_oriented(
            arguments.data, "features", arguments.id, arguments.transpose
        )
        truth = None if arguments.truth is None else table.labels(arguments.truth)
        columns, encoder = requested_columns(arguments, table)
        _check_rows(arguments, table.n_rows)
        model = clustering(arguments, solver, stages, "combining")
        model.set_params(prepare=encoder)
        model.fit(columns)
        used = [plan for plan in model.encoder_.plans_ if plan.used]
        _ask_about_columns([plan.name for plan in used], table.n_rows)
        if arguments.id is None:
            arguments.id = model.encoder_.id_column_
        extent = {"rows": table.n_rows, "columns": len(used), "id": arguments.id}
        result = log.result(
            model, X=columns, truth=truth, input=file_facts([arguments.data]) | extent
        )
        stages.begin("writing")
        ids = None if arguments.id is None else table.ids(arguments.id)
        write_outputs(arguments, log, result, ids)
    size = f"{counted(table.n_rows, 'sample')}, {counted(len(used), 'column')} used"
    summarise(arguments, log, result, f"{arguments.data.name}: {size}")


def _ask_about_columns(columns: list[str], n_rows: int) -> None:
    """Warn about columns that are named like samples, as in a table of genes by samples."""
    named = sum(bool(SAMPLE_NAME.match(column)) for column in columns)
    if named >= MIN_SAMPLE_NAMES and named == len(columns):
        warnings.warn(
            f"the {n_rows} rows are clustered, and the {len(columns)} columns are named like samples "
            f"({columns[0]}, {columns[1]}, ...); if the samples are columns, use --transpose",
            UserWarning,
            stacklevel=2,
        )


def requested_columns(
    arguments: argparse.Namespace, table: FileTable
) -> tuple[dict[str, Any], TableEncoder]:
    """The columns of a file that may become features, and the encoder for them."""
    for name in arguments.categories:
        # raises an error if the file has no such column
        table.column(name)
    not_features = [arguments.id, getattr(arguments, "truth", None)]
    columns = table.mixed(arguments.columns, not_features, arguments.drop, arguments.categories)
    return columns, requested_encoder(arguments, columns)


def requested_encoder(arguments: argparse.Namespace, present: Collection[str]) -> TableEncoder:
    """The encoder of --scale, --categories, --impute, --columns and --drop for these columns."""
    return TableEncoder(
        scale=arguments.scale,
        categories=[name for name in arguments.categories if name in present],
        impute=arguments.impute,
        columns=arguments.columns and [name for name in arguments.columns if name in present],
        drop=[name for name in arguments.drop if name in present],
    )


def combine(arguments: argparse.Namespace, log: RunLog) -> None:
    """Combine clusterings that the user already has."""
    solver = requested_solver(arguments)
    files: list[Path] = arguments.files
    check_outputs(arguments, files)
    with Stages() as stages:
        read = read_label_files(
            files, arguments.id, arguments.label, arguments.truth, arguments.transpose, stages
        )
        ensemble, arguments.id = read.ensemble, read.id
        model, selection = combined(arguments, log, ensemble, solver, stages)
        n = ensemble.n_samples
        result = log.result(
            model,
            selection=selection,
            truth=read.classes,
            input=file_facts(files) | {"rows": n, "columns": ensemble.n_members, "id": read.id},
        )
        stages.begin("writing")
        ids = None if ensemble.sample_ids is None else ensemble.sample_ids.tolist()
        write_outputs(arguments, log, result, ids)
    summarise(arguments, log, result, f"{read.words}: {counted(n, 'sample')}", judge=True)


def demo(arguments: argparse.Namespace, log: RunLog) -> None:
    """Cluster handwritten digits, write every kind of output, and compare with the known classes."""
    from coterie.consensus import ConsensusClustering
    from coterie.datasets import load
    from coterie.select import select_k

    if arguments.out.exists() and not arguments.out.is_dir():
        raise UsageError(f"--out {arguments.out} is a file; name a directory")
    require_package("the report of demo", "jinja2", "report")
    arguments.out.mkdir(parents=True, exist_ok=True)
    arguments.output = arguments.out / "labels.csv"
    arguments.report = arguments.out / "report.html"
    arguments.save = arguments.out / "result.npz"
    arguments.id = None
    check_outputs(arguments, [])
    digits = load("digits")
    with Stages() as stages:
        stages.begin("making members")
        # digits form clusters of irregular shape, which members with many small clusters can follow
        model = ConsensusClustering(
            digits.n_classes,
            member_clusters=(digits.n_classes, 4 * digits.n_classes),
            callback=stages.model_then("combining"),
            random_state=arguments.seed,
            n_jobs=arguments.jobs,
        ).fit(digits.X)
        stages.begin("comparing numbers of clusters")
        selection = select_k(
            model.ensemble_,
            k=range(2, 16),
            solver=model.solver_,
            callback=stages.reach,
            random_state=arguments.seed,
        )
        result = log.result(
            model,
            X=digits.X,
            selection=selection,
            truth=digits.y,
            input={"file": digits.name, "rows": len(digits.X), "columns": digits.X.shape[1]},
        )
        stages.begin("writing")
        write_outputs(arguments, log, result, None)

    ensemble = model.ensemble_
    sizes = ensemble.n_clusters_per_member

    def scores(partition: Any) -> list[float]:
        values = agreement(digits.y.tolist(), partition) or {}
        return [values["ACC"], values["NMI"], values["ARI"]]

    members = np.mean([scores(member) for member in ensemble.expand(ensemble.labels).T], axis=0)
    screen = Screen()
    screen.say(f"{digits.name}: {digits.description}")
    screen.say(
        f"{ensemble.n_members} k-means members of {sizes.min()} to {sizes.max()} clusters, "
        f"{ensemble.n_microclusters:,} microclusters, combined by {result.method}"
    )
    screen.clusters(model.labels_, model.sample_confidence_, "mostly digit", digits.y)
    screen.table(
        ["agreement with the known classes", "ACC", "NMI", "ARI"],
        [
            ["one member, on average", *(f"{value:.3f}" for value in members)],
            ["their consensus", *(f"{value:.3f}" for value in scores(model.labels_))],
        ],
    )
    screen.say("")
    screen.say(model.verdict_.text)
    _say_written(screen, arguments, log)


# ---------------------------------------------------------------------- the solver


def requested_solver(arguments: argparse.Namespace) -> LabelConsensus | None:
    """The solver of --method and --set; None where neither is given."""
    if arguments.method is None and not arguments.settings:
        if arguments.clusters is None:
            arguments.clusters = "auto"
        return None
    estimator = find_method(
        default_method(arguments.clusters) if arguments.method is None else arguments.method
    )
    method = estimator.about.name
    settings: dict[str, Any] = {}
    for text in arguments.settings:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise UsageError(f"--set {text!r}: write NAME=VALUE")
        if name in SET_ELSEWHERE:
            raise UsageError(f"--set {text!r}: use {SET_ELSEWHERE[name]} instead")
        if name == "approximate" and getattr(arguments, "approximate", None) is not None:
            raise UsageError("--set approximate: leave it out, since --approximate is given")
        if name in settings:
            raise UsageError(f"--set {name} is given twice")
        settings[name] = parse_parameter(method, name, value, settable(estimator))
    if arguments.clusters is None and not estimator.domains()["n_clusters"].admits(None):
        raise UsageError(
            f"-k is missing: {method} needs the number of clusters; -k auto chooses it"
        )
    n_clusters = arguments.clusters if isinstance(arguments.clusters, int) else 1
    solver: LabelConsensus = estimator(n_clusters, **settings)
    if arguments.clusters is None:
        solver.set_params(n_clusters=None)
    return solver.set_params(random_state=arguments.seed)


def combined(
    arguments: argparse.Namespace,
    log: RunLog,
    ensemble: Ensemble,
    solver: LabelConsensus | None,
    stages: Stages,
) -> tuple[LabelConsensus, Selection | None]:
    """The solver, fitted on an ensemble, and the choice of k if a range was given."""
    compared = solver
    if solver is None:
        choice = choose_method(ensemble, arguments.clusters)
        log.method_reason = choice.reason
        n_clusters = arguments.clusters if isinstance(arguments.clusters, int) else None
        solver = solver_of(choice.name)
        solver.set_params(n_clusters=n_clusters, random_state=arguments.seed)
        # with many rows a fit for every k takes long; without a solver, select_k cuts one dendrogram
        # of a sample
        compared = solver if ensemble.n_microclusters <= MANY_ROWS else None
    if arguments.approximate is not None:
        solver.set_params(approximate=arguments.approximate)
    selection = chosen_k(arguments, ensemble, compared, stages)
    if selection is not None:
        solver.set_params(n_clusters=selection.recommended)
    stages.begin("combining")
    _follow_passes(solver, stages)
    solver.fit(ensemble)
    if solver.approximation_ is not None:
        log.approximation = solver.approximation_.text
    return solver, selection


def clustering(
    arguments: argparse.Namespace,
    solver: LabelConsensus | None,
    stages: Stages,
    after_members: str,
) -> ConsensusClustering:
    """The model that generates members and combines them; its first stage has begun."""
    from coterie.consensus import CHOOSING, MAKING, ConsensusClustering

    chosen = arguments.clusters == "auto" or isinstance(arguments.clusters, tuple)
    stages.begin(CHOOSING if chosen else MAKING)
    if solver is not None:
        _follow_passes(solver, stages)
    return ConsensusClustering(
        arguments.clusters,
        n_members=arguments.members,
        generator=arguments.generator,
        share=arguments.share,
        member_clusters=arguments.member_clusters,
        prototypes=arguments.prototypes,
        min_cluster_size=arguments.min_cluster_size or "auto",
        outliers=arguments.outliers,
        solver=solver,
        callback=stages.model_then(after_members),
        random_state=arguments.seed,
        n_jobs=arguments.jobs,
    )


def chosen_k(
    arguments: argparse.Namespace, data: Any, solver: LabelConsensus | None, stages: Stages
) -> Selection | None:
    """The choice of k if a range was given, else None."""
    ks = arguments.clusters
    prefixes = arguments.groups if "groups" in arguments else None
    if ks is None or isinstance(ks, int):
        if prefixes is not None:
            raise UsageError("--groups helps to choose the number of clusters; use it with -k auto")
        return None
    from coterie.consensus import CHOOSING, CHOOSING_MEMBERS
    from coterie.select import select_k

    if isinstance(ks, tuple):
        low, high = ks
        most = data.n_microclusters if isinstance(data, Ensemble) else len(data)
        ks = range(low, max(low, min(high, most)) + 1)
    stages.begin(CHOOSING)
    return select_k(
        data,
        k=ks,
        groups=None if prefixes is None else _groups(data.members, prefixes),
        solver=solver,
        n_members=max(CHOOSING_MEMBERS, arguments.members if "members" in arguments else 0),
        callback=stages.reach,
        random_state=arguments.seed,
        n_jobs=arguments.jobs if "jobs" in arguments else None,
    )


def _groups(members: Sequence[str], prefixes: Sequence[str]) -> list[str]:
    """The group of each member: the longest of the prefixes that its name begins with."""
    groups = []
    for name in members:
        fitting = [prefix for prefix in prefixes if name.startswith(prefix)]
        if not fitting:
            raise UsageError(
                f"--groups: the name of clustering {name!r} begins with none of "
                f"{listed(map(repr, prefixes))}; add the beginning of its name"
            )
        groups.append(max(fitting, key=len))
    for prefix in prefixes:
        if prefix not in groups:
            raise UsageError(
                f"--groups: no clustering is in the group {prefix!r} (clusterings: {listed(members, 5)})"
            )
    return groups


def _follow_passes(solver: LabelConsensus, stages: Stages) -> None:
    """Show the progress of a solver that reports its passes."""
    parameters = solver.get_params(deep=False)
    if "callback" in parameters:
        most = parameters.get("max_iter")
        # a plain function: scikit-learn copies a solver's parameters, and a bar cannot be copied
        solver.set_params(callback=lambda record: stages.reach(int(record["pass"]), most))


def _check_rows(arguments: argparse.Namespace, n: int) -> None:
    if n < 2:
        raise DataError(f"{arguments.data} has one row; clustering needs two or more")
    if isinstance(arguments.clusters, int) and arguments.clusters > n:
        raise DataError(
            f"-k {arguments.clusters} asks for more clusters than {arguments.data} has rows ({n})"
        )


# ---------------------------------------------------------------------- the summary


def summarise(
    arguments: argparse.Namespace,
    log: RunLog,
    result: Result,
    headline: str,
    judge: bool = False,
) -> None:
    """Print the summary, as text or as JSON; with a verdict on the members, if they are the user's own."""
    screen = Screen()
    if arguments.json:
        screen.json(facts(result, log))
        return
    ensemble = result.ensemble
    screen.say(headline)
    missing = ""
    if not ensemble.is_complete:
        missing = f", {percent(ensemble.missing_share)} of labels missing"
    screen.say(
        f"{counted(ensemble.n_members, 'member')}, "
        f"{counted(ensemble.n_microclusters, 'microcluster')} (distinct label rows){missing}"
    )
    if result.selection is not None:
        screen.say(result.selection.reason)
        log.said = result.selection.reason
    if log.method_reason:
        screen.say(f"Method: {log.method_reason}")
    if log.approximation:
        screen.say(log.approximation)
    chosen = ", as many as the method chose" if arguments.clusters is None else ""
    # a single cluster has no rival, so its confidence of 1 would mean nothing
    mean = f", mean confidence {result.mean_confidence:.2f}" if result.n_clusters > 1 else ""
    screen.say(f"{result.method}: {counted(result.n_clusters, 'cluster')}{chosen}{mean}")
    screen.clusters(result.labels, result.sample_confidence, counts=ensemble.sample_counts)
    screen.say("")
    _say_profile(screen, result)
    _say_columns(screen, result)
    if result.verdict is not None:
        screen.say(result.verdict.text)
        screen.say("")
    if judge and ensemble.n_members > 1:
        screen.say(result.judge_members().text)
        screen.say("")
    if result.truth is not None:
        _say_agreement(screen, arguments.truth, result)
    _say_written(screen, arguments, log)


def _say_profile(screen: Screen, result: Result) -> None:
    """What tells each cluster of the printed table from the rest."""
    profile = result.profile
    if profile is None:
        return
    if result.describes_groups and result.selection is not None:
        k = result.selection.smallest_supported
        screen.say(
            f"If you need groups, this is a partition into {k} with weaker evidence; -k {k} makes such "
            "groups:"
        )
    for sentence in profile.sentences[:MAX_CLUSTERS]:
        screen.say(sentence)
    if len(profile.sentences) > MAX_CLUSTERS:
        more = counted(len(profile.sentences) - MAX_CLUSTERS, "cluster")
        screen.say(f"and {more} more; --json lists them")
    if len(profile.sentences) == 1 and result.selection is not None:
        k = result.selection.smallest_supported
        screen.say(f"To have groups described all the same, ask for a number of them: -k {k}")
    screen.say("")


def _say_columns(screen: Screen, result: Result) -> None:
    """Which columns were used and how, in a few lines, and each column that was left out."""
    if not result.columns:
        return
    treated: dict[str, list[str]] = {}
    for column in result.columns:
        if column["used"]:
            kind, treatment = column["kind"], column["treatment"]
            words = f"{kind}, {treatment}" if kind != "category" else kind
            treated.setdefault(words, []).append(column["column"])
    for words, names in treated.items():
        screen.say(f"{counted(len(names), 'column')} ({words}): {listed(names, 8)}")
    for column in result.columns:
        if not column["used"]:
            screen.say(f"column {column['column']!r} ({column['kind']}) {column['treatment']}")
    screen.say("")


def _say_agreement(screen: Screen, column: str, result: Result) -> None:
    scores = agreement(result.truth, result.labels)
    if scores is None:
        screen.say(f"agreement with {column!r}: the column is empty")
        return
    partly_known = scores["samples"] < len(result.labels)
    note = f" ({counted(scores['samples'], 'sample')})" if partly_known else ""
    screen.say(
        f"agreement with {column!r}{note}: "
        + ", ".join(f"{name} {scores[name]:.3f}" for name in ("ACC", "NMI", "ARI"))
    )


def _say_written(screen: Screen, arguments: argparse.Namespace, log: RunLog) -> None:
    """Name the files that were written."""
    for kind, path in log.written:
        columns = ""
        if kind == "labels":
            # a directory of labels keeps the order of the input rows, so it has no row numbers
            parts = path.is_dir()
            first = [arguments.id] if arguments.id else [] if parts else ["row"]
            last = [DISTINCT] if parts else []
            columns = f"({', '.join([*first, LABEL, CONFIDENCE, *last])})"
        screen.say(f"{kind} written to", path, columns)
    if not any(kind == "labels" for kind, _ in log.written):
        screen.say("labels were not written; name a file with -o")
