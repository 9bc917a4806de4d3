"""The criteria against small cases by hand and against literal computations on samples."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from coterie import EAC, Ensemble
from coterie.evaluate import anmi, cophenetic_correlation, pac
from coterie.select.criteria import CRITERIA, Cuts, against_members, areas_gained, eigengaps

KS = np.array([2, 3, 4])


@pytest.fixture(scope="module")
def ensemble():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1, 2], 12)
    members = [np.where(rng.random(36) < 0.25, rng.integers(0, 4, 36), truth) for _ in range(8)]
    made = Ensemble.from_labels(np.stack(members, axis=1))
    return made.reorder_members(made.canonical_member_order)


@pytest.fixture(scope="module")
def splits():
    rng = np.random.default_rng(1)
    return [rng.permutation(8) for _ in range(3)]


@pytest.fixture(scope="module")
def halves(ensemble, splits):
    """Partitions of the samples by literal EAC on each half: halves x K x n."""
    table = ensemble.labels
    found = []
    for split in splits:
        for half in (split[:4], split[4:]):
            # the rows stay apart even where the half cannot tell them
            part = Ensemble.from_labels(table[:, np.sort(half)], sample_weight=ensemble.weights)
            assert part.n_samples == len(table)
            found.append([EAC(n_clusters=int(k)).fit_predict(part) for k in KS])
    return np.array(found)


def test_crossing_by_hand():
    # six samples; the member's first cluster holds 2 of {0,1,2} and 1 of {3,4,5}
    ensemble = Ensemble.from_labels([[0], [0], [1], [0], [1], [1]])
    labels = np.empty(2, dtype=np.int64)
    labels[ensemble.inverse] = [0, 0, 1, 0, 1, 1]
    assert against_members(ensemble, labels) == pytest.approx((0.0, 1.0))
    both = Ensemble.from_labels([[0, 0], [0, 0], [1, 0], [0, 1], [1, 1], [1, 1]])
    second = both.labels[:, 1].astype(np.int64)
    # n_ca = 2, 1, 1, 2 of sizes 3: (2 (1 - 2/3) + 1 (1 - 1/3)) 2 / 6 = 4/9, by chance 1/2
    crossing, _ = against_members(both.reorder_members(np.array([0])), second)
    assert crossing == pytest.approx((4 / 9) / (1 / 2))


def test_members_at_other_resolutions_do_not_cross():
    fine, coarse = [0, 1, 2, 3], [0, 0, 0, 1]
    ensemble = Ensemble.from_labels(np.array([fine, coarse]).T)
    labels = np.empty(4, dtype=np.int64)
    labels[ensemble.inverse] = [0, 0, 1, 2]
    assert against_members(ensemble, labels)[0] == 0


def test_independent_members_cross_as_by_chance():
    grid = np.array([[a, b] for a in range(4) for b in range(3)])
    ensemble = Ensemble.from_labels(grid[:, :1].repeat(2, axis=1), sample_weight=None)
    assert ensemble.n_microclusters == 4
    crossed = Ensemble.from_labels(grid)
    labels = crossed.labels[:, 1].astype(np.int64)
    only_first = crossed.reorder_members(np.array([0]))
    assert against_members(only_first, labels)[0] == pytest.approx(1.0)


def test_anmi_is_that_of_evaluate(ensemble):
    labels = EAC(n_clusters=3).fit_predict(ensemble)
    compressed = np.empty(ensemble.n_microclusters, dtype=np.int64)
    compressed[ensemble.inverse] = labels
    assert against_members(ensemble, compressed)[1] == pytest.approx(anmi(ensemble, labels))


def test_eigengaps_are_those_of_the_sample_graph(ensemble):
    samples = ensemble.expand(ensemble.labels)
    together = (samples[:, None] == samples[None]).sum(axis=2).astype(float)
    degree = together.sum(axis=1)
    laplacian = np.eye(len(samples)) - together / np.sqrt(np.outer(degree, degree))
    values = np.sort(np.linalg.eigvalsh(laplacian))
    gaps = eigengaps(ensemble, KS)
    assert gaps == pytest.approx(values[KS] - values[KS - 1], abs=1e-10)
    wide = Ensemble.from_labels(samples[:6])
    assert wide.n_base_clusters > wide.n_microclusters
    together = together[:6, :6]
    degree = together.sum(axis=1)
    values = np.sort(np.linalg.eigvalsh(np.eye(6) - together / np.sqrt(np.outer(degree, degree))))
    assert eigengaps(wide, KS) == pytest.approx(values[KS] - values[KS - 1], abs=1e-10)


def test_area_gained_by_hand():
    assert areas_gained(np.array([0.5, 0.6, 0.55, 0.66])) == pytest.approx([0.5, 0.2, -1 / 12, 0.1])


def test_stability_is_the_mean_ari_of_the_two_halves(ensemble, splits, halves):
    found = CRITERIA["stability"].measure(Cuts.of(ensemble, KS, splits))
    weights = ensemble.weights
    for i in range(len(KS)):
        expected = np.mean(
            [
                adjusted_rand_score(
                    halves[2 * b, i].repeat(weights), halves[2 * b + 1, i].repeat(weights)
                )
                for b in range(len(splits))
            ]
        )
        assert found[i] == pytest.approx(expected)


def test_pac_cdf_and_cophenetic_are_those_of_the_halves(ensemble, splits, halves):
    cuts = Cuts.of(ensemble, KS, splits)
    cdf, ambiguous = cuts.distributions
    correlation = CRITERIA["cophenetic"].measure(cuts)
    assert (CRITERIA["pac"].measure(cuts) == ambiguous).all()
    for i in range(len(KS)):
        together = Ensemble.from_labels(halves[:, i].T.repeat(ensemble.weights, axis=0))
        assert ambiguous[i] == pytest.approx(pac(together))
        assert correlation[i] == pytest.approx(cophenetic_correlation(together))
        samples = together.expand(together.labels)
        share = (samples[:, None] == samples[None]).mean(axis=2)
        pairs = share[np.triu_indices(len(share), 1)]
        grid = np.linspace(0, 1, cdf.shape[1])
        expected = [(pairs <= value + 1e-9).mean() for value in grid]
        assert cdf[i] == pytest.approx(expected)


def test_lifetime_is_the_dendrograms(ensemble, splits):
    lifetimes = EAC().fit(ensemble).dendrogram_.lifetimes()
    found = CRITERIA["lifetime"].measure(Cuts.of(ensemble, KS, splits))
    assert found == pytest.approx(lifetimes[KS - 2])
