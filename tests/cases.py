"""Label matrices that every method is tried on."""

from __future__ import annotations

import pytest

# labels, number of clusters, and the only partition that makes sense
DEGENERATE = [
    pytest.param([[0] * 4, [0] * 4, [1] * 4, [2] * 4], 3, [0, 0, 1, 2], id="identical members"),
    pytest.param([[5], [5], [7], [9]], 3, [0, 0, 1, 2], id="one member"),
    pytest.param([[0, 0], [0, 0], [0, 1], [0, 1]], 2, [0, 0, 1, 1], id="one-cluster member"),
    pytest.param([[0, 1], [1, 1], [2, 1]], 1, [0, 0, 0], id="c = 1"),
    pytest.param([[0, 0], [1, 0], [2, 1]], 3, [0, 1, 2], id="c = N"),
    pytest.param([[3, 4]], 1, [0], id="one sample"),
    pytest.param(
        [[0, 0, 0], [0, 1, 0], [0, 2, 0], [1, 3, 1], [1, 4, 1], [1, 5, 1]],
        2,
        [0, 0, 0, 1, 1, 1],
        id="a member with every sample alone",
    ),
    pytest.param(
        [[0, None], [0, None], [None, 1], [0, 1], [2, 3], [2, None], [None, 3]],
        2,
        [0, 0, 0, 0, 1, 1, 1],
        id="half missing",
    ),
]
degenerate = pytest.mark.parametrize(("labels", "n_clusters", "expected"), DEGENERATE)
# a few label rows, to ask for any number of clusters from one to all
few_rows = pytest.mark.parametrize(
    "labels",
    [
        [[0], [0], [1], [2]],
        [[0, 0], [0, 1], [0, 2], [0, 3]],
        [[0, 0, 0], [1, 0, 0], [2, 1, 0], [3, 1, 0], [4, 1, 0]],
        [[0, -1], [0, -1], [-1, 0], [-1, 1], [1, 1]],
        [[3, 3]],
    ],
    ids=["one member", "one cluster and n clusters", "nested", "hardly observed", "one sample"],
)
