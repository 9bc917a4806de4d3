"""Packages of the extras, which may not be installed."""

from __future__ import annotations

from importlib.util import find_spec

from coterie.core.errors import PackageMissing


def require_package(feature: str, package: str, extra: str) -> None:
    """Raise PackageMissing if a package is not installed; the error names the feature that needs it."""
    if find_spec(package) is None:
        raise PackageMissing(f'{feature} needs {package}; run: pip install "coterie[{extra}]"')
