"""``python -m tests.adversarial.mutants``: change one thing in the code; some test must notice.

A mutant is a module with one operator, number, condition or loop changed, as cosmic-ray changes them.
Of each module of ensemble, evidence and kernels a few places are drawn at random (``--each``,
``--seed``) and one change at each is judged by the tests of that module.

1. Kernels are interpreted (NUMBA_DISABLE_JIT), because compiling anew would cost more than the tests.
2. The tests of a module run once as it stands: those that pass, the quickest first, until they have
   taken ``--seconds``, judge its mutants; one that has killed a mutant comes first from then on.
3. A mutant is in the memory of a forked process only; no file is changed. It is killed by a test that
   fails, by an import that fails, or by running several times as long as it should.

Annotations, decorators and imports are left as they are: changed or not, they compute the same. What is
known is kept in build/mutants, a line a mutant, so that a run can be stopped and taken up again;
``--again`` judges the survivors anew, after tests were written.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import hashlib
import importlib
import importlib.abc
import importlib.util
import json
import os
import resource
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
NOTES = ROOT / "build" / "mutants"
PACKAGES = ("ensemble", "evidence", "numerics")
# loaded before the fork, so that no mutant pays for them; nothing of coterie may be among them
LOADED = (
    "hypothesis.extra.numpy",
    "numba",
    "narwhals",
    "pandas",
    "pdb",
    "polars",
    "pyarrow",
    "pytest",
    "scipy.cluster.hierarchy",
    "scipy.optimize",
    "scipy.sparse.linalg",
    "sklearn.cluster",
    "sklearn.metrics",
)
_OF = {
    "ensemble.canonical": "ensemble",
    "ensemble.compress": "ensemble",
    "evidence.base_clusters": "evidence/test_base_clusters.py evidence/test_budget.py",
    "evidence.coassociation": (
        "evidence/test_coassociation.py evidence/test_transition.py evidence/test_budget.py"
    ),
    "evidence.contingency": (
        "evidence/test_contingency.py evidence/test_agreement.py solvers/test_voting.py"
    ),
    "evidence.enhancement.passes": "evidence/test_enhancement.py solvers/test_ec_cms.py",
    "evidence.enhancement.problem": "evidence/test_enhancement.py solvers/test_ec_cms.py",
    "evidence.enhancement.kernels": "evidence/test_enhancement.py solvers/test_ec_cms.py",
    "evidence.enhancement.factors": "evidence/test_enhancement.py solvers/test_ec_cms.py",
    "evidence.enhancement.tiles": "evidence/test_enhancement.py solvers/test_ec_cms.py",
    "evidence.given": "evidence/test_given.py",
    "evidence.links": "evidence/test_links.py evidence/test_budget.py",
    "evidence.new_rows": "evidence/test_new_rows.py",
    "evidence.propagation": (
        "evidence/test_propagation.py evidence/test_budget.py solvers/test_ecpcs.py"
    ),
    "evidence.reliability": "evidence/test_reliability.py evidence/test_budget.py",
    "evidence.support": "evidence/test_transition.py",
    "evidence.trajectories": "evidence/test_trajectories.py evidence/test_budget.py",
    "numerics.laplacian_kernels": "numerics/test_laplacian_kernels.py numerics/test_laplacian.py",
    "numerics.linkage": "numerics/test_linkage.py",
    "numerics.nearest": "numerics/test_nearest.py",
    "numerics.pairs": "evidence/test_coassociation.py evidence/test_reliability.py",
    "numerics.row_ranges": "numerics/test_row_ranges.py",
    "numerics.rows": "numerics/test_rows.py",
}


def tests_of(module: str) -> list[str]:
    """The files of tests that judge a module; those of its package where no others are named."""
    return [f"tests/{name}" for name in _OF.get(module, module.partition(".")[0]).split()]


@dataclass(frozen=True)
class Mutant:
    """One change of one module: the operator's name and which of its occurrences."""

    module: str
    operator: str
    occurrence: int
    line: int
    source: str  # the beginning of a digest of the module as it was

    @property
    def package(self) -> str:
        return self.module.partition(".")[0]


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: "killed", "too long" or "survived", and the change itself."""

    mutant: Mutant
    outcome: str
    change: str


def path_of(module: str) -> Path:
    return ROOT.joinpath("src", "coterie", *module.split(".")).with_suffix(".py")


def modules(packages: Iterable[str]) -> Iterator[str]:
    for package in packages:
        for path in sorted((ROOT / "src" / "coterie" / package).glob("*.py")):
            if path.stem != "__init__":
                yield f"{package}.{path.stem}"


def draw(module: str, each: int, seed: int) -> list[Mutant]:
    """``each`` places of the module, all different, and one change at each."""
    from cosmic_ray.ast import ast_nodes, get_ast

    source = path_of(module).read_text(encoding="utf-8")
    quiet = _lines_without_effect(ast.parse(source))
    digest = hashlib.sha256(source.encode()).hexdigest()[:12]
    tree = get_ast(source)
    places: dict[tuple[int, int], list[Mutant]] = {}
    for name, operator in _operators():
        nodes = ((node, at) for node in ast_nodes(tree) for at in operator.mutation_positions(node))
        for occurrence, (_, (start, _)) in enumerate(nodes):
            if not any(first <= start < last for first, last in quiet):
                mutant = Mutant(module, name, occurrence, start[0], digest)
                places.setdefault(tuple(start), []).append(mutant)
    # a module's draw does not depend on the other modules
    rng = np.random.default_rng([seed, *module.encode()])
    drawn: list[Mutant] = []
    for index in rng.permutation(len(places)):
        if len(drawn) == each:
            break
        choices = places[sorted(places)[index]]
        mutant = choices[int(rng.integers(len(choices)))]
        if _is_a_program(mutate(mutant)):
            drawn.append(mutant)
    return drawn


def _operators() -> Iterator[tuple[str, Any]]:
    import cosmic_ray.plugins

    for name in sorted(cosmic_ray.plugins.operator_names()):
        make = cosmic_ray.plugins.get_operator(name)
        if not make.arguments() and not name.endswith("RemoveDecorator"):
            yield name, make()


def _lines_without_effect(
    tree: ast.Module,
) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Begin and end of every annotation, decorator and block of imports for types."""
    found: list[ast.AST] = []
    for node in ast.walk(tree):
        found += getattr(node, "decorator_list", [])
        for field in ("annotation", "returns"):
            if getattr(node, field, None) is not None:
                found.append(getattr(node, field))
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            found.append(node)
        if isinstance(node, ast.Assign) and "Literal[" in ast.unparse(node.value):
            found.append(node)
    return [
        ((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)) for node in found
    ]


