"""What a method's parameters do, in the words of its own docstring."""

from __future__ import annotations

import inspect
import re

SECTION = re.compile(r"^(?P<title>\w[\w ]*)\n-+\n", re.MULTILINE)
# "0.5" and "e.g. one" go on
SENTENCE_END = re.compile(r'(?<=[.!?])\s+(?=["A-Z0-9])')


def parameter_sentences(documented: type) -> dict[str, str]:
    """The first sentence on each parameter in a class's docstring.

    Examples
    --------
    >>> from coterie import EAC
    >>> from coterie.cli._parameters import parameter_sentences
    >>> parameter_sentences(EAC)["linkage"]
    'How the dissimilarity of two groups follows from that of their samples.'
    """
    parts = SECTION.split(inspect.getdoc(documented) or "")
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    names: list[str] = []
    words: dict[str, list[str]] = {}
    for line in sections.get("Parameters", "").splitlines():
        if line and not line[0].isspace():
            # "low, high : float" tells of two
            names = [name.strip() for name in line.partition(" :")[0].split(",")]
            continue
        for name in names:
            words.setdefault(name, []).extend(line.replace("``", "").split())
    return {name: SENTENCE_END.split(" ".join(said))[0] for name, said in words.items()}
