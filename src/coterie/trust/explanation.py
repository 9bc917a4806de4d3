"""Why a sample is in its cluster: the vote of each member, and a sentence that summarises them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import SampleError
from coterie.core.html import card, folded, paragraph
from coterie.core.params import closest, did_you_mean, unpadded
from coterie.core.tables import Table
from coterie.core.text import counted, percent
from coterie.ensemble import Ensemble
from coterie.trust.votes import ClusterVotes

# confidence from which a sample is called sure, and below which it is called unsure
SURE, UNSURE = 0.8, 0.4
# loose attachment is mentioned if it lowers the confidence of the votes by at least this much
LOOSE = 0.1
# edit distances are slow to compute, so among many ids only this many likely ones are compared
COMPARED_IDS = 1000


@dataclass(frozen=True, eq=False)
class Explanation:
    """Why a sample is in its cluster.

    Attributes
    ----------
    sample : id or row number
    cluster : int
    confidence : float
    rival : int
        The next best cluster, -1 where there is only one. Confidence is then 1 and carries no
        information.
    attachment : float
        How often members put the sample with the samples of its cluster, relative to the median
        over all samples; at most 1.
    soft : ndarray, shape (c,)
        Membership in each cluster.
    votes : Table
        One row per member: ``member``; ``label``, its own label of the sample (None where missing);
        ``goes_with``, the consensus cluster that holds most of that base cluster (-1 if several tie),
        and ``share``, the share that it holds; ``agrees``, whether that is the sample's cluster (None
        if the sample's cluster ties with others, or the label is missing). If the sample is alone in
        the base cluster, it goes with none (-1, NaN, None).
    sentence : str
    """

    sample: Any
    cluster: int
    confidence: float
    rival: int
    attachment: float
    soft: NDArray[np.float64]
    votes: Table
    sentence: str

    def _repr_html_(self) -> str:
        return card(f"Sample {self.sample}", paragraph(self.sentence), folded("votes", self.votes))

    def __str__(self) -> str:
        return f"{self.sentence}\n\n{self.votes!r}"


def explain(ensemble: Ensemble, labels: Any, sample: Any) -> Explanation:
    """Explain why a sample is in its cluster, and how sure its assignment is.

    Parameters
    ----------
    ensemble : Ensemble
    labels : array of int, shape (n,)
        A partition of the samples, such as a solver's ``labels_``.
    sample : id or int
        Its id where the ensemble has ids, else its row number, counted from 0.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.trust import explain
    >>> ensemble = Ensemble.from_labels(
    ...     {"a": [0, 0, 0, 1], "b": [0, 0, 1, 1]}, sample_ids=["ann", "bob", "cy", "dee"])
    >>> print(explain(ensemble, [0, 0, 1, 1], "bob"))
    Sample bob is in cluster 0, fairly sure (confidence 0.67): 2 of the 2 members that
    labelled it group it mostly with cluster 0. ...
    <BLANKLINE>
    member  label  agrees  goes_with   share
    a           0  yes             0  0.6667
    b           0  yes             0       1
    """
    return explanation(ClusterVotes.of(ensemble, labels), sample)


def explanation(votes: ClusterVotes, sample: Any) -> Explanation:
    """The explanation of a sample, from computed votes."""
    ensemble = votes.ensemble
    position, name, n_same_id = _find_sample(ensemble, sample)
    row = int(ensemble.inverse[position])
    cluster, rival = int(votes.labels[row]), int(votes.support.rival_cluster[row])
    confidence, attachment = float(votes.confidence[row]), float(votes.attachment[row])
    soft = votes.soft_row(row)
    table = _vote_table(votes, row)
    sentence = _sentence(name, cluster, confidence, rival, soft, table, votes.reliable)
    if attachment and votes.lead[row] - votes.confidence_of_votes[row] >= LOOSE:
        sentence += _looseness(float(votes.lead[row]) * votes.agreement, attachment)
    if n_same_id > 1:
        sentence += f" (It is the first of {n_same_id} samples with this id.)"
    return Explanation(name, cluster, confidence, rival, attachment, soft, table, sentence)


def _vote_table(votes: ClusterVotes, row: int) -> Table:
    """How each member labelled a microcluster, and which cluster that label goes with."""
    ensemble, shares, cluster = votes.ensemble, votes.shares, votes.labels[row]
    m = ensemble.n_members
    labels: list[Any] = [None] * m
    agrees: list[bool | None] = [None] * m
    goes_with, share = np.full(m, -1), np.full(m, np.nan)
    for j in np.flatnonzero(ensemble.observed[row]).tolist():
        code = ensemble.labels[row, j]
        base = ensemble.cluster_offsets[j] + code
        labels[j] = _plain_value(ensemble.categories[j][code])
        if ensemble.cluster_sizes[base] <= votes.itself[row]:
            # alone: a sample does not count in its own vote
            continue
        entries = slice(shares.indptr[base], shares.indptr[base + 1])
        clusters, part = shares.indices[entries], shares.data[entries]
        # equal sums of float weights may differ in their last digits
        best = clusters[part >= part.max() * (1 - 1e-12)]
        tied = len(best) > 1
        own = cluster in best
        agrees[j] = None if tied and own else own
        goes_with[j] = -1 if tied else best[0]
        share[j] = part.max()
    return Table(
        {
            "member": np.array(ensemble.members),
            "label": labels,
            "agrees": agrees,
            "goes_with": goes_with,
            "share": share,
        }
    )


def _sentence(
    name: Any,
    cluster: int,
    confidence: float,
    rival: int,
    soft: NDArray[np.float64],
    table: Table,
    reliable: bool,
) -> str:
    without_label = table["label"].tolist().count(None)
    with_label = len(table) - without_label
    if not with_label:
        where = "no cluster" if cluster < 0 else f"cluster {cluster}"
        return f"Sample {name} is in {where}: no member labelled it, so its confidence is 0."
    if len(soft) == 1:
        return (
            f"Sample {name} is in cluster {cluster}, the only one. Without a rival, its confidence "
            f"of {confidence:.0f} carries no information."
        )
    alone = with_label - int(np.isfinite(table["share"]).sum())
    members = f"{with_label} members" if with_label > 1 else "one member"
    if alone == with_label:
        return (
            f"Sample {name} is in cluster {cluster}, but the {members} that labelled it "
            f"{'put' if alone > 1 else 'puts'} it with no other sample, so its confidence is 0."
            f"{_silent(without_label)}"
        )
    if not reliable:
        certainty = "but the partition is not reliable"
    else:
        certainty = (
            "sure" if confidence >= SURE else "fairly sure" if confidence >= UNSURE else "unsure"
        )
    votes = table["agrees"].tolist()
    agree = votes.count(True)
    tied = votes.count(None) - without_label - alone
    to_rival = int((table["goes_with"] == rival).sum())
    elsewhere = with_label - agree - tied - to_rival - alone
    parts = [
        f"Sample {name} is in cluster {cluster}, {certainty} (confidence {confidence:.2f}): {agree} of "
        f"the {members} that labelled it {'groups' if agree == 1 else 'group'} it mostly with "
        f"cluster {cluster}"
    ]
    if to_rival:
        parts.append(f", {to_rival} with cluster {rival}")
    if tied:
        parts.append(f", {tied} equally with another cluster")
    if elsewhere:
        parts.append(f", {elsewhere} elsewhere")
    if alone:
        parts.append(f", {alone} with no other sample")
    if soft[rival] > 0:
        parts.append(
            f". Of the samples they put it with, {percent(soft[cluster])} are in cluster {cluster} "
            f"and {percent(soft[rival])} in cluster {rival}."
        )
    else:
        parts.append(f". All samples they put it with are in cluster {cluster}.")
    if soft[rival] > soft[cluster]:
        parts.append(
            f" The members' votes favour cluster {rival}; the method decided against them."
        )
    return "".join(parts) + _silent(without_label)


def _silent(without_label: int) -> str:
    return f" {counted(without_label, 'member')} did not label it." if without_label else ""


def _looseness(lead: float, attachment: float) -> str:
    """The sentence about a sample that few members put with its cluster."""
    return (
        f" It is loosely attached: members put it with the samples of its cluster only "
        f"{percent(attachment)} as often as is typical, which lowers the confidence from {lead:.2f}."
    )


def _find_sample(ensemble: Ensemble, sample: Any) -> tuple[int, Any, int]:
    """Position of a sample, its id, and how many samples have that id."""
    ids = ensemble.sample_ids
    if ids is None:
        position = _whole_number(sample)
        if position is None or not 0 <= position < ensemble.n_samples:
            raise SampleError(
                f"no sample {sample!r}: without ids, give a row number from "
                f"0 to {ensemble.n_samples - 1}; for ids pass sample_ids, or a pandas frame with "
                "one unique name per sample in its index"
            )
        return position, position, 1
    # the command line passes every id as text, and users may pass numbers for ids that are text
    text, number = str(sample), _whole_number(sample)
    by_kind: dict[str, list[Any]] = {"i": [number], "u": [number], "U": [text]}
    for value in by_kind.get(ids.dtype.kind, [sample, text, number]):
        positions = np.flatnonzero(ids == value)
        if positions.size:
            return int(positions[0]), _plain_value(ids[positions[0]]), len(positions)
    raise SampleError(f"no sample with the id {sample!r}{_suggestion(ids, sample)}")


def _plain_value(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _whole_number(value: Any) -> int | None:
    """A whole number given as a number or as text, else None."""
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, int | np.integer):
        return int(value)
    # stricter than int(), which accepts 1_0 and refuses numbers with thousands of digits
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,100}\s*", value):
        return int(value)
    return None


def _suggestion(ids: NDArray[Any], sample: Any) -> str:
    """The end of the error message: similar ids, or examples of ids."""
    text = str(sample)
    close = closest(text, map(str, _likely_ids(ids, text).tolist()), 3)
    if close:
        return did_you_mean(close)
    if ids.dtype.kind in "iu":
        return f"; the ids run from {ids.min()} to {ids.max()}"
    shown = ", ".join(repr(str(value)) for value in ids[:3].tolist())
    return f"; the ids look like {shown}{', ...' if len(ids) > 3 else ''}"


def _likely_ids(ids: NDArray[Any], text: str) -> NDArray[Any]:
    """The ids to compare with a text: all, or the 1,000 that share most letters at the same position.

    Positions may differ by one. If some ids differ from the text only in the leading zeros of a number,
    only these are compared, because all their letters may be shifted.
    """
    if len(ids) <= COMPARED_IDS or not text:
        return ids[:COMPARED_IDS]
    texts = ids.astype(np.str_)
    bare = unpadded(text)
    padded = [other for other in texts.tolist() if unpadded(other) == bare]
    if padded:
        return np.array(padded)
    width = texts.dtype.itemsize // 4
    letters = np.ascontiguousarray(texts).view(np.uint32).reshape(len(texts), width)
    score = np.zeros(len(texts), dtype=np.int64)
    for shift in (-1, 0, 1):
        wanted = np.zeros(width, dtype=np.uint32)
        for i, letter in enumerate(text):
            if 0 <= i + shift < width:
                wanted[i + shift] = ord(letter)
        score = np.maximum(score, ((letters == wanted) & (letters > 0)).sum(axis=1))
    return texts[np.argsort(-score, kind="stable")[:COMPARED_IDS]]
