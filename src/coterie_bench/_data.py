"""Find the data sets of a spec in the data folders, read them, and turn each into a pool of members."""

from __future__ import annotations

import math
import os
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie import datasets
from coterie.core.errors import DataError
from coterie.core.text import quoted
from coterie.ensemble import Ensemble
from coterie.generate import feature_pool, kmeans_pool, spectral_pool, subsample_pool
from coterie.io import read_table
from coterie.io.arrays import UNREADABLE, npy_header, read_arrays
from coterie.io.mat import read_shapes
from coterie.io.read import check_kind
from coterie.io.table import Column, FileTable, damaged
from coterie.io.write import whole_file
from coterie.numerics.partitions import by_first_appearance
from coterie_bench._published import data_key
from coterie_bench._spec import DataSource, Generate, SpecError

ENVIRONMENT_VARIABLE = "COTERIE_DATA"
READABLE = (".npz", ".mat", ".parquet", ".csv", ".tsv", ".npy")
# usual names of the known classes
CLASSES = ("gt", "y", "Y", "gnd", "truth", "classes", "class", "label", "labels")
# a file with one of these arrays holds labels; any other file holds features
LABELS = ("members", "Yi", "labels", "base")
# in a file with one of these arrays, `labels` are the classes
FEATURES = ("X", "fea", "data", "features")


class UnfitData(SpecError):
    """A data set that does not fit the protocol; the other data sets are still run."""


@dataclass(frozen=True)
class DataPool:
    """Clusterings of one data set, and its classes if they are known.

    ``labels`` has the shape (n, M), or (E, n, M) if the file holds E ensembles. -1 is a missing label.
    """

    name: str
    labels: NDArray[np.int32]
    classes: NDArray[np.int64] | None

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return self.labels.shape[-2]

    @property
    def n_classes(self) -> int | None:
        """Number of known classes."""
        return None if self.classes is None else len(np.unique(self.classes))

    def save(self, path: Path) -> None:
        """Write the pool to a file; an interrupted write leaves no file."""
        arrays: dict[str, NDArray[Any]] = {"members": self.labels}
        if self.classes is not None:
            arrays["gt"] = self.classes
        with whole_file(path) as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)

    @classmethod
    def load(cls, name: str, path: Path) -> DataPool:
        """Read what :meth:`save` wrote; a damaged file raises DataError."""
        try:
            # opened here because numpy leaves a damaged archive open
            with path.open("rb") as stream, np.load(stream, allow_pickle=False) as file:
                return cls(name, file["members"], file["gt"] if "gt" in file.files else None)
        except UNREADABLE as error:
            words = " ".join(str(error).split())
            raise DataError(f"{path} is damaged ({words}); coterie bench run repairs it") from error


def data_folders(given: Sequence[Path] = ()) -> list[Path]:
    """The folders to search for data sets: the given ones, else $COTERIE_DATA, else ./data."""
    folders = list(given)
    if not folders:
        variable = os.environ.get(ENVIRONMENT_VARIABLE)
        folders = [Path(variable)] if variable else [Path("data")]
    for folder in given:
        if not folder.is_dir():
            raise DataError(f"--data {folder}: no such directory")
    return folders


def find(names: Iterable[str], folders: Iterable[Path]) -> Path | None:
    """Find the file of a data set by any of its names; None if there is no file.

    Names may omit the extension, and upper and lower case are equal. A folder is searched before its
    subfolders, and the subfolder `pools` before the others. If no file has exactly this name, a longer
    name such as Tr41_878n_7454d_10c_tfidf_uni.mat is accepted for Tr41.
    """
    candidates = list(names)
    files = list(_files(folders))
    for name in candidates:
        for path, relative in files:
            stem = relative[: -len(path.suffix)]
            if name.lower() in (path.name.lower(), path.stem.lower(), relative, stem):
                return path
    for name in candidates:
        for path, _ in files:
            if data_key(path.stem) == data_key(name):
                return path
    return None


