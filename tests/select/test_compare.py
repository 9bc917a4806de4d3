"""Choosing k: what is found on blobs, noise and digits, and what the user can ask for."""

import json
import warnings
from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from coterie import EAC, LWEA, ConsensusClustering, Ensemble, ParameterError
from coterie.generate import kmeans_pool
from coterie.select import Selection, compare, select_k

CENTRES = {
    2: [[0, 0], [9, 0]],
    3: [[0, 0], [9, 0], [4, 8]],
    5: [[0, 0], [9, 0], [4, 8], [-6, 7], [14, 8]],
}


def blobs(k, n=200, seed=0):
    return make_blobs(n, centers=CENTRES[k], cluster_std=0.9, random_state=seed)


def noise(n, d, seed):
    return np.random.default_rng(seed).random((n, d))


@pytest.fixture(scope="module")
def five():
    X, y = blobs(5)
    return kmeans_pool(X, 12, random_state=0), y


@pytest.fixture(scope="module")
def selection(five):
    return select_k(five[0], resamples=10, random_state=0)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("sizes", ["sqrt", 8])
def test_finds_the_blobs_of_an_ensemble(k, sizes):
    X, y = blobs(k, seed=k)
    found = select_k(kmeans_pool(X, 12, sizes, random_state=1), resamples=10, random_state=1)
    assert (found.recommended, found.structure) == (k, True)
    assert adjusted_rand_score(y, found.labels_at(k)) > 0.98


def test_finds_the_blobs_of_features():
    X, y = blobs(5, seed=4)
    found = select_k(X, range(2, 9), n_members=12, resamples=10, random_state=0)
    assert found.recommended == 5
    assert found.p_value < 0.05
    assert 5 in found.supported
    assert adjusted_rand_score(y, found.labels_at(5)) > 0.98


@pytest.mark.parametrize(("d", "sizes"), [(2, "sqrt"), (2, 10), (8, "sqrt"), (8, 5)])
def test_claims_nothing_about_an_ensemble_of_noise(d, sizes):
    ensemble = kmeans_pool(noise(250, d, 3), 12, sizes, random_state=3)
    found = select_k(ensemble, resamples=10, random_state=3)
    assert (found.recommended, found.structure) == (1, False)
    assert found.p_value > 0.05
    assert found.supported == ()
    assert str(found).startswith("No structure was found")


def test_claims_nothing_about_features_of_noise():
    found = select_k(noise(200, 4, 1), range(2, 7), n_members=12, resamples=10, random_state=1)
    assert (found.recommended, found.structure) == (1, False)


def test_the_record_is_complete(selection, five):
    ensemble, y = five
    assert selection.ks.tolist() == list(range(2, 11))
    assert selection.recommended == 5
    assert selection.recommended in selection.supported
    for values in selection.criteria.values():
        assert values.shape == (9,)
    assert selection.cdf.shape == (9, len(selection.cdf_grid))
    assert (np.diff(selection.cdf, axis=1) >= -1e-12).all()
    assert np.allclose(selection.cdf[:, -1], 1)
    assert selection.labels.shape == (9, ensemble.n_samples)
    assert selection.labels.dtype == np.int32
    assert [len(np.unique(row)) for row in selection.labels] == list(range(2, 11))
    assert adjusted_rand_score(y, selection.labels[3]) > 0.98
    assert np.array_equal(selection.delta_area, selection.criteria["delta_area"])


def test_table_has_a_row_a_k_and_marks_one(selection):
    table = selection.table()
    assert table["k"].tolist() == selection.ks.tolist()
    assert table["recommended"].sum() == 1
    assert sum(kinds != "" for kinds in table["evidence"]) == len(selection.supported)
    assert {"stability", "crossing", "pac"} <= set(table.columns)


def test_text_fits_a_terminal(selection):
    lines = str(selection).splitlines()
    assert lines[0].startswith("5 clusters")
    assert max(map(len, lines)) <= 80
    assert any(line.split()[0] == "5*" for line in lines if line.strip())


