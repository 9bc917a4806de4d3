"""Read and check a spec: a toml file with data, protocol, methods with grids, and metrics."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib import resources
from inspect import signature
from itertools import product
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any, Literal, get_args

from coterie.core.budget import memory_budget
from coterie.core.errors import CoterieError, ParameterError
from coterie.core.params import check_parameters, nearest
from coterie.datasets import names as embedded_names
from coterie.solvers.methods import all_methods, find_method
from coterie_bench._published import find_tables
from coterie_bench._records import BASE_AVERAGE, BASE_BEST, setting_text
from coterie_bench._score import METRICS

Kind = Literal["draw", "groups"]
Fill = Literal["random", "no"]
Generator = Literal["kmeans", "spectral", "subsample", "features"]
# numbers are stored in 64 bits
LARGEST = 2**63
# all runs are listed in memory before the first one starts
MAX_REPETITIONS = 1_000_000
# bytes; specs are written by hand, and the toml parser needs seconds for larger hostile files
LARGEST_FILE = 2**16
# set by the runs themselves, or impossible to write in a file
_NOT_IN_SPECS = ("n_clusters", "random_state", "callback")
PAPERS = ("spce", "eccms", "trce", "pce", "ceshl")


class SpecError(CoterieError, ValueError):
    """A spec that cannot be run."""


@dataclass(frozen=True)
class Generate:
    """How members are made from features."""

    kind: Generator = "kmeans"
    # number of clusterings; ensembles are drawn from them
    pool: int = 100
    # "classes", "sqrt" (drawn from 2 .. sqrt n), a number, or (low, high)
    clusters: int | str | tuple[int, int] = "sqrt"


@dataclass(frozen=True)
class DataSource:
    """A data set: a file of labels or features in a data folder, or one embedded in coterie."""

    name: str
    # possible file names in a data folder; the first one that exists is used
    files: tuple[str, ...]
    embedded: bool = False
    generate: Generate | None = None
    # number of clusters to compute; None means the number of classes
    n_clusters: int | None = None


@dataclass(frozen=True)
class Protocol:
    """How ensembles are taken from a pool.

    With "draw", each repetition draws members at random. With "groups", each repetition takes the next
    disjoint block of members, or the next ensemble if the file already holds separate ensembles.
    """

    kind: Kind = "draw"
    members: tuple[int, ...] = (20,)
    missing: tuple[float, ...] = (0.0,)
    repetitions: int = 20
    # file of given draws: an array `columns` of shape (repetitions, members), counted from 0
    columns: str = ""


@dataclass(frozen=True)
class MethodSpec:
    """A method, its default setting and the grid it is tried on."""

    name: str
    solver: str
    default: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    ablation_of: str = ""
    # how missing labels are filled before the method is fitted
    fill: Fill = "no"

    def settings(self) -> list[tuple[str, bool]]:
        """Every setting as text, and whether it is the default. The default comes first."""
        default = setting_text(self.default)
        is_default = {default: True}
        for values in product(*self.grid.values()):
            parameters = dict(self.default) | dict(zip(self.grid, values, strict=True))
            is_default.setdefault(setting_text(parameters), False)
        return list(is_default.items())


@dataclass(frozen=True)
class Caps:
    """Time in seconds and memory in bytes after which a run is stopped."""

    seconds: float = 3600.0
    memory: int = 8_000_000_000


@dataclass(frozen=True)
class Spec:
    """An experiment."""

    title: str
    data: tuple[DataSource, ...]
    methods: tuple[MethodSpec, ...]
    protocol: Protocol = Protocol()
    metrics: tuple[str, ...] = ("accuracy", "nmi_max", "ari")
    caps: Caps = Caps()
    seed: int = 0
    # one of PAPERS, and those of its tables whose published values are shown beside ours
    paper: str = ""
    published: tuple[str, ...] = ()
    # whether to score the members too: their average and the best one
    base: bool = True
    # the toml text, stored beside the runs
    text: str = ""


def shipped() -> dict[str, Path]:
    """The specs that come with coterie, by name."""
    folder = resources.files("coterie_bench") / "specs"
    with resources.as_file(folder) as path:
        return {file.stem: file for file in sorted(path.glob("*.toml"))}


def read_spec(name: str | PathLike[str]) -> Spec:
    """Read a spec.

    Parameters
    ----------
    name : str or path
        A toml file, or the name of a spec that comes with coterie.

    Raises
    ------
    SpecError
        If the spec cannot be run. The message names the file, the key and its value, and suggests the
        nearest known name.
    """
    path = Path(name)
    known = shipped()
    if path.suffix != ".toml" and str(name) in known:
        path = known[str(name)]
    if not path.is_file():
        hint = nearest(path.stem, known)
        raise SpecError(
            f"{name}: no such spec{hint} (give a .toml file or one of {', '.join(known)})"
        )
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise SpecError(f"{name} is not a spec: it has more than {LARGEST_FILE:,} bytes")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise SpecError(f"{name} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise SpecError(f"{name} is not UTF-8 text ({error.reason}); save it as UTF-8") from None
    return parse_spec(text, str(name))


def parse_spec(text: str, source: str = "spec") -> Spec:
    """Parse the text of a spec; error messages begin with ``source``."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"{source} is not toml: {error}") from None
    except (ValueError, RecursionError):
        # numbers of thousands of digits, brackets of thousands of levels
        raise SpecError(
            f"{source} is not a spec: a number is too long or a list too deeply nested"
        ) from None
    top = _Reader(source, "", content)
    title = top.text("title", "")
    paper = top.one_of("paper", "", ("", *PAPERS))
    spec = Spec(
        title=title or Path(source).stem,
        data=tuple(_data(reader) for reader in top.tables("data")),
        methods=tuple(_methods(top.tables("method"))),
        protocol=_protocol(top.table("protocol")),
        metrics=tuple(
            top.checked("metrics", metric, METRICS)
            for metric in dict.fromkeys(top.texts("metrics", ("accuracy", "nmi_max", "ari")))
        ),
        caps=_caps(top.table("caps")),
        seed=top.whole("seed", 0, 0),
        paper=paper,
        published=top.texts("published", ()),
        base=top.truth("base", True),
        text=text,
    )
    top.finish()
    if not spec.data:
        raise SpecError(f"{source}: has no data; write at least one [[data]]")
    if not spec.methods:
        raise SpecError(f"{source}: has no method; write at least one [[method]]")
    _refuse_twice(source, "data", [data.name for data in spec.data])
    _refuse_twice(source, "method", [method.name for method in spec.methods])
    _check_ablations(source, spec.methods)
    try:
        find_tables(spec.published, spec.paper)
    except ParameterError as error:
        raise SpecError(f"{source}: {error}") from None
    return spec


