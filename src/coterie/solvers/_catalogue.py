"""The methods by name: the one place to change when a method is added."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from coterie._params import ParameterError, nearest

if TYPE_CHECKING:
    from coterie._estimator import LabelConsensus


@dataclass(frozen=True)
class Method:
    """What there is to know of a method before it is imported."""

    name: str
    home: str
    summary: str
    cost: str
    paper: str

    def load(self) -> type[LabelConsensus]:
        """The estimator."""
        module, _, attribute = self.home.partition(":")
        found: type[LabelConsensus] = getattr(import_module(module), attribute)
        return found


METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            name="eac",
            home="coterie.solvers.eac:EAC",
            summary="Evidence accumulation: hierarchical clustering of how often samples meet. "
            "Finds the number of clusters itself when -k is left out.",
            cost="O(N^2 m) time, 10 bytes a pair of microclusters",
            paper="A. Fred, A. K. Jain. Combining multiple clusterings using evidence "
            "accumulation. IEEE TPAMI 27, 2005.",
        ),
    )
}


def find_method(name: str) -> Method:
    """A method by name; an unknown name gets the known ones and the nearest."""
    if name.lower() in METHODS:
        return METHODS[name.lower()]
    raise ParameterError(
        f"unknown method {name!r}{nearest(name.lower(), METHODS)} (known: {', '.join(METHODS)})"
    )
