"""The rule of the palette: each further colour is the candidate farthest from all before it.

The distance of two colours is the smallest of three distances in OKLab: for normal vision, without the
red cone, and without the green cone.
"""

import numpy as np

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


def distances(colours, first):
    """Distance of each colour after the first ones from all before it, and the best candidate's."""
    candidates = views(_candidates())
    given = [views(rgb(colour)[None]) for colour in colours]
    best = np.full(candidates.shape[1], np.inf)
    reached, possible = [], []
    for i, colour in enumerate(given):
        if i >= first:
            reached.append(min(apart(colour, other)[0] for other in given[:i]))
            possible.append(best.max())
        best = np.minimum(best, apart(candidates, colour))
    return reached, possible


def _candidates():
    """A grid of colours that are neither too pale for paper nor too dark beside ink."""
    steps = np.linspace(0.0, 1.0, 12)
    grid = np.stack(np.meshgrid(steps, steps, steps, indexing="ij"), axis=-1).reshape(-1, 3)
    lab = _oklab(_linear(grid))
    lightness, chroma = lab[:, 0], np.hypot(lab[:, 1], lab[:, 2])
    return grid[(lightness > 0.38) & (lightness < 0.82) & (chroma > 0.06) & (chroma < 0.2)]


def views(colours):
    """The colours in OKLab for normal vision, without red and without green cones, shape (3, n, 3)."""
    light = _linear(colours)
    return np.stack([_oklab(light), _oklab(light @ _NO_RED.T), _oklab(light @ _NO_GREEN.T)])


def apart(seen, other):
    return np.asarray(np.linalg.norm(seen - other, axis=2).min(axis=0))


def _oklab(light):
    return np.cbrt(np.clip(light, 0.0, 1.0) @ _CONES.T) @ _OPPONENT.T


def _linear(colours):
    return np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)


def rgb(colour):
    return np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
