"""``python -m tests.adversarial.pythons FOLDER``: coterie in the newest other Python of this machine.

Looks on the path and among the versions that pyenv and uv keep; FOLDER becomes a virtual environment
with coterie in it. The exit code is 1, and FOLDER is not there, where no newer Python works.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
# versions to ask for on the path, beyond the running one
NEWER = range(sys.version_info.minor + 1, sys.version_info.minor + 10)


def candidates() -> Iterator[Path]:
    """Interpreters that may be newer, in no order."""
    home = Path.home()
    kept = [
        Path(os.environ.get("PYENV_ROOT", home / ".pyenv"), "versions"),
        Path(os.environ.get("UV_PYTHON_INSTALL_DIR", home / ".local/share/uv/python")),
    ]
    for minor in NEWER:
        name = f"python3.{minor}"
        if found := shutil.which(name):
            yield Path(found)
        for folder in kept:
            yield from folder.glob(f"*/bin/{name}")


def version(python: Path) -> tuple[int, ...]:
    """Its version, () where it does not start: a shim may have nothing behind it."""
    ask = "import sys; print(*sys.version_info[:3])"
    try:
        answer = subprocess.run(
            [python, "-c", ask], capture_output=True, check=True, text=True, timeout=60
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    return tuple(int(number) for number in answer.stdout.split())


def install(python: Path, folder: Path) -> None:
    """A virtual environment with coterie as it is here; no folder is left where that fails."""
    pip = [folder / "bin" / "python", "-m", "pip", "--disable-pip-version-check", "-q", "install"]
    try:
        subprocess.run([python, "-m", "venv", folder], check=True)
        # the strategies of hypothesis stand beside the cases that are compared
        subprocess.run([*pip, "-e", f"{ROOT}[graph,io,report]", "hypothesis"], check=True)
    except (OSError, subprocess.SubprocessError):
        shutil.rmtree(folder, ignore_errors=True)
        raise


def main(folder: Path) -> int:
    """Try the newest first."""
    known = {python: version(python) for python in candidates()}
    for python in sorted((p for p in known if known[p]), key=known.__getitem__, reverse=True):
        try:
            install(python, folder)
        except (OSError, subprocess.SubprocessError) as error:
            sys.stderr.write(f"{python}: coterie could not be installed: {error}\n")
        else:
            return 0
    sys.stderr.write(f"no Python newer than {sys.version.split()[0]} works here\n")
    return 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve()))
