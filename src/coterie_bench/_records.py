"""The record of one run: a row in the table of runs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args

Status = Literal["ok", "failed", "time cap", "memory cap"]
# whole numbers are kept in 32 bits, these in 64
LARGEST, LARGEST_OF_ALL = 2**31 - 1, 2**63 - 1
WIDE = ("n_samples", "n_microclusters", "seed")
# pseudo-methods: the members themselves, scored one by one
BASE_AVERAGE, BASE_BEST = "base average", "base best"


@dataclass(frozen=True)
class RunKey:
    """Identifies a run; equal keys are the same run, whichever process executes it."""

    data: str
    # members of each ensemble, and the share of labels removed
    members: int
    missing: float
    repetition: int
    # the name of the method in the spec, and its parameters as JSON with sorted keys
    method: str
    setting: str

    def __str__(self) -> str:
        missing = f", {self.missing:.0%} missing" if self.missing else ""
        setting = "" if self.setting == "{}" else f" {self.setting}"
        return (
            f"{self.method}{setting} on {self.data} "
            f"({self.members} members{missing}, repetition {self.repetition})"
        )


@dataclass(frozen=True)
class RunRecord:
    """A finished run. A failed run has no scores, rather than scores of 0."""

    key: RunKey
    # the name of the method in coterie; empty for the members themselves
    solver: str
    # whether the setting is the method's default; the others are from its grid
    default: bool
    # the method of which this one is an ablation, or empty
    ablation_of: str
    status: Status
    # why the run failed
    message: str
    # by metric; empty if the classes are unknown
    scores: Mapping[str, float]
    n_clusters: int | None
    n_clusters_wanted: int | None
    n_samples: int
    n_microclusters: int
    seconds: float | None
    # above the memory before the run
    peak_mib: float | None
    converged: bool | None
    passes: int | None
    # objective by pass, if the method has one
    objective: tuple[float, ...] = ()
    # of the labels, independent of the names of the clusters
    labels_digest: str = ""
    seed: int = 0

    @property
    def parameters(self) -> dict[str, Any]:
        """The setting as a dictionary."""
        parameters: dict[str, Any] = json.loads(self.key.setting)
        return parameters

    def to_json(self) -> str:
        """The record as one line of JSON."""
        return json.dumps(asdict(self), sort_keys=True, allow_nan=True)

    @classmethod
    def from_json(cls, line: str) -> RunRecord:
        """Read what :meth:`to_json` wrote; other text raises ValueError, TypeError or KeyError."""
        values = json.loads(line)
        if not isinstance(values, dict):
            raise TypeError(f"a run is an object, not {type(values).__name__}")
        values["key"] = RunKey(**values["key"])
        values["objective"] = tuple(values["objective"])
        known = {part.name for part in fields(cls)}
        if unknown := values.keys() - known:
            raise ValueError(f"unknown fields {sorted(unknown)}")
        record = cls(**values)
        record.check()
        return record

    def check(self) -> None:
        """Raise ValueError if a field has a wrong type or value, as in a damaged file."""
        for record in (self.key, self):
            for name, kinds in _FIELDS[type(record)].items():
                value = getattr(record, name)
                most = LARGEST_OF_ALL if name in WIDE else LARGEST
                if type(value) not in kinds or (type(value) is int and abs(value) > most):
                    raise ValueError(f"{name} is {value!r}")
                if isinstance(value, str):
                    # a lone surrogate raises a ValueError too
                    value.encode()
        numbers = [*self.scores.values(), *self.objective]
        if self.status not in get_args(Status) or not all(
            type(number) is float or (type(number) is int and abs(number) <= LARGEST)
            for number in numbers
        ):
            raise ValueError(f"status, scores or objective of {self.key} are damaged")
        if not isinstance(self.parameters, dict):
            raise ValueError(f"setting is {self.key.setting!r}")


_REAL = (int, float)
_FIELDS: dict[type, dict[str, tuple[type, ...]]] = {
    RunKey: {
        "data": (str,),
        "members": (int,),
        "missing": _REAL,
        "repetition": (int,),
        "method": (str,),
        "setting": (str,),
    },
    RunRecord: {
        "solver": (str,),
        "default": (bool,),
        "ablation_of": (str,),
        "status": (str,),
        "message": (str,),
        "scores": (dict,),
        "n_clusters": (int, type(None)),
        "n_clusters_wanted": (int, type(None)),
        "n_samples": (int,),
        "n_microclusters": (int,),
        "seconds": (*_REAL, type(None)),
        "peak_mib": (*_REAL, type(None)),
        "converged": (bool, type(None)),
        "passes": (int, type(None)),
        "objective": (tuple,),
        "labels_digest": (str,),
        "seed": (int,),
    },
}


def setting_text(parameters: Mapping[str, Any]) -> str:
    """A setting as text for a key."""
    return json.dumps(dict(parameters), sort_keys=True, separators=(", ", ": "))
