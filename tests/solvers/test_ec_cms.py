"""EC-CMS: the compressed solver against the n x n transcription and the authors' own runs."""

from __future__ import annotations

from functools import partial

import numba
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from coterie import Ensemble, MemoryBudgetError, ParameterError
from coterie.evidence import cluster_reliability, enhance
from coterie.evidence.coassociation import coassociation
from coterie.evidence.enhancement import factors, passes
from coterie.evidence.enhancement import problem as posing
from coterie.evidence.enhancement.tiles import TILE
from coterie.evidence.given import chosen_similarity
from coterie.numerics import row_ranges
from coterie.solvers.ec_cms import ECCMS
from tests.builders import fit_quietly, noisy_members
from tests.cases import few_rows
from tests.naive import ec_cms as naive
from tests.strategies import label_matrices

noisy = partial(noisy_members, n_classes=4, wrong=(0.05, 0.3), random_classes=True)

CHANGES = ("change_C", "change_E", "change_F", "change_Y1", "change_Y2")


def from_panels(layout, panels):
    """N x N from panels of columns."""
    by_position = np.concatenate(list(panels), axis=1)
    return by_position[np.ix_(layout.positions, layout.positions)]


def from_pairs(layout, pairs, mirrored):
    """N x N from pairs of tiles, of which the second is transposed."""
    size = len(layout.slots) * TILE
    by_position = np.zeros((size, size))
    for (stripe, panel), tile, mirror in zip(layout.corners, pairs, mirrored, strict=True):
        rows, columns = (slice(at * TILE, (at + 1) * TILE) for at in (stripe, panel))
        if stripe < panel:
            by_position[columns, rows] = mirror.reshape(TILE, TILE).T
        by_position[rows, columns] = tile.reshape(TILE, TILE)
    return by_position[np.ix_(layout.positions, layout.positions)]


def locally_weighted(ensemble):
    reliability = cluster_reliability(ensemble, 0.4)
    return posing.SampleMatrix(*chosen_similarity(ensemble, "lwca", reliability))


def at_samples(model, matrix=None):
    rows = model.ensemble_.inverse
    return (model.consensus_matrix_ if matrix is None else matrix)[np.ix_(rows, rows)]


def between_different(matrix):
    return matrix[~np.eye(len(matrix), dtype=bool)]


def evidence_at_samples(name, labels):
    if name == "lwca":
        return naive.locally_weighted(labels)
    if name == "ca":
        return naive.co_association(labels)
    ensemble = Ensemble.from_labels(labels)
    rows, sizes = ensemble.inverse, ensemble.weights
    usual = max(int(np.sqrt(len(sizes)) / 2), 1)
    first = [int(np.flatnonzero(rows == u)[0]) for u in range(len(sizes))]
    shares = naive.co_association(labels)[np.ix_(first, first)]
    return naive.probability_trajectories(shares, sizes, usual, usual)[np.ix_(rows, rows)]


def equal_to_twin(model, twin, H, **rules):
    lam = model.lam
    np.testing.assert_allclose(
        between_different(at_samples(model)), between_different(twin.similarity), atol=1e-8
    )
    assert model.n_iter_ == twin.n_iter
    ours = np.array([[record[name] for name in CHANGES] for record in model.history_])
    theirs = np.array(twin.changes)
    seen = np.isfinite(theirs)
    np.testing.assert_allclose(ours[seen], theirs[seen], rtol=1e-8, atol=1e-10)
    assert model.converged_ == twin.converged
    expected = naive.objective(twin.C, twin.E, H, lam, **rules)
    np.testing.assert_allclose(model.objective_, expected, rtol=1e-8, atol=1e-10)


# ---------------------------------------------------------------- against the transcription


@pytest.mark.parametrize(("alpha", "lam"), [(0.8, 0.4), (0.75, 0.01), (0.5, 5.0)])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("repeats", [0, 2])
def test_compressed_equals_samples(alpha, lam, missing, repeats):
    labels, _ = noisy(3, missing=missing, repeats=repeats)
    model = fit_quietly(ECCMS(4, alpha=alpha, lam=lam), labels)
    H = naive.high_confidence(labels, alpha)
    twin = naive.enhance(naive.locally_weighted(labels), H, lam)
    equal_to_twin(model, twin, H)
    assert adjusted_rand_score(model.labels_, naive.average_link(twin.similarity, 4)) == 1.0


