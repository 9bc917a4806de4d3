"""Packages: those of the extras, which may not be installed, and the versions of the others."""

from __future__ import annotations

import platform
from importlib import metadata
from importlib.util import find_spec

from coterie import __version__
from coterie.core.errors import PackageMissing


def require_package(feature: str, package: str, extra: str) -> None:
    """Raise PackageMissing if a package is not installed; the error names the feature that needs it."""
    if find_spec(package) is None:
        raise PackageMissing(f'{feature} needs {package}; run: pip install "coterie[{extra}]"')


def versions() -> dict[str, str]:
    """Versions of coterie, Python and the numerical packages."""
    numerical = ("numpy", "scipy", "scikit-learn", "numba")
    return {
        "coterie": __version__,
        "python": platform.python_version(),
        **{package: metadata.version(package) for package in numerical},
    }