def _data(reader: _Reader) -> DataSource:
    embedded = reader.text("embedded", "")
    if embedded:
        reader.checked("embedded", embedded, embedded_names())
    name = reader.text("name", embedded)
    if not name:
        raise reader.error("name", "is missing; give the name of the data set")
    generate = None
    if embedded or "generate" in reader.content:
        generate = _generate(reader.table("generate"))
    files = (embedded,) if embedded else reader.texts("file", (name,))
    for file in files:
        _inside(reader, "file", file)
    n_clusters = reader.whole("n_clusters", 0, 0) or None
    reader.finish()
    return DataSource(name, files, bool(embedded), generate, n_clusters)


def _generate(reader: _Reader) -> Generate:
    kind: Any = reader.one_of("kind", "kmeans", get_args(Generator))
    pool = reader.whole("pool", 100, 1)
    clusters = reader.content.pop("clusters", "sqrt")
    if isinstance(clusters, list):
        clusters = tuple(clusters)
    good = (
        clusters in ("classes", "sqrt")
        or (type(clusters) is int and clusters >= 1)
        or (
            isinstance(clusters, tuple)
            and len(clusters) == 2
            and all(type(bound) is int for bound in clusters)
            and 1 <= clusters[0] <= clusters[1]
        )
    )
    if not good:
        raise reader.error(
            "clusters",
            f"must be 'classes', 'sqrt', a whole number, or [low, high], but is {clusters!r}",
        )
    reader.finish()
    return Generate(kind, pool, clusters)


