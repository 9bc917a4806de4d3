"""Runs made up for tests."""

from types import SimpleNamespace

from coterie_bench._records import RunKey, RunRecord, setting_text


def made_up(
    score,
    *,
    data="ecoli",
    members=20,
    missing=0.0,
    repetition=0,
    method="eac",
    solver=None,
    setting=None,
    default=True,
    ablation_of="",
    status="ok",
    message="",
    metric="ari",
    seconds=1.0,
    peak_mib=10.0,
):
    """A run with one score, or without any for None."""
    return RunRecord(
        key=RunKey(data, members, missing, repetition, method, setting_text(setting or {})),
        solver=method if solver is None else solver,
        default=default,
        ablation_of=ablation_of,
        status=status,
        message=message,
        scores={} if score is None else {metric: score},
        n_clusters=3,
        n_clusters_wanted=3,
        n_samples=150,
        n_microclusters=60,
        seconds=seconds if status == "ok" else None,
        peak_mib=peak_mib if status == "ok" else None,
        converged=True,
        passes=None,
    )


def several(scores, **fields):
    """One run a repetition; a None is a failed one."""
    return [
        made_up(score, repetition=repetition, **fields)
        if score is not None
        else made_up(None, repetition=repetition, **{"status": "failed", **fields})
        for repetition, score in enumerate(scores)
    ]


def method(name, solver=None, default=None, ablation_of=""):
    return SimpleNamespace(
        name=name, solver=solver or name, default=default or {}, ablation_of=ablation_of
    )


def spec(*methods, paper="", metrics=("ari",), published=(), title="An experiment"):
    return SimpleNamespace(
        title=title, paper=paper, metrics=metrics, methods=methods, published=published
    )
