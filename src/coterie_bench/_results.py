"""Tables and figures from a directory of runs."""

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
    """Summarise the runs of a directory: scores, tests, ranks and costs.

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
    """Draw every figure that the runs of a directory support, and list the captions.

    Parameters
    ----------
    directory : path
        Directory of the runs, from :func:`run`.
    folder : path, optional
        Folder for the figures; by default ``figures`` in the directory.
    formats : sequence of {"svg", "png", "pdf"}, default ("svg", "png")
    data : sequence of paths
        Folders of data sets; needed only if the spec takes its draws from a file.
    callback : callable, optional
        Called with each figure before it is drawn.
    """
    store = RunStore(directory)
    spec, runs = store.spec(), store.runs()
    folders = data_folders([Path(path) for path in data])
    planned = figures(runs, spec, _ensembles(store, spec, runs, folders))
    target = Path(directory) / "figures" if folder is None else Path(folder)
    return save_figures(planned, target, formats, callback=callback)


def _ensembles(
    store: RunStore, spec: Spec, runs: Sequence[RunRecord], folders: Sequence[Path]
) -> Callable[[str], tuple[Ensemble, NDArray[np.int64] | None]]:
    """A function that returns the first ensemble of a data set, as used by the runs."""
    kinds = usual_kind(runs)
    sources = {source.name: source for source in spec.data}

    def first(name: str) -> tuple[Ensemble, NDArray[np.int64] | None]:
        source = sources[name]
        members, missing = kinds[name]
        path = store.pool_path(name, missing if made_partial(source) else None)
        if not path.exists():
            raise DataError(
                f"{path}, the pool of {name}, is missing; coterie bench run makes it again"
            )
        pool = DataPool.load(name, path)
        columns = None
        if spec.protocol.columns and not store.draws_absent_path.exists():
            # directories of earlier versions have no copy of the draws
            copy = store.draws_path
            path_of_draws = copy if copy.exists() else find([spec.protocol.columns], folders)
            if path_of_draws is None:
                raise DataError(
                    f"the draws {spec.protocol.columns!r} of {name} are missing; give their folder "
                    "(--data)"
                )
            columns = read_columns(path_of_draws, spec.protocol)
        ensemble = ensemble_of(source, pool, spec.protocol, members, missing, 0, spec.seed, columns)
        return ensemble, pool.classes

    return first
