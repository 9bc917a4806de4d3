"""The commands on parquet files whose rows stay in Dask partitions."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from glob import has_magic
from os.path import realpath
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.cli._clustering import (
    chosen_k,
    clustering,
    combined,
    requested_encoder,
    requested_solver,
    summarise,
)
from coterie.cli._label_files import refuse_repeated
from coterie.cli._questions import check_select, show_selection
from coterie.cli.arguments import UsageError, is_pattern
from coterie.cli.outputs import (
    CONFIDENCE,
    DISTINCT,
    LABEL,
    RunLog,
    check_outputs,
    write_result_and_report,
)
from coterie.cli.screen import Stages
from coterie.core.budget import memory_budget
from coterie.core.errors import CoterieError, DataError
from coterie.core.packages import require_package
from coterie.core.random import generator
from coterie.core.text import absent_column, counted, listed
from coterie.ensemble import Ensemble
from coterie.generate.tables import TableEncoder, table_features
from coterie.io.parquet import require_pyarrow
from coterie.io.write import check_writable
from coterie.result import Result

if TYPE_CHECKING:
    from coterie.generate.members import Progress
    from coterie.scale import DaskFeatures

PARQUET = ".parquet"
# extensions that mean a single file
OTHER_KINDS = (".csv", ".tsv", ".txt", ".npz", ".npy", ".mat", ".html", ".htm", ".xlsx", ".json")


# rows in which a column of ids is looked for
HEAD_ROWS = 1_000


@dataclass(frozen=True)
class Labelled:
    """A model fitted to rows in partitions.

    Attributes
    ----------
    rows : path, paths or dask collection
        The label rows that the ensemble was built from.
    columns : sequence of str or None
    model : fitted solver or ConsensusClustering
    n_columns : int
        Columns of the input that were used.
    """

    rows: Any
    columns: Sequence[str] | None
    model: Any
    n_columns: int


Work = Callable[[list[str], Any, Stages], tuple[Labelled, Any]]


def combine(arguments: argparse.Namespace, log: RunLog) -> None:
    """Combine labels in parquet files; the output is a directory of labels."""
    solver = requested_solver(arguments)

    def work(files: list[str], client: Any, stages: Stages) -> tuple[Labelled, Any]:
        ensemble = _read_partitions(files, arguments.label, arguments, client, stages)
        model, selection = combined(arguments, log, ensemble, solver, stages)
        return Labelled(files, arguments.label, model, ensemble.n_members), selection

    _carry_out(arguments, log, arguments.files, work)


def cluster(arguments: argparse.Namespace, log: RunLog) -> None:
    """Cluster features in parquet files; the output is a directory of labels."""
    solver = requested_solver(arguments)

    def work(files: list[str], client: Any, stages: Stages) -> tuple[Labelled, Any]:
        follow = stages.members_then("combining")
        features = _open_features(arguments, arguments.data, files, client, follow)
        model = clustering(arguments, solver, stages, "labelling all rows")
        model.set_params(prepare=_encoder(arguments, features))
        pool = model.fit(features).pool_
        used = sum(plan.used for plan in model.encoder_.plans_)
        return Labelled(pool.labels, pool.member_names, model, used), None

    _carry_out(arguments, log, [arguments.data], work)


def select(arguments: argparse.Namespace, log: RunLog) -> None:
    """Recommend a number of clusters for features or labels in parquet files."""
    paths: list[Path] = arguments.files
    check_select(arguments)
    _check_workers(arguments)
    require_package(f"{paths[0]}: reading rows in partitions", "dask", "dask")
    if arguments.output is not None:
        _refuse_inside(arguments.output, paths)
    files = _files(paths)
    _find_id(arguments, files)
    data: Any
    with Stages() as stages, _workers(arguments, stages) as client:
        if arguments.labels:
            data = _read_partitions(files, arguments.columns, arguments, client, stages)
            rows, columns = int(data.weights.sum()), data.n_members
            size = f"{counted(rows, 'sample')}, {counted(columns, 'member')}"
        else:
            features = _open_features(arguments, paths[0], files, client)
            stages.begin("drawing a sample")
            drawn = features.draw(generator(arguments.seed))
            data = table_features(drawn, _encoder(arguments, features))
            rows, columns = sum(features.lengths), data.shape[1]
            size = f"{counted(rows, 'sample')}, {counted(columns, 'feature')}"
            if len(data) < rows:
                size += f", of which {len(data):,} were drawn"
        selection = chosen_k(arguments, data, None, stages)
    shown_paths = listed(map(str, paths), 5)
    input = {"file": shown_paths, "parts": len(files), "rows": rows, "columns": columns}
    headline = f"{shown_paths}: {size}, in {counted(len(files), 'parquet file')}"
    show_selection(arguments, log, selection, input, headline)


def _carry_out(
    arguments: argparse.Namespace, log: RunLog, paths: Sequence[Path], work: Work
) -> None:
    """Check the options, run ``work`` on the workers, write files, and print the summary."""
    _check_workers(arguments)
    if arguments.truth is not None:
        raise UsageError(
            "--truth does not work for rows in partitions; leave it out"
            + (", and drop the column (--drop)" if arguments.command == "cluster" else "")
        )
    require_package(f"{paths[0]}: reading rows in partitions", "dask", "dask")
    columns = (LABEL, CONFIDENCE, DISTINCT)
    check_outputs(arguments, paths, partial(_check_directory, paths), columns)
    files = _files(paths)
    _find_id(arguments, files)
    with warnings.catch_warnings(), Stages() as stages:
        # Dask's warning about the table of distinct rows does not help the user, who cannot shrink it
        warnings.filterwarnings("ignore", message="Sending large graph")
        with _workers(arguments, stages) as client:
            labelled, selection = work(files, client, stages)
            rows = int(labelled.model.ensemble_.weights.sum())
            result = log.result(
                labelled.model,
                selection=selection,
                input={
                    "file": listed(map(str, paths), 5),
                    "parts": len(files),
                    "rows": rows,
                    "columns": labelled.n_columns,
                },
            )
            if arguments.output is not None:
                stages.begin("writing labels")
                _write_labels(arguments, log, labelled, result, client, stages)
        stages.begin("writing")
        write_result_and_report(arguments, log, result)
    size = counted(rows, "sample")
    if arguments.command == "cluster":
        size += f", {counted(labelled.n_columns, 'column')} used"
    size += f", in {counted(len(files), 'parquet file')}"
    if arguments.id is not None:
        size += f", ids in {arguments.id!r}"
    summarise(arguments, log, result, f"{listed(map(str, paths), 5)}: {size}")


# ---------------------------------------------------------------------- before the work


def _find_id(arguments: argparse.Namespace, files: Sequence[str]) -> None:
    """If no column of ids was named, look for one in the first rows."""
    from pyarrow import ArrowException, parquet

    if arguments.id is not None:
        return
    try:
        with parquet.ParquetFile(files[0]) as file:
            head = next(file.iter_batches(HEAD_ROWS), None)
        if head is None:
            return
        id_column = TableEncoder().fit(head.to_pandas(ignore_metadata=True)).id_column_
    except (ArrowException, OSError, CoterieError):
        # the error about these rows comes when all rows are read
        return
    wanted = getattr(arguments, "label", None) or getattr(arguments, "columns", None) or ()
    dropped = getattr(arguments, "drop", ())
    if id_column not in (*wanted, *dropped, LABEL, CONFIDENCE, DISTINCT):
        arguments.id = id_column


def _check_workers(arguments: argparse.Namespace) -> None:
    """Refuse options that do not go together."""
    if arguments.transpose:
        raise UsageError("--transpose does not work for rows in partitions; leave it out")
    if arguments.scheduler is not None and (
        arguments.workers is not None or arguments.worker_memory is not None
    ):
        raise UsageError(
            "--workers and --worker-memory start workers on this machine; leave them out with "
            "--scheduler"
        )
    if arguments.worker_memory is not None:
        if arguments.workers == 0:
            raise UsageError("--worker-memory needs workers, but --workers 0 starts none")
        try:
            memory_budget(arguments.worker_memory)
        except ValueError as error:
            raise UsageError(str(error).replace("memory_budget", "--worker-memory")) from None


def _files(paths: Sequence[Path]) -> list[str]:
    """The parquet files that the paths name, each once."""
    from coterie.scale.parquet import parquet_files

    require_pyarrow(paths[0])
    files: list[Path] = []
    for path in paths:
        if path.is_file() and path.suffix.lower() != PARQUET:
            raise DataError(
                f"{path}: only parquet files can be read in partitions; to read it into memory, leave "
                "out --scheduler, --workers and --worker-memory"
            )
        try:
            matching = parquet_files(path)
        except DataError:
            if path.is_dir():
                raise DataError(f"{path} is a directory without parquet files") from None
            if is_pattern(path):
                raise DataError(f"{path}: no file matches this pattern") from None
            raise
        for file in matching:
            if file.suffix.lower() != PARQUET:
                raise DataError(f"{file}: the pattern {path} must match parquet files only")
        files += matching
    refuse_repeated(files)
    return [str(file) for file in files]


def _check_directory(paths: Sequence[Path], target: Path) -> None:
    """Refuse a directory that the labels cannot be written to."""
    kind = target.suffix.lower()
    if kind in OTHER_KINDS:
        raise UsageError(
            f"-o {target}: labels of rows in partitions are written as a directory of parquet files; "
            f"name a directory, such as {target.with_suffix('')}"
        )
    _refuse_inside(target, paths)
    if target.is_file():
        raise UsageError(f"-o {target} is a file; name a directory for the labels of all rows")
    if target.is_dir() and any(target.iterdir()):
        raise UsageError(f"-o {target} is not empty; name another directory or remove it first")
    check_writable(target / "part" if target.is_dir() else target, None)


def _refuse_inside(target: Path, paths: Sequence[Path]) -> None:
    """Refuse an output that the same command would read as input the next time."""
    for path in paths:
        source = _root(path)
        if source.is_dir() and Path(realpath(target)).is_relative_to(realpath(source)):
            raise UsageError(f"-o {target} is inside the input {path}; name another directory")


def _root(path: Path) -> Path:
    """The directory that is read with its subdirectories; the path itself if there is none."""
    if not is_pattern(path):
        return path
    magic = [i for i, part in enumerate(path.parts) if has_magic(part)]
    if magic == [len(path.parts) - 1] and path.name != "**":
        # a pattern within one directory does not match other directories
        return path
    return Path(*path.parts[: magic[0]])


def _open_features(
    arguments: argparse.Namespace,
    path: Path,
    files: list[str],
    client: Any,
    callback: Progress | None = None,
) -> DaskFeatures:
    """The columns to cluster by, in the order of the files."""
    from coterie.scale import features_from_dask
    from coterie.scale.source import open_labels

    layout = open_labels(files, None, arguments.id, None).layout
    present = [str(column) for column in layout.columns]
    wanted = arguments.columns or present
    for name in [*wanted, *arguments.drop]:
        if name not in present and name != arguments.id:
            raise DataError(absent_column(files[0], name, present))
    left_out = {*arguments.drop, arguments.id}
    kept = [name for name in present if name in wanted and name not in left_out]
    if not kept:
        raise DataError(f"{path}: no column is left to cluster")
    for name in arguments.categories:
        if name not in present:
            raise DataError(absent_column(files[0], name, present))
    return features_from_dask(
        files, columns=kept, id=arguments.id, client=client, callback=callback
    )


def _encoder(arguments: argparse.Namespace, features: DaskFeatures) -> TableEncoder:
    """The encoder for the columns that are read; columns to drop are not."""
    return requested_encoder(arguments, [str(name) for name in features.columns])


# ---------------------------------------------------------------------- the work


@contextmanager
def _workers(arguments: argparse.Namespace, stages: Stages) -> Iterator[Any]:
    """A client of the given scheduler or of workers on this machine; None for threads of this process."""
    from coterie.scale import local_cluster

    stages.begin("starting workers")
    if arguments.scheduler is not None:
        with connected(arguments.scheduler) as client:
            yield client
    elif arguments.workers == 0:
        yield None
    else:
        with local_cluster(arguments.workers, arguments.worker_memory) as client:
            _print_dashboard(client)
            yield client


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of the scheduler at an address, closed at the end of the ``with`` block."""
    from coterie.scale import connect
    from coterie.scale.engine import quiet

    client = connect(address)
    # the command prints one line about a lost scheduler; Dask's own log would repeat it
    with quiet():
        try:
            _print_dashboard(client)
            yield client
        finally:
            client.close()


