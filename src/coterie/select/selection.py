"""The result of select_k."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import ParameterError
from coterie.core.html import card, folded, paragraph
from coterie.core.tables import Table
from coterie.core.types import FloatArray
from coterie.select.choice import listed_ks
from coterie.select.criteria import CRITERIA

WIDTH = 80
_ARRAYS = ("ks", "cdf", "cdf_grid", "delta_area", "labels")


@dataclass(frozen=True, eq=False)
class Selection:
    """The criteria at each number of clusters, and the recommended number.

    Attributes
    ----------
    ks : ndarray, shape (K,)
        The numbers of clusters that were compared.
    criteria : dict of ndarray, shape (K,)
        Each criterion at each k, NaN where it is not defined.
    cdf, cdf_grid : ndarray, shapes (K, G) and (G,)
        Share of the pairs of samples whose consensus index is at most the grid value.
    delta_area : ndarray, shape (K,)
        Relative growth of the area under the CDF; the first entry is the area itself.
    recommended : int
        The number of clusters to take; 1 if no clear clusters were found, or nothing could be tested.
    evidence : dict of int to str
        Every number of clusters that there is evidence for, ascending, and the kinds of evidence:
        "borders", "replication", "likelihood" (from features), "classes", "crossing" or
        "intersections" (from labels), with commas between them. A coarse and a fine partition may both
        be supported. From features, numbers may be supported although 1 is recommended, if clusters run
        into each other.
    p_value : float
        The probability of as much evidence without structure; NaN if it cannot be tested.
    reason : str
        Why this number is recommended.
    labels : ndarray of int32, shape (K, n)
        The partition at each k, -1 for a sample that no member labelled.
    notes : tuple of str
        Remarks: what was left out or computed on a part of the samples, and whether the solver
        failed to converge at the recommended k.
    """

    ks: NDArray[np.int64]
    criteria: dict[str, FloatArray]
    cdf: FloatArray
    cdf_grid: FloatArray
    delta_area: FloatArray
    recommended: int
    evidence: dict[int, str]
    p_value: float
    reason: str
    labels: NDArray[np.int32]
    notes: tuple[str, ...] = ()

    @property
    def supported(self) -> tuple[int, ...]:
        """Every number of clusters that there is evidence for, ascending."""
        return tuple(self.evidence)

    @property
    def smallest_supported(self) -> int:
        """The smallest number of clusters above 1 that there is evidence for; 2 if there is none."""
        return next((k for k in self.supported if k > 1), 2)

    @property
    def structure(self) -> bool:
        """Whether more than one cluster is recommended."""
        return self.recommended > 1

    @property
    def tested(self) -> bool:
        """Whether structure could be tested."""
        return not np.isnan(self.p_value)

    def labels_at(self, k: int) -> NDArray[np.int32]:
        """The partition of the samples into k clusters, k among ``ks`` or 1."""
        rows = np.flatnonzero(self.ks == k)
        if rows.size:
            return self.labels[rows[0]]
        if k == 1:
            return np.minimum(self.labels[0], 0)
        raise ParameterError(f"k is {k}, but only {', '.join(map(str, self.ks))} were compared")

    def fewest_groups(self, n_samples: int) -> NDArray[np.int32] | None:
        """The partition into the fewest clusters above 1 that there is evidence for.

        None if there is no evidence, or if partitions of other samples were compared.
        """
        k = self.smallest_supported
        known = k in self.evidence and k in self.ks and self.labels.shape[1] == n_samples
        return self.labels_at(k) if known else None

    def table(self) -> Table:
        """One row per k: each criterion, the kinds of evidence, and whether it is recommended."""
        columns: dict[str, Any] = {"k": self.ks, **self.criteria}
        columns["evidence"] = [self.evidence.get(int(k), "") for k in self.ks]
        columns["recommended"] = self.ks == self.recommended
        return Table(columns)

    def to_record(self) -> dict[str, Any]:
        """A flat dict of arrays and JSON values, for files; see :meth:`from_record`."""
        record: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "criteria":
                record.update({f"criteria.{name}": array for name, array in value.items()})
            elif field.name == "evidence":
                # JSON has no numbers as keys
                record[field.name] = {str(k): kinds for k, kinds in value.items()}
            else:
                record[field.name] = list(value) if isinstance(value, tuple) else value
        # JSON has no NaN
        record["p_value"] = self.p_value if self.tested else None
        return record

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Selection:
        """Read a selection from a record that :meth:`to_record` returned.

        Examples
        --------
        >>> from coterie import Ensemble
        >>> from coterie.select import Selection, select_k
        >>> ensemble = Ensemble.from_labels([[0, 0, 0], [0, 0, 0], [1, 1, 1], [1, 1, 1]])
        >>> selection = select_k(ensemble, k=[2], random_state=0)
        >>> Selection.from_record(selection.to_record()).recommended
        2
        """
        # files of earlier versions lack these two
        supported = dict.fromkeys(record.get("supported", ()), "")
        record = {"evidence": supported, "p_value": None, **record}
        wanted = [field.name for field in fields(cls) if field.name != "criteria"]
        absent = [name for name in wanted if name not in record]
        if absent:
            raise ValueError(
                f"the record of a selection lacks {', '.join(absent)}; it is incomplete or not the "
                "record of a selection"
            )
        values: dict[str, Any] = {
            name: np.asarray(record[name]) if name in _ARRAYS else record[name] for name in wanted
        }
        values["criteria"] = {
            key.removeprefix("criteria."): np.asarray(array)
            for key, array in record.items()
            if key.startswith("criteria.")
        }
        _check_values(values)
        values["recommended"] = int(values["recommended"])
        values["evidence"] = {int(k): str(kinds) for k, kinds in values["evidence"].items()}
        values["p_value"] = float("nan" if values["p_value"] is None else values["p_value"])
        values["notes"] = tuple(values["notes"])
        return cls(**values)

    def headline(self) -> str:
        """The recommendation in a few words."""
        if not self.structure and self.supported:
            return f"No separated clusters; there is weaker evidence for {listed_ks(self.supported)} clusters"
        if not self.structure:
            return "No structure was found" if self.tested else "Structure could not be tested"
        others = [k for k in self.supported if k != self.recommended]
        verb = "is" if len(others) == 1 else "are"
        also = f" ({listed_ks(others)} {verb} supported, too)" if others else ""
        return f"{self.recommended} clusters{also}{'' if self.tested else ', not tested'}"

    def sentences(self) -> list[str]:
        """The reason and the notes."""
        return [self.reason, *self.notes]

    def columns(self) -> list[list[str]]:
        """The criteria as text for a narrow table: a heading, and one cell per k."""
        columns = []
        for name, values in self.criteria.items():
            heading = CRITERIA[name].short if name in CRITERIA else name
            columns.append([heading, *map(_as_text, values)])
        return [*columns, ["supported", *("yes" if k in self.evidence else "no" for k in self.ks)]]

    def __str__(self) -> str:
        wrapped = [line for text in self.sentences() for line in textwrap.wrap(text, WIDTH)]
        return "\n".join([self.headline(), "", *self._lines(), "", *wrapped])

    def _lines(self) -> list[str]:
        """The criteria as aligned text."""
        marked = [f"{k}{'*' if k == self.recommended else ' '}" for k in self.ks]
        columns = [["k", *marked], *self.columns()]
        widths = [max(map(len, column)) for column in columns]
        return [
            " ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in zip(*columns, strict=True)
        ]

    def _repr_html_(self) -> str:
        return card(
            self.headline(), *map(paragraph, self.sentences()), folded("criteria", self.table())
        )

    def __repr__(self) -> str:
        return (
            f"Selection(recommended={self.recommended}, structure={self.structure}, "
            f"ks={self.ks.min()}..{self.ks.max()}, criteria={', '.join(self.criteria)})"
        )


def _check_values(values: Mapping[str, Any]) -> None:
    """Raise ValueError if a value has the wrong type, or a length that does not match ``ks``."""
    ks, grid = values["ks"], values["cdf_grid"]
    if ks.ndim != 1 or ks.size == 0 or ks.dtype.kind not in "iu":
        raise ValueError("ks of the selection must be a list of whole numbers")
    shapes: dict[str, tuple[Any, tuple[int, ...]]] = {
        f"criteria.{name}": (array, ks.shape) for name, array in values["criteria"].items()
    }
    shapes["delta_area"] = values["delta_area"], ks.shape
    shapes["cdf_grid"] = grid, (grid.size,)
    shapes["cdf"] = values["cdf"], (ks.size, grid.size)
    shapes["labels"] = values["labels"], (ks.size, *values["labels"].shape[1:2])
    for name, (array, shape) in shapes.items():
        if array.shape != shape or array.dtype.kind not in "iuf":
            raise ValueError(f"{name} of the selection must hold numbers in the shape {shape}")
    if values["labels"].ndim != 2 or values["labels"].dtype.kind == "f":
        raise ValueError("labels of the selection must be whole numbers, one row per k")
    if not all(isinstance(text, str) for text in (values["reason"], *values["notes"])):
        raise ValueError("reason and notes of the selection must be text")
    evidence = values["evidence"]
    if not isinstance(evidence, Mapping) or not all(
        str(k).isdecimal() and isinstance(kinds, str) for k, kinds in evidence.items()
    ):
        raise ValueError("evidence of the selection must map each number of clusters to a text")


def _as_text(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.2f}"
