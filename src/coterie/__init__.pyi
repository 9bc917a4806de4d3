# Public names other than methods, which `solvers/__init__.pyi` lists.
from coterie import datasets as datasets
from coterie import evaluate as evaluate
from coterie import evidence as evidence
from coterie import generate as generate
from coterie import io as io
from coterie import plot as plot
from coterie import profiles as profiles
from coterie import report as report
from coterie import scale as scale
from coterie import select as select
from coterie import solvers as solvers
from coterie import testing as testing
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
from coterie.core.tables import Table as Table
from coterie.ensemble import Ensemble as Ensemble
from coterie.evidence import enhance as enhance
from coterie.profiles import profile as profile
from coterie.result import Result as Result
from coterie.select import select_k as select_k
from coterie.solvers import *  # noqa: F403

__version__: str