def _print_dashboard(client: Any) -> None:
    """Print the address of the dashboard while the workers run."""
    from coterie.scale import dashboard_address

    address = dashboard_address(client)
    message = (
        "the scheduler has no dashboard to watch the workers"
        if address is None
        else f"watch the workers at {address}"
    )
    sys.stderr.write(f"coterie: {message}\n")


def _read_partitions(
    files: list[str],
    columns: Sequence[str] | None,
    arguments: argparse.Namespace,
    client: Any,
    stages: Stages,
) -> Ensemble:
    from coterie.scale import ensemble_from_dask

    stages.begin("reading")
    return ensemble_from_dask(
        files, columns=columns, id=arguments.id, client=client, callback=stages.reach
    )


def _write_labels(
    arguments: argparse.Namespace,
    log: RunLog,
    labelled: Labelled,
    result: Result,
    client: Any,
    stages: Stages,
) -> None:
    from coterie.scale import labels_to_parquet

    labels_to_parquet(
        arguments.output,
        labelled.model.ensemble_,
        {
            LABEL: result.labels,
            CONFIDENCE: np.round(result.sample_confidence, 6),
            DISTINCT: np.arange(len(result.labels), dtype=np.int32),
        },
        labelled.rows,
        columns=labelled.columns,
        id=arguments.id,
        client=client,
        callback=stages.reach,
    )
    log.written.append(("labels", arguments.output))
