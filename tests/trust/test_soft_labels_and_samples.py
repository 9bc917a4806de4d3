"""Soft labels and confidence: equal to literal loops, whatever is missing, weighed or repeated."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score

from coterie import EAC, LWEA, PCE, ConsensusClustering, Ensemble
from coterie.solvers.methods import all_methods, choose_method, find_method
from coterie.trust import ClusterVotes, diagnose_samples, soft_labels
from tests.naive import trust as naive
from tests.trust.partitions import partitions


@given(case=partitions(), data=st.data())
def test_soft_labels_equal_loops_over_samples(case, data):
    labels, partition = case
    weight = np.array(
        data.draw(st.lists(st.integers(1, 4), min_size=labels.shape[1], max_size=labels.shape[1])),
        dtype=float,
    )
    ensemble = Ensemble.from_labels(labels, member_weight=weight)
    c = partition.max() + 1
    expected = naive.soft_labels(labels, partition, c, weight)
    found = soft_labels(ensemble, partition)
    assert np.allclose(found, expected, atol=1e-12)
    assert np.allclose(found.sum(axis=1), 1)
    table = diagnose_samples(ensemble, partition)
    attached = naive.attachment(labels, partition, weight)
    sure = naive.confidence(labels, partition, expected, weight)
    assert np.allclose(table["attachment"], attached, atol=1e-12)
    assert np.allclose(table["confidence"], sure, atol=1e-9)
    rows = np.arange(len(labels))
    assert np.array_equal(table["cluster"], partition)
    assert np.allclose(table["support"], expected[rows, partition])
    if c > 1:
        assert (table["rival"] != partition).all()
        assert np.allclose(table["rival_support"], expected[rows, table["rival"]])
        others = expected.copy()
        others[rows, partition] = -1
        assert np.allclose(table["rival_support"], others.max(axis=1))
    else:
        assert (table["rival"] == -1).all()


@given(case=partitions())
def test_blocks_and_sparse_shares_change_nothing(case):
    labels, partition = case
    ensemble = Ensemble.from_labels(labels)
    whole = ClusterVotes.of(ensemble, partition)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("coterie.trust.votes.BLOCK_VALUES", 1)
        blocks = ClusterVotes.of(ensemble, partition)
        assert np.array_equal(whole.soft(), blocks.soft())
        assert np.array_equal(whole.confidence, blocks.confidence)


def test_confidence_follows_from_the_columns():
    rng = np.random.default_rng(5)
    labels = rng.integers(-1, 3, (60, 6))
    labels[:, 0] = rng.integers(0, 3, 60)
    model = EAC(4).fit(labels)
    table = diagnose_samples(model.ensemble_, model.labels_)
    lead = np.maximum(1 - table["rival_support"] / table["support"], 0)
    assert np.allclose(table["confidence"], lead * table["attachment"] ** 0.25, atol=1e-15)
    # most are attached as is usual or better, and not all of them
    assert 30 <= (table["attachment"] == 1).sum() < 60
    of_model = model.diagnose_samples()
    assert np.allclose(of_model["confidence"], table["confidence"] * model.verdict_.share)
    assert np.array_equal(of_model["support"], table["support"])


def test_a_sample_that_no_other_cluster_wants_is_unsure_if_its_own_hardly_does():
    # the last sample is alone in three of four members
    labels = np.array([[0, 0, 0, 0]] * 8 + [[1, 1, 1, 1]] * 6 + [[1, 2, 2, 2]])
    table = diagnose_samples(Ensemble.from_labels(labels), [0] * 8 + [1] * 7)
    assert (table["rival_support"] == 0).all()
    # one member of four puts it with its six fellows; it is not company for itself
    cohesion = 1 / 4
    assert table["attachment"][-1] == pytest.approx(cohesion)
    assert table["confidence"][-1] == pytest.approx(cohesion**0.25)
    assert table["attachment"][8:14] == pytest.approx((4 * 5 + 1) / (4 * 6))
    # what is usual is to be always with the own cluster, as the larger half is
    assert (table["confidence"][:8] == 1).all()


@given(case=partitions(), data=st.data())
def test_a_weight_is_so_many_samples_to_the_last_digit(case, data):
    labels, partition = case
    n = len(labels)
    repeats = np.array(data.draw(st.lists(st.integers(1, 4), min_size=n, max_size=n)))
    weighted = diagnose_samples(Ensemble.from_labels(labels, sample_weight=repeats), partition)
    rows = np.repeat(np.arange(n), repeats)
    repeated = diagnose_samples(Ensemble.from_labels(labels[rows]), partition[rows])
    for column in ("attachment", "confidence"):
        assert np.array_equal(weighted[column][rows], repeated[column])


def test_no_order_of_members_samples_or_clusters_changes_a_digit():
    rng = np.random.default_rng(6)
    labels = rng.integers(-1, 4, (50, 9))
    labels[:, 0] = rng.integers(0, 4, 50)
    weight, count = rng.random(9) + 0.5, rng.random(50) + 0.5
    partition = rng.permutation(np.r_[np.arange(5), rng.integers(0, 5, 45)])
    plain = Ensemble.from_labels(labels, member_weight=weight, sample_weight=count)
    found = diagnose_samples(plain, partition)
    for _ in range(5):
        rows, columns, names = rng.permutation(50), rng.permutation(9), rng.permutation(5)
        turned = Ensemble.from_labels(
            labels[np.ix_(rows, columns)], member_weight=weight[columns], sample_weight=count[rows]
        )
        other = diagnose_samples(turned, names[partition[rows]])
        for column in ("attachment", "confidence"):
            assert np.array_equal(found[column][rows], other[column])


def test_a_weight_of_two_is_a_sample_given_twice():
    labels = np.array([[0, 0], [0, 1], [1, 1], [1, 0]])
    partition = np.array([0, 0, 1, 1])
    weight = [1, 2, 3, 1]
    one = soft_labels(Ensemble.from_labels(labels, sample_weight=weight), partition)
    rows = np.repeat(np.arange(4), weight)
    other = soft_labels(Ensemble.from_labels(labels[rows]), partition[rows])
    assert np.allclose(one[rows], other)


def test_a_sample_without_any_label_is_uniform_and_has_no_confidence():
    ensemble = Ensemble.from_labels([[0, 0], [1, 1], [-1, -1]])
    assert soft_labels(ensemble, [0, 1, 1])[2].tolist() == [0.5, 0.5]
    assert diagnose_samples(ensemble, [0, 1, 1])["confidence"].tolist()[2] == 0
    assert diagnose_samples(ensemble, [0, 0, 0])["confidence"].tolist() == [1, 1, 0]
    # it has no part in what is usual, and neither have those without company
    assert diagnose_samples(ensemble, [0, 1, 1])["attachment"].tolist() == [0, 0, 0]
    twice = Ensemble.from_labels([[0, 0]] * 2 + [[1, 1]] * 2 + [[-1, -1]])
    assert diagnose_samples(twice, [0, 0, 1, 1, 1])["attachment"].tolist() == [1, 1, 1, 1, 0]


def test_two_samples_that_one_member_heard_alone():
    # 90 % right: with two samples more, these methods only set the two apart
    rng = np.random.default_rng(0)
    truth = np.arange(300) % 3
    labels = np.where(rng.random((300, 10)) < 0.1, rng.integers(3, size=(300, 10)), truth[:, None])
    labels[298:] = -1
    labels[298, 0], labels[299, 1] = 7, 8
    for model in (LWEA(3), EAC(3), find_method("spce")(3), find_method("lwgp")(3, random_state=0)):
        model.fit(labels)
        assert sorted(np.bincount(model.labels_).tolist()) == [1, 1, 298]
        assert model.sample_confidence_[298:].tolist() == [0, 0]
        assert model.soft_labels()[298:] == pytest.approx(1 / 3)
        verdict = model.verdict_
        assert not verdict.reliable
        assert verdict.doubts == ("It only sets 2 of 300 samples apart from the rest.",)
        assert verdict.text.endswith("Look at rows 298, 299.")
        assert "puts it with no other sample" in model.explain(298).sentence
    # the default for missing labels keeps the three clusters
    assert choose_method(model.ensemble_, 3).name == "pce"
    kept = PCE(3, random_state=0).fit(labels)
    assert adjusted_rand_score(truth[:298], kept.labels_[:298]) > 0.95
    assert kept.sample_confidence_[298:].tolist() == [0, 0]
    assert kept.verdict_.doubts == ()


def test_fewer_members_are_less_sure():
    # both samples go with the first cluster whenever they are labelled
    labels = np.array([[0] * 8] * 10 + [[1] * 8] * 10 + [[0] * 8, [0] + [-1] * 7])
    table = diagnose_samples(Ensemble.from_labels(labels), [0] * 10 + [1] * 10 + [0, 0])
    assert table["attachment"][[20, 21]].tolist() == [1, 1 / 8]
    assert table["confidence"][[20, 21]] == pytest.approx([1, (1 / 8) ** 0.25])


@pytest.mark.parametrize("name", sorted(all_methods()))
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_every_solver_says_how_sure_it_is(name):
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 30)
    labels = np.where(rng.random((90, 8)) < 0.2, rng.integers(0, 3, (90, 8)), truth[:, None])
    model = find_method(name)(3, random_state=0)
    with pytest.raises(NotFittedError):
        model.soft_labels()
    model.fit(labels)
    assert model.soft_labels().shape == (90, 3)
    assert np.allclose(model.soft_labels().sum(axis=1), 1)
    assert (model.soft_labels().argmax(axis=1) == model.labels_).mean() > 0.9
    assert np.array_equal(model.diagnose_samples()["cluster"], model.labels_)
    weight_of = {row["member"]: row["weight"] for row in model.diagnose_members().rows()}
    in_order = [weight_of[member] for member in model.ensemble_.members]
    assert in_order == pytest.approx(model.member_weights_)
    assert model.diagnose_clusters()["size"].sum() == 90
    assert model.explain(5).cluster == model.labels_[5]
    assert np.array_equal(model.diagnose_samples()["confidence"], model.sample_confidence_)
    assert model.explain(5).confidence == pytest.approx(model.sample_confidence_[5])


def test_features_in_trust_out():
    rng = np.random.default_rng(1)
    X = np.concatenate([rng.normal(0, 0.3, (40, 2)), rng.normal(3, 0.3, (40, 2))])
    model = ConsensusClustering(2, n_members=6, random_state=0)
    with pytest.raises(NotFittedError):
        model.soft_labels()
    model.fit(X)
    assert (model.soft_labels().argmax(axis=1) == model.labels_).all()
    assert len(model.diagnose_members()) == 6
    assert len(model.diagnose_clusters()) == 2
    assert len(model.diagnose_samples()) == 80
    assert model.explain(3).sample == 3


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1], "one whole number for each of the 3 samples"),
        ([0.0, 0.0, 1.0], "whole number"),
        ([0, 1, 1], r"differ between samples that every member puts together \(row 0\)"),
        ([0, 0, 2], "without gaps"),
        ([-1, -1, 0], "without gaps"),
    ],
)
def test_what_is_no_partition_is_refused(labels, message):
    ensemble = Ensemble.from_labels([[0, 0], [0, 0], [1, 1]])
    with pytest.raises(ValueError, match=message):
        soft_labels(ensemble, labels)


def test_confidence_is_low_where_members_disagree_and_points_at_errors():
    rng = np.random.default_rng(3)
    truth = np.repeat([0, 1], 100)
    hard = np.zeros(200, dtype=bool)
    hard[::10] = True
    flip = rng.random((200, 15)) < np.where(hard, 0.45, 0.03)[:, None]
    model = EAC(2).fit(np.where(flip, 1 - truth[:, None], truth[:, None]))
    of_votes = diagnose_samples(model.ensemble_, model.labels_)["confidence"]
    assert of_votes[hard].mean() < 0.6 < 0.8 < of_votes[~hard].mean()
    assert np.allclose(model.sample_confidence_, of_votes * model.verdict_.share)


def test_confidence_detects_errors_on_a_real_pool(shared_data):
    pool = np.load(shared_data / "pools" / "aggregation.npz")
    columns = np.random.default_rng(0).choice(pool["members"].shape[1], 20, replace=False)
    truth = pool["gt"].ravel()
    model = EAC(len(np.unique(truth))).fit(pool["members"][:, columns])
    from scipy.optimize import linear_sum_assignment
    from sklearn.metrics import roc_auc_score
    from sklearn.metrics.cluster import contingency_matrix

    table = contingency_matrix(truth, model.labels_)
    classes, clusters = linear_sum_assignment(table, maximize=True)
    match = np.unique(truth)[classes[np.argsort(clusters)]]
    wrong = match[model.labels_] != truth
    assert roc_auc_score(wrong, -model.sample_confidence_) > 0.85
