"""The result of select_k."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.tables import Table
from coterie.core.types import FloatArray
from coterie.select.criteria import CRITERIA

WIDTH = 80
_BY_NAME = ("criteria", "null", "permuted")
_ARRAYS = ("ks", "cdf", "cdf_grid", "delta_area", "scores", "labels")


@dataclass(frozen=True, eq=False)
class Selection:
    """The criteria at each number of clusters, and the recommended number.

    Attributes
    ----------
    ks : ndarray, shape (K,)
        The numbers of clusters that were compared.
    criteria : dict of ndarray, shape (K,)
        Each criterion at each k, NaN where it is not defined.
    votes : dict of int
        The k that each criterion prefers; criteria that are biased are compared with the null model.
    null : dict of ndarray, shape (K,)
        Each criterion on data without structure: see ``null_model``.
    permuted : dict of ndarray, shape (K,)
        Each criterion after shuffling every member's labels independently.
    cdf, cdf_grid : ndarray, shapes (K, G) and (G,)
        Share of the pairs of samples whose consensus index is at most the grid value.
    delta_area : ndarray, shape (K,)
        Relative growth of the area under the CDF; the first entry is the area itself.
    scores : ndarray, shape (K,)
        The smaller of the excesses of stability and crossing over the null: 0 is like noise, 1 is
        perfect.
    threshold : float
        The score that structure must reach.
    recommended : int
        The number of clusters to take; 1 if there is no structure.
    structure : bool
        Whether the members agree more than on data without structure. Also True if this could not be
        tested: see ``tested``.
    reason : str
        Why this number is recommended, in a sentence.
    disagreement : str or None
        What the other criteria prefer, if most prefer another k.
    labels : ndarray of int32, shape (K, n)
        The partition at each k, -1 for a sample that no member labelled.
    null_model : str
        The data that the null values were computed on.
    notes : tuple of str
        Remarks: what was left out or computed on a part of the samples, and whether the solver
        failed to converge at the recommended k.
    """

    ks: NDArray[np.int64]
    criteria: dict[str, FloatArray]
    votes: dict[str, int]
    null: dict[str, FloatArray]
    permuted: dict[str, FloatArray]
    cdf: FloatArray
    cdf_grid: FloatArray
    delta_area: FloatArray
    scores: FloatArray
    threshold: float
    recommended: int
    structure: bool
    reason: str
    disagreement: str | None
    labels: NDArray[np.int32]
    null_model: str
    notes: tuple[str, ...] = ()

    @property
    def tested(self) -> bool:
        """Whether structure could be tested: with enough members and samples, and both deciding criteria."""
        return not bool(np.isnan(self.scores).all())

    def labels_at(self, k: int) -> NDArray[np.int32]:
        """The partition of the samples into k clusters, k among ``ks`` or 1."""
        rows = np.flatnonzero(self.ks == k)
        if rows.size:
            return self.labels[rows[0]]
        if k == 1:
            return np.minimum(self.labels[0], 0)
        raise ValueError(f"k is {k}, but only {', '.join(map(str, self.ks))} were compared")

    def table(self) -> Table:
        """One row per k: each criterion and its null value, the score, the votes, the recommendation."""
        columns: dict[str, Any] = {"k": self.ks}
        for name, values in self.criteria.items():
            columns[name] = values
            if name in self.null:
                columns[f"{name}_null"] = self.null[name]
        columns["score"] = self.scores
        columns["votes"] = np.array([self._ballots(int(k)) for k in self.ks], dtype=np.int64)
        columns["recommended"] = self.ks == self.recommended
        return Table(columns)

    def to_record(self) -> dict[str, Any]:
        """A flat dict of arrays and JSON values, for files; see :meth:`from_record`."""
        record: dict[str, Any] = {}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in _BY_NAME:
                record.update({f"{field.name}.{name}": array for name, array in value.items()})
            else:
                record[field.name] = list(value) if field.name == "notes" else value
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
        wanted = [field.name for field in fields(cls) if field.name not in _BY_NAME]
        absent = [name for name in wanted if name not in record]
        if absent:
            raise ValueError(
                f"the record of a selection lacks {', '.join(absent)}; it is incomplete or not the "
                "record of a selection"
            )
        values: dict[str, Any] = {
            name: np.asarray(record[name]) if name in _ARRAYS else record[name] for name in wanted
        }
        for name in _BY_NAME:
            values[name] = {
                key.removeprefix(f"{name}."): np.asarray(array)
                for key, array in record.items()
                if key.startswith(f"{name}.")
            }
        _check_values(values)
        values["votes"] = {str(name): int(vote) for name, vote in values["votes"].items()}
        values["recommended"] = int(values["recommended"])
        values["structure"] = bool(values["structure"])
        values["threshold"] = float(values["threshold"])
        values["notes"] = tuple(values["notes"])
        return cls(**values)

    def headline(self) -> str:
        """The recommendation in a few words."""
        if not self.structure or self.recommended == 1:
            return "No stable structure"
        return f"{self.recommended} clusters" + ("" if self.tested else ", not tested")

    def sentences(self) -> list[str]:
        """The reason, the disagreement if any, the null model and the notes."""
        sentences = [self.reason, self.disagreement, f"Null: {self.null_model}.", *self.notes]
        return [text for text in sentences if text]

    def columns(self) -> list[list[str]]:
        """The criteria as text for a narrow table: a heading, one cell per k, and the vote."""
        columns = []
        for name, values in self.criteria.items():
            criterion = CRITERIA.get(name)
            heading = name if criterion is None else criterion.short
            columns.append([heading, *map(_as_text, values), str(self.votes.get(name, "-"))])
            if criterion is not None and criterion.beside_null and name in self.null:
                columns.append(["null", *map(_as_text, self.null[name]), ""])
        columns.append(["score", *map(_as_text, self.scores), ""])
        columns.append(["votes", *(str(self._ballots(int(k))) for k in self.ks), ""])
        return columns

    def __str__(self) -> str:
        wrapped = [line for text in self.sentences() for line in textwrap.wrap(text, WIDTH)]
        return "\n".join([self.headline(), "", *self._lines(), "", *wrapped])

    def _lines(self) -> list[str]:
        """The criteria as aligned text."""
        marked = [f"{k}{'*' if k == self.recommended else ' '}" for k in self.ks]
        columns = [["k", *marked, "vote"], *self.columns()]
        widths = [max(map(len, column)) for column in columns]
        return [
            " ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            for row in zip(*columns, strict=True)
        ]

    def __repr__(self) -> str:
        return (
            f"Selection(recommended={self.recommended}, structure={self.structure}, "
            f"ks={self.ks.min()}..{self.ks.max()}, criteria={', '.join(self.criteria)})"
        )

    def _ballots(self, k: int) -> int:
        return sum(vote == k for vote in self.votes.values())


def _check_values(values: Mapping[str, Any]) -> None:
    """Raise ValueError if a value has the wrong type, or a length that does not match ``ks``."""
    ks, grid = values["ks"], values["cdf_grid"]
    if ks.ndim != 1 or ks.size == 0 or ks.dtype.kind not in "iu":
        raise ValueError("ks of the selection must be a list of whole numbers")
    shapes: dict[str, tuple[Any, tuple[int, ...]]] = {
        name: (values[name], ks.shape) for name in ("delta_area", "scores")
    }
    for group in _BY_NAME:
        shapes |= {f"{group}.{name}": (array, ks.shape) for name, array in values[group].items()}
    shapes["cdf_grid"] = grid, (grid.size,)
    shapes["cdf"] = values["cdf"], (ks.size, grid.size)
    shapes["labels"] = values["labels"], (ks.size, *values["labels"].shape[1:2])
    for name, (array, shape) in shapes.items():
        if array.shape != shape or array.dtype.kind not in "iuf":
            raise ValueError(f"{name} of the selection must hold one number for each k")
    if values["labels"].ndim != 2 or values["labels"].dtype.kind == "f":
        raise ValueError("labels of the selection must be whole numbers, one row per k")
    texts = [values["reason"], values["null_model"], values["disagreement"] or "", *values["notes"]]
    if not all(isinstance(text, str) for text in texts):
        raise ValueError("reason, disagreement, null_model and notes of the selection must be text")


def _as_text(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.2f}"
