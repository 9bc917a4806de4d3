"""What an import costs, and that the names advertised exist."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import coterie
from coterie.solvers.methods import all_methods, find_method

HEAVY = ("numba", "pandas", "matplotlib")


def test_importing_coterie_imports_nothing_heavy():
    program = f"import sys, coterie; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", coterie.__all__)
def test_every_public_name_is_there(name):
    assert getattr(coterie, name) is not None
    assert name in dir(coterie)


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="module 'coterie' has no attribute 'Ensembles'"):
        coterie.Ensembles  # noqa: B018


@pytest.mark.parametrize("name", all_methods())
def test_no_method_imports_another(name):
    own = home(find_method(name))
    others = {home(method) for method in all_methods().values()} - {own}
    folder = Path(coterie.solvers.__file__).parent / own.rpartition(".")[2]
    files = folder.glob("*.py") if folder.is_dir() else [folder.with_suffix(".py")]
    imported = {
        ".".join(node.module.split(".")[:3])
        for file in files
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.module
    }
    assert not imported & others


def home(method):
    """The module of a method, or its folder."""
    return ".".join(method.__module__.split(".")[:3])


def test_no_package_imports_a_private_file_of_another():
    source = Path(coterie.__file__).parents[1]
    modules = {
        ".".join(file.relative_to(source).with_suffix("").parts).removesuffix(".__init__"): file
        for package in ("coterie", "coterie_bench")
        for file in (source / package).rglob("*.py")
    }
    wrong = [
        f"{module} imports {imported}"
        for module, file in modules.items()
        for imported in imported_modules(file, modules)
        if not may_import(module, imported)
    ]
    assert not wrong, "\n".join(wrong)


def imported_modules(file, modules):
    """The modules of coterie that a file imports, anywhere in it."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from {name if name in modules else node.module for name in inside} & {*modules}
        elif isinstance(node, ast.Import):
            yield from {alias.name for alias in node.names} & {*modules}


def may_import(module, imported):
    """Whether each private part of a module's path belongs to a package that the importer is in."""
    parts = imported.split(".")
    parents = [".".join(parts[:i]) for i, part in enumerate(parts) if part.startswith("_")]
    return all(module == parent or module.startswith(f"{parent}.") for parent in parents)


def test_a_private_file_belongs_to_its_package():
    assert may_import("coterie.plot", "coterie.plot._k")
    assert may_import("coterie.plot._k", "coterie.plot._matrix")
    assert not may_import("coterie.report", "coterie.plot._k")
    assert not may_import("coterie_bench.figures", "coterie.plot._k")
