"""coterie: many weak clusterings in, the one they support out.

Names are imported on first use, so that ``import coterie`` costs next to nothing. The stubs
``__init__.pyi`` here and in ``solvers`` list them.
"""

from coterie.core.lazy import lazy_names

__version__ = "0.1.0"

__all__, __getattr__, __dir__ = lazy_names(__name__, __file__)
