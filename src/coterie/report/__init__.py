"""Report: a result on one HTML page that needs nothing but a browser."""

from __future__ import annotations

from os import PathLike
from typing import Any

from coterie.core.packages import require_package

__all__ = ["write"]


def write(result: Any, path: str | PathLike[str], *, title: str | None = None) -> None:
    """Write the report of a result as one HTML page.

    The page is self-contained: it makes no network request. It stays below 3 MB for any number of
    samples; what does not fit is shown in aggregate, and the page says so. The same result gives the
    same bytes. The file appears under its name when it is complete.

    Parameters
    ----------
    result : Result, or a fitted solver or ConsensusClustering
        A model is converted by ``Result.of(model)``.
    path : str or path
        The file to write, which must end in ``.html`` or ``.htm``; an existing one is replaced.
    title : str, optional
        Heading of the page; by default it names the input.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from coterie import EAC, report
    >>> model = EAC(2).fit([[0, 0], [0, 0], [1, 0], [1, 1], [1, 1]])
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "report.html")
    ...     report.write(model, path, title="Five samples")
    ...     "2 clusters of 5 samples" in path.read_text(encoding="utf-8")
    True
    """
    from coterie.core.errors import ParameterError
    from coterie.io.write import PAGE, check_writable, whole_file
    from coterie.result import Result

    require_package("a report", "jinja2", "report")
    if not isinstance(path, str | PathLike):
        raise ParameterError(f"path must be a file name, but is {path!r:.60}")
    if title is not None and not isinstance(title, str):
        raise ParameterError(f"title must be text or None, but is {title!r:.60}")
    check_writable(path, PAGE)
    finished = result if isinstance(result, Result) else Result.of(result)

    from coterie.report._page import page

    with whole_file(path) as file:
        file.write(page(finished, title))
