"""What an import costs, and that the names advertised exist."""

from __future__ import annotations

import subprocess
import sys

import pytest

import coterie

HEAVY = ("numba", "pandas", "matplotlib")


def test_importing_coterie_imports_nothing_heavy():
    program = f"import sys, coterie; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", coterie.__all__)
def test_every_public_name_is_there(name):
    assert getattr(coterie, name) is not None
    assert name in dir(coterie)


def test_an_unknown_name():
    with pytest.raises(AttributeError, match="module 'coterie' has no attribute 'Ensembles'"):
        coterie.Ensembles  # noqa: B018
