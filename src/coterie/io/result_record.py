"""The parts of a saved result: their types, and checks of the ensemble in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.ensemble import Ensemble

# kinds of the parts of a record, as check_kinds takes them
RESULT_KINDS: dict[str, Any] = {
    "method": str,
    "parameters": dict,
    "seed": (int, type(None)),
    "labels": "iu",
    "sample_confidence": "f",
    "member_weights": "f",
    "n_clusters": int,
    "converged": bool,
    "history": list,
    "ensemble": dict,
    "selection": (dict, type(None)),
    "coordinates": "f?",
    "coordinates_name": str,
    "matrix": "f?",
    "matrix_name": str,
    "truth": "biufmMUSO?",
    "input": dict,
    "versions": dict,
    "warnings": list,
    "seconds": (int, float, type(None)),
    "created": str,
    "verdict": (dict, type(None)),
    "columns": list,
    "profile": (dict, type(None)),
}
COLUMN_KINDS: dict[str, Any] = {
    "column": str,
    "kind": str,
    "used": bool,
    "missing": int,
    "treatment": str,
}
ENSEMBLE_KINDS: dict[str, Any] = {
    "labels": "i",
    "weights": "if",
    "inverse": "i",
    "members": list,
    "categories": list,
    "member_weight": "f",
    "sample_weight": "biuf?",
    "sample_ids": "biufmMUSO?",
}


def check_kinds(values: Mapping[str, Any], kinds: Mapping[str, Any]) -> None:
    """Raise ValueError for a part of the wrong type.

    A kind is a type or, for an array, the allowed kinds of dtype, with ? if it is optional.
    """
    for name, kind in kinds.items():
        value = values[name]
        if not isinstance(kind, str):
            fits = isinstance(value, kind)
        elif isinstance(value, np.ndarray):
            fits = value.dtype.kind in kind
        else:
            fits = value is None and "?" in kind
        if not fits:
            raise ValueError(f"{name} has the wrong type")


def check_shape(name: str, array: NDArray[Any] | None, shape: tuple[int, ...]) -> None:
    """Raise ValueError for an array of another shape."""
    if array is not None and np.shape(array) != shape:
        raise ValueError(f"{name} must have shape {shape}, but has {np.shape(array)}")


def ensemble_of(record: Mapping[str, Any]) -> Ensemble:
    """The ensemble of a record, after checking its arrays against each other."""
    values = dict(record)
    check_kinds(values, ENSEMBLE_KINDS)
    if not all(isinstance(name, str) for name in values["members"]):
        raise ValueError("a member has no name")
    if not all(
        isinstance(values_of_member, np.ndarray) and values_of_member.ndim == 1
        for values_of_member in values["categories"]
    ):
        raise ValueError("a member has no clusters")
    values["members"] = tuple(values["members"])
    values["categories"] = tuple(values["categories"])
    ensemble = Ensemble(**values)
    size, m = ensemble.labels.shape
    n = ensemble.n_samples
    check_shape("weights", ensemble.weights, (size,))
    check_shape("inverse", ensemble.inverse, (n,))
    check_shape("member_weight", ensemble.member_weight, (m,))
    check_shape("sample_weight", ensemble.sample_weight, (n,))
    check_shape("sample_ids", ensemble.sample_ids, (n,))
    if len(ensemble.members) != m or len(ensemble.categories) != m:
        raise ValueError(f"labels has {m} members, but members or categories has another length")
    if not np.array_equal(np.unique(ensemble.inverse), np.arange(size)):
        raise ValueError("the samples do not fill all microclusters")
    for name in ("weights", "member_weight"):
        weight = getattr(ensemble, name)
        if not (np.isfinite(weight) & (weight > 0)).all():
            raise ValueError(f"{name} is not positive everywhere")
    counts = np.bincount(ensemble.inverse, weights=ensemble.sample_weight, minlength=size)
    if not np.allclose(counts, ensemble.weights, rtol=1e-6, atol=0.0):
        raise ValueError("the weights of microclusters and samples differ")
    if (ensemble.labels >= ensemble.n_clusters_per_member).any() or (ensemble.labels < -1).any():
        raise ValueError("a label exceeds the number of clusters of its member")
    if len(np.unique(ensemble.base_clusters[ensemble.observed])) != ensemble.n_base_clusters:
        raise ValueError("a cluster of a member has no samples")
    return ensemble
