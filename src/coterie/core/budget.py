"""A memory budget: the size of large arrays is checked before they are allocated."""

from __future__ import annotations

import os
import re
from enum import Enum
from pathlib import Path
from typing import Final

from coterie.core.errors import MemoryBudgetError, ParameterError
from coterie.core.params import as_float, shown

ENVIRONMENT_VARIABLE = "COTERIE_MEMORY_BUDGET"
DEFAULT_SHARE = 0.6


class Granted(Enum):
    """A budget that the caller has already checked."""

    GRANTED = "granted"


# passed to a function whose memory is already part of a budget that the caller has checked
GRANTED: Final = Granted.GRANTED

Budget = int | float | str | Granted | None


def memory_budget(budget: Budget = None) -> int:
    """Bytes that one call may allocate.

    Parameters
    ----------
    budget : int, float, str or None
        Bytes, or text such as ``"4GB"`` or ``"500 MiB"``. None takes the environment variable
        ``COTERIE_MEMORY_BUDGET`` if it is set, and otherwise 60 % of the available memory.

    Examples
    --------
    >>> from coterie import memory_budget
    >>> memory_budget("2GB")
    2000000000
    """
    if isinstance(budget, Granted):
        raise ParameterError("memory_budget: a granted budget has no size")
    if budget is None:
        budget = os.environ.get(ENVIRONMENT_VARIABLE) or None
        if budget is not None:
            return _parse(budget, f"environment variable {ENVIRONMENT_VARIABLE}")
        return int(DEFAULT_SHARE * _available())
    return _parse(budget, "memory_budget")


def require(needed: float, purpose: str, advice: str, budget: Budget = None) -> None:
    """Raise MemoryBudgetError if ``needed`` bytes exceed the budget, unless it is GRANTED."""
    if isinstance(budget, Granted):
        return
    limit = memory_budget(budget)
    if needed > limit:
        raise MemoryBudgetError(
            f"{purpose} needs {shown_bytes(needed)}, but the memory budget is "
            f'{shown_bytes(limit)}. {advice} Or raise the budget: memory_budget="..." where the '
            f"call takes it, or the environment variable {ENVIRONMENT_VARIABLE}."
        )


def shown_bytes(count: float) -> str:
    """A number of bytes as readable text."""
    for unit in ("B", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError


_UNITS = {"": 1, "B": 1}
for _power, _letter in enumerate("KMGT", start=1):
    _UNITS[_letter] = _UNITS[f"{_letter}B"] = 1000**_power
    _UNITS[f"{_letter}IB"] = 1024**_power


def _parse(budget: int | float | str, source: str) -> int:
    if isinstance(budget, str):
        match = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]*)?)\s*([A-Za-z]*)\s*", budget)
        if match is None or match[2].upper() not in _UNITS:
            raise ParameterError(
                f"{source} must be a number of bytes or text such as '4GB', but is {budget!r}"
            )
        budget = float(match[1]) * _UNITS[match[2].upper()]
    count = as_float(budget)
    if count is None or not 0 < count < float("inf"):
        raise ParameterError(
            f"{source} must be a positive, finite number of bytes or text such as '4GB', but is "
            f"{shown(budget)}"
        )
    return int(count)


def _available() -> int:
    """Memory available without swapping, within the limit of the container if there is one."""
    free = None
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                free = int(line.split()[1]) * 1024
    except OSError:
        pass
    if free is None:
        try:
            free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2
        except (AttributeError, OSError, ValueError):
            free = 4 * 1024**3
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text().strip()
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        if limit != "max":
            free = min(free, max(int(limit) - used, 0))
    except (OSError, ValueError):
        pass
    return free
