"""Every docstring of a method is complete at run time, whatever the source leaves to its base class."""

from dataclasses import KW_ONLY, dataclass
from inspect import cleandoc, signature
from typing import Any

import pytest

from coterie import EAC, LabelConsensus, MethodInfo
from coterie.core.params import Integer, parameter
from coterie.solvers.methods import all_methods

METHODS = all_methods()
SMALL = [[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]]


def section(method, title):
    """Names and texts of the entries of a section."""
    _, _, rest = cleandoc(method.__doc__).partition(f"{title}\n{'-' * len(title)}\n")
    entries = {}
    for line in rest.partition("\n\n")[0].splitlines():
        if not line.startswith(" "):
            names, _, kind = line.partition(" : ")
            assert kind, line
            entries[names] = kind
        else:
            entries[names] += line
    return entries


@pytest.mark.parametrize("name", METHODS)
def test_every_parameter_is_described_in_order_with_its_default(name):
    described = section(METHODS[name], "Parameters")
    parameters = signature(METHODS[name]).parameters
    assert list(described) == list(parameters)
    for parameter_name, text in described.items():
        default = parameters[parameter_name].default
        if default is parameters[parameter_name].empty:
            assert "default" not in text.partition("  ")[0]
        elif parameter_name != "random_state":
            assert "default" in text.partition("  ")[0], parameter_name


@pytest.mark.parametrize("name", METHODS)
def test_every_fitted_attribute_is_described(name):
    described = {
        single for names in section(METHODS[name], "Attributes") for single in names.split(", ")
    }
    model = METHODS[name](n_clusters=2, random_state=0).fit(SMALL)
    fitted = {attribute for attribute in vars(model) if attribute.endswith("_")}
    assert fitted - {"n_features_in_"} <= described


@pytest.mark.parametrize("name", METHODS)
def test_random_state_is_a_seed_or_ignored(name):
    text = section(METHODS[name], "Parameters")["random_state"]
    assert ("Seed" in text) == METHODS[name].about.random
    assert ("Ignored" in text) != METHODS[name].about.random


def test_a_class_keeps_its_own_words():
    @dataclass(eq=False, repr=False)
    class Own(LabelConsensus):
        """One line.

        Parameters
        ----------
        max_iter : int, default 3
            How often.

        Notes
        -----
        Something else.
        """

        about = MethodInfo(name="own")

        n_clusters: int
        _: KW_ONLY
        n_init: int = parameter(7, Integer(2))
        max_iter: int = 3
        random_state: Any = None

    assert Own.__doc__.startswith("One line.\n\nParameters\n----------\nn_clusters : int\n")
    described = section(Own, "Parameters")
    assert described["n_init"].startswith("int, default 7")
    assert described["max_iter"] == "int, default 3    How often."
    assert "Notes\n-----\nSomething else.\n\nFor the methods of the library" in Own.__doc__


def test_a_subclass_describes_what_it_inherits():
    class Closest(EAC):
        """Evidence accumulation under another name."""

    assert section(Closest, "Parameters") == section(EAC, "Parameters")
    assert section(Closest, "Attributes") == section(EAC, "Attributes")


def test_a_class_without_a_docstring_gets_none():
    class Silent(EAC):
        pass

    assert Silent.__doc__ is None