@pytest.mark.parametrize("evidence", ["ca", "pts"])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_other_evidence_equals_samples(evidence, missing):
    labels, _ = noisy(7, missing=missing, repeats=2)
    model = fit_quietly(ECCMS(4, evidence=evidence), labels)
    H = naive.high_confidence(labels, 0.8)
    equal_to_twin(model, naive.enhance(evidence_at_samples(evidence, labels), H, 0.4), H)


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_without_kept_pairs_equals_samples(missing):
    labels, _ = noisy(5, missing=missing, repeats=2)
    model = fit_quietly(ECCMS(4, keep_confident=False), labels)
    H = naive.high_confidence(labels, 0.8)
    twin = naive.enhance(naive.locally_weighted(labels), H, 0.4, keep_confident=False)
    equal_to_twin(model, twin, H)


@given(
    labels=label_matrices(max_samples=10, min_samples=2),
    alpha=st.sampled_from([0.3, 0.5, 0.8, 1.0]),
    lam=st.sampled_from([0.01, 0.4, 10.0]),
    passes=st.integers(1, 12),
)
@settings(max_examples=40)
def test_every_pass_equals_samples(labels, alpha, lam, passes):
    H = naive.high_confidence(labels, alpha)
    model = fit_quietly(ECCMS(1, alpha=alpha, lam=lam, tol=0.0, max_iter=passes), labels)
    A = naive.locally_weighted(labels)
    if model.converged_:
        assert naive.objective(A, np.zeros_like(A), H, lam) < 1e-12
        expected = A
    else:
        expected = naive.enhance(A, H, lam, tol=-1.0, max_iter=passes).similarity
        assert model.n_iter_ == passes
    np.testing.assert_allclose(
        between_different(at_samples(model)), between_different(expected), atol=1e-8
    )


def test_without_propagation_the_evidence_is_the_optimum():
    labels, _ = noisy(2, repeats=2)
    model = ECCMS(4, propagate=False).fit(labels)
    A, H = naive.locally_weighted(labels), naive.high_confidence(labels, 0.8)
    np.testing.assert_allclose(
        between_different(at_samples(model)), between_different(A), atol=1e-12
    )
    twin = naive.enhance(A, H, 0.4, max_iter=300, tol=0.0, propagate=False)
    np.testing.assert_allclose(twin.C, A, atol=1e-8)
    assert model.converged_
    assert model.objective_ == 0.0


def test_transcription_with_pinned_diagonal_has_the_same_optimum_between_samples():
    labels, _ = noisy(4, n=30)
    A, H = naive.locally_weighted(labels), naive.high_confidence(labels, 0.8)
    runs = [
        naive.enhance(A, H, 0.4, tol=1e-10, max_iter=20_000, pin_diagonal=pin).similarity
        for pin in (False, True)
    ]
    np.testing.assert_allclose(*map(between_different, runs), atol=1e-6)


# ---------------------------------------------------------------- optimality


@pytest.mark.parametrize(("alpha", "lam"), [(0.8, 0.4), (0.6, 0.05)])
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_tight_tolerance_reaches_the_kkt_point(alpha, lam, missing):
    labels, _ = noisy(6, n=40, missing=missing, repeats=2)
    model = ECCMS(4, alpha=alpha, lam=lam, tol=1e-10, max_iter=100_000).fit(labels)
    A, H = naive.locally_weighted(labels), naive.high_confidence(labels, alpha)
    twin = naive.enhance(A, H, lam, tol=1e-10, max_iter=100_000)
    C = at_samples(model)
    # our matrix has the evidence on the diagonal; the sample-level optimum has its own there
    np.fill_diagonal(C, np.diag(twin.C))
    gap = naive.optimality_gap(C, A, H, lam)
    assert model.converged_
    assert max(gap.values()) < 1e-6, gap
    assert model.residual_ < 1e-10


