"""The compressed ensemble itself: its parts, the ensembles made from it, and Python's manners."""

from __future__ import annotations

import dataclasses
import pickle

import numpy as np
import pytest

from coterie import EAC, LWGP, SPCE, Ensemble, LabelError
from coterie.ensemble import compress
from tests.naive.rows import as_given, distinct, same_partition

T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])


def test_the_parts_of_a_small_one():
    ensemble = Ensemble.from_labels(T6)
    assert (ensemble.n_samples, ensemble.n_members, ensemble.n_microclusters) == (6, 3, 3)
    assert ensemble.weights.tolist() == [3, 2, 1]
    assert ensemble.inverse.tolist() == [1, 1, 2, 0, 0, 0]
    assert ensemble.labels.tolist() == [[0, 0, 0], [1, 1, 1], [1, 0, 1]]
    assert ensemble.n_clusters_per_member.tolist() == [2, 2, 2]
    assert ensemble.cluster_offsets.tolist() == [0, 2, 4, 6]
    assert ensemble.n_base_clusters == 6
    assert ensemble.cluster_sizes.tolist() == [3, 3, 4, 2, 3, 3]
    assert ensemble.is_complete
    assert ensemble.sample_ids is None
    assert [values.tolist() for values in ensemble.categories] == [[1, 0], [1, 0], [1, 0]]


def test_views_by_microcluster_and_by_base_cluster():
    ensemble = Ensemble.from_labels([[0, 5], [0, -1], [1, 6]], member_weight=[2.0, 3.0])
    assert ensemble.sizes.dtype == np.float64
    assert np.array_equal(ensemble.sizes, ensemble.weights)
    assert np.array_equal(ensemble.observed, ensemble.labels >= 0)
    assert np.array_equal(ensemble.observed_weight, ensemble.observed @ [2.0, 3.0])
    assert ensemble.cluster_starts.tolist() == [0, 2]
    assert ensemble.member_of_cluster.tolist() == [0, 0, 1, 1]
    assert ensemble.weight_of_cluster.tolist() == [2.0, 2.0, 3.0, 3.0]
    for row, clusters in zip(ensemble.incidence.toarray(), ensemble.base_clusters, strict=True):
        assert np.flatnonzero(row).tolist() == clusters[clusters >= 0].tolist()
    for name in ("sizes", "observed", "observed_weight", "member_of_cluster", "weight_of_cluster"):
        assert not getattr(ensemble, name).flags.writeable


def test_views_neither_change_equality_nor_travel_in_a_pickle():
    ensemble, other = Ensemble.from_labels(T6), Ensemble.from_labels(T6)
    before = pickle.dumps(ensemble)
    assert ensemble.sizes.sum() == 6.0
    assert ensemble.incidence.shape == (3, 6)
    assert ensemble == other
    assert pickle.dumps(ensemble) == before
    assert dataclasses.replace(ensemble, weights=2 * ensemble.weights).sizes.sum() == 12.0


def test_the_order_of_members_is_the_same_however_the_ensemble_was_made():
    labels = np.random.default_rng(0).integers(0, 3, (40, 6))
    ensemble = Ensemble.from_labels(labels, sample_weight=np.linspace(0.5, 2.0, 40))
    again = pickle.loads(pickle.dumps(ensemble))
    assert "canonical_member_order" not in vars(again)
    assert np.array_equal(again.canonical_member_order, ensemble.canonical_member_order)
    some = ensemble.subset(slice(0, 5))
    assert np.array_equal(
        pickle.loads(pickle.dumps(some)).canonical_member_order, some.canonical_member_order
    )


def test_incidence_is_one_hot_with_empty_places_for_missing_labels():
    ensemble = Ensemble.from_labels([[0, 5], [0, -1], [1, 6]])
    dense = ensemble.incidence.toarray()
    for u, row in enumerate(ensemble.labels):
        expected = np.zeros(4)
        for j, label in enumerate(row):
            if label >= 0:
                expected[ensemble.cluster_offsets[j] + label] = 1
        assert dense[u].tolist() == expected.tolist()
    assert not ensemble.is_complete


