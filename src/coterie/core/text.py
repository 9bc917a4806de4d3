"""How numbers and the user's text appear in messages, on the terminal and in the report."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

# invisible characters that some languages need between letters
JOINERS = "\u200c\u200d"
# larger numbers are shown with an exponent
LARGEST_WRITTEN_OUT = 1e15
LEAST_WRITTEN_OUT = 1e-4
# longer names are cut, so that one name cannot fill a page
LONGEST_NAME = 120
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def shown_count(number: float) -> str:
    """A number as text: all digits of a whole number, and four of any other.

    Examples
    --------
    >>> from coterie.core.text import shown_count
    >>> shown_count(20_000_000), shown_count(1234.5), shown_count(0.12345), shown_count(-2.5e-7)
    ('20,000,000', '1,234', '0.1235', '-2.5e-07')
    """
    if abs(number) >= LARGEST_WRITTEN_OUT:
        return f"{number:.4g}"
    if float(number).is_integer():
        return f"{int(number):,}"
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.4g}"


def printable(text: str) -> str:
    """Text of unknown origin for a terminal, with control and invisible characters escaped.

    Examples
    --------
    >>> from coterie.core.text import printable
    >>> printable("name \\x1b[31m"), printable("Zürich, 東京")
    ('name \\\\x1b[31m', 'Zürich, 東京')
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() or letter in JOINERS else ascii(letter)[1:-1]
        for letter in text
    )


def plain(value: Any, longest: int = LONGEST_NAME) -> str:
    """A name as one line of text without control characters, at most ``longest`` characters long.

    Examples
    --------
    >>> from coterie.core.text import plain
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
    # control characters, and characters that UTF-8 cannot encode
    if letter < " " or "\x7f" <= letter <= "\x9f" or "\ud800" <= letter <= "\udfff":
        return "\ufffd"
    return letter


def percent(share: float) -> str:
    """A share as a percentage that never rounds to a false 0 or 100.

    Examples
    --------
    >>> from coterie.core.text import percent
    >>> [percent(share) for share in (0.0, 0.001, 0.333, 0.999, 1.0)]
    ['0 %', '<1 %', '33 %', '>99 %', '100 %']
    """
    if 0 < share < 0.01:
        return "<1 %"
    if 0.99 < share < 1:
        return ">99 %"
    return f"{100 * share:.0f} %"


def number_text(value: float, kind: str = "number") -> str:
    """A number or a date as people write it.

    Examples
    --------
    >>> from coterie.core.text import number_text
    >>> [number_text(value) for value in (1095.0, 0.123456, 12345678.9, -2.5e-7, 3.0)]
    ['1,095', '0.1235', '12,345,679', '-2.5e-07', '3']
    >>> number_text(19723.0, "date")
    '2024-01-01'
    """
    if kind == "date":
        moment = _EPOCH + timedelta(days=value)
        return moment.strftime("%Y-%m-%d" if value.is_integer() else "%Y-%m-%d %H:%M")
    return shown_count(value)


def texts_to_compare(first: float, second: float) -> tuple[str, str]:
    """Two numbers, with the digits that tell them apart and no more.

    Examples
    --------
    >>> from coterie.core.text import texts_to_compare
    >>> texts_to_compare(2.5604, 9.168e-05), texts_to_compare(1005.3, 1004.95)
    (('2.56', '0'), ('1,005.3', '1,004.95'))
    >>> texts_to_compare(93.79, 24.48), texts_to_compare(1.23e-7, 0.0)
    (('93.8', '24.5'), ('1.23e-07', '0'))
    """
    difference, largest = abs(first - second), max(abs(first), abs(second))
    if difference == 0 or not LEAST_WRITTEN_OUT <= largest < LARGEST_WRITTEN_OUT:
        return shown_count(first), shown_count(second)
    # to about a hundredth of their difference, but not beyond the precision of the numbers
    decimals = min(2 - math.floor(math.log10(difference)), 14 - math.floor(math.log10(largest)))
    return _rounded(first, decimals), _rounded(second, decimals)


def _rounded(value: float, decimals: int) -> str:
    text = f"{value:,.{max(decimals, 0)}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def value_text(value: float, kind: str) -> str:
    """A median, or the share of a level, as people write it; a dash if there is none.

    Examples
    --------
    >>> from coterie.core.text import value_text
    >>> [value_text(0.664, "category"), value_text(19723.5, "date"), value_text(float("nan"), "number")]
    ['66 %', '2024-01-01 12:00', '-']
    """
    if math.isnan(value):
        return "-"
    if kind == "category":
        return percent(value)
    return number_text(value, kind)


def noun_for(number: float, noun: str) -> str:
    """The noun in the singular or plural, as the number requires."""
    return noun if number == 1 else f"{noun}s"


def counted(number: float, noun: str) -> str:
    """A number with its noun.

    Examples
    --------
    >>> from coterie.core.text import counted
    >>> counted(1, "cluster"), counted(1797, "sample")
    ('1 cluster', '1,797 samples')
    """
    return f"{shown_count(number)} {noun_for(number, noun)}"


def listed(names: Iterable[str], limit: int = 10) -> str:
    """Names for a message; of many names, only the first few.

    Examples
    --------
    >>> from coterie.core.text import listed
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], limit=2)
    ('a, b, c', 'a, b, ... (3 in all)')
    """
    all_names = [*names]
    first = ", ".join(all_names[:limit])
    return first if len(all_names) <= limit else f"{first}, ... ({len(all_names):,} in all)"


def enumerated(words: Sequence[str]) -> str:
    """Words in a sentence, with "and" before the last.

    Examples
    --------
    >>> from coterie.core.text import enumerated
    >>> enumerated(["a"]), enumerated(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"


def quoted(names: Iterable[str]) -> str:
    """Names in quotes for a message; of many names, only the first few."""
    return listed(map(repr, names), 5)


def repeated(names: Iterable[str]) -> list[str]:
    """Names that occur more than once, sorted."""
    return sorted(name for name, times in Counter(names).items() if times > 1)


def absent_column(where: object, name: str, present: Iterable[str]) -> str:
    """The message about a column that a table does not have."""
    # params needs numpy, which the help of the command must not import
    from coterie.core.params import nearest

    columns = [*present]
    shown = listed(repr(column) if "," in column else column for column in columns)
    return f"{where} has no column {name!r} (its columns are {shown}){nearest(name, columns)}"
