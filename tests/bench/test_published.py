import re

import numpy as np
import pytest

from coterie.core.errors import ParameterError
from coterie.solvers.methods import all_methods
from coterie_bench._published import PAPERS, data_key, find_tables, look_up, published
from coterie_bench._records import BASE_AVERAGE, BASE_BEST
from coterie_bench._score import METRICS


def looked_up(method, data="ecoli", metric="ari", tables=("eccms IV",), members=20, **fields):
    fields = {"solver": method.lower(), **fields}
    found = look_up(
        find_tables(tables), data=data, metric=metric, members=members, method=method, **fields
    )
    return [row.mean for row in found]


def test_every_row_is_well_formed():
    table = published()
    assert len(table) > 2000
    assert set(table["paper"]) == set(PAPERS)
    assert set(table["metric"]) <= {*METRICS, "seconds"}
    known = {*all_methods(), BASE_AVERAGE, BASE_BEST}
    for row in table.rows():
        # a name in small letters is the catalogue's; the papers' own are not
        assert row["method"] in known or row["method"] == row["label"], row
        score = row["metric"] != "seconds"
        assert 0 <= row["mean"] <= (1 if score else np.inf), row
        assert np.isnan(row["sd"]) or 0 <= row["sd"] < 0.5, row
        assert re.fullmatch(r"[IVX]+|\d|stored|program", row["table"]), row


def test_no_number_is_there_twice():
    columns = ("paper", "table", "data", "members", "label", "setting", "metric")
    keys = [tuple(row[name] for name in columns) for row in published().rows()]
    assert len(set(keys)) == len(keys)


def test_a_paper_agrees_with_itself():
    """The same number printed in two tables of a paper is the same number."""
    seen = {}
    for row in published().rows():
        if row["table"] in ("stored", "program"):
            # no paper's, and of other ensembles than each other
            continue
        key = tuple(
            row[name] for name in ("paper", "data", "members", "label", "setting", "metric")
        )
        assert seen.setdefault(key, row["mean"]) == row["mean"], key


def test_two_papers_with_the_same_ensembles_agree():
    """TRCE prints with four digits what SPCE prints with three, for all data but AR."""
    four = {
        (row["data"], row["label"], row["metric"]): row["mean"]
        for row in published("trce").rows()
        if row["table"] in ("2", "3") and row["data"] != "AR" and row["label"] != "TRCE"
    }
    shared = [
        (row["mean"], four[key])
        for row in published("spce").rows()
        if row["members"] == 20 and (key := (row["data"], row["label"], row["metric"])) in four
    ]
    assert len(shared) > 200
    np.testing.assert_allclose(*zip(*shared, strict=True), atol=0.00051)


@pytest.mark.parametrize(
    ("paper", "table", "data", "label", "metric", "mean", "sd"),
    [
        ("eccms", "IV", "SPF", "LWEA", "ari", 0.084, 0.018),
        ("eccms", "V", "ISOLET", "DREC", "pairwise_f", 0.550, 0.011),
        ("eccms", "IV", "UMIST", "ECPCS-HC", "ari", 0.317, 0.039),
        ("spce", "III", "Lung", "SPCE", "accuracy", 0.913, 0.005),
        ("spce", "VIII", "WarpAR", "SPCE", "ari", 0.053, 0.009),
        ("trce", "3", "Lung", "TRCE", "nmi_max", 0.7216, np.nan),
        ("ceshl", "4", "GLIOMA", "CESHL", "nmi_max", 0.1938, 0.0317),
        ("ceshl", "3", "Tr41", "DREC", "accuracy", 0.6246, 0.0416),
        ("pce", "2", "3Sources", "PCE", "accuracy", 0.3649, 0.0599),
    ],
)
def test_numbers_read_from_the_papers(paper, table, data, label, metric, mean, sd):
    rows = [
        row
        for row in published(paper, table, data).rows()
        if (row["label"], row["metric"]) == (label, metric)
    ]
    assert [row["mean"] for row in rows] == [mean]
    np.testing.assert_equal(rows[0]["sd"], sd)


def test_data_under_any_of_their_names():
    assert len(published("eccms", "iv", "ECOLI")) == len(published("eccms", "IV", "ecoli")) == 16
    assert data_key("GLIOMA_50n_4434d_4c_uni") == data_key("Glioma")
    assert data_key("tr41_878n_7454d_10c_tfidf_uni") == data_key("Tr41")
    assert data_key("Coil20Data_25_uni") == data_key("COIL20")
    assert data_key("ORL_32x32") == data_key("orl") != data_key("orlraws10P")
    assert data_key("bc_pool_Caltech20") == data_key("Caltech20")
    assert data_key("lung_discrete") != data_key("Lung")
    assert data_key("pixraw10P") == data_key("Pixraw")
    assert data_key("TOX_171") == data_key("Tox")
    assert data_key("Coil20") != data_key("Coil100")


def test_unknown_paper_is_named():
    with pytest.raises(ParameterError, match=r"'ecms'.*did you mean 'eccms'"):
        published("ecms")


def test_tables_by_name():
    assert find_tables(["IV", "Table V"], "eccms") == (("eccms", "IV"), ("eccms", "V"))
    assert find_tables(["spce III", "trce:2"]) == (("spce", "III"), ("trce", "2"))
    assert find_tables([]) == ()
    assert find_tables([], "pce") == (("pce", "2"), ("pce", "program"))
    with pytest.raises(ParameterError, match=r"the table 'XII'.*known: .*eccms IV"):
        find_tables(["XII"], "eccms")


def test_a_method_is_found_by_its_catalogue_name_or_the_papers():
    assert looked_up("eccms") == looked_up("EC-CMS", solver="eccms") == [0.487, 0.754]
    assert looked_up("our own name", solver="lwea") == [0.430]
    assert looked_up(BASE_AVERAGE, solver="") == [0.396]
    assert looked_up("kc") == []


def test_a_choice_among_words_tells_variants_apart():
    assert looked_up("pta") == looked_up("pta", default={"linkage": "average"}) == [0.340]
    assert looked_up("pta", default={"linkage": "complete"}) == [0.342]
    assert looked_up("pta", default={"linkage": "single"}) == []
    assert looked_up("PTA-CL", solver="pta") == [0.342]


def test_a_part_is_found_by_its_name_alone():
    of_lung = {"data": "lung", "metric": "accuracy", "tables": ["spce III"]}
    assert looked_up("SPCE-W", solver="spce", ablation=True, **of_lung) == [0.909]
    assert looked_up("SPCE-W", solver="spce", **of_lung) == [0.909]
    assert looked_up("no pace", solver="spce", ablation=True, **of_lung) == []


def test_sizes_of_ensembles_are_kept_apart():
    of_lung = {"data": "Lung", "metric": "ari", "tables": ["spce V", "spce VIII"]}
    assert looked_up("spce", members=20, **of_lung) == [0.766]
    assert looked_up("spce", members=9, **of_lung) == [0.639]
    assert looked_up("spce", members=10, **of_lung) == []


def test_a_number_printed_twice_is_shown_once():
    assert looked_up("eccms", tables=["eccms IV", "eccms VIII"]) == [0.487, 0.754]
