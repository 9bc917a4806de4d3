"""Names of samples: given, or read off a frame's index; and columns that are ids, not labels."""

from __future__ import annotations

import time
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

from coterie import EAC, Ensemble
from coterie.core.errors import LabelError
from tests.naive.rows import as_given

NAMES = ["ann", "bob", "cy", "dee"]
COLUMNS = {"a": [0, 0, 1, 1], "b": ["x", "x", "y", "y"]}


@pytest.mark.parametrize(
    ("index", "expected"),
    [
        (NAMES, NAMES),
        ([7, 3, 5, 9], [7, 3, 5, 9]),
        (pd.RangeIndex(4, 8), [4, 5, 6, 7]),
        (pd.CategoricalIndex(NAMES), NAMES),
        (pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03", "2020-01-04"]), None),
        ([0.5, 1.5, 2.5, 3.5], ["0.5", "1.5", "2.5", "3.5"]),
    ],
)
def test_the_index_of_a_frame_names_the_samples(index, expected):
    found = Ensemble.from_labels(pd.DataFrame(COLUMNS, index=index)).sample_ids
    if expected is None:
        assert found[1].startswith("2020-01-02")
    else:
        assert found.tolist() == expected


@pytest.mark.parametrize(
    "index",
    [
        None,
        [0, 1, 2, 3],
        # two alike, a name missing, several levels: no names to go by
        ["x", "y", "y", "z"],
        ["x", None, "y", "z"],
        ["1", 1, "2", "3"],
        pd.MultiIndex.from_product([["u", "v"], [1, 2]]),
    ],
)
def test_an_index_that_names_no_sample_is_left_alone(index):
    frame = pd.DataFrame(COLUMNS, index=index)
    ensemble = Ensemble.from_labels(frame)
    assert ensemble.sample_ids is None
    assert ensemble.n_microclusters == 2


def test_given_names_come_before_the_index_and_others_have_none():
    frame = pd.DataFrame(COLUMNS, index=[5, 6, 7, 8])
    assert Ensemble.from_labels(frame, sample_ids=NAMES).sample_ids.tolist() == NAMES
    assert Ensemble.from_labels(pl.DataFrame(COLUMNS)).sample_ids is None
    assert Ensemble.from_labels(COLUMNS).sample_ids is None


def test_a_solver_explains_by_the_index():
    model = EAC(2).fit(pd.DataFrame(COLUMNS, index=NAMES))
    assert model.explain("cy").cluster == 1
    assert model.diagnose_samples()["sample"].tolist() == NAMES


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (["u", "v", "w", "v"], "sample_ids: the id 'v' is in row 1 and row 3"),
        ([4, 4, 5, 5], "sample_ids: the id 4 is in row 0 and row 1"),
        (np.array(["u", 1, 2, 1], dtype=object), "sample_ids: the id 1 is in row 1 and row 3"),
    ],
)
def test_two_samples_of_one_name_are_refused(ids, words):
    with pytest.raises(LabelError, match=words):
        Ensemble.from_labels(COLUMNS, sample_ids=ids)
    with pytest.raises(LabelError, match=words):
        Ensemble.from_members([*COLUMNS.values()], sample_ids=ids)


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame])
def test_a_named_column_of_distinct_text_is_an_id(make):
    labels = {"member": [0, 1] * 5, "customer": [f"c{i}" for i in range(10)]}
    with pytest.raises(LabelError, match=r"'customer' holds a different text .* sample_ids="):
        Ensemble.from_labels(make(labels))
    with pytest.raises(LabelError, match="'customer'"):
        Ensemble.from_members(labels)
    eight = {name: values[:8] for name, values in labels.items()}
    with pytest.raises(LabelError, match="'customer' holds a different text in each of the 8 rows"):
        Ensemble.from_labels(make(eight))
    # fewer than eight samples may have a cluster each, and so may those of which one has no label
    few = {name: values[:7] for name, values in labels.items()}
    assert Ensemble.from_labels(make(few)).n_members == 2
    labels["customer"][3] = None
    assert Ensemble.from_labels(make(labels)).n_members == 2


