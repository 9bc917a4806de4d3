"""scikit-learn's own checks. EAC takes labels, so checks that feed it features are declared to fail."""

from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from coterie import EAC

FEATURES = "the check fits features; these are labels, and a fraction is refused as a label"
DECLARED = {
    "check_clustering": FEATURES,
    "check_positive_only_tag_during_fit": FEATURES,
    "check_sample_weight_equivalence_on_dense_data": FEATURES,
    "check_estimators_empty_data_messages": "a table without columns lacks members, not features",
}


@parametrize_with_checks([EAC(), EAC(2)], expected_failed_checks=lambda estimator: DECLARED)
def test_eac(estimator, check):
    check(estimator)
