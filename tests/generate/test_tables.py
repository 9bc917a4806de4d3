"""TableEncoder: what each column is, what becomes of it, and what does not change the features."""

import datetime as dt
import pickle
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from coterie import DataError
from coterie.generate import TableEncoder
from coterie.generate.columns import is_table
from coterie.generate.scaling import MAX_DEVIATIONS
from coterie.generate.tables import Preparation, table_features

N = 40
RNG = np.random.default_rng(0)
HEIGHT = RNG.normal(170, 10, N)
COUNTS = RNG.permutation(np.arange(N) ** 2 + 1000)
PLAN = [["basic", "pro", "free"][i % 3] for i in range(N)]
ISO = [str(dt.date(2024, 1, 1) + dt.timedelta(days=3 * i)) for i in range(N)]
TABLE = {
    "customer_id": [1000 + 7 * i for i in range(N)],
    "height": HEIGHT,
    "weight": [None if i % 9 == 4 else float(w) for i, w in enumerate(RNG.normal(70, 9, N))],
    "plan": [None if i == 5 else name for i, name in enumerate(PLAN)],
    "member": [i % 2 == 0 for i in range(N)],
    "joined": [dt.datetime(2020, 1, 1) + dt.timedelta(days=i * i) for i in range(N)],
    "country": ["no"] * N,
    "note": [f"remark {i % 35}" for i in range(N)],
}


def plans(table, **settings):
    return {plan.name: plan for plan in TableEncoder(**settings).fit(table).plans_}


def kind_of(values, name="x", **settings):
    """The kind of a column beside another one that is used."""
    return plans({name: values, "beside": HEIGHT[: len(values)]}, **settings)[name].kind


def features(table, **settings):
    return TableEncoder(**settings).fit_transform(table)


# ---------------------------------------------------------------------- what a column is


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (HEIGHT, "number"),
        ([1, 2] * 20, "number"),
        ([1, None] * 20, "constant"),
        ([1.0, None, 2.0, 3.0] * 10, "number"),
        (pd.array([1, 2, None, 4] * 10, dtype="Int64"), "number"),
        (PLAN, "category"),
        ([True, False] * 20, "category"),
        (np.arange(N) % 2 == 0, "category"),
        (["7", "Oslo"] * 20, "category"),
        (ISO, "date"),
        ([f"{text}T10:30:00" for text in ISO], "date"),
        ([f"{i % 28 + 1}.02.2024" for i in range(N)], "date"),
        ([f"{i % 28 + 1}/02/2024" for i in range(N)], "date"),
        ([f"02/{i % 28 + 1}/2024" for i in range(N)], "date"),
        ([None, *ISO[1:]], "date"),
        ([f"{i % 28 + 1}.02.2024 9:30" for i in range(N)], "date"),
        ([f"02/{i % 28 + 1}/2024 10:30:15" for i in range(N)], "date"),
        ([f"{text}T10:30:00+02:00" for text in ISO], "date"),
        ([f"{i % 28 + 1}.02.2024 noon" for i in range(N)], "category"),
        (np.array(ISO, dtype="datetime64[D]"), "date"),
        ([dt.date(2020, 1, 1 + i % 20) for i in range(N)], "date"),
        ([f"c{i}" for i in range(N)], "id"),
        (np.arange(N), "id"),
        (RNG.permutation(np.arange(10_000, 10_000 + N)), "id"),
        (RNG.choice(np.arange(10**5, 10**6), N, replace=False), "id"),
        (RNG.choice(10**8, N, replace=False) * 9 + 10**8, "id"),
        (COUNTS, "number"),
        (RNG.choice(np.arange(40_000, 90_000), N, replace=False), "number"),
        (200_000 + COUNTS * 7, "number"),
        ([20240101 + i % 20 for i in range(N)], "number"),
        ([f"remark {i % 35}" for i in range(N)], "text"),
        ([Decimal(i % 9) / 4 for i in range(N)], "number"),
        ([dt.timedelta(hours=i % 9) for i in range(N)], "number"),
        (np.arange(N).astype("m8[h]") % np.timedelta64(7, "h"), "number"),
        (["same"] * N, "constant"),
        ([3.5] * N, "constant"),
        ([None] * N, "empty"),
        ([np.nan] * N, "empty"),
        ([1.0, 2.0, 3.0, None, None, None, None, None] * 5, "empty"),
        (["", " "] * 20, "empty"),
    ],
)
def test_kinds(values, kind):
    assert kind_of(values) == kind


