"""The numbers that the five papers print, to stand beside ours.

``published.csv`` has one row a number. ``method`` is the catalogue's name where there is one and
``label`` the paper's; ``members`` is the size of the ensembles, ``setting`` how the method was set:

- parameters (``alpha=0.8, lam=0.4``): set so for every run;
- ``best setting``: one setting for all runs of a data set, chosen by the score itself;
- ``oracle``: the best setting of each run, chosen by the score itself;
- ``tuned``: chosen in a way that the paper does not say;
- empty: the paper does not speak of it.

Two things the papers do not say outright are inferred. SPCE, TRCE and CESHL count as ``oracle``
because their means on Lung and GLIOMA lie above that of every single setting in the authors' stored
scores (clearly for TRCE and CESHL, by 0.002 for SPCE). The NMI of EC-CMS is the arithmetic one: LWEA on
the paper's own draws gives the printed values so on four data sets, two of which rule out the geometric
mean; that of the other four papers is taken to be the one over the larger entropy, as in those stored
scores.

Two tables are no paper's: ``stored`` has the means that the authors keep beside their programs, and
``program`` scores the labels that those programs give on the ensembles at hand.

An empty ``sd`` was not printed. Numbers whose place in the printed table is not certain are left out.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from inspect import signature
from typing import Any

import numpy as np

from coterie.core.errors import ParameterError
from coterie.core.params import nearest
from coterie.core.tables import Table
from coterie.solvers.methods import all_methods, find_method

# how each paper is called in a heading
PAPERS = {"spce": "SPCE", "eccms": "EC-CMS", "trce": "TRCE", "pce": "PCE", "ceshl": "CESHL"}
# the same data under the names that files have and the names that papers print
_ALSO_CALLED = {
    "pixraw": "pixraw10p",
    "orlraws": "orlraws10p",
    "warpar": "warpar10p",
    "warppie": "warppie10p",
    "tox": "tox171",
    "steelplatesfaults": "spf",
    "landsat": "ls",
    "landsatsatellite": "ls",
    "covertype": "fct",
}
# what authors write around a name: bc_pool_Ecoli, Tr41_878n_7454d_10c_tfidf_uni, Coil20Data_25_uni,
# ORL_32x32
_AROUND = re.compile(
    r"^bc_pool_|[_-]\d+n[_-]\d+d[_-]\d+c.*$|(data)?([_-]\d+)?[_-]uni$|[_-]\d+x\d+$", re.IGNORECASE
)


@dataclass(frozen=True)
class Published:
    """One printed number; ``sd`` is nan where none is printed."""

    paper: str
    table: str
    data: str
    members: int
    method: str
    label: str
    setting: str
    metric: str
    mean: float
    sd: float
    note: str


def published(paper: str | None = None, table: str | None = None, data: str | None = None) -> Table:
    """The printed numbers, all or those of a paper, a table, a data set.

    Parameters
    ----------
    paper : str, optional
        spce, eccms, trce, pce or ceshl.
    table : str, optional
        The table's number as the paper writes it: "IV", "2".
    data : str, optional
        A data set, in any case and under its usual names.

    Examples
    --------
    >>> from coterie_bench._published import published
    >>> table = published("eccms", "IV", "ecoli")
    >>> own = table["label"] == "EC-CMS"
    >>> table["setting"][own].tolist(), table["mean"][own].tolist()
    (['alpha=0.8, lam=0.4', 'best setting'], [0.487, 0.754])
    """
    if paper is not None and paper not in PAPERS:
        raise ParameterError(
            f"paper is {paper!r}, which is not known{nearest(paper, PAPERS)} "
            f"(known: {', '.join(PAPERS)})"
        )
    rows = [
        row
        for row in _rows()
        if (paper is None or row.paper == paper)
        and (table is None or row.table.casefold() == table.casefold())
        and (data is None or data_key(row.data) == data_key(data))
    ]
    return Table(
        {
            part.name: np.array(
                [getattr(row, part.name) for row in rows], dtype=_DTYPES.get(part.name, object)
            )
            for part in fields(Published)
        }
    )


def find_tables(ids: Iterable[str], paper: str = "") -> tuple[tuple[str, str], ...]:
    """Tables by what a spec calls them: "eccms IV", or "IV" where the spec names the paper.

    No ids are all tables of the paper; no ids and no paper are no tables.

    Raises
    ------
    ParameterError
        For a table that there is not.
    """
    known = tuple(dict.fromkeys((row.paper, row.table) for row in _rows()))
    names = {f"{of} {table}": (of, table) for of, table in known}
    by_key = {name.casefold(): pair for name, pair in names.items()}
    found = []
    wanted = list(ids)
    for name in wanted:
        words = [word for word in re.split(r"[\s:/.,]+", name.casefold()) if word != "table"]
        key = " ".join(words if len(words) > 1 else [paper, *words])
        if key not in by_key:
            raise ParameterError(
                f"published names the table {name!r}, of which no values are kept"
                f"{nearest(key, names)} (known: {', '.join(names)})"
            )
        found.append(by_key[key])
    if not wanted:
        found = [pair for pair in known if pair[0] == paper]
    return tuple(dict.fromkeys(found))


def look_up(
    tables: Iterable[tuple[str, str]],
    *,
    data: str,
    metric: str,
    members: int,
    method: str,
    solver: str = "",
    default: Mapping[str, Any] | None = None,
    ablation: bool = False,
) -> tuple[Published, ...]:
    """What the tables print for one of our methods, in their order; the same number once.

    Parameters
    ----------
    tables : pairs of paper and table
    data, metric : str
    members : int
        Size of the ensembles: a number for 20 members says nothing of 10.
    method, solver : str
        The method's name in our table, and the catalogue's. A name that the tables themselves use
        (PTA-CL, SPCE-W) decides; otherwise the catalogue's does.
    default : mapping, optional
        The parameters that the method is run with. Where a paper's method is our method with a
        certain choice (linkage=complete), the choice must be the same.
    ablation : bool
        A part of a method is found by its name alone.
    """
    order = {pair: place for place, pair in enumerate(tables)}
    rows = sorted(
        (row for row in _rows() if (row.paper, row.table) in order),
        key=lambda row: order[row.paper, row.table],
    )
    by_name = ablation or any(_plain(row.label) == _plain(method) for row in rows)
    found: dict[tuple[str, str, float], Published] = {}
    for row in rows:
        if row.metric != metric or row.members != members or data_key(row.data) != data_key(data):
            continue
        if by_name:
            ours = _plain(row.label) == _plain(method)
        else:
            ours = row.method == (solver or method) and _same_choices(row, solver, default or {})
        if ours:
            found.setdefault((row.paper, row.setting, row.mean), row)
    return tuple(found.values())


def data_key(name: str) -> str:
    """A data set's name with nothing left that people write differently."""
    plain = _plain(_AROUND.sub("", name))
    return _ALSO_CALLED.get(plain, plain)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def _same_choices(row: Published, solver: str, default: Mapping[str, Any]) -> bool:
    """Choices among words must agree; numbers are settings of one and the same method."""
    for part in row.setting.split(", "):
        name, equals, value = part.partition("=")
        if not equals or re.fullmatch(r"[\d.e+-]+", value):
            continue
        if str(default.get(name, _default_of(solver, name))) != value:
            return False
    return True


def _default_of(solver: str, parameter: str) -> Any:
    parameters = signature(find_method(solver)).parameters if solver in all_methods() else {}
    return parameters[parameter].default if parameter in parameters else None


_DTYPES: dict[str, Any] = {"members": np.int64, "mean": np.float64, "sd": np.float64}


@cache
def _rows() -> tuple[Published, ...]:
    text = (resources.files("coterie_bench") / "published.csv").read_text(encoding="utf-8")
    return tuple(
        Published(
            paper=row["paper"],
            table=row["table"],
            data=row["data"],
            members=int(row["members"]),
            method=row["method"],
            label=row["label"],
            setting=row["setting"],
            metric=row["metric"],
            mean=float(row["mean"]),
            sd=float(row["sd"] or "nan"),
            note=row["note"],
        )
        for row in csv.DictReader(text.splitlines())
    )
