"""Values that arguments of several pictures may take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sized

import numpy as np

from coterie.core.params import Kind

FLAG = Kind(lambda value: isinstance(value, bool | np.bool_), "True or False")
NAMES = Kind(
    lambda value: (
        isinstance(value, Sized)
        and isinstance(value, Iterable)
        and not isinstance(value, str | bytes)
        and getattr(value, "shape", None) != ()
    ),
    "a sequence of names",
)
MAPPING = Kind(
    lambda value: value is None or isinstance(value, Mapping), "None or a mapping of name to value"
)