@pytest.mark.parametrize("name", ["id", "ID", "customer_id", "SampleID", "uuid", "row number", ""])
def test_a_name_makes_an_id(name):
    codes = [f"c{i % 20}" for i in range(N)]
    assert kind_of(codes, name) == "id"
    assert kind_of(codes, "humid") == "category"
    assert kind_of(HEIGHT, name) == "id"
    # few different numbers are a code, such as 1 or 2
    assert kind_of([1, 2] * 20, name) == "number"


def test_with_few_rows_different_values_are_not_ids():
    assert kind_of(np.arange(7)) == "number"
    assert kind_of([f"c{i}" for i in range(7)]) == "category"
    assert kind_of(np.arange(8)) == "id"
    assert kind_of([f"c{i}" for i in range(8)]) == "id"


@pytest.mark.parametrize("n", [8, 60, 1000])
def test_random_numbers_of_equal_length_are_nearly_always_ids(n):
    kinds = []
    for seed in range(100):
        rng = np.random.default_rng(seed)
        lowest = 10 ** (5 + seed % 4)
        numbers = rng.permutation(np.unique(rng.integers(lowest, 10 * lowest, 2 * n)))[:n]
        kinds.append(plans({"x": numbers, "beside": rng.normal(size=n)})["x"].kind)
    assert kinds.count("id") >= 97


def test_days_are_counted_alike_however_dates_are_written():
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=5 * i) for i in range(N)]
    expected = features({"d": days, "x": HEIGHT})
    for form in ("%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%m-%d-%Y"):
        written = [day.strftime(form) for day in days]
        assert np.array_equal(features({"d": written, "x": HEIGHT}), expected)
    moments = pd.Series(pd.to_datetime(days))
    assert np.array_equal(features(pd.DataFrame({"d": moments, "x": HEIGHT})), expected)


def test_new_rows_are_read_in_the_date_format_of_the_fit():
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=9 * i) for i in range(N)]
    for form in ("%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y"):
        table = {"d": [day.strftime(form) for day in days], "x": HEIGHT}
        encoder = TableEncoder().fit(table)
        one_by_one = [
            encoder.transform({"d": [table["d"][i]], "x": HEIGHT[i : i + 1]}) for i in range(N)
        ]
        assert np.array_equal(np.concatenate(one_by_one), encoder.transform(table))


@pytest.mark.parametrize(
    ("texts", "numbers", "form"),
    [
        (["5,961,000", "950", "1,200"], [5961000, 950, 1200], "."),
        (["$20.10", "-$3.00", "$1,000.5"], [20.1, -3, 1000.5], ".$"),
        (["12.3%", "0.5 %", "-4%"], [12.3, 0.5, -4], ".%"),
        (["1000,50", "7", "0,25"], [1000.5, 7, 0.25], ","),
        (["1.000,50", "7.000", "0,25"], [1000.5, 7000, 0.25], ","),
        (["1 000,5 €", "2\u00a0000,5 €", "3,1 €"], [1000.5, 2000.5, 3.1], ",€"),
        (["1'200.50", "80", "−7.5"], [1200.5, 80, -7.5], "."),
        (["1,5E+3", "2,5e-1", "3,25"], [1500, 0.25, 3.25], ","),
        (["12", "-", "15"], [12, None, 15], "."),
        (["?", "7", "8.5"], [None, 7, 8.5], "."),
        (["n/a", "2", "3,5"], [None, 2, 3.5], ","),
    ],
)
def test_numbers_written_as_text_are_numbers(texts, numbers, form):
    encoder = TableEncoder(columns=["x", "y"]).fit({"x": texts, "y": HEIGHT[:3]})
    assert encoder.plans_[0].kind == "number"
    assert encoder.plans_[0].format == form
    assert encoder.plans_[0].treatment.startswith("read from text with decimal ")
    expected = features({"x": numbers, "y": HEIGHT[:3]}, columns=["x", "y"])
    one_by_one = [
        encoder.transform({"x": [text], "y": HEIGHT[i : i + 1]}) for i, text in enumerate(texts)
    ]
    assert np.allclose(np.concatenate(one_by_one), expected, equal_nan=True)
    # new rows may hold numbers
    new = encoder.transform({"x": numbers, "y": HEIGHT[:3]})
    assert np.allclose(new, expected, equal_nan=True)


