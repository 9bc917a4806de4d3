"""The commands: each checks what it was asked, works, writes, and then speaks."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from coterie._estimator import LabelConsensus
from coterie._params import Domain, Kind, parse_parameter
from coterie.cli._arguments import UsageError
from coterie.cli._label_files import known_classes, label_ensemble
from coterie.cli._screen import Screen, Stages, counted
from coterie.ensemble import LabelError
from coterie.io import DataError, check_writable, read_table, write_table
from coterie.io._read import features_of
from coterie.io._table import labels, listed
from coterie.solvers._catalogue import METHODS, find_method

LABEL, CONFIDENCE = "label", "confidence"
# the command line has an option of its own for these
SET_ELSEWHERE = {"n_clusters": "-k", "random_state": "--seed"}


def cluster(arguments: argparse.Namespace) -> None:
    """Features in, labels out."""
    from coterie.consensus import ConsensusClustering

    solver = _configured_solver(arguments)
    _check_output(arguments.output, [arguments.data], arguments.id)
    with Stages() as stages:
        stages.begin(f"reading {arguments.data.name}")
        table = read_table(
            arguments.data, "features", () if arguments.id is None else (arguments.id,)
        )
        truth = None if arguments.truth is None else labels(table, arguments.truth)
        leave_out = [*arguments.drop, *([] if truth is None else [arguments.truth])]
        X, names, ids = features_of(table, arguments.columns, arguments.id, leave_out)
        _check_rows(arguments, len(X))
        stages.begin("making members", arguments.members)
        _follow_passes(solver, stages)
        model = ConsensusClustering(
            arguments.clusters,
            members=arguments.members,
            solver=solver,
            callback=stages.members_then("combining"),
            random_state=arguments.seed,
            n_jobs=arguments.jobs,
        ).fit(X)
        _write(arguments.output, arguments.id, ids, model)
    screen = Screen()
    screen.say(
        f"{arguments.data.name}: {counted(len(X), 'sample')}, {counted(len(names), 'feature')}"
    )
    _summarise(screen, arguments, model, truth)


def combine(arguments: argparse.Namespace) -> None:
    """Labels in, labels out."""
    solver = _configured_solver(arguments)
    files: list[Path] = arguments.files
    _check_output(arguments.output, files, arguments.id)
    for i, path in enumerate(files):
        if any(path.resolve() == other.resolve() for other in files[:i]):
            raise UsageError(f"{path} is given twice")
    with Stages() as stages:
        tables = []
        for path in files:
            stages.begin(f"reading {path.name}")
            tables.append(
                read_table(path, "labels", () if arguments.id is None else (arguments.id,))
            )
        stages.begin("combining")
        try:
            ensemble = label_ensemble(tables, arguments.id, arguments.label, arguments.truth)
        except LabelError as error:
            note = " (rows are counted from 0)" if " row" in str(error) else ""
            raise DataError(f"{listed(map(str, files), 5)}: {error}{note}") from error
        truth = known_classes(tables, arguments.id, arguments.truth, ensemble)
        _follow_passes(solver, stages)
        model = solver.fit(ensemble)
        ids = None if ensemble.sample_ids is None else ensemble.sample_ids.tolist()
        _write(arguments.output, arguments.id, ids, model)
    screen = Screen()
    name = files[0].name if len(files) == 1 else counted(len(files), "file")
    screen.say(f"{name}: {counted(ensemble.n_samples, 'sample')}")
    _summarise(screen, arguments, model, truth)


def demo(arguments: argparse.Namespace) -> None:
    """Digits in, labels and a comparison out."""
    from coterie.consensus import ConsensusClustering
    from coterie.datasets import load
    from coterie.evaluate import accuracy, ari, nmi

    if arguments.out.exists() and not arguments.out.is_dir():
        raise UsageError(f"--out {arguments.out} is a file; name a directory")
    arguments.out.mkdir(parents=True, exist_ok=True)
    output = arguments.out / "labels.csv"
    _check_output(output, [], None)
    digits = load("digits")
    with Stages() as stages:
        stages.begin("making members")
        model = ConsensusClustering(
            digits.n_classes,
            callback=stages.members_then("combining"),
            random_state=arguments.seed,
            n_jobs=arguments.jobs,
        ).fit(digits.X)
        _write(output, None, None, model)

    ensemble = model.ensemble_
    sizes = ensemble.n_clusters_per_member

    def scores(found: Any) -> list[float]:
        return [accuracy(digits.y, found), nmi(digits.y, found), ari(digits.y, found)]

    members = np.mean([scores(member) for member in ensemble.expand(ensemble.labels).T], axis=0)
    screen = Screen()
    screen.say(f"{digits.name}: {digits.description}")
    screen.say(
        f"{ensemble.n_members} k-means members of {sizes.min()} to {sizes.max()} clusters, "
        f"{ensemble.n_microclusters:,} microclusters, combined by eac"
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
    _say_output(screen, output, None)


def methods(arguments: argparse.Namespace) -> None:
    """What can stand after --method and --set."""
    screen = Screen()
    for method in [find_method(name) for name in arguments.names] or METHODS.values():
        estimator = method.load()
        signature = inspect.signature(estimator).parameters
        rows = [("", method.summary)]
        for name, domain in _settable(estimator).items():
            rows.append(("--set", f"{name}={signature[name].default}"))
            rows.append(("", f"  {domain.describe()}"))
        rows += [("cost", method.cost), ("paper", method.paper)]
        screen.entry(f"{method.name} (coterie.{estimator.__name__})", rows)


COMMANDS: dict[str, Callable[[argparse.Namespace], None]] = {
    "demo": demo,
    "cluster": cluster,
    "combine": combine,
    "methods": methods,
}


# ---------------------------------------------------------------------- before the work


def _settable(estimator: type[LabelConsensus]) -> dict[str, Domain]:
    """The parameters that text can give a value."""
    return {
        name: domain
        for name, domain in estimator._domains.items()
        if name not in SET_ELSEWHERE and not (isinstance(domain, Kind) and domain.read is None)
    }


def _configured_solver(arguments: argparse.Namespace) -> LabelConsensus:
    method = find_method(arguments.method)
    estimator = method.load()
    settings: dict[str, Any] = {}
    for text in arguments.settings:
        name, equals, value = (part.strip() for part in text.partition("="))
        if not equals or not name:
            raise UsageError(f"--set {text!r}: write NAME=VALUE")
        if name in SET_ELSEWHERE:
            raise UsageError(f"--set {text!r}: use {SET_ELSEWHERE[name]} for that")
        if name in settings:
            raise UsageError(f"--set {name} is given twice")
        settings[name] = parse_parameter(method.name, name, value, _settable(estimator))
    if arguments.clusters is None and not estimator._domains["n_clusters"].admits(None):
        raise UsageError(f"-k is missing: {method.name} needs the number of clusters")
    solver: LabelConsensus = estimator(arguments.clusters, **settings)
    solver.set_params(random_state=arguments.seed)
    return solver


def _follow_passes(solver: LabelConsensus, stages: Stages) -> None:
    """Show the passes of a solver that tells them."""
    known = solver.get_params(deep=False)
    if "callback" in known:
        most = known.get("max_iter")
        # a plain function: scikit-learn copies a solver's parameters, and a bar cannot be copied
        solver.set_params(callback=lambda record: stages.reach(int(record["pass"]), most))


def _check_output(output: Path | None, inputs: Sequence[Path], id: str | None) -> None:
    """Refuse an output that cannot be written, before any work."""
    if output is None:
        return
    if id in (LABEL, CONFIDENCE):
        raise UsageError(f"--id {id}: the output has a column of that name; rename the id's column")
    check_writable(output)
    for path in inputs:
        if output.exists() and path.exists() and output.samefile(path):
            raise UsageError(f"-o {output} would overwrite the input {path}; name another file")


def _check_rows(arguments: argparse.Namespace, n: int) -> None:
    if n < 2:
        raise DataError(f"{arguments.data} has one row; clustering needs two or more")
    if arguments.clusters is not None and arguments.clusters > n:
        raise DataError(
            f"-k {arguments.clusters} asks for more clusters than {arguments.data} has rows ({n})"
        )


# ---------------------------------------------------------------------- after it


def _write(output: Path | None, id: str | None, ids: list[Any] | None, model: Any) -> None:
    if output is not None:
        columns = {
            id or "row": np.arange(len(model.labels_)) if ids is None else ids,
            LABEL: model.labels_,
            CONFIDENCE: np.round(model.sample_confidence_, 6),
        }
        write_table(output, columns)


def _summarise(screen: Screen, arguments: argparse.Namespace, model: Any, truth: Any) -> None:
    ensemble = model.ensemble_
    missing = ""
    if not ensemble.is_complete:
        share = ((ensemble.labels < 0).mean(axis=1) * ensemble.weights).sum() / ensemble.n_samples
        missing = f", {100 * share:.2g} % of labels missing"
    screen.say(
        f"{counted(ensemble.n_members, 'member')}, "
        f"{counted(ensemble.n_microclusters, 'microcluster')} (distinct label rows){missing}"
    )
    chosen = ", as many as the method chose" if arguments.clusters is None else ""
    screen.say(
        f"{arguments.method.lower()}: {counted(model.n_clusters_, 'cluster')}{chosen}, "
        f"mean confidence {model.sample_confidence_.mean():.2f}"
    )
    screen.clusters(model.labels_, model.sample_confidence_)
    screen.say("")
    if truth is not None:
        screen.agreement(arguments.truth, truth, model.labels_)
    _say_output(screen, arguments.output, arguments.id)


def _say_output(screen: Screen, output: Path | None, id: str | None) -> None:
    if output is None:
        screen.say("labels were not written; name a file with -o")
    else:
        screen.say(f"labels written to {output} ({id or 'row'}, {LABEL}, {CONFIDENCE})")
