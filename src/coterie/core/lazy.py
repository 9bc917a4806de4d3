"""Packages whose public names are imported on first use; the package's type stub lists them."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

# one line of a stub: "from coterie.solvers.eac import EAC as EAC"
IMPORT = re.compile(r"^from (\S+) import (\w+|\*)", re.MULTILINE)


def lazy_names(
    package: str, init: str
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """``__all__``, ``__getattr__`` and ``__dir__`` of a package that imports its names on first use.

    Parameters
    ----------
    package, init : str
        ``__name__`` and ``__file__`` of the package. The names are read from ``__init__.pyi`` beside
        the file, so type checkers and the running program use the same list.
    """
    modules = _modules(Path(init).with_suffix(".pyi"))

    def get(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if modules[name] == package:
            return import_module(f"{package}.{name}")
        value = getattr(import_module(modules[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return sorted(modules), get, list_names


def _modules(stub: Path) -> dict[str, str]:
    """The module that defines each name of a stub; ``*`` adds the names of a subpackage."""
    modules: dict[str, str] = {}
    for module, name in IMPORT.findall(stub.read_text(encoding="utf-8")):
        if name == "*":
            modules |= _modules(stub.parent / module.rpartition(".")[2] / "__init__.pyi")
        else:
            modules[name] = module
    return modules
