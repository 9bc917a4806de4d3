"""What the page's script reads equals what numpy and the result's own tables say."""

from __future__ import annotations

from base64 import b64decode

import numpy as np
import pytest

from coterie import EAC, Ensemble
from coterie.report import _sentences as sentences
from coterie.report._payload import payload, spread
from coterie.report._reading import Reading
from coterie.result import Result
from coterie.select import select_k
from tests.report.test_matrix import random_ensemble


def unpack(text, kind):
    return np.frombuffer(b64decode(text), dtype=f"<{kind}")


def full(size, text):
    values = np.zeros((size, size))
    values[np.triu_indices(size)] = unpack(text, "u1") / 255
    return np.maximum(values, values.T)


@pytest.fixture(scope="module")
def result():
    ensemble = random_ensemble(n=80, missing=0.2, seed=4)
    return Result.of(EAC(3).fit(ensemble))


def test_the_script_knows_whether_samples_may_be_called_sure(result):
    assert not result.verdict.reliable
    assert payload(Reading(result))["reliable"] is False
    agreed = np.repeat(np.arange(30)[:, None] % 3, 4, axis=1)
    assert payload(Reading(Result.of(EAC(3).fit(agreed))))["reliable"] is True


def test_every_vote_is_that_of_explain(result):
    given = payload(Reading(result))["samples"]
    micro = unpack(given["micro"], given["micro_kind"])
    codes = unpack(given["codes"], given["codes_kind"]).reshape(-1, result.ensemble.n_members)
    goes, share = unpack(given["goes"], "u2"), unpack(given["share"], "u2") / 65535
    assert given["count"] == len(micro) == 80
    for sample in range(80):
        told = result.explain(sample)
        unit = micro[sample]
        assert unpack(given["cluster"], "u2")[unit] == told.cluster
        assert unpack(given["rival"], "u2")[unit] == told.rival
        for name, value in [
            ("confidence", told.confidence),
            ("attachment", told.attachment),
            ("support", told.soft[told.cluster]),
            ("rival_support", told.soft[told.rival]),
        ]:
            assert unpack(given[name], "u2")[unit] / 65535 == pytest.approx(value, abs=1e-5)
        for j, vote in enumerate(told.votes.rows()):
            code = codes[unit, j]
            if vote["agrees"] is None:
                assert code == 255
                continue
            base = given["offsets"][j] + code
            tied = given["ties"].get(str(base), [])
            choice = told.cluster if told.cluster in tied else goes[base]
            assert choice == vote["goes_with"]
            assert share[base] == pytest.approx(vote["share"], abs=1e-5)
            assert given["labels"][base] == str(vote["label"])


def test_histograms_count_every_sample(result):
    counts = {entry["cluster"]: entry["counts"] for entry in payload(Reading(result))["confidence"]}
    for cluster in range(3):
        own = result.sample_confidence[result.labels == cluster]
        assert counts[cluster] == np.histogram(own, bins=20, range=(0, 1))[0].tolist()


def test_the_map_keeps_places_and_rows(result):
    given = payload(Reading(result))["map"]
    rows = unpack(given["row"], "u4")
    assert rows.tolist() == list(range(80))
    x, y = result.coordinates[rows].astype(float).T
    drawn = np.stack([unpack(given[axis], "u2") / 65535 for axis in "xy"], axis=1)
    # samples at the same position are drawn beside each other, not far from it
    assert len(np.unique(result.coordinates, axis=0)) < len(x)
    assert len(np.unique(drawn, axis=0)) == len(x)
    for axis, values in enumerate((x, y)):
        place = (values - values.min()) / np.ptp(values)
        np.testing.assert_allclose(drawn[:, axis], place, atol=0.06)
    assert (unpack(given["label"], "u2") == result.labels).all()


def test_samples_in_few_positions_do_not_overlap():
    spots = np.array([[0.0, 0.0], [0.01, 0.0], [1.0, 0.2], [0.4, 1.0]])
    at = np.repeat([0, 1, 2, 3], [20, 1, 60, 97])
    drawn = spread(spots[at], 0.8)
    assert drawn.min() >= 0
    assert drawn.max() <= 1
    between = np.linalg.norm((drawn[:, None] - drawn) * [1, 0.8], axis=2)
    np.fill_diagonal(between, 1)
    # dots of 6 pixels on a map of 600
    assert between.min() > 0.008
    assert np.abs(drawn - spots[at]).max() < 0.2
    assert np.array_equal(spread(spots, 0.8), spots)


