"""Commands and options of the command line; only the standard library is imported."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from glob import has_magic
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NoReturn

import coterie
from coterie.core.errors import CoterieError

AUTO = (2, 10)
LONGEST_RANGE = 100


class UsageError(CoterieError):
    """The command line is wrong."""


def further_commands() -> dict[str, Any]:
    """Commands of other packages, by name.

    Each is a module named by an entry point of the group ``coterie.commands``. Its
    ``add_arguments(commands, add_jobs)`` adds a parser, and sets the default ``run`` to a function of
    the parsed arguments and the RunLog.
    """
    return {entry.name: entry.load() for entry in entry_points(group="coterie.commands")}


def parse(argv: list[str]) -> argparse.Namespace | None:
    """The command and its options; None if the command line is empty, after printing the help."""
    # the modules of other packages are loaded only where they may be needed
    further = {} if argv and argv[0] in COMMANDS else further_commands()
    parser = _parser(further)
    if not argv:
        parser.print_help()
        return None
    known = (*COMMANDS, *further)
    if not argv[0].startswith("-") and argv[0] not in known:
        from coterie.core.params import nearest

        raise UsageError(
            f"unknown command {argv[0]!r}{nearest(argv[0], known)} (known: {', '.join(known)})"
        )
    arguments, unknown = parser.parse_known_args(argv)
    if unknown:
        # argparse would name the help of the whole program
        raise UsageError(
            f"unrecognized arguments: {' '.join(unknown)} "
            f"(see: {parser.prog} {arguments.command} --help)"
        )
    return arguments


def in_partitions(arguments: argparse.Namespace) -> bool:
    """Whether rows stay in partitions: a directory, a pattern of files or workers are given."""
    if "scheduler" not in arguments:
        return False
    paths: Sequence[Path] = arguments.files if "files" in arguments else [arguments.data]
    return (
        arguments.scheduler is not None
        or arguments.workers is not None
        or arguments.worker_memory is not None
        or any(path.is_dir() or is_pattern(path) for path in paths)
    )


def is_pattern(path: Path) -> bool:
    """Whether a path is a pattern; a path with * that exists is not."""
    return has_magic(str(path)) and not path.exists()


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see: {self.prog} --help)")


def _parser(further: Mapping[str, Any]) -> _Parser:
    parser = _Parser(
        prog="coterie",
        description="Combine many clusterings of the same samples into one.",
        epilog="examples:\n"
        "  coterie demo\n"
        "  coterie cluster data.csv -k auto -o labels.csv\n"
        "  coterie combine a.csv b.csv --id who -k 3 -o out.csv\n"
        "  coterie COMMAND --help\n\n"
        "Reads csv, tsv, parquet, npz, npy and mat;\n"
        "writes csv, tsv and parquet.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"coterie {coterie.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)
    for add in COMMANDS.values():
        add(commands)
    for command in further.values():
        command.add_arguments(commands, _add_jobs)
    return parser


def _add_demo(commands: Any) -> None:
    parser = commands.add_parser(
        "demo",
        allow_abbrev=False,
        help="cluster handwritten digits and compare with the known classes",
        description="Cluster the 1,797 handwritten digits that come with scikit-learn, compare "
        "with the known classes, and write the labels, the result and a report.",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("demo"),
        metavar="DIR",
        help="directory for labels.csv, result.npz and report.html (default: demo)",
    )
    _add_seed(parser)
    _add_jobs(parser)


def _add_cluster(commands: Any) -> None:
    parser = commands.add_parser(
        "cluster",
        allow_abbrev=False,
        help="cluster a table of features",
        description="Cluster the rows of a table many times by k-means and combine the clusterings.",
        epilog="The output has one row per sample: its id (or its row number, from 0), its label, and "
        "its confidence from 0 to 1.",
    )
    parser.add_argument(
        "data",
        type=Path,
        metavar="DATA",
        help="file with one column per feature; or a directory or a quoted pattern of parquet files, "
        "which are read in partitions",
    )
    _add_solver(parser)
    _add_members(parser)
    parser.add_argument(
        "--member-clusters",
        type=_cluster_range,
        metavar="LOW-HIGH",
        help="range of the number of clusters per clustering, such as 5-30 (default: from K to the "
        "larger of 2 K and the square root of the number of rows); smaller numbers make combining "
        "faster",
    )
    parser.add_argument("--id", metavar="COL", help="column of sample ids")
    _add_columns(parser)
    _add_truth(parser)
    _add_jobs(parser)
    _add_workers(parser)


def _add_combine(commands: Any) -> None:
    parser = commands.add_parser(
        "combine",
        allow_abbrev=False,
        help="combine clusterings that you already have",
        description="Combine clusterings of the same samples: the columns of one file, of several "
        "files with the same rows, or of files with different samples, joined by --id.",
        epilog="Empty cells, NA, NaN, null, None and the number -1 are missing labels. The output "
        "has one row per sample: its id (or its row number, from 0), its label, and its confidence "
        "from 0 to 1.",
    )
    parser.add_argument(
        "files",
        type=Path,
        nargs="+",
        metavar="LABELS",
        help="file with one column per clustering; or a directory or a quoted pattern of parquet files "
        "with the same columns, which are read in partitions",
    )
    _add_solver(parser)
    parser.add_argument("--id", metavar="COL", help="column of sample ids, in every file")
    parser.add_argument(
        "--label",
        nargs="+",
        action="extend",
        metavar="COL",
        help="columns of labels (default: all but the id)",
    )
    _add_truth(parser)
    _add_workers(parser)


def _add_select(commands: Any) -> None:
    parser = commands.add_parser(
        "select",
        allow_abbrev=False,
        help="recommend a number of clusters",
        description="Try several numbers of clusters, compare them by several criteria and with data "
        "without structure, and recommend one, or say that there is no structure.",
    )
    parser.add_argument(
        "files",
        type=Path,
        nargs="+",
        metavar="DATA",
        help="file with one column per feature; with --labels, files with one column per clustering; or "
        "a directory or a quoted pattern of parquet files, which are read in partitions",
    )
    parser.add_argument("--labels", action="store_true", help="the files hold labels, not features")
    parser.add_argument(
        "-k",
        "--clusters",
        type=_cluster_range,
        default=AUTO,
        metavar="LOW-HIGH",
        help=f"numbers to try (default: {AUTO[0]}-{AUTO[1]})",
    )
    parser.add_argument("--id", metavar="COL", help="column of sample ids")
    _add_columns(parser)
    _add_members(parser)
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="write the table of criteria: .csv, .tsv or .parquet",
    )
    _add_seed(parser)
    _add_jobs(parser)
    _add_json(parser)
    _add_workers(parser)


def _add_report(commands: Any) -> None:
    parser = commands.add_parser(
        "report",
        allow_abbrev=False,
        help="write the report of a saved result",
        description="Write the report of a saved result: one HTML page that works offline.",
    )
    parser.add_argument("result", type=Path, metavar="RESULT", help="file written by --save")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="file to write (default: RESULT with the extension .html)",
    )
    parser.add_argument("--title", metavar="TEXT", help="title of the page")
    _add_json(parser)


def _add_explain(commands: Any) -> None:
    parser = commands.add_parser(
        "explain",
        allow_abbrev=False,
        help="explain why samples are in their clusters",
        description="Show how each member labels a sample, and how confident its assignment is.",
    )
    parser.add_argument("result", type=Path, metavar="RESULT", help="file written by --save")
    parser.add_argument(
        "samples", nargs="+", metavar="ID", help="id of a sample, or its row number from 0"
    )
    parser.add_argument(
        "--labels",
        type=Path,
        metavar="DIR",
        help="only for rows in partitions: the directory of labels (-o) written with the result, in "
        "which ids are looked up",
    )
    _add_json(parser)


def _add_methods(commands: Any) -> None:
    parser = commands.add_parser(
        "methods",
        allow_abbrev=False,
        help="list the methods with their parameters",
        description="List the methods, each with its parameters for --set (default, meaning, allowed "
        "values), its cost (N distinct label rows, m members) and its paper.",
    )
    parser.add_argument("names", nargs="*", metavar="METHOD", help="only these (default: all)")
    parser.add_argument("--brief", action="store_true", help="print only the table of capabilities")


def _add_warmup(commands: Any) -> None:
    parser = commands.add_parser(
        "warmup",
        allow_abbrev=False,
        help="compile the methods, so that later runs start faster",
        description="Compile the code of every method and keep it on disk. Without it, the first use "
        "of a method on a machine takes a few seconds more.",
    )
    parser.add_argument("names", nargs="*", metavar="METHOD", help="only these (default: all)")


def _add_solver(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-k",
        "--clusters",
        type=_clusters,
        metavar="K",
        help="number of clusters; auto or a range such as 2-15 chooses it; without -k, eac chooses it",
    )
    parser.add_argument(
        "--method",
        metavar="NAME",
        help="how to combine, see: coterie methods (default: lwea; lwgp above 12,000 distinct label "
        "rows; eac without -k)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="settings",
        metavar="NAME=VALUE",
        help="set a parameter of the method; may be repeated",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="write labels: .csv, .tsv or .parquet; a directory for rows in partitions",
    )
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="write a report for the browser: .html"
    )
    parser.add_argument(
        "--save",
        type=Path,
        metavar="FILE",
        help="write the whole result: .npz (for: report, explain)",
    )
    _add_json(parser)
    _add_seed(parser)


def _add_members(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--members",
        type=_whole(1),
        default=20,
        metavar="M",
        help="number of clusterings to generate (default: 20)",
    )


def _add_columns(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--columns",
        nargs="+",
        action="extend",
        metavar="COL",
        help="columns to cluster by (default: all)",
    )
    parser.add_argument(
        "--drop",
        nargs="+",
        action="extend",
        default=[],
        metavar="COL",
        help="columns to leave out",
    )


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")


def _add_seed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seed", type=_whole(0), default=0, metavar="N", help="random seed (default: 0)"
    )


def _add_jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs", type=_jobs, metavar="N", help="number of parallel jobs; -1: one per core"
    )


def _add_workers(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "rows in partitions", 'for directories and patterns of parquet files; needs "coterie[dask]"'
    )
    group.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="use this running Dask cluster, such as tcp://host:8786",
    )
    group.add_argument(
        "--workers",
        type=_whole(0),
        metavar="N",
        help="worker processes on this machine (default: one per core; 0: threads of this process)",
    )
    group.add_argument(
        "--worker-memory",
        metavar="SIZE",
        help="memory per worker, such as 3GB (default: the free memory, divided evenly)",
    )


def _add_truth(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--truth", metavar="COL", help="column of known classes to compare with")


def _whole(low: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = low - 1
        if number < low:
            raise argparse.ArgumentTypeError(
                f"must be a whole number of at least {low}, but is {text!r}"
            )
        return number

    return read


def _cluster_range(text: str) -> tuple[int, int]:
    low, dash, high = text.partition("-")
    digits = dash and low.isdecimal() and high.isdecimal()
    # int() accepts only a few thousand digits
    if not (digits and len(text) < LONGEST_RANGE and 1 <= int(low) <= int(high)):
        raise argparse.ArgumentTypeError(
            f"must be a range such as {AUTO[0]}-{AUTO[1]}, but is {text!r}"
        )
    return int(low), int(high)


def _clusters(text: str) -> int | tuple[int, int]:
    """A number of clusters, or the range to choose it from."""
    if text == "auto":
        return AUTO
    if "-" in text[1:]:
        return _cluster_range(text)
    try:
        return _whole(1)(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}; auto chooses it") from None


def _jobs(text: str) -> int:
    if text.strip() == "-1":
        return -1
    try:
        return _whole(1)(text)
    except argparse.ArgumentTypeError as error:
        raise argparse.ArgumentTypeError(f"{error}; -1 takes all cores") from None


COMMANDS = {
    "demo": _add_demo,
    "cluster": _add_cluster,
    "combine": _add_combine,
    "select": _add_select,
    "report": _add_report,
    "explain": _add_explain,
    "methods": _add_methods,
    "warmup": _add_warmup,
}
