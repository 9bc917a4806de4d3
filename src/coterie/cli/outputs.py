"""The files of a command: checked before the work, written after it, listed at the end."""

from __future__ import annotations

import argparse
import hashlib
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from os.path import realpath
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.cli.arguments import UsageError
from coterie.core.packages import require_package
from coterie.io import check_writable, write_table
from coterie.io.write import PAGE, RESULT
from coterie.result import Result

if TYPE_CHECKING:
    from coterie.select import Selection

LABEL, CONFIDENCE = "label", "confidence"
# column for rows in partitions: the number of the distinct label row in the result
DISTINCT = "distinct"


@dataclass
class RunLog:
    """What a command has done so far: warnings, complete files, and the time it began.

    ``method_reason`` says why a method was chosen, if the user did not choose one. ``approximation``
    says how many label rows were grouped, if any. ``said`` is a sentence of the summary that a warning would
    repeat.
    """

    caught: Sequence[warnings.WarningMessage] = ()
    written: list[tuple[str, Path]] = field(default_factory=list)
    began: float = field(default_factory=perf_counter)
    method_reason: str = ""
    approximation: str = ""
    said: str = ""

    def warnings(self) -> list[str]:
        """The warnings for the user, each once; other kinds of warning are for programmers."""
        return list(
            dict.fromkeys(
                str(warning.message)
                for warning in self.caught
                if issubclass(warning.category, UserWarning)
            )
        )

    def unsaid(self) -> list[str]:
        """The warnings, without those that repeat the summary."""
        return [text for text in self.warnings() if not self.said or self.said not in text]

    def seconds(self) -> float:
        """Time since the command began."""
        return perf_counter() - self.began

    def result(
        self,
        model: Any,
        *,
        input: dict[str, Any],
        X: Any = None,
        selection: Selection | None = None,
        truth: Any = None,
    ) -> Result:
        """The result of a fitted model, with the time spent and the warnings so far."""
        return Result.of(
            model,
            X=X,
            selection=selection,
            truth=truth,
            input=input,
            seconds=self.seconds(),
            warnings=self.warnings(),
        )


def check_outputs(
    arguments: argparse.Namespace,
    inputs: Sequence[Path],
    check_labels: Callable[[Path], None] = check_writable,
    columns: Sequence[str] = (LABEL, CONFIDENCE),
) -> None:
    """Refuse outputs that cannot be written, before any work.

    ``columns`` are the columns of the written labels, beside the id.
    """
    if arguments.id in columns and arguments.output is not None:
        raise UsageError(
            f"--id {arguments.id}: the output has another column with that name; rename the id column"
        )
    if arguments.output is not None:
        check_labels(arguments.output)
    outputs = {"-o": arguments.output, "--report": arguments.report, "--save": arguments.save}
    check_page(arguments.report, "--report")
    if arguments.save is not None:
        check_writable(arguments.save, RESULT, "--save")
    paths = [(option, path) for option, path in outputs.items() if path is not None]
    for i, (option, path) in enumerate(paths):
        refuse_overwriting(option, path, inputs)
        for other_option, other_path in paths[:i]:
            if realpath(path) == realpath(other_path):
                raise UsageError(f"{other_option} and {option} name the same file {path}")


def refuse_overwriting(option: str, path: Path, inputs: Sequence[Path]) -> None:
    """Refuse an output that is one of the inputs."""
    for other in inputs:
        if path.exists() and other.exists() and path.samefile(other):
            raise UsageError(
                f"{option} {path} would overwrite the input {other}; name another file"
            )


def check_page(path: Path | None, option: str) -> None:
    """Refuse a report that cannot be generated or written."""
    if path is None:
        return
    check_writable(path, PAGE, option)
    require_package(option, "jinja2", "report")


def file_facts(paths: Sequence[Path]) -> dict[str, Any]:
    """Names and hash of the input files."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return {"file": ", ".join(path.name for path in paths), "sha256": digest.hexdigest()}


def write_outputs(
    arguments: argparse.Namespace,
    log: RunLog,
    result: Result,
    ids: list[Any] | None,
) -> None:
    """Write labels, result and report; each file is complete or absent."""
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
        log.written.append(("labels", arguments.output))
    write_result_and_report(arguments, log, result)


def write_result_and_report(arguments: argparse.Namespace, log: RunLog, result: Result) -> None:
    """Write the result and the report, each if a file is named for it."""
    if arguments.save is not None:
        result.save(arguments.save)
        log.written.append(("result", arguments.save))
    if arguments.report is not None:
        from coterie.report import write

        write(result, arguments.report)
        log.written.append(("report", arguments.report))


def facts(result: Result, log: RunLog) -> dict[str, Any]:
    """The summary as a record for other programs."""
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
        "n_noise": ensemble.total_count - ensemble.without_blank.total_count,
        "converged": result.converged,
        "mean_confidence": result.mean_confidence,
        "verdict": None if result.verdict is None else asdict(result.verdict),
        "columns": result.columns,
        "clusters": [
            {name: row[name] for name in ("cluster", "size", "share", "confidence", "stability")}
            for row in clusters.rows()
        ],
    }
    if result.profile is not None:
        names = ("cluster", "sentence", "rule")
        parts = (result.profile.clusters.tolist(), result.profile.sentences, result.profile.rules)
        of = "groups" if result.describes_groups else "profile"
        record[of] = [dict(zip(names, row, strict=True)) for row in zip(*parts, strict=True)]
    if log.approximation:
        record["approximation"] = log.approximation
    if result.selection is not None:
        record["selection"] = selection_facts(result.selection)
    if result.truth is not None:
        record["agreement"] = agreement(result.truth, result.labels)
    return record | closing_facts(log)


def selection_facts(selection: Selection) -> dict[str, Any]:
    """How the number of clusters was chosen, as a record."""
    return {
        "recommended": int(selection.recommended),
        "structure": bool(selection.structure),
        "supported": list(selection.supported),
        "evidence": {str(k): kinds for k, kinds in selection.evidence.items()},
        "p_value": selection.p_value if selection.tested else None,
        "reason": selection.reason,
        "table": selection.table().to_dict(),
    }


def closing_facts(log: RunLog) -> dict[str, Any]:
    """Warnings, files and time: the end of every record."""
    return {
        "warnings": log.warnings(),
        "files": {kind: str(path) for kind, path in log.written},
        "seconds": round(log.seconds(), 3),
    }


def agreement(truth: Any, labels: Any) -> dict[str, Any] | None:
    """Scores against known classes, over the samples with a class; None if there are none."""
    from coterie.evaluate import accuracy, ari, nmi

    known = np.array([value is not None and value == value for value in truth])
    if not known.any():
        return None
    classes = [value for value, is_known in zip(truth, known, strict=True) if is_known]
    clusters = np.asarray(labels)[known]
    return {
        "samples": len(clusters),
        "ACC": float(accuracy(classes, clusters)),
        "NMI": float(nmi(classes, clusters)),
        "ARI": float(ari(classes, clusters)),
    }
