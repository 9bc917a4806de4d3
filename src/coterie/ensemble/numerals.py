"""Numbers as people write them: ``5,961,000``, ``1.000,50``, ``$20.10`` or ``12.3 %``.

A format is a decimal mark, and the sign beside the number if there is one: ``"."``, ``","``, ``".$"`` or
``",%"``. A column is read in one format. ``1,234`` is 1234 unless another cell, such as ``0,5``, shows that
the comma is the decimal mark.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from coterie.ensemble.missing import MISSING_AMONG_NUMBERS

_SPACES = " \u00a0\u202f"
# a minus stands before or after a currency sign
_SIGNED = re.compile(
    rf"([-+−]?[$€£¥₹₩₽₺]?[-+−]?)[{_SPACES}]?([0-9.,].*?)[{_SPACES}]?([$€£¥₹₩₽₺%]?)"
)
# numbers with leading zeros or more digits are codes
_DIGITS = {
    mark: re.compile(
        rf"(?=\{mark}?[0-9])(0|[1-9][0-9]{{0,14}}|[1-9][0-9]{{0,2}}([{groups}'’{_SPACES}])[0-9]{{3}}"
        rf"(?:\2[0-9]{{3}})*)?(?:\{mark}[0-9]+)?(?:[eE][-+]?[0-9]+)?"
    )
    for mark, groups in ((".", ","), (",", "."))
}


def readings(text: str) -> dict[str, float]:
    """The numbers that a text can mean, by their format.

    Examples
    --------
    >>> from coterie.ensemble.numerals import readings
    >>> readings("1,234"), readings("-€1.000,50"), readings("12a")
    ({'.': 1234.0, ',': 1.234}, {',€': -1000.5}, {})
    """
    signed = _SIGNED.fullmatch(text)
    if signed is None:
        return {}
    before, digits, after = signed.groups()
    minus = before.strip("$€£¥₹₩₽₺")
    unit = before.strip("-+−") + after
    if len(minus) > 1 or len(unit) > 1:
        return {}
    numbers = {}
    for mark, pattern in _DIGITS.items():
        if match := pattern.fullmatch(digits):
            number = float(digits.replace(match[2] or " ", "").replace(mark, "."))
            numbers[mark + unit] = -number if minus in ("-", "−") else number
    return numbers


def number_format(texts: Iterable[str | None]) -> str | None:
    """The format in which all texts are numbers or missing; None if there is none.

    Digits alone, such as "8001", may be codes: at least one text must be written in another way.

    Examples
    --------
    >>> from coterie.ensemble.numerals import number_format
    >>> number_format(["1,234", "5", "n/a"]), number_format(["1,234", "0,5"]), number_format(["8001"])
    ('.', ',', None)
    """
    formats: list[str] | None = None
    plain = True
    for text in texts:
        if text is None:
            continue
        plain = plain and text.isdigit()
        if text not in MISSING_AMONG_NUMBERS:
            known = readings(text)
            formats = [form for form in (known if formats is None else formats) if form in known]
            if not formats:
                return None
    return None if plain or not formats else formats[0]


def numbers_in(texts: Iterable[str | None], form: str) -> NDArray[np.float64]:
    """The numbers written in a format, NaN where missing. Raises KeyError for a cell in another format."""
    return np.array(
        [
            np.nan if text is None or text in MISSING_AMONG_NUMBERS else readings(text)[form]
            for text in texts
        ]
    )


def described_format(form: str) -> str:
    """A format in words, for a table of the columns.

    Examples
    --------
    >>> from coterie.ensemble.numerals import described_format
    >>> described_format(","), described_format(".%")
    ('read from text with decimal commas', 'read from text with decimal points and %')
    """
    if not form:
        return ""
    mark = "points" if form[0] == "." else "commas"
    unit = f" and {form[1:]}" if form[1:] else ""
    return f"read from text with decimal {mark}{unit}"
