"""A real browser for the tests of the report, and the results that they show."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from coterie import EAC, ConsensusClustering, Ensemble
from coterie.datasets import load
from coterie.result import Result

REPOSITORY = Path(__file__).resolve().parents[2]
AXE = REPOSITORY / ".venv" / "node" / "node_modules" / "axe-core" / "axe.min.js"
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
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


@dataclass
class Opened:
    """A page with what the browser complained about and asked for."""

    page: Any
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium without a window; tests skip, saying why, where it cannot be had."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: make browser"
    )
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if program is None:
        pytest.skip("there is no chromium on this machine: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=program, args=list(FLAGS))
        yield found
        found.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Callable[..., Opened]]:
    """Opens a file in a fresh context: open_page(path, width=1280, scheme="light")."""
    contexts = []

    def opened(path: Path, *, width: int = 1280, scheme: str = "light") -> Opened:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        result = Opened(context.new_page())
        result.page.on("console", lambda message: result.complaints.append(message.text))
        result.page.on("pageerror", lambda error: result.complaints.append(str(error)))
        result.page.on("dialog", lambda box: (result.complaints.append(box.message), box.dismiss()))
        result.page.on("request", lambda request: result.requests.append(request.url))
        result.page.goto(path.as_uri())
        return result

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="session")
def axe() -> str:
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: make browser (needs npm)")
    return AXE.read_text(encoding="utf-8")
