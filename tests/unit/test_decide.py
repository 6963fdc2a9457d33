"""Decisions by scores that exist: against closed forms, brute force and the policies themselves."""

from __future__ import annotations

import json
import math
import pickle
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import evenhand as eh
from evenhand.answers import watch
from evenhand.cases.panels import SkatingPanel, skating_panels
from evenhand.questions import Questions
from rotation import nightly


def table(rows: Any, *names: str) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=[*names] or ["option", "evaluator", "score"])


def two(ann: Any, bo: Any) -> pd.DataFrame:
    """Scores of two options by as many judges."""
    judges = [f"J{i}" for i in range(len(ann))]
    return table(
        [("Ann", j, y) for j, y in zip(judges, ann, strict=True)]
        + [("Bo", j, y) for j, y in zip(judges, bo, strict=True)]
    )


def of_event(panel: SkatingPanel) -> pd.DataFrame:
    rows = [
        (o, j, y, panel.performances[o], panel.judges[j])
        for o, scores in zip(panel.performances, panel.table.tolist(), strict=True)
        for j, y in zip(panel.judges, scores, strict=True)
    ]
    return table(rows, "option", "evaluator", "score", "option_group", "evaluator_group")


@pytest.fixture(scope="module")
def event() -> SkatingPanel:
    return list(skating_panels())[2]


@pytest.mark.parametrize("sizes", [0.99, 1.01])
def test_two_options_with_known_noise_are_a_two_sided_test(sizes: float) -> None:
    """p = 2Φ(−z) for a lead of z standard errors, √(2/n) σ by n judges who scored both."""
    n, sigma = 5, 2.0
    lead = sizes * -stats.norm.ppf(0.025) * sigma * math.sqrt(2 / n)
    rng = np.random.default_rng(3)
    lenient, noise = rng.normal(size=n), rng.normal(size=n)
    noise -= noise.mean()
    answer = eh.decide(two(7.0 + lead + lenient + noise, 7.0 + lenient), noise_scale=sigma)
    assert answer.label == "Ann"
    assert answer.sure is (sizes > 1.0)
    assert answer.standing(1).lead == pytest.approx(lead)


def test_the_answer_is_that_of_the_planned_choice_told_the_same(event: SkatingPanel) -> None:
    policy = eh.search.PlannedChoice(event.questions())
    policy.ask()
    policy.tell(eh.Feedback(np.ones(event.table.size), event.scores, event.scores**2))
    expected, answer = policy.recommend(), eh.decide(of_event(event))
    np.testing.assert_allclose(answer.conclusion.leads, expected.leads, rtol=1e-9, atol=1e-9)
    assert (answer.option, answer.sure) == (expected.option, True)
    assert answer.loss == pytest.approx(expected.loss)
    assert answer.bias.value == pytest.approx(policy.bias().value)
    assert "without looking at any score" in answer.assumed


def test_a_repeated_cell_is_a_repeat_and_capacity_counts() -> None:
    rows = [("Ann", "P", 7.0), ("Bo", "P", 5.0), ("Ann", "P", 7.5), ("Bo", "P", 5.5)]
    answer = eh.decide(table(rows), repeats=True)
    assert answer.standing(0).evaluations == 2
    assert answer.standing(0).value == pytest.approx(7.25)
    with pytest.raises(eh.InputError, match="row 2 answers 'Ann by P', but it was answered in row"):
        eh.decide(Questions.panel(["Ann", "Bo"], ["P"]), table(rows))


