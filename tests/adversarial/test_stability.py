"""What users build on: public names, and files of the formats that were ever written."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

import coterie
from coterie import Result

HERE = Path(__file__).parent
PUBLIC = json.loads((HERE / "public_names.json").read_text())
STORED = sorted((HERE / "stored").glob("result-*.npz"))


def public_names() -> dict[str, list[str]]:
    """Names by module."""
    modules = ["coterie", *(f"coterie.{name}" for name in coterie._MODULES), "coterie.bench"]
    return {name: sorted(importlib.import_module(name).__all__) for name in modules}


def test_no_public_name_is_lost():
    now = public_names()
    lost = {
        module: sorted({*names} - {*now.get(module, ())})
        for module, names in PUBLIC.items()
        if {*names} - {*now.get(module, ())}
    }
    assert lost == {}, "a public name goes through a deprecation before it goes"


def test_every_public_name_is_listed():
    assert public_names() == PUBLIC, "add new names to public_names.json"


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_stored_results_are_read_for_ever(path):
    result = Result.load(path)
    expected = json.loads(path.with_suffix(".json").read_text())
    assert result.labels.tolist() == expected["labels"]
    assert result.method == expected["method"]
    assert result.n_clusters == expected["n_clusters"]
    assert list(result.ensemble.members) == expected["members"]
    assert result.samples()["cluster"].tolist() == expected["labels"]
    assert (result.selection is not None) == expected["selection"]


def test_there_is_one_of_every_version():
    from coterie.io._result_file import VERSION

    assert {path.stem.split("-")[1] for path in STORED} == {f"v{n + 1}" for n in range(VERSION)}
