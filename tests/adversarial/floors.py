"""``python -m tests.adversarial.floors REPORT``: coverage by file, and whether it is enough.

REPORT is what ``coverage json`` writes. Lines and branches have a floor each, which one figure for both
would hide.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LINES, BRANCHES = 0.95, 0.90


def share(summary: dict[str, int], covered: str, all_of: str) -> float:
    """The covered share; one where there is nothing to cover."""
    return summary[covered] / summary[all_of] if summary[all_of] else 1.0


def shares(summary: dict[str, int]) -> tuple[float, float]:
    """Lines and branches."""
    return (
        share(summary, "covered_lines", "num_statements"),
        share(summary, "covered_branches", "num_branches"),
    )


def table(report: dict[str, Any]) -> Iterator[str]:
    """The files below the floor of lines, the worst first, and the totals."""
    files = {name: shares(file["summary"]) for name, file in report["files"].items()}
    yield f"{'lines':>8}{'branches':>10}"
    for name in sorted(files, key=lambda name: files[name]):
        lines, branches = files[name]
        if lines < LINES:
            yield f"{lines:8.1%}{branches:10.1%}  {name}"
    lines, branches = shares(report["totals"])
    yield f"{lines:8.1%}{branches:10.1%}  all of {len(files)} files"


def main(path: str) -> int:
    """Print the table; the exit code is 1 below a floor."""
    report = json.loads(Path(path).read_text(encoding="utf-8"))
    sys.stdout.write("\n".join(table(report)) + "\n")
    lines, branches = shares(report["totals"])
    if lines < LINES or branches < BRANCHES:
        sys.stdout.write(f"below {LINES:.0%} of the lines or {BRANCHES:.0%} of the branches\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
