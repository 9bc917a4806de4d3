"""What may stand on the command line."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from glob import has_magic
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NoReturn

import coterie
from coterie.core.errors import CoterieError

COMMANDS = (
    "demo",
    "cluster",
    "combine",
    "select",
    "report",
    "explain",
    "methods",
    "warmup",
)
AUTO = (2, 10)
LONGEST_RANGE = 100


class UsageError(CoterieError):
    """A command line that cannot be carried out."""


def further_commands() -> dict[str, Any]:
    """Commands of other packages, by name.

    Each is a module with ``add_arguments(commands, add_jobs)`` and ``run(arguments, journal)``, named
    by an entry point of the group ``coterie.commands``.
    """
    return {entry.name: entry.load() for entry in entry_points(group="coterie.commands")}


def parse(argv: list[str]) -> argparse.Namespace | None:
    """The command and its options; None where there is none and help has been shown."""
    further = further_commands()
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
        # argparse would refuse them in the name of the whole program
        raise UsageError(
            f"unrecognized arguments: {' '.join(unknown)} "
            f"(see: {parser.prog} {arguments.command} --help)"
        )
    return arguments


def in_partitions(arguments: argparse.Namespace, paths: Sequence[Path]) -> bool:
    """Whether a directory or a pattern of files is given, or workers are asked for."""
    return (
        arguments.scheduler is not None
        or arguments.workers is not None
        or arguments.worker_memory is not None
        or any(path.is_dir() or is_pattern(path) for path in paths)
    )


def is_pattern(path: Path) -> bool:
    """Whether a name stands for those that it matches; a file that is called so is itself."""
    return has_magic(str(path)) and not path.exists()


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see: {self.prog} --help)")


def _parser(further: Mapping[str, Any]) -> _Parser:
    parser = _Parser(
        prog="coterie",
        description="Many weak clusterings in, the one they support out.",
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
    _add_demo(commands)
    _add_cluster(commands)
    _add_combine(commands)
    _add_select(commands)
    _add_report(commands)
    _add_explain(commands)
    _add_methods(commands)
    _add_warmup(commands)
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
        description="Cluster the rows of a table many times by k-means and combine the results.",
        epilog="The output has a row per sample: its id (or its row, counted from 0), its label, "
        "and a confidence from 0 to 1.",
    )
    parser.add_argument(
        "data",
        type=Path,
        metavar="DATA",
        help="file with a column per feature; or a directory or a quoted pattern of parquet files, "
        "whose rows then stay in partitions",
    )
    _add_solver(parser)
    _add_members(parser)
    parser.add_argument(
        "--member-clusters",
        type=_cluster_range,
        metavar="LOW-HIGH",
        help="clusters of each clustering, such as 5-30 (default: between K and the larger of 2 K and "
        "the square root of the rows); fewer leave fewer distinct rows, which is what methods pay for",
    )
    parser.add_argument("--id", metavar="COL", help="column that names the samples")
    _add_columns(parser)
    _add_truth(parser)
    _add_jobs(parser)
    _add_workers(parser)


def _add_combine(commands: Any) -> None:
    parser = commands.add_parser(
        "combine",
        allow_abbrev=False,
        help="combine clusterings that you have",
        description="Combine clusterings of the same samples: the columns of one file, of several "
        "files with the same rows, or of files that know different samples, joined by --id.",
        epilog="Empty cells, NA, NaN, null, None and the number -1 are missing labels. The output "
        "has a row per sample: its id (or its row, counted from 0), its label, and a confidence "
        "from 0 to 1.",
    )
    parser.add_argument(
        "files",
        type=Path,
        nargs="+",
        metavar="LABELS",
        help="file with a column per clustering; or a directory or a quoted pattern of parquet files "
        "with the same columns, whose rows then stay in partitions",
    )
    _add_solver(parser)
    parser.add_argument("--id", metavar="COL", help="column that names the samples, in every file")
    parser.add_argument(
        "--label",
        nargs="+",
        action="extend",
        metavar="COL",
        help="columns with labels (default: all but the id)",
    )
    _add_truth(parser)
    _add_workers(parser)


def _add_select(commands: Any) -> None:
    parser = commands.add_parser(
        "select",
        allow_abbrev=False,
        help="say how many clusters there are, if any",
        description="Try several numbers of clusters, compare them by several criteria and with "
        "data without structure, and recommend one.",
    )
    parser.add_argument(
        "files",
        type=Path,
        nargs="+",
        metavar="DATA",
        help="file with a column per feature, or with --labels files with a column per clustering; or "
        "a directory or a quoted pattern of parquet files, whose rows then stay in partitions",
    )
    parser.add_argument("--labels", action="store_true", help="the files hold labels")
    parser.add_argument(
        "-k",
        "--clusters",
        type=_cluster_range,
        default=AUTO,
        metavar="LOW-HIGH",
        help=f"numbers to try (default: {AUTO[0]}-{AUTO[1]})",
    )
    parser.add_argument("--id", metavar="COL", help="column that names the samples")
    _add_columns(parser)
    _add_members(parser)
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="write the table: .csv, .tsv or .parquet"
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
        description="Write one HTML page that needs no network, from a result that --save wrote.",
    )
    parser.add_argument("result", type=Path, metavar="RESULT", help="file that --save wrote")
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="name of the page (default: RESULT with .html)",
    )
    parser.add_argument("--title", metavar="TEXT", help="title of the page")
    _add_json(parser)


def _add_explain(commands: Any) -> None:
    parser = commands.add_parser(
        "explain",
        allow_abbrev=False,
        help="say why samples are where they are",
        description="Say which members put a sample where, and how sure its cluster is.",
    )
    parser.add_argument("result", type=Path, metavar="RESULT", help="file that --save wrote")
    parser.add_argument(
        "samples", nargs="+", metavar="ID", help="id of a sample, or its row counted from 0"
    )
    parser.add_argument(
        "--labels",
        type=Path,
        metavar="DIR",
        help="of a result of rows in partitions: the labels written with it (-o), to look the ids up",
    )
    _add_json(parser)


def _add_methods(commands: Any) -> None:
    parser = commands.add_parser(
        "methods",
        allow_abbrev=False,
        help="list the methods with their parameters",
        description="List the methods: parameters for --set, each with its default, what it does "
        "and what it takes; cost (N distinct label rows, m members); and paper.",
    )
    parser.add_argument("names", nargs="*", metavar="METHOD", help="only these (default: all)")
    parser.add_argument("--brief", action="store_true", help="only the table of capabilities")


def _add_warmup(commands: Any) -> None:
    parser = commands.add_parser(
        "warmup",
        allow_abbrev=False,
        help="compile everything once, so that later runs start at once",
        description="Compile the kernels of every method and keep them on disk. Without it, the "
        "first use of a method on a machine takes some seconds more.",
    )
    parser.add_argument("names", nargs="*", metavar="METHOD", help="only these (default: all)")


def _add_solver(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-k",
        "--clusters",
        type=_clusters,
        metavar="K",
        help="number of clusters; auto or a range such as 2-15 chooses it; left out, eac finds it",
    )
    parser.add_argument(
        "--method",
        metavar="NAME",
        help="see: coterie methods (default: lwea; lwgp from 12,000 distinct rows on; eac without -k)",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="settings",
        metavar="NAME=VALUE",
        help="a parameter of the method; may be given again",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="write labels: .csv, .tsv or .parquet; a directory where rows stay in partitions",
    )
    parser.add_argument(
        "--report", type=Path, metavar="FILE", help="write one page for a browser: .html"
    )
    parser.add_argument(
        "--save", type=Path, metavar="FILE", help="write all of the result: .npz (see: explain)"
    )
    _add_json(parser)
    _add_seed(parser)


def _add_members(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--members",
        type=_whole(1),
        default=20,
        metavar="M",
        help="clusterings to make (default: 20)",
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
    parser.add_argument(
        "--json", action="store_true", help="the summary as JSON, for other programs"
    )


def _add_seed(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--seed", type=_whole(0), default=0, metavar="N", help="random seed (default: 0)"
    )


def _add_jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--jobs", type=_jobs, metavar="N", help="clusterings made at a time; -1: all cores"
    )


def _add_workers(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "rows in partitions", 'directories and patterns of parquet files, with "coterie[dask]"'
    )
    group.add_argument(
        "--scheduler", metavar="ADDRESS", help="a Dask cluster that runs, such as tcp://host:8786"
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
        help="of each worker, such as 3GB (default: what is free, divided among them)",
    )


def _add_truth(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--truth", metavar="COL", help="column of known classes, to compare with")


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
    # int() takes no more than some thousand digits
    if not (digits and len(text) < LONGEST_RANGE and 1 <= int(low) <= int(high)):
        raise argparse.ArgumentTypeError(
            f"must be a range such as {AUTO[0]}-{AUTO[1]}, but is {text!r}"
        )
    return int(low), int(high)


def _clusters(text: str) -> int | tuple[int, int]:
    """A number of clusters, or the range to choose one from."""
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
