"""Real tables as features: which columns are used, and how each becomes numbers.

A real table has ids, categories, dates, constants, gaps and columns of very different scales. A
:class:`TableEncoder` decides for each column what it is, turns the useful ones into numbers, mostly with
scikit-learn's encoders, imputers and scalers, and records what it did.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import kstest
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
from coterie.ensemble.ids import MIN_ROWS_OF_IDS
from coterie.ensemble.numerals import described_format
from coterie.generate.columns import Column, numbers_of_texts, read_columns, require_finite
from coterie.generate.gaps import Gaps
from coterie.generate.scaling import (
    ClippedScaler,
    JointScaler,
    common_range,
    is_wild,
    share_range,
    weigh_levels,
)

Scale = Literal["auto", "standard", "robust", "none"]
SCALES: tuple[Scale, ...] = ("auto", "standard", "robust", "none")
Imputation = Literal["donors", "median"]
IMPUTATIONS: tuple[Imputation, ...] = ("donors", "median")
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
    number    numbers, or text in which every cell is a number in one format (``5,961,000``,
              ``$20.10``): scaled as ``scale`` says; gaps are filled as ``impute`` says
    date      counted in days, then treated as a number
    category  text with at most 30 different values, or Boolean values: one column per value
              (a missing value counts as a value of its own), scaled unless ``scale`` is "none"
    id        texts that differ in every row; whole numbers that differ in every row and are nearly
              consecutive or look random; a name such as ``id``: left out
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
        columns, and at least two, reach both ends of the range of all columns). Otherwise it
        standardises, and clips values to 3 standard deviations. Wild values, more than 20 interquartile
        ranges beyond the quartiles, do not count in the range or in the standard deviation.
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
        numbers = {
            plan.name: column_numbers(table[plan.name], plan)
            for plan in plans
            if _is_measured(plan)
        }
        scaler, scaling = self._scaler_of([*numbers.values()])
        self.plans_ = _described(plans, scaling, self.impute, _wild_counts(scaler, numbers))
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
        self.transformer_ = self._transformer(scaler)
        self.transformer_.fit(self._matrix(table))
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """The features of a table that has the same columns as the fitted one.

        Rows with no value in any used column cause a warning, if one of these columns holds numbers.

        Parameters
        ----------
        X : dataframe, or mapping of column name to values
        """
        check_is_fitted(self, "transformer_")
        table = read_columns(X)
        features: NDArray[np.float64] = self.transformer_.transform(self._matrix(table))
        blank = np.logical_and.reduce([table[plan.name].missing for plan in self._used])
        # in a category, a missing value is a value
        if blank.any() and any(map(_is_measured, self._used)):
            count = int(blank.sum())
            warnings.warn(
                f"{counted(count, 'row')} {'has' if count == 1 else 'have'} no value in the columns that "
                f"are used (first: row {int(np.argmax(blank))}, counted from 0), so the cluster of such "
                "a row means nothing; leave these rows out",
                UserWarning,
                stacklevel=2,
            )
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

    @property
    def category_features_(self) -> dict[str, NDArray[np.int64]]:
        """The positions of the features of each category, one per value."""
        check_is_fitted(self, "transformer_")
        categories = [plan for plan in self._used if plan.kind == "category"]
        end = len(self._used) - len(categories) + np.cumsum([len(c.levels) for c in categories])
        return {
            plan.name: np.arange(last - len(plan.levels), last)
            for plan, last in zip(categories, end, strict=True)
        }

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

    def _plans(self, table: Mapping[str, Column]) -> list[ColumnPlan]:
        wanted = set(table if self.columns is None else self.columns) - set(self.drop)
        requested = set(self.columns or ())
        plans = [
            plan_column(name, values, name in self.categories, name in requested)
            for name, values in table.items()
        ]
        return [
            plan
            if plan.name in wanted
            else replace(plan, used=False, treatment="left out on request")
            for plan in plans
        ]

    def _scaler_of(self, columns: Sequence[NDArray[np.float64]]) -> tuple[Any, str]:
        """The scaler of the numbers, and its description."""
        if self.scale == "standard":
            return StandardScaler(), "standardised"
        if self.scale == "robust":
            return RobustScaler(), "divided by the interquartile range"
        if self.scale == "none":
            return "passthrough", "not scaled"
        if share_range(columns):
            return JointScaler(), "scaled jointly (one range)"
        return ClippedScaler(), "standardised"

    def _transformer(self, scaler: Any) -> ColumnTransformer:
        kinds = np.array([plan.kind == "category" for plan in self._used])
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
            steps.append(ClippedScaler() if self.scale == "auto" else StandardScaler())
            sizes = [len(values) for values in levels]
            steps.append(FunctionTransformer(weigh_levels, kw_args={"sizes": sizes}))
        return ColumnTransformer(
            [
                ("numbers", numbers, np.flatnonzero(~kinds)),
                ("categories", make_pipeline(*steps), np.flatnonzero(kinds)),
            ]
        )

    def _matrix(self, table: Mapping[str, Column]) -> NDArray[np.float64]:
        """The used columns as numbers; a category is the position among its values."""
        absent = [plan.name for plan in self._used if plan.name not in table]
        if absent:
            raise DataError(
                f"the table lacks the column{'s' if len(absent) > 1 else ''} {quoted(absent)}, "
                "which the members were fitted on"
            )
        return np.column_stack([column_numbers(table[plan.name], plan) for plan in self._used])


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


# ---------------------------------------------------------------------- what a column is


def plan_column(name: str, values: Column, is_category: bool, requested: bool) -> ColumnPlan:
    """The plan of one column; a column that the user requested is left out only if constant or empty."""
    missing = int(values.missing.sum())
    n, distinct = len(values), values.distinct

    def plan(kind: ColumnKind, treatment: str = "", levels: tuple[str, ...] = ()) -> ColumnPlan:
        used = kind in ("number", "date", "category")
        form = values.format if kind in ("number", "date") else ""
        return ColumnPlan(name, kind, used, treatment, missing, levels, form)

    if distinct == 0 or (missing > MAX_MISSING * n and not requested):
        return plan("empty", f"left out: {missing / n:.0%} of the values are missing")
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
    if _all_differ(values) and n >= MIN_ROWS_OF_IDS and not requested:
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
        or not _all_differ(values)
    ):
        return False
    if float(np.ptp(numbers)) < 2 * len(numbers):
        return True
    if numbers.min() < MIN_RANDOM_ID:
        return False
    lowest = 10 ** np.floor(np.log10(numbers.min()))
    return bool(kstest((numbers / lowest - 1) / 9, "uniform").pvalue > UNEVEN_LEVEL)


def _all_differ(values: Column) -> bool:
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


def _is_measured(plan: ColumnPlan) -> bool:
    return plan.used and plan.kind in ("number", "date")


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


def _wild_counts(scaler: Any, columns: Mapping[str, NDArray[np.float64]]) -> dict[str, int]:
    """The number of wild values in each column that the scaler clips."""
    if isinstance(scaler, ClippedScaler):
        return {name: int(is_wild(values).sum()) for name, values in columns.items()}
    if isinstance(scaler, JointScaler):
        low, high = common_range([*columns.values()])
        return {
            name: int(((values < low) | (values > high)).sum()) for name, values in columns.items()
        }
    return {}


def _described(
    plans: Iterable[ColumnPlan], scaling: str, impute: Imputation, wild: Mapping[str, int]
) -> list[ColumnPlan]:
    """The plans, with a description of the treatment of each used column.

    ``wild`` is the number of values that are clipped in each column.
    """
    described = []
    for plan in plans:
        treatment = plan.treatment
        if plan.used and plan.kind == "category":
            treatment = f"{len(plan.levels)} values: {listed(plan.levels, 4)}"
        elif plan.used:
            before = "counted in days" if plan.kind == "date" else plan.treatment
            treatment = f"{before}, {scaling}" if before else scaling
            if wild.get(plan.name):
                treatment += f"; {counted(wild[plan.name], 'wild value')} clipped"
            if plan.missing:
                treatment += "; gaps: " + ("5 similar rows" if impute == "donors" else "the median")
        described.append(replace(plan, treatment=treatment))
    return described