def test_features_are_taken_at_their_word_only_if_the_user_says_so() -> None:
    options = eh.ActionSet(
        [[1.0, 5.0], [1.0, 2.0], [1.0, 4.0], [1.0, 1.0]],
        ["away", "away", "home", "home"],
        ["Ann", "Bo", "Cy", "Di"],
    )
    noise = 0.1 * np.random.default_rng(0).normal(size=12)
    scores = table([("Ann", 5.0), ("Bo", 2.0), ("Cy", 6.0), ("Di", 3.0)] * 3, "option", "score")
    scores["score"] += noise
    careful, exact = eh.decide(options, scores), eh.decide(Questions.of(options), scores)
    assert (careful.label, careful.sure, careful.certainty) == ("Ann", False, "features exact")
    assert (exact.label, exact.sure) == ("Ann", True)
    assert exact.raw_choice == 2
    assert not careful.next_questions  # no score would help


def tried(k: int, e: int, G: int, seed: int, share: float = 1.0) -> pd.DataFrame:
    """Options tried on items before judges, a share of all (option, item)."""
    rng = np.random.default_rng(seed)
    worth, hard = 0.7 * np.arange(k)[::-1], rng.normal(size=G)
    both, lenient = rng.normal(size=(k, G)), rng.normal(size=e)
    kept = rng.random((k, G)) < share
    rows = [
        (f"o{o}", f"j{j}", f"i{g}", worth[o] + hard[g] + both[o, g] + lenient[j] + rng.normal())
        for o in range(k)
        for j in range(e)
        for g in range(G)
        if kept[o, g]
    ]
    return table(rows, "option", "evaluator", "item", "score")


@pytest.mark.parametrize("seed", range(4))
def test_two_options_on_items_are_a_t_test_on_the_items(seed: int) -> None:
    frame = tried(2, 3, 7, seed)
    means = frame.pivot_table(index="item", columns="option", values="score")
    p = stats.ttest_rel(means["o0"], means["o1"]).pvalue
    assert eh.decide(frame, confidence=1.0 - 1.01 * p, scope="these").sure
    assert not eh.decide(frame, confidence=1.0 - 0.99 * p, scope="these").sure
    # judges who all say the same again make nothing surer
    again = pd.concat([frame, frame.assign(evaluator=frame["evaluator"] + " again")])
    assert not eh.decide(again, confidence=1.0 - 0.99 * p, scope="these").sure


def test_an_answer_says_whose_opinion_it_is_in_the_main() -> None:
    rng = np.random.default_rng(5)
    rows = [(o, "model", f"i{g}", rng.normal()) for g in range(30) for o in ("Ann", "Bo")]
    rows += [
        (o, who, f"i{g}", rng.normal()) for g in range(4) for o in ("Ann", "Bo") for who in "PQR"
    ]
    frame = table(rows, "option", "evaluator", "item", "score")
    said = "'model' gave 60 of the 84 scores"
    assert said in str(eh.decide(frame))
    assert said not in str(eh.decide(frame, trusted=["P", "Q", "R"]))
    evenly = frame[frame["item"].isin(["i0", "i1", "i2", "i3"])]
    assert "in the main" not in str(eh.decide(evenly))


def test_a_value_on_items_is_that_of_items_like_these() -> None:
    """Where options differ alike on all items, nearly, it errs as the mean of the items does."""
    frame = tried(3, 1, 7, 2)
    hard = dict(zip(frame["item"].unique(), np.random.default_rng(1).normal(size=7), strict=True))
    frame["score"] = 1e-3 * frame["score"] + frame["item"].map(hard)
    means = frame.groupby("option")["score"].mean()
    width = stats.t.ppf(0.975, 6) * np.std([*hard.values()], ddof=1) / math.sqrt(7)
    for standing in eh.decide(frame).ranking:
        assert standing.value == pytest.approx(means[standing.option])
        assert standing.high - standing.value == pytest.approx(width, rel=1e-2)