def test_record_survives_a_file(selection, tmp_path):
    record = selection.to_record()
    arrays = {name: value for name, value in record.items() if isinstance(value, np.ndarray)}
    plain = {name: value for name, value in record.items() if name not in arrays}
    np.savez(tmp_path / "arrays.npz", **arrays)
    with np.load(tmp_path / "arrays.npz") as stored:
        again = Selection.from_record({**json.loads(json.dumps(plain)), **dict(stored.items())})
    assert str(again) == str(selection)
    assert again.supported == selection.supported
    assert again.p_value == selection.p_value
    assert again.notes == selection.notes
    assert np.array_equal(again.labels, selection.labels)
    assert list(again.criteria) == list(selection.criteria)


def test_record_cut_short_is_refused(selection):
    record = selection.to_record()
    del record["cdf"]
    with pytest.raises(ValueError, match="lacks cdf"):
        Selection.from_record(record)


def test_same_seed_same_selection_whatever_the_order_and_the_threads(five, selection):
    ensemble, _ = five
    labels = ensemble.expand(ensemble.labels)
    rng = np.random.default_rng(5)
    rows, columns = rng.permutation(len(labels)), rng.permutation(labels.shape[1])
    shuffled = Ensemble.from_labels(labels[np.ix_(rows, columns)])
    again = select_k(shuffled, resamples=10, random_state=0, n_jobs=2)
    assert again.recommended == selection.recommended
    for name, values in selection.criteria.items():
        assert np.array_equal(again.criteria[name], values), name
    for one, other in zip(selection.labels[:, rows], again.labels, strict=True):
        assert adjusted_rand_score(one, other) == 1


def test_more_rows_than_are_used_say_so(monkeypatch):

    monkeypatch.setattr(compare, "MAX_ROWS", 100)
    X, y = blobs(5, 600, seed=1)
    ensemble = kmeans_pool(X, 16, random_state=0)
    assert ensemble.n_microclusters > 100
    found = select_k(ensemble, resamples=10, random_state=0)
    assert found.recommended == 5
    assert "100 of 600 samples" in found.notes[-1]
    # the samples left out join the clusters of the others
    assert adjusted_rand_score(y, found.labels_at(5)) > 0.98


def test_another_solver_makes_the_partitions(five):
    ensemble, _ = five
    found = select_k(ensemble, [4, 5], solver=EAC(linkage="single"), resamples=4, random_state=0)
    expected = EAC(n_clusters=4, linkage="single").fit_predict(ensemble)
    assert adjusted_rand_score(found.labels[0], expected) == 1
    by_name = select_k(ensemble, [4, 5], solver="lwea", resamples=4, random_state=0)
    assert adjusted_rand_score(by_name.labels[0], LWEA(4).fit_predict(ensemble)) == 1


class Grumbling(EAC):
    """Says that it did not converge wherever k is not ``content``."""

    content = 5

    def _solve(self, ensemble, rng):
        if self.n_clusters != self.content:
            warnings.warn(f"no luck with {self.n_clusters}", ConvergenceWarning, stacklevel=2)
        if self.n_clusters == 4:
            warnings.warn("something else", UserWarning, stacklevel=2)
        return super()._solve(ensemble, rng)


class GrumblingAtFive(Grumbling):
    content = 4


def test_a_solver_that_does_not_converge_matters_at_the_recommended_k_only():
    ensemble = Ensemble.from_labels(np.repeat(np.repeat(range(5), 4)[:, None], 6, axis=1))
    with pytest.warns(UserWarning, match="something else") as caught:
        found = select_k(ensemble, [4, 5], solver=Grumbling(), criteria="lifetime", random_state=0)
    assert not any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    assert found.recommended == 5
    assert found.notes == ()
    with pytest.warns(UserWarning, match="something else") as caught:
        found = select_k(
            ensemble, [4, 5], solver=GrumblingAtFive(), criteria="lifetime", random_state=0
        )
    assert not any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    assert found.recommended == 5
    assert found.notes == ("At k = 5 the solver did not converge. no luck with 5",)


