"""Small data sets with known classes, shipped with scikit-learn or generated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import ParameterError
from coterie.core.params import nearest
from coterie.core.random import generator

__all__ = ["Dataset", "load", "names"]


@dataclass(frozen=True)
class Dataset:
    """Features, known classes and a description."""

    name: str
    X: NDArray[np.float64]
    y: NDArray[np.int64]
    description: str

    @property
    def n_classes(self) -> int:
        """Number of known classes."""
        return len(np.unique(self.y))


def names() -> list[str]:
    """Names of the data sets that :func:`load` can load.

    Examples
    --------
    >>> from coterie.datasets import names
    >>> "digits" in names()
    True
    """
    return sorted([*_EMBEDDED, *_GENERATED])


def load(name: str, random_state: int = 0) -> Dataset:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    random_state : int, default 0
        Seed of the generated shapes.

    Examples
    --------
    >>> from coterie.datasets import load
    >>> digits = load("digits")
    >>> digits.X.shape, digits.n_classes
    ((1797, 64), 10)
    """
    rng = generator(random_state)
    if not isinstance(name, str):
        raise ParameterError(f"name must be one of {', '.join(names())}, but is {name!r}")
    if name in _EMBEDDED:
        from sklearn import datasets

        bunch = getattr(datasets, f"load_{name}")()
        return Dataset(name, bunch.data, bunch.target.astype(np.int64), _EMBEDDED[name])
    if name in _GENERATED:
        make, description = _GENERATED[name]
        X, y = make(rng)
        return Dataset(name, X, y.astype(np.int64), description)
    raise ParameterError(
        f"no data set {name!r}{nearest(name, names())} (known: {', '.join(names())})"
    )


def _blobs(rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[Any]]:
    angle = 2 * np.pi * np.arange(5) / 5
    centres = 8 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    y = np.repeat(np.arange(5), 100)
    return centres[y] + rng.standard_normal((500, 2)), y


def _rings(rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[Any]]:
    y = np.repeat(np.arange(3), 200)
    angle = rng.uniform(0, 2 * np.pi, 600)
    radius = np.array([1.0, 3.0, 5.0])[y] + 0.15 * rng.standard_normal(600)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), y


def _moons(rng: np.random.Generator) -> tuple[NDArray[np.float64], NDArray[Any]]:
    y = np.repeat(np.arange(2), 250)
    angle = rng.uniform(0, np.pi, 500)
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    X[y == 1] = np.array([1.0, 0.5]) - X[y == 1]
    return X + 0.08 * rng.standard_normal((500, 2)), y


_EMBEDDED = {
    "breast_cancer": "569 breast masses, 30 measurements, benign or malignant (UCI)",
    "digits": "1,797 handwritten digits, 8 x 8 grey levels, ten classes (UCI)",
    "iris": "150 iris flowers, four measurements, three species (Fisher)",
    "wine": "178 wines, 13 chemical measurements, three growers (UCI)",
}
_GENERATED: dict[
    str, tuple[Callable[[np.random.Generator], tuple[NDArray[np.float64], NDArray[Any]]], str]
] = {
    "blobs": (_blobs, "five round clusters of 100 points on a circle"),
    "moons": (_moons, "two interleaved half circles of 250 points"),
    "rings": (_rings, "three concentric rings of 200 points"),
}
