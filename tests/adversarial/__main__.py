"""``python -m tests.adversarial [--cases N] [GROUP ...]``: attack, count, and list what broke."""

from __future__ import annotations

import argparse
import sys
from time import perf_counter

from tests.adversarial import (
    arguments,
    concurrency,
    faults,
    guided,
    kills,
    numerics,
    readers,
    solvers,
)

GROUPS = {
    "ensembles": solvers.run,
    "numbers": numerics.run,
    "arguments": arguments.run,
    "readers": readers.run,
    "faults": faults.run,
    "concurrency": concurrency.run,
    "determinism": concurrency.matrix,
    "kills": kills.run,
    "guided": guided.run,
}


def main() -> int:
    """Run the groups; the exit code is 1 where a promise was broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.adversarial", description=__doc__)
    parser.add_argument("groups", nargs="*", metavar="GROUP")
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    broken = 0
    # coverage-guided fuzzing takes minutes a reader, and is asked for by name
    for group in arguments.groups or [name for name in GROUPS if name != "guided"]:
        name, _, only = group.partition(":")
        began = perf_counter()
        for tally in GROUPS[name](arguments.cases, arguments.seed, only.split(",") if only else ()):
            _say("\n".join(tally.lines()))
            broken += len(tally.violations)
        _say(f"{group}: {perf_counter() - began:.0f} s")
    _say(f"violations: {broken}")
    return 1 if broken else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
