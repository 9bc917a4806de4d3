"""coterie: many weak clusterings in, the one they support out.

Names are imported when they are first used, so that ``import coterie`` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "BCE": "coterie.solvers.bce",
    "CESHL": "coterie.solvers.ceshl",
    "CSPA": "coterie.solvers.cspa",
    "ConsensusClustering": "coterie.consensus",
    "CoterieError": "coterie.core.errors",
    "DREC": "coterie.solvers.drec",
    "DataError": "coterie.core.errors",
    "EAC": "coterie.solvers.eac",
    "ECCMS": "coterie.solvers.ec_cms",
    "ECPCSHC": "coterie.solvers.ecpcs_hc",
    "ECPCSMC": "coterie.solvers.ecpcs_mc",
    "Ensemble": "coterie.ensemble",
    "HBGF": "coterie.solvers.hbgf",
    "HGPA": "coterie.solvers.hgpa",
    "IMVC": "coterie.solvers.imvc",
    "KC": "coterie.solvers.kc",
    "KCC": "coterie.solvers.kcc",
    "LCE": "coterie.solvers.lce",
    "LWEA": "coterie.solvers.lwea",
    "LWGP": "coterie.solvers.lwgp",
    "LabelConsensus": "coterie.solvers.base",
    "LabelError": "coterie.core.errors",
    "MCLA": "coterie.solvers.mcla",
    "MajorityVoting": "coterie.solvers.voting",
    "MemoryBudgetError": "coterie.core.errors",
    "NMFC": "coterie.solvers.nmfc",
    "OSIMVC": "coterie.solvers.osimvc",
    "PCE": "coterie.solvers.pce",
    "PTA": "coterie.solvers.pta",
    "PTGP": "coterie.solvers.ptgp",
    "ParameterError": "coterie.core.errors",
    "Partition": "coterie.solvers.partition",
    "RCE": "coterie.solvers.rce",
    "RSECH": "coterie.solvers.rsec",
    "RSECZ": "coterie.solvers.rsec",
    "Result": "coterie.result",
    "ResultFileError": "coterie.core.errors",
    "SCCBG": "coterie.solvers.sccbg",
    "SPCE": "coterie.solvers.spce",
    "SampleError": "coterie.core.errors",
    "SimilarityConsensus": "coterie.solvers.similarity",
    "TRCE": "coterie.solvers.trce",
    "USENC": "coterie.solvers.usenc",
    "enhance": "coterie.solvers.ec_cms",
    "memory_budget": "coterie.core.budget",
    "select_k": "coterie.select",
}
_MODULES = (
    "datasets",
    "evaluate",
    "evidence",
    "generate",
    "io",
    "plot",
    "report",
    "scale",
    "select",
    "solvers",
    "trust",
)

__all__ = [*sorted(_HOME), *_MODULES]

if TYPE_CHECKING:
    from coterie import datasets as datasets
    from coterie import evaluate as evaluate
    from coterie import evidence as evidence
    from coterie import generate as generate
    from coterie import io as io
    from coterie import plot as plot
    from coterie import report as report
    from coterie import scale as scale
    from coterie import select as select
    from coterie import solvers as solvers
    from coterie import trust as trust
    from coterie.consensus import ConsensusClustering as ConsensusClustering
    from coterie.core.budget import memory_budget as memory_budget
    from coterie.core.errors import CoterieError as CoterieError
    from coterie.core.errors import DataError as DataError
    from coterie.core.errors import LabelError as LabelError
    from coterie.core.errors import MemoryBudgetError as MemoryBudgetError
    from coterie.core.errors import ParameterError as ParameterError
    from coterie.core.errors import ResultFileError as ResultFileError
    from coterie.core.errors import SampleError as SampleError
    from coterie.ensemble import Ensemble as Ensemble
    from coterie.result import Result as Result
    from coterie.select import select_k as select_k
    from coterie.solvers.base import LabelConsensus as LabelConsensus
    from coterie.solvers.bce import BCE as BCE
    from coterie.solvers.ceshl import CESHL as CESHL
    from coterie.solvers.cspa import CSPA as CSPA
    from coterie.solvers.drec import DREC as DREC
    from coterie.solvers.eac import EAC as EAC
    from coterie.solvers.ec_cms import ECCMS as ECCMS
    from coterie.solvers.ec_cms import enhance as enhance
    from coterie.solvers.ecpcs_hc import ECPCSHC as ECPCSHC
    from coterie.solvers.ecpcs_mc import ECPCSMC as ECPCSMC
    from coterie.solvers.hbgf import HBGF as HBGF
    from coterie.solvers.hgpa import HGPA as HGPA
    from coterie.solvers.imvc import IMVC as IMVC
    from coterie.solvers.kc import KC as KC
    from coterie.solvers.kcc import KCC as KCC
    from coterie.solvers.lce import LCE as LCE
    from coterie.solvers.lwea import LWEA as LWEA
    from coterie.solvers.lwgp import LWGP as LWGP
    from coterie.solvers.mcla import MCLA as MCLA
    from coterie.solvers.nmfc import NMFC as NMFC
    from coterie.solvers.osimvc import OSIMVC as OSIMVC
    from coterie.solvers.partition import Partition as Partition
    from coterie.solvers.pce import PCE as PCE
    from coterie.solvers.pta import PTA as PTA
    from coterie.solvers.ptgp import PTGP as PTGP
    from coterie.solvers.rce import RCE as RCE
    from coterie.solvers.rsec import RSECH as RSECH
    from coterie.solvers.rsec import RSECZ as RSECZ
    from coterie.solvers.sccbg import SCCBG as SCCBG
    from coterie.solvers.similarity import SimilarityConsensus as SimilarityConsensus
    from coterie.solvers.spce import SPCE as SPCE
    from coterie.solvers.trce import TRCE as TRCE
    from coterie.solvers.usenc import USENC as USENC
    from coterie.solvers.voting import MajorityVoting as MajorityVoting


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f"coterie.{name}")
    raise AttributeError(f"module 'coterie' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
