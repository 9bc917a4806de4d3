"""What will go says so where it is called, and goes when it was said to."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

import coterie
from coterie import ParameterError
from coterie._deprecation import deprecated, renamed_parameter


@deprecated(gone="9.0", instead="new()")
def old(a: int, b: int = 1) -> int:
    """Add."""
    return a + b


@renamed_parameter("n", "times", gone="9.0")
def repeat(text: str, times: int = 2) -> str:
    return text * times


def test_a_function_that_will_go_works_and_names_the_caller():
    with pytest.warns(
        FutureWarning, match=r"old will be gone in coterie 9\.0; use new\(\)"
    ) as told:
        assert old(1, b=2) == 3
    assert told[0].filename == __file__
    assert old.__doc__ == "Add."
    assert [*inspect.signature(old).parameters] == ["a", "b"]


def test_an_old_name_of_a_parameter():
    with pytest.warns(FutureWarning, match=r"repeat\(n=\.\.\.\) will be gone.*use times=") as told:
        assert repeat("a", n=3) == "aaa"
    assert told[0].filename == __file__
    # the new one is silent: warnings are errors here
    assert repeat("a", times=3) == repeat("a", 3) == "aaa"
    with pytest.raises(ParameterError, match="n is the old name of times"):
        repeat("a", n=1, times=2)


def _release(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


def test_nothing_outlives_its_promise():
    now = _release(coterie.__version__)
    for path in Path(coterie.__file__).parent.rglob("*.py"):
        if path.name == "_deprecation.py":
            continue
        for gone in re.findall(r"gone=\"([\d.]+)\"", path.read_text(encoding="utf-8")):
            assert _release(gone) > now, f"{path}: it was to be gone in {gone}"


def test_the_version_is_semantic_and_told_once():
    assert re.fullmatch(r"\d+\.\d+\.\d+((a|b|rc)\d+)?", coterie.__version__)
