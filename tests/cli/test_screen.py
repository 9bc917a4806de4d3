"""What stands on the terminal: as wide as it is, no blanks at the ends, paths whole."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.cells import cell_len

from coterie.cli import main
from coterie.cli._methods import parameter_sentences, settable
from coterie.cli.screen import Screen, Stages
from coterie.solvers.methods import all_methods, find_method

COMMANDS = ["demo", "cluster", "combine", "select", "report", "explain", "profile", "methods"]


@pytest.fixture(scope="module")
def long_files(tmp_path_factory):
    """Labels of members with long names, and the result of them: name and content of each file."""
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(3), 10)
    columns = [np.where(rng.random(30) < 0.1, rng.integers(0, 3, 30), truth) for _ in range(7)]
    names = [f"a member with a name of many words, number {j}" for j in range(7)]
    rows = ["who;" + ";".join(names)]
    rows += [f"p{i};" + ";".join(f"label {c[i]}" for c in columns) for i in range(30)]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("long"))
        Path("long.tsv").write_text("\n".join(rows).replace(";", "\t") + "\n")
        assert main(["combine", "long.tsv", "--id", "who", "-k", "3", "--save", "long.npz"]) == 0
        return {name: Path(name).read_bytes() for name in ("long.tsv", "long.npz")}


@pytest.fixture
def named(folder, long_files, capsys):
    """The long names in the current directory."""
    for name, content in long_files.items():
        Path(name).write_bytes(content)
    capsys.readouterr()


@pytest.mark.parametrize("columns", [60, 80, 200])
@pytest.mark.parametrize(
    "command",
    [
        *([command, "--help"] for command in COMMANDS),
        ["--help"],
        ["methods"],
        ["methods", "--brief"],
        ["cluster", "data.csv", "--id", "name", "--truth", "kind", "-k", "3", "-o", "out.csv"],
        ["combine", "long.tsv", "--id", "who", "-k", "3", "-o", "out.csv"],
        ["select", "--labels", "long.tsv", "--id", "who", "-k", "2-3", "-o", "k.csv"],
        ["report", "long.npz"],
        ["explain", "long.npz", "p3", "p12"],
    ],
    ids=" ".join,
)
def test_no_line_is_wider_than_the_terminal(named, capsys, monkeypatch, columns, command):
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(command) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert [line for line in lines if len(line) > columns] == []
    assert [line for line in lines if line != line.rstrip()] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_a_mistake_points_to_the_help_of_its_command(refused, command):
    given = {
        "report": ["x.npz"],
        "explain": ["x.npz", "s1"],
        "profile": ["x.npz", "x.csv"],
        "demo": [],
        "methods": [],
    }
    line = refused(command, *given.get(command, ["labels.csv"]), "--nope", "nope")
    assert "--nope" in line
    assert f"(see: coterie {command} --help)" in line


def test_a_sample_after_an_option_points_to_the_help(refused):
    assert "(see: coterie explain --help)" in refused("explain", "x.npz", "s1", "--json", "nope")


@pytest.mark.parametrize("method", all_methods())
def test_every_parameter_says_what_it_does(method):
    estimator = find_method(method)
    said = parameter_sentences(estimator)
    for name in settable(estimator):
        assert said[name].endswith("."), name
        assert "``" not in said[name]


def test_methods_tells_what_a_parameter_does(folder, capsys):
    assert main(["methods", "eac"]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "--set linkage=average How the dissimilarity of two groups follows" in words
    assert "Takes one of 'average', 'complete', 'single'." in words


def test_a_sentence_goes_on_after_a_number_and_ends_before_a_quote():
    class Documented:
        """One.

        Parameters
        ----------
        low, high : float
            Ends of 0.5
            and e.g. more. "auto" takes
            both.
        last : int

        Attributes
        ----------
        other_ : int
            Not a parameter.
        """

    words = "Ends of 0.5 and e.g. more."
    assert parameter_sentences(Documented) == {"low": words, "high": words, "last": ""}


def test_a_path_stays_whole(folder, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    path = Path("a directory with blanks in its name") / "labels of all of them.csv"
    Screen().say("labels written to", path, "(row, label, confidence)")
    assert capsys.readouterr().out.splitlines() == [
        "labels written to",
        str(path),
        "(row, label, confidence)",
    ]


def test_wide_letters_count_twice(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    screen = Screen()
    screen.say(" ".join(["\u6f22\u5b57"] * 30))
    screen.table(["who", "share"], [["\u6f22\u5b57" * 20, "1.00"], ["b", "0.50"]])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(cell_len, lines)) <= 40
    assert any(line.endswith("  1.00") for line in lines)


@pytest.mark.parametrize("columns", range(30, 60))
def test_no_line_begins_with_a_per_cent_sign(columns, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(columns))
    text = "96 % of cluster 2 and 3 % of all others, 0 % of which are doubtful, 12 % at most"
    Screen().say(text)
    lines = capsys.readouterr().out.splitlines()
    assert not any(line.startswith("%") for line in lines)
    assert " ".join(lines) == text


def test_a_table_without_room_wraps_and_loses_nothing(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    numbers = [f"{i}.25" for i in range(6)]
    Screen().table(["who", *"abcdef"], [["a name of some words", *numbers]])
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 30
    dashes = next(i for i, line in enumerate(lines) if "---" in line)
    printed = "".join(lines[dashes + 1 :]).replace(" ", "")
    assert sorted(printed) == sorted("".join(["anameofsomewords", *numbers]))


def test_clusters_left_out_are_counted(capsys):
    Screen().clusters(np.repeat(np.arange(25), 2), np.ones(50))
    assert "and 5 clusters more, none of them larger" in capsys.readouterr().out


def test_names_do_not_steer_the_terminal(capsys):
    hostile = "\x1b[31mred\x07 \u202egnp.exe\x9b2J"
    screen = Screen()
    screen.say(hostile)
    screen.table(["who"], [[hostile]])
    assert main(["explain", f"{hostile}.npz", "0"]) == 2
    out, err = capsys.readouterr()
    assert out.replace("\n", "").isprintable()
    assert err.replace("\n", "").isprintable()
    assert r"\x1b[31mred\x07" in out
    assert r"\x1b[31mred\x07" in err


class Terminal(io.StringIO):
    """Text that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_long_message_wraps_on_a_terminal(folder, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert main(["combine", "labels.csv", "--method", "zzz"]) == 2
    lines = terminal.getvalue().splitlines()
    assert len(lines) > 1
    assert max(map(len, lines)) <= 80
    assert " ".join(terminal.getvalue().split()).startswith("coterie: error: unknown method 'zzz'")


def test_stages_move_a_bar_on_a_terminal(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("coterie.cli.screen.PATIENCE_SECONDS", 0.0)
    monkeypatch.setenv("TERM", "xterm")
    with Stages() as stages:
        stages.begin("reading [a] file")
        follow = stages.members_then("combining")
        stages.begin("making members", 3)
        for done in range(3):
            follow(done, 3)
        stages._timer.join()
        stages._bar.refresh()
        assert "making members" in terminal.getvalue()
        assert "2 of 3" in terminal.getvalue()
        follow(3, 3)
        stages._bar.refresh()
        assert "combining" in terminal.getvalue()
    # the bar goes when the work is done, and the cursor is there again
    assert terminal.getvalue().rstrip().endswith("\x1b[2K")
    assert "\x1b[?25h" in terminal.getvalue()


def test_quick_work_needs_no_bar(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Stages() as stages:
        stages.begin("reading")
    assert terminal.getvalue() == ""


def test_without_a_terminal_there_is_no_bar(capsys):
    with Stages() as stages:
        stages.begin("reading", 2)
        stages.reach(1, 2)
        stages.members_then("combining")(2, 2)
    assert capsys.readouterr() == ("", "")
