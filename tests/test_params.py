"""Suggestions for a name that is not there."""

import pytest

from coterie.core.params import closest, nearest


@pytest.mark.parametrize(
    ("word", "known", "expected"),
    [
        # zeros before a number make no other number, and nothing else comes near that
        ("c03", ["c103", "c003", "c0030"], "c003"),
        ("c3", ["c103", "c003", "d3"], "c003"),
        ("run_0012_b", ["run_12_a", "run_12_b"], "run_12_b"),
        # equally like: the one that begins alike
        ("c04", ["c104", "c054", "c704"], "c054"),
        ("EAC", ["rce", "eac"], "eac"),
        ("spse", ["rsec-h", "spce", "pce"], "spce"),
        ("pak", ["stability", "pac"], "pac"),
        ("kmean", ["spectral", "kmeans"], "kmeans"),
    ],
)
def test_the_likeliest_name_comes_first(word, known, expected):
    for names in (known, known[::-1]):
        assert closest(word, names, 1) == [expected]
        assert nearest(word, names) == f"; did you mean {expected!r}?"


@pytest.mark.parametrize(
    ("word", "known"),
    [
        ("zebra", ["eac", "spce", "trce"]),
        ("method", ["eac", "hgpa", "cspa"]),
        ("x10", ["y1", "z2"]),
        ("100", ["1", "10000000"]),
        ("", ["eac"]),
        ("eac", []),
    ],
)
def test_nothing_is_suggested_where_nothing_is_near(word, known):
    assert closest(word, known, 3) == []
    assert nearest(word, known) == ""


def test_no_more_than_asked_for():
    assert closest("cat", ["cab", "car", "can", "cap"], 2) == ["cab", "car"]
