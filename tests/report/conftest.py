"""The results that the tests of the report show."""

from __future__ import annotations

import numpy as np
import pytest

from coterie import EAC, ConsensusClustering, Ensemble
from coterie.datasets import load
from coterie.result import Result

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(1)>'


def hostile_result() -> Result:
    """Names that would be markup, or end a script, wherever they were not escaped."""
    rng = np.random.default_rng(3)
    truth = np.repeat(np.arange(3), 20)
    labels = {
        SCRIPT: np.where(rng.random(60) < 0.3, rng.integers(0, 3, 60), truth),
        IMAGE: truth,
        "</script><b>&amp;\u2028": np.array([SCRIPT, IMAGE, "]]>"])[truth],
        "a\x00b\u202e": np.where(truth == 2, 1, truth),
    }
    ids = [f"{IMAGE} {i}" for i in range(60)]
    ids[7] = SCRIPT
    model = EAC(3).fit(Ensemble.from_labels(labels, sample_ids=ids))
    return Result.of(
        model,
        input={"file": IMAGE, SCRIPT: SCRIPT},
        warnings=[f"a warning about {IMAGE}"],
    )


@pytest.fixture(scope="session")
def iris() -> Result:
    data = load("iris")
    model = ConsensusClustering(3, n_members=12, random_state=0).fit(data.X)
    return Result.of(model, X=data.X, truth=data.y, input={"file": "iris.csv"}, seconds=1.25)


@pytest.fixture(scope="session")
def hostile() -> Result:
    return hostile_result()
