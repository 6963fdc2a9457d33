"""What an answer says is what is known: in words, in HTML and in the picture."""

from __future__ import annotations

import math
import pickle
import re
from collections.abc import Mapping
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

import evenhand as eh
from evenhand.answers import Failure, answer_of
from evenhand.arrays import Counts, Floats
from evenhand.policies.conclusion import checks_of
from evenhand.report.result import WIDTH

NAN, INF = float("nan"), float("inf")


class Says(eh.Policy):
    """Says what it is told to say."""

    name = "says"

    def __init__(self, actions: eh.ActionSet, horizon: int = 900, **said: Any) -> None:
        super().__init__(actions, horizon, noise_scale=1.0)
        self.said = said
        self._spent = said.get("spent", 120)
        self.limits.paid = float(self._spent)

    def propose(self, n: int | None, pending: Counts) -> Counts:
        return np.zeros(len(self.actions), dtype=np.int64)

    def learn(self, feedback: eh.Feedback) -> None:
        pass

    def memory(self) -> dict[str, Any]:
        return {"spent": self._spent}

    def recall(self, memory: Mapping[str, Any]) -> None:
        self._spent = memory["spent"]

    def recommend(self) -> eh.Decision:
        option = self.said.get("option", 0)
        return eh.Decision(
            option,
            self.actions.labels[option],
            self.said.get("loss", INF),
            self.said.get("level", 0.95),
            self.said.get("withstands", 0.0),
            leads=self.said.get("leads"),
            certainty=self.said.get("certainty"),
            warnings=self.said.get("warnings", ()),
        )

    def bias(self) -> eh.Estimate:
        return eh.Estimate(*self.said.get("bias", (NAN, -INF, INF)), 0.95)

    def values(self) -> Floats | None:
        return self.said.get("values")

    def findings(self) -> tuple[eh.Finding, ...]:
        return ()

    def forecast(self) -> float:
        return float(self.said.get("forecast", NAN))

    @property
    def stopped_because(self) -> str | None:
        return self.said.get("because")


def three(
    labels: tuple[str, ...] = ("Ann", "Bo", "Cy"),
    groups: tuple[str, ...] = ("away", "home", "home"),
) -> eh.ActionSet:
    return eh.ActionSet([[1.0, 3.0], [1.0, 2.0], [1.0, 1.0]], groups, labels)


LEADS = np.array([[0.0, 0.0, 0.0], [1.5, 0.75, 2.25], [4.0, 3.0, 5.0]])
VALUES = np.array([[7.0, 6.0, 8.0], [5.5, 5.0, 6.0], [3.0, 2.0, 4.0]])
TOLD = eh.Feedback([40, 40, 40], [40 * 6.0, 40 * 6.5, 40 * 4.0], [4e4, 4e4, 4e4])
DRIFT = eh.Finding("drift", "Scores rise by 0.2 per 100 evaluations. Ask in another order.")


def answered(
    actions: eh.ActionSet | None = None,
    told: eh.Feedback = TOLD,
    *,
    confidence: float = 0.95,
    tolerance: float = 0.0,
    exact: bool = False,
    stopped: str | None = None,
    failures: tuple[Failure, ...] = (),
    **said: Any,
) -> eh.Answer:
    policy = Says(three() if actions is None else actions, **said)
    checks_of(policy).take(told.counts, told.sums, told.sums_of_squares)
    return answer_of(
        policy,
        confidence=confidence,
        tolerance=tolerance,
        features_exact=exact,
        stopped_because=stopped,
        failures=failures,
    )


def sure(**changes: Any) -> eh.Answer:
    said: dict[str, Any] = {
        "loss": 0.0,
        "certainty": "own scores",
        "leads": LEADS,
        "values": VALUES,
        "bias": (1.25, 0.5, 2.0),
        "because": "Ann leads everybody for certain",
    }
    return answered(**(said | changes))


def test_no_lead_is_told_below_what_the_stated_loss_allows() -> None:
    """Each lead has an interval of its own; that nothing is lost says more."""
    leads = LEADS.copy()
    leads[1] = (1.5, -4.0, 7.0)
    assert "behind by 1.5 (0.0 to 7.0)" in str(sure(leads=leads))


def test_a_sure_answer_says_all_of_it() -> None:
    answer = sure()
    assert answer.sure
    assert str(answer).splitlines() == [
        "Choose Ann: it is the best of 3 options. That is 95% sure, by the options' own scores.",
        "",
        "Rival       Bo comes closest, behind by 1.50 (0.75 to 2.25).",
        "Bias        1.25 too much for home, 1.25 too little for away (0.50 to 2.00).",
        "Raw scores  By the mean scores alone it would have been Bo (6.50 against 6.00).",
        "Direction   Higher is better.",
        "Cost        120 evaluations of at most 900.",
        "Stopped     Ann leads everybody for certain.",
    ]