def test_one_member_says_what_cannot_be_computed():
    ensemble = Ensemble.from_labels(np.repeat([0, 1, 2], 10)[:, None])
    found = select_k(ensemble, [2, 3], random_state=0)
    assert found.recommended == 3
    assert np.isnan(found.criteria["stability"]).all()
    assert np.isnan(found.criteria["pac"]).all()
    assert found.criteria["lifetime"].tolist() == [0.0, 1.0]
    assert "stability, pac, cophenetic, delta_area cannot be computed" in found.notes[-1]
    assert "Labels alone cannot show" in found.reason
    assert not found.tested
    assert max(map(len, str(found).splitlines())) <= 80


def test_all_members_alike():
    ensemble = Ensemble.from_labels(np.repeat([[0], [1], [2]], 20, axis=0).repeat(6, axis=1))
    found = select_k(ensemble, random_state=0, resamples=4)
    assert found.recommended == 3
    assert found.ks.tolist() == [2, 3]
    assert "only 3 distinct label rows" in found.notes[-1]


def test_one_stray_member_does_not_make_a_cluster():
    labels = np.repeat(np.repeat(np.arange(5), 20)[:, None], 12, axis=1)
    labels[labels[:, 0] == 4, 0] = 3
    labels[:9, 0] = 4
    found = select_k(Ensemble.from_labels(labels), resamples=4, random_state=0)
    assert found.ks.tolist() == [2, 3, 4, 5, 6]
    assert found.recommended == 5


def test_one_cluster_may_be_asked_for_but_has_no_criteria(five):
    found = select_k(five[0], [1, 5], resamples=10, random_state=0)
    assert found.recommended == 5
    assert np.isnan(found.criteria["stability"][0])
    assert (found.labels[0] == 0).all()
    only = select_k(five[0], 1, resamples=4, random_state=0)
    assert (only.recommended, only.structure, only.supported) == (1, False, ())


def test_missing_labels_are_no_obstacle():
    X, _ = blobs(3, seed=1)
    labels = kmeans_pool(X, 16, 6, random_state=0)
    table = labels.expand(labels.labels).copy()
    table[np.random.default_rng(0).random(table.shape) < 0.2] = -1
    found = select_k(Ensemble.from_labels(table), resamples=10, random_state=0)
    assert found.recommended == 3


def test_some_criteria_only(five):
    found = select_k(five[0], [3, 5], criteria="eigengap", resamples=2, random_state=0)
    assert list(found.criteria) == ["eigengap"]
    assert found.recommended == 5


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"k": [0, 2]}, "k contains 0; give whole numbers from 1 to the number of samples, 200"),
        ({"k": range(2, 202)}, "k contains 201"),
        ({"k": [2.5]}, "k contains 2.5"),
        ({"k": []}, "k is empty"),
        ({"k": "best"}, "k is 'best'"),
        ({"k": [190]}, "only .* distinct label rows"),
        ({"criteria": ["pak"]}, "unknown criterion 'pak'; did you mean 'pac'"),
        ({"criteria": []}, "criteria is empty"),
        ({"criteria": 3}, "criteria must be 'all' or names, but is 3"),
        ({"resamples": 1}, "resamples must be .* but is 1"),
        ({"n_members": 0}, "n_members must be .* but is 0"),
        ({"solver": 3}, "solver must be .* but is 3"),
        ({"solver": "eacc"}, "unknown method 'eacc'; did you mean 'eac'"),
        ({"random_state": "x"}, "random_state must be"),
    ],
)
def test_parameters_outside_their_domain(five, settings, words):
    with pytest.raises(ParameterError, match=words):
        select_k(five[0], **settings)


