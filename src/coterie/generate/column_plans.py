"""What a column of a table is: a number, a date, a category, an id, free text, constant or empty."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kstest

from coterie.core.errors import DataError
from coterie.core.text import percent
from coterie.ensemble.ids import MIN_ROWS_OF_IDS
from coterie.ensemble.numerals import described_format
from coterie.generate.columns import Column, numbers_of_texts, require_finite

ColumnKind = Literal["number", "category", "date", "id", "text", "constant", "empty"]
# a column with a larger share of missing values is left out
MAX_MISSING = 0.5
# a text column with more different values than this is free text, not a category
MAX_LEVELS = 30
# random ids have six digits or more: shorter numbers may be measurements that happen to be spread evenly
MIN_RANDOM_ID = 100_000
# level of the test for evenly spread numbers: one of 100 columns of random ids is not recognised
UNEVEN_LEVEL = 0.01
_ID_NAME = re.compile(r"(?i)^(row)?_?(id|uuid|guid|index|idx|rownames?|row[ _]?(no|num|number))$")
_ID_ENDING = re.compile(r"([ _.\-]([iI][dD]|ID|uuid|UUID)|[a-z]I[dD])$")
_MISSING_LEVEL = "(missing)"


@dataclass(frozen=True)
class ColumnPlan:
    """What a column of a table is, and what is done with it.

    Attributes
    ----------
    name : str
    kind : {"number", "category", "date", "id", "text", "constant", "empty"}
    used : bool
        Whether samples are compared by this column.
    treatment : str
        What is done with the column, or why it is left out.
    missing : int
        Number of rows without a value.
    levels : tuple of str
        The values of a category, sorted.
    format : str
        How dates or numbers are written as text: "iso" or a format of ``strptime`` for dates; for
        numbers the decimal mark, and a currency or per cent sign. Empty if they are not text.
    """

    name: str
    kind: ColumnKind
    used: bool
    treatment: str
    missing: int = 0
    levels: tuple[str, ...] = ()
    format: str = ""


def plan_column(name: str, values: Column, is_category: bool, requested: bool) -> ColumnPlan:
    """The plan of one column; a column that the user requested is left out only if constant or empty."""
    missing = int(values.missing.sum())
    n, distinct = len(values), values.distinct

    def plan(kind: ColumnKind, treatment: str = "", levels: tuple[str, ...] = ()) -> ColumnPlan:
        used = kind in ("number", "date", "category")
        form = values.format if kind in ("number", "date") else ""
        return ColumnPlan(name, kind, used, treatment, missing, levels, form)

    if distinct == 0 or (missing > MAX_MISSING * n and not requested):
        return plan("empty", f"left out: {percent(missing / n)} of the values are missing")
    if distinct == 1:
        return plan(
            "constant", f"left out: the same value in every row{' that has one' * (missing > 0)}"
        )
    if is_category:
        return plan("category", levels=_levels(values))
    if values.is_date:
        return plan("date")
    if values.numbers is not None:
        if looks_like_id_name(name) and not requested and distinct > MAX_LEVELS:
            return plan("id", "left out: named like an id")
        if _are_number_ids(values) and not requested:
            return plan("id", "left out: whole numbers that differ in every row, as ids do")
        return plan("number", described_format(values.format))
    if all_differ(values) and n >= MIN_ROWS_OF_IDS and not requested:
        return plan("id", "left out: differs in every row")
    if looks_like_id_name(name) and not requested:
        return plan("id", "left out: named like an id")
    if distinct > MAX_LEVELS and not requested:
        return plan("text", f"left out: {distinct} different texts")
    return plan("category", levels=_levels(values))


def _are_number_ids(values: Column) -> bool:
    """Whether a column holds whole numbers that differ in every row and are spread like ids.

    Ids that count up use at least half of the numbers in their range. Random ids have the same number of
    digits, six or more, and are spread evenly over all numbers of this length. Measurements are not.
    """
    numbers = values.numbers
    if (
        numbers is None
        or len(numbers) < MIN_ROWS_OF_IDS
        or not np.all(numbers == np.round(numbers))
        or not all_differ(values)
    ):
        return False
    if float(np.ptp(numbers)) < 2 * len(numbers):
        return True
    if numbers.min() < MIN_RANDOM_ID:
        return False
    lowest = 10 ** np.floor(np.log10(numbers.min()))
    return bool(kstest((numbers / lowest - 1) / 9, "uniform").pvalue > UNEVEN_LEVEL)


def all_differ(values: Column) -> bool:
    """Whether a column has a different value in every row."""
    return values.distinct == len(values)


def looks_like_id_name(name: str) -> bool:
    """Whether a column is named like an id, such as ``customer_id`` or ``SampleID``, or has no name.

    Examples
    --------
    >>> from coterie.generate.column_plans import looks_like_id_name
    >>> [looks_like_id_name(name) for name in ("id", "customer_id", "SampleID", "", "humid", "acid")]
    [True, True, True, True, False, False]
    """
    return not name.strip() or bool(_ID_NAME.search(name) or _ID_ENDING.search(name))


def _levels(values: Column) -> tuple[str, ...]:
    levels = sorted({*_texts(values)} - {None}, key=str)
    if values.missing.any() and _MISSING_LEVEL not in levels:
        levels.append(_MISSING_LEVEL)
    return tuple(levels)


def _texts(values: Column) -> list[Any]:
    if values.texts is not None:
        return values.texts
    numbers = values.numbers if values.numbers is not None else np.empty(0)
    return [None if np.isnan(number) else _exact_text(number) for number in numbers.tolist()]


def _exact_text(number: float) -> str:
    """A number as text, without ``.0``; different numbers have different texts."""
    return str(int(number)) if number.is_integer() else repr(number)


def column_numbers(values: Column, plan: ColumnPlan) -> NDArray[np.float64]:
    """A column as floats: its numbers, or the positions of its texts among the levels (-1 for others)."""
    if plan.kind != "category":
        numbers = values.numbers
        if values.texts is not None and (numbers is None or values.format != plan.format):
            # in 01/02/2024 either number may be the month; the format was found on all rows of the fit
            in_format_of_fit = numbers_of_texts(values.texts, plan.format or ".")
            numbers = numbers if in_format_of_fit is None else in_format_of_fit
        if numbers is not None:
            return require_finite(plan.name, numbers)
        raise DataError(
            f"column {plan.name!r} held {plan.kind}s when the members were fitted, but holds text "
            f"such as {next(text for text in _texts(values) if text is not None)!r}"
        )
    position = {level: float(i) for i, level in enumerate(plan.levels)}
    return np.array(
        [position.get(_MISSING_LEVEL if text is None else text, -1.0) for text in _texts(values)]
    )
