"""The page as a file: complete, escaped, light, the same bytes each time."""

from __future__ import annotations

import hashlib
import json
import re
from base64 import b64encode
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from coterie import EAC, PCE, SPCE, ConsensusClustering, Ensemble, report
from coterie.core.errors import DataError
from coterie.core.text import plain
from coterie.report._page import PAGE_BYTES, page
from coterie.report._payload import script_json
from coterie.result import Result
from coterie.select import select_k
from tests.report.conftest import IMAGE, SCRIPT


class Reader(HTMLParser):
    """The tags, attributes and text that a browser's parser would find."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.words, self.scripts, self._inside = [], [], [], None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag):
        self._inside = None

    def handle_data(self, data):
        (self.scripts if self._inside in ("script", "style") else self.words).append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


def read(result, title=None):
    return Reader(page(result, title).decode("utf-8"))


def test_the_headline_says_what_was_found(iris):
    found = read(iris)
    assert "3 clusters of 150 samples" in found.text
    assert f"median confidence {np.median(iris.sample_confidence):.2f}" in found.text
    assert "Against the known classes: adjusted Rand index" in found.text
    assert "Clusters of iris.csv" in found.text
    assert iris.input["sha256"] in found.text
    assert "Huang, C.-D. Wang" in found.text


def test_the_same_result_gives_the_same_bytes(iris):
    assert page(iris) == page(replace(iris))


def test_tables_hold_the_numbers_of_the_result(iris):
    found = read(iris)
    for row in iris.diagnose_clusters().rows():
        assert f"{row['confidence']:.2f}" in found.text
    for row in iris.diagnose_members().rows():
        assert row["member"] in found.text


def test_the_members_are_judged_above_their_table(iris):
    assert str(iris.judge_members()) in read(iris).text


def test_nothing_in_the_page_points_outside(iris):
    for tag, attributes in read(iris).tags:
        assert tag not in ("img", "iframe", "object", "embed", "base", "form")
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        for name in ("src", "href", "xlink:href", "action"):
            assert attributes.get(name, "#").startswith(("#", "data:,"))


def test_the_policy_allows_just_the_script_and_the_style_of_the_page(iris):
    text = page(iris).decode("utf-8")
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', text)[1]
    policy = policy.replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "http" not in policy
    for tag in ("script", "style"):
        body = re.search(rf"<{tag}>(.*?)</{tag}>", text, re.DOTALL)[1]
        digest = b64encode(hashlib.sha256(body.encode("utf-8")).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy


def test_hostile_names_are_text(hostile):
    found = read(hostile, title=SCRIPT)
    tags = [tag for tag, _ in found.tags]
    assert tags.count("script") == 2
    assert not {"img", "b"} & set(tags)
    assert SCRIPT in found.text
    assert IMAGE in found.text
    assert all("<script" not in body for body in found.scripts)
    assert "\x00" not in found.text


def test_json_cannot_end_its_script_element():
    names = [SCRIPT, "<!--", "]]>", "\u2028", "&lt;", "\ud800", "ünï"]
    text = script_json(names)
    assert not set("<>&\u2028") & set(text)
    assert json.loads(text) == names


def test_names_become_one_short_printable_line():
    assert plain("a\nb") == "a b"
    assert plain("\ud800x\x07") == "\ufffdx\ufffd"
    assert len(plain("x" * 10_000)) == 120
    plain("\udcff").encode("utf-8")


def test_no_structure_is_said_first():
    noise = np.random.default_rng(1).random((90, 4))
    selection = select_k(noise, k=range(2, 5), n_members=8, random_state=0)
    assert not selection.structure
    model = ConsensusClustering(3, n_members=8, random_state=0).fit(noise)
    found = read(Result.of(model, X=noise, selection=selection))
    assert "No structure" in found.text
    assert plain(selection.reason, 2000) in found.text


def test_one_cluster_boasts_of_nothing():
    noise = np.random.default_rng(1).random((90, 4))
    selection = select_k(noise, k=range(2, 5), n_members=8, random_state=0)
    model = ConsensusClustering(1, n_members=8, random_state=0).fit(noise)
    result = Result.of(model, X=noise, selection=selection)
    found = read(result)
    assert "No structure: all 90 samples are in one cluster." in found.text
    assert "median confidence" not in found.text
    assert "unsure samples" not in found.text
    assert "1.00" not in found.text
    assert not any(attributes.get("id") == "confidence" for _, attributes in found.tags)
    assert "confidence" not in repr(result)
    assert "1 cluster" in repr(result)
    alone = read(Result.of(EAC(1).fit([[0, 0], [0, 0], [0, 1]])))
    assert "All 3 samples are in one cluster." in alone.text
    assert "No structure" not in alone.text


FOUR = np.repeat([0, 1, 2, 3], [60, 50, 55, 35])


def test_members_that_stand_apart_are_a_note_if_they_were_given():
    rng = np.random.default_rng(0)
    labels = np.stack([*[FOUR] * 9, rng.integers(0, 4, 200)], axis=1)
    given = Result.of(EAC(4).fit(labels))
    assert "1 member stands apart from the others; see the table" in read(given).text
    # nobody can mend members that coterie made; the section about members says it anyway
    made = replace(given, parameters={**given.parameters, "n_members": 10})
    assert "see the table" not in read(made).text
    assert "member_9 stands apart" in read(made).text


def test_clusters_that_never_meet_have_no_rival():
    page_of = Result.of(EAC(2).fit([[0, 0], [0, 0], [1, 1], [1, 1]]))
    cells = re.findall(r"<tbody>.*?</tbody>", page(page_of).decode("utf-8"), re.DOTALL)[0]
    assert cells.count('data-value="">–') == 2
    assert "No cluster is much weaker than the others." in read(page_of).text


def test_tiles_say_who_chose_the_number_of_clusters():
    labels = [[0, 0], [0, 0], [1, 1], [1, 1]]
    assert "as requested" in read(Result.of(EAC(2).fit(labels))).text
    assert "chosen by EAC" in read(Result.of(EAC(None).fit(labels))).text


def test_a_page_needs_its_extension(iris, tmp_path):
    for name in ("report", "report.pdf"):
        with pytest.raises(DataError, match=r"name a file with the extension \.html"):
            report.write(iris, tmp_path / name)
    assert not [*tmp_path.iterdir()]
    report.write(iris, tmp_path / "report.HTM")
    assert (tmp_path / "report.HTM").exists()


@pytest.mark.parametrize(
    ("labels", "solver"),
    [
        ([[0], [0], [1]], EAC(2)),
        ([[0, 0], [0, 0]], EAC(1)),
        ([[0, 1], [1, 0]], EAC(2)),
        ([[0, -1, 1], [0, 0, -1], [1, 1, 0], [1, -1, 0]], PCE(2, random_state=0)),
        (np.repeat([[0, 0, 1], [0, 1, 1], [1, 2, 0]], 4, axis=0), SPCE(2)),
    ],
    ids=["one member", "one cluster", "two samples", "missing labels", "learned matrix"],
)
def test_small_and_odd_results_have_a_page(labels, solver, tmp_path):
    model = solver.fit(np.array(labels))
    report.write(model, tmp_path / "report.html")
    assert "</html>" in (tmp_path / "report.html").read_text(encoding="utf-8")


def synthetic(n, m, k, ids=False, members=None, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 4, n)
    labels = np.where(rng.random((n, m)) < 0.7, truth[:, None], rng.integers(0, k, (n, m)))
    names = None if not ids else [f"sample {i} {'é<' * 12}" for i in range(n)]
    ensemble = Ensemble.from_labels(labels, sample_ids=names, names=members)
    final = np.empty(ensemble.n_microclusters, dtype=np.int64)
    final[ensemble.inverse] = truth
    final = final[ensemble.inverse].astype(np.int32)
    return Result(
        method="ceshl",
        parameters={},
        seed=0,
        labels=final,
        sample_confidence=np.linspace(0, 1, ensemble.n_microclusters)[ensemble.inverse],
        member_weights=np.full(m, 1 / m),
        n_clusters=4,
        converged=True,
        history=[],
        ensemble=ensemble,
        coordinates=rng.standard_normal((n, 2)).astype(np.float32),
        coordinates_name="a plane",
    )


@pytest.mark.parametrize(
    ("n", "m", "k", "ids"), [(40_000, 8, 5, True), (100_000, 4, 6, False), (3_000, 250, 5, True)]
)
def test_large_results_stay_below_three_megabytes_and_say_so(n, m, k, ids):
    made = page(synthetic(n, m, k, ids))
    assert len(made) < PAGE_BYTES
    found = Reader(made.decode("utf-8"))
    assert (f" of {n:,} samples, each cluster in proportion" in found.text) == (n > 5000)
    numbers = json.loads(found.scripts[1])
    if numbers["samples"]["count"] < n:
        assert (
            f"{numbers['samples']['count']:,} of {n:,} samples are stored in this page"
            in found.text
        )
        assert "coterie explain RESULT ID" in found.text


def test_names_that_would_fill_the_page_are_cut(tmp_path):
    members = [f"{j:03d} {'<&' * 3000}" for j in range(60)]
    assert len(page(synthetic(500, 60, 5, members=members))) < PAGE_BYTES


def test_a_file_is_whole_or_not_there(iris, tmp_path, monkeypatch):
    with pytest.raises(DataError, match="no directory"):
        report.write(iris, tmp_path / "absent" / "report.html")
    with pytest.raises(DataError, match="is a directory"):
        report.write(iris, tmp_path)
    (tmp_path / "report.html").write_text("before")
    from coterie.report import _page

    def fails(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_page, "_render", fails)
    with pytest.raises(KeyboardInterrupt):
        report.write(iris, tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == "before"
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_colours_of_clusters_are_apart_for_every_eye():
    """Distances in OKLab for the usual eye and for those without the red or the green cone."""
    from coterie.report._page import _resource

    eyes = [
        np.eye(3),
        np.array([[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]]),
        np.array([[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]]),
    ]
    cones = np.array([[0.412, 0.536, 0.051], [0.212, 0.681, 0.107], [0.088, 0.282, 0.630]])
    axes = np.array([[0.210, 0.794, -0.004], [1.978, -2.429, 0.451], [0.026, 0.783, -0.809]])
    style = _resource("style.css")
    codes = re.findall(r"--c\d: #(\w{6})", style)
    # once: a cluster has the same colour in both themes
    assert len(codes) == 10
    rgb = np.array([[int(code[i : i + 2], 16) / 255 for i in (0, 2, 4)] for code in codes])
    for eye in eyes:
        seen = np.cbrt(np.clip(rgb**2.2 @ eye.T, 0, 1) @ cones.T) @ axes.T
        distance = np.linalg.norm(seen[:, None] - seen[None], axis=2)
        assert distance[np.triu_indices(10, 1)].min() > 0.06
    # visible on the pages of both themes
    pages = {code: int(code[:2], 16) / 255 for code in re.findall(r"--page: #(\w{6})", style)}
    assert len(pages) == 2
    light = rgb**2.2 @ [0.2126, 0.7152, 0.0722] + 0.05
    for level in pages.values():
        page_light = level**2.2 + 0.05
        assert np.maximum(light / page_light, page_light / light).min() > 2
    # the dark theme is written twice: for the system's wish and for the button's
    one, other = re.findall(r"color-scheme: dark;(.*?)}", style, re.DOTALL)
    assert one.split() == other.split()


def test_facts_that_are_not_known_are_left_out():
    model = EAC(2).fit([[0, 0], [0, 0], [1, 1]])
    known = read(Result.of(model, input={"file": "a.csv", "id": None}))
    assert "a.csv" in known.text
    assert "default" not in known.text.split("Input", 1)[1].split("Versions")[0]
