"""``python -m tests.adversarial.dependencies``: what is installed, held against requirements.lock.

Nothing is fetched. coterie runs on the packages of that list and on no others, each at least as new
as pyproject.toml asks for; the list itself keeps to pyproject.toml and has hashes for every package.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[2]
# the extras that `make setup` installs
EXTRAS = ("io", "report")


class ListError(ValueError):
    """The list is not one of pinned versions with hashes."""


def read_list(text: str) -> dict[str, Version]:
    """Version by package; ListError for a line that is not pinned or has no hash."""
    found = {}
    for line in text.replace("\\\n", " ").splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        name, _, rest = line.partition("==")
        hashes = re.findall(r"--hash=sha256:([0-9a-f]{64})\b", rest)
        if not rest or not hashes:
            raise ListError(f"no pinned version with hashes: {line.strip()[:60]!r}; run make lock")
        found[canonicalize_name(name.strip())] = Version(rest.split()[0])
    return found


def declared(project: dict[str, object]) -> list[Requirement]:
    """What pyproject.toml asks for, with the extras."""
    table = project["project"]
    assert isinstance(table, dict)
    texts = [*table["dependencies"]]
    for extra in EXTRAS:
        texts += table["optional-dependencies"][extra]
    return [Requirement(text) for text in texts]


def needed(roots: list[Requirement]) -> Iterator[Requirement]:
    """The requirements, and those of what is installed for them, each with its own wishes."""
    waiting, seen = list(roots), set()
    while waiting:
        requirement = waiting.pop()
        yield requirement
        name = canonicalize_name(requirement.name)
        if name in seen:
            continue
        seen.add(name)
        try:
            further = requires(name) or []
        except PackageNotFoundError:
            continue
        for text in further:
            inner = Requirement(text)
            wanted = ("", *requirement.extras)
            if inner.marker is None or any(inner.marker.evaluate({"extra": e}) for e in wanted):
                waiting.append(inner)


def complaints(listed: dict[str, Version], roots: list[Requirement]) -> list[str]:
    """What does not fit, a line each."""
    found = []
    for requirement in roots:
        pinned = listed.get(canonicalize_name(requirement.name))
        if pinned is not None and not requirement.specifier.contains(pinned, prereleases=True):
            found.append(f"the list has {requirement.name} {pinned}, but {requirement} is declared")
    for requirement in needed(roots):
        name = canonicalize_name(requirement.name)
        if name not in listed:
            found.append(f"{name} is needed but not in the list")
        try:
            installed = version(name)
        except PackageNotFoundError:
            found.append(f"{name} is needed but not installed")
            continue
        if not requirement.specifier.contains(installed, prereleases=True):
            found.append(f"{name} {installed} is installed, but {requirement} is needed")
    return sorted({*found})


def main() -> int:
    """Say what does not fit; the exit code is 1 where something does not."""
    listed = read_list((ROOT / "requirements.lock").read_text())
    found = complaints(listed, declared(tomllib.loads((ROOT / "pyproject.toml").read_text())))
    for line in found:
        sys.stderr.write(f"requirements.lock: {line}; look at the package, then run make lock\n")
    if not found:
        sys.stdout.write(f"dependencies: {len(listed)} packages, all in requirements.lock\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
