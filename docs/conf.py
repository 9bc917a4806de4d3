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
    "sphinx_gallery.gen_gallery",
]
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "ignore_pattern": r"(overview_picture|single_cell)\.py",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "min_reported_time": 1_000,
    # nothing of one example may reach the next
    "reset_modules": ("matplotlib",),
}
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence"]
# links to headings of the first two levels, as on GitHub
myst_heading_anchors = 2
autosummary_generate = True
autodoc_typehints = "none"
napoleon_use_ivar = True
templates_path: list[str] = []
exclude_patterns = ["_build", "api/_unused", "gallery/*.ipynb", "gallery/*.py"]
html_theme = "pydata_sphinx_theme"
html_title = "coterie"
html_show_sourcelink = False
html_theme_options = {"show_nav_level": 2, "navigation_with_keys": False}


def add_cost_and_paper(app, what, name, obj, options, lines):
    """End the page of a method with the facts that its ``about`` states."""
    about = vars(obj).get("about") if what == "class" else None
    if about and about.paper:
        lines += ["", f"**Cost.** {about.cost}.", "", f"**Paper.** {about.paper}", ""]


def leave_out_defaults(app, what, name, obj, skip, options):
    """List no class attribute that only holds the default of a parameter: it has no text."""
    return True if obj is None or isinstance(obj, bool | int | float | str) else None


def setup(app):
    app.connect("autodoc-process-docstring", add_cost_and_paper)
    app.connect("autodoc-skip-member", leave_out_defaults)
