"""Values that parameters may take, the error for any other value, and suggestions for unknown names."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from difflib import SequenceMatcher
from numbers import Integral
from os.path import commonprefix
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import ParameterError

# least similarity (0 to 1) of a word and the name that it misspells
MIN_SIMILARITY = 0.6
# shortest prefix accepted as an abbreviation
SHORTEST_PREFIX = 3
# largest whole number that compiled loops can hold
LARGEST_INTEGER = 2**63 - 1


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
        return f"a number in {left}{self.low:g}, {self.high:g}{right}{tail}"

    def parse(self, text: str) -> float | None:
        """Convert text from the command line to a value."""
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
        high = LARGEST_INTEGER if self.high is None else self.high
        return self.low <= int(value) <= high

    def describe(self) -> str:
        """The domain in words."""
        high = "" if self.high is None else f" and at most {self.high}"
        tail = ", or None" if self.optional else ""
        return f"a whole number of at least {self.low}{high}{tail}"

    def parse(self, text: str) -> int | None:
        """Convert text from the command line to a value."""
        return None if self.optional and text.lower() == "none" else int(text)


@dataclass(frozen=True)
class Choice:
    """One of a few values, or any value that passes the test ``also``, described by ``also_words``."""

    options: tuple[Any, ...]
    also: Callable[[Any], bool] | None = None
    also_words: str = ""

    def admits(self, value: object) -> bool:
        """Whether the value is one of the options."""
        # compare types first: an array compared with a string gives an array
        if any(type(value) is type(option) and value == option for option in self.options):
            return True
        return self.also is not None and bool(self.also(value))

    def describe(self) -> str:
        """The options in words."""
        words = ", ".join(repr(option) for option in self.options)
        return f"one of {words}" + (f", or {self.also_words}" if self.also else "")

    def parse(self, text: str) -> Any:
        """The option that text from the command line names."""
        for option in self.options:
            if str(option).lower() == text.lower():
                return option
        raise ValueError(text)


@dataclass(frozen=True)
class Kind:
    """Any value that passes a test, described in words; ``read`` converts text to such a value."""

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
        """Convert text from the command line to a value; ValueError if it cannot be given as text."""
        if self.read is None:
            raise ValueError(text)
        return self.read(text)


Domain = Real | Integer | Choice | Kind
Value = TypeVar("Value")


def parameter(default: Value, domain: Domain) -> Value:
    """A dataclass field for a parameter, with its default and the values that it may take."""
    return field(default=default, metadata={"domain": domain})


def declared_domains(cls: Any) -> dict[str, Domain]:
    """The values that the parameters of a dataclass may take, where its fields declare them."""
    return {
        declared.name: declared.metadata["domain"]
        for declared in fields(cls)
        if "domain" in declared.metadata
    }


def as_float(value: object) -> float | None:
    """A Python or numpy number as a float; None for anything else and for overflow."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.integer | np.floating):
        return None
    try:
        return float(value)
    except OverflowError:
        return None


def is_matrix(value: Any) -> bool:
    """Whether the value has two axes. Rows of different lengths do not make a matrix."""
    try:
        return not isinstance(value, str) and np.ndim(value) == 2
    except ValueError:
        return False


def as_numbers(name: str, given: object) -> NDArray[np.float64]:
    """The values as an array of floats; an error names the parameter."""
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
# weight of one term of an objective relative to another; beyond it, the smaller term is lost to rounding
STRENGTH = Real(1e-12, 1e12)
# joblib doubles the number and writes it into a short text
MAX_JOBS = 100_000
JOBS = Kind(
    lambda value: value is None or (Integer(-MAX_JOBS, MAX_JOBS).admits(value) and int(value) != 0),
    f"None or a whole number other than 0, at most {MAX_JOBS}",
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
    """Raise ParameterError for the first value outside its domain."""
    for name, domain in domains.items():
        if not domain.admits(values[name]):
            raise ParameterError(
                f"{owner}: {name} must be {domain.describe()}, but is {shown(values[name])}"
            )


def parse_parameter(owner: str, name: str, text: str, domains: Mapping[str, Domain]) -> Any:
    """The value of ``name=text`` from the command line, checked against its domain."""
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
    """A hint such as ``; did you mean 'eac'?``, or an empty text."""
    return did_you_mean(closest(str(word), map(str, known), 1))


def did_you_mean(close: list[str]) -> str:
    """A hint that suggests these names; an empty text for no names."""
    return f"; did you mean {' or '.join(map(repr, close))}?" if close else ""


def closest(word: str, known: Iterable[str], count: int) -> list[str]:
    """The known names that a word may misspell, most similar first, at most ``count``.

    Upper and lower case are equal. If some names differ from the word only in leading zeros of numbers,
    only these are returned. A word may abbreviate a name. Of equally similar names, the one that shares
    a longer beginning with the word comes first.
    """
    wanted = word.lower()
    candidates = list(known)
    padded = [name for name in candidates if unpadded(name) == unpadded(word)]
    if padded:
        return padded[:count]
    # digits are not abbreviated: 100 is not 10000000
    may_abbreviate = len(wanted) >= SHORTEST_PREFIX and wanted.isalpha()
    matcher = SequenceMatcher(b=wanted)
    ranked = []
    for position, name in enumerate(candidates):
        matcher.set_seq1(name.lower())
        abbreviates = may_abbreviate and name.lower().startswith(wanted)
        # the quick ratios are upper bounds
        bound = min(matcher.real_quick_ratio(), matcher.quick_ratio())
        if not abbreviates and bound < MIN_SIMILARITY:
            continue
        similarity = matcher.ratio()
        if abbreviates:
            similarity = max(similarity, MIN_SIMILARITY)
        if similarity >= MIN_SIMILARITY:
            common = len(commonprefix([wanted, name.lower()]))  # noqa: RUF071 characters are meant
            ranked.append((-similarity, -common, position))
    return [candidates[position] for _, _, position in sorted(ranked)[:count]]


def unpadded(name: str) -> str:
    """A name in lower case, without leading zeros in its numbers."""
    return re.sub(r"(?<![0-9])0+(?=[0-9])", "", name.lower())


def shown(value: object) -> str:
    """A value as text for a message, shortened if it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
