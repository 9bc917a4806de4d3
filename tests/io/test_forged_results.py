"""Result files whose checksum is right and whose parts are not: one line that names the file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from coterie import EAC, Ensemble, Result, report
from coterie.cli import main
from coterie.core.errors import ParameterError, ResultFileError
from coterie.io.result_file import write_result
from coterie.plot import confidence
from coterie.select import select_k

LABELS = np.random.default_rng(0).integers(0, 3, (12, 4))


@pytest.fixture(scope="module")
def result() -> Result:
    ensemble = Ensemble.from_labels(LABELS)
    selection = select_k(ensemble, k=[2, 3], criteria=["pac", "anmi"], resamples=4, random_state=0)
    return Result.of(EAC(3).fit(ensemble), selection=selection)


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("selection", "criteria.pac"), 0.5),
        (("selection", "criteria.pac"), np.zeros(3)),
        (("selection", "criteria.anmi"), "much"),
        (("selection", "p_value"), "much"),
        (("selection", "evidence"), {"two": "borders"}),
        (("selection", "ks"), np.zeros(0)),
        (("selection", "cdf"), np.array(["a", "b"])),
        (("selection", "cdf_grid"), -1),
        (("selection", "labels"), -1),
        (("selection", "labels"), np.zeros((2, 12))),
        (("selection", "reason"), 5),
        (("selection", "notes"), [1]),
        (("warnings",), [1]),
        (("history",), [1, 2]),
        (("member_weights",), np.full(4, 1e308)),
        (("member_weights",), np.zeros(4)),
        (("ensemble", "weights"), np.full(len(np.unique(LABELS, axis=0)), 7)),
        (("ensemble", "labels"), np.zeros((len(np.unique(LABELS, axis=0)), 4), dtype=np.int32)),
    ],
)
def test_parts_that_do_not_fit(result, tmp_path, capsys, keys, value):
    record = result.to_record()
    part = record
    for name in keys[:-1]:
        part[name] = part = dict(part[name])
    part[keys[-1]] = value
    path = tmp_path / "forged.npz"
    write_result(path, record)
    with pytest.raises(ResultFileError, match="do not fit together"):
        Result.load(path)
    assert main(["report", str(path)]) == 2
    said = capsys.readouterr().err
    assert str(path) in said
    assert said.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir()] == ["forged.npz"]


def test_a_choice_made_on_a_part_of_the_samples_is_reported_without_streams(result, tmp_path):
    assert result.selection is not None
    part = replace(result.selection, labels=result.selection.labels[:, :5])
    page = tmp_path / "page.html"
    report.write(replace(result, selection=part), page)
    assert 'id="tracking-plot"' not in page.read_text(encoding="utf-8")
    report.write(result, page)
    assert 'id="tracking-plot"' in page.read_text(encoding="utf-8")


def test_half_a_surrogate_pair_does_not_stop_a_report(result, tmp_path):
    report.write(replace(result, coordinates_name="\ud800"), tmp_path / "page.html")
    assert (tmp_path / "page.html").read_bytes().rstrip().endswith(b"</html>")


@pytest.mark.parametrize(("path", "title"), [(5, None), (None, None), ("a.html", np.arange(3))])
def test_a_report_needs_a_path_and_a_title_of_text(result, path, title):
    with pytest.raises(ParameterError, match="must be"):
        report.write(result, path, title=title)


def test_bars_have_a_bound():
    with pytest.raises(ParameterError, match="at most 10000"):
        confidence([0.5, 1.0], bins=10**6)


@pytest.mark.parametrize("threads", ["0", "-1", "abc", "1000000"])
def test_a_number_of_threads_that_is_none(monkeypatch, capsys, threads):
    monkeypatch.setenv("NUMBA_NUM_THREADS", threads)
    assert main(["methods", "eac"]) == 2
    assert "NUMBA_NUM_THREADS must be a whole number" in capsys.readouterr().err