def test_distance_to_the_optimum_never_grows():
    """The alternating direction method's own measure: |Y - Y*|^2 + |(E, F) - (E*, F*)|^2."""
    ensemble = Ensemble.from_labels(noisy(8, n=40, missing=0.1, repeats=2)[0])
    lam, r = 0.4, ensemble.weights.astype(float)
    problem = posing.Problem.pose(
        locally_weighted(ensemble),
        posing.confident_pairs(coassociation(ensemble), ensemble.weights, 0.8),
        ensemble.sizes, True, True,
    )  # fmt: skip

    def run(count):
        state = passes.State.at_start(problem)
        for number in range(count):
            passes.propagate(problem, state)
            passes.relax(problem, state, lam, 1e-300, first=number == 0)
            yield unpacked(state)

    def unpacked(state):
        layout = problem.layout
        pinned = from_pairs(layout, problem.pinned, problem.pinned) > 0
        Z = from_pairs(layout, state.error.between, state.mirrored)
        # one part of P and Y2 is symmetric, the other has the other sign on the other side
        symmetric = from_pairs(layout, state.shifted, state.shifted)
        turned = from_pairs(layout, state.turned, -state.turned)
        own_Z, own_P = state.error.own, state.own_shifted
        E, Y1 = np.where(pinned, 0.0, Z), np.where(pinned, Z, lam * Z)
        F, own_F = np.clip(symmetric, 0, 1), np.clip(own_P, 0, 1)
        return [
            posing.SampleMatrix(*pair)
            for pair in (
                (E, own_Z), (F, own_F), (Y1, lam * own_Z), (symmetric - F + turned, own_P - own_F)
            )
        ]  # fmt: skip

    *_, optimum = run(4000)
    distances = [
        sum(
            posing.SampleMatrix(a.between - b.between, a.own - b.own).norm(r) ** 2
            for a, b in zip(now, optimum, strict=True)
        )
        for now in run(60)
    ]
    assert np.all(np.diff(distances) <= 1e-10 * distances[0])
    assert distances[-1] < 0.1 * distances[0]


# ---------------------------------------------------------------- against the authors' program


def reference(shared_data, name):
    path = shared_data / "golden" / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"no reference runs at {path}")
    with np.load(path) as archive:
        return dict(archive)


def test_matrices_of_the_authors_run(shared_data):
    run = reference(shared_data, "eccms_ecoli_matrices")
    labels = run["base"]
    np.testing.assert_allclose(naive.co_association(labels), run["CA"], atol=1e-12)
    np.testing.assert_allclose(naive.locally_weighted(labels), run["LWCA"], atol=1e-12)
    certainty = np.concatenate(naive.cluster_certainty(labels))
    np.testing.assert_allclose(certainty, run["ECI"], atol=1e-12)
    H = naive.high_confidence(labels, 0.8)
    np.testing.assert_allclose(
        between_different(H), between_different(run["H_with_diag"]), atol=1e-12
    )
    twin = naive.enhance(run["LWCA"], H, 0.4)
    assert twin.n_iter == int(run["iterations"].item())
    np.testing.assert_allclose(twin.C, run["C"], atol=1e-10)
    np.testing.assert_allclose(twin.E, run["E"], atol=1e-10)
    model = ECCMS(8).fit(labels)
    assert model.n_iter_ == twin.n_iter
    symmetric = (run["C"] + run["C"].T) / 2
    np.testing.assert_allclose(
        between_different(at_samples(model)), between_different(symmetric), atol=1e-10
    )


@pytest.mark.parametrize("pool", ["ecoli", "aggregation", "umist"])
def test_labels_of_the_authors_runs(shared_data, pool):
    runs = reference(shared_data, f"pool_{pool}")
    n_clusters = len(np.unique(runs["y"]))
    for name in [name for name in runs if name.startswith("eccms")]:
        alpha, lam = (float(part.lstrip("alphm")) for part in name.split("_")[1:])
        for members, authors in zip(runs["base"], runs[name], strict=True):
            labels = ECCMS(n_clusters, alpha=alpha, lam=lam).fit_predict(members)
            assert adjusted_rand_score(labels, authors) == 1.0