def test_scores_of_nothing_but_0_and_1_are_votes() -> None:
    liked = ([0, 1], [1, 1], [0, 0], [0, 0], [0, 0], [0, 1], [0, 1], [0, 1], [0, 0], [1, 1])
    votes = table([(f"o{x}", f"J{j}", y) for x, row in enumerate(liked) for j, y in enumerate(row)])
    said, stated = eh.decide(votes), eh.decide(votes, scale=(0, 1))
    assert said.loss == stated.loss <= 1.0
    assert "taken for votes" in str(said)
    assert "taken for votes" not in str(stated)
    assert said.standings["high"].max() == 1.0
    marks = eh.decide(votes.assign(score=votes["score"] * 0.999))  # as good as the same
    assert marks.standings["high"].max() > 1.0
    ann, bo = [1, 1, 0, 1, 0, 1, 1, 0, 1, 0], [0, 1, 0, 1, 1, 0, 1, 0, 1, 0]
    for marks in (two([2.0, *ann[1:]], bo), two(ann[:9], bo[:9])):  # a mark; too few to tell
        assert "taken for votes" not in str(eh.decide(marks))


def test_rare_items_make_nothing_sure_that_none_of_them_shows() -> None:
    """Ann leads by 1 on 95% of all items, and is behind by 19 on the others: neither is better."""
    rng, n, sure = np.random.default_rng(8), 60, 0
    for _ in range(n):
        lead = np.where(rng.random(20) < 0.05, -19.0, 1.0)
        rows = [(o, "J", f"i{g}", y) for g in range(20) for o, y in (("Ann", lead[g]), ("Bo", 0.0))]
        sure += eh.decide(table(rows, "option", "evaluator", "item", "score"), next_n=0).sure
    assert sure <= stats.binom.isf(1e-3, n, 0.05)


@pytest.mark.parametrize("n", [24, *nightly([60])])
def test_tastes_of_judges_are_errors_for_judges_like_them_and_not_for_these(n: int) -> None:
    """Two options are worth the same; three judges like one or the other, on every item."""
    rng = np.random.default_rng(9)
    sure = {"these": 0, "like these": 0}
    for _ in range(n):
        taste, y = 0.6 * rng.normal(size=(2, 3)), rng.normal(size=(2, 3, 40))
        rows = [
            (f"o{o}", f"j{j}", f"i{g}", taste[o, j] + y[o, j, g])
            for o in range(2)
            for j in range(3)
            for g in range(40)
        ]
        frame = table(rows, "option", "evaluator", "item", "score")
        for scope in sure:
            sure[scope] += eh.decide(frame, scope=scope, next_n=0).sure
    assert sure["like these"] <= stats.binom.isf(1e-3, n, 0.05)
    assert sure["these"] > n / 4


def test_errors_are_by_clusters_of_items() -> None:
    """Items made from templates: what leaving out a template changes."""
    frame = tried(2, 1, 12, 6)
    frame["cluster"] = [f"t{int(item[1:]) % 4}" for item in frame["item"]]
    answer = eh.decide(frame)
    means = frame.pivot_table(index="item", columns="option", values="score")
    lead = (means["o0"] - means["o1"]).groupby(lambda item: int(item[1:]) % 4).mean()
    found = answer.compare("o0", "o1")
    assert found.value == pytest.approx(lead.mean())
    width = stats.t.ppf(0.975, 3) * lead.std() / 2  # of four templates
    assert found.high - found.value == pytest.approx(width)


def test_options_with_items_of_their_own_are_compared_over_items() -> None:
    rng = np.random.default_rng(0)
    y = {o: 4.0 * (o == "Ann") + rng.normal(size=6) for o in ("Ann", "Bo")}
    rows = [(o, "J", f"{o} {g}", y[o][g]) for o in y for g in range(6)]
    frame = table(rows, "option", "evaluator", "item", "score")
    answer = eh.decide(frame)
    assert answer.sure
    assert "items of its own" in answer.assumed
    assert answer.compare("Ann", "Bo").value == pytest.approx(y["Ann"].mean() - y["Bo"].mean())


def test_a_lead_that_rests_on_one_item_makes_nothing_sure() -> None:
    frame = tried(3, 2, 8, 0)
    frame = frame[(frame["option"] != "o2") | (frame["item"] == "i0")]
    answer = eh.decide(frame)
    assert not answer.sure


