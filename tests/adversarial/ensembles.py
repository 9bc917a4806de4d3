"""Label matrices of every awkward shape, drawn by hypothesis or by a seeded generator.

Every shape is written once, in terms of :class:`Draws`, so that the thousands of cases of the long
run and the shrinking ones of hypothesis are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from hypothesis import strategies as st

# what a case is expected to end in
LABELS, LABEL_ERROR, PARAMETER_ERROR = "labels", "LabelError", "ParameterError"

WIDEST = 12
MAX_MEMBERS = 6


class Draws(Protocol):
    """Where the choices come from."""

    def whole(self, low: int, high: int) -> int:
        """A whole number in [low, high]."""

    def wholes(self, low: int, high: int, count: int) -> list[int]:
        """Several of them."""


@dataclass(frozen=True)
class FromGenerator:
    """Choices of a seeded generator, for many cases."""

    rng: np.random.Generator

    def whole(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high, endpoint=True))

    def wholes(self, low: int, high: int, count: int) -> list[int]:
        return self.rng.integers(low, high, size=count, endpoint=True).tolist()


@dataclass(frozen=True)
class FromHypothesis:
    """Choices of hypothesis, which shrinks what fails."""

    draw: st.DrawFn

    def whole(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def wholes(self, low: int, high: int, count: int) -> list[int]:
        return self.draw(st.lists(st.integers(low, high), min_size=count, max_size=count))


@dataclass(frozen=True)
class Case:
    """Labels to fit, with what goes along, and what must come of it."""

    shape: str
    labels: Any
    fit: dict[str, Any] = field(default_factory=dict)
    n_clusters: int = 1
    expected: str = LABELS


def coin(draws: Draws) -> bool:
    """True or False."""
    return draws.whole(0, 1) == 1


def one_of(draws: Draws, options: Sequence[Any]) -> Any:
    """One of the options."""
    return options[draws.whole(0, len(options) - 1)]


def matrix(
    draws: Draws,
    *,
    samples: tuple[int, int] = (1, WIDEST),
    members: tuple[int, int] = (1, MAX_MEMBERS),
    clusters: tuple[int, int] = (1, 5),
    missing: bool = False,
) -> np.ndarray:
    """Labels 0 .. k - 1; with ``missing`` also -1, but every row and column labelled somewhere."""
    n, m = draws.whole(*samples), draws.whole(*members)
    k = draws.whole(*clusters)
    low = -1 if missing else 0
    rows = np.array(draws.wholes(low, k - 1, n * m), dtype=np.int64).reshape(n, m)
    rows[(rows < 0).all(axis=1), 0] = 0
    rows[0, (rows < 0).all(axis=0)] = 0
    return rows


# ---------------------------------------------------------------------- the shapes


def one_sample(draws: Draws) -> Any:
    return matrix(draws, samples=(1, 1))


def one_member(draws: Draws) -> Any:
    return matrix(draws, members=(1, 1), samples=(2, WIDEST))


def every_sample_alone(draws: Draws) -> Any:
    n, m = draws.whole(2, WIDEST), draws.whole(1, MAX_MEMBERS)
    return np.column_stack([np.argsort(draws.wholes(0, 99, n), kind="stable") for _ in range(m)])


def alone_in_one_member(draws: Draws) -> Any:
    labels = matrix(draws, samples=(2, WIDEST), members=(2, MAX_MEMBERS))
    labels[:, draws.whole(0, labels.shape[1] - 1)] = np.arange(len(labels))
    return labels


def one_label_a_sample(draws: Draws) -> Any:
    n, m = draws.whole(2, WIDEST), draws.whole(2, MAX_MEMBERS)
    labels = np.full((n + m, m), -1)
    kept = draws.wholes(0, m - 1, n)
    labels[np.arange(n), kept] = draws.wholes(0, 3, n)
    labels[n + np.arange(m), np.arange(m)] = 0
    return labels


def one_label_a_member(draws: Draws) -> Any:
    """A full member, and others that know one sample each."""
    n, m = draws.whole(2, WIDEST), draws.whole(2, MAX_MEMBERS)
    labels = np.full((n, m), -1)
    labels[:, 0] = draws.wholes(0, 3, n)
    labels[draws.wholes(0, n - 1, m - 1), np.arange(1, m)] = 7
    return labels


def many_missing(draws: Draws) -> Any:
    return matrix(draws, missing=True, clusters=(1, 2))


def all_of_uint8(draws: Draws) -> Any:
    n = draws.whole(255, 256)
    first = np.arange(n) if coin(draws) else np.arange(n)[::-1]
    second = np.array(draws.wholes(0, 2, n))
    return np.column_stack([first, second]).astype(np.uint8)


def narrow_types(draws: Draws) -> Any:
    kind = np.iinfo(one_of(draws, [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32]))
    labels = matrix(draws, samples=(2, WIDEST)).astype(kind.dtype)
    labels[labels == 0] = kind.min
    labels[labels == 1] = kind.max
    return labels


def gaps(draws: Draws) -> Any:
    return matrix(draws) * one_of(draws, [2, 1000, 10**6, 10**12])


def negative(draws: Draws) -> Any:
    labels = matrix(draws, samples=(2, WIDEST))
    return -2 - labels * one_of(draws, [1, 7, 10**15])


def unicode_text(draws: Draws) -> Any:
    names = [
        "",
        " ",
        "é",
        "e\u0301",
        "猫",
        "\U0001f408",
        "\u202e",
        "a\nb",
        "<b>&",
        "a" * 300,
        "\ud800",
    ]
    return [[names[code] for code in row] for row in matrix(draws, clusters=(2, 11)).tolist()]


def text_with_zero_bytes(draws: Draws) -> Any:
    names = np.array(["a", "a\0b", "b", "\0a"])
    return names[matrix(draws, clusters=(2, 4))]


def byte_strings(draws: Draws) -> Any:
    return np.array([b"a", b"\xff", b"", b"b\0c"])[matrix(draws, clusters=(2, 4))]


def mixed_types(draws: Draws) -> Any:
    kinds = [0, 1, True, False, "1", "True", 1.0, 2.0, b"1", (1, 2), None, np.int8(3), np.nan]
    labels = matrix(draws, clusters=(2, len(kinds)), members=(2, MAX_MEMBERS)).tolist()
    rows = [[kinds[code] for code in row] for row in labels]
    # no sample and no member without any label
    return [["first", *row[1:]] for row in rows[:-1]] + [["last", *[0] * (len(rows[0]) - 1)]]


def huge_whole_numbers(draws: Draws) -> Any:
    far = [0, 2**63 - 1, -(2**63), 2**53 + 1, 2**53, -(2**62)]
    return np.array(far, dtype=np.int64)[matrix(draws, clusters=(2, len(far)))]


def huge_unsigned(draws: Draws) -> Any:
    far = np.array([0, 2**64 - 1, 2**63, 2**63 - 1, 5], dtype=np.uint64)
    return far[matrix(draws, clusters=(2, len(far)))]


def beyond_64_bits(draws: Draws) -> Any:
    far = [10**30, 10**30 + 1, -(10**40), 0, 2**64]
    return [[far[code] for code in row] for row in matrix(draws, clusters=(2, len(far))).tolist()]


def whole_floats(draws: Draws) -> Any:
    labels = matrix(draws, missing=True).astype(one_of(draws, [np.float16, np.float32, np.float64]))
    labels[labels < 0] = np.nan
    return labels


def truth_values(draws: Draws) -> Any:
    return matrix(draws, clusters=(2, 2)).astype(bool)


def masked(draws: Draws) -> Any:
    labels = matrix(draws, missing=True)
    return np.ma.MaskedArray(np.where(labels < 0, 99, labels), mask=labels < 0)


def fortran_and_strided(draws: Draws) -> Any:
    labels = np.asfortranarray(matrix(draws, missing=True))
    return np.repeat(labels, 2, axis=0)[::-2]


def read_only(draws: Draws) -> Any:
    labels = matrix(draws, missing=True)
    labels.flags.writeable = False
    return labels


def frame_of_categories(draws: Draws) -> Any:
    import pandas as pd

    labels = matrix(draws, missing=True)
    columns = {}
    for j in range(labels.shape[1]):
        codes = pd.Categorical.from_codes(labels[:, j], ["p", "q", "r", "s", "t", "never used"])
        columns[f"m {j}"] = codes
    return pd.DataFrame(columns)


def duplicated_members(draws: Draws) -> Any:
    labels = matrix(draws, members=(1, 3), missing=coin(draws))
    return np.tile(labels, (1, draws.whole(2, 5)))


def contradictory(draws: Draws) -> Any:
    """Members that cross each other: whatever one holds together, the other parts."""
    side = draws.whole(2, 4)
    grid = np.arange(side * side)
    labels = np.column_stack([grid // side, grid % side])
    return np.tile(labels, (1, draws.whole(1, 3)))


def one_cluster_members(draws: Draws) -> Any:
    labels = matrix(draws, members=(2, MAX_MEMBERS), missing=coin(draws))
    labels[:, : draws.whole(1, labels.shape[1])] = 0
    return labels


def far_apart(draws: Draws) -> Any:
    """Groups of samples that share no base cluster and no member."""
    blocks, size = draws.whole(2, 3), draws.whole(1, 4)
    labels = np.full((blocks * size, blocks * 2), -1)
    for block in range(blocks):
        rows = slice(block * size, (block + 1) * size)
        labels[rows, 2 * block : 2 * block + 2] = np.reshape(
            draws.wholes(0, 2, 2 * size), (size, 2)
        )
    return labels


def chain(draws: Draws) -> Any:
    """Every sample meets its neighbours only."""
    n = draws.whole(3, WIDEST)
    steps = np.arange(n)
    return np.column_stack([steps // 2, (steps + 1) // 2])


def heavy_repeats(draws: Draws) -> Any:
    labels = matrix(draws, missing=coin(draws))
    return np.repeat(labels, draws.wholes(1, 40, len(labels)), axis=0)


def plain(draws: Draws) -> Any:
    return matrix(draws, samples=(2, 30), clusters=(2, 6), missing=coin(draws))


def blank_samples(draws: Draws) -> Any:
    labels = matrix(draws, samples=(2, WIDEST), missing=True)
    labels[draws.whole(1, len(labels) - 1)] = -1
    labels[0] = 0
    return labels


SHAPES: tuple[Callable[[Draws], Any], ...] = (
    one_sample,
    one_member,
    every_sample_alone,
    alone_in_one_member,
    one_label_a_sample,
    one_label_a_member,
    many_missing,
    all_of_uint8,
    narrow_types,
    gaps,
    negative,
    unicode_text,
    text_with_zero_bytes,
    byte_strings,
    mixed_types,
    huge_whole_numbers,
    huge_unsigned,
    beyond_64_bits,
    whole_floats,
    truth_values,
    masked,
    fortran_and_strided,
    read_only,
    frame_of_categories,
    duplicated_members,
    contradictory,
    one_cluster_members,
    far_apart,
    chain,
    heavy_repeats,
    plain,
    blank_samples,
)

# what is no label matrix at all
REFUSED: tuple[tuple[str, Any], ...] = (
    ("no rows", np.empty((0, 3), dtype=int)),
    ("no members", np.empty((3, 0), dtype=int)),
    ("an empty list", []),
    ("rows of nothing", [[], []]),
    ("one vector", [0, 1, 1]),
    ("a number", 7),
    ("text", "labels"),
    ("three axes", np.zeros((2, 2, 2), dtype=int)),
    ("ragged", [[0, 1], [0]]),
    ("fractions", [[0.5, 1.0], [1.0, 1.0]]),
    ("infinite", [[np.inf, 1.0], [1.0, 1.0]]),
    ("complex", np.array([[1j, 0], [0, 0]])),
    ("floats past 2^53", [[1e300, 0.0], [0.0, 0.0]]),
    ("a member without labels", [[-1, 0], [-1, 1]]),
    ("lists as labels", [[[1], 0], [[2], 0]]),
    ("a mapping of unequal columns", {"a": [0, 1], "b": [0]}),
    ("no columns", {}),
    ("nothing", None),
)


# ---------------------------------------------------------------------- a case


def n_distinct(labels: Any, fit: dict[str, Any]) -> int:
    """Distinct rows of labels, by coterie's own reading."""
    from coterie import Ensemble

    return Ensemble.from_labels(labels, **fit).without_blank.n_microclusters


