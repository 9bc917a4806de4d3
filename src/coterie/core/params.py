"""Declared parameter domains, and the error that names parameter, value and domain."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import ParameterError

# texts less alike than this are no misspelling of each other
ALIKE = 0.6
# letters from which on a word may be meant that begins with them
SHORTENED = 3
# whole numbers beyond this are no count of anything, and compiled loops cannot hold them
MOST = 2**63 - 1


@dataclass(frozen=True)
class Real:
    """A finite real number in an interval; ``optional`` admits None."""

    low: float = -np.inf
    high: float = np.inf
    closed_low: bool = True
    closed_high: bool = True
    optional: bool = False

    def admits(self, value: object) -> bool:
        """Whether the value lies in the domain."""
        if value is None:
            return self.optional
        number = as_float(value)
        if number is None:
            return False
        above = number >= self.low if self.closed_low else number > self.low
        below = number <= self.high if self.closed_high else number < self.high
        return above and below and math.isfinite(number)

    def describe(self) -> str:
        """The domain in words."""
        left = "[" if self.closed_low and np.isfinite(self.low) else "("
        right = "]" if self.closed_high and np.isfinite(self.high) else ")"
        tail = " or None" if self.optional else ""
        return f"a number in {left}{_bound(self.low)}, {_bound(self.high)}{right}{tail}"

    def parse(self, text: str) -> float | None:
        """The value that a command line's text stands for."""
        return None if self.optional and text.lower() == "none" else float(text)


@dataclass(frozen=True)
class Integer:
    """A whole number in a closed interval; ``optional`` admits None."""

    low: int = 0
    high: int | None = None
    optional: bool = False

    def admits(self, value: object) -> bool:
        """Whether the value lies in the domain."""
        if value is None:
            return self.optional
        if not isinstance(value, Integral) or isinstance(value, bool | np.bool_):
            return False
        top = MOST if self.high is None else self.high
        return self.low <= int(value) <= top

    def describe(self) -> str:
        """The domain in words."""
        top = "" if self.high is None else f" and at most {self.high}"
        tail = ", or None" if self.optional else ""
        return f"a whole number of at least {self.low}{top}{tail}"

    def parse(self, text: str) -> int | None:
        """The value that a command line's text stands for."""
        return None if self.optional and text.lower() == "none" else int(text)


@dataclass(frozen=True)
class Choice:
    """One of a few named values; ``also`` admits further values by a test, in words."""

    options: tuple[Any, ...]
    also: Callable[[Any], bool] | None = None
    also_words: str = ""

    def admits(self, value: object) -> bool:
        """Whether the value is one of the options."""
        # an array compared with a string gives an array; identity of type comes first
        if any(type(value) is type(option) and value == option for option in self.options):
            return True
        return self.also is not None and bool(self.also(value))

    def describe(self) -> str:
        """The options in words."""
        words = ", ".join(repr(option) for option in self.options)
        return f"one of {words}" + (f", or {self.also_words}" if self.also else "")

    def parse(self, text: str) -> Any:
        """The option that a command line's text stands for."""
        for option in self.options:
            if str(option).lower() == text.lower():
                return option
        raise ValueError(text)


@dataclass(frozen=True)
class Kind:
    """Any value that passes a test, described in words (callbacks, seeds, sizes)."""

    test: Callable[[Any], bool]
    words: str
    read: Callable[[str], Any] | None = None

    def admits(self, value: object) -> bool:
        """Whether the value passes the test."""
        return bool(self.test(value))

    def describe(self) -> str:
        """The test in words."""
        return self.words

    def parse(self, text: str) -> Any:
        """The value that a command line's text stands for, where text can stand for one."""
        if self.read is None:
            raise ValueError(text)
        return self.read(text)


Domain = Real | Integer | Choice | Kind