def mutate(mutant: Mutant) -> str:
    import cosmic_ray.plugins
    from cosmic_ray.mutating import mutate_code

    operator = cosmic_ray.plugins.get_operator(mutant.operator)()
    source = path_of(mutant.module).read_text(encoding="utf-8")
    changed = mutate_code(source, operator, mutant.occurrence)
    return source if changed is None else changed


def _is_a_program(source: str) -> bool:
    try:
        compile(source, "mutant", "exec")
    except (SyntaxError, ValueError):
        return False
    return True


class _Memory(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):
    """Imports one module from a text in place of its file."""

    def __init__(self, module: str, source: str) -> None:
        self._name, self._path, self._source = f"coterie.{module}", path_of(module), source

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Any:
        if fullname != self._name:
            return None
        return importlib.util.spec_from_file_location(fullname, self._path, loader=self)

    def get_filename(self, fullname: str) -> str:
        return str(self._path)

    def get_data(self, path: Any) -> bytes:
        return self._source.encode()


class _Chosen:
    """For pytest: only the chosen tests, in their order."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._rank = {test: rank for rank, test in enumerate(tests)}

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        kept = [item for item in items if item.nodeid in self._rank]
        items[:] = sorted(kept, key=lambda item: self._rank[item.nodeid])


class _Times:
    """For pytest: how long every test took that passed, written where another process can read it."""

    def __init__(self, path: Path) -> None:
        self._path, self._spent, self._failed = path, Counter[str](), set[str]()

    def pytest_runtest_logreport(self, report: Any) -> None:
        self._spent[report.nodeid] += report.duration
        if not report.passed:
            self._failed.add(report.nodeid)

    def pytest_runtest_logfinish(self) -> None:
        passed = {test: s for test, s in self._spent.items() if test not in self._failed}
        _write(self._path, json.dumps(passed, indent=0))


def _write(path: Path, text: str) -> None:
    part = path.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


def _pytest(tests: Sequence[str], plugin: object, *options: str) -> int:
    import pytest

    arguments = ["-q", "--hypothesis-profile=few", *options]
    # other packages bring plugins that take longer to load than most mutants to kill
    for plugin_name in ("no:cacheprovider", "pytest_timeout", "_hypothesis_pytestplugin"):
        arguments += ["-p", plugin_name]
    # integers that wrap around are meant to; a compiled kernel does not warn of them
    arguments += ["-W", "ignore:overflow encountered:RuntimeWarning"]
    # hypothesis is loaded before pytest could rewrite its assertions
    arguments += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    return int(pytest.main([*arguments, *tests], plugins=[plugin]))


def _apart(work: Callable[[], int], cpu_seconds: float, log: Path) -> tuple[int, float]:
    """The exit code of the work in a process of its own, negative for a signal, and its cost."""
    child = os.fork()
    if child == 0:
        try:
            limit = max(1, int(cpu_seconds))
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
            sink = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(sink, 1)
            os.dup2(sink, 2)
            code = work()
            sys.stdout.flush()
            os._exit(code)
        except BaseException:
            os.write(2, traceback.format_exc().encode())
            os._exit(99)
    _, status, usage = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime


def judges(module: str, seconds: float) -> tuple[list[str], float]:
    """The tests that judge a module's mutants, the quickest first, and what they cost in all."""
    files = tests_of(module)
    times = NOTES / f"{module}.tests.json"
    if not times.exists():

        def work() -> int:
            # interpreted, a few tests would go on for minutes
            return _pytest(files, _Times(times), "--timeout=3", "--tb=no")

        _apart(work, 2 * seconds, NOTES / f"{module}.log")
    cost = json.loads(times.read_text(encoding="utf-8")) if times.exists() else {}
    chosen: list[str] = []
    spent = 0.0
    for test in sorted(cost, key=lambda test: (cost[test], test)):
        if spent + cost[test] > seconds:
            break
        chosen.append(test)
        spent += cost[test]
    if not chosen:
        raise SystemExit(f"no test of {', '.join(files)} passes; see {NOTES / module}.log")
    return chosen, spent


