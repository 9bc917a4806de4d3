"""PCE: the compressed solver against the transcription on samples and the authors' own runs."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from coterie import Ensemble, ParameterError
from coterie.evaluate import accuracy
from coterie.numerics.discretise import discretise
from coterie.numerics.stiefel import polar
from coterie.solvers.pce import PCE, completion
from coterie.solvers.pce import solver as steps
from tests.builders import fit_quietly, members_of_sizes
from tests.naive import pce as naive
from tests.strategies import label_matrices

noisy = partial(members_of_sizes, n_classes=4, sizes=(4,), wrong=0.2)

ABLATIONS = [
    {},
    {"rotation": False},
    {"self_paced": False},
    {"diversity": False},
    {"scale": "paper"},
    {"evidence": "coassociation"},
    {"gamma": 0.05},
]
# clusters per member where n_clusters is 4: the paper's case, fewer, and both fewer and more
SIZES = [(4,), (2, 4, 3), (4, 7, 9, 2)]


def history(model, name):
    return [record[name] for record in model.history_]


def twin_of(model, **options):
    """The transcription on the samples of a fitted model, from the same rows."""
    ensemble = model.ensemble_
    order = ensemble.canonical_member_order
    canonical = ensemble.reorder_members(order)
    problem = steps.Problem.of(canonical, model, np.random.default_rng(model.random_state))
    rows = [int(np.flatnonzero(ensemble.inverse == row)[0]) for row in problem.first_rows]
    run = naive.pce(
        canonical.expand(canonical.labels).astype(np.int64),
        model.n_clusters,
        rows,
        passes=model.n_iter_,
        projections=problem.projections,
        **options,
    )
    back = np.argsort(order)
    run.alpha, run.completed = run.alpha[back], run.completed[:, back]
    return run


# ---------------------------------------------------------------- against the transcription


@pytest.mark.parametrize("options", ABLATIONS, ids=str)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_compressed_equals_samples(options, sizes, missing):
    labels, _ = noisy(1, sizes=sizes, missing=missing, repeats=2)
    model = fit_quietly(PCE(4, max_iter=12, tol=0.0, random_state=0, **options), labels)
    ablation = {name: value for name, value in options.items() if name not in ("scale", "evidence")}
    twin = twin_of(model, unit_columns=options.get("scale") == "paper", **ablation)
    assert adjusted_rand_score(model.component_labels_, twin.labels) == 1.0
    np.testing.assert_allclose(
        history(model, "objective"), twin.objective_history[1:], rtol=1e-8, atol=1e-8
    )
    np.testing.assert_allclose(model.sample_reliability_, twin.reliability, atol=1e-8)
    np.testing.assert_allclose(model.member_weights_, twin.alpha, atol=1e-8)
    categories = model.ensemble_.categories
    completed = [names[codes] for names, codes in zip(categories, twin.completed.T, strict=True)]
    np.testing.assert_array_equal(model.completed_labels_, np.stack(completed, axis=1))


@settings(max_examples=25)
@given(label_matrices(min_samples=2), st.integers(1, 4), st.sampled_from(ABLATIONS))
def test_objective_never_rises(labels, n_clusters, options):
    ensemble = Ensemble.from_labels(labels)
    n_clusters = min(n_clusters, ensemble.n_microclusters)
    model = fit_quietly(PCE(n_clusters, max_iter=15, random_state=0, **options), ensemble)
    scale = len(labels) * (1.0 + model.gamma)
    assert min(history(model, "residual")[1:], default=0.0) >= -1e-9 * scale
    assert (np.diff(history(model, "objective")) <= 1e-9 * scale).all()


@pytest.mark.parametrize("diversity", [True, False])
@pytest.mark.parametrize(
    "step",
    ["weigh_samples", "fit_embedding", "impute_labels", "weigh_members", "align_members", "rotate"],
)
def test_each_step_lowers_the_objective(step, diversity):
    labels, _ = noisy(2, sizes=(4, 7, 3), missing=0.4)
    model = PCE(4, diversity=diversity, random_state=0)
    problem = steps.Problem.of(Ensemble.from_labels(labels), model, np.random.default_rng(0))
    state = steps.start(problem)
    # away from the start, so that every step has something to do
    rng = np.random.default_rng(1)
    state.alpha = rng.dirichlet(np.ones(6))
    state.reliability = rng.uniform(0.2, 1.0, len(problem.labels))
    state.rotations = [polar(turn + rng.normal(size=turn.shape)) for turn in state.rotations]
    for member, rows in enumerate(problem.gaps):
        state.labels[rows, member] = rng.integers(problem.sizes[member], size=len(rows))
    turn = polar(rng.normal(size=(4, 4)))
    state.partition = discretise(state.embedding, problem.weights, turn, max_rounds=1)
    before = steps.objective(problem, state)
    getattr(steps, step)(problem, state)
    assert steps.objective(problem, state) < before - 1e-6


# ---------------------------------------------------------------- against the authors' program


@pytest.fixture(scope="module", params=[10, 30, 50], ids="{}%".format)
def pixraw(request, shared_data):
    path = shared_data / "golden" / f"pce_pixraw_missing{request.param}.npz"
    if not path.exists():
        pytest.skip(f"no reference runs at {path}")
    with np.load(path) as archive:
        return dict(archive)


def test_transcription_of_the_program_gives_the_authors_scores(pixraw):
    ours, theirs, equal = [], [], 0
    for base, labels, rows in zip(
        pixraw["base"], pixraw["labels"], pixraw["discretisation_rows"], strict=True
    ):
        found = naive.program(base.astype(np.int64), 10, rows[0])
        ours.append(accuracy(pixraw["y"], found))
        theirs.append(accuracy(pixraw["y"], labels[0]))
        equal += adjusted_rand_score(found, labels[0]) == 1.0
    assert np.mean(ours) == pytest.approx(np.mean(theirs), abs=0.01)
    # the last digits of the embedding step decide in the others
    assert equal >= 3


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_no_less_accurate_than_the_program(pixraw, seed):
    truth = pixraw["y"]
    authors = np.mean([accuracy(truth, run) for runs in pixraw["labels"] for run in runs])
    ours = []
    for base in pixraw["base"]:
        # one ensemble has a sample that no member saw; it counts as an error
        seen = (base >= 0).any(axis=1)
        model = PCE(10, random_state=seed).fit(base[seen])
        assert model.n_components_ == 10
        ours.append(accuracy(truth[seen], model.labels_) * seen.mean())
    assert np.mean(ours) >= authors - 0.005


def test_a_seed_gives_the_same_digits(pixraw):
    base = pixraw["base"][0]
    first, second = (PCE(10, random_state=7).fit(base) for _ in range(2))
    np.testing.assert_array_equal(first.labels_, second.labels_)
    np.testing.assert_array_equal(first.completed_labels_, second.completed_labels_)
    np.testing.assert_array_equal(first.member_weights_, second.member_weights_)
    assert first.history_ == second.history_


# ---------------------------------------------------------------- completion


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_gaps_are_filled_with_what_the_others_suggest(sizes):
    whole, _ = noisy(3, n=200, n_members=10, sizes=sizes, wrong=0.1)
    rng = np.random.default_rng(0)
    gaps = rng.random(whole.shape) < 0.3
    gaps[np.arange(200), rng.integers(10, size=200)] = False
    labels = np.where(gaps, -1, whole)
    shares = {}
    for impute in ("joint", "random"):
        model = fit_quietly(PCE(4, impute=impute, random_state=0), labels)
        np.testing.assert_array_equal(model.completed_labels_[~gaps], whole[~gaps])
        assert model.completed_labels_.shape == whole.shape
        for member, column in enumerate(model.completed_labels_.T):
            assert set(column) <= set(whole[:, member])
        shares[impute] = np.mean(model.completed_labels_[gaps] == whole[gaps])
    # a member that splits a class does so at random here: its gaps can only be half right
    assert shares["joint"] >= shares["random"] + 0.25


def test_completed_labels_are_in_the_members_own_names():
    labels = {"a": ["x", "x", None, "y", "y"], "b": [7, 7, 7, 9, None]}
    model = PCE(2, random_state=0).fit(labels)
    assert model.completed_labels_.tolist() == [["x", 7], ["x", 7], ["x", 7], ["y", 9], ["y", 9]]
    floats = PCE(2, random_state=0).fit(np.array([[0.0, 3.0], [0.0, np.nan], [1.0, 4.0]]))
    assert floats.completed_labels_.tolist() == [[0, 3], [0, 3], [1, 4]]


def test_a_large_incidence_stays_sparse(monkeypatch):
    labels, truth = noisy(4, n=150, n_members=8, missing=0.3, wrong=0.1)
    whole, _ = noisy(4, n=150, n_members=8, wrong=0.1)
    dense, complete = PCE(4, random_state=0).fit(labels), PCE(4, random_state=0).fit(whole)
    monkeypatch.setattr(completion, "DENSE_CELLS", 0)
    thin = PCE(4, random_state=0).fit(labels)
    assert (
        adjusted_rand_score(thin.labels_, truth) >= adjusted_rand_score(dense.labels_, truth) - 0.05
    )
    np.testing.assert_array_equal(PCE(4, random_state=0).fit(whole).labels_, complete.labels_)


def test_evidence_follows_the_numbers_of_clusters():
    same, _ = noisy(5)
    other, _ = noisy(5, sizes=(4, 8))
    for labels, meant in ((same, "coassociation"), (other, "projections")):
        chosen = fit_quietly(PCE(4, random_state=0), labels)
        named = fit_quietly(PCE(4, evidence=meant, random_state=0), labels)
        assert chosen.objective_ == named.objective_


# ---------------------------------------------------------------- invariances


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_no_order_and_no_name_matters(missing, sizes):
    labels, _ = noisy(6, sizes=sizes, missing=missing, repeats=2)
    model = fit_quietly(PCE(4, random_state=3), labels)
    rng = np.random.default_rng(0)
    samples, members = rng.permutation(len(labels)), rng.permutation(6)
    names = rng.permutation(20)
    renamed = np.where(labels < 0, -1, names[labels])[np.ix_(samples, members)]
    other = fit_quietly(PCE(4, random_state=3), renamed)
    assert adjusted_rand_score(model.labels_[samples], other.labels_) == 1.0
    np.testing.assert_array_equal(model.sample_reliability_[samples], other.sample_reliability_)
    np.testing.assert_array_equal(model.member_weights_[members], other.member_weights_)
    moved = names[model.completed_labels_][np.ix_(samples, members)]
    np.testing.assert_array_equal(moved, other.completed_labels_)


def test_repeated_samples_are_weights():
    labels, _ = noisy(7, missing=0.2)
    counts = np.random.default_rng(0).integers(1, 4, len(labels))
    repeated = fit_quietly(PCE(4, random_state=0), np.repeat(labels, counts, axis=0))
    weighted = fit_quietly(PCE(4, random_state=0), labels, sample_weight=counts)
    assert adjusted_rand_score(repeated.labels_, np.repeat(weighted.labels_, counts)) == 1.0
    np.testing.assert_allclose(repeated.objective_, weighted.objective_, rtol=1e-10)


def test_identical_samples_stay_together():
    labels, _ = noisy(8, missing=0.5, repeats=2)
    model = fit_quietly(PCE(4, random_state=0), labels)
    inverse = model.ensemble_.inverse
    for values in (model.labels_, model.sample_reliability_, model.component_labels_):
        assert len(np.unique(np.column_stack([inverse, values]), axis=0)) == inverse.max() + 1


def test_any_number_of_threads_gives_the_same():
    labels, _ = noisy(9, n=400, n_members=12, sizes=(4, 9), missing=0.2)
    found = []
    for threads in (1, 2):
        with threadpool_limits(threads):
            found.append(fit_quietly(PCE(4, random_state=0), labels))
    np.testing.assert_array_equal(found[0].labels_, found[1].labels_)
    np.testing.assert_allclose(found[0].objective_, found[1].objective_, rtol=1e-9)


# ---------------------------------------------------------------- degenerate inputs


@pytest.mark.parametrize("options", ABLATIONS, ids=str)
def test_identical_members_return_their_partition(options):
    truth = np.repeat([0, 1, 2], [5, 9, 3])
    model = PCE(3, random_state=0, **options).fit(np.stack([truth] * 4, axis=1))
    assert adjusted_rand_score(model.labels_, truth) == 1.0
    np.testing.assert_allclose(model.member_weights_, 0.25, atol=1e-6)


SAMPLES = np.arange(12)


@pytest.mark.parametrize(
    ("labels", "n_clusters"),
    [
        (SAMPLES[:, None] // 4, 3),
        (SAMPLES[:, None] // 4, 1),
        (SAMPLES[:, None], 5),
        (SAMPLES[:, None], 12),
        (np.stack([SAMPLES // 3, SAMPLES % 3], axis=1), 12),
        (np.stack([SAMPLES, SAMPLES // 4, SAMPLES // 4], axis=1), 3),
        (np.stack([SAMPLES // 4, 0 * SAMPLES, SAMPLES // 6], axis=1), 3),
        (np.zeros((1, 3), dtype=int), 1),
        (np.array([[0, -1], [0, -1], [1, -1], [-1, 0], [-1, 1], [-1, 1]]), 4),
    ],
    ids=[
        "one member",
        "one cluster",
        "a cluster per sample",
        "c = N",
        "c = N, crossed",
        "a member with n clusters",
        "a member with one cluster",
        "one sample",
        "nothing in common",
    ],
)
@pytest.mark.parametrize("options", ABLATIONS, ids=str)
def test_degenerate_inputs(labels, n_clusters, options):
    model = fit_quietly(PCE(n_clusters, random_state=0, **options), labels)
    assert len(np.unique(model.labels_)) == n_clusters
    assert np.isfinite(model.objective_)
    assert model.member_weights_.sum() == pytest.approx(1.0)
    assert ((model.sample_reliability_ > 0) & (model.sample_reliability_ <= 1)).all()
    if n_clusters == 3:
        assert adjusted_rand_score(model.labels_, SAMPLES // 4) == 1.0


def test_a_sample_that_no_member_saw_does_no_harm():
    labels, _ = noisy(13, n_members=8, missing=0.3, wrong=0.1)
    labels[-1] = -1
    model = fit_quietly(PCE(4, random_state=0), labels)
    without = fit_quietly(PCE(4, random_state=0), labels[:-1])
    assert model.labels_.tolist() == [*without.labels_, -1]
    assert (model.completed_labels_[:-1] >= 0).all()
    assert (model.completed_labels_[-1] == -1).all()


# ---------------------------------------------------------------- the estimator


def test_finds_the_classes_of_noisy_partial_members():
    labels, truth = noisy(10, n=200, n_members=12, missing=0.4)
    model = PCE(4, random_state=0).fit(labels)
    assert adjusted_rand_score(model.labels_, truth) > 0.8
    assert model.converged_
    assert model.n_components_ == 4
    assert model.residual_ <= model.tol
    assert adjusted_rand_score(model.labels_, model.component_labels_) == 1.0


def test_callback_sees_every_pass():
    seen = []
    labels, _ = noisy(11, missing=0.2)
    model = fit_quietly(PCE(4, callback=seen.append, random_state=0), labels)
    assert [record["pass"] for record in seen] == list(range(1, model.n_iter_ + 1))
    assert seen == model.history_
    ages = history(model, "age")
    np.testing.assert_allclose(np.diff(ages[:11]), 0.1 * np.array(ages[:10]))
    assert len(set(ages[10:])) == 1


def test_warns_once_when_the_passes_run_out():
    labels, _ = noisy(12, missing=0.2)
    with pytest.warns(ConvergenceWarning, match="did not converge in 2 passes") as caught:
        model = PCE(4, max_iter=2, random_state=0).fit(labels)
    assert len(caught) == 1
    assert not model.converged_
    assert model.n_iter_ == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gamma", 0.0),
        ("gamma", np.inf),
        ("gamma", "1"),
        ("rotation", 1),
        ("impute", "mean"),
        ("evidence", "pts"),
        ("scale", "none"),
        ("n_starts", 0),
        ("max_iter", 0),
        ("tol", -1.0),
    ],
)
def test_parameters_outside_their_domains(name, value):
    with pytest.raises(ParameterError, match=f"PCE: {name} must be"):
        PCE(2, **{name: value}).fit([[0, 0], [1, 1]])


def test_numbers_that_are_not_finite_name_the_step(monkeypatch):
    def broken(*arguments, **options):
        return np.full((4, 2), np.nan)

    monkeypatch.setattr(steps, "minimise_quadratic", broken)
    with pytest.raises(FloatingPointError, match="while fitting the embedding"):
        PCE(2, random_state=0).fit([[0, 0], [0, 1], [1, 0], [1, 1]])