def test_only_the_lower_triangle_rule_separates_us_from_the_authors_on_spf(shared_data):
    """One sample of 1941 goes to another cluster in the second run, by the symmetric part of C."""
    runs = reference(shared_data, "pool_spf")
    for members, authors, agrees in zip(
        runs["base"], runs["eccms_alpha0.8_lam0.4"], [True, False], strict=True
    ):
        model = ECCMS(7).fit(members)
        assert (adjusted_rand_score(model.labels_, authors) == 1.0) == agrees
        ensemble = model.ensemble_
        problem = posing.Problem.pose(
            locally_weighted(ensemble),
            posing.confident_pairs(coassociation(ensemble), ensemble.weights, 0.8),
            ensemble.sizes, True, True,
        )  # fmt: skip
        state = passes.State.at_start(problem)
        for number in range(model.n_iter_):
            passes.propagate(problem, state)
            passes.relax(problem, state, 0.4, 1e-300, first=number == 0)
        C = from_panels(problem.layout, state.learned.between)
        lower = np.tril(at_samples(model, C), -1)
        labels = naive.average_link(lower + lower.T, 7)
        assert adjusted_rand_score(labels, authors) == 1.0


def test_lower_triangle_of_the_transcription_gives_the_authors_labels(shared_data):
    runs = reference(shared_data, "pool_ecoli")
    for run in range(2):
        members, authors = runs["base"][run], runs["eccms_alpha0.8_lam0.4"][run]
        labels = naive.ec_cms(members, 8, lower_triangle=True)
        assert adjusted_rand_score(labels, authors) == 1.0


@pytest.mark.parametrize(
    ("pool", "alpha", "lam", "published"),
    [("ecoli", 0.8, 0.4, 0.489), ("ecoli", 0.75, 0.01, 0.755), ("umist", 0.8, 0.4, 0.367)],
)
def test_mean_over_the_draws_of_the_paper(shared_data, pool, alpha, lam, published):
    draws = reference(shared_data, "eccms_paper_columns")["columns"]
    with np.load(shared_data / "pools" / f"{pool}.npz") as archive:
        members, truth = archive["members"], archive["gt"].ravel()
    model = ECCMS(len(np.unique(truth)), alpha=alpha, lam=lam)
    scores = [adjusted_rand_score(truth, model.fit_predict(members[:, draw])) for draw in draws]
    assert abs(np.mean(scores) - published) < 1.5e-3


# ---------------------------------------------------------------- invariances


def test_order_and_names_do_not_matter():
    labels, _ = noisy(9, missing=0.1, repeats=2)
    rng = np.random.default_rng(0)
    model = ECCMS(4).fit(labels)
    rows, columns = rng.permutation(len(labels)), rng.permutation(labels.shape[1])
    renamed = np.where(labels >= 0, (labels + 2) % 4 * 10, -1)
    for other, expected in [
        (labels[rows], model.labels_[rows]),
        (labels[:, columns], model.labels_),
        (renamed, model.labels_),
    ]:
        again = ECCMS(4).fit(other)
        assert adjusted_rand_score(again.labels_, expected) == 1.0
        assert again.objective_ == model.objective_
    moved = ECCMS(4).fit(labels[:, columns]).member_weights_
    np.testing.assert_allclose(moved, model.member_weights_[columns], rtol=1e-12)


def test_repeated_samples_are_weights():
    labels = np.unique(noisy(10)[0], axis=0)
    counts = np.random.default_rng(1).integers(1, 5, len(labels))
    repeated = ECCMS(4).fit(np.repeat(labels, counts, axis=0))
    weighted = ECCMS(4).fit(labels, sample_weight=counts)
    assert adjusted_rand_score(repeated.labels_, np.repeat(weighted.labels_, counts)) == 1.0
    np.testing.assert_allclose(repeated.objective_, weighted.objective_, rtol=1e-12)


def test_threads_do_not_matter(monkeypatch):
    labels, _ = noisy(11, n=300, n_members=10, missing=0.05)
    serial = fit_quietly(ECCMS(4), labels)
    monkeypatch.setattr(row_ranges, "SERIAL_ROWS", 0)
    before = numba.get_num_threads()
    try:
        for threads in (1, numba.config.NUMBA_NUM_THREADS):
            numba.set_num_threads(threads)
            parallel = fit_quietly(ECCMS(4), labels)
            np.testing.assert_array_equal(parallel.consensus_matrix_, serial.consensus_matrix_)
            assert parallel.history_ == serial.history_
            np.testing.assert_array_equal(parallel.labels_, serial.labels_)
    finally:
        numba.set_num_threads(before)


