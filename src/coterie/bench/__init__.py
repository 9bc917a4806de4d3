"""Experiments: a spec in, resumable runs, honest tables and figures out."""

from coterie.bench._published import published
from coterie.bench._results import plot, table
from coterie.bench._run import Outcome, run
from coterie.bench._spec import Spec, SpecError, parse_spec, read_spec, shipped
from coterie.bench._summary import Summary
from coterie.bench._tables import as_columns, as_markdown, as_text

__all__ = [
    "Outcome",
    "Spec",
    "SpecError",
    "Summary",
    "as_columns",
    "as_markdown",
    "as_text",
    "parse_spec",
    "plot",
    "published",
    "read_spec",
    "run",
    "shipped",
    "table",
]
