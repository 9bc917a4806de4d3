"""Experiments that compare methods: specs, resumable runs, tables and figures.

Names are imported on first use, so that ``coterie --help`` answers at once. The modules import each
other in this order: ``_records``, ``_score``, ``_published``, ``_spec``, ``_data``, ``_protocol``,
``_worker``, ``_process``, ``_store``, ``_remote``, ``_run``, ``statistics``, ``evidence_quality``,
``_summary``, ``_tables``, ``pictures``, ``figures``, ``_results``, ``command``.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

_HOME = {
    "Outcome": "_run",
    "Spec": "_spec",
    "SpecError": "_spec",
    "Summary": "_summary",
    "as_columns": "_tables",
    "as_markdown": "_tables",
    "as_text": "_tables",
    "parse_spec": "_spec",
    "plot": "_results",
    "published": "_published",
    "read_spec": "_spec",
    "run": "_run",
    "shipped": "_spec",
    "table": "_results",
}

__all__ = [*sorted(_HOME)]

if TYPE_CHECKING:
    from coterie_bench._published import published as published
    from coterie_bench._results import plot as plot
    from coterie_bench._results import table as table
    from coterie_bench._run import Outcome as Outcome
    from coterie_bench._run import run as run
    from coterie_bench._spec import Spec as Spec
    from coterie_bench._spec import SpecError as SpecError
    from coterie_bench._spec import parse_spec as parse_spec
    from coterie_bench._spec import read_spec as read_spec
    from coterie_bench._spec import shipped as shipped
    from coterie_bench._summary import Summary as Summary
    from coterie_bench._tables import as_columns as as_columns
    from coterie_bench._tables import as_markdown as as_markdown
    from coterie_bench._tables import as_text as as_text


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'coterie_bench' has no attribute {name!r}")
    return getattr(import_module(f"coterie_bench.{_HOME[name]}"), name)
