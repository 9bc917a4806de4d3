"""The commands that list and compile the methods, and the parameters that --set accepts."""

from __future__ import annotations

import argparse
import inspect
import re
import warnings

import numpy as np

from coterie.cli.outputs import RunLog
from coterie.cli.screen import Screen, Stages
from coterie.core.params import Domain, Kind
from coterie.core.text import counted
from coterie.solvers.base import LabelConsensus
from coterie.solvers.methods import all_methods, find_method

# parameters that have their own option
SET_ELSEWHERE = {"n_clusters": "-k", "random_state": "--seed"}
# enough samples to reach the code that only larger problems run
WARMUP_SAMPLES = 400
SECTION = re.compile(r"^(?P<title>\w[\w ]*)\n-+\n", re.MULTILINE)
# not after "0.5" or "e.g. one"
SENTENCE_END = re.compile(r'(?<=[.!?])\s+(?=["A-Z0-9])')


def methods(arguments: argparse.Namespace, log: RunLog) -> None:
    """List the methods and their parameters."""
    screen = Screen()
    shown = [find_method(name) for name in arguments.names] or list(all_methods().values())
    for i, method in enumerate([] if arguments.brief else shown):
        if i:
            screen.say("")
        signature = inspect.signature(method).parameters
        meaning = parameter_sentences(method)
        screen.say(f"{method.about.name} (coterie.{method.__name__})")
        screen.say(method.about.summary, indent=2)
        for name, domain in settable(method).items():
            screen.say(f"--set {name}={signature[name].default}", indent=2)
            screen.say(f"{meaning[name]} Takes {domain.describe()}.", indent=6)
        screen.say(f"cost: {method.about.cost}", indent=2)
        screen.say(f"paper: {method.about.paper}", indent=2)
    headings = ["method", "missing", "weights", "exact", "random", "in N"]
    screen.table(
        headings,
        [
            [
                about.name,
                *(
                    "yes" if capable else "no"
                    for capable in (about.missing, about.weights, about.exact, about.random)
                ),
                about.scaling or "",
            ]
            for about in (method.about for method in shown)
        ],
    )
    screen.say("")
    screen.say(
        "missing: accepts missing labels. weights: a sample of weight two counts like the sample given "
        "twice. exact: distinct rows give the same result as all samples. random: depends on --seed. "
        "in N: growth of time and memory with the number N of distinct rows."
    )


def warmup(arguments: argparse.Namespace, log: RunLog) -> None:
    """Run every method once on small labels, complete and partial, so that its kernels are compiled."""
    methods = [find_method(name) for name in arguments.names] or list(all_methods().values())
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(4), WARMUP_SAMPLES // 4)
    noise = rng.integers(0, 6, (WARMUP_SAMPLES, 8))
    labels = np.where(rng.random(noise.shape) < 0.5, noise, truth[:, None]).astype(float)
    partial = np.where(rng.random(labels.shape) < 0.1, np.nan, labels)
    partial[:, 0] = labels[:, 0]
    with Stages() as stages, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for done, method in enumerate(methods):
            stages.begin(f"compiling {method.about.name}", len(methods))
            stages.reach(done, len(methods))
            for given in (labels, partial) if method.about.missing else (labels,):
                method(4, random_state=0).fit(given)
    screen = Screen()
    screen.say(f"{counted(len(methods), 'method')} compiled in {log.seconds():.0f} s.")


def settable(estimator: type[LabelConsensus]) -> dict[str, Domain]:
    """The parameters of a method that --set accepts."""
    return {
        name: domain
        for name, domain in estimator.domains().items()
        if name not in SET_ELSEWHERE and not (isinstance(domain, Kind) and domain.read is None)
    }


def parameter_sentences(documented: type) -> dict[str, str]:
    """The first sentence about each parameter in the docstring of a class.

    Examples
    --------
    >>> from coterie import EAC
    >>> from coterie.cli._methods import parameter_sentences
    >>> parameter_sentences(EAC)["linkage"]
    'How the dissimilarity of two groups follows from that of their samples.'
    """
    parts = SECTION.split(inspect.getdoc(documented) or "")
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    names: list[str] = []
    words: dict[str, list[str]] = {}
    for line in sections.get("Parameters", "").splitlines():
        if line and not line[0].isspace():
            # "low, high : float" documents two parameters
            names = [name.strip() for name in line.partition(" :")[0].split(",")]
            continue
        for name in names:
            words.setdefault(name, []).extend(line.replace("``", "").split())
    return {name: SENTENCE_END.split(" ".join(text))[0] for name, text in words.items()}
