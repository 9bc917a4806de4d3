"""Numbers in sentences, written alike in messages, on the terminal and in the report."""

from __future__ import annotations

# printed as nothing, but words of some languages need them between their letters
JOINERS = "\u200c\u200d"


def shown_count(count: float) -> str:
    """A number of samples for the reader: all digits of a whole one, a few of a sum of weights.

    Examples
    --------
    >>> from coterie.core.text import shown_count
    >>> shown_count(20_000_000), shown_count(1234.5), shown_count(0.12345)
    ('20,000,000', '1,234', '0.1235')
    """
    if float(count).is_integer():
        return f"{int(count):,}"
    return f"{count:,.0f}" if abs(count) >= 1000 else f"{count:.4g}"


def printable(text: str) -> str:
    """Text of unknown origin for a terminal: what would steer it, or hide, is written out.

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


def noun_for(number: float, noun: str) -> str:
    """The noun as it stands after the number."""
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
