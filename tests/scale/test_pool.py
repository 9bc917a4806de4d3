"""Members fitted on a sample: the same sample and the same labels for every partitioning."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("dask.dataframe", reason="dask is not installed")
import dask.array as da
import dask.dataframe as dd
import pandas as pd
from dask import delayed
from sklearn.cluster import AgglomerativeClustering, Birch

from coterie import LWEA, ConsensusClustering, DataError, LabelError, ParameterError
from coterie.datasets import load
from coterie.generate import kmeans_pool
from coterie.scale import features_from_dask, kmeans_pool_dask
from coterie.scale._workers import position_hashes
from coterie.scale.centres import nearest_centres


@pytest.fixture(scope="module")
def X() -> np.ndarray:
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(5, 3)) * 6
    return centres[rng.integers(0, 5, 3000)] + rng.normal(size=(3000, 3))


def test_a_sample_of_all_rows_gives_the_pool_in_memory():
    X = load("iris").X
    whole = kmeans_pool(X, 6, (2, 6), random_state=3)
    found = kmeans_pool_dask(da.from_array(X, chunks=(37, 2)), 6, (2, 6), random_state=3)
    assert found.member_names == whole.members
    labels = found.labels.compute()
    for j, name in enumerate(whole.members):
        codes = whole.expand(whole.labels)[:, whole.members.index(name)]
        pairs = {*zip(codes.tolist(), labels[:, j].tolist(), strict=True)}
        assert len(pairs) == len(set(codes.tolist()))


def test_sample_and_labels_do_not_depend_on_the_partitions(X):
    pools = [
        kmeans_pool_dask(da.from_array(X, chunks=(chunk, 3)), 4, 6, sample=500, random_state=1)
        for chunk in (3000, 700, 64)
    ]
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b", "c"]), npartitions=5)
    pools.append(kmeans_pool_dask(frame, 4, 6, sample=500, random_state=1))
    assert {pool.sampled for pool in pools} == {500}
    first = pools[0].labels.compute()
    for pool in pools[1:]:
        np.testing.assert_array_equal(np.asarray(pool.labels.compute()), first)
    other = kmeans_pool_dask(da.from_array(X), 4, 6, sample=500, random_state=2)
    assert (other.labels.compute() != first).any()


def test_the_sample_is_even_over_the_rows(X):
    places = np.flatnonzero(position_hashes(0, 200_000, 99).astype(float) < 0.1 * 2.0**64)
    counts = np.histogram(places, bins=20, range=(0, 200_000))[0]
    # 1,000 expected in each, with a standard deviation of 30
    assert abs(counts - 1000).max() < 150
    assert abs(len(places) - 20_000) < 700


def test_the_rows_of_a_sample_keep_their_order(X):
    rows = da.from_array(np.arange(6000.0).reshape(-1, 1), chunks=(500, 1))
    drawn = features_from_dask(rows, sample=300).draw(np.random.default_rng(5))
    assert drawn.shape == (300, 1)
    assert (np.diff(drawn[:, 0]) > 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_nearest_centre_by_definition(dtype):
    rng = np.random.default_rng(0)
    rows, centres = rng.normal(size=(200, 5)).astype(dtype), rng.normal(size=(9, 5))
    found = np.empty(200, dtype=np.int32)
    nearest_centres(rows, np.ascontiguousarray(centres.T), found)
    distances = ((rows[:, None, :].astype(float) - centres) ** 2).sum(axis=2)
    np.testing.assert_array_equal(found, distances.argmin(axis=1))


def test_ties_between_centres_do_not_depend_on_the_neighbours():
    grid = np.stack(np.meshgrid(np.arange(12.0), np.arange(12.0)), axis=-1).reshape(-1, 2)
    X = np.tile(grid, (10, 1))
    whole = kmeans_pool_dask(
        da.from_array(X, chunks=(1440, 2)), 5, 7, random_state=0
    ).labels.compute()
    parts = kmeans_pool_dask(
        da.from_array(X, chunks=(31, 2)), 5, 7, random_state=0
    ).labels.compute()
    np.testing.assert_array_equal(whole, parts)
    for row in range(144):
        assert len(np.unique(whole[row::144], axis=0)) == 1


def test_parquet_features_carry_their_id(tmp_path, X):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["who"] = [f"p{i}" for i in range(len(frame))]
    frame.iloc[:1000].to_parquet(tmp_path / "part.0.parquet")
    frame.iloc[1000:].to_parquet(tmp_path / "part.1.parquet")
    pool = kmeans_pool_dask(tmp_path, 3, 5, sample=400, id="who", random_state=0)
    table = pool.labels.compute()
    assert table["who"].tolist() == frame["who"].tolist()
    alone = kmeans_pool_dask(da.from_array(X), 3, 5, sample=400, random_state=0).labels.compute()
    np.testing.assert_array_equal(table.drop(columns="who").to_numpy(), alone)
    assert int(pool.ensemble().weights.sum()) == 3000
    frame.iloc[:10].drop(columns="b").to_parquet(tmp_path / "part.2.parquet")
    with pytest.raises(LabelError, match=r"part\.2\.parquet has no column 'b'"):
        kmeans_pool_dask(tmp_path, 3, 5, id="who")


def test_what_is_no_number_is_told_with_its_file(tmp_path, X):
    frame = pd.DataFrame(X.copy(), columns=["a", "b", "c"])
    frame.iloc[:1000].to_parquet(tmp_path / "part.0.parquet")
    frame.iloc[1000:].to_parquet(tmp_path / "part.1.parquet", row_group_size=500)
    assert kmeans_pool_dask(tmp_path, 2, 3, sample=50, random_state=0).rows == 3000
    frame.loc[1704, "b"] = np.inf
    frame.iloc[1000:].to_parquet(tmp_path / "part.1.parquet", row_group_size=500)
    with pytest.raises(ValueError, match=r"part\.1\.parquet: .* column 'b' \(first in row 704\)"):
        kmeans_pool_dask(tmp_path, 2, 3, sample=50, random_state=0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("coterie.scale.features.PART_CELLS", 1500)
        words = r"part\.1\.parquet \(row groups 1 to 1\): .* column 'b' \(first in row 204\)"
        with pytest.raises(ValueError, match=words):
            kmeans_pool_dask(tmp_path, 2, 3, sample=50, random_state=0)


def test_text_in_a_partition_of_a_frame_is_told_with_its_number(X):
    def spoil(part: pd.DataFrame) -> pd.DataFrame:
        if len(part) and part.index[0] == 2000:
            return part.assign(b=["many"] * len(part))
        return part

    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b", "c"]), npartitions=3)
    mixed = frame.map_partitions(spoil, meta=frame._meta)
    with pytest.raises(ValueError, match=r"partition 2: X holds text in column 'b' .*'many'"):
        kmeans_pool_dask(mixed, 2, 3, sample=50, random_state=0)


# ---------------------------------------------------------------------- ConsensusClustering


@pytest.mark.parametrize("generator", ["kmeans", "features", "subsample"])
def test_the_fit_equals_that_in_memory_where_the_sample_is_everything(X, generator):
    model = ConsensusClustering(5, n_members=8, generator=generator, random_state=4)
    model.fit(da.from_array(X[:600], chunks=(130, 3)))
    lazy = model.labels_
    assert lazy.chunks == ((130, 130, 130, 130, 80),)
    if generator == "subsample":
        # in memory the rows outside of a member's share have no label; here each member is asked
        assert len(np.unique(lazy.compute())) == 5
        return
    whole = ConsensusClustering(5, n_members=8, generator=generator, random_state=4).fit(X[:600])
    assert type(model.solver_) is type(whole.solver_) is LWEA
    np.testing.assert_array_equal(lazy.compute(), whole.labels_)
    np.testing.assert_array_equal(model.sample_confidence_.compute(), whole.sample_confidence_)
    np.testing.assert_array_equal(model.member_weights_, whole.member_weights_)


def test_labels_of_a_frame_are_a_series_of_it(X):
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b", "c"]), npartitions=3)
    labels = []
    for lazy in (frame, frame.repartition(npartitions=2)):
        model = ConsensusClustering(5, n_members=6, solver="kcc", random_state=0)
        model.fit(features_from_dask(lazy, sample=800))
        assert [*model.feature_names_in_] == ["a", "b", "c"]
        labels.append(lazy.assign(cluster=model.labels_).compute()["cluster"].to_numpy())
    np.testing.assert_array_equal(labels[0], labels[1])
    assert model.n_clusters_ == 5
    assert int(model.ensemble_.weights.sum()) == 3000


def test_new_rows_in_partitions_get_lazy_clusters(X):
    array = da.from_array(X, chunks=(700, 2))
    model = ConsensusClustering(5, n_members=6, solver="kcc", random_state=0)
    model.fit(features_from_dask(array, sample=800))
    lazy = model.predict(array)
    assert lazy.chunks == ((700, 700, 700, 700, 200),)
    np.testing.assert_array_equal(lazy.compute(), model.labels_.compute())
    some = X[X[:, 0] > 0]
    unknown = array[array[:, 0] > 0]
    np.testing.assert_array_equal(model.predict(unknown).compute(), model.predict(some))
    with pytest.raises(ParameterError, match="X has 2 features, but the members were fitted on 3"):
        model.predict(array[:, :2])
    with pytest.raises(ValueError, match="partition 0: X has NaN"):
        model.predict(da.full((4, 3), np.nan)).compute()


def test_new_rows_of_a_frame_keep_their_index(X):
    frame = pd.DataFrame(X, columns=["a", "b", "c"], index=[f"r{i}" for i in range(len(X))])
    model = ConsensusClustering(5, n_members=6, solver="kcc", random_state=0).fit(frame)
    lazy = dd.from_pandas(frame[["c", "b", "a"]], npartitions=4, sort=False).assign(other="x")
    found = model.predict(lazy).compute()
    assert [*found.index] == [*frame.index]
    np.testing.assert_array_equal(found, model.labels_)
    with pytest.raises(LabelError, match="X has no column 'b'"):
        model.predict(lazy[["a", "c"]])


def test_a_partition_with_other_features_is_named(X):
    frame = pd.DataFrame(X[:40], columns=["a", "b", "c"])
    for column in ("a", "b"):
        parts = [delayed(frame), delayed(frame.drop(columns=column))]
        lazy = dd.from_delayed(parts, meta=frame.iloc[:0], verify_meta=False)
        with pytest.raises(LabelError, match=f"partition 1 has no column '{column}'"):
            kmeans_pool_dask(lazy, 3, 4, random_state=0)
    narrow = da.from_delayed(delayed(X[:5, :2]), (5, 3), float)
    with pytest.raises(ParameterError, match="partition 1 has 2 features, but X has 3"):
        kmeans_pool_dask(da.concatenate([da.from_array(X[:40]), narrow]), 3, 4, random_state=0)
    with pytest.raises(ParameterError, match="X is a dask series"):
        kmeans_pool_dask(dd.from_pandas(frame["a"], npartitions=2), 3, 4, random_state=0)


def test_the_number_of_clusters_is_chosen_on_the_sample(X):
    model = ConsensusClustering("auto", n_members=20, random_state=0)
    model.fit(features_from_dask(da.from_array(X, chunks=(1000, 3)), sample=400))
    assert model.selection_.recommended == model.n_clusters_
    assert len(np.unique(model.labels_.compute())) == model.n_clusters_


def test_members_that_cannot_predict_are_refused(X):
    array = da.from_array(X, chunks=(1000, 3))
    with pytest.raises(ParameterError, match="generator is 'spectral'"):
        ConsensusClustering(3, generator="spectral").fit(array)
    with pytest.raises(ParameterError, match="cannot predict: AgglomerativeClustering_0"):
        ConsensusClustering(3, generator=[AgglomerativeClustering(3)]).fit(
            features_from_dask(array, sample=300)
        )
    model = ConsensusClustering(
        3, generator=[Birch(n_clusters=3), Birch(n_clusters=4)], random_state=0
    )
    model.fit(features_from_dask(array, sample=300))
    assert model.labels_.shape == (3000,)


def test_features_that_are_no_numbers_are_told_with_their_partition(X):
    broken = X.copy()
    broken[1700, 1] = np.nan
    array = da.from_array(broken, chunks=(1000, 3))
    pool = kmeans_pool_dask(da.from_array(X, chunks=(1000, 3)), 3, 4, sample=100, random_state=0)
    with pytest.raises(
        ValueError, match=r"partition 1: X has NaN .* column 1 \(first in row 700\)"
    ):
        kmeans_pool_dask(array, 3, 4, sample=20, random_state=0).labels.compute()
    assert pool.rows == 3000
    with pytest.raises(ParameterError, match="X must be a dask dataframe"):
        kmeans_pool_dask(X)


# ---------------------------------------------------------------------- tables


def table(n=600):
    """A frame with an id, a category, dates as text, and numbers of two scales."""
    rng = np.random.default_rng(4)
    kinds = rng.integers(3, size=n)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(300 * kinds + np.arange(n) % 90, unit="D")
    return pd.DataFrame(
        {
            "who": [f"w{i}" for i in range(n)],
            "age": np.array([20.0, 40.0, 60.0])[kinds] + rng.normal(0, 3, n),
            "income": np.array([2e4, 6e4, 3e4])[kinds] + rng.normal(0, 3e3, n),
            "plan": np.array(["basic", "pro", "free"])[kinds],
            # which number is the month is seen in some partitions only
            "joined": days.strftime("%m/%d/%Y"),
        }
    )


@pytest.mark.parametrize("npartitions", [1, 7, 60])
def test_a_table_in_partitions_is_encoded_as_in_memory(npartitions):
    frame = table()
    whole = ConsensusClustering(3, n_members=8, random_state=0).fit(frame)
    lazy = dd.from_pandas(frame, npartitions=npartitions)
    model = ConsensusClustering(3, n_members=8, random_state=0).fit(lazy)
    np.testing.assert_array_equal(model.labels_.compute(), whole.labels_)
    np.testing.assert_allclose(model.sample_confidence_.compute(), whole.sample_confidence_)
    assert model.encoder_.plans_ == whole.encoder_.plans_
    assert model.verdict_ == whole.verdict_
    np.testing.assert_array_equal(model.predict(lazy).compute(), whole.labels_)
    np.testing.assert_array_equal(model.predict(frame), whole.labels_)
    np.testing.assert_array_equal(whole.predict(lazy), whole.labels_)


def test_a_cloud_in_partitions_is_doubted_as_in_memory():
    cloud = np.random.default_rng(0).normal(size=(400, 4))
    whole = ConsensusClustering(3, n_members=8, random_state=0).fit(cloud)
    model = ConsensusClustering(3, n_members=8, random_state=0)
    model.fit(da.from_array(cloud, chunks=(90, 4)))
    assert "slices of a continuum" in model.verdict_.text
    assert model.verdict_ == whole.verdict_


def test_gaps_in_partitions_are_filled_by_the_mean_of_the_donors():
    # in memory every member draws a donor for each row; in partitions all members take their mean
    frame = table()
    frame.loc[::9, "age"] = np.nan
    whole = ConsensusClustering(3, n_members=8, random_state=0).fit(frame)
    lazy = dd.from_pandas(frame, npartitions=5)
    model = ConsensusClustering(3, n_members=8, random_state=0).fit(lazy)
    complete = frame["age"].notna().to_numpy()
    labels = model.labels_.compute().to_numpy()
    np.testing.assert_array_equal(labels[complete], whole.labels_[complete])
    np.testing.assert_array_equal(labels, model.predict(frame))


def test_infinite_values_of_a_table_are_told_with_their_partition():
    frame = table()
    frame.loc[450, "age"] = -np.inf
    lazy = dd.from_pandas(frame, npartitions=6)
    with pytest.raises(
        DataError, match=r"partition 4.*'age' holds 1 infinite value \(first in row 50"
    ):
        ConsensusClustering(3).fit(lazy)


def test_without_preparation_text_in_partitions_is_refused():
    lazy = dd.from_pandas(table(), npartitions=6)
    with pytest.raises(ValueError, match="text in column 'who'"):
        ConsensusClustering(3, prepare=None).fit(lazy)


# ---------------------------------------------------------------------- prototypes


def with_prototypes(X, **settings):
    given = {"n_members": 6, "prototypes": 300, "min_cluster_size": None, "random_state": 0}
    return ConsensusClustering(5, **(given | settings)).fit(X)


def test_prototypes_in_partitions_give_the_labels_of_the_fit_in_memory(X):
    whole = with_prototypes(X)
    assert len(whole.prototypes_) == 300
    for chunk in (3000, 700, 64):
        model = with_prototypes(da.from_array(X, chunks=(chunk, 3)))
        np.testing.assert_array_equal(model.labels_.compute(), whole.labels_)
        np.testing.assert_array_equal(model.sample_confidence_.compute(), whole.sample_confidence_)
        assert model.verdict_.text == whole.verdict_.text
        assert model.ensemble_.weights.sum() == len(X)
        np.testing.assert_array_equal(model.predict(X), whole.labels_)


def test_a_small_sample_still_stands_for_all_rows(X, tmp_path):
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.iloc[:1200].to_parquet(tmp_path / "part-0.parquet")
    frame.iloc[1200:].to_parquet(tmp_path / "part-1.parquet")
    model = with_prototypes(features_from_dask(str(tmp_path), sample=800))
    assert str(model.prototypes_) == "300 prototypes (random rows) stood for 3,000 samples."
    lazy = model.predict(dd.from_pandas(frame, npartitions=3)).compute()
    np.testing.assert_array_equal(lazy.to_numpy(), model.labels_.compute().to_numpy())


def test_members_that_cannot_predict_label_the_prototypes_in_partitions(X):
    members = [AgglomerativeClustering(5), AgglomerativeClustering(5, linkage="average")]
    model = with_prototypes(da.from_array(X, chunks=(500, 3)), generator=members)
    assert len(np.unique(model.labels_.compute())) == 5


def test_more_prototypes_than_drawn_rows_are_refused(X):
    with pytest.raises(ParameterError, match="only 200 rows were drawn from the partitions"):
        with_prototypes(features_from_dask(da.from_array(X), sample=200))
