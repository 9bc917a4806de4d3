"""Colours that colour-blind readers can distinguish too.

The first six are those of Okabe and Ito, without black (used for text and axes) and yellow (too pale
on white paper). ``tests/naive/palette.py`` computes the others.
"""

from __future__ import annotations

from itertools import cycle, islice

from coterie.core.params import Integer, check_parameters

_CODES = """
0072B2 E69F00 009E73 CC79A7 56B4E9 D55E00 8B0000 004674 2E8BFF 8BD1A2 A2462E 2E7474
0046B9 741746 74D1E8 175D74 74B974 B9D15D 8B2E46 178BD1 D18B2E 0074E8 E88BB9 46A2FF
005DD1 B95D46 175DA2 008B5D 4617A2 A21700 8B74A2 A25D00 5D2E5D 74A25D E8B900 74B9D1
A28BE8 46468B 742E2E A2B9FF 4674D1 462E8B 8B468B A22E5D E85D8B 17E88B 46D174 465DB9
741774 175D5D B98BD1 A274E8 B95D8B 2E46A2 A274B9 748B00 A2B946 FF8BD1 D18BA2 E85D46
46A28B 8B5D8B 005D46 E8A2B9 D15D5D A28BB9 E8748B 8B5D5D 008B74 744617 8B5DA2 B9A2FF
2E8B46 00D18B E88BE8 8BD12E A22E2E 468BB9 468BE8 8B5D74 D1B974 8B5D46 2E74A2 2EB95D
A22E46 8BA274 8B5DB9 8B2E5D 74D1FF 744674 B9A25D 7446A2 8BA200 A274FF 465D8B A24600
B974A2 A274D1 00B9FF 8BD1D1 008B8B 5DA246 A25D2E FF8BA2 A2745D B9B98B 46D15D 7474B9
D1B95D 742E8B 74B98B B9742E E874D1 FF7400 7474E8 A2A246 D15D74 2EA2D1 2ED1B9 D1A2D1
"""
COLOURS = [f"#{code}" for code in _CODES.split()]
OKABE_ITO = COLOURS[:6]
INK = "#222222"
QUIET = "#6E6E6E"
ACCENT = "#D55E00"
# for numbers between 0 and 1: white is 0, and a black-and-white print stays readable
SEQUENTIAL = "Blues"


def palette(count: int) -> list[str]:
    """Return ``count`` distinct colours as hexadecimal text; a longer palette begins with a shorter one.

    The first six are those of Okabe and Ito. Each further one is the candidate farthest from all before
    it, for normal vision and for the two common kinds of colour blindness. The eye cannot distinguish
    more than about twenty colours: read the labels too. After 120 they repeat.

    Parameters
    ----------
    count : int
        Number of colours.

    Examples
    --------
    >>> from coterie.plot import palette
    >>> palette(3)
    ['#0072B2', '#E69F00', '#009E73']
    >>> len(set(palette(40)))
    40
    """
    check_parameters("palette", {"count": count}, {"count": Integer(0)})
    return list(islice(cycle(COLOURS), int(count)))
