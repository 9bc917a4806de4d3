"""Rows in Dask: workers compute member labels, compress them and expand the result to all rows.

Only the distinct label rows reach this process, as an Ensemble. Needs
``pip install "coterie[dask]"``. Names are imported on first use, so that ``import coterie.scale`` works
without Dask. The stub ``__init__.pyi`` lists them.
"""

from typing import Any

from coterie.core.lazy import lazy_names
from coterie.core.packages import require_package

__all__, _imported, __dir__ = lazy_names(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name in __all__:
        for package in ("dask", "distributed"):
            require_package("coterie.scale", package, "dask")
    return _imported(name)
