"""The floors of coverage: lines and branches each have their own."""

from __future__ import annotations

import json

import pytest

from tests.adversarial import floors


def summary(lines, branches):
    return {
        "covered_lines": lines,
        "num_statements": 100,
        "covered_branches": branches,
        "num_branches": 100,
    }


@pytest.mark.parametrize(
    ("lines", "branches", "code"), [(95, 90, 0), (94, 100, 1), (100, 89, 1), (100, 100, 0)]
)
def test_below_either_floor_fails(tmp_path, capsys, lines, branches, code):
    whole = summary(lines, branches)
    files = {"good.py": {"summary": summary(96, 50)}, "bad.py": {"summary": summary(40, 50)}}
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"files": files, "totals": whole}), encoding="utf-8")
    assert floors.main(str(report)) == code
    shown = capsys.readouterr().out
    assert "40.0%     50.0%  bad.py" in shown
    assert "good.py" not in shown
    assert f"{lines}.0%" in shown


def test_a_file_without_branches_has_them_all():
    assert floors.shares({**summary(10, 0), "num_branches": 0}) == (0.1, 1.0)
