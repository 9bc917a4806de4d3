"""Commands and options of the command line; only the standard library is imported."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from glob import has_magic
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, NoReturn

import coterie
from coterie.cli.values import (
    cluster_range,
    clusters,
    clusters_to_try,
    jobs,
    prototypes,
    rows_to_keep,
    share,
    whole_number,
)
from coterie.core.errors import CoterieError

# settings that several options share
COLUMN_NAMES = {"nargs": "+", "action": "extend", "metavar": "COL"}
FILE = {"type": Path, "metavar": "FILE"}
FILES = {"type": Path, "nargs": "+"}
PARTITIONS = "a directory or a quoted pattern of parquet files"
OUTPUT_ROWS = (
    "The output has one row per sample: its id (or its row number, from 0), its label, and its "
    "confidence from 0 to 1."
)


class UsageError(CoterieError):
    """The command line is wrong."""


def further_commands() -> dict[str, Any]:
    """Commands from other packages, by name.

    Each is a module named by an entry point of the group ``coterie.commands``. Its function
    ``add_arguments(commands, add_jobs)`` adds a parser, and sets the default ``run`` to a function of
    the parsed arguments and the RunLog.
    """
    return {entry.name: entry.load() for entry in entry_points(group="coterie.commands")}


def parse(argv: list[str]) -> argparse.Namespace | None:
    """The command and its options; None if the command line is empty, after printing the help."""
    # modules from other packages are loaded only if they may be needed
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
        # argparse would refer to the help of the whole program
        raise UsageError(
            f"unrecognized arguments: {' '.join(unknown)} "
            f"(see: {parser.prog} {arguments.command} --help)"
        )
    return arguments


def in_partitions(arguments: argparse.Namespace) -> bool:
    """Whether rows stay in partitions: for a directory, a pattern of files, or options for workers."""
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
    for name, command in COMMANDS.items():
        command.add(name, commands)
    for module in further.values():
        module.add_arguments(commands, _add_jobs)
    return parser


def _add_jobs(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--jobs", **OPTIONS["--jobs"])


@dataclass(frozen=True)
class _Command:
    """A command of the command line.

    Attributes
    ----------
    home : str
        The module of ``coterie.cli`` that has a function with the name of the command.
    help, description, epilog : str
    options : tuple of str
        Its arguments, in the order of the help; short and long names are separated by a space.
    own : mapping of option to settings
        Settings of the options that are not in ``OPTIONS``, or differ from it.
    in_partitions : bool
        Whether the command can leave rows in partitions. The function of the same name in the module
        ``partitions`` then runs it.
    """

    home: str
    help: str
    description: str
    options: tuple[str, ...]
    own: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    epilog: str = ""
    in_partitions: bool = False

    def add(self, name: str, commands: Any) -> None:
        """Add the parser of the command."""
        parser = commands.add_parser(
            name,
            allow_abbrev=False,
            help=self.help,
            description=self.description,
            epilog=self.epilog,
        )
        for option in self.options:
            settings = self.own[option] if option in self.own else OPTIONS[option]
            parser.add_argument(*option.split(), **settings)
        if self.in_partitions:
            group = parser.add_argument_group(
                "rows in partitions",
                'for directories and patterns of parquet files; needs "coterie[dask]"',
            )
            for option, settings in WORKERS.items():
                group.add_argument(option, **settings)


# ---------------------------------------------------------------------- the options and the commands

OPTIONS: dict[str, dict[str, Any]] = {
    "result": {"type": Path, "metavar": "RESULT", "help": "file written by --save"},
    "names": {"nargs": "*", "metavar": "METHOD", "help": "only these methods (default: all)"},
    "-k --clusters": {
        "type": clusters,
        "metavar": "K",
        "help": "number of clusters; auto (the default) or a range such as 2-15 chooses it; "
        "a method that chooses it itself, such as --method eac, needs no -k",
    },
    "--method": {
        "metavar": "NAME",
        "help": "how to combine, see: coterie methods (default: lwea; lwgp above 12,000 distinct label "
        "rows)",
    },
    "--set": {
        "action": "append",
        "default": [],
        "dest": "settings",
        "metavar": "NAME=VALUE",
        "help": "set a parameter of the method; may be repeated",
    },
    "--approximate": {
        "type": rows_to_keep,
        "metavar": "N",
        "help": "group similar label rows, to at most N distinct ones, and combine these; auto: only if "
        "the method needs more memory than there is",
    },
    "-o --output": FILE
    | {"help": "write labels: .csv, .tsv or .parquet; a directory for rows in partitions"},
    "--report": FILE | {"help": "write a report for the browser: .html"},
    "--save": FILE | {"help": "write the whole result: .npz (for: report, explain, profile)"},
    "--json": {"action": "store_true", "help": "print the summary as JSON"},
    "--seed": {
        "type": whole_number(0),
        "default": 0,
        "metavar": "N",
        "help": "random seed (default: 0)",
    },
    "--members": {
        "type": whole_number(1),
        "default": 60,
        "metavar": "M",
        "help": "number of clusterings to generate (default: 60)",
    },
    "--scale": {
        "choices": ("auto", "standard", "robust", "none"),
        "default": "auto",
        "help": "how to make columns of numbers comparable (default: auto, which standardises "
        "unless at least half of the columns share one range)",
    },
    "--categories": COLUMN_NAMES | {"default": [], "help": "columns to treat as categories"},
    "--impute": {
        "choices": ("donors", "median"),
        "default": "donors",
        "help": "how to fill missing numbers: donors (default) takes the value of one of five similar "
        "rows, drawn anew for each clustering; median takes the median of the column",
    },
    "--id": {"metavar": "COL", "help": "column of sample ids"},
    "--transpose": {
        "action": "store_true",
        "help": "samples are columns, not rows; --id names the column with the names of the rows",
    },
    "--columns": COLUMN_NAMES | {"help": "columns to cluster by (default: all useful ones)"},
    "--drop": COLUMN_NAMES | {"default": [], "help": "columns to leave out"},
    "--truth": {"metavar": "COL", "help": "column of known classes to compare with"},
    "--groups": {
        "nargs": "+",
        "action": "extend",
        "metavar": "NAME",
        "help": "if groups of clusterings saw different kinds of data, the beginnings of their names, such "
        "as rna protein; used to choose the number of clusters. The name of a clustering is its column, or "
        "FILE.COLUMN for several files",
    },
    "--jobs": {
        "type": jobs,
        "metavar": "N",
        "help": "number of parallel jobs; -1: one per core",
    },
}
SOLVER = (
    *("-k --clusters", "--method", "--set"),
    *("-o --output", "--report", "--save", "--json", "--seed"),
)
WORKERS: dict[str, dict[str, Any]] = {
    "--scheduler": {
        "metavar": "ADDRESS",
        "help": "use this running Dask cluster, such as tcp://host:8786",
    },
    "--workers": {
        "type": whole_number(0),
        "metavar": "N",
        "help": "worker processes on this machine (default: one per core; 0: threads of this process)",
    },
    "--worker-memory": {
        "metavar": "SIZE",
        "help": "memory per worker, such as 3GB (default: the free memory, divided evenly)",
    },
}
COMMANDS = {
    "demo": _Command(
        "_clustering",
        "cluster handwritten digits and compare with the known classes",
        "Cluster the 1,797 handwritten digits that come with scikit-learn, compare with the known "
        "classes, and write the labels, the result and a report.",
        ("--out", "--seed", "--jobs"),
        {
            "--out": {
                "type": Path,
                "default": Path("demo"),
                "metavar": "DIR",
                "help": "directory for labels.csv, result.npz and report.html (default: demo)",
            }
        },
    ),
    "cluster": _Command(
        "_clustering",
        "cluster a table of features",
        "Cluster the rows of a table many times and combine the clusterings.",
        (
            *("data", *SOLVER, "--members", "--generator", "--share", "--member-clusters"),
            *("--prototypes", "--min-cluster-size", "--outliers", "--id", "--columns", "--drop"),
            *("--scale", "--categories"),
            *("--impute", "--truth", "--transpose", "--jobs"),
        ),
        {
            "data": {
                "type": Path,
                "metavar": "DATA",
                "help": f"file with one column per feature; or {PARTITIONS}, which are read in "
                "partitions",
            },
            "--member-clusters": {
                "type": cluster_range,
                "metavar": "LOW-HIGH",
                "help": "range of the number of clusters per clustering, such as 5-30 (default: K, or "
                "many small clusters if these show a border that K clusters cut across)",
            },
            "--generator": {
                "choices": ("auto", "kmeans", "subsample", "features", "spectral"),
                "default": "auto",
                "metavar": "NAME",
                "help": "how to make clusterings: auto (default: k-means and Gaussian mixtures), "
                "kmeans, subsample (k-means on random "
                "subsets of the rows), features (k-means on random subsets of the columns) or spectral",
            },
            "--share": {
                "type": share,
                "metavar": "PART",
                "help": "part of the rows (subsample, default 0.8) or columns (features, default 0.5) "
                "that each clustering sees",
            },
            "--prototypes": {
                "type": prototypes,
                "default": "auto",
                "metavar": "P",
                "help": "number of random rows that stand for all rows; none uses all rows (default: "
                "auto, which uses all rows up to 50,000, or 12,000 with a method that compares all pairs)",
            },
            "--min-cluster-size": {
                "type": whole_number(1),
                "metavar": "N",
                "help": "set samples in smaller clusters aside as outliers while the clusterings are "
                "made (default: 1 %% of the rows, at least 2)",
            },
            "--outliers": {
                "choices": ("assign", "noise"),
                "default": "assign",
                "metavar": "HOW",
                "help": "put samples set aside into the cluster that fits best (assign, default), or "
                "label them -1 (noise)",
            },
        },
        epilog=OUTPUT_ROWS,
        in_partitions=True,
    ),
    "combine": _Command(
        "_clustering",
        "combine clusterings that you already have",
        "Combine clusterings of the same samples: the columns of one file, of several files with the "
        "same rows, or of files with different samples, joined by a column of ids.",
        (
            *("files", *SOLVER, "--approximate", "--groups", "--id", "--label", "--truth"),
            "--transpose",
        ),
        {
            "files": FILES
            | {
                "metavar": "LABELS",
                "help": f"file with one column per clustering; or {PARTITIONS} with the same columns, "
                "which are read in partitions",
            },
            "--method": {
                "metavar": "NAME",
                "help": "how to combine, see: coterie methods (default: lwea; lwgp above 12,000 "
                "distinct label rows; pce if labels are missing; voting if few samples link the "
                "files)",
            },
            "--id": {
                "metavar": "COL",
                "help": "column of sample ids, in every file (default: one that all files have)",
            },
            "--label": COLUMN_NAMES | {"help": "columns of labels (default: all but the id)"},
        },
        epilog="Empty cells, NA, NaN, null, None and the number -1 are missing labels. "
        + OUTPUT_ROWS,
        in_partitions=True,
    ),
    "select": _Command(
        "_questions",
        "recommend a number of clusters",
        "Recommend the number of clusters that the data support, or say that there is no structure. "
        "A table shows several criteria for each number.",
        (
            *("files", "--labels", "--groups", "-k --clusters", "--id", "--columns", "--drop"),
            "--scale",
            *("--categories", "--impute", "--members", "--transpose"),
            *("-o --output", "--seed", "--jobs", "--json"),
        ),
        {
            "files": FILES
            | {
                "metavar": "DATA",
                "help": "file with one column per feature; with --labels, files with one column per "
                f"clustering; or {PARTITIONS}, which are read in partitions",
            },
            "--labels": {"action": "store_true", "help": "the files hold labels, not features"},
            "-k --clusters": {
                "type": clusters_to_try,
                "default": "auto",
                "metavar": "LOW-HIGH",
                "help": "numbers to try (default: auto, which is 2-10, and up to 30 if the data "
                "support more)",
            },
            "-o --output": FILE | {"help": "write the table of criteria: .csv, .tsv or .parquet"},
        },
        in_partitions=True,
    ),
    "report": _Command(
        "_questions",
        "write the report of a saved result",
        "Write the report of a saved result: one HTML page that works offline.",
        ("result", "-o --output", "--title", "--json"),
        {
            "-o --output": FILE
            | {"help": "file to write (default: RESULT with the extension .html)"},
            "--title": {"metavar": "TEXT", "help": "title of the page"},
        },
    ),
    "explain": _Command(
        "_questions",
        "explain why samples are in their clusters",
        "Show how each member labels a sample, and how confident its assignment is.",
        ("result", "samples", "--labels", "--json"),
        {
            "samples": {
                "nargs": "+",
                "metavar": "ID",
                "help": "id of a sample, or its row number from 0",
            },
            "--labels": {
                "type": Path,
                "metavar": "DIR",
                "help": "only for rows in partitions: the directory of labels (-o) written with the "
                "result, in which ids are looked up",
            },
        },
    ),
    "profile": _Command(
        "_profiles",
        "say what the clusters of a saved result are",
        "Describe each cluster of a saved result by the columns of a table: a sentence, a rule, and how "
        "each column differs from the rest.",
        (
            *("result", "table", "--id", "--external", "--categories", "--drop", "--between"),
            *("--confidence", "-o --output", "--seed", "--json"),
        ),
        {
            "table": {
                "type": Path,
                "metavar": "TABLE",
                "help": "file with one row per sample; also columns that were not clustered by",
            },
            "--id": {
                "metavar": "COL",
                "help": "column of sample ids (default: one that holds the ids of all samples)",
            },
            "--external": COLUMN_NAMES
            | {
                "default": [],
                "help": "columns that the clusters were not made from (default: those that were not "
                "used by: coterie cluster)",
            },
            "--between": {
                "nargs": 2,
                "metavar": ("A", "B"),
                "help": "compare two clusters with each other",
            },
            "--confidence": {
                "action": "store_true",
                "help": "let samples count by their confidence",
            },
            "-o --output": FILE
            | {"help": "write a row per cluster and column: .csv, .tsv or .parquet"},
        },
    ),
    "methods": _Command(
        "_methods",
        "list the methods with their parameters",
        "List the methods, each with its parameters for --set (default, meaning, allowed values), its "
        "cost (N distinct label rows, m members) and its paper.",
        ("names", "--brief"),
        {"--brief": {"action": "store_true", "help": "print only the table of capabilities"}},
    ),
    "warmup": _Command(
        "_methods",
        "compile the methods, so that later runs start faster",
        "Compile the code of every method and keep it on disk. Without it, the first use of a method "
        "on a machine takes a few seconds more.",
        ("names",),
    ),
}
