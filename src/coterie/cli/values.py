"""The values that options take, read from text."""

from __future__ import annotations

import argparse
from collections.abc import Callable

LONGEST_RANGE = 100


def whole_number(low: int, hint: str = "") -> Callable[[str], int]:
    """A reader of whole numbers of at least ``low``; its error ends with the hint."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = low - 1
        if number < low:
            raise argparse.ArgumentTypeError(
                f"must be a whole number of at least {low}, but is {text!r}{hint}"
            )
        return number

    return read


def cluster_range(text: str) -> tuple[int, int]:
    """A range of numbers of clusters, such as 2-10."""
    low, dash, high = text.partition("-")
    digits = dash and low.isdecimal() and high.isdecimal()
    # int() accepts only a few thousand digits
    if not (digits and len(text) < LONGEST_RANGE and 1 <= int(low) <= int(high)):
        raise argparse.ArgumentTypeError(f"must be a range such as 2-10, but is {text!r}")
    return int(low), int(high)


def clusters_to_try(text: str) -> str | tuple[int, int]:
    """The range to choose the number of clusters from."""
    return text if text == "auto" else cluster_range(text)


def clusters(text: str) -> int | str | tuple[int, int]:
    """A number of clusters, or the range to choose it from."""
    if text == "auto":
        return text
    return cluster_range(text) if "-" in text[1:] else whole_number(1, "; auto chooses it")(text)


def rows_to_keep(text: str) -> int | str:
    """A number of label rows, or auto."""
    return (
        text if text == "auto" else whole_number(1, "; auto groups them if memory is short")(text)
    )


def prototypes(text: str) -> int | str | None:
    """A number of prototypes, auto, or none."""
    if text in ("auto", "none"):
        return text if text == "auto" else None
    return whole_number(2, "; or auto, or none")(text)


def share(text: str) -> float:
    """A part of the rows or columns: above 0, at most 1."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"must be a number above 0 and at most 1, but is {text!r}")
    return value


def jobs(text: str) -> int:
    """A number of parallel jobs; -1 is one per core."""
    return -1 if text.strip() == "-1" else whole_number(1, "; -1 takes all cores")(text)
