"""The page: sentences, tables and numbers put into the template, as bytes."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from hashlib import sha256
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from coterie.core.text import percent, plain, shown_count
from coterie.report import _sentences as sentences
from coterie.report._payload import STORE_BYTES, payload, script_json
from coterie.report._reading import Reading
from coterie.select.criteria import CRITERIA

if TYPE_CHECKING:
    from coterie.result import Result

# largest size of the page, whatever the data
PAGE_BYTES = 3_000_000
# rows of a table
TABLE_ROWS = 300
# descriptions of clusters that are always visible; with more than MOST_TRAITS, the others are folded, and
# with fewer on a phone only
FEW_TRAITS, MOST_TRAITS = 4, 12
DATE = re.compile(r"(\d{4}-\d\d-\d\d)")
# the parts of the script share one scope, and run in this order
SCRIPT = ("base", "matrix_and_map", "curves", "profile", "samples")


def page(result: Result, title: str | None = None) -> bytes:
    """The report of a result as one HTML page in UTF-8, the same bytes for the same result."""
    labelled = result.without_blank()
    left_out = result.ensemble.total_count - labelled.ensemble.total_count
    reading = Reading(labelled, left_out)
    budget = float(STORE_BYTES)
    html = _render(reading, title, payload(reading, budget))
    # very wide tables leave less room for the samples
    while len(html) > PAGE_BYTES and budget > 1:
        budget = max(budget - 1.1 * (len(html) - PAGE_BYTES), 0.0)
        html = _render(reading, title, payload(reading, budget))
    return html


def _render(reading: Reading, title: str | None, numbers: dict[str, Any]) -> bytes:
    from jinja2 import Environment, StrictUndefined

    # everything is escaped; none of the user's data is marked safe
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(fixed=_fixed, plain=plain, percent=percent, count=shown_count)
    environment.filters["around_dates"] = DATE.split
    style, script = _resource("style.css"), _script()
    text = environment.from_string(_resource("page.html")).render(
        style=style,
        style_hash=_hash(style),
        script=script,
        script_hash=_hash(script),
        data=script_json(numbers),
        **_context(reading, title, numbers),
    )
    # half of a surrogate pair, as in names that were not valid text, cannot be encoded
    return text.encode("utf-8", "replace")


def _resource(name: str) -> str:
    return resources.files("coterie.report").joinpath(name).read_text(encoding="utf-8")


def _script() -> str:
    parts = "\n".join(_resource(f"script/{name}.js") for name in SCRIPT)
    return f'(() => {{\n"use strict";\n{parts}\nredraw();\n}})();\n'


def _hash(text: str) -> str:
    """The source expression of a content security policy that allows only this text."""
    return f"sha256-{b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')}"


def _fixed(value: Any, digits: int = 2) -> str:
    if value is None or not np.isfinite(value):
        return "–"
    return f"{float(value):.{digits}f}"


def _context(reading: Reading, title: str | None, numbers: dict[str, Any]) -> dict[str, Any]:
    result = reading.result
    searchable = numbers["samples"]["count"] if numbers["samples"] else 0
    source = result.input.get("file") or result.input.get("name")
    members = list(reading.members.rows())
    clusters = list(reading.clusters.rows())
    if len(clusters) > TABLE_ROWS:
        clusters = sorted(clusters, key=lambda row: -row["size"])[:TABLE_ROWS]
    if len(members) > TABLE_ROWS:
        members = sorted(members, key=lambda row: row["agreement"])[:TABLE_ROWS]
    return {
        "title": plain(title or (f"Clusters of {source}" if source else "Consensus clustering")),
        "headline": sentences.headline(reading),
        "bad": sentences.no_structure(reading) or not (reading.reliable or result.n_clusters == 1),
        "tiles": sentences.tiles(reading),
        "notes": sentences.notes(reading)[:20],
        "aggregated": sentences.aggregated(reading, searchable),
        "by_weight": sentences.by_weight(reading),
        "captions": sentences.captions(reading),
        "profile": reading.profile,
        "nothing_to_compare": sentences.nothing_to_compare(reading),
        "FEW_TRAITS": FEW_TRAITS,
        "MOST_TRAITS": MOST_TRAITS,
        "profile_notes": sentences.profile_notes(reading),
        "tracking_caption": sentences.tracking_caption,
        "reading": reading,
        "n": reading.ensemble.n_samples,
        "n_clusters": result.n_clusters,
        "n_members": reading.ensemble.n_members,
        "searchable": searchable,
        "clusters": clusters,
        "count_width": _count_width(max(row["size"] for row in clusters)),
        "largest_share": max(row["share"] for row in clusters),
        "members": members,
        "largest_weight": max(float(np.max(reading.members["weight"])), 1e-12),
        "between": (reading.between[0].tolist(), reading.between[1].tolist()),
        "drawn": numbers,
        "selection": result.selection,
        "criteria": CRITERIA,
        "facts": _facts(result),
        "columns": result.columns[:TABLE_ROWS],
        "paper": _paper(result),
        "nan": float("nan"),
        "version": plain(result.versions.get("coterie", "")),
    }


def _count_width(largest: float) -> str:
    """The CSS class for numbers up to this one; the page's policy forbids inline styles."""
    return "few" if largest < 10_000 else "many" if largest < 1_000_000 else "most"


def _paper(result: Result) -> str | None:
    from coterie.solvers.methods import all_methods

    method = all_methods().get(result.method)
    return method.about.paper if method else None


def _facts(result: Result) -> list[tuple[str, list[tuple[str, str]]]]:
    """What was run, in groups of (name, value)."""
    ensemble = result.ensemble
    run = [
        ("method", result.method.upper()),
        ("seed", "none" if result.seed is None else result.seed),
    ]
    if result.seconds is not None:
        run.append(("time", _duration(result.seconds)))
    if result.created:
        run.append(("date", result.created.replace("T", " ").replace("+00:00", " UTC")))
    else:
        ended = "converged" if result.converged else "not converged"
        run.append(("passes", f"{len(result.history)}, {ended}"))
    weighted = ensemble.sample_weight is not None
    data = [
        ("samples", shown_count(ensemble.total_count)),
        *([("weighted rows", f"{ensemble.n_samples:,}")] if weighted else []),
        ("members", f"{ensemble.n_members:,}"),
        ("distinct label rows", f"{ensemble.n_microclusters:,}"),
        ("base clusters", f"{ensemble.n_base_clusters:,}"),
        *_source(result.input),
    ]
    groups = [
        ("Run", run),
        ("Parameters", list(result.parameters.items())),
        ("Input", data),
        ("Versions", list(result.versions.items())),
    ]
    return [
        (name, [(plain(key), _value(value)) for key, value in entries])
        for name, entries in groups
        if entries
    ]


def _source(given: dict[str, Any]) -> list[tuple[str, Any]]:
    """What is known about the input; its hash last, with what was hashed."""
    known = dict(given)
    digest, of = known.pop("sha256", None), known.pop("sha256_of", "file")
    rows = [(key.replace("_", " "), value) for key, value in known.items() if value is not None]
    return rows if digest is None else [*rows, (f"sha256 of the {of}", digest)]


def _value(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "default"}[value]
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, dict | list | tuple):
        value = json.dumps(value, ensure_ascii=False)
    return plain(value, 300)


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"
