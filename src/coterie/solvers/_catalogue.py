"""The methods by name: the one place to change when a method is added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING, Any

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
    # the settings that the paper tries: parameter, values
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def load(self) -> type[LabelConsensus]:
        """The estimator."""
        module, _, attribute = self.home.partition(":")
        found: type[LabelConsensus] = getattr(import_module(module), attribute)
        return found

    def settings(self) -> Iterator[dict[str, Any]]:
        """Every combination of the grid's values; one empty setting where there is no grid."""
        for values in product(*self.grid.values()):
            yield dict(zip(self.grid, values, strict=True))


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
        Method(
            name="spce",
            home="coterie.solvers.spce:SPCE",
            summary="Self-paced: learns a graph with as many components as clusters, from the "
            "pairs that members agree on to those they dispute.",
            cost="O(N^2 (m + c)) a pass, 32 bytes a pair of microclusters",
            paper="P. Zhou, L. Du, X. Liu, Y.-D. Shen, M. Fan, X. Li. Self-paced clustering "
            "ensemble. IEEE TNNLS 32, 2021.",
            grid={"theta": tuple(k / 10 for k in range(10))},
        ),
        Method(
            name="eccms",
            home="coterie.solvers.ec_cms:ECCMS",
            summary="Enhances the co-association by spreading its confident part, then average "
            "link.",
            cost="O(N^2 b) a pass for blocks of b confident microclusters, 64 bytes a pair",
            paper="Y. Jia, S. Tao, R. Wang, Y. Wang. Ensemble clustering via co-association matrix "
            "self-enhancement. IEEE TNNLS, 2023.",
            grid={"alpha": (0.7, 0.75, 0.8, 0.85, 0.9), "lam": (0.01, 0.1, 0.2, 0.4, 1.0)},
        ),
        Method(
            name="trce",
            home="coterie.solvers.trce:TRCE",
            summary="Robust at three levels: members, samples and the graph are each allowed to "
            "be wrong.",
            cost="O(N^2 (m + c)) a pass, 64 bytes a pair of microclusters",
            paper="P. Zhou, L. Du, Y.-D. Shen, X. Li. Tri-level robust clustering ensemble with "
            "multiple graph learning. AAAI, 2021.",
            grid={"lam": tuple(10.0**power for power in range(-5, 6))},
        ),
        Method(
            name="pce",
            home="coterie.solvers.pce:PCE",
            summary="For partial labels: fills in what members did not see while it combines "
            "them. Linear in N.",
            cost="O(N m (c + m) c) a pass",
            paper="P. Zhou, L. Du, X. Liu, Z. Ling, X. Ji, X. Li, Y.-D. Shen. Partial clustering "
            "ensemble. IEEE TKDE, 2023.",
            grid={"gamma": tuple(10.0**power for power in range(-3, 4))},
        ),
        Method(
            name="ceshl",
            home="coterie.solvers.ceshl:CESHL",
            summary="Learns the hypergraph of base clusters itself until it falls into one part "
            "per cluster. Linear in N.",
            cost="O(N k c) a quasi-Newton step, O(N k) memory",
            paper="P. Zhou, X. Wang, L. Du, X. Li. Clustering ensemble via structured hypergraph "
            "learning. Information Fusion 78, 2022.",
            grid={"lam": tuple(10.0**power for power in range(-3, 4))},
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