def test_microclusters_come_from_the_heaviest_down():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, (400, 3))
    ensemble = Ensemble.from_labels(labels)
    assert (np.diff(ensemble.weights) <= 0).all()
    groups = distinct(labels)
    assert ensemble.n_microclusters == len(groups)
    for samples in groups.values():
        (microcluster,) = {int(ensemble.inverse[i]) for i in samples}
        assert ensemble.weights[microcluster] == len(samples)


def test_rounding_of_weights_does_not_order_microclusters():
    # 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in the last digit
    labels = np.array([[0, 0]] * 3 + [[1, 1]] * 3 + [[0, 2]])
    rising, falling = [0.1, 0.2, 0.3], [0.3, 0.2, 0.1]
    one = Ensemble.from_labels(labels, sample_weight=[*rising, *falling, 0.1])
    other = Ensemble.from_labels(labels, sample_weight=[*falling, *rising, 0.1])
    assert one.inverse.tolist() == other.inverse.tolist()


@pytest.mark.parametrize("total", [2**40, 2**40 + 4, 2**41, 2**41 + 4, 2**90])
def test_weights_are_halved_until_they_can_be_added_exactly(total):
    ensemble = Ensemble.from_labels([[0], [1]], sample_weight=[total / 4, 3 * total / 4])
    fewer = ensemble.with_fewer_copies()
    if total <= 2**40:
        assert fewer is ensemble
    assert 2**39 < fewer.weights.sum() <= 2**40
    halvings = np.log2(ensemble.weights / fewer.weights)
    assert halvings[0] == halvings[1] == round(halvings[0])


@pytest.mark.parametrize("chunk", [1, 7, 64])
def test_chunks_of_any_size_give_the_same(monkeypatch, chunk):
    rng = np.random.default_rng(1)
    labels = rng.integers(-1, 4, (200, 4))
    labels[:, 0] = rng.integers(0, 3, 200)
    whole = Ensemble.from_labels(labels)
    monkeypatch.setattr(compress, "CHUNK_LABELS", chunk)
    assert Ensemble.from_labels(labels) == whole
    assert Ensemble.from_labels(labels.astype(float)) == whole


def test_more_distinct_rows_than_the_first_table_holds():
    labels = np.stack([np.arange(5000) // 70, np.arange(5000) % 70], axis=1)
    ensemble = Ensemble.from_labels(labels)
    assert ensemble.n_microclusters == 5000
    assert as_given(ensemble) == labels.T.tolist()


# ---------------------------------------------------------------- expand


def test_expand_copies_to_samples():
    ensemble = Ensemble.from_labels(T6)
    assert ensemble.expand([7, 8, 9]).tolist() == [8, 8, 9, 7, 7, 7]
    assert ensemble.expand(np.eye(3)).shape == (6, 3)
    assert np.array_equal(ensemble.expand(ensemble.weights), [2, 2, 1, 3, 3, 3])


@pytest.mark.parametrize("values", [[1, 2], 5, np.zeros((6, 1))])
def test_expand_wants_a_row_per_microcluster(values):
    with pytest.raises(ValueError, match=r"one row per microcluster \(3\), but has shape"):
        Ensemble.from_labels(T6).expand(values)


# ---------------------------------------------------------------- select, subset, concat


def test_select_by_name_position_and_mask():
    ensemble = Ensemble.from_labels(T6, names=["a", "b", "c"], member_weight=[1, 2, 3])
    only_b = Ensemble.from_labels(T6[:, [1]], names=["b"], member_weight=[2])
    for way in (["b"], "b", [1], 1, [-2], np.array([1]), np.int64(1), [False, True, False]):
        assert ensemble.select(way) == only_b
    assert ensemble.select(["c", 0]).members == ("c", "a")
    assert ensemble.select([0, 1, 2]) == ensemble


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([], "members is empty"),
        (["a", "a"], "a member is given twice"),
        (["a", 0], "a member is given twice"),
        (["z"], "no member 'z'; the members are a, b, c"),
        ([3], "no member 3; there are 3, counted from 0"),
        ([0.5], "no member 0.5"),
        ([True, False], "the mask has 2 entries for 3 members"),
        ([False, False, False], "members is empty"),
    ],
)
def test_select_refuses(members, message):
    with pytest.raises(LabelError, match=message):
        Ensemble.from_labels(T6, names=["a", "b", "c"]).select(members)


