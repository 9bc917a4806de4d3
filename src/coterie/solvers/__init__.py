"""Methods of consensus clustering, one file each, imported on first use.

The stub ``__init__.pyi`` lists them: one line per method, read by type checkers and at run time.
"""

from coterie.core.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