def judge(mutant: Mutant, tests: list[str], spent: float) -> Verdict:
    """Let the tests run on the mutant; the one that fails is moved to the front."""
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    changed = mutate(mutant)
    log = NOTES / "last.log"

    def work() -> int:
        sys.meta_path.insert(0, _Memory(mutant.module, changed))
        return _pytest(files, _Chosen(tests), "-x", "--tb=line", "--timeout=60")

    code, _ = _apart(work, 10 + 5 * spent, log)
    for line in log.read_text(encoding="utf-8", errors="replace").splitlines():
        killer = line.removeprefix("FAILED ").partition(" - ")[0]
        if killer in tests:
            tests.remove(killer)
            tests.insert(0, killer)
    outcome = {0: "survived", -signal.SIGXCPU: "too long"}.get(code, "killed")
    return Verdict(mutant, outcome, _difference(mutant.module, changed))


def _difference(module: str, changed: str) -> str:
    before = path_of(module).read_text(encoding="utf-8").splitlines()
    lines = difflib.unified_diff(before, changed.splitlines(), n=0, lineterm="")
    return "\n".join(line for line in lines if line[:3] not in ("---", "+++") and line[0] in "-+")


def known(path: Path) -> dict[Mutant, Verdict]:
    """The verdicts on file; a later one of the same mutant replaces an earlier."""
    found: dict[Mutant, Verdict] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            fields = json.loads(line)
            mutant = Mutant(**fields.pop("mutant"))
            found[mutant] = Verdict(mutant, **fields)
    return found


def table(verdicts: Iterable[Verdict]) -> Iterator[str]:
    counts = Counter((v.mutant.package, v.outcome) for v in verdicts)
    yield f"{'':10}{'mutants':>9}{'killed':>9}{'too long':>10}{'survived':>10}{'share':>9}"
    for package in (*PACKAGES, "all"):
        row = [
            sum(n for (name, what), n in counts.items() if what == o and package in (name, "all"))
            for o in ("killed", "too long", "survived")
        ]
        if sum(row):
            share = f"{row[2] / sum(row):.1%}"
            yield f"{package:10}{sum(row):>9}{row[0]:>9}{row[1]:>10}{row[2]:>10}{share:>9}"


def main() -> int:
    """Judge what is not judged yet, list the survivors; the exit code is 1 at 15 % of them."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.adversarial.mutants", description=__doc__
    )
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="evidence.links; default all")
    parser.add_argument("--each", type=int, default=8, help="mutants of a module")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10.0, help="cost of the tests of a module")
    parser.add_argument("--again", action="store_true", help="judge the survivors anew")
    arguments = parser.parse_args()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ.update(NUMBA_DISABLE_JIT="1", PYTEST_DISABLE_PLUGIN_AUTOLOAD="1")
    os.chdir(ROOT)
    NOTES.mkdir(parents=True, exist_ok=True)
    for name in LOADED:
        importlib.import_module(name)
    record = NOTES / "verdicts.jsonl"
    verdicts = known(record)
    if arguments.again:
        for times in NOTES.glob("*.tests.json"):
            times.unlink()
        verdicts = {m: v for m, v in verdicts.items() if v.outcome != "survived"}
    drawn: list[Mutant] = []
    for module in arguments.modules or modules(PACKAGES):
        mine = draw(module, arguments.each, arguments.seed)
        drawn += mine
        new = [mutant for mutant in mine if mutant not in verdicts]
        tests, spent = judges(module, arguments.seconds) if new else ([], 0.0)
        for mutant in new:
            verdicts[mutant] = verdict = judge(mutant, tests, spent)
            with record.open("a", encoding="utf-8") as file:
                file.write(json.dumps(asdict(verdict)) + "\n")
        _say(f"{module}: {sum(verdicts[m].outcome != 'survived' for m in mine)} of {len(mine)}")
    for mutant in drawn:
        if verdicts[mutant].outcome == "survived":
            _say(f"\n{mutant.module}:{mutant.line}\n{verdicts[mutant].change}")
    _say("\n" + "\n".join(table(verdicts[mutant] for mutant in drawn)))
    survived = sum(verdicts[mutant].outcome == "survived" for mutant in drawn)
    return 1 if survived >= 0.15 * len(drawn) else 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