def _protocol(reader: _Reader) -> Protocol:
    kind: Any = reader.one_of("kind", "draw", get_args(Kind))
    members = reader.wholes("members", (20,))
    missing = reader.reals("missing", (0.0,))
    for count in members:
        if count < 1:
            raise reader.error("members", f"must be at least 1, but is {count}")
    for share in missing:
        if not 0 <= share < 1:
            percent = f"; {share:g} % is {share / 100:g}" if 1 < share < 100 else ""
            raise reader.error(
                "missing", f"is a share of labels in [0, 1), but is {share:g}{percent}"
            )
    repetitions = reader.whole("repetitions", 20, 1)
    if repetitions > MAX_REPETITIONS:
        raise reader.error(
            "repetitions", f"must be at most {MAX_REPETITIONS:,}, but is {repetitions:,}"
        )
    columns = _inside(reader, "columns", reader.text("columns", ""))
    reader.finish()
    return Protocol(kind, members, missing, repetitions, columns)


def _methods(readers: Iterable[_Reader]) -> Iterable[MethodSpec]:
    for reader in readers:
        solver = reader.text("solver", "")
        if not solver:
            raise reader.error("solver", "is missing; 'coterie methods' lists the methods")
        reader.checked("solver", solver, all_methods())
        name = reader.text("name", solver) or solver
        if name in (BASE_AVERAGE, BASE_BEST):
            raise reader.error(
                "name", f"{name!r} is reserved for the scores of the members; choose another"
            )
        default = reader.content.pop("set", {})
        grid = reader.content.pop("grid", {})
        if grid == "paper":
            grid = dict(find_method(solver).about.grid)
        if not isinstance(default, dict):
            raise reader.error("set", f"must be a table of parameters, but is {default!r}")
        if not isinstance(grid, dict):
            raise reader.error("grid", f"must be 'paper' or a table of lists, but is {grid!r}")
        for parameter, values in grid.items():
            if not isinstance(values, list | tuple) or not values:
                raise reader.error(
                    f"grid.{parameter}", f"must be a list of values, but is {values!r}"
                )
        # written out, the default setting equals a setting of the grid and is not run twice
        known = signature(find_method(solver)).parameters
        defaults = {parameter: known[parameter].default for parameter in grid if parameter in known}
        method = MethodSpec(
            name,
            solver,
            defaults | default,
            {parameter: tuple(values) for parameter, values in grid.items()},
            reader.text("ablation_of", ""),
            reader.one_of(
                "fill", "no" if find_method(solver).about.missing else "random", get_args(Fill)
            ),
        )
        _check_parameters(reader, method)
        reader.finish()
        yield method


def _check_parameters(reader: _Reader, method: MethodSpec) -> None:
    domains = find_method(method.solver).domains()
    settings = [(name, value) for name, value in method.default.items()]
    settings += [(name, value) for name, values in method.grid.items() for value in values]
    for name, value in settings:
        if name not in domains or name in _NOT_IN_SPECS:
            own = [known for known in domains if known not in _NOT_IN_SPECS]
            raise reader.error(
                name,
                f"is not a parameter of {method.solver} that a spec can set{nearest(name, own)} "
                f"(it can set: {', '.join(own) or 'none'})",
            )
        try:
            check_parameters(method.solver, {name: value}, {name: domains[name]})
        except ParameterError as error:
            raise SpecError(f"{reader.location}: {error}") from None


def _caps(reader: _Reader) -> Caps:
    seconds = reader.real("seconds", Caps.seconds)
    memory = reader.take("memory", Caps.memory)
    if not seconds > 0:
        raise reader.error("seconds", f"must be positive, but is {seconds:g}")
    try:
        limit = memory_budget(memory)
    except (ValueError, TypeError):
        raise reader.error(
            "memory", f"must be a number of bytes or text such as '4GB', but is {memory!r}"
        ) from None
    reader.finish()
    return Caps(seconds, limit)


def _check_ablations(source: str, methods: Iterable[MethodSpec]) -> None:
    names = {method.name for method in methods}
    for method in methods:
        if method.ablation_of and method.ablation_of not in names:
            raise SpecError(
                f"{source}: method {method.name!r} is an ablation of {method.ablation_of!r}, which "
                f"is not in the spec{nearest(method.ablation_of, names)}"
            )
        if method.ablation_of == method.name:
            raise SpecError(f"{source}: method {method.name!r} is an ablation of itself")