@pytest.mark.parametrize(
    "texts",
    [
        ["1,2", "1,2,3", "2"],
        ["8001", "3012", "8001"],
        ["08001", "03012.0", "08001"],
        ["1.2.3", "1.2.4", "1.2.5"],
        ["$5", "€5", "$7"],
        ["1.5", "1,5", "2"],
        ["12", "12a", "13"],
        ["10-20", "20-30", "10-20"],
        ["+", "-", "+"],
        ["192.168.1.1", "192.168.1.2", "10.0.0.1"],
    ],
)
def test_codes_lists_and_mixed_formats_are_categories(texts):
    assert kind_of(texts) == "category"


def test_categories_of_a_frame_are_categories():
    shares = ["10.5%", "20.5%"] * 20
    for frame in (
        pd.DataFrame({"p": pd.Categorical(shares), "y": HEIGHT}),
        pl.DataFrame({"p": pl.Series(shares, dtype=pl.Categorical), "y": HEIGHT}),
        pl.DataFrame({"p": pl.Series(shares, dtype=pl.Enum(shares[:2])), "y": HEIGHT}),
    ):
        assert plans(frame)["p"].levels == ("10.5%", "20.5%")
    assert kind_of(shares) == "number"


def test_dates_with_a_mark_for_missing_ones():
    assert kind_of(["-", *ISO[1:]]) == "date"


# ---------------------------------------------------------------------- what the user asks for


def test_named_columns_are_used_even_if_they_look_like_ids():
    asked = plans(TABLE, columns=["customer_id", "note"])
    assert {name for name, plan in asked.items() if plan.used} == {"customer_id", "note"}
    assert asked["customer_id"].kind == "number"
    assert asked["note"].kind == "category"
    assert asked["height"].treatment == "left out on request"
    # a constant cannot separate anything, whoever asks for it
    assert not plans(TABLE, columns=["country", "height"])["country"].used


def test_drop():
    dropped = plans(TABLE, drop=["height"])
    assert not dropped["height"].used
    rest = {name: values for name, values in TABLE.items() if name != "height"}
    assert np.array_equal(features(TABLE, drop=["height"]), features(rest), equal_nan=True)


def test_numbers_as_categories_keep_every_code_apart():
    codes = [[1234567, 1234568, 0.1][i % 3] for i in range(N)]
    plan = plans({"code": codes, "x": HEIGHT}, categories=["code"])["code"]
    assert plan.levels == ("0.1", "1234567", "1234568")
    texts = [str(code) for code in codes]
    assert np.array_equal(
        features({"code": codes, "x": HEIGHT}, categories=["code"]),
        features({"code": texts, "x": HEIGHT}, categories=["code"]),
    )


def test_dates_as_categories():
    days = [ISO[i % 3] for i in range(N)]
    plan = plans({"day": days, "x": HEIGHT}, categories=["day"])["day"]
    assert plan.levels == tuple(ISO[:3])


def test_scales():
    table = {"x": HEIGHT, "y": HEIGHT**2}
    X = np.column_stack([HEIGHT, HEIGHT**2])
    assert np.array_equal(features(table, scale="none"), X)
    assert np.allclose(features(table, scale="standard"), (X - X.mean(0)) / X.std(0))
    low, middle, high = np.percentile(X, [25, 50, 75], axis=0)
    assert np.allclose(features(table, scale="robust"), (X - middle) / (high - low))