def test_scores_that_were_chosen_by_scores_pay_for_it(event: SkatingPanel) -> None:
    frame = of_event(event)
    before, after = eh.decide(frame), eh.decide(frame, assigned="adaptively")
    assert before.sure
    assert not after.sure
    assert after.label == before.label
    assert "may have been chosen by looking at earlier scores" in after.assumed
    known = eh.decide(frame, assigned="adaptively", noise_scale=3.0)
    assert eh.decide(frame, tolerance=known.loss, assigned="adaptively", noise_scale=3.0).sure


def test_time_puts_scores_in_order() -> None:
    rng = np.random.default_rng(4)
    frame = table(
        [("Ann" if i % 2 else "Bo", "P", float(y)) for i, y in enumerate(rng.normal(size=60))]
    )
    frame["when"] = rng.permutation(60)
    mixed = eh.decide(frame, columns={"time": "when"}, assigned="adaptively", repeats=True)
    sorted_ = eh.decide(frame.sort_values("when"), assigned="adaptively", repeats=True)
    assert mixed.loss == sorted_.loss


def test_how_many_more_it_takes_is_by_the_lead_as_it_stands() -> None:
    """m scores of each give the lead an error of σ√(2/m): enough at m = 2 (zσ/L)²."""
    sigma, lead = 2.0, 0.5
    answer = eh.decide(two([7.0 + lead] * 2, [7.0] * 2), noise_scale=sigma)
    assert answer.next_questions == ()  # each judge has said all
    m = 2.0 * (stats.norm.ppf(0.975) * sigma / lead) ** 2
    more = re.search(r"About (\d+) more like them", " ".join(str(answer).split()))
    assert int(more[1]) == pytest.approx(m - 2.0, rel=0.11)
    panel = Questions.panel(["Ann", "Bo"], ["J0"], capacity=None)
    rows = [("Ann", "J0", 7.0 + lead), ("Bo", "J0", 7.0)]
    again = eh.decide(panel, table(rows), noise_scale=sigma)
    assert again.next_questions.until_sure == pytest.approx(2.0 * m - 2.0, rel=0.07)
    assert {question.evaluator for question in again.next_questions} == {"J0"}


def test_next_questions_of_a_large_panel_are_about_its_best() -> None:
    rng = np.random.default_rng(0)
    names, people = [f"o{i}" for i in range(90)], [f"j{i}" for i in range(25)]
    lenient = dict(zip(people, rng.normal(size=25), strict=True))
    rows = [
        (o, j, 0.1 * i + lenient[j] + rng.normal())
        for i, o in enumerate(names)
        for j in people
        if rng.random() < 0.5
    ]
    answer = eh.decide(table(rows))
    assert not answer.sure
    best = {standing.option for standing in answer.ranking[:13]}
    for question in answer.next_questions:
        assert set(question.options) <= best
        assert question.label == f"{question.options[0]} by {question.evaluator}"
        assert (question.options[0], question.evaluator) not in {row[:2] for row in rows}
        assert question.error_after < question.error


def test_next_questions_connect_what_scores_leave_apart() -> None:
    rows = [("Ann", "P", 7.0), ("Bo", "P", 5.0), ("Cy", "Q", 6.0), ("Di", "Q", 3.0)]
    answer = eh.decide(table(rows))
    assert not answer.sure
    assert not answer.comparable
    assert "2 parts ('Ann', 'Bo'; 'Cy', 'Di')" in str(answer)
    first = answer.next_questions[0]
    assert (first.options[0], first.evaluator) in {("Ann", "Q"), ("Cy", "P")}  # the best of each
    told = [*rows, (first.options[0], first.evaluator, 6.0)]
    assert eh.decide(table(told)).comparable