@pytest.mark.parametrize(
    ("share", "largest_small", "batch"), [(0.0, 1, 1), (1.0, 1, 1), (1.0, 64, 9)]
)
def test_dense_and_sparse_factors_and_batches_do_the_same(monkeypatch, share, largest_small, batch):
    labels, _ = noisy(12, n=400, n_members=10, n_classes=8, missing=0.1, repeats=2)
    usual = fit_quietly(ECCMS(8), labels)
    monkeypatch.setattr(factors, "SPARSE_SHARE", share)
    monkeypatch.setattr(factors, "SMALL_BLOCK", largest_small)
    monkeypatch.setattr(factors, "BATCH_ROWS", batch)
    other = fit_quietly(ECCMS(8), labels)
    np.testing.assert_allclose(other.consensus_matrix_, usual.consensus_matrix_, atol=1e-12)
    np.testing.assert_allclose(other.objective_, usual.objective_, rtol=1e-9)
    np.testing.assert_array_equal(other.labels_, usual.labels_)


def test_groups_without_evidence_between_them_are_solved_as_if_alone():
    """Samples that no member puts together with others change nothing, but their tiles are left out."""
    rng = np.random.default_rng(4)
    parts = [noisy(seed, n=150, n_members=8, n_classes=4)[0] for seed in range(3)]
    labels = np.concatenate([part + 10 * at for at, part in enumerate(parts)])
    owner = np.repeat(np.arange(3), 150)
    mixed = rng.permutation(450)
    run = fit_quietly(ECCMS(12, tol=0.0, max_iter=30), labels[mixed])
    ensemble = run.ensemble_
    problem = posing.Problem.pose(
        locally_weighted(ensemble),
        posing.confident_pairs(coassociation(ensemble), ensemble.weights, 0.8),
        ensemble.sizes, True, True,
    )  # fmt: skip
    n_tiles = len(problem.layout.slots)
    assert len(problem.layout.corners) < n_tiles * (n_tiles + 1) // 2
    joint = at_samples(run)
    for part in range(3):
        inside = owner[mixed] == part
        alone = fit_quietly(ECCMS(4, tol=0.0, max_iter=30), labels[mixed][inside])
        np.testing.assert_allclose(joint[np.ix_(inside, inside)], at_samples(alone), atol=1e-10)
        np.testing.assert_array_equal(joint[np.ix_(inside, ~inside)], 0.0)


@pytest.mark.parametrize("alpha", [0.5, 0.8])
@pytest.mark.parametrize("missing", [0.0, 0.1])
def test_single_precision_learns_the_same(alpha, missing):
    labels, _ = noisy(5, n=400, n_members=10, n_classes=6, missing=missing, repeats=2)
    double = fit_quietly(ECCMS(6, alpha=alpha), labels)
    single = fit_quietly(ECCMS(6, alpha=alpha, precision="single"), labels)
    assert double.consensus_matrix_.dtype == single.consensus_matrix_.dtype == np.float64
    assert len(single.history_) == len(double.history_)
    np.testing.assert_allclose(single.consensus_matrix_, double.consensus_matrix_, atol=2e-6)
    np.testing.assert_allclose(single.objective_, double.objective_, rtol=1e-5)
    np.testing.assert_array_equal(single.labels_, double.labels_)
    # the passes themselves were made of half as many bytes
    assert not np.array_equal(single.consensus_matrix_, double.consensus_matrix_)


def test_members_that_all_agree_are_settled_in_single_precision():
    labels = np.repeat([[0, 0, 0], [1, 1, 1], [2, 2, 2]], [70, 20, 10], axis=0)
    model = ECCMS(3, precision="single").fit(labels)
    assert model.converged_
    assert len(model.history_) == 1
    np.testing.assert_array_equal(model.consensus_matrix_, np.eye(3))


@pytest.mark.parametrize("name", ["ecoli", "aggregation", "umist", "spf"])
def test_single_precision_gives_the_same_labels_on_pools(shared_data, name):
    with np.load(shared_data / "pools" / f"{name}.npz") as archive:
        members, n_classes = archive["members"], len(np.unique(archive["gt"]))
    for draw in np.random.default_rng(0).permutation(members.shape[1])[:60].reshape(3, 20):
        double, single = (
            fit_quietly(ECCMS(n_classes, precision=kind), members[:, draw])
            for kind in ("double", "single")
        )
        np.testing.assert_array_equal(single.labels_, double.labels_)


# ---------------------------------------------------------------- degenerate inputs


