"""The commands that cluster: each checks what it was asked, works, writes, and then speaks."""

from __future__ import annotations

import argparse
import inspect
import warnings
from collections.abc import Sequence
from os.path import realpath
from pathlib import Path
from typing import Any

import numpy as np

from coterie.cli._label_files import known_classes, label_ensemble
from coterie.cli._parameters import parameter_sentences
from coterie.cli.arguments import UsageError, in_partitions
from coterie.cli.outputs import (
    CONFIDENCE,
    DISTINCT,
    LABEL,
    Journal,
    agreement,
    check_outputs,
    facts,
    file_facts,
    mean_confidence,
    require_jinja2,
    write_outputs,
)
from coterie.cli.screen import Screen, Stages
from coterie.core.errors import DataError, LabelError
from coterie.core.params import Domain, Kind, parse_parameter
from coterie.core.text import counted, listed
from coterie.ensemble import Ensemble
from coterie.io import read_table
from coterie.result import Result
from coterie.solvers.base import LabelConsensus
from coterie.solvers.methods import MANY_ROWS, all_methods, default_method, find_method, solver_of

# the command line has an option of its own for these
SET_ELSEWHERE = {"n_clusters": "-k", "random_state": "--seed"}
# enough for the parts that only larger problems reach
WARMUP_SAMPLES = 400
# halves of fewer members are too unsteady to choose by
CHOOSING_MEMBERS = 30


def cluster(arguments: argparse.Namespace, journal: Journal) -> None:
    """Features in, labels out."""

    solver = _configured_solver(arguments)
    if in_partitions(arguments, [arguments.data]):
        from coterie.cli import partitions

        partitions.cluster(arguments, journal, solver)
        return
    check_outputs(arguments, [arguments.data])
    with Stages() as stages:
        stages.begin(f"reading {arguments.data.name}")
        table = read_table(
            arguments.data, "features", () if arguments.id is None else (arguments.id,)
        )
        truth = None if arguments.truth is None else table.labels(arguments.truth)
        leave_out = [*arguments.drop, *([] if truth is None else [arguments.truth])]
        X, names, ids = table.features(arguments.columns, arguments.id, leave_out)
        _check_rows(arguments, len(X))
        selection = chosen_k(arguments, X, solver, stages)
        model = clustering(arguments, selection, solver, stages, "combining").fit(X)
        result = Result.of(
            model,
            X=X,
            selection=selection,
            truth=truth,
            input=file_facts([arguments.data]) | {"rows": len(X), "columns": len(names)},
            seconds=journal.seconds(),
            warnings=journal.warnings(),
        )
        stages.begin("writing")
        write_outputs(arguments, journal, result, ids)
    size = f"{counted(len(X), 'sample')}, {counted(len(names), 'feature')}"
    summarise(arguments, journal, result, f"{arguments.data.name}: {size}")


def combine(arguments: argparse.Namespace, journal: Journal) -> None:
    """Labels in, labels out."""
    solver = _configured_solver(arguments)
    files: list[Path] = arguments.files
    if in_partitions(arguments, files):
        from coterie.cli import partitions

        partitions.combine(arguments, journal, solver)
        return
    check_outputs(arguments, files)
    with Stages() as stages:
        ensemble, tables = read_label_files(
            files, arguments.id, arguments.label, arguments.truth, stages
        )
        truth = known_classes(tables, arguments.id, arguments.truth, ensemble)
        solver = solver_for(arguments, solver, ensemble)
        selection = chosen_k(arguments, ensemble, solver, stages)
        if selection is not None:
            solver.set_params(n_clusters=selection.recommended)
        stages.begin("combining")
        follow_passes(solver, stages)
        model = solver.fit(ensemble)
        result = Result.of(
            model,
            selection=selection,
            truth=truth,
            input=file_facts(files) | {"rows": ensemble.n_samples, "columns": ensemble.n_members},
            seconds=journal.seconds(),
            warnings=journal.warnings(),
        )
        stages.begin("writing")
        ids = None if ensemble.sample_ids is None else ensemble.sample_ids.tolist()
        write_outputs(arguments, journal, result, ids)
    name = files[0].name if len(files) == 1 else counted(len(files), "file")
    summarise(arguments, journal, result, f"{name}: {counted(ensemble.n_samples, 'sample')}")


