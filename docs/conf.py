"""Sphinx configuration."""

from coterie import __version__

project = "coterie"
author = "The coterie developers"
copyright = "2026, The coterie developers"
release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
]
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
autosummary_generate = True
autodoc_typehints = "none"
napoleon_use_ivar = True
templates_path: list[str] = []
exclude_patterns = ["_build", "api/_unused"]
html_theme = "pydata_sphinx_theme"
html_title = "coterie"
html_show_sourcelink = False
html_theme_options = {"show_nav_level": 2, "navigation_with_keys": False}