def test_auto_clips_wild_values_and_scales_without_them():
    wild = np.append(HEIGHT[1:], 1e6)
    X = features({"x": wild, "y": 2 * HEIGHT})
    assert np.abs(X).max() == MAX_DEVIATIONS
    assert np.abs(features({"x": wild, "y": 2 * HEIGHT}, scale="standard")).max() > MAX_DEVIATIONS
    # the other values keep their spread
    assert 0.9 < X[:-1, 0].std() < 1.1
    assert features({"x": wild, "y": 2 * HEIGHT}, scale="standard")[:-1, 0].std() < 1e-3
    assert (
        plans({"x": wild, "y": 2 * HEIGHT})["x"].treatment == "standardised; 1 wild value clipped"
    )


def test_many_values_far_away_are_a_group_and_not_wild():
    rng = np.random.default_rng(0)
    far = rng.random(400) < 0.1
    column = 1000.0 * far + rng.normal(size=400)
    assert "wild" not in plans({"x": column, "y": 2 * rng.normal(size=400)})["x"].treatment
    rare = np.where(np.arange(400) < 10, 1000.0, rng.normal(size=400))
    assert "10 wild values" in plans({"x": rare, "y": 2 * rng.normal(size=400)})["x"].treatment


def test_a_column_of_mostly_equal_values_has_no_wild_values():
    purchases = np.where(np.arange(N) % 10 == 0, 500.0, 0.0)
    assert plans({"x": purchases, "y": HEIGHT})["x"].treatment == "standardised"
    assert len(np.unique(features({"x": purchases, "y": HEIGHT})[:, 0])) == 2


def test_columns_of_one_range_keep_their_spreads():
    pixels = {f"p{j}": RNG.integers(0, 17, N) for j in range(6)}
    for column in pixels.values():
        column[:2] = 0, 16
    pixels["p5"] = np.where(np.arange(N) == 3, 1, 0)
    X = features(pixels)
    spread = np.array([column.std() for column in pixels.values()])
    assert np.allclose(X.std(axis=0) / X.std(axis=0)[0], spread / spread[0])
    assert np.isclose(X.var(axis=0).mean(), 1.0)
    assert plans(pixels)["p0"].treatment == "scaled jointly (one range)"


def test_wild_rows_do_not_make_one_range():
    table = {"x": HEIGHT.copy(), "y": 1000 * HEIGHT, "z": HEIGHT / 1000}
    for column in table.values():
        column[:2] = 1e6, -1e6
    assert plans(table)["z"].treatment == "standardised; 2 wild values clipped"
    answers = {f"a{j}": RNG.integers(1, 6, N).astype(float) for j in range(4)}
    for column in answers.values():
        column[1:3] = 1, 5
    tame = features(answers)
    answers["a0"][0] = 999
    assert plans(answers)["a0"].treatment == "scaled jointly (one range); 1 wild value clipped"
    assert plans(answers)["a1"].treatment == "scaled jointly (one range)"
    # the wild value counts as 5
    assert features(answers)[0, 0] == features(answers)[2, 0]
    assert np.allclose(features(answers)[1:, 1:], tame[1:, 1:], rtol=0.1)