BEST = "Choose Ann: it is the best of 3 options"
NOT_SURE = "Ann looks best of 3 options, but that is not sure."


@pytest.mark.parametrize(
    ("said", "is_sure", "words"),
    [
        ({}, True, f"{BEST}. That is 95% sure, by the options' own scores. "),
        ({"loss": 0.25}, False, f"{NOT_SURE} It loses at most 0.25 (95% sure). "),
        (
            {"loss": 0.25, "tolerance": 0.5},
            True,
            "Choose Ann: it is within 0.5 of the best of 3 options. That is 95% sure, by",
        ),
        ({"loss": INF}, False, f"{NOT_SURE} Rival "),
        ({"certainty": None}, False, f"{NOT_SURE} Rival "),
        (
            {"certainty": "features exact"},
            False,
            f"{BEST}, 95% sure if the features are exact. By the options' own scores alone it is "
            "not sure. ",
        ),
        (
            {"certainty": "features exact", "exact": True},
            True,
            f"{BEST}. That is 95% sure, given that the features are exact, as you said. ",
        ),
        (
            {"certainty": "features exact", "loss": 0.25},
            False,
            f"{NOT_SURE} It loses at most 0.25 (95% sure if the features are exact). ",
        ),
        ({"level": 0.999}, True, f"{BEST}. That is 99.9% sure"),
        (
            {"warnings": (DRIFT,)},
            False,
            "Ann looks best of 3 options, but nothing is sure: the scores contradict what was "
            "assumed about them (drift; see below). ",
        ),
        (
            {"spent": 0, "loss": INF},
            False,
            "Nothing is known about the 3 options: no evaluation came back. ",
        ),
        ({"spent": 0}, True, f"{BEST}. That is 95% sure"),
    ],
)
def test_the_first_sentence_is_true(said: dict[str, Any], is_sure: bool, words: str) -> None:
    answer = sure(**said)
    assert answer.sure is is_sure
    assert unwrapped(answer).startswith(words)
    assert "To be surer" not in str(answer) or not is_sure


def unwrapped(answer: eh.Answer) -> str:
    """All words in one line."""
    return " ".join(str(answer).split())


def test_an_alarm_withdraws_what_was_certain() -> None:
    note = eh.Finding("range", "All scores are whole numbers.", alarm=False)
    answer = sure(warnings=(note, DRIFT))
    assert (answer.sure, answer.certainty, answer.loss) == (False, None, INF)
    assert answer.warnings == (DRIFT, note)
    assert answer.alarms == (DRIFT,)
    assert (answer.bias.value, answer.bias.low, answer.bias.high) == (1.25, -INF, INF)
    assert answer.decision.lead_over(1) == eh.Estimate(1.5, -INF, INF, 0.0)
    assert [(one.value, one.low, one.high) for one in answer.ranking] == [
        (value, -INF, INF) for value in (7.0, 5.5, 3.0)
    ]
    text = str(answer)
    assert "WARNING      Scores rise by 0.2 per 100 evaluations. Ask in another order.\n" in text
    assert text.endswith("Note         All scores are whole numbers.")
    kept = sure(warnings=(note,))
    assert (kept.sure, kept.loss) == (True, 0.0)


def test_why_it_is_not_surer() -> None:
    short_of = unwrapped(sure(loss=2.0, forecast=250.4))
    assert (
        "To be surer About 251 evaluations more are expected, if leads are what they look like now."
        in short_of
    )
    assert sure(loss=2.0, forecast=250.4).forecast == 250.4
    assert sure(forecast=250.4).forecast == 0.0  # it is settled
    assert "To be surer" not in str(sure(loss=2.0, forecast=INF))
    assert "say so: deviation=0." in unwrapped(sure(certainty="features exact"))
    assert "more scores of this kind would not help" in unwrapped(sure(warnings=(DRIFT,)))


