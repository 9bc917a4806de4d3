"""Features as a matrix of finite numbers, dense or sparse."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from typing import Any

import numpy as np
from narwhals.dependencies import is_polars_lazyframe
from narwhals.exceptions import DuplicateError
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_array

from coterie.core.errors import DataError, ParameterError
from coterie.core.text import counted, noun_for

SAME_NAME = "X has columns of the same name; names of features must differ"


def largest_number(dtype: Any) -> float:
    """Above this, a sum of many squared differences may overflow."""
    return float(np.sqrt(np.finfo(dtype).max)) / 1e4


def as_features(X: Any) -> Any:
    """A finite float matrix (dense, or CSR for sparse input), or an error that names the columns.

    Parameters
    ----------
    X : array, dataframe or sparse matrix, shape (n, d)
    """
    names = np.array([str(column) for column in X.columns]) if hasattr(X, "columns") else None
    with explained_errors(X):
        matrix = check_array(
            X, accept_sparse="csr", dtype=(np.float64, np.float32), ensure_all_finite=False
        )
    refuse_not_finite(matrix, names)
    return matrix


@contextmanager
def explained_errors(X: Any) -> Iterator[None]:
    """In this block X is converted to numbers; errors name the column and row of text or a date."""
    refuse_lazy(X)
    _refuse_masked(X)
    try:
        if not _holds_dates(X):
            yield
            return
        # Dates can be converted to numbers, but NaT would become a number as well.
        cell = _first_non_number(X)
    except OverflowError:
        raise DataError("X holds a number that is too large for a float; rescale it") from None
    except DuplicateError:
        raise DataError(SAME_NAME) from None
    except (TypeError, ValueError) as error:
        # Searched only after a failure, so that the usual case, all numbers, costs nothing.
        cell = _first_non_number(X)
        if cell is None:
            if isinstance(error, TypeError):
                raise
            raise DataError(str(error)) from error
    if cell is None:
        raise DataError("X holds dates, but features must be numbers; encode them as numbers")
    column, row, content = cell
    kind, shown = ("text", repr(content)) if isinstance(content, str) else ("dates", str(content))
    raise DataError(
        f"X holds {kind} in column {column!r} (first in row {row}: {shown:.40}), but features must be "
        "numbers; encode the column as numbers or drop it. Names of samples belong in the index of a "
        "pandas frame, and labels in Ensemble.from_labels"
    ) from None


def refuse_lazy(X: Any) -> None:
    """Raise DataError for a lazy frame: its rows may come in another order each time it is collected."""
    if is_polars_lazyframe(X):
        raise DataError("X is a polars LazyFrame; call .collect() first")


def _refuse_masked(X: Any) -> None:
    if not np.ma.is_masked(X):
        return
    rows, columns = np.nonzero(np.atleast_2d(np.ma.getmaskarray(X)))
    raise DataError(
        f"X has {counted(len(rows), 'masked cell')}, the first in row {rows[0]}, "
        f"column {columns[0]}; impute them or drop those rows first"
    )


def _holds_dates(X: Any) -> bool:
    """Whether a column holds dates or times."""
    kinds = getattr(X, "dtypes", None)
    if kinds is not None and not isinstance(kinds, Iterable):
        # of a series
        kinds = [kinds]
    if kinds is None and hasattr(X, "schema"):
        kinds = X.schema.types
    if kinds is None:
        # Only the first row of a list is checked. Later dates make the conversion fail.
        first = np.asarray(X[:1]) if isinstance(X, list | tuple) else X
        kinds = [getattr(first, "dtype", None)]
    return any(re.match("(date|time|duration)", str(kind).lower()) for kind in kinds)


def _first_non_number(X: Any) -> tuple[str | int, int, str | date | timedelta] | None:
    """Column, row and content of the first cell that holds a date, or text that is not a number."""
    cells = np.asarray(X, dtype=object)
    if cells.ndim != 2:
        return None
    names = [*X.columns] if hasattr(X, "columns") else range(cells.shape[1])
    for name, column in zip(names, cells.T, strict=True):
        for row, cell in enumerate(column.tolist()):
            dated = isinstance(cell, date | timedelta)
            if dated or (isinstance(cell, str) and not _is_number(cell)):
                return (name if isinstance(name, int) else str(name)), row, cell
    return None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def refuse_not_finite(matrix: Any, names: NDArray[Any] | None = None) -> None:
    """Raise DataError naming the columns that hold NaN or infinity, and the first such row.

    Numbers so large that their squares overflow raise ParameterError.
    """
    values = matrix.data if sparse.issparse(matrix) else matrix
    # The extremes are NaN if any value is, so the usual case needs no mask as large as the matrix.
    largest = max(float(values.max()), -float(values.min())) if values.size else 0.0
    if largest <= largest_number(matrix.dtype):
        return
    if np.isfinite(largest):
        raise ParameterError(
            f"X holds values as large as {largest:.3g}, whose squares overflow {matrix.dtype}; "
            "rescale it, for example with sklearn.preprocessing.StandardScaler"
        )
    if sparse.issparse(matrix):
        entries = matrix.tocoo()
        wrong = ~np.isfinite(entries.data)
        rows, columns = entries.coords[0][wrong], entries.coords[1][wrong]
    else:
        rows, columns = np.nonzero(~np.isfinite(matrix))
    wrong_columns = np.unique(columns)
    shown = ", ".join(str(j) if names is None else repr(str(names[j])) for j in wrong_columns[:5])
    raise DataError(
        f"X has NaN or infinity in {counted(len(rows), 'cell')}, in "
        f"{noun_for(len(wrong_columns), 'column')} {shown}{', ...' if len(wrong_columns) > 5 else ''} "
        f"(first in row {rows[0]}); impute or drop them first"
    )
