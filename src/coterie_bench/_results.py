"""What a directory of runs says: tables and figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import DataError
from coterie.ensemble import Ensemble
from coterie_bench._data import DataPool, data_folders, find
from coterie_bench._protocol import ensemble_of, made_partial, read_columns
from coterie_bench._records import RunRecord
from coterie_bench._spec import Spec
from coterie_bench._store import RunStore
from coterie_bench._summary import Summary, summarise
from coterie_bench.figures import BenchFigure, Saved, figures, save_figures, usual_kind


def table(directory: str | PathLike[str]) -> Summary:
    """The runs of a directory, summed up: defaults, best settings, oracle, tests, ranks, costs.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from coterie_bench import parse_spec, run, table
    >>> text = '''
    ... metrics = ["ari"]
    ... [[data]]
    ... embedded = "iris"
    ... generate = {pool = 10}
    ... [[method]]
    ... solver = "eac"
    ... [protocol]
    ... members = 10
    ... repetitions = 1
    ... '''
    >>> with TemporaryDirectory() as folder:
    ...     outcome = run(parse_spec(text), folder)
    ...     (cell,) = table(folder).cells
    ...     [line.method for line in cell.lines]
    ['base average', 'base best', 'eac']
    """
    store = RunStore(directory)
    return summarise(store.runs(), store.spec())


def plot(
    directory: str | PathLike[str],
    folder: str | PathLike[str] | None = None,
    formats: Sequence[str] = ("svg", "png"),
    *,
    data: Sequence[str | PathLike[str]] = (),
    callback: Callable[[BenchFigure], object] | None = None,
) -> Saved:
    """Every figure that the runs of a directory support, and a list of their captions.

    Parameters
    ----------
    directory : path
        From :func:`run`.
    folder : path, optional
        Where the figures go; by default ``figures`` in the directory.
    formats : sequence of {"svg", "png", "pdf"}, default ("svg", "png")
    data : sequence of paths
        Folders with data sets, for draws that a file gives.
    callback : callable, optional
        Called with each figure before it is drawn.
    """
    store = RunStore(directory)
    spec, runs = store.spec(), store.runs()
    folders = data_folders([Path(place) for place in data])
    planned = figures(runs, spec, _ensembles(store, spec, runs, folders))
    target = Path(directory) / "figures" if folder is None else Path(folder)
    return save_figures(planned, target, formats, callback=callback)


def _ensembles(
    store: RunStore, spec: Spec, runs: Sequence[RunRecord], folders: Sequence[Path]
) -> Callable[[str], tuple[Ensemble, NDArray[np.int64] | None]]:
    """The first ensemble of each data set, as the runs met it."""
    kinds = usual_kind(runs)
    sources = {source.name: source for source in spec.data}

    def first(name: str) -> tuple[Ensemble, NDArray[np.int64] | None]:
        source = sources[name]
        members, missing = kinds[name]
        path = store.pool_path(name, missing if made_partial(source) else None)
        if not path.exists():
            raise DataError(f"{path} is missing: the pool of {name} was not kept")
        pool = DataPool.load(name, path)
        columns = None
        if spec.protocol.columns and not store.draws_absent_path.exists():
            # a directory may be older than the habit of keeping them
            kept = store.draws_path
            given = kept if kept.exists() else find([spec.protocol.columns], folders)
            if given is None:
                raise DataError(
                    f"the draws {spec.protocol.columns!r} of {name} are not there (--data)"
                )
            columns = read_columns(given, spec.protocol)
        ensemble = ensemble_of(source, pool, spec.protocol, members, missing, 0, spec.seed, columns)
        return ensemble, pool.classes

    return first
