"""Members are fitted wherever joblib puts them, whatever is lost on the way."""

from __future__ import annotations

from concurrent.futures import CancelledError

import numpy as np
import pytest

from coterie.datasets import load
from coterie.generate import kmeans_pool, members


class LosingParallel(members.Parallel):
    """Gives up after two results, so many times."""

    losses = 0

    def __call__(self, calls):
        for number, one in enumerate(super().__call__(calls)):
            if number == 2 and LosingParallel.losses > 0:
                LosingParallel.losses -= 1
                raise CancelledError("already forgotten")
            yield one


@pytest.mark.parametrize("losses", [1, members.MAX_RETRIES])
def test_what_a_backend_lost_is_asked_for_again(monkeypatch, losses):
    X = load("iris").X
    whole = kmeans_pool(X, 9, random_state=0)
    monkeypatch.setattr(members, "Parallel", LosingParallel)
    monkeypatch.setattr(LosingParallel, "losses", losses)
    told = []
    again = kmeans_pool(X, 9, random_state=0, callback=lambda done, _: told.append(done))
    assert np.array_equal(again.labels[again.inverse], whole.labels[whole.inverse])
    assert told == list(range(1, 10))


def test_what_is_lost_again_and_again_is_given_up(monkeypatch):
    monkeypatch.setattr(members, "Parallel", LosingParallel)
    monkeypatch.setattr(LosingParallel, "losses", members.MAX_RETRIES + 1)
    with pytest.raises(CancelledError):
        kmeans_pool(load("iris").X, 20, random_state=0)
