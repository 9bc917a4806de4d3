"""Markup for notebooks, from text of unknown origin.

All text is escaped. There are no colours, so the markup is readable in light and dark themes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

from coterie.core.tables import Table
from coterie.core.text import plain

# characters of a name, or of a value in a cell
LONGEST = 80


def card(title: str, *parts: str) -> str:
    """A heading with parts below it, each of them markup.

    Examples
    --------
    >>> from coterie.core.html import card, paragraph
    >>> card("a < b", paragraph("c"))
    '<div><p><strong>a &lt; b</strong></p><p>c</p></div>'
    """
    return f"<div><p><strong>{_text(title)}</strong></p>{''.join(parts)}</div>"


def paragraph(text: str) -> str:
    """A sentence; empty text gives nothing."""
    return f"<p>{_text(text)}</p>" if text else ""


def listing(texts: Iterable[str]) -> str:
    """One item per text; nothing if there are none."""
    items = "".join(f"<li>{_text(text)}</li>" for text in texts)
    return f"<ul>{items}</ul>" if items else ""


def facts(values: Mapping[str, object]) -> str:
    """Names and values, one row each."""
    rows = "".join(
        f'<tr><th style="text-align:left">{_text(name)}</th>'
        f'<td style="text-align:left">{_text(value, LONGEST)}</td></tr>'
        for name, value in values.items()
    )
    return f"<table>{rows}</table>"


def folded(summary: str, table: Table) -> str:
    """A table that a click opens."""
    return f"<details><summary>{_text(summary)}</summary>{table._repr_html_()}</details>"


def _text(text: object, longest: int = 2_000) -> str:
    return escape(plain(text, longest))
