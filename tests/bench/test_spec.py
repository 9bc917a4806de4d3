"""A spec is read whole or refused with the key, what was found, and the nearest thing known."""

from __future__ import annotations

import pytest

from coterie_bench import SpecError, parse_spec, read_spec, shipped

SMALL = """
[[data]]
embedded = "iris"

[[method]]
solver = "spce"
set = { theta = 0.3 }
grid = { theta = [0.1, 0.3] }
"""


def test_every_shipped_spec_is_read():
    assert {"eccms", "spce", "trce", "pce", "ceshl", "pools", "quick"} <= {*shipped()}
    for name in shipped():
        spec = read_spec(name)
        assert spec.title
        assert spec.methods
        assert spec.data


def test_the_default_setting_comes_first_and_once():
    (method,) = parse_spec(SMALL).methods
    assert method.settings() == [('{"theta": 0.3}', True), ('{"theta": 0.1}', False)]


def test_the_default_has_its_place_in_the_grid():
    (method,) = parse_spec(SMALL.replace("set = { theta = 0.3 }", "")).methods
    assert method.settings() == [
        ('{"theta": 0.2}', True),
        ('{"theta": 0.1}', False),
        ('{"theta": 0.3}', False),
    ]


def test_grid_paper_is_the_catalogues():
    text = SMALL.replace("{ theta = [0.1, 0.3] }", '"paper"')
    (method,) = parse_spec(text).methods
    assert len(method.settings()) == 10


def test_a_grid_keeps_the_other_parameters_of_the_default():
    text = SMALL.replace("set = { theta = 0.3 }", "set = { self_paced = false }")
    (method,) = parse_spec(text).methods
    assert ('{"self_paced": false, "theta": 0.1}', False) in method.settings()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('solver = "spce"', 'solver = "scpe"', "'scpe'.*did you mean 'spce'"),
        ('embedded = "iris"', 'embedded = "irs"', "did you mean 'iris'"),
        ("theta = 0.3", "thetta = 0.3", "thetta is not a parameter of spce.*did you mean 'theta'"),
        ("theta = 0.3", "theta = 3.0", "theta must be"),
        ("grid =", "gird =", "unknown key 'gird'.*did you mean 'grid'"),
        ("[[data]]", "[[dta]]", "unknown key 'dta'"),
        ("grid = { theta = [0.1, 0.3] }", "grid = { theta = 0.1 }", "grid.theta must be a list"),
        ("grid = { theta = [0.1, 0.3] }", 'grid = "papers"', "grid must be 'paper'"),
        ("set = { theta = 0.3 }", "set = { random_state = 3 }", "random_state is not a parameter"),
        ("set = { theta = 0.3 }", 'ablation_of = "SPCE"', "ablation of 'SPCE'"),
        ("set = { theta = 0.3 }", 'fill = "mean"', "fill is 'mean'"),
        ('embedded = "iris"', 'name = "../secret"\nfile = "../secret"', "inside the data folder"),
        ('embedded = "iris"', 'name = "x"\nfile = "/etc/passwd"', "inside the data folder"),
        ('embedded = "iris"', "name = 3", "name must be text"),
        ('embedded = "iris"', "n_clusters = 2", "name is missing"),
        ('embedded = "iris"', 'name = "x"\nfile = []', "file is an empty list"),
        ("set = { theta = 0.3 }", 'set = { callback = "x" }', "callback is not a parameter"),
        ("set = { theta = 0.3 }", 'name = "base best"', "'base best' is reserved"),
        ("set = { theta = 0.3 }", 'ablation_of = "spce"', "'spce' is an ablation of itself"),
        ("theta = 0.3", "theta = ", "not toml"),
    ],
)
def test_what_is_wrong_is_named(old, new, words):
    assert old in SMALL
    with pytest.raises(SpecError, match=words):
        parse_spec(SMALL.replace(old, new), "trial.toml")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('metrics = ["arri"]', "'arri'.*did you mean 'ari'"),
        ('metrics = ["acc"]', "'acc'.*did you mean 'accuracy'"),
        ("metrics = []", "metrics is an empty list"),
        ('metrics = "ari"\nseed = -1', "seed must be a whole number of at least 0"),
        ('paper = "spec"', "paper is 'spec'"),
        ("base = 1", "base must be true or false"),
        ("[protocol]\nmembers = 0", "members must be at least 1"),
        ("[protocol]\nrepetitions = 10_000_000", "repetitions must be at most 1,000,000"),
        ("[protocol]\nmembers = [10, 2.5]", "members must be whole numbers"),
        ("[protocol]\nmissing = 1.0", "share of labels"),
        ('[protocol]\nkind = "drawn"', "kind is 'drawn'.*did you mean 'draw'"),
        ("[protocol]\nrepetition = 3", "unknown key 'repetition'.*did you mean 'repetitions'"),
        ("[caps]\nseconds = 0", "seconds must be positive"),
        ('[caps]\nmemory = "much"', "memory must be .* '4GB', but is 'much'"),
        ("[caps]\nmemory = [1]", "memory must be .* but is \\[1\\]"),
        ("[caps]\nsecond = 1", "unknown key 'second'.*known: seconds, memory"),
        ("[protocol]\nmissing = [0, 30]", "but is 30; 30 % is 0.3"),
        ("protocol = 3", "must be a table"),
    ],
)
def test_what_is_wrong_above_is_named(lines, words):
    text = f"{lines}\n{SMALL}" if not lines.startswith("[") else f"{SMALL}\n{lines}"
    with pytest.raises(SpecError, match=words):
        parse_spec(text, "trial.toml")


def test_a_metric_named_twice_counts_once():
    assert parse_spec('metrics = ["ari", "purity", "ari"]\n' + SMALL).metrics == ("ari", "purity")


def test_two_of_a_name_are_refused():
    twice = SMALL + '[[method]]\nsolver = "spce"\n'
    with pytest.raises(SpecError, match="two \\[\\[method\\]\\] are called 'spce'"):
        parse_spec(twice)


@pytest.mark.parametrize(("gone", "words"), [("data", "has no data"), ("method", "no method")])
def test_a_spec_without_data_or_methods_is_refused(gone, words):
    blocks = [block for block in SMALL.split("\n\n") if f"[[{gone}]]" not in block]
    with pytest.raises(SpecError, match=words):
        parse_spec("\n\n".join(blocks))


def test_an_unknown_spec_suggests_one(tmp_path):
    with pytest.raises(SpecError, match="did you mean 'eccms'"):
        read_spec("ecms")
    with pytest.raises(SpecError, match="no such spec"):
        read_spec(tmp_path / "gone.toml")


def test_a_mark_at_the_beginning_is_no_word(tmp_path):
    path = tmp_path / "marked.toml"
    path.write_text(SMALL, encoding="utf-8-sig")
    assert read_spec(path).methods == parse_spec(SMALL).methods


def test_a_key_of_too_many_parts_is_refused_unread(tmp_path):
    path = tmp_path / "deep.toml"
    path.write_text(".".join("a" * 100_000) + " = 1\n")
    with pytest.raises(SpecError, match="more than 65,536 bytes"):
        read_spec(path)