def test_why_it_stopped() -> None:
    assert "Stopped it was interrupted." in unwrapped(sure(stopped="it was interrupted"))
    assert "Stopped Ann leads everybody for certain." in unwrapped(sure())
    assert "Stopped the policy asks for no more." in unwrapped(sure(because=None))
    withdrawn = unwrapped(sure(warnings=(DRIFT,)))
    assert "Stopped Ann leads everybody for certain. But see the warning." in withdrawn
    told = unwrapped(sure(warnings=(DRIFT,), because=f"it failed: {DRIFT}"))
    assert "Stopped An assumption failed: see the warning." in told
    assert told.count("Scores rise") == 1
    assert "Stopped all 120 evaluations are spent." in unwrapped(sure(because=None, horizon=120))


@pytest.mark.parametrize(
    ("bias", "who", "interval"),
    [
        (
            (-1.25, -2.0, -0.5),
            "Bias 1.25 too much for away, 1.25 too little for home",
            "0.50 to 2.00",
        ),
        ((1.2, -0.2, 2.6), "perhaps none: by estimate 1.2 too much for home", "−0.2 to 2.6"),
        ((1.25, -INF, INF), "perhaps none: by estimate 1.25 too much for home, 1.25 too", None),
        ((NAN, -INF, INF), "Bias not known: the scores so far do not show it.", None),
        ((1.5e-4, 1.2e-4, 1.8e-4), "0.000150 too much for home", "0.000120 to 0.000180"),
        ((1.5e-9, 1.2e-9, 1.8e-9), "1.5e−09 too much for home", "1.2e−09 to 1.8e−09"),
        ((31_415.9, 30_000.0, 33_000.0), "31,416 too much for home", "30,000 to 33,000"),
    ],
)
def test_the_bias_names_who_is_favoured(
    bias: tuple[float, ...], who: str, interval: str | None
) -> None:
    words = unwrapped(sure(bias=bias))
    assert who in words
    if interval is not None:
        assert re.search(rf"too little for (home|away) \({re.escape(interval)}\)\.", words)


def test_several_attributes_have_no_groups() -> None:
    actions = eh.ActionSet(
        np.c_[np.ones(3), [3.0, 2.0, 1.0]],
        attributes=[[0.1, 3.0], [0.4, 5.0], [0.2, 1.0]],
        attribute_names=["age", "price"],
    )
    answer = sure(actions=actions)
    words = "Bias scores change by 1.25 with every 1 of age (0.50 to 2.00). That of price is taken"
    assert words in unwrapped(answer)
    assert "group" not in answer.standings
    assert "group" not in answer._repr_html_()
    answer.plot()


def test_attributes_of_a_table_are_told_in_its_units() -> None:
    frame = pa.table({"nation": ["fr", "us", "fr"], "age": [30, 40, 60], "skill": [1, 2, 4]})
    by_nation = eh.ActionSet.from_frame(frame, attributes=["nation"], features=["skill"])
    assert "scores change by 1.25 where nation is us instead of fr" in unwrapped(
        sure(actions=by_nation)
    )
    by_age = eh.ActionSet.from_frame(frame, attributes=["age"], features=["skill"])
    spread = np.std([30, 40, 60])
    assert f"with every {spread:.4g} of age" in unwrapped(sure(actions=by_age))


def test_one_option_needs_no_choice() -> None:
    actions = eh.ActionSet([[1.0]], attributes=[[2.0]], labels=["Ann"])
    answer = answered(actions, eh.Feedback([0], [0.0], [0.0]), spent=0, leads=np.zeros((1, 3)))
    assert str(answer).startswith("Choose Ann: there is no other option.\n")
    assert "Rival" not in str(answer)
    assert answer.raw_choice is None
    answer.plot()


def test_a_tie_is_told_as_a_tie() -> None:
    leads = LEADS.copy()
    leads[1] = 0.0
    text = str(sure(leads=leads))
    assert "Tied        Bo has the same features: any will do." in text
    assert "Cy comes closest" in text


def test_a_rival_may_be_ahead_by_estimate() -> None:
    leads = LEADS.copy()
    leads[1] = [-0.5, -2.25, 1.25]
    text = unwrapped(sure(leads=leads, loss=2.25))
    assert "Rival Bo comes closest, ahead by 0.5 (−1.2 to 2.2)." in text


def test_what_the_choice_withstands_is_said_while_it_is_certain() -> None:
    words = "It stays the best if belonging to a group is truly worth up to ±0.375"
    assert words in unwrapped(sure(withstands=0.375))
    assert words in unwrapped(sure(withstands=0.375, certainty="features exact"))
    assert words not in unwrapped(sure(withstands=0.375, warnings=(DRIFT,)))
    assert words not in unwrapped(sure(withstands=0.375, loss=0.1))
    assert "Holds up" not in str(sure(withstands=INF))


