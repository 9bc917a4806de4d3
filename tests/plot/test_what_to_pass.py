"""A model, a Result or None where an array belongs: the message names the field to pass."""

import numpy as np
import pytest

from coterie import EAC, ConsensusClustering, Ensemble, ParameterError, plot
from coterie.result import Result

MODEL = EAC(2).fit(Ensemble.from_labels([[0, 0], [0, 0], [1, 1], [1, 0]]))
FIELDS = {
    "matrix": "ensemble",
    "confidence": "sample_confidence",
    "convergence": "history",
    "member_agreement": "ensemble",
}
OVER_K = ("criteria", "cdf", "delta_area", "tracking")


def refusal(name, given):
    with pytest.raises(ParameterError) as caught:
        getattr(plot, name)(given)
    message = str(caught.value)
    assert message.startswith(f"plot.{name}: ")
    assert "\n" not in message
    return message


@pytest.mark.parametrize("name", FIELDS)
def test_the_field_of_a_model_or_a_result(name):
    field = FIELDS[name]
    assert f"is a EAC; pass its {field}_ instead" in refusal(name, MODEL)
    assert refusal(name, Result.of(MODEL)).endswith(f"pass its {field} instead")
    assert f"fit it and pass its {field}_" in refusal(name, EAC())
    assert f"is None; pass the {field}_ of a fitted model" in refusal(name, None)
    assert hasattr(MODEL, f"{field}_")
    assert hasattr(Result.of(MODEL), field)


@pytest.mark.parametrize("name", OVER_K)
def test_pictures_over_k_ask_for_a_selection(name):
    assert "did not choose k; pass the Selection that select_k returns" in refusal(name, MODEL)
    assert refusal(name, Result.of(MODEL)).endswith("pass its selection instead")
    assert "is None; pass the Selection" in refusal(name, None)


def test_a_model_that_chose_k_has_a_selection():
    model = ConsensusClustering("auto")
    model.labels_, model.selection_ = np.zeros(4), object()
    assert refusal("criteria", model).endswith("pass its selection_ instead")


def test_one_cluster_has_no_confidence_to_boast_of():
    ax = plot.confidence(np.ones(4), labels=np.zeros(4, dtype=int))
    assert "carries no information" in ax.get_title(loc="left")
    ax = plot.confidence(np.ones(4), labels=[0, 0, 1, 1])
    assert "carries no information" not in ax.get_title(loc="left")