def test_who_favours_nobody_is_asked_where_one_partial_judge_tells_nothing() -> None:
    frame = table([("Ann", "P", 7.0, "fr", "fr"), ("Bo", "P", 5.0, "it", "fr")],
                  "option", "evaluator", "score", "option_group", "evaluator_group")  # fmt: skip
    answer = eh.decide(frame)
    assert not answer.sure
    assert not answer.comparable
    assert {q.evaluator for q in answer.next_questions} == {"a neutral evaluator"}
    assert {q.options for q in answer.next_questions} == {("Ann",), ("Bo",)}
    assert math.isnan(answer.bias.value)


@pytest.mark.parametrize("terminal", [True, False])
def test_on_a_terminal_a_long_decision_says_where_it_is(
    terminal: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watch, "_PATIENCE", 0.0)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    monkeypatch.setenv("TERM", "xterm")
    eh.decide(two([7.0, 8.0], [5.0, 5.5]))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert ("answer" in captured.err) is terminal


def test_dearer_questions_must_be_worth_it() -> None:
    prices = {"P": 1.0, "Q": 100.0}
    panel = Questions.panel(["Ann", "Bo"], ["P", "Q"], capacity=None, prices=prices)
    rows = [(o, j, y) for j in "PQ" for o, y in (("Ann", 7.1), ("Bo", 7.0))]
    answer = eh.decide(panel, table(rows), noise_scale=1.0)
    assert {question.evaluator for question in answer.next_questions} == {"P"}
    assert eh.decide(panel, table(rows), noise_scale=1.0, next_n=0).next_questions == ()


def test_a_sure_answer_asks_nothing_and_goes_through_pickle(event: SkatingPanel) -> None:
    for frame in (of_event(event), tried(2, 1, 4, 1)):
        answer = eh.decide(frame)
        again = pickle.loads(pickle.dumps(answer))
        assert str(again) == str(answer)
        assert again.next_questions.to_frame().equals(answer.next_questions.to_frame())
        assert (again.next_questions == ()) is answer.sure
        json.dumps(answer.to_dict(), allow_nan=False)


def test_no_policy_goes_on_from_scores_that_were_there() -> None:
    for frame, assigned in (
        (tried(2, 2, 4, 1), "before"),
        (two([7.0, 6.0], [5.0, 5.5]), "adaptively"),
    ):
        answer = eh.decide(frame, assigned=assigned)  # type: ignore[arg-type]
        assert answer.spent == len(frame)
        with pytest.raises(eh.InputError, match="no policy asked for them"):
            _ = answer.policy


@pytest.mark.parametrize("n", [2, 3, 4, 6])
def test_few_scores_of_whole_numbers_are_never_refused_nor_sure(n: int) -> None:
    rng = np.random.default_rng(n)
    pairs = [(o, j) for j in "PQR" for o in ("Ann", "Bo")][:n]
    answer = eh.decide(
        table([(o, j, int(s)) for (o, j), s in zip(pairs, rng.permutation(9)[:n], strict=True)])
    )
    assert answer.spent == n
    if n < 4:  # no score to spare, so nothing is known of the noise
        assert not answer.sure
    assert str(answer)


def test_scores_of_nobody_in_particular_are_told_apart_from_those_of_people() -> None:
    y = [7.0, 7.4, 7.2, 3.0, 3.3, 3.1]
    answer = eh.decide(table(zip(["Ann"] * 3 + ["Bo"] * 3, y, strict=True), "option", "score"))
    assert (answer.label, answer.sure) == ("Ann", True)
    assert any("Nobody says who gave the scores" in note.message for note in answer.warnings)


