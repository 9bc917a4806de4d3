"""The order of the examples within their section: simple and common things first."""

from pathlib import Path

FIRST = (
    "plot_customers",
    "plot_wine",
    "plot_breast_cancer",
    "plot_own_clusterings",
    "plot_choose_k",
    "plot_profile",
    "plot_verdict",
    "plot_confidence",
)


def place(file: str) -> tuple[int, str]:
    """Sorting key of an example."""
    name = Path(file).stem
    return (FIRST.index(name) if name in FIRST else len(FIRST), name)