def test_one_wide_column_among_binary_ones_is_standardised():
    table = {f"b{j}": RNG.permutation([0, 1] * (N // 2)) for j in range(6)}
    table["income"] = RNG.normal(30_000, 9_000, N)
    assert np.allclose(features(table, scale="auto").std(axis=0), 1.0, atol=0.1)
    assert plans(table)["income"].treatment == "standardised"


def test_a_gap_stays_or_gets_the_median():
    gaps = np.array([value is None for value in TABLE["weight"]])
    kept = features(TABLE, columns=["height", "weight"])
    assert np.array_equal(np.isnan(kept), np.column_stack([np.zeros(N, bool), gaps]))
    filled = features(TABLE, columns=["height", "weight"], impute="median", scale="none")
    weight = np.array(TABLE["weight"], dtype=float)
    assert np.array_equal(filled[:, 1], np.where(gaps, np.nanmedian(weight), weight))


def test_a_missing_category_is_a_value_of_its_own():
    encoder = TableEncoder(columns=["plan"], scale="none").fit(TABLE)
    assert encoder.get_feature_names_out().tolist() == [
        "plan=basic",
        "plan=free",
        "plan=pro",
        "plan=(missing)",
    ]
    X = encoder.transform(TABLE)
    assert np.array_equal(X.sum(axis=1), np.ones(N))
    assert X[5].tolist() == [0, 0, 0, 1]


# ---------------------------------------------------------------------- what does not matter


@given(st.integers(0, 1000))
def test_permuted_rows_have_permuted_features(seed):
    order = np.random.default_rng(seed).permutation(N)
    permuted = {name: [values[i] for i in order] for name, values in TABLE.items()}
    assert np.allclose(features(permuted), features(TABLE)[order], atol=1e-9, equal_nan=True)


@given(st.permutations([*TABLE]))
def test_the_order_of_columns_does_not_change_their_features(order):
    encoders = [
        TableEncoder().fit(table) for table in (TABLE, {name: TABLE[name] for name in order})
    ]
    one, other = (
        dict(zip(encoder.get_feature_names_out(), encoder.transform(TABLE).T, strict=True))
        for encoder in encoders
    )
    assert one.keys() == other.keys()
    assert all(np.array_equal(one[name], other[name], equal_nan=True) for name in one)


def test_every_kind_of_table_has_the_same_features():
    expected = features(TABLE)
    frame = pd.DataFrame(TABLE)
    for table in (
        frame,
        frame.convert_dtypes(),
        frame.astype({"plan": "category"}),
        frame.set_index(np.arange(N) + 5),
        pl.DataFrame(TABLE),
        pa.table(TABLE),
    ):
        assert is_table(table)
        assert np.array_equal(features(table), expected, equal_nan=True)


@pytest.mark.parametrize("names", [[0, 1], [1, 0], ["a", 7], [(1, "x"), (2, "y")]])
def test_names_may_be_numbers(names):
    X = RNG.normal(size=(N, 2)) * [1, 50]
    frame = pd.DataFrame(X, columns=pd.Index(names, tupleize_cols=False))
    assert TableEncoder().fit(frame).feature_names_in_.tolist() == [str(name) for name in names]
    assert np.array_equal(features(frame), features({"x": X[:, 0], "y": X[:, 1]}))
    # the columns of a matrix are numbered
    assert np.array_equal(features(X), features(frame))
    assert TableEncoder(drop=["1"]).fit_transform(X.tolist()).shape == (N, 1)


def test_masked_values_are_missing():
    masked = np.ma.masked_less(HEIGHT, 165)
    expected = features({"x": np.where(HEIGHT < 165, np.nan, HEIGHT), "y": HEIGHT})
    assert np.array_equal(features({"x": masked, "y": HEIGHT}), expected, equal_nan=True)
    matrix = np.ma.column_stack([masked, HEIGHT])
    assert np.array_equal(features(matrix), expected, equal_nan=True)


def test_a_value_that_reads_like_a_missing_one():
    values = ["(missing)", "a", None] * 10
    encoder = TableEncoder(columns=["p"]).fit({"p": values})
    assert encoder.get_feature_names_out().tolist() == ["p=(missing)", "p=a"]


def test_scaling_and_units_do_not_matter_with_auto():
    table = {"x": HEIGHT, "y": RNG.normal(size=N)}
    inches = {**table, "x": HEIGHT / 2.54 + 7}
    assert np.allclose(features(inches), features(table))


def test_fit_transform_is_transform_of_the_fit_and_pickles():
    encoder = TableEncoder().fit(TABLE)
    assert np.array_equal(encoder.transform(TABLE), features(TABLE), equal_nan=True)
    again = pickle.loads(pickle.dumps(encoder))
    assert np.array_equal(again.transform(TABLE), encoder.transform(TABLE), equal_nan=True)
    settings = {"scale": "robust", "drop": ["note"], "impute": "median", "categories": ["plan"]}
    assert clone(TableEncoder(**settings)).get_params() == TableEncoder(**settings).get_params()
    assert not hasattr(clone(encoder), "plans_")


def test_names_of_features_and_columns():
    encoder = TableEncoder().fit(TABLE)
    names = encoder.get_feature_names_out()
    assert len(names) == encoder.transform(TABLE).shape[1] == len({*names})
    assert encoder.feature_names_in_.tolist() == [*TABLE]
    assert encoder.n_features_in_ == len(TABLE)
    assert encoder.id_column_ == "customer_id"
    assert TableEncoder().fit({"x": HEIGHT, "y": HEIGHT**2}).id_column_ is None


def test_the_summary_is_a_row_per_column():
    rows = [*TableEncoder().fit(TABLE).summary().rows()]
    assert [row["column"] for row in rows] == [*TABLE]
    by_name = {row["column"]: row for row in rows}
    assert by_name["weight"]["missing"] == sum(value is None for value in TABLE["weight"])
    assert by_name["weight"]["treatment"] == "standardised; gaps: 5 similar rows"
    assert by_name["joined"]["treatment"] == "counted in days, standardised"
    assert by_name["plan"]["treatment"] == "4 values: basic, free, pro, (missing)"
    assert by_name["country"]["treatment"] == "left out: the same value in every row"
    assert [row["column"] for row in rows if not row["used"]] == ["customer_id", "country", "note"]


# ---------------------------------------------------------------------- new rows


def test_an_unknown_category_is_no_known_one():
    encoder = TableEncoder(columns=["plan"], scale="none").fit(TABLE)
    assert not encoder.transform({"plan": ["gold"]}).any()
    assert np.array_equal(encoder.transform({"plan": [None]}), [[0, 0, 0, 1]])


def test_new_rows_may_lack_columns_that_are_not_used_and_have_others():
    encoder = TableEncoder().fit(TABLE)
    new = {name: TABLE[name] for name in reversed([*TABLE]) if name not in ("note", "customer_id")}
    new["other"] = ["?"] * N
    assert np.array_equal(encoder.transform(new), encoder.transform(TABLE), equal_nan=True)
    del new["height"]
    with pytest.raises(DataError, match="the table lacks the column 'height', which"):
        encoder.transform(new)


def test_new_rows_without_any_value_in_a_column():
    encoder = TableEncoder().fit(TABLE)
    row = {name: [values[0]] for name, values in TABLE.items()}
    expected = encoder.transform(row)
    names = encoder.get_feature_names_out().tolist()
    expected[:, names.index("weight")] = expected[:, names.index("joined")] = np.nan
    new = encoder.transform({**row, "weight": [None], "joined": [None]})
    assert np.array_equal(new, expected, equal_nan=True)


def test_rows_without_any_value_are_warned_of():
    encoder = TableEncoder(columns=["height", "plan"]).fit(TABLE)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder.transform({"height": [None, 170], "plan": ["pro", None]})
    with pytest.warns(
        UserWarning, match=r"^1 row has no value in .* \(first: row 1, counted from 0\)"
    ):
        encoder.transform({"height": [170, None], "plan": ["pro", None]})


def test_text_where_numbers_were():
    encoder = TableEncoder().fit(TABLE)
    with pytest.raises(DataError, match=r"'height' held numbers .* but holds text such as 'tall'"):
        encoder.transform({**TABLE, "height": ["tall"] * N})


def test_a_category_of_codes_that_new_rows_have_as_numbers():
    encoder = TableEncoder().fit({"code": ["1", "2", "x"] * 10, "y": HEIGHT[:30]})
    as_text, as_numbers = (
        encoder.transform({"code": codes, "y": HEIGHT[:2]}) for codes in (["1", "2"], [1, 2])
    )
    assert np.array_equal(as_text, as_numbers)


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("table", "settings", "words"),
    [
        ({"x": [1.0, np.inf, 2.0]}, {}, r"column 'x' holds 1 infinite value \(first in row 1\)"),
        ({"x": [1.0, -np.inf, np.inf]}, {}, "column 'x' holds 2 infinite values"),
        ({"x": ["1.0", "1e999", "2.5"]}, {}, "column 'x' holds 1 infinite value"),
        (
            {"x": [1.0, 1e200, 2.0]},
            {},
            r"column 'x' holds values as large as 1e\+200, whose squares",
        ),
        (
            {"x": [1, 1], "id": ["a", "b"]},
            {},
            r"no column is left to cluster by: 'x' \(constant\), 'id' \(id\); .*columns=",
        ),
        ({"x": [1.0, 2.0], "y": [1, 2, 3]}, {}, "differ in length"),
        ({}, {}, "the table has no rows"),
        ({"x": [], "y": []}, {}, "the table has no rows"),
        ({"x": 1.0}, {}, "column 'x' must hold a value per row, but is 1.0"),
        ({"x": "abc"}, {}, "column 'x' must hold a value per row, but is 'abc'"),
        ({"x": np.ones((3, 2))}, {}, "column 'x' must have one dimension, but has 2"),
        ({"x": [10**400, 1, 2]}, {}, "column 'x' holds a number that is too large"),
        ({1: [1, 2], "1": [3, 4]}, {}, "columns of the same name"),
        (pl.LazyFrame({"x": [1, 2]}), {}, r"polars LazyFrame; call .collect\(\) first"),
        (HEIGHT, {}, "takes a data frame, a mapping or a dense matrix, not ndarray"),
        (sparse.eye_array(3), {}, "takes a data frame, a mapping or a dense matrix"),
        (TABLE, {"drop": ["heigth"]}, "drop names 'heigth', .*did you mean 'height'"),
        (TABLE, {"columns": ["z"]}, "columns names 'z', but the table has no such column"),
        (TABLE, {"categories": ["z"]}, "categories names 'z'"),
        (TABLE, {"scale": "minmax"}, "scale must be one of 'auto'.* but is 'minmax'"),
        (TABLE, {"impute": "mean"}, "impute must be one of 'donors'"),
        (TABLE, {"columns": "height"}, "columns must be a list of column names, or None"),
        (TABLE, {"drop": [1]}, "drop must be a list of column names"),
    ],
)
def test_errors(table, settings, words):
    with pytest.raises(ValueError, match=words):
        TableEncoder(**settings).fit(table)


def test_columns_of_one_name():
    frame = pd.DataFrame(np.arange(20.0).reshape(10, 2), columns=["a", "a"])
    with pytest.raises(DataError, match="columns of the same name"):
        TableEncoder().fit(frame)


def test_infinite_values_in_columns_that_are_left_out_do_not_matter():
    table = {"x": HEIGHT, "y": HEIGHT**2, "bad": np.append(HEIGHT[1:], np.inf)}
    assert features(table, drop=["bad"]).shape == (N, 2)


# ---------------------------------------------------------------------- features without gaps


def test_features_of_a_table_have_no_gaps_and_keep_the_others():
    encoded, complete = features(TABLE), table_features(TABLE)
    known = ~np.isnan(encoded)
    assert np.array_equal(complete[known], encoded[known])
    assert np.isfinite(complete).all()
    assert np.array_equal(complete, table_features(pd.DataFrame(TABLE)))


def test_a_preparation_fills_new_rows_as_it_did_those_of_the_fit():
    preparation, encoded = Preparation.fit(TABLE, TableEncoder(), np.random.default_rng(0))
    assert np.array_equal(preparation(TABLE), preparation.gaps.filled_by_mean(encoded))
    again = pickle.loads(pickle.dumps(preparation))
    assert np.array_equal(again(TABLE), preparation(TABLE))
