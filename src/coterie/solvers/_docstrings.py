"""Docstrings of methods: what a class leaves out is taken from its base class.

A parameter or attribute that several methods share is described once. At run time every docstring
still lists all of them, for ``help`` and for the reference page.
"""

from __future__ import annotations

import re
from dataclasses import Field
from inspect import Parameter, cleandoc, get_annotations, signature

# documentation of parameters that many methods share, unless a method describes them itself
SHARED_PARAMETERS = """
    n_clusters : int
        Number of clusters.
    n_init : int
        Number of k-means starts; the best is kept.
    max_iter : int
        Maximum number of passes, per start if there are several.
    tol : float
        The passes end when one changes the objective by less than this share.
    callback : callable or None
        Called after each pass with its record of ``history_``. With several starts, called at the end,
        for the passes of the start that was kept.
    memory_budget : int, str or None
        Memory that may be allocated, in bytes or as text such as "4GB". None allows 60 % of what is
        available.
    approximate : int, "auto" or None
        Group similar label rows, to at most this many distinct ones, and solve these instead; see
        ``approximation_``. "auto" does so only if solving all rows needs more memory than the budget,
        and then groups them into 5,000. None solves all rows exactly.
    random_state : int, numpy Generator or None
        Seed of the random numbers.
"""

HEADING = re.compile(r"^([A-Z][A-Za-z ]+)\n-{3,}\n", re.MULTILINE)
NOT_RANDOM = "random_state : None\n    Ignored. Present for API consistency."


def completed(cls: type, base: type, shared: str, *, random: bool) -> str:
    """The docstring of a method, completed by the entries that it leaves out.

    Parameters
    ----------
    cls, base : type
        The method, and the class whose docstring describes what they have in common.
    shared : str
        Entries of parameters, without defaults.
    random : bool
        Whether ``random_state`` is used.
    """
    own, inherited = _sections(cls.__doc__ or ""), _sections(base.__doc__ or "")
    described = _entries(cleandoc(shared)) | _entries(inherited.get("Parameters", ""))
    if not random:
        described["random_state"] = NOT_RANDOM
    given = _entries(own.pop("Parameters", ""))
    described |= given
    defaults = _defaults(cls)
    parameters = [
        _with_default(described[name], defaults.get(name, Parameter.empty))
        for name in {**defaults, **given}
        if name in described
    ]
    given = _entries(own.pop("Attributes", ""))
    attributes = given | _entries(inherited.get("Attributes", "")) | given
    summary = own.pop("")
    sections = {
        "Parameters": "\n".join(parameters),
        "Attributes": "\n".join(attributes.values()),
        "See Also": own.pop("See Also", ""),
        "Notes": "\n\n".join([own.pop("Notes", ""), inherited.get("Notes", "")]).strip(),
        **own,
    }
    texts = [f"{title}\n{'-' * len(title)}\n{text}" for title, text in sections.items() if text]
    return "\n\n".join([summary, *texts]) + "\n"


def opening(cls: type) -> str:
    """What the docstring says before its first heading, in one line."""
    return " ".join(_sections(cls.__doc__ or "")[""].split())


def _sections(doc: str) -> dict[str, str]:
    """The text under each heading; what comes before the first is under the empty title."""
    summary, *rest = HEADING.split(cleandoc(doc))
    texts = dict(zip(rest[::2], rest[1::2], strict=True))
    return {title: text.strip() for title, text in {"": summary, **texts}.items()}


def _entries(text: str) -> dict[str, str]:
    """The entries of a section by the names that they describe."""
    entries = re.split(r"\n(?=\S)", text) if text else []
    return {entry.split(" : ")[0]: entry for entry in entries}


def _defaults(cls: type) -> dict[str, object]:
    """Defaults of the parameters in order. Runs before @dataclass adds its fields to the signature."""
    defaults = {name: parameter.default for name, parameter in signature(cls).parameters.items()}
    for name in get_annotations(cls):
        value = vars(cls).get(name, Parameter.empty)
        defaults[name] = value.default if isinstance(value, Field) else value
    return defaults


def _with_default(entry: str, default: object) -> str:
    head, newline, text = entry.partition("\n")
    if default is not Parameter.empty and "default" not in head and not head.endswith(": None"):
        head += f", default {default!r}"
    return head + newline + text