def _refuse_twice(source: str, kind: str, names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise SpecError(
                f"{source}: two [[{kind}]] are called {name!r}; rename one (name = ...)"
            )


def _inside(reader: _Reader, key: str, name: str) -> str:
    """Reject a file name that leads out of the data folder."""
    path = PurePosixPath(name.replace("\\", "/"))
    if name and (path.is_absolute() or ".." in path.parts or ":" in name):
        raise reader.error(key, f"must be a name inside the data folder (--data), but is {name!r}")
    return name


class _Reader:
    """Reads a toml table key by key; :meth:`finish` rejects the keys that were not read."""

    def __init__(self, source: str, where: str, content: Mapping[str, Any]) -> None:
        self.source = source
        self.where = where
        self.content = dict(content)
        self.known: list[str] = []

    @property
    def location(self) -> str:
        return f"{self.source}: {self.where}" if self.where else self.source

    def error(self, key: str, words: str) -> SpecError:
        return SpecError(f"{self.location}: {key} {words}")

    def take(self, key: str, default: Any) -> Any:
        self.known.append(key)
        return self.content.pop(key, default)

    def text(self, key: str, default: str) -> str:
        value = self.take(key, default)
        if not isinstance(value, str):
            raise self.error(key, f"must be text, but is {value!r}")
        return value

    def texts(self, key: str, default: tuple[str, ...]) -> tuple[str, ...]:
        value = self.take(key, default)
        value = [value] if isinstance(value, str) else value
        if not isinstance(value, list | tuple) or not all(isinstance(text, str) for text in value):
            raise self.error(key, f"must be text or a list of texts, but is {value!r}")
        if default and not value:
            raise self.error(key, "is an empty list; leave it out or give at least one value")
        return tuple(value)

    def whole(self, key: str, default: int, low: int) -> int:
        value = self.take(key, default)
        if type(value) is not int or not low <= value < LARGEST:
            raise self.error(key, f"must be a whole number of at least {low}, but is {value!r}")
        return value

    def wholes(self, key: str, default: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(int(number) for number in self._numbers(key, default, (int,), "whole numbers"))

    def real(self, key: str, default: float) -> float:
        values = self.reals(key, (default,))
        if len(values) > 1:
            raise self.error(key, f"must be one number, but is {list(values)!r}")
        return values[0]

    def reals(self, key: str, default: tuple[float, ...]) -> tuple[float, ...]:
        return tuple(
            float(number) for number in self._numbers(key, default, (int, float), "numbers")
        )

    def _numbers(
        self, key: str, default: tuple[float, ...], kinds: tuple[type, ...], words: str
    ) -> list[float]:
        value = self.take(key, list(default))
        values = value if isinstance(value, list) else [value]
        if not values or not all(type(item) in kinds and abs(item) < LARGEST for item in values):
            raise self.error(key, f"must be {words}, a single one or a list, but is {value!r}")
        return list(dict.fromkeys(values))

    def truth(self, key: str, default: bool) -> bool:
        value = self.take(key, default)
        if not isinstance(value, bool):
            raise self.error(key, f"must be true or false, but is {value!r}")
        return value

    def one_of(self, key: str, default: str, options: Iterable[str]) -> Any:
        return self.checked(key, self.text(key, default), options)

    def checked(self, key: str, value: str, options: Iterable[str]) -> str:
        known = list(options)
        if value not in known:
            raise self.error(
                key,
                f"is {value!r}, which is not known{nearest(value, known)} "
                f"(known: {', '.join(name for name in known if name)})",
            )
        return value

    def table(self, key: str) -> _Reader:
        value = self.take(key, {})
        if not isinstance(value, dict):
            raise self.error(key, f"must be a table ([{key}]), but is {value!r}")
        return _Reader(self.source, f"{self.where}.{key}" if self.where else f"[{key}]", value)

    def tables(self, key: str) -> list[_Reader]:
        value = self.take(key, [])
        if not isinstance(value, list) or not all(isinstance(table, dict) for table in value):
            raise self.error(key, f"must be a list of tables ([[{key}]]), but is {value!r}")
        return [
            _Reader(self.source, f"[[{key}]] {_title(table, number)}", table)
            for number, table in enumerate(value, start=1)
        ]

    def finish(self) -> None:
        """Reject keys that were not read."""
        for key in self.content:
            known = [*self.known, *(["set", "grid"] if "solver" in self.known else [])]
            known += ["clusters"] if "pool" in self.known else []
            raise SpecError(
                f"{self.location}: unknown key {key!r}{nearest(key, known)} "
                f"(known: {', '.join(dict.fromkeys(known))})"
            )


def _title(content: Mapping[str, Any], number: int) -> str:
    for key in ("name", "solver", "embedded"):
        if isinstance(content.get(key), str):
            return repr(content[key])
    return f"number {number}"