def as_float(value: object) -> float | None:
    """The float that a number of Python or numpy is; None for anything else, and what overflows."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def is_matrix(value: Any) -> bool:
    """Whether it has two axes; text has none, and rows of different lengths have one."""
    try:
        return not isinstance(value, str) and np.ndim(value) == 2
    except ValueError:
        return False


def as_numbers(name: str, given: object) -> NDArray[np.float64]:
    """The values as an array of floats, or an error that names them."""
    try:
        array = np.asarray(given)
        if array.dtype.kind in "biufO":
            return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise ParameterError(f"{name} must hold numbers, but is {shown(given)}")


SEED = Kind(
    lambda value: (
        value is None
        or isinstance(value, np.random.Generator | np.random.RandomState)
        or (isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0)
    ),
    "None, a whole number of at least 0, or a numpy random generator",
    read=int,
)
# weight of one term of an objective beside another; beyond, the fainter of them is rounding
STRENGTH = Real(1e-12, 1e12)
# joblib computes with their double, in text that it keeps short
MOST_JOBS = 100_000
JOBS = Kind(
    lambda value: (
        value is None or (Integer(-MOST_JOBS, MOST_JOBS).admits(value) and int(value) != 0)
    ),
    f"None or a whole number other than 0, at most {MOST_JOBS}",
    read=int,
)
CALLBACK = Kind(lambda value: value is None or callable(value), "None or a callable")
BUDGET = Kind(
    lambda value: (
        value is None
        or isinstance(value, str)
        or ((count := as_float(value)) is not None and count > 0)
    ),
    "None, a number of bytes, or text such as '4GB'",
    read=str,
)


def check_parameters(
    owner: str, values: Mapping[str, object], domains: Mapping[str, Domain]
) -> None:
    """Raise ParameterError for the first value outside its declared domain."""
    for name, domain in domains.items():
        if not domain.admits(values[name]):
            raise ParameterError(
                f"{owner}: {name} must be {domain.describe()}, but is {shown(values[name])}"
            )


def parse_parameter(owner: str, name: str, text: str, domains: Mapping[str, Domain]) -> Any:
    """The value of ``name=text`` from a command line, checked against its domain."""
    if name not in domains:
        known = ", ".join(sorted(domains)) or "none"
        raise ParameterError(
            f"{owner} has no parameter {name!r}{nearest(name, domains)} (it has: {known})"
        )
    try:
        value = domains[name].parse(text)
    except ValueError:
        words = domains[name].describe()
        raise ParameterError(f"{owner}: {name} must be {words}, but is {text!r}") from None
    check_parameters(owner, {name: value}, {name: domains[name]})
    return value


def nearest(word: object, known: Iterable[object]) -> str:
    """A hint such as ``; did you mean 'eac'?`` or nothing."""
    return did_you_mean(closest(str(word), map(str, known), 1))


def did_you_mean(close: list[str]) -> str:
    """The hint that suggests these names, or nothing where there are none."""
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def closest(word: str, known: Iterable[str], count: int) -> list[str]:
    """The names most like a word, at most ``count``; none where none is a likely misspelling.

    Case does not count. A name that differs only in zeros before a number is meant for sure; of
    names that are equally like, one that begins like the word comes first.
    """
    wanted = word.lower()
    names = list(known)
    padded = [name for name in names if unpadded(name) == unpadded(word)]
    if padded:
        return padded[:count]
    matcher = SequenceMatcher(b=wanted)
    found = []
    for place, name in enumerate(names):
        matcher.set_seq1(name.lower())
        if len(wanted) >= SHORTENED and wanted.isalpha() and name.lower().startswith(wanted):
            # a word cut short is like it, however much is cut; 100 is not 10000000
            found.append((-max(matcher.ratio(), ALIKE), -len(wanted), place))
            continue
        # the quick ratios are upper bounds
        if min(matcher.real_quick_ratio(), matcher.quick_ratio()) < ALIKE:
            continue
        ratio = matcher.ratio()
        if ratio >= ALIKE:
            found.append((-ratio, -_common_start(wanted, name.lower()), place))
    return [names[place] for _, _, place in sorted(found)[:count]]


def unpadded(name: str) -> str:
    """A name in lower case, without the zeros that only fill up its numbers."""
    return re.sub(r"(?<![0-9])0+(?=[0-9])", "", name.lower())


def _common_start(one: str, other: str) -> int:
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )


def _bound(number: float) -> str:
    if np.isinf(number):
        return "inf" if number > 0 else "-inf"
    return f"{number:g}"


def shown(value: object) -> str:
    """A value in a message, cut where it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
