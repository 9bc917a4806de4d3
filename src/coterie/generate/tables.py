"""Real tables as features: which columns are used, and how each becomes numbers.

A real table has ids, categories, dates, constants, gaps and columns of very different scales. A
:class:`TableEncoder` decides for each column what it is, turns the useful ones into numbers, mostly with
scikit-learn's encoders, imputers and scalers, and records what it did.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from numbers import Real
from typing import Any, ClassVar, Literal, Self

import narwhals as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from coterie.core.errors import DataError
from coterie.core.params import Choice, Domain, Kind, check_parameters, nearest
from coterie.core.tables import Table
from coterie.core.text import counted, listed, quoted
from coterie.ensemble.ids import FEWEST_ROWS_OF_IDS
from coterie.ensemble.missing import is_missing
from coterie.generate.gaps import Gaps

Scale = Literal["auto", "standard", "robust", "none"]
SCALES: tuple[Scale, ...] = ("auto", "standard", "robust", "none")
Imputation = Literal["donors", "median"]
IMPUTATIONS: tuple[Imputation, ...] = ("donors", "median")
ColumnKind = Literal["number", "category", "date", "id", "text", "constant", "empty"]
# a column with a larger share of missing values is left out
MOST_MISSING = 0.5
# a text column with more different values than this is free text, not a category
MOST_LEVELS = 30
# with "auto", values are clipped to this many standard deviations, so that a single extreme value does not
# dominate; docs/tables.md compares it with other limits
MOST_DEVIATIONS = 3.0
_ID_NAME = re.compile(r"(?i)^(row)?_?(id|uuid|guid|index|idx|rownames?|row[ _]?(no|num|number))$")
_ID_ENDING = re.compile(r"([ _.\-]([iI][dD]|ID|uuid|UUID)|[a-z]I[dD])$")
_ISO = "iso"
_DATE_FORMATS = (_ISO, "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MISSING_LEVEL = "(missing)"
_SAME_NAME = "X has columns of the same name; names of features must differ"


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
    date_format : str
        How dates are written as text: "iso" or a format of ``strptime``; empty for real dates.
    """

    name: str
    kind: ColumnKind
    used: bool
    treatment: str
    missing: int = 0
    levels: tuple[str, ...] = ()
    date_format: str = ""


