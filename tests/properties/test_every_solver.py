"""What must hold for every method of the library; the equations are those of coterie.testing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

import coterie
from coterie import ParameterError, testing
from coterie.solvers.methods import all_methods, find_method
from coterie.testing import noisy_copies
from tests.cases import degenerate
from tests.strategies import label_matrices

pytestmark = [
    # small random ensembles seldom have as many components as clusters were asked for
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
]
every_solver = pytest.mark.parametrize("name", sorted(all_methods()))
every_weighted_solver = pytest.mark.parametrize(
    "name", sorted(name for name, method in all_methods().items() if method.about.weights)
)
examples = settings(max_examples=25)


def solver(name: str, n_clusters: int = 3):
    return find_method(name)(n_clusters, random_state=0)


def up_to_distinct(labels):
    return st.integers(1, len(np.unique(labels, axis=0)))


@every_solver
@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_finds_what_noisy_members_agree_on(name, missing):
    clusters = solver(name).fit_predict(noisy_copies(0, missing=missing))
    assert adjusted_rand_score(np.repeat([0, 1, 2], 30), clusters) > 0.8


@every_solver
@examples
@given(labels=label_matrices(min_samples=2), data=st.data())
def test_exactly_as_many_clusters_as_asked(name, labels, data):
    testing.check_partition(solver(name), labels, data.draw(up_to_distinct(labels)))


@every_solver
@examples
@given(labels=label_matrices(min_samples=2), data=st.data())
def test_order_and_names_do_not_matter(name, labels, data):
    n, m = labels.shape
    testing.check_order_and_names(
        solver(name),
        labels,
        data.draw(up_to_distinct(labels)),
        data.draw(st.permutations(range(n))),
        data.draw(st.permutations(range(m))),
    )


# a verdict costs about as much as twenty fits or more
@every_solver
@settings(max_examples=4)
@given(labels=label_matrices(min_samples=4), data=st.data())
def test_order_and_names_do_not_matter_for_the_verdict(name, labels, data):
    n, m = labels.shape
    testing.check_verdict(
        solver(name),
        labels,
        data.draw(up_to_distinct(labels)),
        data.draw(st.permutations(range(n))),
        data.draw(st.permutations(range(m))),
    )


@every_solver
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("missing", [0.0, 0.25])
def test_shuffling_a_realistic_ensemble(name, seed, missing):
    labels = noisy_copies(seed, missing=missing)
    rng = np.random.default_rng(seed)
    samples, members = rng.permutation(len(labels)), rng.permutation(labels.shape[1])
    one = solver(name, 4).fit(labels)
    other = solver(name, 4).fit(labels[samples][:, members])
    assert adjusted_rand_score(one.labels_[samples], other.labels_) == 1


@every_weighted_solver
@examples
@given(labels=label_matrices(min_samples=2), data=st.data())
def test_a_sample_given_twice_equals_a_weight_of_two(name, labels, data):
    weights = data.draw(st.lists(st.integers(1, 3), min_size=len(labels), max_size=len(labels)))
    # which of two exchangeable microclusters comes first is decided by appearance, the same in both
    testing.check_weights(solver(name), labels, data.draw(up_to_distinct(labels)), weights)


@every_solver
@examples
@given(labels=label_matrices(min_samples=2), data=st.data())
def test_a_sample_without_any_label_stays_noise(name, labels, data):
    position = data.draw(st.integers(0, len(labels)))
    testing.check_blank_sample(solver(name), labels, data.draw(up_to_distinct(labels)), position)


@every_solver
def test_any_number_of_threads_gives_the_same_labels(name):
    with threadpool_limits(2, "blas"):
        testing.check_threads(solver(name), noisy_copies(1, n=240, m=12, missing=0.1), 3)


@every_solver
def test_a_seed_repeats(name):
    testing.check_seed(solver(name), noisy_copies(2), 5)


@every_solver
def test_scikit_learn_manners(name):
    testing.check_conventions(solver(name))


@every_solver
@degenerate
def test_degenerate_inputs(name, labels, n_clusters, expected, request):
    if name == "pta" and "half missing" in request.node.name:
        pytest.skip("a walk on two stars alternates between centre and leaves, and PTA follows it")
    assert solver(name, n_clusters).fit_predict(labels).tolist() == expected


@every_solver
def test_is_there_for_the_user(name):
    estimator = find_method(name)
    assert getattr(coterie, estimator.__name__) is estimator
    assert estimator.__name__ in coterie.__all__


@every_solver
def test_more_clusters_than_distinct_rows_is_refused(name):
    with pytest.raises(ParameterError, match=r"n_clusters is 3, but .* only 2 distinct label rows"):
        solver(name, 3).fit([[0, 0], [0, 0], [1, 1]])


@every_solver
@pytest.mark.parametrize("parameter", ["n_clusters", "random_state"])
def test_a_parameter_outside_its_domain_is_named(name, parameter):
    with pytest.raises(ParameterError, match=rf"{parameter} must be .*, but is 'three'"):
        solver(name, 3).set_params(**{parameter: "three"}).fit(noisy_copies(0))
