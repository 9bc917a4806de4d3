from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from coterie_bench._records import BASE_AVERAGE, BASE_BEST
from coterie_bench._spec import parse_spec
from coterie_bench._summary import setting_words, summarise
from coterie_bench.statistics import critical_difference
from tests.bench.synthetic import made_up, method, several, spec


def lines_of(runs, plan):
    (cell,) = summarise(runs, plan).cells
    return {line.method: line for line in cell.lines}


def grid_runs(by_setting, default, **fields):
    return [
        run
        for theta, scores in by_setting.items()
        for run in several(
            scores, method="lwea", setting={"theta": theta}, default=theta == default, **fields
        )
    ]


def test_three_ways_to_say_one_score():
    by_setting = {0.2: [0.1, 0.9], 0.4: [0.5, 0.4], 0.6: [0.6, 0.5]}
    line = lines_of(grid_runs(by_setting, default=0.4), spec(method("lwea")))["lwea"]
    assert line.default.mean == pytest.approx(0.45)
    assert line.default.sd == pytest.approx(np.std([0.5, 0.4], ddof=1))
    assert line.best.mean == pytest.approx(0.55)
    assert setting_words(line.best.setting) == "theta=0.6"
    assert line.oracle.mean == pytest.approx((0.6 + 0.9) / 2)
    assert line.settings == 3


def test_default_is_never_above_best_setting_nor_that_above_the_oracle():
    rng = np.random.default_rng(0)
    by_setting = {theta: rng.random(6).tolist() for theta in (0.2, 0.4, 0.6, 0.8)}
    line = lines_of(grid_runs(by_setting, default=0.2), spec(method("lwea")))["lwea"]
    assert line.default.mean <= line.best.mean <= line.oracle.mean


def test_equal_settings_leave_the_default_best():
    line = lines_of(
        grid_runs({0.2: [0.5, 0.5], 0.4: [0.5, 0.5]}, default=0.4), spec(method("lwea"))
    )["lwea"]
    assert line.best.setting == line.default.setting


def test_a_method_with_one_setting_has_no_choice():
    line = lines_of(several([0.1, 0.2]), spec(method("eac")))["eac"]
    assert line.best is None
    assert line.oracle is None


def test_one_run_has_no_spread():
    line = lines_of(several([0.3]), spec(method("eac")))["eac"]
    assert np.isnan(line.default.sd)
    assert line.default.complete


def test_failures_are_counted_by_kind_and_no_zeros():
    runs = [
        *several([0.8, 0.6]),
        made_up(None, repetition=2, status="failed"),
        made_up(None, repetition=3, status="time cap"),
        made_up(None, repetition=4, status="time cap"),
        made_up(None, repetition=5, status="memory cap"),
    ]
    score = lines_of(runs, spec(method("eac")))["eac"].default
    assert score.mean == pytest.approx(0.7)
    assert (score.runs, score.of, score.complete) == (2, 6, False)
    assert score.stopped == {"failed": 1, "time cap": 2, "memory cap": 1}


def test_a_setting_that_fails_on_hard_runs_does_not_win_by_its_easy_ones():
    by_setting = {0.2: [0.9, None, None], 0.4: [0.5, 0.4, 0.3]}
    line = lines_of(grid_runs(by_setting, default=0.4), spec(method("lwea")))["lwea"]
    assert setting_words(line.best.setting) == "theta=0.4"
    assert line.best.complete
    # the oracle may still take it where it is there; two runs had less choice
    assert line.oracle.mean == pytest.approx((0.9 + 0.4 + 0.3) / 3)
    assert line.narrowed == 2


def test_a_score_that_is_not_a_number_is_no_score():
    score = lines_of(several([0.4, float("nan")]), spec(method("eac")))["eac"].default
    assert (score.mean, score.runs, score.stopped) == (0.4, 1, {"no score": 1})


def test_what_others_have_and_a_method_has_not_is_not_run():
    runs = [*several([0.1, 0.2, 0.3]), *several([0.5], method="cspa")]
    found = lines_of(runs, spec(method("eac"), method("cspa"), method("hgpa")))
    assert found["cspa"].default.stopped == {"not run": 2}
    assert found["hgpa"].default.stopped == {"not run": 3}
    assert np.isnan(found["hgpa"].default.mean)


def test_a_spec_that_tells_the_repetitions_counts_those_still_to_come():
    plan = parse_spec(
        'metrics = ["ari"]\n[[data]]\nname = "ecoli"\n[[method]]\nsolver = "eac"\n'
        "[protocol]\nrepetitions = 5"
    )
    score = lines_of(several([0.1, 0.2]), plan)["eac"].default
    assert (score.runs, score.of, score.stopped) == (2, 5, {"not run": 3})


