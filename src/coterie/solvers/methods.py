"""The methods of the library by name."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from coterie import solvers
from coterie.core.errors import ParameterError
from coterie.core.params import nearest
from coterie.core.random import child_seeds

if TYPE_CHECKING:
    import numpy as np

    from coterie.ensemble import Ensemble
    from coterie.solvers.base import LabelConsensus

# the type stub of the package does not declare __all__
CLASS_NAMES: list[str] = vars(solvers)["__all__"]
# distinct label rows above which the default does not compare all pairs: a gigabyte per matrix
MANY_ROWS = 12_000


@cache
def all_methods() -> dict[str, type[LabelConsensus]]:
    """Every method of the library by name. Imports all of them."""
    return {
        solver.about.name: solver
        for solver in (getattr(solvers, name) for name in CLASS_NAMES)
        if "about" in vars(solver) and solver.about.name
    }


def find_method(name: str) -> type[LabelConsensus]:
    """The method of that name, in upper or lower case."""
    wanted = name.lower()
    # most classes have the name of their method: import that one alone
    for class_name in CLASS_NAMES:
        if class_name.lower() == wanted.replace("-", ""):
            solver: type[LabelConsensus] = getattr(solvers, class_name)
            if solver.method_name() == wanted:
                return solver
    known = all_methods()
    if wanted not in known:
        raise ParameterError(
            f"unknown method {name!r}{nearest(wanted, known)} (known: {', '.join(known)})"
        )
    return known[wanted]


def default_method(n_clusters: int | str | None, n_microclusters: int = 0) -> str:
    """Name of the method to use if the user does not choose one.

    LWEA has the second best mean rank on public ensembles. The best is EC-CMS, which takes about a hundred
    times as long. EAC finds the number of clusters itself. LWGP is the best method whose cost is not
    quadratic in the number of distinct label rows. The choice does not depend on available memory,
    because the same labels must give the same result on every machine.
    """
    if n_clusters is None:
        return "eac"
    return "lwea" if n_microclusters <= MANY_ROWS else "lwgp"


@dataclass(frozen=True)
class MethodChoice:
    """A method that was chosen for the user, and why.

    Attributes
    ----------
    name : str
        Name of the method.
    reason : str
        The reason in one sentence.
    """

    name: str
    reason: str


def choose_method(
    ensemble: Ensemble, n_clusters: int | str | tuple[int, int] | None
) -> MethodChoice:
    """The method to use for labels that a user gives, if the user does not choose one.

    With complete labels it is :func:`default_method`. benchmarks/partial.py shows the evidence for the
    others.

    Parameters
    ----------
    ensemble : Ensemble
    n_clusters : int, str, tuple or None
        Number of clusters; text or a range if it is still to be chosen, None if the method chooses it.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.solvers.methods import choose_method
    >>> partial = Ensemble.from_labels([[0, 0], [0, 0], [1, -1], [1, 1]] * 5)
    >>> choose_method(partial, 2)
    MethodChoice(name='pce', reason='PCE, because labels are missing.')
    """
    from coterie.trust.parties import find_parties

    ensemble = ensemble.without_blank
    if n_clusters is None:
        return MethodChoice("eac", "EAC, because it finds the number of clusters itself.")
    if not ensemble.is_complete:
        n_parties = (
            find_parties(ensemble, n_clusters if isinstance(n_clusters, int) else 2).max() + 1
        )
        if n_parties > 1:
            return MethodChoice(
                "voting",
                f"Voting, because few samples link the {n_parties} groups of members that label "
                "different samples.",
            )
        return MethodChoice("pce", "PCE, because labels are missing.")
    name = default_method("given", ensemble.n_microclusters)
    if name == "lwgp":
        return MethodChoice(
            name, f"LWGP, because there are more than {MANY_ROWS:,} distinct label rows."
        )
    return MethodChoice(name, "LWEA, because no label is missing.")


def solver_of(given: LabelConsensus | str) -> LabelConsensus:
    """The given solver, or the method of that name with default settings and n_clusters still unset."""
    if not isinstance(given, str):
        return given
    make: Any = find_method(given)
    solver: LabelConsensus = make(n_clusters=None)
    return solver


def configured(
    given: LabelConsensus | str, n_clusters: int | None, rng: np.random.Generator
) -> LabelConsensus:
    """A copy of the solver for this number of clusters (None: its own), with a seed."""
    from sklearn.base import clone

    solver: LabelConsensus = clone(solver_of(given))
    if n_clusters is not None:
        solver.set_params(n_clusters=n_clusters)
    if solver.random_state is None:
        solver.set_params(random_state=int(child_seeds(rng, 1)[0]))
    return solver
