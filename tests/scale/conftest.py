"""Tests of coterie.scale: most run on Dask's scheduler in this process, a few on worker processes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def _in_this_process(request: pytest.FixtureRequest) -> Iterator[None]:
    """One task after the other, unless the test asks for workers."""
    import dask

    if request.module.__name__.endswith("test_cluster"):
        yield
        return
    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.fixture(scope="module")
def cluster() -> Iterator[object]:
    """Two worker processes."""
    from coterie.scale import local_cluster

    with local_cluster(2, "1GB") as client:
        yield client