def _files(folders: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Readable files in the order of the search, and their paths relative to the data folder."""
    for folder in folders:
        if not folder.is_dir():
            continue
        subfolders = sorted(path for path in folder.iterdir() if path.is_dir())
        subfolders.sort(key=lambda path: path.name != "pools")
        for searched in (folder, *subfolders):
            files = sorted(path for path in searched.iterdir() if path.suffix.lower() in READABLE)
            files.sort(key=lambda path: READABLE.index(path.suffix.lower()))
            for path in files:
                yield path, path.relative_to(folder).as_posix().lower()


def load_pool(
    source: DataSource,
    folders: Sequence[Path],
    seed: int,
    missing: float = 0.0,
    n_jobs: int | None = None,
) -> DataPool | None:
    """Load or generate the pool of a data set; None if its file is not in any folder.

    Members are generated only from files of features; labels are used unchanged. For members generated
    on subsamples, ``missing`` is the share of samples that each member leaves out.
    """
    classes: NDArray[np.int64] | None
    if source.embedded:
        dataset = datasets.load(source.files[0])
        features, classes = dataset.X, dataset.y
    else:
        path = find(source.files, folders)
        if path is None:
            return None
        if holds_labels(path):
            # existing labels replace generated ones, but they were not made on subsamples
            if source.generate is not None and source.generate.kind == "subsample":
                raise UnfitData(
                    f"{path} holds labels, so the members of data {source.name!r} cannot be "
                    "generated on subsamples; leave out [data.generate] or give a file of features"
                )
            return _labels_of(source.name, path)
        features, classes = _features_of(path)
        if (
            classes is None
            and source.generate is not None
            and source.generate.clusters == "classes"
        ):
            raise SpecError(
                f"{path} has no classes, but clusters = 'classes' needs them; give a number of clusters"
            )
    ensemble = _members_of(features, classes, source.generate or Generate(), seed, missing, n_jobs)
    known_classes = None if classes is None else by_first_appearance(np.asarray(classes))
    return DataPool(source.name, _codes(ensemble), known_classes)


def holds_labels(path: Path) -> bool:
    """Whether the file is a pool of labels rather than features."""
    if path.suffix.lower() in (".npz", ".mat"):
        # a file of another format, such as MATLAB 7.3, raises its own error here
        check_kind(path)
        arrays = _sizes(path).keys()
        label_arrays = arrays & {*LABELS}
        return bool(label_arrays) and not (label_arrays == {"labels"} and arrays & {*FEATURES})
    return "labels" in path.stem.lower() or path.parent.name == "pools"


def _sizes(path: Path) -> dict[str, int]:
    """Number of entries of each array in an archive, by name. Only headers are read."""
    sizes = {}
    try:
        if path.suffix.lower() == ".mat":
            return {name: math.prod(shape) for name, shape in read_shapes(path).items()}
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                with archive.open(entry) as file:
                    shape, _ = npy_header(file)
                    sizes[entry.filename.removesuffix(".npy")] = math.prod(shape)
    except UNREADABLE as error:
        raise damaged(path, error) from None
    return sizes


def _labels_of(name: str, path: Path) -> DataPool:
    if path.suffix.lower() == ".npz" and "base" in _sizes(path):
        arrays = read_arrays(path)
        if arrays["base"].ndim == 3:
            return _given_ensembles(name, path, arrays)
    table = read_table(path, "labels")
    main, classes = _apart(table)
    columns = {column: table.labels(column) for column in main}
    ensemble = Ensemble.from_labels(columns)
    return DataPool(name, _codes(ensemble), classes)


def _given_ensembles(name: str, path: Path, arrays: Mapping[str, NDArray[Any]]) -> DataPool:
    labels = arrays["base"]
    if labels.dtype.kind not in "iu":
        raise DataError(f"{path}: 'base' must hold whole numbers, but holds {labels.dtype.name}")
    if labels.size == 0:
        raise DataError(f"{path}: 'base' is empty (shape {labels.shape})")
    if labels.max() > np.iinfo(np.int32).max:
        raise DataError(
            f"{path}: 'base' holds the label {labels.max()}, which exceeds 32 bits; number the "
            "clusters from 0"
        )
    classes = next((arrays[key] for key in CLASSES if key in arrays), None)
    if classes is not None and classes.size != labels.shape[1]:
        raise DataError(
            f"{path}: {classes.size} classes for {labels.shape[1]} samples; give one class per sample"
        )
    if classes is not None and (classes != classes).any():
        raise DataError(f"{path}: the classes must be known for every sample")
    known = None if classes is None else by_first_appearance(classes.ravel())
    return DataPool(name, np.where(labels < 0, -1, labels).astype(np.int32), known)


def _features_of(path: Path) -> tuple[NDArray[np.float64], NDArray[np.int64] | None]:
    table = read_table(path, "features")
    main, classes = _apart(table)
    return table.numbers(main), classes


def _apart(table: FileTable) -> tuple[list[str], NDArray[np.int64] | None]:
    """Separate the columns of the matrix from the classes."""
    known = [name for name in CLASSES if name in table.columns]
    if len(known) > 1 and table.lines is not None:
        raise DataError(
            f"{table.path}: each of the columns {quoted(known)} may hold the classes; rename all but "
            "one of them"
        )
    class_column = known[0] if known else None
    main = [name for name in table.main if name != class_column]
    if not main:
        raise DataError(f"{table.path}: there is no column besides the classes")
    if class_column is None:
        _refuse_unequal(table)
        return main, None
    classes: Column = table.labels(class_column)
    if any(value is None or value != value for value in classes):
        raise DataError(
            f"{table.path}: the classes in {class_column!r} must be known for every sample"
        )
    _, codes = np.unique(np.asarray(classes).astype(str), return_inverse=True)
    return main, by_first_appearance(codes)


def _refuse_unequal(table: FileTable) -> None:
    """Reject classes whose length differs from the matrix, rather than ignore them."""
    if table.path.suffix.lower() not in (".npz", ".mat"):
        return
    for name, size in _sizes(table.path).items():
        if name in CLASSES and f"{name}_0" not in table.main:
            advice = (
                "transpose the matrix, because samples are its rows"
                if size == len(table.main)
                else "give one class per sample"
            )
            raise DataError(
                f"{table.path}: {size} classes in {name!r} for {table.n_rows} samples; {advice}"
            )


def _members_of(
    X: NDArray[np.float64],
    classes: NDArray[Any] | None,
    how: Generate,
    seed: int,
    missing: float,
    n_jobs: int | None,
) -> Ensemble:
    clusters: Any = how.clusters
    if clusters == "classes":
        clusters = len(np.unique(np.asarray(classes)))
    if how.kind == "kmeans":
        return kmeans_pool(X, how.pool, clusters, random_state=seed, n_jobs=n_jobs)
    if how.kind == "spectral":
        return spectral_pool(X, how.pool, clusters, random_state=seed, n_jobs=n_jobs)
    if how.kind == "features":
        return feature_pool(X, how.pool, clusters, random_state=seed, n_jobs=n_jobs)
    return subsample_pool(
        X, how.pool, clusters, share=1 - missing, random_state=seed, n_jobs=n_jobs
    )


def _codes(ensemble: Ensemble) -> NDArray[np.int32]:
    return np.asarray(ensemble.labels[ensemble.inverse], dtype=np.int32)
