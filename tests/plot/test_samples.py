"""Confidence and embedding: the numbers drawn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.colors import to_rgba

from coterie import ParameterError
from coterie.plot import confidence, embedding, palette
from coterie.plot._samples import FAINTEST, ROW_HEIGHT

# ---------------------------------------------------------------- confidence


@settings(max_examples=25)
@given(values=st.lists(st.floats(0, 1), min_size=1, max_size=30), bins=st.integers(1, 12))
def test_the_bars_count_the_samples(values, bins):
    ax = confidence(values, bins=bins)
    bars = ax.containers[0]
    assert sum(bar.get_height() for bar in bars) == len(values)
    expected = np.histogram(values, bins, range=(0, 1))[0]
    assert [bar.get_height() for bar in bars] == expected.tolist()
    assert ax.lines[0].get_xdata()[0] == pytest.approx(np.median(values))


@settings(max_examples=25)
@given(
    rows=st.lists(st.tuples(st.floats(0, 1), st.integers(1, 4)), min_size=1, max_size=12),
)
def test_weights_are_repeated_samples(rows):
    values, repeats = np.array([r[0] for r in rows]), np.array([r[1] for r in rows])
    weighted = confidence(values, sample_weight=repeats)
    repeated = confidence(np.repeat(values, repeats))
    assert [bar.get_height() for bar in weighted.containers[0]] == [
        bar.get_height() for bar in repeated.containers[0]
    ]
    assert weighted.lines[0].get_xdata()[0] == pytest.approx(repeated.lines[0].get_xdata()[0])


def test_per_cluster_each_has_its_own_row_height_and_median():
    values = [0.1, 0.1, 0.9, 0.9, 0.9, 0.3]
    ax = confidence(values, labels=["b", "b", "b", "a", "a", "a"], bins=2)
    a, b = ax.containers
    assert [bar.get_y() for bar in a] == [1, 1]
    assert [bar.get_y() for bar in b] == [0, 0]
    assert [bar.get_height() for bar in a] == pytest.approx([ROW_HEIGHT / 2, ROW_HEIGHT])
    assert [bar.get_height() for bar in b] == pytest.approx([ROW_HEIGHT, ROW_HEIGHT / 2])
    assert [line.get_xdata()[0] for line in ax.lines[:2]] == [0.9, 0.1]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["a  (3)", "b  (3)"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"values": [0.5, 1.5]}, r"values must lie in \[0, 1\], but entry 1 is 1.5"),
        ({"values": [0.5, np.nan]}, "values must be finite, but entry 1 is nan"),
        ({"values": []}, "values is empty"),
        ({"values": [[0.5]]}, r"values must have shape any, but has \(1, 1\)"),
        ({"values": [0.5], "labels": [1, 2]}, "labels must hold 1 labels, but holds 2"),
        ({"values": [0.5], "bins": 0}, "bins must be a whole number of at least 1"),
        ({"values": [0.5], "sample_weight": [-1]}, "sample_weight must be positive"),
    ],
)
def test_confidence_refuses(arguments, says):
    with pytest.raises(ParameterError, match=f"plot.confidence: {says}"):
        confidence(**arguments)


# ---------------------------------------------------------------- embedding


def test_points_colours_and_fading():
    points = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    ax = embedding(points, ["x", "y", "x"], [1.0, 0.0, 0.5])
    drawn = ax.collections[0]
    # the least sure first
    assert drawn.get_offsets().tolist() == points[[1, 2, 0]].tolist()
    faces = drawn.get_facecolor()
    first, second = (to_rgba(colour)[:3] for colour in palette(2))
    assert [tuple(face[:3]) for face in faces] == [second, first, first]
    assert faces[:, 3] == pytest.approx([FAINTEST, (1 + FAINTEST) / 2, 1.0])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["x  (2)", "y  (1)"]
    assert ax.get_title(loc="left") == ""


def test_labels_come_in_natural_order():
    ax = embedding(np.zeros((4, 2)), ["T 10", "T 2", "B", "T 1"])
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == ["B  (1)", "T 1  (1)", "T 2  (1)", "T 10  (1)"]


def test_without_labels_there_is_no_legend():
    ax = embedding([[0, 0], [1, 1]], name="PCA of $5 features")
    assert ax.get_legend() is None
    assert ax.get_xlabel() == r"PCA of \$5 features, 1"


def test_of_too_many_points_a_share_is_drawn_by_seed_and_the_title_says_so():
    points = np.arange(2000.0).reshape(1000, 2)
    labels = np.arange(1000) % 3

    def drawn(seed):
        ax = embedding(points, labels, max_points=100, random_state=seed)
        assert ax.get_title(loc="left") == "100 of 1,000 samples, drawn at random"
        # the legend counts all samples, not those drawn
        assert ax.get_legend().get_texts()[0].get_text() == "0  (334)"
        return np.asarray(ax.collections[0].get_offsets())

    assert len(np.unique(drawn(0), axis=0)) == 100
    assert np.array_equal(drawn(0), drawn(0))
    assert not np.array_equal(drawn(0), drawn(1))
    assert np.isin(drawn(0)[:, 0], points[:, 0]).all()


def test_the_default_draws_up_to_twenty_thousand():
    assert len(embedding(np.zeros((20_000, 2))).collections[0].get_offsets()) == 20_000
    assert len(embedding(np.zeros((20_001, 2))).collections[0].get_offsets()) == 20_000


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            {"coordinates": np.zeros((3, 3))},
            r"coordinates must have shape any x 2, but has \(3, 3\)",
        ),
        ({"coordinates": [[0, np.inf]]}, r"coordinates must be finite, but entry \(0, 1\) is inf"),
        ({"coordinates": [[0, 0]], "labels": [0, 1]}, "labels must hold 1 labels, but holds 2"),
        ({"coordinates": [[0, 0]], "confidence": [2]}, r"confidence must lie in \[0, 1\]"),
        ({"coordinates": [[0, 0]], "max_points": 0}, "max_points must be a whole number"),
        ({"coordinates": [[0, 0]], "random_state": "x"}, "random_state must be None, a whole"),
    ],
)
def test_embedding_refuses(arguments, says):
    with pytest.raises(ParameterError, match=f"plot.embedding: {says}"):
        embedding(**arguments)
