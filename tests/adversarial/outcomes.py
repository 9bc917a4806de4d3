"""What may happen to an attacked call, written down in one place, and the count of what did."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from sklearn.exceptions import ConvergenceWarning

from coterie import LabelError, MemoryBudgetError, ParameterError
from coterie.core.errors import DataError, ResultFileError
from coterie_bench import SpecError

# what a user may meet, by what was asked of coterie; anything else is a violation
OF_LABELS = (LabelError,)
OF_PARAMETERS = (ParameterError,)
OF_FILES = (DataError, MemoryBudgetError)
OF_RESULTS = (ResultFileError,)
OF_SPECS = (SpecError,)

# beginnings, after the name of the method, of the warnings that coterie gives beside ConvergenceWarning
_WARNED_OF = (
    "another number in each of the",
    "was moved to",
    "were moved to",
)


MAX_SHOWN = 20


class Violation(AssertionError):
    """A promise that was not kept."""


@dataclass
class Tally:
    """Cases tried, exceptions by type, violations with what repeats them."""

    group: str
    cases: int = 0
    raised: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def count(self, error: BaseException | None) -> None:
        """One more case, and how it ended."""
        self.cases += 1
        if error is not None:
            self.raised[type(error).__name__] += 1

    @contextmanager
    def watch(self, name: str) -> Iterator[None]:
        """Anything that escapes the block is a violation by the name of ``name``."""
        try:
            yield
        except Exception as error:
            self.violations.append(f"{name}: {type(error).__name__}: {str(error)[:300]}")

    def lines(self) -> list[str]:
        """The tally as text."""
        kinds = ", ".join(f"{name} {count:,}" for name, count in sorted(self.raised.items()))
        line = f"{self.group}: {self.cases:,} cases; {kinds or 'no exceptions'}; "
        found = [f"{line}violations: {len(self.violations)}"]
        found += [f"  {note}" for note in self.notes]
        found += [f"  VIOLATION {text}" for text in self.violations[:MAX_SHOWN]]
        if len(self.violations) > MAX_SHOWN:
            found.append(f"  ... and {len(self.violations) - MAX_SHOWN} more")
        return found


@contextmanager
def documented_warnings_only() -> Iterator[None]:
    """A violation for any warning that no page of coterie speaks of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    _refuse_undocumented(caught)


def _refuse_undocumented(caught: Sequence[warnings.WarningMessage]) -> None:
    for warning in caught:
        if issubclass(warning.category, ConvergenceWarning):
            continue
        text = str(warning.message)
        if warning.category is UserWarning and any(words in text for words in _WARNED_OF):
            continue
        raise Violation(
            f"{warning.category.__name__} from {warning.filename}:{warning.lineno}: {text[:200]}"
        )
