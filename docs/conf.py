"""Sphinx configuration."""

import shutil
import sys
from pathlib import Path

from coterie import __version__, solvers

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
# pictures and reports that the build makes
MADE = HERE / "_made"

project = "coterie"
author = "The coterie developers"
copyright = "2026, The coterie developers"
release = __version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "subsection_order": ["../examples/tables", "../examples/labels", "../examples/trust"],
    "within_subsection_order": "gallery_order.place",
    "filename_pattern": r"plot_",
    "ignore_pattern": r"single_cell\.py",
    "download_all_examples": False,
    "remove_config_comments": True,
    # pictures are shown, so the name of their Axes is not
    "ignore_repr_types": r"matplotlib\.",
    "show_memory": False,
    # these pages would appear in the search, and load scripts from elsewhere
    "write_computation_times": False,
    # nothing of one example may reach the next
    "reset_modules": ("matplotlib",),
}
myst_enable_extensions = ["colon_fence", "attrs_block", "attrs_inline"]
# links to headings of the first two levels, as on GitHub
myst_heading_anchors = 2
autosummary_generate = True
autodoc_typehints = "none"
napoleon_use_ivar = True
# keep the underscore at the end of labels_
strip_signature_backslash = True
autosummary_context = {"solvers": solvers.__all__}
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = [("site.js", {"defer": "defer"})]
html_extra_path = ["_made/site"]
exclude_patterns = ["_build", "_made", "api/_unused", "gallery/*.ipynb", "gallery/*.py"]
html_theme = "pydata_sphinx_theme"
html_title = "coterie"
html_show_sourcelink = False
html_theme_options = {
    "show_nav_level": 2,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 5,
    "navbar_align": "left",
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
}
html_context = {"default_mode": "auto"}
# the first page needs the whole width
html_sidebars = {"index": []}
toc_object_entries_show_parents = "hide"


def add_cost_and_paper(app, what, name, obj, options, lines):
    """End the page of a method with the facts that its ``about`` states."""
    about = vars(obj).get("about") if what == "class" else None
    if about and about.paper:
        lines += ["", f"**Cost.** {about.cost}.", "", f"**Paper.** {about.paper}", ""]


def leave_out_members(app, what, name, obj, skip, options):
    """Leave out class attributes that only hold the default of a parameter, and scikit-learn's settings."""
    if obj is None or isinstance(obj, bool | int | float | str):
        return True
    routing = name.startswith("set_") and name.endswith("_request")
    if routing or name in ("get_metadata_routing", "set_output"):
        return True
    return None


def prepare(app, config):
    """Name the attributes of a class so, not "Variables"; make and empty folders."""
    from sphinx.domains.python import PyObject

    for field in PyObject.doc_field_types:
        if field.name == "variable":
            field.label = "Attributes"
    (MADE / "site").mkdir(parents=True, exist_ok=True)
    # pages of names that no longer exist
    shutil.rmtree(HERE / "api", ignore_errors=True)


def make_pictures_and_reports(app):
    """Draw the pictures and write the reports, unless neither coterie nor the scripts have changed."""
    import draw_pictures
    import write_reports

    code = max(file.stat().st_mtime for file in (HERE.parent / "src").rglob("*") if file.is_file())
    for script, make, folder in [
        (draw_pictures, draw_pictures.draw_all, MADE / "pictures"),
        (write_reports, write_reports.write_all, MADE / "site" / "reports"),
    ]:
        done = folder / ".done"
        newest = max(code, Path(script.__file__).stat().st_mtime)
        if not done.exists() or done.stat().st_mtime < newest:
            make(folder)
            done.touch()


def setup(app):
    # before Sphinx checks the folders in the configuration
    app.connect("config-inited", prepare, priority=100)
    app.connect("builder-inited", make_pictures_and_reports)
    app.connect("autodoc-process-docstring", add_cost_and_paper)
    app.connect("autodoc-skip-member", leave_out_members)
