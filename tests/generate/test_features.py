"""Features that are no numbers: the message names column and row, and says what to do."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pytest

from coterie import ConsensusClustering
from coterie.generate import kmeans_pool
from coterie.select import select_k

CITIES = {"size": [1.0, 2.0, 3.0], "city": ["7", "Oslo", "Rome"]}


def cluster(X):
    return ConsensusClustering(2).fit(X)


@pytest.mark.parametrize("use", [cluster, kmeans_pool, select_k])
@pytest.mark.parametrize(
    ("X", "column"),
    [
        (pd.DataFrame(CITIES), "'city'"),
        (pd.DataFrame({**CITIES, "city": pd.Categorical(CITIES["city"])}), "'city'"),
        (pl.DataFrame(CITIES), "'city'"),
        (np.array([[1, "7"], [2, "Oslo"], [3, "Rome"]], dtype=object), "1"),
        (np.array([["1", "7"], ["2", "Oslo"], ["3", "Rome"]]), "1"),
        ([[1, "7"], [2, "Oslo"], [3, "Rome"]], "1"),
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