def test_failures_are_counted_and_the_last_ones_shown() -> None:
    lost = tuple(
        Failure(eh.Question(1, "Bo", n), f"TimeoutError: number {n}", 3) for n in range(1, 6)
    )
    text = " ".join(str(sure(failures=lost)).split())
    assert (
        "Failed 5 questions given up, last Bo (question 3, tried 3 times): TimeoutError: number 3; "
        in text
    )
    assert "number 2" not in text


def test_standings_are_a_frame_by_value() -> None:
    values = VALUES[[1, 0, 2]]
    frame = sure(values=values, option=1, leads=-LEADS[:, [0, 2, 1]]).standings
    assert frame.columns.tolist() == [
        "option", "group", "raw", "value", "low", "high", "lead", "evaluations"
    ]  # fmt: skip
    assert frame["option"].tolist() == ["Bo", "Ann", "Cy"]
    assert frame["group"].tolist() == ["home", "away", "home"]
    assert frame["value"].is_monotonic_decreasing
    np.testing.assert_array_equal(frame[["value", "low", "high"]], values[[1, 0, 2]])
    assert frame["raw"].tolist() == [6.5, 6.0, 4.0]
    assert frame["lead"].tolist() == [-1.5, 0.0, -4.0]


def test_a_policy_that_says_no_values_gets_those_of_least_squares() -> None:
    """Means without noise are reproduced; a value that nothing shows is not made up."""
    actions = eh.ActionSet([[1.0, 0.0], [1.0, 1.0], [1.0, 3.0], [1.0, 2.0]], ["a", "a", "b", "b"])
    values = actions.features @ [2.0, 0.5]
    means = values - 0.75 * np.asarray(actions.groups)
    n = np.array([5, 7, 3, 1])
    answer = answered(actions, eh.Feedback(n, n * means, n * means**2 + 1.0))
    found = np.array([answer.standing(x).value for x in range(4)])
    np.testing.assert_allclose(found, values)
    assert answer.raw_choice == int(np.argmax(means))
    n = np.array([5, 0, 3, 0])
    answer = answered(actions, eh.Feedback(n, n * means, n * means**2 + n))
    assert all(math.isnan(one.value) for one in answer.ranking)
    assert math.isnan(answer.standing(1).raw)


def test_exact_features_give_values_to_options_without_scores() -> None:
    """Three options determine the line and the bias; the fourth is what the line says."""
    actions = eh.ActionSet([[1.0, 0.0], [1.0, 1.0], [1.0, 3.0], [1.0, 2.0]], ["a", "a", "b", "b"])
    values = actions.features @ [2.0, 0.5]
    means = values - 0.75 * np.asarray(actions.groups)
    n = np.array([2, 2, 2, 0])
    told = eh.Feedback(n, n * means, n * means**2 + n)
    said = np.column_stack([values, values - 1.0, values + 1.0])
    said[3] = [NAN, -INF, INF]
    found = answered(actions, told, values=said, certainty="features exact", loss=0.0)
    assert found.standing(3).value == pytest.approx(values[3])
    assert (found.standing(2).value, found.standing(2).low) == (values[2], values[2] - 1.0)
    assert math.isnan(answered(actions, told, values=said).standing(3).value)


def test_an_answer_survives_pickling() -> None:
    answer = answered(bias=(1.0, 0.5, 1.5), values=None)
    again = pickle.loads(pickle.dumps(answer))
    assert str(again) == str(answer)
    assert (
        repr(again)
        == repr(answer)
        == ("Answer(option=0, label='Ann', sure=False, certainty=None, loss=inf, spent=120)")
    )


@settings(max_examples=25)
@given(
    st.lists(st.text(min_size=1, max_size=150), min_size=3, max_size=3, unique=True),
    st.text(max_size=400),
)
def test_no_line_is_too_long_whatever_things_are_called(names: list[str], message: str) -> None:
    try:
        actions = three(tuple(names), ("away from here" * 5, "home", "home"))
    except eh.InputError:  # blank names are refused
        return
    failure = Failure(eh.Question(1, names[1], 7), message, 3)
    answer = sure(actions=actions, failures=(failure,), warnings=(eh.Finding("fit", message),))
    assert all(len(line) <= WIDTH for line in str(answer).split("\n"))


