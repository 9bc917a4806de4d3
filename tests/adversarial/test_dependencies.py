"""The list of packages that coterie runs on."""

from __future__ import annotations

import re

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

from tests.adversarial import dependencies
from tests.adversarial.dependencies import ListError, complaints, read_list

HASH = "--hash=sha256:" + "0a" * 32


def test_the_list_is_whole(capsys):
    assert dependencies.main() == 0
    assert "all in requirements.lock" in capsys.readouterr().out


def test_a_list_is_read():
    text = f"# words\nA_b==1.2 \\\n    {HASH} \\\n    {HASH}\n    # via c\nd==3 {HASH}\n"
    assert read_list(text) == {"a-b": Version("1.2"), "d": Version("3")}


@pytest.mark.parametrize("line", ["numpy", "numpy>=2", "numpy==2.0", "numpy==2 --hash=sha256:0a"])
def test_what_is_not_pinned_with_hashes_is_refused(line):
    with pytest.raises(ListError, match="no pinned version with hashes"):
        read_list(line)


@pytest.mark.parametrize(
    ("listed", "asked", "says"),
    [
        ({}, "numpy", "numpy is needed but not in the list"),
        ({"numpy": Version("1.0")}, "numpy>=1.26", "the list has numpy 1.0, but numpy>=1.26"),
        ({"numpy": Version("9999")}, "numpy>=9999", r"numpy [\d.]+ is installed, but numpy>=9999"),
        ({"no-such": Version("1")}, "no-such", "no-such is needed but not installed"),
        # what a package needs for itself
        ({"jinja2": Version("4")}, "jinja2", "markupsafe is needed but not in the list"),
    ],
)
def test_what_does_not_fit_is_named(listed, asked, says):
    found = complaints(listed, [Requirement(asked)])
    assert any(re.search(says, line) for line in found)
