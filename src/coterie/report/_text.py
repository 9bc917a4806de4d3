"""Text of the user's data on its way into the page: short, printable, never markup."""

from __future__ import annotations

import json
from typing import Any

# longer names than this are cut, so that one name cannot fill the page
LONGEST = 120


def plain(value: Any, longest: int = LONGEST) -> str:
    """A name as one line of text: no control characters, at most ``longest`` characters.

    Examples
    --------
    >>> from coterie.report._text import plain
    >>> plain("a\\x00b"), plain(7), plain("long name", 5)
    ('a\\ufffdb', '7', 'long…')
    """
    text = str(value)
    if len(text) > longest:
        text = text[: longest - 1] + "…"
    if text.isascii() and text.isprintable():
        return text
    return "".join(_shown(letter) for letter in text)


def _shown(letter: str) -> str:
    if letter in "\t\n\r\u2028\u2029":
        return " "
    # what cannot be written as UTF-8, and what no eye or parser should meet
    if letter < " " or "\x7f" <= letter <= "\x9f" or "\ud800" <= letter <= "\udfff":
        return "\ufffd"
    return letter


def script_json(value: Any) -> str:
    """JSON that may stand inside a script element: nothing in it can end the element.

    Examples
    --------
    >>> from coterie.report._text import script_json
    >>> script_json({"name": "</script>&"})
    '{"name":"\\\\u003c/script\\\\u003e\\\\u0026"}'
    """
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