def test_data_sets_come_as_the_spec_lists_them():
    listed = ("ecoli", "aggregation", "zoo")
    plan = spec(method("eac"))
    plan.data = [SimpleNamespace(name=name) for name in listed]
    runs = [made_up(0.5, data=name) for name in ("zoo", "other", "aggregation", "ecoli")]
    assert [cell.data for cell in summarise(runs, plan).cells] == [*listed, "other"]


def test_a_run_recorded_twice_counts_once():
    runs = several([0.1, 0.2])
    assert lines_of([*runs, *runs], spec(method("eac")))["eac"].default.runs == 2


def test_the_papers_method_is_the_reference():
    runs = [*several([0.1, 0.2], method="eccms"), *several([0.9, 0.8], method="lwea")]
    plan = spec(method("lwea"), method("eccms"), paper="eccms")
    (cell,) = summarise(runs, plan).cells
    assert (cell.reference, cell.reference_reason) == ("eccms", "the paper's method")


def test_without_a_paper_the_best_complete_mean_is_the_reference():
    runs = [
        *several([0.5, 0.6], method="eac"),
        *several([0.4, 0.5], method="cspa"),
        *several([0.99, None], method="hgpa"),
        *several([0.95, 0.95], method=BASE_BEST, solver=""),
    ]
    (cell,) = summarise(runs, spec(method("eac"), method("cspa"), method("hgpa"))).cells
    assert cell.reference == "eac"


def test_comparisons_are_the_paired_tests_of_the_default_columns():
    rng = np.random.default_rng(1)
    scores = {name: rng.random(8) for name in ("eac", "cspa", "hgpa")}
    runs = [run for name, given in scores.items() for run in several(given, method=name)]
    found = lines_of(runs, spec(*map(method, scores)))
    reference = max(scores, key=lambda name: scores[name].mean())
    for name, line in found.items():
        if name == reference:
            assert line.comparison is None
            continue
        expected = stats.ttest_rel(scores[name], scores[reference])
        assert line.comparison.t_p == pytest.approx(expected.pvalue)
        assert line.comparison.t_holm >= line.comparison.t_p


def test_repetitions_are_paired_by_number_not_by_order():
    a, b = several([0.1, 0.5, 0.9, 0.3], method="eac"), several([0.2, 0.6, 1.0, 0.4], method="cspa")
    plan = spec(method("eac"), method("cspa"))
    straight = lines_of([*a, *b], plan)["eac"].comparison
    shuffled = lines_of([*a[::-1], b[2], b[0], b[3], b[1]], plan)["eac"].comparison
    assert repr(straight) == repr(shuffled)
    assert "same difference" in straight.note


@pytest.mark.parametrize(
    ("other", "mark"),
    [
        ([0.1, 0.22, 0.31, 0.4, 0.52, 0.6, 0.7, 0.81], "--"),
        ([0.9, 0.79, 0.81, 0.92, 0.8, 0.88, 0.83, 0.9], ""),
        ([0.9, 0.8, 0.8, 0.9, 0.8, 0.9, 0.8, 0.9], "?"),
    ],
)
def test_marks(other, mark):
    ours = [0.9, 0.8, 0.8, 0.9, 0.8, 0.9, 0.8, 0.9]
    runs = [*several(ours, method="eccms"), *several(other, method="lwea")]
    plan = spec(method("eccms"), method("lwea"), paper="eccms")
    assert lines_of(runs, plan)["lwea"].comparison.mark == mark


def test_members_are_shown_first_and_never_tested_or_ranked():
    runs = [
        *several([0.5, 0.6], method="eac"),
        *several([0.3, 0.4], method="cspa"),
        *several([0.2, 0.2], method=BASE_AVERAGE, solver=""),
    ]
    summary = summarise(runs, spec(method("eac"), method("cspa")))
    (cell,) = summary.cells
    assert [line.method for line in cell.lines] == [BASE_AVERAGE, "eac", "cspa"]
    assert cell.lines[0].comparison is None
    assert summary.rankings[0].methods == ("eac", "cspa")


