"""One sample: which members put it where, and in words why it is sure or unsure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from coterie.core.errors import SampleError
from coterie.core.params import closest, did_you_mean, unpadded
from coterie.core.tables import Table
from coterie.ensemble import Ensemble
from coterie.trust.votes import ClusterVotes, lead_of

SURE, UNSURE = 0.8, 0.4
# what loose attachment must take off the confidence to be worth a sentence
LOOSE = 0.1
# comparing texts is slow: of many ids only those with most letters in place are compared
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
        The next best cluster, -1 where there is only one; then confidence is 1 and says nothing.
    attachment : float
        How often members put it with the samples of its cluster, over what is usual, at most 1.
    soft : ndarray, shape (c,)
        Membership in each cluster.
    votes : Table
        One row a member: ``member``; its own ``label`` of the sample (None where missing);
        ``goes_with``, the consensus cluster that most of that base cluster belongs to (-1 where
        several tie for it), and ``share``, how much of it; ``agrees``, whether that is the
        sample's cluster (None where that one ties with others, as where the label is missing).
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

    def __str__(self) -> str:
        return f"{self.sentence}\n\n{self.votes!r}"


def explain(ensemble: Ensemble, labels: Any, sample: Any) -> Explanation:
    """Which members put a sample where, and why it is sure or unsure.

    Parameters
    ----------
    ensemble : Ensemble
    labels : array of int, shape (n,)
    sample : id or int
        Its id where the ensemble has ids, else its row number from 0.

    Examples
    --------
    >>> from coterie import Ensemble
    >>> from coterie.trust import explain
    >>> ensemble = Ensemble.from_labels(
    ...     {"a": [0, 0, 0, 1], "b": [0, 0, 1, 1]}, sample_ids=["ann", "bob", "cy", "dee"])
    >>> print(explain(ensemble, [0, 0, 1, 1], "cy"))
    Sample cy is in cluster 1, fairly sure (confidence 0.50): 1 of the 2 members that
    labelled it groups it mostly with cluster 1, 1 with cluster 0. ...
    <BLANKLINE>
    member  label  agrees  goes_with   share
    a           0  no              0  0.6667
    b           1  yes             1       1
    """
    return explain_from(ClusterVotes.of(ensemble, labels), sample)


def explain_from(votes: ClusterVotes, sample: Any) -> Explanation:
    """The explanation from votes that are there already, in time linear in the members."""
    ensemble = votes.ensemble
    row, name, namesakes = find_sample(ensemble, sample)
    place = int(ensemble.inverse[row])
    cluster = int(votes.labels[place])
    soft = votes.soft(np.array([place]))[0]
    rival = -1
    if votes.n_clusters > 1:
        others = soft.copy()
        others[cluster] = -1.0
        rival = int(others.argmax())
    own, next_best = soft[[cluster]], soft[[rival]] if rival >= 0 else np.zeros(1)
    confidence = float(votes.confidence_of(own, next_best, np.array([place]))[0])
    attachment = float(votes.attachment[place])
    table = _votes_of(votes, place, cluster)
    sentence = _sentence(name, cluster, confidence, rival, soft, table, votes.n_clusters)
    sentence += _looseness(float(lead_of(own, next_best)[0]), confidence, attachment)
    if namesakes > 1:
        sentence += f" (It is the first of {namesakes} samples with this id.)"
    return Explanation(name, cluster, confidence, rival, attachment, soft, table, sentence)


def _votes_of(votes: ClusterVotes, place: int, cluster: int) -> Table:
    ensemble, shares = votes.ensemble, votes.shares
    labels: list[Any] = []
    agrees: list[bool | None] = []
    goes_with: list[int] = []
    share: list[float] = []
    for j, code in enumerate(ensemble.labels[place].tolist()):
        if code < 0:
            labels.append(None)
            agrees.append(None)
            goes_with.append(-1)
            share.append(float("nan"))
            continue
        base = ensemble.cluster_offsets[j] + code
        entries = slice(shares.indptr[base], shares.indptr[base + 1])
        found, part = shares.indices[entries], shares.data[entries]
        # sums of float weights that are equal may differ in their last digits
        best = found[part >= part.max() * (1 - 1e-12)]
        tied = len(best) > 1
        label = ensemble.categories[j][code]
        labels.append(label.item() if isinstance(label, np.generic) else label)
        own = cluster in best
        agrees.append(None if tied and own else own)
        goes_with.append(-1 if tied else int(best[0]))
        share.append(float(part.max()))
    return Table(
        {
            "member": np.array(ensemble.members),
            "label": labels,
            "agrees": agrees,
            "goes_with": np.array(goes_with),
            "share": np.array(share),
        }
    )


def _sentence(
    name: Any,
    cluster: int,
    confidence: float,
    rival: int,
    soft: NDArray[np.float64],
    table: Table,
    n_clusters: int,
) -> str:
    labelled = np.array([label is not None for label in table["label"].tolist()])
    said, silent = int(labelled.sum()), int((~labelled).sum())
    if not said:
        return (
            f"Sample {name} is in cluster {cluster}, but no member labelled it: nothing is known "
            "of it and its confidence is 0."
        )
    if n_clusters == 1:
        return (
            f"Sample {name} is in cluster {cluster}, the only one there is: without a rival its "
            f"confidence, {confidence:.0f}, says nothing."
        )
    how = "sure" if confidence >= SURE else "fairly sure" if confidence >= UNSURE else "unsure"
    votes = table["agrees"].tolist()
    agree = votes.count(True)
    tied = votes.count(None) - silent
    to_rival = int((table["goes_with"] == rival).sum())
    elsewhere = said - agree - tied - to_rival
    members = f"{said} members" if said > 1 else "one member"
    parts = [
        f"Sample {name} is in cluster {cluster}, {how} (confidence {confidence:.2f}): {agree} of "
        f"the {members} that labelled it {'groups' if agree == 1 else 'group'} it mostly with "
        f"cluster {cluster}"
    ]
    if to_rival:
        parts.append(f", {to_rival} with cluster {rival}")
    if tied:
        parts.append(f", {tied} as much with another cluster as with it")
    if elsewhere:
        parts.append(f", {elsewhere} elsewhere")
    if soft[rival] > 0:
        parts.append(
            f". Of the samples they put it with, {_percent(soft[cluster])} are in cluster {cluster} "
            f"and {_percent(soft[rival])} in cluster {rival}."
        )
    else:
        parts.append(f". All samples they put it with are in cluster {cluster}.")
    if soft[rival] > soft[cluster]:
        parts.append(
            f" The members' votes favour cluster {rival}: the method placed it against them."
        )
    if silent:
        parts.append(f" {silent} {'member' if silent == 1 else 'members'} did not label it.")
    return "".join(parts)


def _looseness(lead: float, confidence: float, attachment: float) -> str:
    """What the votes do not tell: that few members put the sample with its cluster at all."""
    if not attachment or lead - confidence < LOOSE:
        return ""
    return (
        f" It is loosely attached: members put it with the samples of its cluster "
        f"{_percent(attachment)} as often as is usual, which lowers the confidence from {lead:.2f}."
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def find_sample(ensemble: Ensemble, sample: Any) -> tuple[int, Any, int]:
    """Row of a sample, its name, and how many samples have that name."""
    ids = ensemble.sample_ids
    if ids is None:
        row = _whole(sample)
        if row is None or not 0 <= row < ensemble.n_samples:
            raise SampleError(
                f"no sample {sample!r}: without ids samples go by row number, "
                f"0 to {ensemble.n_samples - 1}; for names give sample_ids=, or a pandas frame whose "
                "index names every sample once"
            )
        return row, row, 1
    wanted: list[Any] = [sample]
    # on the command line every id is text, and a number may be asked for as one
    if ids.dtype.kind in "iu":
        whole = _whole(sample)
        wanted = [] if whole is None else [whole]
    elif ids.dtype.kind == "U" or not isinstance(sample, str):
        wanted = [str(sample)] if ids.dtype.kind == "U" else [sample, str(sample)]
    elif _whole(sample) is not None:
        wanted = [sample, _whole(sample)]
    for value in wanted:
        rows = np.flatnonzero(ids == value)
        if rows.size:
            found = ids[rows[0]]
            name = found.item() if isinstance(found, np.generic) else found
            return int(rows[0]), name, len(rows)
    raise SampleError(f"no sample with the id {sample!r}{_suggestion(ids, sample)}")


def _whole(value: Any) -> int | None:
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, int | np.integer):
        return int(value)
    # not all that int() takes, such as 1_0, and no more digits than it takes
    if isinstance(value, str) and re.fullmatch(r"\s*[+-]?[0-9]{1,100}\s*", value):
        return int(value)
    return None


def _suggestion(ids: NDArray[Any], sample: Any) -> str:
    text = str(sample)
    close = closest(text, map(str, _likeliest(ids, text).tolist()), 3)
    if close:
        return did_you_mean(close)
    if ids.dtype.kind in "iu":
        return f"; the ids run from {ids.min()} to {ids.max()}"
    shown = ", ".join(repr(str(value)) for value in ids[:3].tolist())
    return f"; the ids look like {shown}{', ...' if len(ids) > 3 else ''}"


def _likeliest(ids: NDArray[Any], text: str) -> NDArray[Any]:
    """All ids, or of many the thousand with most letters in place, give or take one place.

    An id that differs in the zeros before a number alone can have every letter elsewhere.
    """
    if len(ids) <= COMPARED_IDS or not text:
        return ids[:COMPARED_IDS]
    names = ids.astype(np.str_)
    bare = unpadded(text)
    padded = [name for name in names.tolist() if unpadded(name) == bare]
    if padded:
        return np.array(padded)
    width = names.dtype.itemsize // 4
    letters = np.ascontiguousarray(names).view(np.uint32).reshape(len(names), width)
    score = np.zeros(len(names), dtype=np.int64)
    for shift in (-1, 0, 1):
        wanted = np.zeros(width, dtype=np.uint32)
        for place, letter in enumerate(text):
            if 0 <= place + shift < width:
                wanted[place + shift] = ord(letter)
        score = np.maximum(score, ((letters == wanted) & (letters > 0)).sum(axis=1))
    return names[np.argsort(-score, kind="stable")[:COMPARED_IDS]]