@pytest.mark.parametrize("evidence", ["lwca", "ca", "pts"])
def test_identical_members(evidence):
    member = np.repeat([0, 1, 2], [5, 3, 1])
    model = ECCMS(3, evidence=evidence).fit(np.repeat(member[:, None], 6, axis=1))
    assert adjusted_rand_score(model.labels_, member) == 1.0
    assert model.converged_


@pytest.mark.parametrize("evidence", ["lwca", "ca", "pts"])
@few_rows
def test_any_number_of_clusters_from_one_to_all(labels, evidence):
    size = Ensemble.from_labels(labels).n_microclusters
    for n_clusters in range(1, size + 1):
        model = fit_quietly(ECCMS(n_clusters, evidence=evidence), labels)
        assert len(np.unique(model.labels_)) == n_clusters
        assert model.n_components_ == n_clusters
        np.testing.assert_array_equal(model.component_labels_, model.labels_)
        assert np.isfinite(model.consensus_matrix_).all()


def test_no_certain_pair_leaves_the_evidence():
    labels = np.arange(6)[:, None] // np.array([1, 2, 3])
    model = ECCMS(2, alpha=1.0).fit(labels)
    expected = at_samples(model, locally_weighted(model.ensemble_).between)
    np.testing.assert_allclose(
        between_different(at_samples(model)), between_different(expected), atol=1e-12
    )
    assert model.converged_
    assert len(np.unique(model.confident_groups_)) == 6


def test_certain_pairs_keep_their_value_and_form_groups():
    labels, _ = noisy(13, repeats=2)
    model = ECCMS(4, tol=1e-9, max_iter=50_000).fit(labels)
    H, A = naive.high_confidence(labels, 0.8), naive.locally_weighted(labels)
    np.testing.assert_allclose(at_samples(model)[H > 0], A[H > 0], atol=1e-6)
    groups = model.confident_groups_
    assert np.all(groups[:, None] == groups, where=H > 0)


# ---------------------------------------------------------------- the matrix alone


