"""Extreme weights and parameters through every method; the long run takes more of them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from coterie import CESHL, Ensemble, ParameterError, enhance
from coterie.core.params import Real
from coterie.solvers.methods import all_methods, find_method
from tests.adversarial import numerics, solvers
from tests.adversarial.ensembles import Case, case_number

PLAIN = numerics.noisy(40, 6, 3, 0)


@pytest.mark.parametrize("weight", [1e-30, 1e30])
@pytest.mark.parametrize("name", sorted(all_methods()))
def test_weights_of_any_scale(name, weight):
    case = Case("weights", PLAIN, {"sample_weight": np.full(len(PLAIN), weight)}, 3)
    assert solvers.attack(name, case) is None


def test_huge_weights_of_an_ensemble_that_is_enhanced():
    ensemble = Ensemble.from_labels(PLAIN, sample_weight=np.full(len(PLAIN), 1e30))
    # so many copies converge slowly
    with pytest.warns(ConvergenceWarning):
        enhanced = enhance(ensemble, max_iter=5)
    assert ((enhanced >= 0) & (enhanced <= 1)).all()


def test_weights_are_halved_only_where_they_are_many():
    few = Ensemble.from_labels(PLAIN, sample_weight=np.full(len(PLAIN), 2**34))
    assert few.with_fewer_copies() is few
    many = Ensemble.from_labels(PLAIN, sample_weight=10.0 ** np.linspace(18, 30, len(PLAIN)))
    halved = many.with_fewer_copies()
    assert 2.0**39 < halved.weights.sum() <= 2.0**40
    np.testing.assert_array_equal(np.frexp(halved.weights)[0], np.frexp(many.weights)[0])


@pytest.mark.parametrize("name", sorted(all_methods()))
def test_what_is_no_number_is_refused(name):
    estimator = find_method(name)
    for parameter, domain in estimator.domains().items():
        if not isinstance(domain, Real):
            continue
        for value in numerics.NO_NUMBERS:
            model = estimator(3, **{parameter: value})
            with pytest.raises(ParameterError, match=f"{parameter} must be a number in"):
                model.fit(PLAIN)


# each of them once ended in an error of a library
@pytest.mark.parametrize(
    ("name", "parameter", "value"),
    [
        ("ceshl", "lam", 1e-300),
        ("ceshl", "rho", 1e300),
        ("pce", "gamma", 1e300),
        ("imvc", "lam", 1e300),
        ("cspa", "imbalance", 1e300),
        ("mcla", "imbalance", 1e300),
    ],
)
def test_far_parameters_are_taken_or_refused(name, parameter, value):
    error = solvers.attack(name, Case("far", PLAIN, {}, 3), **{parameter: value})
    assert error is None or parameter in str(error)


def test_the_faintest_term_that_is_taken():
    assert CESHL(3, lam=1e-12).fit(PLAIN).n_clusters_ == 3
    with pytest.raises(ParameterError, match=r"lam must be a number in \[1e-12, 1e\+12\]"):
        CESHL(3, lam=0.9e-12).fit(PLAIN)


@pytest.mark.parametrize("name", ["imvc", "osimvc"])
def test_eigenvalues_that_nearly_coincide(name):
    assert solvers.attack(name, case_number(1, 7)) is None
