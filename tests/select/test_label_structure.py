"""The number of clusters of a label matrix: members with and without structure, and the parts by hand."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.stats import chi2_contingency
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from coterie import Ensemble
from coterie.select.label_structure import (
    MAX_ROWS,
    Nesting,
    choose_from_labels,
    n_label_steps,
    permutation_p,
)
from coterie.select.latent_classes import Curve, LatentClasses, dependence_inside
from coterie.select.line_crossing import _hierarchy

KS = np.arange(2, 11)


def choose(labels, seed=0, **options):
    ensemble = labels if isinstance(labels, Ensemble) else Ensemble.from_labels(labels)
    return choose_from_labels(ensemble, KS, np.random.default_rng(seed), **options)


def raters(rng, classes, accuracy, m):
    k = classes.max() + 1
    labels = np.repeat(classes[:, None], m, axis=1)
    wrong = rng.random(labels.shape) > accuracy
    labels[wrong] = (labels[wrong] + rng.integers(1, k, wrong.sum())) % k
    return labels


def with_gaps(rng, labels, share):
    missing = rng.random(labels.shape) < share
    missing[np.arange(len(labels)), rng.integers(labels.shape[1], size=len(labels))] = False
    return np.where(missing, -1, labels)


def kmeans(rng, X, sizes):
    fits = [KMeans(int(k), n_init=1, random_state=int(rng.integers(2**31))) for k in sizes]
    return np.stack([fit.fit_predict(X) for fit in fits], axis=1)


@pytest.mark.parametrize(
    ("k", "m", "accuracy"), [(2, 8, 0.95), (3, 20, 0.7), (4, 20, 0.95), (6, 40, 0.7), (8, 12, 0.9)]
)
def test_independent_raters(k, m, accuracy):
    rng = np.random.default_rng(k)
    classes = np.repeat(np.arange(k), 50)
    choice = choose(raters(rng, classes, accuracy, m))
    assert choice.recommended == k
    assert choice.supported == (k,)
    assert choice.p_value <= 0.01


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_six_parties_with_gaps(share):
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(3), 80)
    choice = choose(with_gaps(rng, raters(rng, classes, 0.92, 6), share))
    assert choice.recommended == 3
    assert choice.p_value <= 0.01


def test_four_of_six_members_agree():
    rng = np.random.default_rng(1)
    classes = np.repeat(np.arange(3), 60)
    good = np.column_stack([classes, raters(rng, classes, 0.95, 3)])
    poor = np.column_stack([rng.integers(4, size=180), rng.integers(2, size=180)])
    choice = choose(np.hstack([good, poor]))
    assert choice.recommended == 3
    assert choice.p_value <= 0.01


@pytest.mark.parametrize("accuracy", [0.95, 1.0])
def test_complementary_modalities(accuracy):
    rng = np.random.default_rng(2)
    classes = np.repeat(np.arange(4), 50)
    labels = np.hstack(
        [raters(rng, classes // 2, accuracy, 5), raters(rng, classes % 2, accuracy, 5)]
    )
    choice = choose(labels, groups=["RNA"] * 5 + ["protein"] * 5)
    assert choice.recommended == choose(labels).recommended == 4
    # members that never err are copies of each other
    assert np.isnan(choice.p_value) == (accuracy == 1.0)
    assert choice.notes[:2] == (
        "The members of RNA alone support k = 2.",
        "The members of protein alone support k = 2.",
    )


def test_members_with_many_clusters_of_blobs():
    rng = np.random.default_rng(3)
    classes = np.repeat(np.arange(4), 60)
    X = 9.0 * np.array([[0, 0], [1, 0], [0, 1], [1, 1]])[classes] + rng.normal(size=(240, 2))
    choice = choose(kmeans(rng, X, rng.integers(2, 16, 25)))
    assert choice.recommended == 4
    assert choice.p_value <= 0.05


@pytest.mark.parametrize("d", [1, 2, 5])
def test_members_that_cut_one_cloud(d):
    rng = np.random.default_rng(d)
    choice = choose(kmeans(rng, rng.random((300, d)), rng.integers(2, 18, 25)))
    assert choice.recommended == 1
    assert choice.supported == ()
    assert choice.p_value > 0.05
    assert "may cut one cloud" in choice.reason


def test_members_of_one_size_on_noise():
    rng = np.random.default_rng(4)
    choice = choose(kmeans(rng, rng.normal(size=(300, 6)), np.full(20, 5)))
    assert choice.recommended == 1


def test_independent_labels():
    rng = np.random.default_rng(5)
    choice = choose(rng.integers(0, rng.integers(2, 8, size=20), size=(200, 20)))
    assert choice.recommended == 1
    assert choice.p_value > 0.05
    assert "independent labels" in choice.reason


def test_cuts_of_one_dendrogram_are_no_evidence():
    rng = np.random.default_rng(6)
    cuts = cut_tree(linkage(rng.random((200, 3)), "average"), np.arange(2, 12))
    choice = choose(cuts)
    assert choice.recommended == 1
    assert np.isnan(choice.p_value)
    assert "Nested members of one hierarchy cannot be evidence for each other." in choice.notes


def test_several_dendrograms():
    rng = np.random.default_rng(7)
    noise = rng.random((200, 3))
    classes = np.repeat(np.arange(3), 50)
    blobs = 9.0 * np.eye(3)[classes] + rng.normal(size=(150, 3))
    for X, k in ((noise, 1), (blobs, 3)):
        trees = [linkage(X, method) for method in ("ward", "average", "complete")]
        choice = choose(np.hstack([cut_tree(tree, np.arange(2, 10)) for tree in trees]))
        assert choice.recommended == k


def test_copies_of_a_member_are_no_evidence():
    rng = np.random.default_rng(8)
    labels = rng.integers(4, size=(150, 12))
    labels[:, 1:5] = labels[:, :1]
    choice = choose(labels)
    assert choice.recommended == 1
    assert "5 of 12 members equal another one" in choice.notes[0]


@pytest.mark.parametrize("m", [1, 7])
def test_equal_members_are_not_tested(m):
    choice = choose(np.repeat(np.repeat(np.arange(3), 20)[:, None], m, axis=1))
    assert choice.recommended == 3
    assert np.isnan(choice.p_value)
    assert "cannot show" in choice.reason


def test_order_and_names_do_not_matter():
    rng = np.random.default_rng(9)
    labels = with_gaps(rng, raters(rng, np.repeat(np.arange(3), 40), 0.75, 9), 0.2)
    rows, columns = rng.permutation(120), rng.permutation(9)
    names = np.array([5, 3, 8, -1])
    first, second = choose(labels), choose(names[labels][rows][:, columns])
    assert first.recommended == second.recommended == 3
    assert first.p_value == second.p_value
    assert first.reason == second.reason


def test_a_weight_counts_like_copies_of_the_sample():
    rng = np.random.default_rng(10)
    labels = raters(rng, np.repeat(np.arange(3), 20), 0.8, 8)
    weights = rng.integers(1, 4, 60)
    weighted = choose(Ensemble.from_labels(labels, sample_weight=weights))
    repeated = choose(np.repeat(labels, weights, axis=0))
    assert weighted.reason == repeated.reason
    assert weighted.p_value == repeated.p_value


def test_ten_seeds_agree_on_a_sample_of_the_rows():
    rng = np.random.default_rng(11)
    classes = rng.integers(5, size=3000)
    labels = raters(rng, classes, 0.75, 50)
    ensemble = Ensemble.from_labels(labels)
    assert ensemble.n_microclusters > MAX_ROWS
    choices = [choose(ensemble, seed) for seed in range(10)]
    assert [choice.recommended for choice in choices] == [5] * 10


def test_base_clusters_outside_the_sample_count_as_missing():
    rng = np.random.default_rng(12)
    labels = raters(rng, rng.integers(3, size=2000), 0.8, 10)
    # a label that few samples have
    labels[:4, 0] = [7, 8, 9, 10]
    choice = choose(labels)
    assert choice.recommended == 3


# ---------------------------------------------------------------------- parts


def test_dependence_is_a_sum_of_chi_squares():
    rng = np.random.default_rng(13)
    table = with_gaps(rng, rng.integers(3, size=(60, 4)), 0.2)
    classes = rng.integers(2, size=60)
    ensemble = Ensemble.from_labels(table)
    # classes are given per microcluster, so rows of a microcluster take the class of its first row
    first = np.array(
        [np.flatnonzero(ensemble.inverse == i)[0] for i in range(ensemble.n_microclusters)]
    )
    given = classes[first]
    value, expected = dependence_inside(ensemble, given)
    rows = given[ensemble.inverse]
    chi_squares, means = 0.0, 0.0
    for c in range(2):
        for i in range(4):
            for j in range(i + 1, 4):
                both = (rows == c) & (table[:, i] >= 0) & (table[:, j] >= 0)
                counts = np.zeros((3, 3))
                np.add.at(counts, (table[both, i], table[both, j]), 1)
                counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
                result = chi2_contingency(counts, correction=False)
                chi_squares += result.statistic
                means += result.dof * both.sum() / (both.sum() - 1)
    assert expected == pytest.approx(means)
    assert value == pytest.approx(chi_squares - means)


def test_p_values_of_independent_labels_are_uniform():
    rng = np.random.default_rng(14)
    values = [permutation_p(rng.integers(3, size=(40, 5), dtype=np.int32), rng) for _ in range(100)]
    # four standard errors
    assert np.mean(values) == pytest.approx(0.5, abs=4 * 0.29 / 10)
    assert np.mean(np.array(values) <= 0.2) == pytest.approx(0.2, abs=4 * 0.4 / 10)


def test_nesting_of_members():
    fine = np.repeat(np.arange(6), 4)
    coarse, other = fine // 2, np.tile([0, 1], 12)
    copy = np.array([2, 0, 1])[coarse]
    copy[0] = -1
    nesting = Nesting.of(Ensemble.from_labels(np.column_stack([coarse, copy, fine, other])))
    assert sorted(map(sorted, nesting.copies)) == [[0, 1], [2], [3]]
    assert sorted(map(sorted, nesting.chains)) == [[0, 2], [3]]


def test_hierarchies_on_a_line_are_nested():
    rng = np.random.default_rng(15)
    partitions = _hierarchy(np.sort(rng.random(100)), np.array([2, 3, 7]), rng)
    assert [len(np.unique(cells)) for cells in partitions] == [2, 3, 7]
    for coarse, fine in pairwise(partitions):
        assert len({*zip(coarse, fine, strict=True)}) == len(np.unique(fine))


def test_latent_classes_of_raters():
    rng = np.random.default_rng(17)
    classes = np.repeat(np.arange(3), 50)
    ensemble = Ensemble.from_labels(raters(rng, classes, 0.8, 12))
    curve = Curve.of(ensemble, 4)
    assert np.argmax(curve.bends[:3]) == 1
    found = curve.fits[2].classes[ensemble.inverse]
    assert adjusted_rand_score(classes, found) > 0.95
    criteria = [fit.information_criterion(ensemble) for fit in curve.fits]
    assert np.argmin(criteria) == 2
    # more EM steps from the same classes change nothing but the convergence
    again = LatentClasses.fit(ensemble, curve.fits[2].classes, 3)
    assert again.log_likelihood >= curve.fits[2].log_likelihood * (1 + 1e-4)


def test_steps_are_not_more_than_announced():
    rng = np.random.default_rng(19)
    blobs = 5.0 * rng.normal(size=(4, 2))[rng.integers(4, size=200)] + rng.normal(size=(200, 2))
    independent = rng.integers(3, size=(120, 8))
    for labels in (kmeans(rng, blobs, rng.integers(2, 12, 20)), independent):
        taken = []
        choose(labels, groups=["a", "b"] * (labels.shape[1] // 2), step=taken.append)
        assert 0 < sum(taken) <= n_label_steps(2)
