"""Rows in Dask: workers compute member labels, compress them and expand the result to all rows.

Only the distinct label rows reach this process, as an Ensemble. Needs
``pip install "coterie[dask]"``. Names are imported on first use, so that ``import coterie.scale`` works
without Dask. The stub ``__init__.pyi`` lists them.
"""

from importlib.util import find_spec
from typing import Any

from coterie.core.lazy import lazy_names

__all__, _imported, __dir__ = lazy_names(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name in __all__ and any(find_spec(package) is None for package in ("dask", "distributed")):
        raise ImportError(
            'coterie.scale needs dask and distributed; run: pip install "coterie[dask]"'
        )
    return _imported(name)
