"""Types of arrays and records that all layers share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# one record per pass of a solver: "pass", "objective", "residual" and other values of the method
Pass = Mapping[str, Any]

# how the dissimilarity of two groups follows from that of their items
Linkage = Literal["average", "complete", "single"]
