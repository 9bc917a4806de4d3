"""What a run leaves behind: checked before the work, written after it, told at the end."""

from __future__ import annotations

import argparse
import hashlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from os.path import realpath
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from coterie.cli.arguments import UsageError
from coterie.io import check_writable, write_table
from coterie.io.write import PAGE, RESULT
from coterie.result import Result

LABEL, CONFIDENCE = "label", "confidence"
# of rows in partitions: the number of a row's distinct row, by which a saved result knows it
DISTINCT = "distinct"


@dataclass
class Journal:
    """What happened on the way: files that are complete, warnings that were raised, time."""

    caught: Sequence[warnings.WarningMessage] = ()
    written: list[tuple[str, Path]] = field(default_factory=list)
    began: float = field(default_factory=perf_counter)

    def warnings(self) -> list[str]:
        """Each warning to the user once; those of other kinds speak to programmers."""
        return list(
            dict.fromkeys(
                str(warning.message)
                for warning in self.caught
                if issubclass(warning.category, UserWarning)
            )
        )

    def seconds(self) -> float:
        """Since the command began."""
        return perf_counter() - self.began


def check_outputs(
    arguments: argparse.Namespace,
    inputs: Sequence[Path],
    check_labels: Callable[[Path], None] = check_writable,
) -> None:
    """Refuse what cannot be written, before any work."""
    if arguments.id in (LABEL, CONFIDENCE) and arguments.output is not None:
        raise UsageError(
            f"--id {arguments.id}: the output has a column of that name; rename the id's column"
        )
    if arguments.output is not None:
        check_labels(arguments.output)
    outputs = {"-o": arguments.output, "--report": arguments.report, "--save": arguments.save}
    check_page(arguments.report, "--report")
    if arguments.save is not None:
        check_writable(arguments.save, RESULT, "--save")
    named = [(option, path) for option, path in outputs.items() if path is not None]
    for i, (option, path) in enumerate(named):
        for other in inputs:
            if path.exists() and other.exists() and path.samefile(other):
                raise UsageError(
                    f"{option} {path} would overwrite the input {other}; name another file"
                )
        for earlier, taken in named[:i]:
            if realpath(path) == realpath(taken):
                raise UsageError(f"{earlier} and {option} name the same file {path}")


def check_page(path: Path | None, option: str) -> None:
    """Refuse a report that cannot be made or written."""
    if path is None:
        return
    check_writable(path, PAGE, option)
    require_jinja2(option)


def require_jinja2(wanted: str) -> None:
    """Refuse, by what was asked for, where reports cannot be made."""
    if find_spec("jinja2") is None:
        raise UsageError(f"{wanted} needs jinja2: pip install 'coterie[report]'")


def file_facts(paths: Sequence[Path]) -> dict[str, Any]:
    """Names and hash of the input."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return {"file": ", ".join(path.name for path in paths), "sha256": digest.hexdigest()}


def write_outputs(
    arguments: argparse.Namespace,
    journal: Journal,
    result: Result,
    ids: list[Any] | None,
) -> None:
    """Labels, result and report, each complete or not there."""
    if ids is not None and result.ensemble.sample_ids is None:
        result = replace(result, ensemble=replace(result.ensemble, sample_ids=np.asarray(ids)))
    if arguments.output is not None:
        n = len(result.labels)
        write_table(
            arguments.output,
            {
                arguments.id or "row": np.arange(n) if ids is None else ids,
                LABEL: result.labels,
                CONFIDENCE: np.round(result.sample_confidence, 6),
            },
        )
        journal.written.append(("labels", arguments.output))
    write_pages(arguments, journal, result)


def write_pages(arguments: argparse.Namespace, journal: Journal, result: Result) -> None:
    """Result and report, where they are asked for."""
    if arguments.save is not None:
        result.save(arguments.save)
        journal.written.append(("result", arguments.save))
    if arguments.report is not None:
        from coterie.report import write

        write(result, arguments.report)
        journal.written.append(("report", arguments.report))


def facts(result: Result, journal: Journal) -> dict[str, Any]:
    """The summary for other programs."""
    clusters = result.diagnose_clusters()
    ensemble = result.ensemble
    record: dict[str, Any] = {
        "input": result.input,
        "method": result.method,
        "parameters": result.parameters,
        "seed": result.seed,
        "n_samples": ensemble.total_count,
        "n_members": ensemble.n_members,
        "n_microclusters": ensemble.n_microclusters,
        "n_clusters": result.n_clusters,
        "converged": result.converged,
        "mean_confidence": mean_confidence(result),
        "clusters": [
            {name: row[name] for name in ("cluster", "size", "share", "confidence", "stability")}
            for row in clusters.rows()
        ],
    }
    if result.selection is not None:
        record["selection"] = selection_facts(result.selection)
    if result.truth is not None:
        record["agreement"] = agreement(result.truth, result.labels)
    return record | closing_facts(journal)


def mean_confidence(result: Result) -> float:
    """Over all samples, each by its weight."""
    return float(np.average(result.sample_confidence, weights=result.ensemble.sample_weight))


def selection_facts(selection: Any) -> dict[str, Any]:
    """How the number of clusters was chosen."""
    return {
        "recommended": int(selection.recommended),
        "structure": bool(selection.structure),
        "reason": selection.reason,
        "disagreement": selection.disagreement,
        "votes": {name: int(k) for name, k in selection.votes.items()},
        "table": selection.table().to_dict(),
    }


def closing_facts(journal: Journal) -> dict[str, Any]:
    """What every command tells at its end."""
    return {
        "warnings": journal.warnings(),
        "files": {kind: str(path) for kind, path in journal.written},
        "seconds": round(journal.seconds(), 3),
    }


def agreement(truth: Any, labels: Any) -> dict[str, Any] | None:
    """Scores against known classes, over the samples where they are known."""
    from coterie.evaluate import accuracy, ari, nmi

    known = np.array([value is not None and value == value for value in truth])
    if not known.any():
        return None
    classes = [value for value, there in zip(truth, known, strict=True) if there]
    found = np.asarray(labels)[known]
    return {
        "samples": len(found),
        "ACC": float(accuracy(classes, found)),
        "NMI": float(nmi(classes, found)),
        "ARI": float(ari(classes, found)),
    }
