"""Features that are no numbers: the message names column and row, and says what to do.

Frames are encoded by ConsensusClustering and select_k; see test_tables.py.
"""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from coterie import ConsensusClustering, ParameterError
from coterie.generate import kmeans_pool
from coterie.select import select_k

CITIES = {"size": [1.0, 2.0, 3.0], "city": ["7", "Oslo", "Rome"]}


def cluster(X):
    return ConsensusClustering(2).fit(X)


def unprepared(X):
    return ConsensusClustering(2, prepare=None).fit(X)


FRAMES = [
    pd.DataFrame(CITIES),
    pd.DataFrame({**CITIES, "city": pd.Categorical(CITIES["city"])}),
    pl.DataFrame(CITIES),
]
ARRAYS = [
    np.array([[1, "7"], [2, "Oslo"], [3, "Rome"]], dtype=object),
    np.array([["1", "7"], ["2", "Oslo"], ["3", "Rome"]]),
    [[1, "7"], [2, "Oslo"], [3, "Rome"]],
]


@pytest.mark.parametrize(
    ("use", "X", "column"),
    [
        *((use, X, "'city'") for use in (unprepared, kmeans_pool) for X in FRAMES),
        *((use, X, "1") for use in (cluster, unprepared, kmeans_pool, select_k) for X in ARRAYS),
    ],
)
def test_text_is_named_by_column_and_row(use, X, column):
    # the first cell of the column is a number, though written as text
    with pytest.raises(ValueError, match=rf"text in column {column} \(first in row 1: 'Oslo'\)"):
        use(X)


def test_the_message_says_where_names_and_labels_go():
    with pytest.raises(ValueError, match=r"index of a pandas frame.*Ensemble\.from_labels"):
        select_k(np.array([["u", "v"], ["u", "w"]]))


def test_dates_are_no_numbers_either():
    born = [dt.datetime(2020, 1, 2), dt.datetime(2021, 1, 1)]
    with pytest.raises(ValueError, match=r"dates in column 'born' \(first in row 0: 2020-01-02"):
        kmeans_pool(pd.DataFrame({"a": [1.0, 2.0], "born": born}))


def test_other_things_keep_their_own_message():
    with pytest.raises(TypeError, match=r"argument must be .* string.* number"):
        kmeans_pool(np.array([[1.0, {}], [2.0, 3.0]], dtype=object))
    with pytest.raises(ValueError, match="NaN or infinity"):
        kmeans_pool([[1.0, np.nan], [2.0, 3.0]])


def test_numbers_written_as_text_in_a_frame_of_objects_are_numbers():
    X = np.array([[0, "0"], [1, "1.5"], [9, "9"], [8, "8e0"]], dtype=object)
    assert kmeans_pool(X, 3, 2, random_state=0).n_samples == 4


@pytest.mark.parametrize("use", [cluster, kmeans_pool, select_k])
def test_masked_places_are_refused(use):
    X = np.ma.array(np.arange(24.0).reshape(8, 3), mask=np.zeros((8, 3)))
    X[5, 1] = np.ma.masked
    with pytest.raises(ValueError, match="1 masked cell, the first in row 5, column 1"):
        use(X)


def test_masked_places_are_refused_in_prediction():
    X = np.random.default_rng(0).normal(size=(30, 2))
    model = cluster(X)
    with pytest.raises(ValueError, match="masked cell"):
        model.predict(np.ma.masked_greater(X, 1.0))
    assert np.array_equal(model.predict(np.ma.array(X)), model.predict(X))


DATES = pd.DataFrame({"day": [*pd.date_range("2020-01-01", periods=9), pd.NaT]})


DATED_FRAMES = [
    DATES,
    DATES - DATES.iloc[0],
    pl.from_pandas(DATES),
    pa.Table.from_pandas(DATES),
]


@pytest.mark.parametrize(
    ("use", "X"),
    [
        *((use, X) for use in (unprepared, kmeans_pool) for X in DATED_FRAMES),
        *((use, DATES.to_numpy()) for use in (cluster, unprepared, kmeans_pool, select_k)),
    ],
)
def test_dates_alone_are_no_features(use, X):
    # as numbers NaT would be one of them, and a cluster of its own
    with pytest.raises(ValueError, match="X holds dates"):
        use(X)


@pytest.mark.parametrize("X", DATED_FRAMES)
def test_a_frame_of_dates_is_encoded(X):
    # the gap is filled, and is not a cluster of its own
    with pytest.warns(UserWarning, match="1 row has no value"):
        model = ConsensusClustering(2, random_state=0).fit(X)
    assert model.encoder_.plans_[0].missing == 1
    assert np.bincount(model.labels_).min() > 1


def test_columns_of_one_name_are_refused():
    with pytest.raises(ValueError, match="columns of the same name"):
        cluster(pd.DataFrame(np.arange(20.0).reshape(10, 2), columns=["a", "a"]))


@pytest.mark.parametrize("use", [kmeans_pool, select_k])
def test_constant_features_are_not_blamed_on_a_parameter(use):
    with pytest.raises(
        ParameterError, match=r"^[^(]*all rows of X are the same.*nothing to cluster"
    ):
        use(np.ones((12, 2)))
