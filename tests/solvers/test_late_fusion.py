"""IMVC and OSIMVC against their literal forms on samples, their objectives, and the corners."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from coterie import Ensemble
from coterie.evaluate import ari
from coterie.solvers import late_fusion as steps
from coterie.solvers.late_fusion import IMVC, OSIMVC
from tests.builders import fit_quietly, members_of_sizes, noisy_members
from tests.naive import late_fusion as naive
from tests.strategies import label_matrices

noisy = partial(members_of_sizes, repeats=2)
erring = partial(noisy_members, n_members=6, n_labels=4)

T6 = np.array([[0, 0, 0], [0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 1, 1], [1, 1, 1]])
SOLVERS = [IMVC, OSIMVC]
# clusters per member where n_clusters is 3: the paper's case, fewer, more, and all of these
SIZES = [(3,), (2,), (5,), (2, 3, 5)]


def same_space(one, other):
    """Whether the columns span the same space."""
    return np.allclose(one @ one.T, other @ other.T, atol=1e-8)


def cases(sizes, missing):
    labels, _ = noisy(0, n=40, sizes=sizes, missing=missing)
    # labels must have no gaps for the literal form, which reads them as column numbers
    ensemble = Ensemble.from_labels(labels, member_weight=[1.0, 2.0, 0.5, 1.0, 1.0, 3.0])
    return ensemble, ensemble.expand(ensemble.labels).astype(np.int64)


# ---------------------------------------------------------------- equal to the literal methods


@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_guide_is_that_of_the_samples(sizes, missing):
    ensemble, raw = cases(sizes, missing)
    problem = steps.Fusion.of(ensemble, 3)
    scaled = [
        np.sqrt(w) * h for w, h in zip(ensemble.member_weight, naive.indicators(raw), strict=True)
    ]
    assert same_space(ensemble.expand(problem.guide), naive.guide(scaled, 3))


@pytest.mark.parametrize("lam", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_imvc_is_the_literal_method(sizes, missing, lam):
    ensemble, raw = cases(sizes, missing)
    problem = steps.Fusion.of(ensemble, 3)
    members = steps.start(problem)
    history = []
    for _ in range(6):
        H = problem.polar(steps.combine(problem, members, lam))
        steps.follow_consensus(problem, members, H)
        combined = steps.combine(problem, members, lam)
        history.append(steps.record(problem, H, combined, history))
    guide = ensemble.expand(problem.guide)
    G, beta, objectives = naive.imvc(raw, 3, lam, ensemble.member_weight, guide, 6)
    assert np.allclose(ensemble.expand(H), G, atol=1e-8)
    assert np.allclose(members.beta, beta, atol=1e-8)
    assert np.allclose([record["objective"] for record in history], objectives)
    assert np.allclose(G.T @ G, np.eye(3))


@pytest.mark.parametrize("lam", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_osimvc_is_the_literal_method(sizes, missing, lam):
    ensemble, raw = cases(sizes, missing)
    problem = steps.Fusion.of(ensemble, 3)
    C = steps.first_rotation(problem, 3, np.random.default_rng(0))
    run = steps.follow(problem, C, lam, max_iter=6, tol=0.0)
    guide = ensemble.expand(problem.guide)
    y, beta, objectives = naive.osimvc(raw, C, lam, ensemble.member_weight, guide, len(run.history))
    assert np.array_equal(ensemble.expand(run.labels), y)
    assert np.allclose(run.beta, beta, atol=1e-8)
    assert np.allclose([record["objective"] for record in run.history], objectives)


@pytest.mark.parametrize("rank", [1, 3])
def test_the_polar_factor_on_the_range(rank):
    rng = np.random.default_rng(0)
    for shape in ((40, 3), (5, 3), (2, 4)):
        matrix = rng.normal(size=(shape[0], rank)) @ rng.normal(size=(rank, shape[1]))
        assert np.allclose(steps.supported_polar(matrix), naive.polar(matrix), atol=1e-10)
    nearly = rng.normal(size=(40, 3)) * [1.0, 1.0, 1e-6]
    assert np.allclose(steps.supported_polar(nearly), naive.polar(nearly), atol=1e-8)
    assert not steps.supported_polar(np.zeros((9, 3))).any()


# ---------------------------------------------------------------- objectives, weights, order


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_the_objective_does_not_fall_with_complete_labels(solver, missing):
    # filling replaces rows of other length in the first pass, from then on every step is a maximum
    labels, _ = noisy(1, missing=missing)
    model = fit_quietly(solver(3, random_state=0, tol=0.0, max_iter=20), labels)
    objectives = [record["objective"] for record in model.history_]
    assert (np.diff(objectives[1:]) >= -1e-10 * objectives[-1]).all()


@pytest.mark.parametrize("solver", SOLVERS)
@settings(max_examples=20)
@given(labels=label_matrices(min_samples=2), data=st.data())
def test_a_weight_is_a_number_of_rows(solver, labels, data):
    n = len(labels)
    repeats = data.draw(st.lists(st.integers(1, 3), min_size=n, max_size=n))
    c = data.draw(st.integers(1, len(np.unique(labels, axis=0))))
    one = fit_quietly(solver(c, random_state=0), labels, sample_weight=repeats)
    two = fit_quietly(solver(c, random_state=0), np.repeat(labels, repeats, axis=0))
    assert np.array_equal(np.repeat(one.labels_, repeats), two.labels_)
    assert np.array_equal(np.unique(two.labels_), np.arange(c))


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_a_member_weight_of_two_is_the_member_twice(missing):
    labels, _ = noisy(2, missing=missing)
    once = fit_quietly(IMVC(3, random_state=0), labels, member_weight=[1, 1, 1, 1, 1, 2])
    twice = fit_quietly(IMVC(3, random_state=0), labels[:, [0, 1, 2, 3, 4, 5, 5]])
    assert once.objective_ == pytest.approx(twice.objective_)
    assert once.member_weights_[5] == pytest.approx(twice.member_weights_[5:].sum())
    assert same_space(once.embedding_, twice.embedding_)


@pytest.mark.parametrize("solver", SOLVERS)
def test_shuffling_and_renaming(solver):
    labels, _ = noisy(3, missing=0.2)
    rng = np.random.default_rng(0)
    samples, members = rng.permutation(len(labels)), rng.permutation(6)
    renamed = np.array(["d", "b", "a", "c", "e", None], dtype=object)[labels[samples][:, members]]
    one = fit_quietly(solver(3, random_state=0), labels)
    two = fit_quietly(solver(3, random_state=0), renamed)
    assert ari(one.labels_[samples], two.labels_) == 1.0
    assert np.array_equal(one.member_weights_[members], two.member_weights_)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_finds_the_classes(solver, missing):
    # three classes that every member knows, unlike those of noisy members of three clusters
    labels, truth = erring(4, n=90, n_members=12, missing=missing)
    assert ari(truth, fit_quietly(solver(3, random_state=0), labels).labels_) > 0.8


@pytest.mark.parametrize("solver", SOLVERS)
def test_a_member_of_noise_gets_less_weight(solver):
    labels, _ = noisy(5, n=90)
    labels[:, 0] = np.random.default_rng(0).integers(3, size=len(labels))
    model = fit_quietly(solver(3, random_state=0), labels)
    assert model.member_weights_[0] < 0.7 * model.member_weights_[1:].min()


@pytest.mark.parametrize("solver", SOLVERS)
def test_the_small_example(solver):
    holed = T6.copy()
    holed[2, 1] = -1
    for labels in (T6, holed):
        assert fit_quietly(solver(2, random_state=0), labels).labels_.tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("solver", SOLVERS)
def test_too_few_passes_warn_and_the_callback_sees_every_pass(solver):
    labels, _ = noisy(6)
    seen = []
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 passes"):
        solver(3, max_iter=2, random_state=0, callback=seen.append).fit(labels)
    assert [record["pass"] for record in seen] == [1, 2]