def test_select_that_leaves_a_sample_without_labels():
    ensemble = Ensemble.from_labels([[0, -1], [0, 1]])
    assert ensemble.select([1]).blank_samples().tolist() == [0]


def test_subset_by_positions_mask_and_slice():
    ensemble = Ensemble.from_labels(T6, sample_weight=[1, 2, 3, 4, 5, 6], sample_ids=list("uvwxyz"))
    expected = Ensemble.from_labels(T6[[1, 2, 3]], sample_weight=[2, 3, 4], sample_ids=list("vwx"))
    mask = np.array([False, True, True, True, False, False])
    for rows in ([1, 2, 3], np.array([1, 2, 3]), slice(1, 4), mask, mask.tolist()):
        assert ensemble.subset(rows) == expected
    assert ensemble.subset([5, 0, 0]).sample_ids.tolist() == ["z", "u", "u"]
    assert ensemble.subset(slice(None)) == ensemble


def test_subset_drops_clusters_that_nobody_is_left_in():
    part = Ensemble.from_labels([[0, 0], [1, 0], [2, 1]]).subset([0, 2])
    assert part.n_clusters_per_member.tolist() == [2, 2]
    assert as_given(part) == [[0, 2], [0, 1]]


@pytest.mark.parametrize("rows", [[], slice(0), np.zeros(6, dtype=bool)])
def test_subset_refuses_nothing(rows):
    with pytest.raises(LabelError, match="subset: rows selects no sample"):
        Ensemble.from_labels(T6).subset(rows)


def test_subset_that_leaves_a_member_without_labels():
    with pytest.raises(LabelError, match="1 member without any label: 'member_1'"):
        Ensemble.from_labels([[0, -1], [0, 1]]).subset([0])


def test_concat_puts_members_side_by_side():
    left = Ensemble.from_labels(T6[:, :2], member_weight=[1, 2])
    right = Ensemble.from_labels(T6[:, 2:], sample_ids=list("uvwxyz"))
    both = left.concat(right)
    assert both.members == ("member_0", "member_1", "member_0_2")
    assert both.member_weight.tolist() == [1, 2, 1]
    assert both.sample_ids.tolist() == list("uvwxyz")
    assert as_given(both) == T6.T.tolist()


def test_concat_takes_weights_and_ids_from_whichever_has_them():
    bare = Ensemble.from_labels(T6[:, :2])
    told = Ensemble.from_labels(
        T6[:, 2:], sample_weight=[1, 2, 3, 4, 5, 6], sample_ids=list("uvwxyz")
    )
    for both in (bare.concat(told), told.concat(bare), told.concat(told)):
        assert both.sample_weight.tolist() == [1, 2, 3, 4, 5, 6]
        assert both.sample_ids.tolist() == list("uvwxyz")
        assert both.weights.sum() == 21


def test_concat_refuses_what_does_not_fit():
    ensemble = Ensemble.from_labels(T6, sample_ids=range(6), sample_weight=np.ones(6))
    with pytest.raises(LabelError, match="this ensemble has 6 samples, but other has 5"):
        ensemble.concat(Ensemble.from_labels(T6[:5]))
    with pytest.raises(LabelError, match="the sample ids differ; join by id with from_tables"):
        ensemble.concat(Ensemble.from_labels(T6, sample_ids=range(1, 7)))
    with pytest.raises(LabelError, match="the sample weights differ"):
        ensemble.concat(Ensemble.from_labels(T6, sample_weight=np.arange(1, 7)))


def test_reordering_members_leaves_microclusters_alone():
    ensemble = Ensemble.from_labels(T6, names=["a", "b", "c"], member_weight=[1, 2, 3])
    turned = ensemble.reorder_members(np.array([2, 0, 1]))
    assert turned.members == ("c", "a", "b")
    assert turned.member_weight.tolist() == [3, 1, 2]
    assert np.array_equal(turned.labels, ensemble.labels[:, [2, 0, 1]])
    assert np.array_equal(turned.inverse, ensemble.inverse)


# ---------------------------------------------------------------- Python's manners


def test_repr():
    assert repr(Ensemble.from_labels(T6)) == (
        "Ensemble(6 samples, 3 members, 3 microclusters, 6 base clusters, no label missing)"
    )
    assert repr(Ensemble.from_labels([[0, -1], [0, 1], [0, 1]])) == (
        "Ensemble(3 samples, 2 members, 2 microclusters, 2 base clusters, 17 % of labels missing)"
    )
    assert repr(Ensemble.from_labels(np.zeros((2500, 1), int))) == (
        "Ensemble(2,500 samples, 1 member, 1 microcluster, 1 base cluster, no label missing)"
    )