def test_progress_counts_to_its_total(five):
    seen = []
    select_k(five[0], [4, 5], resamples=4, random_state=0, callback=lambda *step: seen.append(step))
    # the choice takes several steps at once; what follows takes one at a time
    done = [step for step, _ in seen]
    assert all(first < second for first, second in pairwise(done))
    assert {total for _, total in seen} == {done[-1]}


@pytest.mark.parametrize("structure", [True, False])
def test_the_choice_from_features_counts_to_a_total_known_from_the_start(structure):
    rng = np.random.default_rng(0)
    X = blobs(3, seed=2)[0] if structure else rng.normal(size=(150, 2))
    seen = []
    select_k(X, n_members=4, resamples=4, random_state=0, callback=lambda *step: seen.append(step))
    done = [step for step, _ in seen]
    assert all(first < second for first, second in pairwise(done))
    assert {total for _, total in seen} == {done[-1]}


def test_the_stages_of_a_fit():
    seen = []
    model = ConsensusClustering(
        n_members=4, random_state=0, callback=lambda *step: seen.append(step)
    )
    model.fit(blobs(3, seed=2)[0])
    stages = [stage for _, _, stage in seen]
    assert list(dict.fromkeys(stages)) == ["choosing the number of clusters", "making members"]
    for stage in set(stages):
        last = [step[:2] for step in seen if step[2] == stage][-1]
        assert last[0] == last[1]


def test_auto_clusters_blobs():
    X, y = blobs(3, seed=2)
    model = ConsensusClustering("auto", n_members=12, random_state=0).fit(X)
    assert model.n_clusters_ == model.selection_.recommended == 3
    assert np.array_equal(model.labels_, LWEA(3).fit_predict(model.ensemble_))
    assert adjusted_rand_score(y, model.labels_) > 0.98
    assert (model.predict(X) == model.labels_).all()


def test_auto_on_noise_gives_one_cluster_and_a_warning():
    with pytest.warns(
        UserWarning, match="There is no structure.*confidence .* carries no information"
    ):
        model = ConsensusClustering("auto", n_members=10, random_state=0).fit(noise(150, 5, 0))
    assert model.n_clusters_ == 1
    assert not model.selection_.structure
    assert (model.labels_ == 0).all()


def test_only_auto_is_a_word_for_a_number():
    with pytest.raises(
        ParameterError,
        match=r"'auto', or a whole number of at least 1, a range \(low, high\), or None, but is 'best'",
    ):
        ConsensusClustering("best").fit(noise(20, 2, 0))
    model = ConsensusClustering(3, n_members=5, random_state=0).fit(noise(60, 2, 0))
    assert not hasattr(model, "selection_")


@pytest.mark.parametrize("n_members", [3, 8])
def test_missing_labels_are_no_evidence_against_structure(n_members):
    truth = np.repeat(range(4), 30)
    labels = np.stack([truth] * n_members, axis=1)
    labels[np.random.default_rng(0).random(labels.shape) < 0.1] = -1
    labels[(labels < 0).all(axis=1), 0] = 0
    selection = select_k(Ensemble.from_labels(labels), k=range(2, 9), random_state=0)
    assert selection.recommended == 4


def test_samples_with_weights_choose_as_repeated_samples_do():
    rng = np.random.default_rng(0)
    truth = np.arange(24) % 3
    rows = np.where(rng.random((24, 8)) < 0.8, truth[:, None], rng.integers(0, 4, (24, 8)))
    rows = np.unique(rows, axis=0)
    weight = rng.integers(1, 30, len(rows))
    one = select_k(Ensemble.from_labels(rows, sample_weight=weight), range(2, 5), random_state=0)
    repeated = Ensemble.from_labels(rows.repeat(weight, axis=0))
    other = select_k(repeated, range(2, 5), random_state=0)
    assert one.p_value == other.p_value or np.isnan([one.p_value, other.p_value]).all()
    np.testing.assert_array_equal(one.labels.repeat(weight, axis=1), other.labels)
    assert one.reason == other.reason