def test_groups_of_options_alone_say_nothing_of_favours() -> None:
    y = [7.0, 7.4, 3.0, 3.3]
    frame = table(zip(["Ann", "Ann", "Bo", "Bo"], "PQPQ", y, strict=True))
    answer = eh.decide(frame.assign(option_group=["a", "a", "b", "b"]))
    assert not answer.biases.of_kind("bias")
    assert answer.ranking[0].group == "a"
    assert any("Nobody is taken to favour anybody" in note.message for note in answer.warnings)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"option": "Zoe"}, "row 1, column 'option': 'Zoe' is none of the options"),
        ({"evaluator": "Z"}, "row 1, column 'evaluator': 'Z' is none of the evaluators"),
    ],
)
def test_rows_that_answer_no_question_are_named(change: dict[str, str], message: str) -> None:
    panel = Questions.panel(["Ann", "Bo"], ["P", "Q"])
    frame = table([("Ann", "P", 7.0), ("Bo", "P", 5.0), ("Bo", "Q", 4.0)])
    for column, name in change.items():
        frame.loc[1, column] = name
    with pytest.raises(eh.InputError, match=message):
        eh.decide(panel, frame)


def test_what_cannot_be_decided_is_refused() -> None:
    frame = table([("Ann", "P", 7.0), ("Bo", "P", 5.0), ("Ann", "Q", 6.0), ("Bo", "Q", 5.5)])
    events = frame.assign(event=["a", "a", "b", "b"])
    for wrong, message in (
        (eh.decide, "scores are needed"),
        (lambda: eh.decide(events), "2 events"),
        (lambda: eh.decide(frame, assigned="later"), "assigned must be"),  # type: ignore[arg-type]
        (lambda: eh.decide(frame, next_n=-1), "next_n"),
        (lambda: eh.decide(frame, confidence=1.0), "confidence"),
        (lambda: eh.decide(frame, tolerance=-1.0), "tolerance"),
        (lambda: eh.decide(frame.assign(item="i"), assigned="adaptively"), "items"),
        (lambda: eh.decide(frame.assign(item="i"), noise_scale=1.0), "noise_scale"),
        (lambda: eh.decide(["Ann"], frame), "one option only"),
    ):
        with pytest.raises(eh.InputError, match=message):
            wrong()
    half = frame.assign(partial=[0.0, 1.0, 0.0, 0.0])
    assert eh.decide(half, columns={"partial": "partial"}).biases[0].kind == "bias"
    twice = pd.concat([half, half.assign(partial=0.5)])
    with pytest.raises(eh.InputError, match="give a pair one number"):
        eh.decide(twice, columns={"partial": "partial"}, repeats=True, assigned="adaptively")


def test_in_a_tie_the_next_questions_are_about_the_tie() -> None:
    """Cy is far behind: what another score tells of him changes no decision."""
    rows = {"Ann": (9.0, 9.5, 10.0), "Bo": (9.5, 10.0, 9.0), "Cy": (5.0, 5.5, 4.5)}
    scores = table([(o, j, y) for o, ys in rows.items() for j, y in zip("PQR", ys, strict=True)])
    answer = eh.decide(Questions.panel(list(rows), list("PQR"), capacity=2), scores)
    assert {one.rival for one in answer.next_questions} == {"Bo"}


def test_nothing_is_said_beyond_the_ends_of_the_scale() -> None:
    """Marks from 1 to 10, few and scattered: values, leads, biases and losses end with it."""
    rng = np.random.default_rng(3)
    rows = [
        (f"o{o}", f"e{e}", float(np.clip(np.round(6.0 + 2.5 * rng.normal()), 1, 10)), o % 2, e % 2)
        for o in range(6)
        for e in range(5)
        if rng.random() < 0.8
    ]
    names = ["option", "evaluator", "score", "option_group", "evaluator_group"]
    table = pd.DataFrame(rows, columns=names).astype({"option_group": str, "evaluator_group": str})
    without, answer = eh.decide(table), eh.decide(table, scale=(1, 10))
    assert without.standings["high"].max() > 10.0, "there is something to cut off"
    assert answer.loss <= 9.0
    assert answer.standings[["value", "low", "high"]].stack().between(1.0, 10.0).all()
    assert (np.abs(answer.conclusion.leads) <= 9.0).all()
    assert all(abs(end) <= 9.0 for bias in answer.biases for end in (bias.low, bias.high))
    assert max(abs(answer.bias.low), abs(answer.bias.high)) <= 9.0
    cut = np.clip(without.standings[["low", "high"]], 1.0, 10.0)
    assert np.allclose(answer.standings[["low", "high"]], cut)
    assert answer.standings["option"].tolist() == without.standings["option"].tolist()