def test_the_matrix_is_scaled_to_the_values_inside_clusters():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 200)
    labels = np.stack([50 * truth + rng.integers(0, 50, 400) for _ in range(40)], axis=1)
    given = payload(Reading(Result.of(EAC(2).fit(labels))))["matrix"]
    view = given["views"][0]
    assert 0.01 < view["top"] < 0.1
    assert view["above"]
    assert unpack(view["values"], "u1").max() == 255
    one = payload(Reading(Result.of(EAC(2).fit([[0, 0], [1, 1]]))))["matrix"]["views"][0]
    assert (one["top"], one["above"]) == (1.0, False)


def test_points_of_many_samples_keep_shares_and_small_clusters():
    labels = np.repeat([0, 1, 2], [30_000, 9_999, 1]).astype(np.int32)
    ensemble = Ensemble.from_labels(np.stack([labels, labels], axis=1))
    reading = Reading(Result.of(EAC(3).fit(ensemble)))
    drawn = reading.points
    assert 4900 < len(drawn) <= 5000
    assert len(np.unique(drawn)) == len(drawn)
    assert np.bincount(reading.result.labels[drawn]).tolist() == [3750, 1249, 1]
    # evenly over the rows of each cluster, not only its beginning
    assert np.abs(np.histogram(drawn[:3750], bins=10, range=(0, 30_000))[0] - 375).max() <= 10


def test_agreement_of_members(result):
    from coterie.trust import member_agreement

    given = payload(Reading(result))["agreement"]
    order = [result.ensemble.members.index(name) for name in given["members"]]
    assert sorted(order) == list(range(5))
    drawn = given["low"] + (1 - given["low"]) * full(5, given["values"])
    expected = member_agreement(result.ensemble)[np.ix_(order, order)]
    np.testing.assert_allclose(drawn, expected, atol=0.003)


def test_where_not_all_fit_the_least_sure_are_there(result):
    everything = payload(Reading(result))["samples"]
    given = payload(Reading(result), budget=1200)["samples"]
    rows = unpack(given["rows"], "u4")
    assert 0 < given["count"] == len(rows) < everything["count"]
    assert np.array_equal(rows, np.sort(rows))
    micro = unpack(given["micro"], given["micro_kind"])
    stored = unpack(given["confidence"], "u2")[micro] / 65535
    np.testing.assert_allclose(stored, result.sample_confidence[rows], atol=1e-5)
    assert result.sample_confidence.argmin() in rows
    assert payload(Reading(result), budget=10)["samples"] is None


def test_selection_and_tracking():
    from coterie.datasets import load
    from coterie.select import select_k

    blobs = load("blobs").X[::5]
    selection = select_k(blobs, k=range(2, 6), n_members=8, random_state=0)
    from coterie import ConsensusClustering

    model = ConsensusClustering(5, n_members=8, random_state=0).fit(blobs)
    given = payload(Reading(Result.of(model, X=blobs, selection=selection)))
    assert given["selection"]["ks"] == [2, 3, 4, 5]
    for entry in given["selection"]["criteria"]:
        values = np.array(entry["values"], dtype=float)
        np.testing.assert_allclose(values, selection.criteria[entry["name"]], rtol=1e-3)
    tracking = given["tracking"]
    for sizes, flows, after in zip(
        tracking["sizes"], tracking["flows"], tracking["sizes"][1:], strict=False
    ):
        table = np.zeros((len(sizes), len(after)), dtype=int)
        for source, target, weight in flows:
            table[source, target] = weight
        assert table.sum(axis=1).tolist() == sizes
        assert table.sum(axis=0).tolist() == after


def test_weights_count_as_repeated_samples():
    rng = np.random.default_rng(3)
    rows = np.unique(random_ensemble(n=30, seed=5).labels, axis=0)
    weight = rng.integers(1, 9, len(rows))
    repeated = Ensemble.from_labels(rows.repeat(weight, axis=0))
    both = []
    for ensemble in (Ensemble.from_labels(rows, sample_weight=weight), repeated):
        selection = select_k(ensemble, range(2, 5), solver=EAC(), random_state=0)
        both.append(Reading(Result.of(EAC(3).fit(ensemble), selection=selection)))
    one, other = both
    assert one.ensemble.total_count == other.ensemble.total_count == weight.sum()
    assert one.medians.tolist() == other.medians.tolist()
    assert sentences.tiles(one)[1:] == sentences.tiles(other)[1:]
    assert sentences.headline(one) == sentences.headline(other)
    assert "counted by weight" in sentences.by_weight(one)
    assert not sentences.by_weight(other)
    mine, theirs = payload(one), payload(other)
    for part in ("matrix", "confidence", "selection", "tracking", "agreement"):
        assert mine[part] == theirs[part], part
    assert mine["map"]["legend"] == theirs["map"]["legend"]
