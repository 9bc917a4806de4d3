"""explain: finds a sample by id or row, says who put it where, and suggests near ids."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie import EAC, Ensemble
from coterie.core.errors import SampleError
from coterie.trust import ClusterVotes, diagnose_samples, explain
from coterie.trust.explanation import explanation
from tests.trust.partitions import partitions

PEOPLE = ["anna", "bob", "cyril", "dora"]
LABELS = {"a": ["x", "x", "x", "y"], "b": [0, 0, 1, 1], "c": [1, None, 2, 2]}


def people() -> Ensemble:
    return Ensemble.from_labels(LABELS, sample_ids=PEOPLE)


@given(case=partitions(), data=st.data())
def test_an_explanation_equals_the_row_of_the_samples_table(case, data):
    labels, partition = case
    ensemble = Ensemble.from_labels(labels)
    row = data.draw(st.integers(0, len(labels) - 1))
    found = explain(ensemble, partition, row)
    table = diagnose_samples(ensemble, partition)
    assert found.sample == row
    assert found.cluster == partition[row]
    assert found.confidence == pytest.approx(table["confidence"][row], abs=1e-12)
    assert found.attachment == table["attachment"][row]
    assert found.soft.sum() == pytest.approx(1)
    if partition.max() > 0:
        assert found.soft[found.rival] == pytest.approx(table["rival_support"][row])
    for j, vote in enumerate(found.votes.rows()):
        if labels[row, j] < 0:
            assert vote["label"] is None
            assert vote["agrees"] is None
            assert vote["goes_with"] == -1
            continue
        company = partition[labels[:, j] == labels[row, j]]
        shares = np.bincount(company) / len(company)
        assert vote["label"] == labels[row, j]
        if len(company) == 1:
            assert (vote["agrees"], vote["goes_with"]) == (None, -1)
            assert np.isnan(vote["share"])
            continue
        assert vote["share"] == pytest.approx(shares.max())
        best = np.flatnonzero(np.isclose(shares, shares.max())).tolist()
        own = partition[row] in best
        assert vote["goes_with"] == (best[0] if len(best) == 1 else -1)
        assert vote["agrees"] is (None if own and len(best) > 1 else own)


def test_by_id_with_the_members_own_labels():
    found = explain(people(), [0, 0, 1, 1], "bob")
    assert found.sample == "bob"
    assert found.votes["label"].tolist() == ["x", 0, None]
    assert found.votes["agrees"].tolist() == [True, True, None]
    assert "2 of the 2 members that labelled it group it mostly with cluster 0" in found.sentence
    assert "1 member did not label it" in found.sentence
    assert str(found).startswith(found.sentence)
    assert "goes_with" in str(found)


@pytest.mark.parametrize(
    ("labels", "row", "word"),
    [
        ([[0] * 5] * 4 + [[1] * 5] * 4, 0, ", sure"),
        ([[0, 0, 0, 0, 1, 1]] + [[0] * 6] * 5 + [[1] * 6] * 6, 0, "fairly sure"),
        ([[0, 0, 1, 1, 1]] + [[0] * 5] * 4 + [[1] * 5] * 4, 0, "unsure"),
    ],
)
def test_in_words(labels, row, word):
    partition = [0] * (len(labels) // 2) + [1] * (len(labels) - len(labels) // 2)
    if word == "unsure":
        partition = [0] * 5 + [1] * 4
    assert word in explain(Ensemble.from_labels(labels), partition, row).sentence


def test_a_sample_placed_against_the_votes_says_so():
    labels = [[0, 0, 0]] * 6 + [[1, 1, 1]] * 6 + [[0, 0, 1]]
    partition = [0] * 6 + [1] * 7
    found = explain(Ensemble.from_labels(labels), partition, 12)
    assert found.soft[0] > found.soft[1]
    assert found.confidence == 0
    assert "the method decided against them" in found.sentence


def test_loose_attachment_is_told_apart_from_a_rival():
    labels = [[0, 0, 0, 0]] * 8 + [[1, 1, 1, 1]] * 6 + [[1, 2, 2, 2]]
    ensemble = Ensemble.from_labels(labels)
    loose = explain(ensemble, [0] * 8 + [1] * 7, 14)
    # one member of four puts it with the six others
    assert loose.confidence == pytest.approx((1 / 4) ** 0.25)
    assert (
        ": 1 of the 4 members that labelled it groups it mostly with cluster 1, 3 with no other"
        in (loose.sentence)
    )
    assert loose.sentence.endswith(
        "All samples they put it with are in cluster 1. It is loosely attached: members put it with "
        "the samples of its cluster only 25 % as often as is typical, which lowers the confidence from 1.00."
    )
    # with one cluster nothing lowers it
    assert "loosely" not in explain(ensemble, [0] * 15, 14).sentence
    rivalled = explain(
        Ensemble.from_labels([[0, 0]] * 3 + [[0, 1]] + [[1, 1]] * 3), [0] * 4 + [1] * 3, 3
    )
    assert rivalled.confidence < 0.5
    assert "loosely" not in rivalled.sentence


def test_a_tie_is_no_agreement():
    labels = {"a": [0, 0, 1, 1], "coarse": [0, 0, 0, 0], "b": ["x", "x", "y", "y"]}
    found = explain(Ensemble.from_labels(labels), [0, 0, 1, 1], 0)
    assert found.votes["agrees"].tolist() == [True, None, True]
    assert found.votes["goes_with"].tolist() == [0, -1, 0]
    assert found.votes["share"].tolist() == [1, 0.5, 1]
    assert "2 of the 3 members that labelled it group it mostly with cluster 0" in found.sentence
    assert ", 1 equally with another cluster." in found.sentence
    assert "did not label" not in found.sentence


def test_a_tie_between_other_clusters_is_disagreement():
    labels = [[0, 0, 0]] * 3 + [[0, 1, 1]] * 3 + [[0, 2, 2]]
    found = explain(Ensemble.from_labels(labels), [0, 0, 0, 1, 1, 1, 2], 6)
    assert found.votes["agrees"].tolist() == [False, None, None]
    assert found.votes["goes_with"].tolist() == [-1, -1, -1]
    assert ", 1 elsewhere, 2 with no other sample" in found.sentence


def test_ties_of_fractional_weights_are_ties():
    weights = [0.1, 0.2, 0.3]
    ensemble = Ensemble.from_labels([[0, 0], [0, 1], [0, 2]], sample_weight=weights)
    found = explain(ensemble, [0, 0, 1], 0)
    assert found.votes["agrees"].tolist() == [None, None]
    assert found.votes["share"][0] == pytest.approx(0.5)


def test_one_cluster_and_no_label():
    ensemble = Ensemble.from_labels([[0], [0]])
    found = explain(ensemble, [0, 0], 1)
    assert "the only one" in found.sentence
    assert "its confidence of 1 carries no information" in found.sentence
    assert (found.confidence, found.rival) == (1.0, -1)
    blank = Ensemble.from_labels([[0, 0], [1, 1], [-1, -1]])
    found = explain(blank, [0, 1, 1], 2)
    assert "no member labelled it" in found.sentence
    assert found.confidence == 0


def test_a_sample_that_every_member_leaves_alone():
    labels = np.array([[0, 0]] * 5 + [[1, 1]] * 5 + [[2, -1]])
    found = explain(Ensemble.from_labels(labels), [0] * 5 + [1] * 5 + [2], 10)
    assert found.sentence == (
        "Sample 10 is in cluster 2, but the one member that labelled it puts it with no other sample, "
        "so its confidence is 0. 1 member did not label it."
    )
    assert (found.confidence, found.attachment) == (0, 0)
    assert found.soft == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("ids", "asked", "message"),
    [
        (PEOPLE, "ana", "no sample with the id 'ana'; did you mean 'anna'"),
        (PEOPLE, "DORA!", "did you mean 'dora'"),
        (PEOPLE, "zzzzzz", "the ids look like 'anna', 'bob', 'cyril', ..."),
        (PEOPLE, 3, "no sample with the id 3"),
        ([10, 20, 30, 40], "1_0", "no sample with the id '1_0'"),
        (["c003", "c103", "c203", "c030"], "c03", "did you mean 'c003'?"),
        (["c003", "c103", "c203", "c030"], "c3", "did you mean 'c003'?"),
        (["north-0012", "south-0012", "a", "b"], "south12", "did you mean 'south-0012'"),
        (PEOPLE, "nobody", "the ids look like"),
        ([10, 20, 30, 40], 99, "the ids run from 10 to 40"),
        ([1001, 1002, 1003, 1004], "1005", "did you mean '100"),
        (None, 4, "a row number from 0 to 3"),
        (None, -1, "a row number from 0 to 3"),
        (None, "anna", "a row number from 0 to 3"),
        (None, 1.5, "row number"),
        (None, "anna", "for ids pass sample_ids, or a pandas frame with one unique name"),
    ],
)
def test_an_unknown_sample_gets_near_ones(ids, asked, message):
    ensemble = Ensemble.from_labels(LABELS, sample_ids=ids)
    with pytest.raises(SampleError) as caught:
        explain(ensemble, [0, 0, 1, 1], asked)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("ids", "asked", "expected"),
    [
        ([10, 20, 30, 40], 30, 30),
        # on a command line every id is text
        ([10, 20, 30, 40], "30", 30),
        (["7", "8", "9", "10"], 9, "9"),
        (np.array(["a", 5, 9, "d"], dtype=object), "9", 9),
        (np.array(["a", "5", "9", "d"], dtype=object), 9, "9"),
        (None, "2", 2),
        (None, np.int64(2), 2),
    ],
)
def test_numbers_and_text_find_the_same_sample(ids, asked, expected):
    ensemble = Ensemble.from_labels(LABELS, sample_ids=ids)
    assert explain(ensemble, [0, 0, 1, 1], asked).sample == expected
    assert explain(ensemble, [0, 0, 1, 1], asked).cluster == 1


def test_an_id_that_stands_twice_is_said():
    ensemble = people().subset([0, 1, 1, 2])
    assert "first of 2 samples with this id" in explain(ensemble, [0, 0, 0, 1], "bob").sentence


def test_many_samples_are_explained_quickly_and_near_ids_found():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 5, (2000, 10))
    n = 200_000
    ids = np.array([f"sample-{i:06d}" for i in range(n)])
    ensemble = Ensemble.from_labels(rows[rng.integers(0, 2000, n)], sample_ids=ids)
    votes = ClusterVotes.of(ensemble, ensemble.expand(np.arange(ensemble.n_microclusters) % 4))
    explanation(votes, ids[0])
    start = time.process_time()
    for i in range(20):
        explanation(votes, ids[i])
    assert (time.process_time() - start) / 20 < 0.1
    with pytest.raises(SampleError, match="did you mean 'sample-199"):
        explanation(votes, "sample-199x99")
    with pytest.raises(SampleError, match=r"did you mean 'sample-000007'\?"):
        explanation(votes, "sample-7")


def test_the_model_explains_too():
    model = EAC(2).fit(people())
    assert model.explain("cyril").sample == "cyril"
    with pytest.raises(SampleError, match="did you mean 'cyril'"):
        model.explain("cyrill")