def test_named_columns_of_distinct_numbers_warn_once():
    labels = {"member": [0, 1] * 5, "id": list(range(10)), "ticket": list(range(50, 60))}
    with pytest.warns(
        UserWarning, match="columns 'id', 'ticket' hold a different number"
    ) as caught:
        ensemble = Ensemble.from_labels(labels)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert ensemble.n_members == 3


def test_the_warning_of_one_column_speaks_of_one():
    labels = {"member": [0, 1] * 5, "id": list(range(10))}
    with pytest.warns(
        UserWarning, match=r"^column 'id' holds a different number in each of the 10"
    ):
        Ensemble.from_labels(labels)


def test_arrays_may_give_every_sample_its_own_label():
    matrix = np.stack([np.arange(10), np.arange(10) % 2], axis=1)
    assert Ensemble.from_labels(matrix).n_microclusters == 10
    assert Ensemble.from_labels(matrix.astype(str)).n_microclusters == 10
    assert Ensemble.from_members([*matrix.T]).n_microclusters == 10


def test_tables_take_every_column_but_ids():
    table = {"key": list(range(9)), "name": list("abcdefghi"), "cluster": [0, 1, 2] * 3}
    with pytest.raises(LabelError, match=r"'north.name' .* with label="):
        Ensemble.from_tables({"north": table}, id="key")
    chosen = Ensemble.from_tables({"north": table}, id="key", label="cluster")
    assert chosen.members == ("north.cluster",)


# ---------------------------------------------------------------------- categoricals


@pytest.mark.parametrize(
    "column",
    [
        pd.Categorical(["b", "a", None, "b"], categories=["unused", "a", "b"]),
        pd.Categorical([2, -1, 3, 2], categories=[-1, 3, 2]),
        pd.Categorical([2.0, np.nan, 3.0, 2.0]),
        pd.Categorical([True, False, True, True]),
        pd.Categorical(["?", "a", "b", "b"]),
    ],
)
def test_a_categorical_is_read_as_its_cells_are(column):
    missing = [-1, "?"]
    cells = np.array(column.tolist(), dtype=object)
    expected = Ensemble.from_labels({"m": cells}, missing=missing)
    for given in (pd.DataFrame({"m": column}), {"m": pd.Series(column)}):
        found = Ensemble.from_labels(given, missing=missing)
        assert found == expected
        assert as_given(found) == as_given(expected)
        assert found.n_base_clusters == expected.n_base_clusters


def test_a_category_that_is_no_label_is_named_by_its_row():
    column = pd.Categorical([2.0, 3.0, 0.5], categories=[0.5, 2.0, 3.0])
    with pytest.raises(LabelError, match=r"member 'm', row 2: 0.5"):
        Ensemble.from_labels(pd.DataFrame({"m": column}))
    spare = pd.Categorical([2.0, 3.0, 2.0], categories=[0.5, 2.0, 3.0])
    assert Ensemble.from_labels(pd.DataFrame({"m": spare})).n_base_clusters == 2


def test_categorical_ids_join_tables():
    table = pd.DataFrame({"key": pd.Categorical(["u", "v", "w"]), "cluster": [0, 1, 1]})
    assert Ensemble.from_tables([table], id="key").sample_ids.tolist() == ["u", "v", "w"]


def test_categoricals_are_not_read_cell_by_cell():
    n = 400_000
    codes = np.random.default_rng(0).integers(0, 20, n)
    names = [f"cluster {k}" for k in range(20)]
    column = pd.Categorical.from_codes(codes, names)
    frames = [pd.DataFrame({"m": given}) for given in (column, column.astype(object))]
    Ensemble.from_labels(frames[0].head(9))
    seconds = []
    for frame in frames:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            start = time.process_time()
            Ensemble.from_labels(frame)
            seconds.append(time.process_time() - start)
    assert seconds[0] < 0.5 * seconds[1]
