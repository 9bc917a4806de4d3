"""What a picture was given: an Ensemble, a fitted model, a Result, a Selection, or arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from coterie.core.errors import ParameterError
from coterie.ensemble import Ensemble
from coterie.result import Result


@dataclass(frozen=True, eq=False)
class Given:
    """What a model or a Result holds.

    Attributes
    ----------
    description : str
        Such as "a fitted EAC", for messages.
    ensemble : Ensemble
    labels, confidence : ndarray, shape (n,)
        Cluster and confidence of each sample of the ensemble.
    selection : Selection or None
    history : list of dict
    """

    description: str
    source: Any
    ensemble: Ensemble
    selection: Any
    history: list[dict[str, Any]]

    @property
    def labels(self) -> NDArray[Any]:
        """Cluster of each sample."""
        if isinstance(self.source, Result):
            return self.source.labels
        # the model's own labels are lazy for rows in partitions; the solver has those of the ensemble
        labels: NDArray[Any] = getattr(self.source, "solver_", self.source).labels_
        return labels

    @property
    def confidence(self) -> NDArray[Any]:
        """Confidence of each sample."""
        if isinstance(self.source, Result):
            return self.source.sample_confidence
        return self.ensemble.expand(self.source._diagnosed()[0].confidence)

    @property
    def result(self) -> Result:
        """The Result, or one made from the model."""
        return self.source if isinstance(self.source, Result) else Result.of(self.source)


def read(name: str, value: Any, wanted: str) -> Given | None:
    """The parts of a model or a Result; None for an array. Anything else is an error.

    Parameters
    ----------
    name : str
        Name of the argument, such as "plot.matrix: source".
    value : object
    wanted : str
        What may be passed, for the message.
    """
    kind = type(value).__name__
    if isinstance(value, Result):
        return Given("a Result", value, value.ensemble, value.selection, value.history)
    if isinstance(value, type):
        raise ParameterError(f"{name} is the class {value.__name__}; pass {wanted}")
    if hasattr(value, "get_params"):
        if not hasattr(value, "labels_"):
            raise ParameterError(f"{name} is a {kind} that is not fitted; call its fit first")
        if not hasattr(value, "ensemble_"):
            raise ParameterError(f"{name} is a {kind}; pass {wanted}")
        selection = getattr(value, "selection_", None)
        return Given(f"a fitted {kind}", value, value.ensemble_, selection, value.history_)
    if value is None:
        raise ParameterError(f"{name} is None; pass {wanted}")
    return None


def selection_of(name: str, value: Any, *, arrays: str) -> Any:
    """The Selection of a model or Result; any other value as it is.

    Parameters
    ----------
    name : str
    value : object
    arrays : str
        The arrays that may be passed instead, for the message.
    """
    wanted = (
        f'a Selection (from select_k), a ConsensusClustering("auto") or its Result, or {arrays}'
    )
    given = read(name, value, wanted)
    if isinstance(value, Ensemble):
        raise ParameterError(
            f"{name} is an Ensemble, which does not compare numbers of clusters; pass {wanted}"
        )
    if given is None:
        return value
    if given.selection is None:
        raise ParameterError(
            f"{name} is {given.description} that did not choose its number of clusters; pass {wanted}"
        )
    return given.selection
