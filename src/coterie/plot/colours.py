"""Colours that colour-blind readers can distinguish too.

The first six are those of Okabe and Ito; each further one is the candidate farthest from all before it.
The distance of two colours is the smallest of three distances in OKLab: for normal vision, without the
red cone, and without the green cone.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from coterie.core.params import Integer, check_parameters
from coterie.core.types import FloatArray

# Okabe and Ito without black (used for text and axes) and yellow (too pale on white paper)
OKABE_ITO = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
INK = "#222222"
QUIET = "#6E6E6E"
ACCENT = "#D55E00"
# for numbers between 0 and 1: white is 0, and a black-and-white print stays readable
SEQUENTIAL = "Blues"

# from linear light to the cones, and from the cones to OKLab (Ottosson)
_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_OPPONENT = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
# linear light as seen without the red or the green cone (Machado et al., 2009)
_NO_RED = np.array(
    [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ]
)
_NO_GREEN = np.array(
    [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ]
)

# a screen cannot show more distinct colours, and each one costs a pass over all candidates
MOST = 1024


def palette(count: int) -> list[str]:
    """Return ``count`` distinct colours as hexadecimal text; a longer palette begins with a shorter one.

    The first six are those of Okabe and Ito. Each further one is the candidate farthest from all before
    it, for normal vision and for the two common kinds of colour blindness. More than about twenty
    colours cannot be distinguished by eye: read the labels too. After 1,024 they repeat.

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
    if count <= len(OKABE_ITO):
        return list(OKABE_ITO[:count])
    # computed in steps of 32, so that palettes of 7 and of 12 colours share the work
    colours = _generated(min(-(-count // 32) * 32, MOST))
    return [colours[i % MOST] for i in range(int(count))]


@lru_cache(maxsize=8)
def _generated(count: int) -> tuple[str, ...]:
    chosen = list(OKABE_ITO)
    candidates = _candidates(finer=1 + count // 512)
    seen = _views(candidates)
    distance = np.full(len(candidates), np.inf)
    for colour in chosen:
        distance = np.minimum(distance, _apart(seen, _views(_rgb(colour)[None])))
    while len(chosen) < count:
        best = int(np.argmax(distance))
        red, green, blue = np.rint(255 * candidates[best]).astype(int).tolist()
        chosen.append(f"#{red:02X}{green:02X}{blue:02X}")
        distance = np.minimum(distance, _apart(seen, seen[:, best : best + 1]))
    return tuple(chosen)


def _candidates(finer: int) -> FloatArray:
    """A grid of colours that are neither too pale for paper nor too dark beside ink."""
    steps = np.linspace(0.0, 1.0, 12 * finer)
    grid = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
    lab = _oklab(_linear(grid))
    lightness, chroma = lab[:, 0], np.hypot(lab[:, 1], lab[:, 2])
    return grid[(lightness > 0.38) & (lightness < 0.82) & (chroma > 0.06) & (chroma < 0.2)]


def _views(colours: FloatArray) -> FloatArray:
    """The colours in OKLab for normal vision, without red and without green cones, shape (3, n, 3)."""
    light = _linear(colours)
    return np.stack([_oklab(light), _oklab(light @ _NO_RED.T), _oklab(light @ _NO_GREEN.T)])


def _apart(seen: FloatArray, other: FloatArray) -> FloatArray:
    return np.asarray(np.linalg.norm(seen - other, axis=2).min(axis=0))


def _oklab(light: FloatArray) -> FloatArray:
    return np.cbrt(np.clip(light, 0.0, 1.0) @ _CONES.T) @ _OPPONENT.T


def _linear(colours: FloatArray) -> FloatArray:
    return np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)


def _rgb(colour: str) -> FloatArray:
    return np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
