"""Write the pages of docs/benchmarks from runs of the specs: tables, figures, machine and versions.

Run: make bench-docs, or python benchmarks/docs.py [SPEC ...] [--runs DIR] [--jobs N] [--no-speed]
Runs are kept in DIR, so that a second call only writes the pages again.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from coterie_bench import as_markdown, read_spec, run, table
from coterie_bench._results import _ensembles
from coterie_bench._store import RunStore
from coterie_bench.figures import figures, save_figures
from coterie_bench.figures._plan import BenchFigure, file_name

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("COTERIE_DATA", ROOT.parent / "shared" / "data"))
PAGES = ROOT / "docs" / "benchmarks"
SPECS = ("eccms", "spce", "trce", "ceshl", "pce-given", "pools", "sizes", "missing")


def main() -> None:
    parser = argparse.ArgumentParser(description="Write docs/benchmarks.")
    parser.add_argument("specs", nargs="*", default=SPECS, metavar="SPEC")
    parser.add_argument("--runs", type=Path, default=ROOT / ".bench", metavar="DIR")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N")
    parser.add_argument("--no-speed", action="store_true", help="do not write the speed page")
    parser.add_argument("--remark", default="", help="sentences to add about the runs")
    wanted = parser.parse_args()
    PAGES.mkdir(exist_ok=True)
    for name in wanted.specs:
        directory = wanted.runs / name
        outcome = run(name, directory, data=[DATA], n_jobs=wanted.jobs)
        print(f"{name}: {outcome.total} runs, {outcome.failed} failed", flush=True)
        write_page(name, directory, wanted.remark)
    if not wanted.no_speed:
        write_speed()


def write_page(name: str, directory: Path, remark: str = "") -> None:
    """Write the page of a spec: its tables and some of its figures."""
    store = RunStore(directory)
    spec, facts = read_spec(name), store.facts()
    runs = store.runs()
    planned = figures(runs, spec, _ensembles(store, spec, runs, [DATA]))
    chosen = [figure for figure in planned if worth_showing(figure, spec)]
    folder = PAGES / "figures" / name
    for old in folder.glob("*"):
        old.unlink()
    saved = save_figures(type(planned)(tuple(chosen), planned.left_out), folder, ("svg",))
    captions = folder / "captions.md"
    captions.unlink()
    drawn = {path.stem for path in saved.files if path.suffix == ".svg"}
    heading, _, body = as_markdown(table(directory)).partition("\n")
    parts = [
        heading,
        f"```sh\ncoterie bench run {name} --out {name} --jobs 2 --data DATA\n"
        f"coterie bench table {name}\ncoterie bench plot {name} --data DATA\n```",
        f"{conditions(facts)} {remark}".strip(),
        body.strip(),
    ]
    pictures = [figure for figure in chosen if figure.name in drawn]
    if pictures:
        parts.append("## Figures")
    parts += [
        f"![{figure.title}](figures/{name}/{figure.name}.svg)\n\n*{figure.caption}*"
        for figure in pictures
    ]
    (PAGES / f"{name}.md").write_text("\n\n".join(parts) + "\n", encoding="utf-8")


def worth_showing(figure: BenchFigure, spec: Any) -> bool:
    """Whether a figure is on the page: one metric, the paper's method, one data set of evidence.

    ``coterie bench plot`` draws all figures.
    """
    metric = spec.metrics[0].replace("_", "-")
    others = [name.replace("_", "-") for name in spec.metrics[1:]]
    if any(f"-{other}" in figure.name for other in others):
        return False
    kind = figure.name.partition("-")[0]
    if kind == "evidence":
        return file_name(spec.data[0].name) in figure.name and bool(spec.paper)
    if kind == "matrix":
        return figure.name == file_name("matrix", spec.paper, spec.data[0].name)
    if kind in ("parameter", "parameters", "objective"):
        own = [file_name(method.name) for method in spec.methods if method.solver == spec.paper]
        # the first is the method itself, the others are its ablations
        whole, parts = own[:1], own[1:]
        return any(name in figure.name for name in whole) and not any(
            part in figure.name for part in parts
        )
    return metric in figure.name or kind in ("time", "memory")


def conditions(facts: dict[str, Any]) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    lines = [
        f"Started {facts['started'][:10]} on {facts['processor']} ({facts['cores']} cores), "
        f"Python {facts['python']}, {versions}. Limits per run: {facts['caps']['seconds']:g} s, "
        f"{facts['caps']['memory'] / 1e9:g} GB."
    ]
    if facts["absent"]:
        lines.append(f"Data sets that were not available: {', '.join(facts['absent'])}.")
    return " ".join([*lines, *(f"{remark}." for remark in facts["remarks"])])


def write_speed() -> None:
    """Write the page of speed ratios, each measured in one run on the same inputs."""
    command = [sys.executable, str(ROOT / "benchmarks" / "ratios.py"), "solvers", "twins"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    page = (
        "# Speed\n\n"
        "Ratios, measured in one run on the same inputs with\n\n"
        "```sh\npython benchmarks/ratios.py solvers twins\n```\n\n"
        "`n x n` is a literal transcription of the paper with full matrices, as in the authors' "
        f"programs.\n\n```text\n{done.stdout.strip()}\n```\n"
    )
    (PAGES / "speed.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