def test_ranks_over_data_sets():
    table = {"a": (0.9, 0.8, 0.7), "b": (0.6, 0.6, 0.1), "c": (0.5, None, 0.2)}
    names = ("eac", "cspa", "hgpa")
    runs = [
        run
        for data, row in table.items()
        for name, score in zip(names, row, strict=True)
        for run in several([score, score], data=data, method=name)
    ]
    (ranking,) = summarise(runs, spec(*map(method, names))).rankings
    assert ranking.methods == ("eac", "cspa", "hgpa")
    # c: eac 1, hgpa 2, cspa failed and is last
    np.testing.assert_allclose(
        ranking.ranks, [(1 + 1.5 + 1) / 3, (2 + 1.5 + 3) / 3, (3 + 3 + 2) / 3]
    )
    assert ranking.without == (0, 1, 0)
    assert ranking.critical_difference == pytest.approx(critical_difference(3, 3))


def test_data_that_are_not_finished_do_not_rank():
    runs = [
        *several([0.5, 0.5], data="a", method="eac"),
        *several([0.4, 0.4], data="a", method="cspa"),
        *several([0.4, 0.4], data="b", method="cspa"),
        *several([0.9], data="b", method="eac"),
    ]
    (ranking,) = summarise(runs, spec(method("eac"), method("cspa"))).rankings
    assert (ranking.data, ranking.unfinished) == (("a",), ("b",))
    assert ranking.friedman.note == "no Friedman test: one data set"


def test_parts_of_a_method_do_not_rank():
    runs = [
        *several([0.5, 0.6], method="spce"),
        *several([0.4, 0.7], method="SPCE-W", solver="spce"),
        *several([0.3, 0.2], method="eac"),
    ]
    plan = spec(method("spce"), method("SPCE-W", "spce", ablation_of="spce"), method("eac"))
    (ranking,) = summarise(runs, plan).rankings
    assert ranking.methods == ("spce", "eac")


def test_sizes_and_shares_are_tables_of_their_own():
    runs = [
        run
        for members in (40, 10)
        for missing in (0.0, 0.3)
        for run in several([0.5, 0.6], members=members, missing=missing)
    ]
    cells = summarise(runs, spec(method("eac"))).cells
    assert [(cell.members, cell.missing) for cell in cells] == [
        (10, 0),
        (10, 0.3),
        (40, 0),
        (40, 0.3),
    ]
    assert cells[1].where == "ecoli, 10 members, 30% missing"


def test_time_is_a_median_and_memory_a_greatest_of_default_runs_that_ended_well():
    runs = [
        made_up(0.5, repetition=0, seconds=1.0, peak_mib=5.0),
        made_up(0.5, repetition=1, seconds=9.0, peak_mib=50.0),
        made_up(0.5, repetition=2, seconds=2.0, peak_mib=6.0),
        made_up(None, repetition=3, status="time cap"),
        made_up(0.5, repetition=0, setting={"linkage": "single"}, default=False, seconds=99.0),
    ]
    (cost,) = summarise(runs, spec(method("eac"))).costs
    assert (cost.seconds, cost.peak_mib) == (2.0, 50.0)
    assert (cost.runs, cost.of, cost.stopped) == (3, 4, {"time cap": 1})


def test_troubles_keep_the_first_message():
    runs = [
        made_up(0.5, repetition=0),
        made_up(None, repetition=2, status="failed", message="later"),
        made_up(None, repetition=1, status="failed", message="singular matrix"),
    ]
    (trouble,) = summarise(runs, spec(method("eac"))).troubles
    assert (trouble.status, trouble.runs, trouble.of) == ("failed", 2, 3)
    assert trouble.message == "singular matrix"


def test_data_without_classes_have_costs_and_no_scores():
    summary = summarise(
        [*several([0.5, 0.6]), made_up(None, data="customers")], spec(method("eac"))
    )
    assert summary.unlabelled == ("customers",)
    assert [cell.data for cell in summary.cells] == ["ecoli"]
    assert [cost.data for cost in summary.costs] == ["customers", "ecoli"]


def test_data_on_which_everything_failed_are_still_shown():
    (cell,) = summarise(several([None, None]), spec(method("eac"))).cells
    assert cell.lines[0].default.stopped == {"failed": 2}
    assert cell.reference == ""


def test_published_numbers_stand_by_the_method_and_size():
    plan = spec(method("eccms"), method("lwea"), paper="eccms", published=("IV",))
    runs = [*several([0.5], method="eccms"), *several([0.4], method="lwea")]
    found = lines_of(runs, plan)
    assert [row.mean for row in found["eccms"].published] == [0.487, 0.754]
    assert [row.mean for row in found["lwea"].published] == [0.430]
    for other in ({"members": 10}, {"missing": 0.1}):
        assert lines_of(several([0.5], method="eccms", **other), plan)["eccms"].published == ()


def test_no_runs_make_an_empty_summary():
    summary = summarise([], spec(method("eac")))
    assert (summary.cells, summary.rankings, summary.costs) == ((), (), ())
