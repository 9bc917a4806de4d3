import numpy as np
import pytest

from coterie import ParameterError
from coterie.datasets import load, names


@pytest.mark.parametrize("name", names())
def test_every_data_set_loads_and_repeats(name):
    data = load(name)
    assert data.X.shape[0] == data.y.shape[0]
    assert np.isfinite(data.X).all()
    assert data.n_classes >= 2
    assert np.array_equal(data.X, load(name).X)


def test_unknown_name_suggests_the_nearest():
    with pytest.raises(ParameterError, match="did you mean 'digits'"):
        load("digit")
