"""Real tables as features: which columns are used, and how each becomes numbers.

A real table has ids, categories, dates, constants, gaps and columns of very different scales. A
:class:`TableEncoder` decides for each column what it is, turns the useful ones into numbers, mostly with
scikit-learn's encoders, imputers and scalers, and records what it did.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from coterie.core.errors import DataError
from coterie.core.estimators import BaseEstimator, TransformerMixin
from coterie.core.params import (
    Choice,
    Kind,
    check_parameters,
    declared_domains,
    nearest,
    parameter,
)
from coterie.core.tables import Table
from coterie.core.text import counted, listed, quoted
from coterie.generate.column_plans import ColumnPlan, all_differ, column_numbers, plan_column
from coterie.generate.columns import Column, read_columns
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


@dataclass(eq=False, repr=False)
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

    _: KW_ONLY
    scale: Scale = parameter("auto", Choice(SCALES))
    categories: Sequence[str] = parameter((), _NAMES)
    impute: Imputation = parameter("donors", Choice(IMPUTATIONS))
    columns: Sequence[str] | None = parameter(None, _OPTIONAL_NAMES)
    drop: Sequence[str] = parameter((), _NAMES)

    def fit(self, X: Any, y: object = None) -> Self:
        """Decide what each column is, and learn medians, values and scales.

        Parameters
        ----------
        X : dataframe, or mapping of column name to values
        y : None
            Ignored. Present for API consistency.
        """
        check_parameters(
            type(self).__name__, self.get_params(deep=False), declared_domains(type(self))
        )
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
                if plan.kind == "id" and not plan.missing and all_differ(table[plan.name])
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
        for given in ("categories", "columns", "drop"):
            for name in getattr(self, given) or ():
                if name not in table:
                    raise DataError(
                        f"{given} names {name!r}, but the table has no such column"
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


def _is_measured(plan: ColumnPlan) -> bool:
    return plan.used and plan.kind in ("number", "date")


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
