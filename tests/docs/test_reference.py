"""The API pages list exactly the public names."""

import importlib
import inspect
import re
from pathlib import Path

import coterie

DOCS = Path(__file__).resolve().parents[2] / "docs"
# the names of one autosummary block, up to the end of its indentation; methods have theirs beside their page
BLOCK = re.compile(r"^\.\. autosummary::\n(?:   :\w+: .*\n)+\n((?:   \S+\n)+)", re.MULTILINE)


def listed():
    """Every name with a page of its own, in the order of the pages, ``reference.md`` first."""
    pages = sorted(DOCS.rglob("*.md"), key=lambda page: page.name != "reference.md")
    return [
        name
        for page in pages
        for block in BLOCK.findall(page.read_text())
        for name in block.split()
    ]


def public():
    """Names in ``coterie.__all__``, and functions and classes of its public modules."""
    names = {}
    for name in [*coterie.__all__, "anndata"]:
        found = (
            importlib.import_module(f"coterie.{name}")
            if name == "anndata"
            else getattr(coterie, name)
        )
        if not inspect.ismodule(found):
            names[name] = found
            continue
        inside = getattr(found, "__all__", None) or [
            own
            for own, value in vars(found).items()
            if inspect.isfunction(value) and value.__module__ == found.__name__ and own[0] != "_"
        ]
        inside = {own: getattr(found, own) for own in inside}
        names.update({f"{name}.{own}": value for own, value in inside.items() if callable(value)})
    return names


def resolve(name):
    module, _, last = f"coterie.{name}".rpartition(".")
    return getattr(importlib.import_module(module), last)


def test_every_public_name_has_a_page():
    pages = {id(resolve(name)) for name in listed()}
    assert [name for name, found in public().items() if id(found) not in pages] == []


def test_every_page_is_about_a_public_name():
    objects = {id(found) for found in public().values()}
    assert [name for name in listed() if id(resolve(name)) not in objects] == []


def test_no_name_has_two_pages():
    objects = [id(resolve(name)) for name in listed()]
    assert len(objects) == len(set(objects))


def test_the_estimator_comes_first():
    assert listed()[0] == "ConsensusClustering"


def test_every_public_function_has_an_example():
    functions = {name: found for name, found in public().items() if inspect.isfunction(found)}
    without = [name for name, found in functions.items() if ">>>" not in (found.__doc__ or "")]
    # the example of check_solver runs the other checks
    assert [name for name in without if not name.startswith("testing.check_")] == []