def demo(arguments: argparse.Namespace, journal: Journal) -> None:
    """Digits in; labels, a report and a comparison out."""
    from coterie.consensus import ConsensusClustering
    from coterie.datasets import load
    from coterie.select import select_k

    if arguments.out.exists() and not arguments.out.is_dir():
        raise UsageError(f"--out {arguments.out} is a file; name a directory")
    require_jinja2("the report of demo")
    arguments.out.mkdir(parents=True, exist_ok=True)
    arguments.output = arguments.out / "labels.csv"
    arguments.report = arguments.out / "report.html"
    arguments.save = arguments.out / "result.npz"
    arguments.id = None
    check_outputs(arguments, [])
    digits = load("digits")
    with Stages() as stages:
        stages.begin("making members")
        model = ConsensusClustering(
            digits.n_classes,
            callback=stages.members_then("combining"),
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
        result = Result.of(
            model,
            X=digits.X,
            selection=selection,
            truth=digits.y,
            input={"file": digits.name, "rows": len(digits.X), "columns": digits.X.shape[1]},
            seconds=journal.seconds(),
            warnings=journal.warnings(),
        )
        stages.begin("writing")
        write_outputs(arguments, journal, result, None)

    ensemble = model.ensemble_
    sizes = ensemble.n_clusters_per_member

    def scores(found: Any) -> list[float]:
        values = agreement(digits.y.tolist(), found) or {}
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
    say_written(screen, arguments, journal)


def methods(arguments: argparse.Namespace, journal: Journal) -> None:
    """What can stand after --method and --set."""
    screen = Screen()
    shown = [find_method(name) for name in arguments.names] or list(all_methods().values())
    for i, method in enumerate([] if arguments.brief else shown):
        if i:
            screen.say("")
        signature = inspect.signature(method).parameters
        meaning = parameter_sentences(method)
        screen.say(f"{method.about.name} (coterie.{method.__name__})")
        screen.say(method.about.summary, indent=2)
        for name, domain in _settable(method).items():
            screen.say(f"--set {name}={signature[name].default}", indent=2)
            screen.say(f"{meaning[name]} Takes {domain.describe()}.", indent=6)
        screen.say(f"cost: {method.about.cost}", indent=2)
        screen.say(f"paper: {method.about.paper}", indent=2)
    headings = ["method", "missing", "weights", "exact", "random", "in N"]
    screen.table(
        headings,
        [
            [
                about.name,
                *(
                    "yes" if known else "no"
                    for known in (about.missing, about.weights, about.exact, about.random)
                ),
                about.scaling or "",
            ]
            for about in (method.about for method in shown)
        ],
    )
    screen.say("")
    screen.say(
        "missing: takes missing labels. weights: a sample of weight two is the sample given twice. "
        "exact: the same on distinct rows as on samples. random: has a random part, settled by "
        "--seed. in N: time and memory by the number of distinct rows."
    )


# ---------------------------------------------------------------------- before the work


def _settable(estimator: type[LabelConsensus]) -> dict[str, Domain]:
    """The parameters that text can give a value."""
    return {
        name: domain
        for name, domain in estimator.domains().items()
        if name not in SET_ELSEWHERE and not (isinstance(domain, Kind) and domain.read is None)
    }


def _configured_solver(arguments: argparse.Namespace) -> LabelConsensus:
    estimator = find_method(_method_name(arguments))
    method = estimator.about.name
    settings: dict[str, Any] = {}
    for text in arguments.settings:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise UsageError(f"--set {text!r}: write NAME=VALUE")
        if name in SET_ELSEWHERE:
            raise UsageError(f"--set {text!r}: use {SET_ELSEWHERE[name]} for that")
        if name in settings:
            raise UsageError(f"--set {name} is given twice")
        settings[name] = parse_parameter(method, name, value, _settable(estimator))
    if arguments.clusters is None and not estimator.domains()["n_clusters"].admits(None):
        raise UsageError(
            f"-k is missing: {method} needs the number of clusters, or -k auto to choose it"
        )
    given = arguments.clusters if isinstance(arguments.clusters, int) else 1
    solver: LabelConsensus = estimator(given, **settings)
    if arguments.clusters is None:
        solver.set_params(n_clusters=None)
    solver.set_params(random_state=arguments.seed)
    return solver


def _method_name(arguments: argparse.Namespace) -> str:
    # an empty name is a wrong one, not the default
    return default_method(arguments.clusters) if arguments.method is None else arguments.method


def _named(arguments: argparse.Namespace) -> bool:
    """Whether the method was chosen, if only by setting a parameter of the default one."""
    return arguments.method is not None or bool(arguments.settings)


def solver_for(
    arguments: argparse.Namespace, solver: LabelConsensus, ensemble: Ensemble
) -> LabelConsensus:
    """The solver; where none was named, one for so many distinct label rows."""
    if _named(arguments):
        return solver
    fit = solver_of(default_method(arguments.clusters, ensemble.n_microclusters))
    return fit.set_params(n_clusters=solver.n_clusters, random_state=arguments.seed)


def read_label_files(
    files: Sequence[Path],
    id: str | None,
    columns: Sequence[str] | None,
    truth: str | None,
    stages: Stages,
) -> tuple[Ensemble, list[Any]]:
    """Files of labels as one ensemble, and the tables as they were read."""
    places: set[str] = set()
    for path in files:
        place = realpath(path)
        if place in places:
            raise UsageError(f"{path} is given twice")
        places.add(place)
    tables = []
    for path in files:
        stages.begin(f"reading {path.name}")
        tables.append(read_table(path, "labels", () if id is None else (id,)))
    try:
        return label_ensemble(tables, id, columns, truth), tables
    except LabelError as error:
        note = " (rows are counted from 0)" if " row" in str(error) else ""
        raise DataError(f"{listed(map(str, files), 5)}: {error}{note}") from error


def chosen_k(
    arguments: argparse.Namespace, data: Any, solver: LabelConsensus | None, stages: Stages
) -> Any:
    """The choice of k where a range was asked for; None where a number was."""
    if not isinstance(arguments.clusters, tuple):
        return None
    from coterie.select import select_k

    low, high = arguments.clusters
    most = data.n_microclusters if isinstance(data, Ensemble) else len(data)
    if most > MANY_ROWS and not _named(arguments):
        # then the dendrogram of a sample serves every k
        solver = None
    stages.begin("choosing the number of clusters")
    return select_k(
        data,
        k=range(low, max(low, min(high, most)) + 1),
        solver=solver,
        members=max(CHOOSING_MEMBERS, arguments.members if "members" in arguments else 0),
        callback=stages.reach,
        random_state=arguments.seed,
        n_jobs=arguments.jobs if "jobs" in arguments else None,
    )


def clustering(
    arguments: argparse.Namespace,
    selection: Any,
    solver: LabelConsensus,
    stages: Stages,
    after_members: str,
) -> Any:
    """What makes the members and combines them, with the stage of making them begun."""
    from coterie.consensus import ConsensusClustering

    stages.begin("making members", arguments.members)
    follow_passes(solver, stages)
    return ConsensusClustering(
        arguments.clusters if selection is None else selection.recommended,
        n_members=arguments.members,
        member_clusters=arguments.member_clusters,
        solver=solver if _named(arguments) else None,
        callback=stages.members_then(after_members),
        random_state=arguments.seed,
        n_jobs=arguments.jobs,
    )


def follow_passes(solver: LabelConsensus, stages: Stages) -> None:
    """Show the passes of a solver that tells them."""
    known = solver.get_params(deep=False)
    if "callback" in known:
        most = known.get("max_iter")
        # a plain function: scikit-learn copies a solver's parameters, and a bar cannot be copied
        solver.set_params(callback=lambda record: stages.reach(int(record["pass"]), most))


def _check_rows(arguments: argparse.Namespace, n: int) -> None:
    if n < 2:
        raise DataError(f"{arguments.data} has one row; clustering needs two or more")
    if isinstance(arguments.clusters, int) and arguments.clusters > n:
        raise DataError(
            f"-k {arguments.clusters} asks for more clusters than {arguments.data} has rows ({n})"
        )


# ---------------------------------------------------------------------- after it


def summarise(
    arguments: argparse.Namespace, journal: Journal, result: Result, headline: str
) -> None:
    """What was found, for the reader or for a program."""
    screen = Screen()
    if arguments.json:
        screen.json(facts(result, journal))
        return
    ensemble = result.ensemble
    screen.say(headline)
    missing = ""
    if not ensemble.is_complete:
        share = np.average((~ensemble.observed).mean(axis=1), weights=ensemble.weights)
        missing = f", {100 * share:.2g} % of labels missing"
    screen.say(
        f"{counted(ensemble.n_members, 'member')}, "
        f"{counted(ensemble.n_microclusters, 'microcluster')} (distinct label rows){missing}"
    )
    selection = result.selection
    if selection is not None:
        screen.say(selection.reason)
    chosen = ", as many as the method chose" if arguments.clusters is None else ""
    # one cluster has no rival, and its confidence of 1 would say nothing
    sure = f", mean confidence {mean_confidence(result):.2f}" if result.n_clusters > 1 else ""
    screen.say(f"{result.method}: {counted(result.n_clusters, 'cluster')}{chosen}{sure}")
    screen.clusters(result.labels, result.sample_confidence, counts=ensemble.sample_counts)
    screen.say("")
    if result.truth is not None:
        screen.agreement(arguments.truth, result.truth, result.labels)
    say_written(screen, arguments, journal)


def say_written(screen: Screen, arguments: argparse.Namespace, journal: Journal) -> None:
    """Which files there are now."""
    for kind, path in journal.written:
        columns = ""
        if kind == "labels":
            # a part of a directory tells no row numbers: its rows have the order of the input's
            parts = path.is_dir()
            first = [arguments.id] if arguments.id else [] if parts else ["row"]
            last = [DISTINCT] if parts else []
            columns = f"({', '.join([*first, LABEL, CONFIDENCE, *last])})"
        screen.say(f"{kind} written to", path, columns)
    if not any(kind == "labels" for kind, _ in journal.written):
        screen.say("labels were not written; name a file with -o")


def warmup(arguments: argparse.Namespace, journal: Journal) -> None:
    """Every method once on small labels, complete and partial."""
    methods = [find_method(name) for name in arguments.names] or list(all_methods().values())
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), WARMUP_SAMPLES // 4)
    noise = rng.integers(0, 6, (WARMUP_SAMPLES, 8))
    labels = np.where(rng.random(noise.shape) < 0.5, noise, truth[:, None]).astype(float)
    partial = np.where(rng.random(labels.shape) < 0.1, np.nan, labels)
    partial[:, 0] = labels[:, 0]
    with Stages() as stages, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for done, method in enumerate(methods):
            stages.begin(f"compiling {method.about.name}", len(methods))
            stages.reach(done, len(methods))
            for given in (labels, partial) if method.about.missing else (labels,):
                method(4, random_state=0).fit(given)
    screen = Screen()
    screen.say(f"{counted(len(methods), 'method')} compiled in {journal.seconds():.0f} s.")