def similarity_of(seed, n=30):
    """A similarity as a kernel gives it: blurred blocks, ones on the diagonal."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(n, 2)) + 3 * rng.integers(0, 3, n)[:, None]
    return np.exp(-np.sum((points[:, None] - points) ** 2, axis=2) / 4)


def test_enhance_a_matrix():
    S = similarity_of(0)
    kept = S.copy()
    enhanced = enhance(S)
    H = np.where(S >= 0.8, S, 0.0)
    np.fill_diagonal(H, 0.0)
    expected = naive.enhance(S, H, 0.4).similarity
    np.testing.assert_allclose(between_different(enhanced), between_different(expected), atol=1e-8)
    np.testing.assert_array_equal(np.diag(enhanced), np.diag(S))
    np.testing.assert_array_equal(enhanced, enhanced.T)
    np.testing.assert_array_equal(S, kept)
    assert enhanced.min() >= 0.0
    assert enhanced.max() <= 1.0


def test_enhance_with_confidence_from_labels():
    labels, _ = noisy(14, n=30)
    S = similarity_of(1)
    H = naive.high_confidence(labels, 0.7)
    expected = naive.enhance(S, H, 0.2).similarity
    for confidence in (Ensemble.from_labels(labels), naive.co_association(labels)):
        enhanced = enhance(S, confidence=confidence, alpha=0.7, lam=0.2)
        np.testing.assert_allclose(
            between_different(enhanced), between_different(expected), atol=1e-8
        )


def test_enhance_an_ensemble_is_the_estimators_matrix():
    ensemble = Ensemble.from_labels(noisy(15, missing=0.1, repeats=2)[0])
    model = ECCMS(4, evidence="ca", lam=0.1).fit(ensemble)
    enhanced = enhance(ensemble, evidence="ca", lam=0.1)
    np.testing.assert_allclose(enhanced, model.consensus_matrix_, atol=1e-12)
    rows = ensemble.inverse
    at_level_of_samples = enhance(
        naive.co_association(ensemble.labels[rows]), confidence=ensemble, lam=0.1
    )
    np.testing.assert_allclose(
        between_different(enhanced[np.ix_(rows, rows)]),
        between_different(at_level_of_samples),
        atol=1e-8,
    )


def test_own_evidence_of_samples_or_microclusters():
    labels, _ = noisy(16, repeats=2)
    expected = ECCMS(4).fit(labels)
    ensemble = expected.ensemble_
    at_sample_level = ECCMS(4, evidence=naive.locally_weighted(labels)).fit(labels)
    compressed = locally_weighted(ensemble).between
    at_microclusters = ECCMS(4, evidence=compressed).fit(ensemble)
    for model in (at_sample_level, at_microclusters):
        np.testing.assert_allclose(model.consensus_matrix_, expected.consensus_matrix_, atol=1e-8)
        np.testing.assert_array_equal(model.labels_, expected.labels_)


def test_enhance_warns_once_and_calls_back():
    records = []
    with pytest.warns(ConvergenceWarning, match="enhance did not converge in 3 passes"):
        enhance(similarity_of(2), max_iter=3, callback=records.append)
    assert [record["pass"] for record in records] == [1, 2, 3]


# ---------------------------------------------------------------- the estimator


def test_history_callback_and_warning():
    labels, _ = noisy(17)
    records = []
    with pytest.warns(ConvergenceWarning, match="ECCMS did not converge in 5 passes") as caught:
        model = ECCMS(4, max_iter=5, callback=records.append).fit(labels)
    assert len(caught) == 1
    assert records == model.history_
    assert not model.converged_
    assert model.n_iter_ == 5
    assert model.residual_ == max(model.history_[-1][name] for name in CHANGES)
    longer = ECCMS(4).fit(labels)
    assert longer.converged_
    assert longer.residual_ < 0.01


def test_parameters_survive_cloning():
    model = ECCMS(3, alpha=0.7, evidence=np.eye(4), keep_confident=False)
    copy = clone(model)
    assert copy.get_params()["alpha"] == 0.7
    np.testing.assert_array_equal(copy.evidence, np.eye(4))


def test_member_weights_follow_reliability():
    labels, _ = noisy(18, n=200, n_members=6)
    labels[:, 5] = np.random.default_rng(0).integers(0, 4, 200)
    weights = ECCMS(4).fit(labels).member_weights_
    assert weights.argmin() == 5
    np.testing.assert_allclose(ECCMS(4, evidence="ca").fit(labels).member_weights_, 1 / 6)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"alpha": 0.0}, "alpha must be a number in"),
        ({"alpha": 1.1}, "alpha must be a number in"),
        ({"lam": 0.0}, "lam must be a number in"),
        ({"theta": -1.0}, "theta must be a number in"),
        ({"evidence": "cosine"}, "evidence must be one of 'lwca', 'ca', 'pts', or a symmetric"),
        ({"propagate": "yes"}, "propagate must be one of True, False"),
        ({"max_iter": 0}, "max_iter must be a whole number"),
        ({"tol": -1.0}, "tol must be a number"),
        ({"callback": 3}, "callback must be None or a callable"),
        ({"evidence": np.eye(7)}, "evidence must be 60 x 60 .* but is 7 x 7"),
        ({"evidence": np.ones((60, 3))}, "must be a square matrix"),
    ],
)
def test_parameters_outside_their_domain(parameters, words):
    with pytest.raises(ParameterError, match=words):
        ECCMS(4, **parameters).fit(noisy(0)[0])


def test_enhance_refuses_with_reasons():
    S = similarity_of(3)
    ensemble = Ensemble.from_labels(noisy(0, n=20)[0])
    with pytest.raises(ParameterError, match="source has 30 samples, but confidence has 20"):
        enhance(S, confidence=ensemble)
    with pytest.raises(ParameterError, match="confidence is for a matrix"):
        enhance(ensemble, confidence=S)
    with pytest.raises(ParameterError, match="enhance: alpha must be"):
        enhance(S, alpha=2.0)
    with pytest.raises(ParameterError, match=r"source must lie in \[0, 1\]"):
        enhance(3 * S)


def test_memory_is_asked_for_first():
    with pytest.raises(MemoryBudgetError, match="N = "):
        ECCMS(4, memory_budget=1000).fit(noisy(0)[0])
    with pytest.raises(MemoryBudgetError, match="n = 30 samples"):
        enhance(similarity_of(0), memory_budget=1000)


def test_non_finite_numbers_are_raised(monkeypatch):
    monkeypatch.setattr(passes, "relax", lambda *given, **named: (np.nan, np.ones(5)))
    with pytest.raises(FloatingPointError, match="pass 1"):
        ECCMS(4).fit(noisy(0)[0])