def test_equality_is_about_partitions_names_weights_and_ids():
    ensemble = Ensemble.from_labels(T6)
    assert ensemble == Ensemble.from_labels(T6)
    assert ensemble == Ensemble.from_labels(np.array(["x", "y"])[T6])
    assert ensemble != Ensemble.from_labels(T6[::-1])
    assert ensemble != Ensemble.from_labels(T6, names=["a", "b", "c"])
    assert ensemble != Ensemble.from_labels(T6, sample_weight=np.ones(6))
    assert ensemble != Ensemble.from_labels(T6, member_weight=[1, 1, 2])
    assert ensemble != Ensemble.from_labels(T6, sample_ids=range(6))
    assert ensemble != "an ensemble"
    assert same_partition(ensemble.inverse, Ensemble.from_labels(T6).inverse)


def test_an_ensemble_is_not_hashable():
    with pytest.raises(TypeError, match="unhashable"):
        hash(Ensemble.from_labels(T6))


def test_nothing_can_be_changed():
    ensemble = Ensemble.from_labels(T6, sample_weight=np.ones(6), sample_ids=range(6))
    with pytest.raises(dataclasses.FrozenInstanceError):
        ensemble.labels = T6
    for array in (
        ensemble.labels,
        ensemble.weights,
        ensemble.inverse,
        ensemble.member_weight,
        ensemble.sample_weight,
        ensemble.sample_ids,
        *ensemble.categories,
    ):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_arrays_of_the_user_stay_writeable():
    weight, ids = np.ones(6), np.arange(6)
    Ensemble.from_labels(T6, sample_weight=weight, member_weight=weight[:3], sample_ids=ids)
    weight[0], ids[0] = 2, 9


def test_pickling():
    ensemble = Ensemble.from_labels(
        [["x", 1], ["y", None]], sample_weight=[1.5, 2], sample_ids=["a", "b"]
    )
    assert ensemble.incidence.shape == (2, 3)
    again = pickle.loads(pickle.dumps(ensemble))
    assert again == ensemble
    assert as_given(again) == as_given(ensemble)
    assert not again.labels.flags.writeable


def test_samples_without_a_label_keep_their_place_and_change_no_other():
    labels = np.array([[0, 1], [-1, -1], [1, -1], [0, 0], [-1, -1], [1, 1]])
    ensemble = Ensemble.from_labels(
        labels, sample_ids=[*"abcdef"], sample_weight=[1, 5, 2, 1, 1, 1]
    )
    assert ensemble.blank_samples().tolist() == [1, 4]
    kept = [0, 2, 3, 5]
    labelled = Ensemble.from_labels(labels[kept], sample_ids=[*"acdf"], sample_weight=[1, 2, 1, 1])
    assert ensemble.without_blank == labelled
    assert labelled.without_blank is labelled
    values = np.arange(labelled.n_microclusters)
    of_samples = ensemble.expand(ensemble.with_blank(values))
    assert of_samples[[1, 4]].tolist() == [-1, -1]
    assert of_samples[kept].tolist() == labelled.expand(values).tolist()


@pytest.mark.parametrize("method", [EAC, SPCE, LWGP])
def test_noise_has_a_row_in_every_fitted_attribute(method):
    labels = np.array([[0, 0, 0]] * 5 + [[1, 1, 0]] * 4 + [[-1, -1, -1]] * 3 + [[1, 1, 1]] * 2)
    model = method(2).fit(labels)
    assert model.labels_.tolist() == [0] * 5 + [1] * 4 + [-1] * 3 + [1] * 2
    assert model.component_labels_[9:12].tolist() == [-1] * 3
    size = model.ensemble_.n_microclusters
    assert size == 4
    for name in ("consensus_matrix_", "embedding_"):
        assert len(getattr(model, name, range(size))) == size
    if method is SPCE:
        noise = int(model.ensemble_.inverse[9])
        assert not model.consensus_matrix_[noise].any()
        assert model.sample_easiness_[9:12].tolist() == [0, 0, 0]
