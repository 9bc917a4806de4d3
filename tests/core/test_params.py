"""Domains of parameters, and suggestions for an unknown name."""

from __future__ import annotations

from inspect import Parameter, signature

import pytest

from coterie import ConsensusClustering, ParameterError
from coterie.cli import main
from coterie.core.params import closest, declared_domains, nearest
from coterie.solvers.methods import all_methods, find_method

TAKE_A_BUDGET = [
    name
    for name, method in all_methods().items()
    if "memory_budget" in signature(method).parameters
]


@pytest.mark.parametrize("name", all_methods())
def test_every_parameter_of_a_method_has_a_domain(name):
    check_domains(find_method(name), find_method(name).domains())


def test_every_parameter_of_consensus_clustering_has_a_domain():
    check_domains(ConsensusClustering, declared_domains(ConsensusClustering))


def check_domains(estimator, domains):
    parameters = signature(estimator).parameters
    assert list(domains) == list(parameters)
    for name, parameter in parameters.items():
        if parameter.default is not Parameter.empty:
            assert domains[name].admits(parameter.default), name


@pytest.mark.parametrize("name", all_methods())
def test_the_grid_of_a_method_lies_in_the_domains(name):
    method = find_method(name)
    assert set(method.about.grid) <= set(signature(method).parameters)
    for parameter, values in method.about.grid.items():
        assert all(method.domains()[parameter].admits(value) for value in values)


@pytest.mark.parametrize("name", TAKE_A_BUDGET)
def test_the_command_line_sets_the_memory_budget(name, tmp_path, capsys):
    table = tmp_path / "labels.csv"
    table.write_text("a,b,c\n0,0,0\n0,0,0\n1,1,0\n1,1,1\n2,2,1\n2,2,2\n")
    command = ["combine", str(table), "-k", "3", "--method", name, "--seed", "0", "--set"]
    assert main([*command, "memory_budget=4GB"]) == 0
    assert main([*command, "memory_budget=many"]) == 2
    assert "memory_budget" in capsys.readouterr().err


def test_an_unknown_method_is_answered_with_the_nearest():
    with pytest.raises(
        ParameterError, match=r"unknown method 'spse'; did you mean 'spce'\? \(known:"
    ):
        find_method("spse")
    assert find_method("LWEA") is find_method("lwea") is all_methods()["lwea"]


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
