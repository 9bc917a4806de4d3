"""What users build on: public names, and files of the formats that were ever written."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from coterie import Result

HERE = Path(__file__).parent
STORED = sorted((HERE / "stored").glob("result-*.npz"))


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_stored_results_are_read_for_ever(path):
    result = Result.load(path)
    expected = json.loads(path.with_suffix(".json").read_text())
    assert result.labels.tolist() == expected["labels"]
    assert result.method == expected["method"]
    assert result.n_clusters == expected["n_clusters"]
    assert list(result.ensemble.members) == expected["members"]
    assert result.diagnose_samples()["cluster"].tolist() == expected["labels"]
    assert (result.selection is not None) == expected["selection"]
    # since version 2
    assert [column["kind"] for column in result.columns] == expected.get("columns", [])
    verdict = None if result.verdict is None else asdict(result.verdict)
    if "verdict" in expected:
        # the share came later; it was the agreement
        agreement = expected["verdict"]["agreement"]
        assert verdict == {"doubts": (), "share": agreement} | expected["verdict"]
    else:
        assert verdict is None


def test_there_is_one_of_every_version():
    from coterie.io.result_file import VERSION

    assert {path.stem.split("-")[1] for path in STORED} == {f"v{n + 1}" for n in range(VERSION)}
