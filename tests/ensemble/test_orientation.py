"""What is a sample and what a member: lists, series, frames, and matrices that may be turned."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_digits, load_wine
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import scale

from coterie import LWEA, Ensemble, LabelError
from tests.naive.rows import as_given


def test_a_list_of_arrays_is_a_list_of_members():
    X = scale(load_wine().data)
    km3, km5 = (KMeans(k, n_init=1, random_state=0).fit_predict(X) for k in (3, 5))
    dbscan = DBSCAN(eps=2.3).fit_predict(X)
    gmm = GaussianMixture(3, random_state=0).fit_predict(X)
    model = LWEA(3).fit([km3, km5, dbscan, gmm])
    assert (model.ensemble_.n_samples, model.ensemble_.n_members) == (178, 4)
    assert len(model.labels_) == 178
    by_column = LWEA(3).fit(np.column_stack([km3, km5, dbscan, gmm]))
    assert model.labels_.tolist() == by_column.labels_.tolist()


@pytest.mark.parametrize("kind", [pd.Series, pl.Series])
def test_a_list_of_series_is_a_list_of_members(kind):
    ensemble = Ensemble.from_labels([kind([0, 0, 1]), kind(["a", "b", "b"])])
    assert as_given(ensemble) == [[0, 0, 1], ["a", "b", "b"]]


def test_series_with_the_same_ids_in_another_order_are_aligned():
    rna = pd.Series([0, 0, 1, 1], index=["p1", "p2", "p3", "p4"])
    meth = pd.Series(["y", "y", "x", "x"], index=["p4", "p3", "p2", "p1"])
    for given in ({"rna": rna, "meth": meth}, [rna.rename("rna"), meth.rename("meth")]):
        ensemble = Ensemble.from_labels(given)
        assert ensemble.sample_ids.tolist() == ["p1", "p2", "p3", "p4"]
        assert ensemble.members == ("rna", "meth")
        assert as_given(ensemble) == [[0, 0, 1, 1], ["x", "x", "y", "y"]]


def test_series_with_other_ids_are_refused_with_their_number():
    rna = pd.Series([0, 0, 1], index=["p1", "p2", "p3"])
    meth = pd.Series([0, 1, 1], index=["p2", "p3", "p4"])
    with pytest.raises(LabelError, match="'rna' and 'meth' have different samples: 2 ids are in"):
        Ensemble.from_labels({"rna": rna, "meth": meth})


@pytest.mark.parametrize("given", [np.asarray, pd.DataFrame])
def test_few_samples_with_many_members_get_a_question(given):
    members = np.random.default_rng(0).integers(0, 3, (6, 178))
    with pytest.warns(UserWarning, match="read as 6 samples with 178 members; .* give labels.T"):
        LWEA(3).fit(given(members))


def test_features_given_to_a_solver_get_a_question():
    with pytest.warns(UserWarning, match="if they are features, use ConsensusClustering"):
        LWEA(10).fit(load_digits().data)