def weights(draws: Draws, count: int) -> np.ndarray | None:
    """None, whole numbers, equal ones, or numbers that span twelve powers of ten."""
    kind = draws.whole(0, 5)
    if kind == 1:
        return np.array(draws.wholes(1, 4, count))
    if kind == 2:
        return 10.0 ** np.array(draws.wholes(-6, 6, count))
    if kind == 3:
        return np.full(count, one_of(draws, [1e-9, 1e9, 1 / 3]))
    return None


def awkward_case(draws: Draws, shape: Callable[[Draws], Any] | None = None) -> Case:
    """A case of a shape (any by default): its labels, weights and number of clusters."""
    made = shape or one_of(draws, SHAPES)
    labels = made(draws)
    n = len(labels)
    m = labels.shape[1] if hasattr(labels, "shape") else len(labels[0])
    fit = {
        name: given
        for name, given in (
            ("sample_weight", weights(draws, n)),
            ("member_weight", weights(draws, m)),
        )
        if given is not None
    }
    most = n_distinct(labels, {})
    wanted = one_of(
        draws, [1, min(2, most), most, max(1, most - 1), draws.whole(1, most), most + 1]
    )
    return Case(
        made.__name__,
        labels,
        fit,
        wanted,
        LABELS if wanted <= most else PARAMETER_ERROR,
    )


# a shape with hundreds of distinct rows costs some methods more than all the others together
SELDOM, ONCE_IN = all_of_uint8, 8


def case_number(seed: int, number: int) -> Case:
    """The case of that number; shapes take turns, the large one now and then."""
    draws = FromGenerator(np.random.default_rng([seed, number]))
    turn, place = divmod(number, len(SHAPES))
    shape = SHAPES[place]
    return awkward_case(draws, plain if shape is SELDOM and turn % ONCE_IN else shape)


@st.composite
def awkward_cases(draw: st.DrawFn) -> Case:
    """Cases for hypothesis."""
    return awkward_case(FromHypothesis(draw))
