"""Figures from runs: those that the runs support, honest captions, the same bytes again."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import dataclass, field, replace
from itertools import product
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

from coterie import Ensemble, MemoryBudgetError, ParameterError
from coterie.core.errors import DataError
from coterie_bench._records import BASE_AVERAGE, BASE_BEST, RunKey, RunRecord, setting_text
from coterie_bench.figures import figures, save_figures
from coterie_bench.figures._parameters import read_study
from coterie_bench.figures._plan import BenchFigure, BenchFigures, file_name, usual_kind


@dataclass(frozen=True)
class Method:
    name: str
    solver: str
    default: dict = field(default_factory=dict)
    grid: dict = field(default_factory=dict)
    ablation_of: str = ""


def spec_of(*methods, metrics=("ari",), **more):
    return SimpleNamespace(
        title="Trial", paper="", seed=7, metrics=metrics, methods=methods, published=(), **more
    )


def run_of(
    method, data="iris", members=20, missing=0.0, repetition=0, setting=None, score=0.5, **more
):
    status = more.pop("status", "ok")
    ok = status == "ok"
    return RunRecord(
        key=RunKey(
            data,
            members,
            missing,
            repetition,
            method.name,
            setting_text(method.default if setting is None else setting),
        ),
        solver=method.solver,
        default=setting is None,
        ablation_of=method.ablation_of,
        status=status,
        message="" if ok else "it broke",
        scores={"ari": score} if ok and score is not None else {},
        n_clusters=3 if ok else None,
        n_clusters_wanted=3,
        n_samples=150,
        n_microclusters=60,
        seconds=more.pop("seconds", 0.5) if ok else None,
        peak_mib=more.pop("peak_mib", 3.0) if ok else None,
        converged=ok or None,
        passes=None,
        **more,
    )


EAC = Method("EAC", "eac")
SPCE = Method("SPCE", "spce", grid={"theta": (0.0, 0.3, 0.6)})
ECCMS = Method(
    "EC-CMS", "eccms", {"alpha": 0.8, "lam": 0.4}, {"alpha": (0.5, 0.8), "lam": (0.2, 0.4)}
)


def drawn(figure):
    canvas = Figure(figsize=figure.size, layout="constrained")
    figure.draw(canvas)
    canvas.draw_without_rendering()
    return canvas


def named(planned):
    return {figure.name: figure for figure in planned}


# ---------------------------------------------------------------- over ensembles


def test_score_against_ensemble_size_and_missing_labels():
    runs = [
        run_of(EAC, members=members, missing=missing, repetition=r, score=members / 100 - missing + r / 10)
        for members, missing in [(20, 0.0), (10, 0.0), (30, 0.0), (20, 0.5), (20, 0.25)]
        for r in range(2)
    ]  # fmt: skip
    runs += [replace(run_of(Method(BASE_AVERAGE, ""), score=0.1), solver="")]
    runs += [replace(run_of(Method(BASE_BEST, ""), score=0.9), solver="")]
    planned = named(figures(runs, spec_of(EAC)))
    (ax,) = drawn(planned["members-ari-iris"]).axes
    assert ax.lines[0].get_xdata().tolist() == [10, 20, 30]
    assert ax.lines[0].get_ydata().tolist() == pytest.approx([0.15, 0.25, 0.35])
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["EAC", "base average"]
    caption = planned["members-ari-iris"].caption
    assert "ARI on iris" in caption
    assert "no label missing" in caption
    assert "2 repetitions" in caption
    assert "seed 7" in caption
    (ax,) = drawn(planned["missing-ari-iris"]).axes
    assert ax.lines[0].get_xdata().tolist() == [0, 25, 50]
    assert ax.get_xlabel() == "labels missing (%)"
    assert "20 members" in planned["missing-ari-iris"].caption


def test_runs_that_failed_leave_a_gap_and_are_counted_in_the_caption():
    other = Method("B", "lwea")
    runs = [
        run_of(m, members=k, repetition=r, status="time cap" if m is other and (k, r) in lost else "ok")
        for m, k, r in product((EAC, other), (10, 20), range(2))
        for lost in [{(10, 0), (20, 0), (20, 1)}]
    ]  # fmt: skip
    figure = named(figures(runs, spec_of(EAC, other)))["members-ari-iris"]
    assert figure.caption.endswith("Runs without a result: B 3 of 4.")
    (ax,) = drawn(figure).axes
    assert np.isnan(ax.lines[1].get_ydata()).tolist() == [False, True]
    hollow = [line for line in ax.lines if line.get_markerfacecolor() == "white"]
    assert hollow[-1].get_xdata().tolist() == [10.0]


def test_the_usual_ensembles_are_those_of_most_runs_and_then_the_most_complete():
    runs = [run_of(EAC, members=m, missing=s) for m, s in product((10, 20), (0.0, 0.5))]
    assert usual_kind(runs) == {"iris": (20, 0.0)}
    runs += [run_of(SPCE, members=10, missing=0.5)]
    assert usual_kind(runs) == {"iris": (10, 0.5)}


# ---------------------------------------------------------------- parameters


def test_one_parameter_is_a_line_with_the_estimators_default_marked():
    runs = [
        run_of(SPCE, setting={"theta": theta}, repetition=r, score=theta + r / 10)
        for theta in (0.0, 0.3, 0.6)
        for r in range(2)
    ]
    runs += [run_of(SPCE, repetition=r, score=0.9) for r in range(2)]
    figure = named(figures(runs, spec_of(SPCE)))["parameter-spce-theta-ari-iris"]
    (ax,) = drawn(figure).axes
    # theta is 0.2 where a setting does not say
    assert ax.lines[0].get_xdata().tolist() == [0.0, 0.2, 0.3, 0.6]
    assert ax.lines[0].get_ydata().tolist() == pytest.approx([0.05, 0.9, 0.35, 0.65])
    assert "default (0.2)" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert "SPCE against theta on iris (20 members; mean of 2 repetitions" in figure.caption


def test_two_parameters_are_a_map_with_a_frame_at_the_default():
    runs = [run_of(ECCMS, score=0.7)]
    for alpha, lam in product((0.5, 0.8), (0.2, 0.4)):
        if (alpha, lam) == (0.8, 0.4):
            continue
        status = "failed" if (alpha, lam) == (0.5, 0.2) else "ok"
        runs.append(
            run_of(ECCMS, setting={"alpha": alpha, "lam": lam}, score=alpha - lam, status=status)
        )
    figure = named(figures(runs, spec_of(ECCMS)))["parameters-ec-cms-ari-iris"]
    ax = drawn(figure).axes[0]
    values = ax.images[0].get_array().filled(np.nan)
    assert values == pytest.approx(np.array([[np.nan, 0.1], [0.6, 0.7]]), nan_ok=True)
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("alpha", "lam")
    assert (ax.patches[0].get_x(), ax.patches[0].get_y()) == (0.5, 0.5)
    assert "1 setting without a result in some repetition" in figure.caption


def test_three_parameters_are_lines_through_the_default():
    method = Method("X", "eccms", {"alpha": 1.0, "lam": 1.0, "theta": 1.0})
    runs = [run_of(method)]
    runs += [
        run_of(method, setting={"alpha": a, "lam": b, "theta": c}, score=(a + b + c) / 10)
        for a, b, c in [(0.5, 1.0, 1.0), (1.0, 0.5, 1.0), (1.0, 0.1, 1.0), (0.5, 0.5, 0.5)]
    ]
    planned = figures(runs, spec_of(method))
    found = named(planned)
    (ax,) = drawn(found["parameter-x-lam-ari-iris"]).axes
    assert ax.lines[0].get_xdata().tolist() == [0.1, 0.5, 1.0]
    assert "default values of alpha and theta are kept" in found["parameter-x-lam-ari-iris"].caption
    assert any(
        "against theta of X on iris: the grid has no two values" in w for w in planned.left_out
    )


def test_a_study_without_any_score_is_none_and_lists_can_be_values():
    assert (
        read_study([run_of(SPCE, setting={"theta": t}, status="failed") for t in (0, 1)], "ari")
        is None
    )
    study = read_study([run_of(SPCE, setting={"q": q}) for q in ([1, 2], [3])], "ari")
    assert sorted(study.values) == [("[1, 2]",), ("[3]",)]


# ---------------------------------------------------------------- ablation, ranks, cost, objective


def test_a_method_beside_its_parts():
    part = Method("EC-CMS, no spread", "eccms", {"propagate": False}, ablation_of="EC-CMS")
    runs = [
        run_of(m, data=d, repetition=r, score=s + r / 10)
        for (m, s), d, r in product(((ECCMS, 0.6), (part, 0.4), (EAC, 0.3)), ("a", "b"), range(2))
    ]
    found = named(figures(runs, spec_of(ECCMS, part, EAC)))
    canvas = drawn(found["ablation-ec-cms-ari"])
    assert [ax.get_title(loc="left") for ax in canvas.axes] == ["a", "b"]
    names = [text.get_text() for text in canvas.axes[0].get_yticklabels()]
    assert names == ["EC-CMS", "EC-CMS, no spread"]
    assert [text.get_text() for text in canvas.axes[0].texts] == ["0.650", "0.450"]
    # a part is no method of its own: neither ranked nor timed
    assert len(drawn(found["time"]).axes[0].patches) == 2
    assert not any("no spread" in t.get_text() for t in drawn(found["ranks-ari"]).axes[0].texts)


def test_ranks_over_data_sets():
    runs = [run_of(m, data=d, score=s) for (m, s), d in product(((EAC, 0.2), (SPCE, 0.4)), "abc")]
    figure = named(figures(runs, spec_of(EAC, SPCE)))["ranks-ari"]
    assert [t.get_text() for t in drawn(figure).axes[0].texts][:2] == ["SPCE  1.00", "2.00  EAC"]
    assert "over a, b and c (20 members)" in figure.caption


def test_time_and_memory_say_why_there_is_no_bar():
    caps = SimpleNamespace(seconds=600.0, memory=8_000_000_000)
    slow, broken, odd = Method("slow", "drec"), Method("broken", "rce"), Method("odd", "kcc")
    runs = [
        run_of(EAC, repetition=r, seconds=s, peak_mib=0.0) for r, s in enumerate((1.0, 2.0, 9.0))
    ]
    runs += [run_of(slow, repetition=r, status="time cap") for r in range(3)]
    runs += [run_of(broken, repetition=r, status="failed") for r in range(3)]
    runs += [run_of(odd, repetition=r, status="memory cap" if r else "ok") for r in range(3)]
    found = named(figures(runs, spec_of(EAC, slow, broken, odd, caps=caps)))
    (ax,) = drawn(found["time"]).axes
    assert ax.get_xscale() == "log"
    words = [text.get_text() for text in ax.texts]
    assert words == ["2", "time cap of 600 s", "failed", "0.5 (1 of 3 runs)"]
    assert "3 repetitions with 20 members" in found["time"].caption
    # less than can be measured is little, and not nothing
    assert drawn(found["memory"]).axes[0].texts[0].get_text() == "0.01"


def test_objective_by_pass():
    runs = [
        run_of(SPCE, data=d, repetition=r, objective=(3.0, 2.0 - r, 1.0 - r))
        for d, r in product("ab", range(2))
    ]
    figure = named(figures(runs, spec_of(SPCE)))["objective-spce"]
    first, second = drawn(figure).axes
    assert first.lines[0].get_ydata().tolist() == [3, 2, 1]
    assert first.lines[-1].get_ydata().tolist() == [3, 1, 0]
    assert second.get_title(loc="left") == "b"


# ---------------------------------------------------------------- evidence


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    classes = np.repeat([0, 1, 2], [25, 20, 15])
    noise = rng.random((60, 8)) < 0.25
    labels = np.where(noise, rng.integers(0, 3, (60, 8)), classes[:, None])
    return Ensemble.from_labels(labels), classes


def test_evidence_and_matrices_from_the_data(data):
    methods = (ECCMS, SPCE, Method("TRCE", "trce"), Method("RCE", "rce"), EAC)
    runs = [run_of(method) for method in methods]
    found = named(figures(runs, spec_of(*methods), lambda name: data))
    _, lower = drawn(found["evidence-iris"]).axes[0].child_axes
    assert lower.lines[1].get_ydata()[0] == 1
    for name in ("matrix-ec-cms-iris", "matrix-spce-iris", "matrix-trce-iris"):
        panels = drawn(found[name]).axes[0].child_axes
        before, after, difference, ideal = (np.asarray(p.images[0].get_array()) for p in panels)
        assert difference == pytest.approx(after - before)
        same = ideal == 1
        # what each of them learns: more inside the classes, less across
        assert difference[same].mean() > difference[~same].mean()
    titles = [p.get_title(loc="left") for p in drawn(found["matrices-iris"]).axes[0].child_axes]
    assert titles == ["co-association", "SPCE", "RCE", "classes"]
    assert "60 samples" in found["evidence-iris"].caption


def test_without_data_or_classes_they_are_left_out_with_the_reason(data):
    runs = [run_of(SPCE)]
    assert (
        "evidence and matrices: the data were not given, only the runs"
        in figures(runs, spec_of(SPCE)).left_out
    )
    planned = figures(runs, spec_of(SPCE), lambda name: (data[0], None))
    assert "evidence and matrices of iris: its classes are unknown" in planned.left_out

    def absent(name):
        raise DataError(f"{name}.npz is not there")

    planned = figures(runs, spec_of(SPCE), absent)
    assert "evidence and matrices of iris: iris.npz is not there" in planned.left_out


# ---------------------------------------------------------------- what there is nothing to draw of


def test_every_kind_that_is_missing_has_its_reason():
    planned = figures([run_of(EAC)], spec_of(EAC))
    assert [figure.name for figure in planned] == ["time", "memory"]
    kinds = [reason.split(":")[0] for reason in planned.left_out]
    assert kinds == [
        "score against ensemble size",
        "score against missing labels",
        "score against parameters",
        "ablation",
        "mean ranks",
        "objective by pass",
        "evidence and matrices",
    ]
    assert figures([], spec_of(EAC)).left_out == ("all figures: there are no runs yet",)


def test_data_without_classes_still_has_time():
    runs = [run_of(EAC, members=m, score=None) for m in (10, 20)]
    planned = figures(runs, spec_of(EAC))
    assert [figure.name for figure in planned] == ["time", "memory"]
    assert "scores on iris: its classes are unknown" in planned.left_out


def test_nothing_but_failures_is_left_out_not_drawn_as_nothing():
    planned = figures([run_of(EAC, status="failed")], spec_of(EAC))
    assert len(planned) == 0
    assert "time on iris: no run at a default setting succeeded" in planned.left_out


# ---------------------------------------------------------------- files


def digests(saved):
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in saved.files}


def test_files_are_whole_and_the_same_again_and_settings_stay(tmp_path):
    runs = [run_of(EAC, members=m, data="A/b c", score=m / 100) for m in (10, 20)]
    planned = figures(runs, spec_of(EAC))
    matplotlib.rcParams["font.size"] = 13.0
    try:
        once = save_figures(planned, tmp_path / "one" / "deep", ("svg", "png", "pdf"))
        assert matplotlib.rcParams["font.size"] == 13.0
    finally:
        matplotlib.rcParams["font.size"] = 10.0
    again = save_figures(planned, tmp_path / "two", ("svg", "png", "pdf"))
    assert digests(once) == digests(again)
    assert sorted(file.name for file in (tmp_path / "two").iterdir()) == sorted(digests(again))
    assert "members-ari-a-b-c.svg" in digests(again)
    svg = (tmp_path / "two" / "members-ari-a-b-c.svg").read_text()
    assert "ARI on A/b c" in svg
    assert "<dc:date>" not in svg
    captions = (tmp_path / "two" / "captions.md").read_text()
    assert "**members-ari-a-b-c**" in captions
    assert "## Left out" in captions


def test_a_figure_that_cannot_be_drawn_is_left_out_and_the_others_are_there(tmp_path):
    def refuse(canvas):
        raise MemoryBudgetError("needs 9 GB")

    def line(canvas):
        canvas.add_subplot().plot([1, 2])

    seen = []
    planned = BenchFigures(
        (
            BenchFigure("bad", "Bad", "", (2, 2), refuse),
            BenchFigure("good", "Good", "", (2, 2), line),
        ),
        ("one reason",),
    )
    saved = save_figures(planned, tmp_path, ("png",), callback=lambda f: seen.append(f.name))
    assert [file.name for file in saved.files] == ["good.png", "captions.md"]
    assert saved.left_out == ("one reason", "bad: needs 9 GB")
    assert seen == ["bad", "good"]


def test_names_of_files_differ_and_are_plain():
    assert file_name("missing", "nmi_max", "K1b (Web)/x") == "missing-nmi-max-k1b-web-x"
    runs = [run_of(EAC, data=d, members=m) for d in ("a b", "a-b") for m in (10, 20)]
    names = [figure.name for figure in figures(runs, spec_of(EAC))]
    assert names[:2] == ["members-ari-a-b", "members-ari-a-b-2"]


def test_saving_refuses(tmp_path, monkeypatch):
    with pytest.raises(ParameterError, match="formats may be svg, png, pdf, but one is 'gif'"):
        save_figures(BenchFigures((), ()), tmp_path, ("gif",))
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match="cannot be created"):
        save_figures(BenchFigures((), ()), tmp_path / "file")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match="needs matplotlib; run: pip install"):
        save_figures(BenchFigures((), ()), tmp_path)
