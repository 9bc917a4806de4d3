"""The scores that the five papers print, to compare with ours.

``published.csv`` has one row per number. ``method`` is the method's name in coterie if there is one,
``label`` its name in the paper, ``members`` the size of the ensembles, and ``setting`` says how its
parameters were chosen:

- parameters (``alpha=0.8, lam=0.4``): the same values in every run;
- ``best setting``: one setting for all runs of a data set, chosen by the reported score;
- ``oracle``: the best setting of each run, chosen by the reported score;
- ``tuned``: chosen in a way that the paper does not describe;
- empty: the paper does not mention it.

Two facts are inferred, because the papers do not state them. First, SPCE, TRCE and CESHL count as
``oracle``: their means on Lung and GLIOMA are higher than the mean of any single setting in the
authors' stored scores (clearly for TRCE and CESHL, by 0.002 for SPCE). Second, EC-CMS uses the
arithmetic NMI: with it, LWEA on the paper's own draws gives the printed values on four data sets, and
two of these exclude the geometric mean. The other four papers are assumed to divide by the larger
entropy, as the stored scores do.

Two tables are not from a paper: ``stored`` has the means that the authors keep with their programs,
and ``program`` has the scores of those programs' labels on the same ensembles as ours.

An empty ``sd`` means that none is printed. Numbers are omitted if their cell in the printed table is
uncertain.
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

# name of each paper in headings
PAPERS = {"spce": "SPCE", "eccms": "EC-CMS", "trce": "TRCE", "pce": "PCE", "ceshl": "CESHL"}
# other names of data sets, in files or papers
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
# prefixes and suffixes that authors add to a name: bc_pool_Ecoli, Tr41_878n_7454d_10c_tfidf_uni,
# Coil20Data_25_uni, ORL_32x32
_AROUND = re.compile(
    r"^bc_pool_|[_-]\d+n[_-]\d+d[_-]\d+c.*$|(data)?([_-]\d+)?[_-]uni$|[_-]\d+x\d+$", re.IGNORECASE
)


@dataclass(frozen=True)
class Published:
    """One printed number; ``sd`` is NaN if none is printed."""

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
    """The printed numbers, optionally of one paper, table or data set only.

    Parameters
    ----------
    paper : str, optional
        spce, eccms, trce, pce or ceshl.
    table : str, optional
        The table's number as the paper writes it: "IV", "2".
    data : str, optional
        Name of a data set; upper and lower case are equal, and usual variants are accepted.

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
            f"paper is {paper!r}, which is unknown{nearest(paper, PAPERS)} "
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
    """Find tables by the ids in a spec: "eccms IV", or "IV" if the spec names the paper.

    Without ids, all tables of the paper are returned; without ids and paper, none.

    Raises
    ------
    ParameterError
        If there is no such table.
    """
    known = tuple(dict.fromkeys((row.paper, row.table) for row in _rows()))
    by_id = {f"{of} {table}": (of, table) for of, table in known}
    by_key = {table_id.casefold(): pair for table_id, pair in by_id.items()}
    tables = []
    given = list(ids)
    for table_id in given:
        words = [word for word in re.split(r"[\s:/.,]+", table_id.casefold()) if word != "table"]
        key = " ".join(words if len(words) > 1 else [paper, *words])
        if key not in by_key:
            raise ParameterError(
                f"published has the table {table_id!r}, for which there are no values"
                f"{nearest(key, by_id)} (known: {', '.join(by_id)})"
            )
        tables.append(by_key[key])
    if not given:
        tables = [pair for pair in known if pair[0] == paper]
    return tuple(dict.fromkeys(tables))


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
    """The printed numbers of one of our methods, in the order of the tables, without duplicates.

    Parameters
    ----------
    tables : pairs of paper and table
    data, metric : str
    members : int
        Size of the ensembles; numbers for ensembles of another size do not count.
    method, solver : str
        The method's name in our table, and in coterie. If the tables use the first name (PTA-CL,
        SPCE-W), it decides, otherwise the second.
    default : mapping, optional
        The parameters of our runs. If the paper's method is our method with a certain choice
        (linkage=complete), our runs must make the same choice.
    ablation : bool
        Whether the method is an ablation, which is found by its name only.
    """
    order = {pair: position for position, pair in enumerate(tables)}
    rows = sorted(
        (row for row in _rows() if (row.paper, row.table) in order),
        key=lambda row: order[row.paper, row.table],
    )
    by_name = ablation or any(_plain(row.label) == _plain(method) for row in rows)
    numbers: dict[tuple[str, str, float], Published] = {}
    for row in rows:
        if row.metric != metric or row.members != members or data_key(row.data) != data_key(data):
            continue
        if by_name:
            ours = _plain(row.label) == _plain(method)
        else:
            ours = row.method == (solver or method) and _same_choices(row, solver, default or {})
        if ours:
            numbers.setdefault((row.paper, row.setting, row.mean), row)
    return tuple(numbers.values())


def data_key(name: str) -> str:
    """A name that is the same for all spellings of a data set."""
    plain = _plain(_AROUND.sub("", name))
    return _ALSO_CALLED.get(plain, plain)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def _same_choices(row: Published, solver: str, default: Mapping[str, Any]) -> bool:
    """Whether text parameters agree. Numbers may differ: they are settings of the same method."""
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