class JointScaler(TransformerMixin, BaseEstimator):
    """Centre the columns and divide all by one number, so that their mean variance is 1.

    For columns in the same unit, such as pixels: the spreads of such columns are comparable, and this
    scaler keeps their ratios.
    """

    def fit(self, X: NDArray[np.float64], y: object = None) -> Self:
        """Learn the means and the common scale."""
        self.mean_ = np.nanmean(X, axis=0)
        self.scale_ = float(np.sqrt(np.nanvar(X, axis=0).mean())) or 1.0
        return self

    def transform(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """The columns, centred and divided by the common scale."""
        return (X - self.mean_) / self.scale_


def _clip(X: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(X, -MOST_DEVIATIONS, MOST_DEVIATIONS)


def _are_names(value: object) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and all(isinstance(name, str) for name in value)
    )


_NAMES = Kind(_are_names, "a list of column names")
_OPTIONAL_NAMES = Kind(
    lambda value: value is None or _are_names(value), "a list of column names, or None"
)


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turn a table of numbers, categories and dates into features to cluster.

    ========  ============================================================================
    kind      what it is, and what is done with it
    ========  ============================================================================
    number    scaled as ``scale`` says; gaps are filled as ``impute`` says
    date      counted in days, then treated as a number
    category  text with at most 30 different values, or truth values: one column per value
              (a missing value counts as a value of its own), scaled unless ``scale`` is "none"
    id        whole numbers or texts that differ in every row, or a name such as ``id``: left out
    text      text with more than 30 different values: left out
    constant  the same value in every row: left out
    empty     more than half of the values missing: left out
    ========  ============================================================================

    Parameters
    ----------
    scale : {"auto", "standard", "robust", "none"}, default "auto"
        How columns of numbers are made comparable. "standard" divides by the standard deviation,
        "robust" by the interquartile range, "none" does not scale. "auto" divides all columns by one
        number if they share one range, as pixels and answers from 1 to 5 do (at least half of the
        columns, and at least two, reach both ends of the range of all). Otherwise it standardises,
        and clips values to 3 standard deviations.
    categories : list of str, default ()
        Columns to treat as categories, whatever they hold.
    impute : {"donors", "median"}, default "donors"
        How gaps in columns of numbers are filled. "donors" leaves them as NaN:
        :class:`coterie.ConsensusClustering` fills them anew for each member, with the value of one of
        the five most similar rows. "median" fills them once.
    columns : list of str or None, default None
        The columns to cluster by. They are used even if they look like an id. None takes all useful
        columns.
    drop : list of str, default ()
        Columns to leave out.

    Attributes
    ----------
    plans_ : list of ColumnPlan
        What each column is, and what is done with it. ``summary()`` is the same as a table.
    id_column_ : str or None
        The first column of ids whose values all differ.
    transformer_ : ColumnTransformer
        The encoders and scalers.
    n_features_in_, feature_names_in_ : int and ndarray of str
        Number and names of the columns of the table.

    Examples
    --------
    >>> from coterie.generate import TableEncoder
    >>> table = {
    ...     "customer": [f"c{i}" for i in range(8)],
    ...     "age": [25, 31, None, 44, 52, 38, 29, 61],
    ...     "plan": ["basic", "pro"] * 4,
    ... }
    >>> encoder = TableEncoder().fit(table)
    >>> encoder.transform(table).shape
    (8, 3)
    >>> encoder.summary()
    column    kind      used  missing  treatment
    customer  id        no          0  left out: differs in every row
    age       number    yes         1  standardised; gaps: 5 similar rows
    plan      category  yes         0  2 values: basic, pro
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "scale": Choice(SCALES),
        "categories": _NAMES,
        "impute": Choice(IMPUTATIONS),
        "columns": _OPTIONAL_NAMES,
        "drop": _NAMES,
    }

    def __init__(
        self,
        *,
        scale: Scale = "auto",
        categories: Sequence[str] = (),
        impute: Imputation = "donors",
        columns: Sequence[str] | None = None,
        drop: Sequence[str] = (),
    ) -> None:
        self.scale = scale
        self.categories = categories
        self.impute = impute
        self.columns = columns
        self.drop = drop

    def fit(self, X: Any, y: object = None) -> Self:
        """Decide what each column is, and learn medians, values and scales.

        Parameters
        ----------
        X : dataframe, or mapping of column name to values
        y : None
            Ignored. Present for API consistency.
        """
        check_parameters(type(self).__name__, self.get_params(deep=False), self._domains)
        table = read_columns(X)
        if not any(len(values) for values in table.values()):
            raise DataError("the table has no rows")
        self._check_names(table)
        plans = self._plans(table)
        self.plans_ = _described(plans, self._scaler_of(table, plans)[1], self.impute)
        self.id_column_: str | None = next(
            (
                plan.name
                for plan in plans
                if plan.kind == "id" and not plan.missing and _all_differ(table[plan.name])
            ),
            None,
        )
        self._used = [plan for plan in plans if plan.used]
        if not self._used:
            raise DataError(
                "no column is left to cluster by: "
                + listed([f"{plan.name!r} ({plan.kind})" for plan in plans]),
                # naming a constant column would not help
                "check how the table was made"
                if all(plan.kind == "constant" for plan in plans)
                else "name the columns to use with {columns}",
            )
        self.n_features_in_ = len(table)
        self.feature_names_in_ = np.array([*table], dtype=object)
        self.transformer_ = self._transformer(table)
        self.transformer_.fit(self._matrix(table))
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """The features of a table that has the same columns as the fitted one.

        Parameters
        ----------
        X : dataframe, or mapping of column name to values
        """
        check_is_fitted(self, "transformer_")
        features: NDArray[np.float64] = self.transformer_.transform(self._matrix(read_columns(X)))
        return features

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Names of the features: the column, and the value for a category."""
        check_is_fitted(self, "transformer_")
        numbers = [plan.name for plan in self._used if plan.kind != "category"]
        values = [
            f"{plan.name}={level}"
            for plan in self._used
            if plan.kind == "category"
            for level in plan.levels
        ]
        return np.array([*numbers, *values], dtype=object)

    def summary(self) -> Table:
        """What each column is, and what was done with it."""
        check_is_fitted(self, "plans_")
        return Table(
            {
                "column": [plan.name for plan in self.plans_],
                "kind": [plan.kind for plan in self.plans_],
                "used": [plan.used for plan in self.plans_],
                "missing": [plan.missing for plan in self.plans_],
                "treatment": [plan.treatment for plan in self.plans_],
            }
        )

    def _check_names(self, table: Mapping[str, Any]) -> None:
        for parameter in ("categories", "columns", "drop"):
            for name in getattr(self, parameter) or ():
                if name not in table:
                    raise DataError(
                        f"{parameter} names {name!r}, but the table has no such column"
                        f"{nearest(name, table)} (its columns are {listed(table)})"
                    )

    def _plans(self, table: Mapping[str, _Values]) -> list[ColumnPlan]:
        wanted = set(table if self.columns is None else self.columns) - set(self.drop)
        requested = set(self.columns or ())
        plans = [
            _plan(name, values, name in self.categories, name in requested)
            for name, values in table.items()
        ]
        plans = _with_number_ids(plans, table, requested)
        return [
            plan
            if plan.name in wanted
            else replace(plan, used=False, treatment="left out on request")
            for plan in plans
        ]

    def _scaler_of(
        self, table: Mapping[str, _Values], plans: Sequence[ColumnPlan]
    ) -> tuple[Any, str]:
        """The scaler of the numbers, and its description."""
        columns = [_numbers(table[plan.name], plan) for plan in plans if _is_measured(plan)]
        if self.scale == "standard":
            return StandardScaler(), "standardised"
        if self.scale == "robust":
            return RobustScaler(), "divided by the interquartile range"
        if self.scale == "none":
            return "passthrough", "not scaled"
        if _share_range(columns):
            return JointScaler(), "scaled jointly (one range)"
        clip = FunctionTransformer(_clip, feature_names_out="one-to-one")
        return make_pipeline(StandardScaler(), clip), "standardised"

    def _transformer(self, table: Mapping[str, _Values]) -> ColumnTransformer:
        kinds = np.array([plan.kind == "category" for plan in self._used])
        scaler, _ = self._scaler_of(table, self._used)
        numbers = make_pipeline(SimpleImputer(strategy="median"), scaler)
        if self.impute == "donors":
            # scikit-learn's scalers do not change gaps
            numbers = make_pipeline(scaler)
        levels = [
            np.arange(len(plan.levels), dtype=float)
            for plan in self._used
            if plan.kind == "category"
        ]
        one_hot = OneHotEncoder(categories=levels, handle_unknown="ignore", sparse_output=False)
        steps: list[Any] = [one_hot]
        if self.scale != "none":
            steps.append(StandardScaler())
            steps += [FunctionTransformer(_clip)] if self.scale == "auto" else []
        return ColumnTransformer(
            [
                ("numbers", numbers, np.flatnonzero(~kinds)),
                ("categories", make_pipeline(*steps), np.flatnonzero(kinds)),
            ]
        )

    def _matrix(self, table: Mapping[str, _Values]) -> NDArray[np.float64]:
        """The used columns as numbers; a category is the position among its values."""
        absent = [plan.name for plan in self._used if plan.name not in table]
        if absent:
            raise DataError(
                f"the table lacks the column{'s' if len(absent) > 1 else ''} {quoted(absent)}, "
                "which the members were fitted on"
            )
        return np.column_stack([_numbers(table[plan.name], plan) for plan in self._used])


# ---------------------------------------------------------------------- the values of a column


@dataclass(frozen=True)
class _Values:
    """A column as numbers (NaN where missing) or as texts (None where missing).

    Dates written as text have both: the days as numbers, and the texts.
    """

    numbers: NDArray[np.float64] | None = None
    texts: list[str | None] | None = None
    is_date: bool = False
    date_format: str = ""

    @property
    def missing(self) -> NDArray[np.bool_]:
        if self.numbers is not None:
            return np.isnan(self.numbers)
        return np.array([text is None for text in self.texts or ()], dtype=bool)

    @property
    def distinct(self) -> int:
        """Number of different values."""
        if self.numbers is not None:
            return len(np.unique(self.numbers[~np.isnan(self.numbers)]))
        return len({*(self.texts or ())} - {None})

    def __len__(self) -> int:
        return len(self.missing)


def is_table(X: object) -> bool:
    """Whether an object is a dataframe that narwhals supports, or a mapping of columns."""
    # a sparse matrix in the format "dictionary of keys" is a mapping, too
    if sparse.issparse(X) or isinstance(X, np.ndarray):
        return False
    return isinstance(X, Mapping) or nw.dependencies.is_into_dataframe(X)


@dataclass(frozen=True, eq=False)
class Preparation:
    """How rows of a table become features: a fitted encoder, and donors for the gaps."""

    encoder: TableEncoder
    gaps: Gaps

    @classmethod
    def fit(
        cls, X: Any, encoder: TableEncoder, rng: np.random.Generator
    ) -> tuple[Preparation, NDArray[np.float64]]:
        """The preparation of a table, and its features with gaps."""
        fitted = clone(encoder).fit(X)
        features = fitted.transform(X)
        return cls(fitted, Gaps.of(features, rng)), features

    def __call__(self, X: Any) -> NDArray[np.float64]:
        """Features of new rows; a gap gets the mean of its donors."""
        features = self.encoder.transform(X)
        return self.gaps.of_new(features).filled_by_mean(features)


def table_features(X: Any, encoder: TableEncoder | None = None) -> NDArray[np.float64]:
    """The features of a table; each gap is filled with the mean of five similar rows."""
    encoder = TableEncoder() if encoder is None else encoder
    preparation, features = Preparation.fit(X, encoder, np.random.default_rng(0))
    return preparation.gaps.filled_by_mean(features)


def read_columns(X: Any) -> dict[str, _Values]:
    """The columns of a dataframe, a mapping or a matrix by name; columns of a matrix are numbered."""
    if isinstance(X, Mapping):
        if X and all(isinstance(values, _Values) for values in X.values()):
            return dict(X)
        columns = [(str(name), _from_values(str(name), values)) for name, values in X.items()]
    elif nw.dependencies.is_into_dataframe(X):
        try:
            frame = nw.from_native(X, eager_only=True)
        except DuplicateError:
            raise DataError(_SAME_NAME) from None
        # not frame[name], which takes a number as a position
        pairs = zip(frame.columns, frame.iter_columns(), strict=True)
        columns = [(str(name), _from_series(str(name), series)) for name, series in pairs]
    else:
        matrix = np.ma.asanyarray(X) if np.ma.isMaskedArray(X) else np.asarray(X)
        if sparse.issparse(X) or matrix.ndim != 2:
            raise DataError(
                f"a TableEncoder takes a data frame, a mapping or a dense matrix, not {type(X).__name__}"
            )
        columns = [(str(j), _from_values(str(j), matrix[:, j])) for j in range(matrix.shape[1])]
    table = dict(columns)
    if len(table) < len(columns):
        raise DataError(_SAME_NAME)
    lengths = {len(values) for values in table.values()}
    if len(lengths) > 1:
        raise DataError("the columns of the table differ in length")
    return table


def _from_series(name: str, series: Any) -> _Values:
    if series.dtype.is_numeric():
        return _from_values(name, series.cast(nw.Float64).to_numpy())
    return _from_values(name, series.to_list())


def _from_values(name: str, values: Any) -> _Values:
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise DataError(f"column {name!r} must hold a value per row, but is {values!r:.40}")
    if np.ma.isMaskedArray(values):
        values = values.tolist()
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise DataError(f"column {name!r} must have one dimension, but has {values.ndim}")
        if values.dtype.kind in "iuf":
            return _Values(values.astype(np.float64))
        if values.dtype.kind in "mM":
            values = values.astype(f"{values.dtype.kind}8[us]").tolist()
    cells = [None if is_missing(value) else value for value in values]
    present = [cell for cell in cells if cell is not None]
    if all(isinstance(cell, timedelta) for cell in present):
        cells = [None if cell is None else cell.total_seconds() for cell in cells]
        present = [cell for cell in cells if cell is not None]
    if all(_is_number(cell) for cell in present):
        try:
            numbers = [np.nan if cell is None else float(cell) for cell in cells]
        except OverflowError:
            raise DataError(
                f"column {name!r} holds a number that is too large; rescale it, or leave the column out"
            ) from None
        return _Values(np.array(numbers))
    if all(isinstance(cell, date) for cell in present):
        return _Values(np.array([_days(cell) for cell in cells]), is_date=True)
    texts = [None if cell is None else str(cell).strip() or None for cell in cells]
    for form in _DATE_FORMATS:
        days = _days_of_texts(texts, form)
        if days is not None:
            return _Values(days, texts, is_date=True, date_format=form)
    return _Values(texts=texts)


def _is_number(cell: object) -> bool:
    return isinstance(cell, Real | Decimal) and not isinstance(cell, bool)


def _finite(name: str, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    infinite = np.isinf(numbers)
    if infinite.any():
        raise DataError(
            f"column {name!r} holds {counted(int(infinite.sum()), 'infinite value')} (first in row "
            f"{int(np.argmax(infinite))}); replace them, or leave the column out",
        )
    largest = float(np.abs(numbers[~np.isnan(numbers)]).max(initial=0.0))
    # leaves room for a sum of many squared differences
    if largest > float(np.sqrt(np.finfo(np.float64).max)) / 1e4:
        raise DataError(
            f"column {name!r} holds values as large as {largest:.3g}, whose squares overflow; rescale "
            "it, or leave the column out"
        )
    return numbers


def _days(value: Any) -> float:
    if value is None:
        return np.nan
    if not isinstance(value, datetime):
        value = datetime(value.year, value.month, value.day)
    moment = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
    return (moment - _EPOCH).total_seconds() / 86_400


def _days_of_texts(texts: Sequence[str | None], form: str) -> NDArray[np.float64] | None:
    """Dates written as text in this format, in days; None if a cell is not such a date."""
    if not any(texts):
        return None
    try:
        return np.array([np.nan if text is None else _days(_dated(text, form)) for text in texts])
    except ValueError:
        return None


def _dated(text: str, form: str) -> datetime:
    # "20240131" and "1234" are numbers or codes, not dates
    if not re.search(r"\d[-/.]\d", text):
        raise ValueError(text)
    return datetime.fromisoformat(text) if form == _ISO else datetime.strptime(text, form)


# ---------------------------------------------------------------------- what a column is


def _plan(name: str, values: _Values, is_category: bool, requested: bool) -> ColumnPlan:
    """The plan of one column; a column that the user requested is left out only if constant or empty."""
    missing = int(values.missing.sum())
    n, distinct = len(values), values.distinct

    def plan(kind: ColumnKind, treatment: str = "", levels: tuple[str, ...] = ()) -> ColumnPlan:
        used = kind in ("number", "date", "category")
        form = values.date_format if kind == "date" else ""
        return ColumnPlan(name, kind, used, treatment, missing, levels, form)

    if distinct == 0 or (missing > MOST_MISSING * n and not requested):
        return plan("empty", f"left out: {missing / n:.0%} of the values are missing")
    if distinct == 1:
        return plan("constant", "left out: the same value in every row")
    if is_category:
        return plan("category", levels=_levels(values))
    if values.is_date:
        return plan("date")
    if values.numbers is not None:
        if looks_like_id_name(name) and not requested and distinct > MOST_LEVELS:
            return plan("id", "left out: named like an id")
        return plan("number")
    if _all_differ(values) and n >= FEWEST_ROWS_OF_IDS and not requested:
        return plan("id", "left out: differs in every row")
    if looks_like_id_name(name) and not requested:
        return plan("id", "left out: named like an id")
    if distinct > MOST_LEVELS and not requested:
        return plan("text", f"left out: {distinct} different texts")
    return plan("category", levels=_levels(values))


def _with_number_ids(
    plans: list[ColumnPlan], table: Mapping[str, _Values], requested: set[str]
) -> list[ColumnPlan]:
    """Mark columns of whole numbers that differ in every row as ids.

    Counts can differ in every row, too. So if there are several such columns, only those with nearly
    consecutive numbers are ids.
    """
    suspects = [
        plan.name
        for plan in plans
        if plan.kind == "number"
        and plan.used
        and plan.name not in requested
        and _whole_and_different(table[plan.name])
    ]
    ids = {name for name in suspects if len(suspects) == 1 or _nearly_consecutive(table[name])}
    return [
        replace(
            plan,
            kind="id",
            used=False,
            treatment="left out: whole numbers that differ in every row",
        )
        if plan.name in ids
        else plan
        for plan in plans
    ]


def _whole_and_different(values: _Values) -> bool:
    numbers = values.numbers
    return (
        numbers is not None
        and len(numbers) >= FEWEST_ROWS_OF_IDS
        and bool(np.all(numbers == np.round(numbers)))
        and _all_differ(values)
    )


def _nearly_consecutive(values: _Values) -> bool:
    """Whether numbers fill about half of the range they span or more, as row numbers do."""
    numbers = values.numbers
    return numbers is not None and float(np.ptp(numbers)) < 2 * len(numbers)


def _all_differ(values: _Values) -> bool:
    return values.distinct == len(values)


def looks_like_id_name(name: str) -> bool:
    """Whether a column is named like an id, such as ``customer_id`` or ``SampleID``, or has no name.

    Examples
    --------
    >>> from coterie.generate.tables import looks_like_id_name
    >>> [looks_like_id_name(name) for name in ("id", "customer_id", "SampleID", "", "humid", "acid")]
    [True, True, True, True, False, False]
    """
    return not name.strip() or bool(_ID_NAME.search(name) or _ID_ENDING.search(name))


def _levels(values: _Values) -> tuple[str, ...]:
    levels = sorted({*_texts(values)} - {None}, key=str)
    if values.missing.any() and _MISSING_LEVEL not in levels:
        levels.append(_MISSING_LEVEL)
    return tuple(levels)


def _texts(values: _Values) -> list[Any]:
    if values.texts is not None:
        return values.texts
    numbers = values.numbers if values.numbers is not None else np.empty(0)
    return [None if np.isnan(number) else _exact_text(number) for number in numbers.tolist()]


def _exact_text(number: float) -> str:
    """A number as text, without ``.0``; different numbers have different texts."""
    return str(int(number)) if number.is_integer() else repr(number)


def _is_measured(plan: ColumnPlan) -> bool:
    return plan.used and plan.kind in ("number", "date")


def _numbers(values: _Values, plan: ColumnPlan) -> NDArray[np.float64]:
    """A column as floats: its numbers, or the positions of its texts among the levels."""
    if plan.kind != "category":
        if plan.date_format and values.texts is not None:
            # in 01/02/2024 either number may be the month; the format was found on all rows of the fit
            days = _days_of_texts(values.texts, plan.date_format)
            if days is not None:
                return days
        if values.numbers is not None:
            return _finite(plan.name, values.numbers)
        raise DataError(
            f"column {plan.name!r} held {plan.kind}s when the members were fitted, but holds text "
            f"such as {next(text for text in _texts(values) if text is not None)!r}"
        )
    position = {level: float(i) for i, level in enumerate(plan.levels)}
    return np.array(
        [position.get(_MISSING_LEVEL if text is None else text, -1.0) for text in _texts(values)]
    )


def _share_range(columns: Sequence[NDArray[np.float64]]) -> bool:
    """Whether at least half of the columns, and at least two, reach both ends of the common range."""
    if not columns:
        return False
    lowest = np.array([np.nanmin(column) for column in columns])
    highest = np.array([np.nanmax(column) for column in columns])
    reach = (lowest == lowest.min()) & (highest == highest.max())
    # a single wide column always reaches both ends
    return int(reach.sum()) >= max(2.0, 0.5 * len(columns))


def _described(plans: Iterable[ColumnPlan], scaling: str, impute: Imputation) -> list[ColumnPlan]:
    """The plans, with a description of the treatment of each used column."""
    described = []
    for plan in plans:
        treatment = plan.treatment
        if plan.used and plan.kind == "category":
            treatment = f"{len(plan.levels)} values: {listed(plan.levels, 4)}"
        elif plan.used:
            treatment = f"counted in days, {scaling}" if plan.kind == "date" else scaling
            if plan.missing:
                treatment += "; gaps: " + ("5 similar rows" if impute == "donors" else "the median")
        described.append(replace(plan, treatment=treatment))
    return described