class Tags(HTMLParser):
    """Reads the tags and the text of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag != "br":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_html_is_whole_and_runs_nothing() -> None:
    evil = "<script>alert('x')</script> & <img src=x onerror=y>"
    actions = three((evil, "Bo", "Cy"), ("<b>a", "home", "home"))
    warning = eh.Finding("fit", f"Look at {evil}")
    for changes in ({}, {"warnings": (warning,), "because": f"{evil} failed"}, {"values": None}):
        page = Tags(sure(actions=actions, **changes)._repr_html_())
        assert page.open == []
        assert page.seen.isdisjoint({"script", "img", "link", "style", "iframe"})
        assert not any(name.startswith("on") or name in ("src", "href") for name in page.attributes)
        assert "<script>alert('x')</script> & <im" in page.text
        assert "<b>a" in page.text


def many(k: int, labels: ArrayLike | None = None) -> eh.Answer:
    rng = np.random.default_rng(k)
    features = np.c_[np.ones(k), rng.standard_normal(k)]
    names = None if labels is None else np.asarray(labels)
    actions = eh.ActionSet(features, np.where(np.arange(k) % 2, "home", "away"), names)
    values = 50 + 5 * features[:, 1]
    wide = 1 + rng.random(k)
    n = rng.integers(5, 50, k)
    raw = values + 2 * np.asarray(actions.groups)
    return sure(
        actions=actions,
        told=eh.Feedback(n, n * raw, n * raw**2 + 1.0),
        option=int(np.argmax(values)),
        values=np.c_[values, values - wide, values + wide],
        leads=None,
        spent=int(n.sum()),
        horizon=10_000,
    )


@pytest.mark.parametrize("k", [3, 11, 60])
def test_the_picture_shows_options_raw_scores_and_bias(k: int) -> None:
    answer = many(k)
    options, bias = answer.plot().axes
    rows = answer.ranking[: min(k, 24)]  # of many, the last is the one with the best raw score
    low, high = options.get_xlim()
    assert all(low < min(one.value, one.raw) <= max(one.value, one.raw) < high for one in rows)
    drawn = [line.get_xydata() for line in options.get_lines()]
    for y, one in enumerate(rows):
        interval, value, raw = drawn[3 * y : 3 * y + 3]
        np.testing.assert_array_equal(interval, [[one.low, y], [one.high, y]])
        np.testing.assert_array_equal(value, [[one.value, y]])
        assert np.asarray(raw)[0, 0] == one.raw
    low, high = bias.get_xlim()
    assert low < min(0.0, answer.bias.low) < max(0.0, answer.bias.high) < high


def test_the_best_raw_score_is_drawn_even_if_its_option_is_far_down() -> None:
    answer = many(60)
    last = answer.ranking[-1]
    counts = (np.arange(60) == last.index).astype(np.int64)
    checks_of(answer.policy).take(counts, 1e5 * counts, 1e10 * counts)
    again = answer_of(answer.policy, confidence=0.95, tolerance=0.0, features_exact=False)
    names = [label.get_text() for label in again.plot().axes[0].get_yticklabels()]
    assert len(names) == 25
    assert last.option in names[-1]
    assert again.raw_choice == last.index


@pytest.mark.parametrize("k", [2, 11, 60])
def test_nothing_in_the_picture_covers_anything_else(k: int) -> None:
    answer = many(k, [f"a rather long name for an option, which is no. {x}" for x in range(k)])
    figure = answer.plot()
    figure.canvas.draw()
    options, bias = figure.axes
    for axes in (options, bias):
        names = [text.get_window_extent() for text in axes.get_yticklabels() if text.get_text()]
        names.sort(key=lambda box: box.y0)
        assert all(below.y1 <= above.y0 for below, above in pairwise(names))
    whole = figure.bbox
    boxes = [_covered(axes) for axes in (options, bias)]
    assert not boxes[0].overlaps(boxes[1])
    for box in boxes:
        assert whole.x0 <= box.x0 <= box.x1 <= whole.x1
        assert whole.y0 <= box.y0 <= box.y1 <= whole.y1


def _covered(axes: Axes) -> Any:
    box = axes.get_tightbbox()
    assert box is not None
    return box


def test_the_picture_is_drawn_where_little_is_known(tmp_path: Path) -> None:
    figure = answered().plot(tmp_path / "answer.svg")
    assert "not known" in figure.axes[1].get_title(loc="left")
    assert "<svg" in (tmp_path / "answer.svg").read_text()
    flat = np.full((3, 3), 5.0)
    sure(
        values=flat, told=eh.Feedback([1, 1, 1], [5.0] * 3, [25.0] * 3), bias=(0.0, 0.0, 0.0)
    ).plot()
    with pytest.raises(eh.InputError, match=r"must end in \.png, \.svg, \.pdf"):
        sure().plot(tmp_path / "answer.gif")
