"""Coverage-guided fuzzing of a reader, where atheris is installed.

``python -m tests.adversarial guided --cases SECONDS`` gives every reader so many seconds;
``guided:csv,mat`` only those. What breaks a promise is kept in tests/adversarial/cases.
"""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.adversarial.outcomes import Tally

NAMES = ("csv", "tsv", "npy", "npz", "mat", "parquet", "result", "spec", "runs")
# larger inputs find nothing more here, and take longer
LONGEST = 16_384
MEMORY = 256 * 1024**2


def run(seconds: int, seed: int = 0, names: Sequence[str] = ()) -> Iterator[Tally]:
    """Each reader in a process of its own for so many seconds."""
    # not at the top: what is imported before atheris looks on is not followed
    from tests.adversarial.outcomes import Tally

    for name in names or NAMES:
        tally = Tally(f"guided, {name}")
        if find_spec("atheris") is None:
            tally.notes.append("atheris is not installed")
            yield tally
            continue
        with tempfile.TemporaryDirectory() as folder:
            answer = subprocess.run(
                [sys.executable, "-m", "tests.adversarial.guided", name, str(seconds), folder],
                env=os.environ | {"COTERIE_MEMORY_BUDGET": str(MEMORY)},
                capture_output=True,
                check=False,
                text=True,
                errors="replace",
            )
            tried = re.search(r"stat::number_of_executed_units:\s*(\d+)", answer.stderr)
            tally.cases = int(tried[1]) if tried else 0
            covered = re.findall(r"cov: (\d+)", answer.stderr)
            tally.notes.append(f"{seconds} s, {covered[-1] if covered else 0} places covered")
            found = re.findall(r"^BROKEN (.*)$", answer.stderr, flags=re.MULTILINE)
            tally.violations += [f"{name}: {words}" for words in found]
            if answer.returncode != 0 or not tried:
                tally.violations.append(
                    f"{name}: the process ended with {answer.returncode}: {answer.stderr[-500:]}"
                )
        yield tally


def _fuzz(name: str, seconds: str, folder: str) -> None:
    import atheris

    with atheris.instrument_imports(include=["coterie", "numpy.lib", "zipfile", "tomllib", "csv"]):
        from tests.adversarial import readers

    reader = readers.READERS[name]
    corpus, place = Path(folder, "corpus"), Path(folder, "place")
    corpus.mkdir()
    place.mkdir()
    for number, content in enumerate(reader.seeds()):
        (corpus / f"seed-{number}").write_bytes(content)
    known: set[str] = set()

    def one(content: bytes) -> None:
        # the first letter says which file of a directory of runs it is
        if name == "runs" and content[:1] not in readers._PLACES:
            return
        try:
            readers.attack(reader, content, place)
        except Exception as error:
            words = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
            kind = re.sub(r"\d+", "#", words)[:60]
            if kind not in known:
                known.add(kind)
                kept = readers.CASES / f"{name}-{hashlib.sha256(content).hexdigest()[:12]}"
                kept.write_bytes(content)
                sys.stderr.write(f"\nBROKEN {words} ({kept.name})\n")

    atheris.Setup(
        [
            "guided",
            f"-max_total_time={seconds}",
            f"-max_len={LONGEST}",
            "-timeout=30",
            "-rss_limit_mb=4096",
            "-print_final_stats=1",
            f"-artifact_prefix={folder}/",
            str(corpus),
        ],
        one,
    )
    atheris.Fuzz()


if __name__ == "__main__":
    _fuzz(*sys.argv[1:])
