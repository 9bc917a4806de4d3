"""What all tests share: the data folder and the profiles of hypothesis."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.browser import axe, browser, open_page

__all__ = ["axe", "browser", "open_page"]

# Most arrays of the tests are so small that threads which wait for work cost many times as much as the
# work. Libraries read this when they are loaded. Tests of threads set the numbers that they compare.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# the first call of a kernel compiles it, which no deadline or health check should count
settings.register_profile(
    "local",
    max_examples=60,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("ci", settings.get_profile("local"), derandomize=True)
# for runs that trace or interpret the kernels, where an example costs many times as much
settings.register_profile("few", settings.get_profile("ci"), max_examples=8)
settings.load_profile("ci" if os.environ.get("CI") else "local")

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of public label pools and reference runs; tests skip where it is absent."""
    given = os.environ.get("COTERIE_DATA")
    folder = Path(given) if given else REPOSITORY.parent / "shared" / "data"
    if not (folder / "pools").is_dir():
        pytest.skip(f"no label pools in {folder}; set COTERIE_DATA to the folder that has them")
    return folder
