"""The browser that the tests of the report use."""

from tests.report.conftest import axe, browser, open_page

__all__ = ["axe", "browser", "open_page"]