def test_a_slope_may_be_larger_than_the_scale_where_its_attribute_is_small() -> None:
    rng = np.random.default_rng(2)
    frame = table([(f"o{o}", f"J{j}", 5.0) for o in range(6) for j in range(8)])
    frame["share"] = rng.uniform(0.0, 0.01, len(frame))
    frame["score"] += 200.0 * frame["share"] + 0.1 * rng.normal(size=len(frame))
    (slope, *_) = eh.decide(frame, columns={"attributes": ["share"]}, scale=(0, 10)).biases
    assert slope.low < 200.0 < slope.high
    assert slope.low > 10.0


def test_a_single_option_is_chosen_and_held_against_a_bar() -> None:
    alone = table([("Ann", y) for y in (7.0, 6.5, 7.2, 6.8)], "option", "score")
    assert eh.decide(alone).sure
    assert str(eh.decide(alone)).startswith("Choose Ann: there is no other option.")
    assert eh.decide(alone, bar=9.0).outside == ("Ann",)
    assert eh.decide(alone, bar=4.0).inside == ("Ann",)


def paired(mean: float, n: int, seed: int, *, items: bool) -> tuple[pd.DataFrame, np.ndarray]:
    """Return scores of two options by the same judges, or on the same items, and differences."""
    rng = np.random.default_rng(seed)
    level, apart = rng.normal(0.0, 2.0, n), mean + rng.normal(0.0, 0.5, n)
    table = pd.DataFrame({"option": ["A"] * n + ["B"] * n, "score": [*(level + apart), *level]})
    table["item" if items else "evaluator"] = [*map(str, range(n))] * 2
    return table.assign(evaluator="J") if items else table, apart


@pytest.mark.parametrize("items", [True, False])
def test_two_options_are_compared_as_a_paired_t_test_does(items: bool) -> None:
    """The interval, 'not worse than', and a tolerance; whichever of them is named first."""
    sure = 0
    for seed in range(20):
        table, apart = paired(0.0, 12, seed, items=items)
        answer = eh.decide(table, tolerance=0.15, next_n=0)
        two = stats.ttest_1samp(apart, 0.0).confidence_interval(0.95)
        one = stats.ttest_1samp(apart, 0.0, alternative="greater").confidence_interval(0.95)
        found = answer.compare("A", "B")
        assert found.value == pytest.approx(apart.mean())
        assert (found.low, found.high) == pytest.approx(tuple(two))
        assert found.at_least == pytest.approx(one.low)
        assert found.p_value == pytest.approx(stats.ttest_1samp(apart, 0.0).pvalue)
        assert found.error == pytest.approx(apart.std(ddof=1) / math.sqrt(12))
        assert found.evaluations == 24
        assert found.shared == {"items" if items else "evaluators": 12}
        other = answer.compare(1, 0)
        assert (other.value, other.low, other.high) == pytest.approx(
            (-found.value, -two.high, -two.low)
        )
        ahead = apart * np.sign(apart.mean())
        side = stats.ttest_1samp(ahead, -0.15, alternative="greater").pvalue
        assert answer.sure == (side < 0.025)
        sure += answer.sure
    assert 0 < sure < 20


