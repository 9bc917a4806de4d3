"""Methods of consensus clustering, one file each, imported when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coterie.solvers.methods import METHODS

if TYPE_CHECKING:
    from coterie.solvers.ceshl import CESHL as CESHL
    from coterie.solvers.eac import EAC as EAC
    from coterie.solvers.ec_cms import ECCMS as ECCMS
    from coterie.solvers.pce import PCE as PCE
    from coterie.solvers.spce import SPCE as SPCE
    from coterie.solvers.trce import TRCE as TRCE

_CLASSES = {method.home.partition(":")[2]: method for method in METHODS.values()}

__all__ = sorted(_CLASSES)


def __getattr__(name: str) -> Any:
    if name in _CLASSES:
        return _CLASSES[name].load()
    raise AttributeError(f"module 'coterie.solvers' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