@pytest.mark.parametrize("n", [100, 1_000])
def test_a_margin_is_found_though_two_options_tie(n: int) -> None:
    """A difference of a fifth of a thousandth, ± .03: no bound explodes, and .1 makes it sure."""
    _, apart = paired(0.0, n, 7, items=True)
    apart = 0.0002 + (apart - apart.mean()) / apart.std(ddof=1) * 0.03 * math.sqrt(n) / 1.98
    table = pd.DataFrame({"option": ["A"] * n + ["B"] * n, "score": [*apart, *(0.0 * apart)]})
    table = table.assign(item=[*range(n)] * 2, evaluator="J")
    without, answer = eh.decide(table), eh.decide(table, tolerance=0.1)
    assert not without.sure
    assert 0.029 < without.loss < 0.031
    assert answer.sure
    assert "within 0.1 of" in str(answer)


def test_what_is_compared_has_to_be_two_options_of_the_answer() -> None:
    answer = eh.decide(paired(0.0, 5, 1, items=True)[0])
    for pair, words in ((("A", "C"), "no option 'C'"), (("A", 0), "'A' twice"), ((0, 2), "2")):
        with pytest.raises(eh.InputError, match=words):
            answer.compare(*pair)
    copy = pickle.loads(pickle.dumps(answer))
    assert copy.compare("A", "B") == answer.compare("A", "B")


def test_what_an_alarm_takes_away_is_not_said_of_two_options_either() -> None:
    table = paired(3.0, 30, 3, items=False)[0]
    table.loc[4, "score"] = 1e3
    answer = eh.decide(table)
    assert answer.alarms
    assert answer.compare("A", "B").low == -math.inf
    assert math.isnan(answer.compare("A", "B").p_value)
    assert "do not say" in str(answer.compare("A", "B"))


def test_of_a_policy_two_options_are_compared_at_all_times() -> None:
    panel = eh.Questions.panel(["A", "B", "C"], ["P", "Q"], capacity=None)
    rng = np.random.default_rng(4)
    answer = eh.choose(panel, lambda q: 2.0 * q.option + rng.normal(), at_most=300)
    for a, b in ((0, 1), (2, 0), (1, 2)):
        found = answer.compare(a, b)
        assert found.low < 2.0 * (a - b) < found.high
        assert found.high - found.low < 6.0
        assert found.at_least == found.low


def test_of_a_campaigns_export_only_what_counts_is_decided_by(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    panel = eh.Questions.panel(["Ann", "Bo", "Cy"], ["P", "Q", "R"])
    campaign = eh.Campaign.create(tmp_path / "store.db", "it", panel, looks="once")
    kept, first = {}, []
    for judge in panel.evaluators:
        for ticket in campaign.ask(judge, n=3):  # type: ignore[union-attr] # a list
            score = float(rng.normal() - 3.0 * ticket.question.option)
            kept[ticket.question.label, judge] = score
            first.append((campaign.tell(ticket, score), ticket))
    for blind, (receipt, ticket) in zip((False, True), first[:2], strict=True):
        campaign.withdraw(receipt, "a slip", blind=blind)
        campaign.tell(ticket.id, 0.5)
        kept[ticket.question.label, ticket.question.evaluator] = 0.5
    campaign.tell(first[3][1], 9.0, key="again")  # late: another came first
    campaign.export(tmp_path / "record")
    campaign.close()
    rows = [(*key, score) for key, score in kept.items()]
    plain = eh.decide(pd.DataFrame(rows, columns=["option", "evaluator", "score"]))
    for source in (tmp_path / "record" / "evaluations.csv",
                   pd.read_csv(tmp_path / "record" / "evaluations.csv")):  # fmt: skip
        answer = eh.decide(source)
        assert answer.spent == 9
        assert [one.value for one in answer.ranking] == pytest.approx(
            [one.value for one in plain.ranking]
        )
        (note,) = (one.message for one in answer.warnings if one.assumption == "standing")
        assert note.startswith(
            "3 rows of the campaign's record are left out: 1 late, 1 withdrawn, 1 withdrawn blind."
        )
