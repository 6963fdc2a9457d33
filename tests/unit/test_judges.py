"""Judges: read strictly, shown what was drawn fairly, and their favours told."""

from __future__ import annotations

import asyncio
import shelve
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.judges import Judge, Reply, comparisons, panel, read_score, read_verdict
from evenhand.questions import UNLIMITED

ITEMS = tuple(f"q{i}" for i in range(12))


@pytest.mark.parametrize(
    ("reply", "verdict"),
    [
        ("A", 1.0), ("b", -1.0), (" first ", 1.0), ("second.", -1.0), ("Tie", 0.0),
        ("[[A]]", 1.0), ("Both are good, B is better.\n\n[[B]]", -1.0), ("[[C]]", 0.0),
        ("[[A>>B]]", 1.0), ("A>B", 0.5), ("[[A=B]]", 0.0), ("B > A", -0.5), ("[[B>>A]]", -1.0),
        ("[[A]] … so again: [[A]]", 1.0), ('{"verdict": "B"}', -1.0), ({"winner": "tie"}, 0.0),
        ('```json\n{"why": "x", "preference": "A"}\n```', 1.0), ('{"verdict": 0.5}', 0.5),
        (True, 1.0), (False, -1.0), (np.bool_(True), 1.0), (-0.25, -0.25), (1, 1.0),
    ],
)  # fmt: skip
def test_verdicts_that_say_one_thing(reply: object, verdict: float) -> None:
    assert read_verdict(reply) == verdict


@pytest.mark.parametrize(
    "reply",
    [
        "", "C", "A or B", "I prefer A.", "[[A]] or rather [[B]]", "1", "2", "AB", "not A", "[[]]",
        '{"verdict": "A", "winner": "B"}', '{"verdict": ["A"]}', '{"verdict": "A"', '["A"]',
        "{}", None, 2, float("nan"), ["A"], '{"score": 1}',
    ],
)  # fmt: skip
def test_what_is_no_verdict_is_refused(reply: object) -> None:
    with pytest.raises(eh.InputError, match="verdict"):
        read_verdict(reply)


@pytest.mark.parametrize(
    ("reply", "score"),
    [
        (7, 7.0), ("7", 7.0), ("7.5", 7.5), (".5", 0.5), ("7/10", 7.0), ("7 out of 10.", 7.0),
        ("Score: 7", 7.0), ("rating = 7/10", 7.0), ("Good. Rating: [[7]]", 7.0),
        ('{"score": 7, "why": "8 words"}', 7.0), ('{"rating": "7/10"}', 7.0),
    ],
)  # fmt: skip
def test_scores_that_say_one_thing(reply: object, score: float) -> None:
    assert read_score(reply, scale=(0, 10)) == score


@pytest.mark.parametrize(
    "reply",
    [
        "", "seven", "7 of 8 criteria", "7 or 8", "[[7]] [[8]]", "7/5", "11", "-1", 11, True,
        None, float("inf"), "nan", '{"score": 7, "rating": 8}', '{"score": true}', "1e1",
    ],
)  # fmt: skip
def test_what_is_no_score_is_refused(reply: object) -> None:
    with pytest.raises(eh.InputError):
        read_score(reply, scale=(0, 10))


def test_out_of_how_many_has_to_be_known() -> None:
    with pytest.raises(eh.InputError, match=r"say scale=\(lowest, 10\)"):
        read_score("7/10")


def test_a_judge_is_asked_again_and_then_given_up() -> None:
    replies = iter([ConnectionError("busy"), "well…", "A"])
    asked: list[tuple[str, ...]] = []

    def call(*shown: str) -> str:
        asked.append(shown)
        reply = next(replies)
        if isinstance(reply, Exception):
            raise reply
        return reply

    reply = Judge(call, retries=2, wait=0.0, price=0.5).ask(("x", "y"), read_verdict)
    assert (reply.score, reply.said) == (1.0, "A")
    assert reply.cost == 1.0  # the one that could not be read has to be paid, too
    assert asked == [("x", "y")] * 3
    never = Judge(lambda *shown: "hm", name="P", retries=1, wait=0.0)
    with pytest.raises(
        eh.EvenhandError, match="P gave no verdict in 2 attempts, last with: no verdict"
    ):
        never.ask(("x", "y"), read_verdict)


def test_waits_double_up_to_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    with pytest.raises(eh.EvenhandError, match="9 attempts"):
        Judge(lambda text: "?", name="P", retries=8, wait=1.0).ask(("x",), read_score)
    assert waits == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]


def test_a_judge_who_left_is_not_asked_again() -> None:
    calls: list[str] = []

    def gone(text: str) -> float:
        calls.append(text)
        raise eh.AbsentError("ill")

    rng = np.random.default_rng(0)
    options = {"a": "1", "b": "3"}
    here = [Judge(lambda text: float(text) + 0.1 * rng.normal(), name=name) for name in "PQ"]
    answer = panel(options, [*here, Judge(gone, wait=0.0)]).choose()
    assert answer.label == "b"
    assert answer.sure
    assert len(calls) == 1


def test_unreadable_replies_become_failures_and_no_guesses() -> None:
    def call(text: str) -> str:
        return "7" if text == "good" else "no comment"

    made = panel({"one": "good", "other": "bad"}, [Judge(call, retries=1, wait=0.0)])
    answer = made.choose()
    assert not answer.sure
    assert {failure.question.label for failure in answer.failures} == {"other"}
    assert all(failure.attempts == 1 for failure in answer.failures)  # the judge had its own
    assert set(made.record()["option"]) == {"one"}


def echo(kept: list[tuple[str, ...]]) -> Judge:
    def call(*shown: str) -> float:
        kept.append(shown)
        return 0.0

    return Judge(call, name="echo", once=False)


def by_item(*options: str) -> dict[str, dict[str, str]]:
    return {option: {item: f"{option} on {item}" for item in ITEMS} for option in options}


def test_texts_of_the_same_item_are_shown_in_the_order_of_the_question() -> None:
    kept: list[tuple[str, ...]] = []
    made = comparisons(by_item("a", "b", "c"), [echo(kept)])
    made.choose(at_most=200)
    for first, second, item in kept:
        a, b = (text.split(" on ") for text in (first, second))
        assert a[1] == b[1] == item
        assert a[0] != b[0]
    frame = made.record()
    rows = zip(frame["option"], frame["rival"], frame["item"], strict=True)
    assert [(f"{a} on {i}", f"{b} on {i}", i) for a, b, i in rows] == kept


def test_items_are_drawn_alike_and_by_the_seed_alone() -> None:
    kept: list[tuple[str, ...]] = []
    options = by_item("a", "b")

    def drawn(seed: int, numbers: Any) -> list[str]:
        made = comparisons(options, [echo(kept)], seed=seed)
        kept.clear()
        for number in numbers:
            made.evaluate(eh.Question(0, "a against b", number, "echo", (0, 1), ("a", "b")))
        return [item for *_, item in kept]

    n = 6000
    there = drawn(0, range(1, n + 1))
    assert drawn(0, range(n, 0, -1)) == there[::-1]  # whatever comes back first
    assert drawn(1, range(1, n + 1)) != there
    expected = n / len(ITEMS)
    chi2 = sum((Counter(there)[item] - expected) ** 2 / expected for item in ITEMS)
    assert chi2 < 31.3  # 99.9% of χ² with 11 degrees of freedom


def test_people_have_one_answer_for_each_item() -> None:
    """Labels are drawn without repetition, also when some calls fail and several run at once."""
    labels = {(o, i): float(n) for n, (o, i) in enumerate((o, i) for o in "ab" for i in ITEMS)}
    failed: set[tuple[str, str]] = set()
    used: Counter[tuple[str, str]] = Counter()
    lock = threading.Lock()

    def label(text: str, item: str) -> float:
        key = text.split(maxsplit=1)[0], item
        with lock:
            if item in ITEMS[:3] and key not in failed:
                failed.add(key)
                raise ConnectionError("busy")
            used[key] += 1
        return labels[key] % 5.0

    made = panel(by_item("a", "b"), [Judge(label, name="people", once=True, retries=0, wait=0.0)])
    assert made.questions.capacity.tolist() == [len(ITEMS)] * 2
    made.choose(parallel=4)
    assert len(failed) == 6
    assert set(used.values()) == {1}
    assert failed & set(used)  # what failed comes again; the last of one option settle nothing


def test_a_judge_of_some_items_is_asked_about_these() -> None:
    kept: list[tuple[str, ...]] = []
    options = by_item("a", "b")
    some = Judge(echo(kept).call, name="some", items=ITEMS[:2], once=True)
    made = panel(options, [some, Judge(lambda text, item: 1.0, name="all")])
    assert made.questions.capacity.tolist() == [2, UNLIMITED] * 2
    made.choose(at_most=100)
    assert {item for _, item in kept} <= set(ITEMS[:2])
    with pytest.raises(eh.InputError, match="some has items of its own, but 'q99'"):
        panel(options, [Judge(lambda *shown: 1.0, name="some", items=["q99"])])


def biased(rng: np.random.Generator, worth: dict[str, float], own: str, first: float) -> Any:
    """Return a judge whose biases are known; what it says is linear in them."""

    def call(one: str, other: str, item: str) -> float:
        a, b = one.split("|", maxsplit=1)[0], other.split("|", maxsplit=1)[0]
        lead = worth[a] - worth[b] + first + 0.2 * ((a == own) - (b == own))
        return float(np.clip(lead + 0.2 * rng.normal(), -1.0, 1.0))

    return call


@pytest.mark.parametrize("parallel", [1, 4])
def test_the_best_is_found_and_favours_and_positions_are_told(parallel: int) -> None:
    rng = np.random.default_rng(5)
    worth = {"alpha": 0.1, "beta": 0.0, "gamma": 0.3, "delta": -0.1}
    options = {o: {i: f"{o}|{i}" for i in ITEMS} for o in worth}
    made = comparisons(
        options,
        [
            Judge(biased(rng, worth, "alpha", 0.1), name="P", family="A", price=0.1),
            Judge(biased(rng, worth, "beta", 0.05), name="Q", family="B", price=0.1),
            Judge(biased(rng, worth, "", 0.0), name="human", price=2.0),
        ],
        family={"alpha": "A", "beta": "B"},
    )
    # Which thread draws which noise is chance, and of a hundred draws some raise a false alarm.
    answer = made.choose(at_most=4000, parallel=parallel, checks=parallel == 1)
    assert (answer.label, answer.sure) == ("gamma", True)
    truth = {
        "own family of P": 0.2, "own family of Q": 0.2,
        "first by P": 0.1, "first by Q": 0.05, "first by human": 0.0,
    }  # fmt: skip
    told = {bias.name: bias for bias in answer.biases}
    assert set(told) == set(truth)
    assert all(told[name].low <= truth[name] <= told[name].high for name in truth)
    frame = made.record()
    prices = frame["evaluator"].map({"P": 0.1, "Q": 0.1, "human": 2.0}).sum()
    assert answer.spent <= len(frame)  # some may have been on their way when it was sure
    assert parallel > 1 or frame["cost"].sum() == pytest.approx(answer.paid)
    assert frame["cost"].sum() == pytest.approx(prices)


def test_an_audit_of_the_record_tells_what_length_adds() -> None:
    rng = np.random.default_rng(3)
    options = {o: {i: "x" * int(rng.integers(1, 500)) for i in ITEMS} for o in "abc"}

    def call(first: str, second: str, item: str) -> float:
        return float(np.clip(0.001 * (len(first) - len(second)) + 0.2 * rng.normal(), -1.0, 1.0))

    made = comparisons(options, [Judge(call, name=name) for name in "PQ"], length=len)
    made.choose(policy=eh.search.PlannedChoice(made.questions, at_most=300))
    frame = made.record()
    for side, size in (("option", "length"), ("rival", "rival_length")):
        shown = [len(options[o][i]) for o, i in zip(frame[side], frame["item"], strict=True)]
        assert frame[size].tolist() == shown
    audit = eh.audit(frame, repeats=True, columns={"attributes": ["length"]})
    assert audit.attributes["length"].covers(0.001)
    assert not audit.attributes["length"].covers(0.0)


def test_the_price_may_depend_on_the_texts() -> None:
    options = {"a": {"q": "x" * 10, "r": "x" * 30}, "b": {"q": "y", "r": "y"}}
    judge = Judge(lambda *s: 0.0, name="P", price=lambda text, item: 0.01 * len(text))
    assert panel(options, [judge]).questions.prices.tolist() == pytest.approx([0.2, 0.01])
    with pytest.raises(eh.InputError, match="a price by text needs the texts beforehand"):
        panel({"a": str, "b": str}, [judge], items=["q"])


def test_a_run_that_is_repeated_costs_nothing(tmp_path: Path) -> None:
    calls = 0
    rng = np.random.default_rng(0)

    def model(first: str, second: str, item: str) -> float:
        nonlocal calls
        calls += 1
        return float(np.clip(0.4 * (first < second) + 0.2 * rng.normal(), -1.0, 1.0))

    options, found = by_item("a", "b", "c"), []
    for _ in range(2):
        with shelve.open(str(tmp_path / "verdicts")) as cache:
            made = comparisons(options, [Judge(model)], cache=cache)
            found.append((str(made.choose()), calls))
    assert found[0] == found[1]
    # no verdict counts as two: what is shown twice was asked for twice
    frame = made.record()
    assert len(frame) == calls
    assert frame.duplicated(["option", "rival", "item"]).any()


def test_async_judges_and_others_work_together() -> None:
    async def awaited(text: str) -> str:
        await asyncio.sleep(0.0)
        return text

    made = panel({"a": "1", "b": "5"}, [Judge(awaited), Judge(lambda text: text, name="plain")])
    answer = made.choose(parallel=3, at_most=60)
    assert answer.label == "b"
    assert set(made.record()["evaluator"]) == {"awaited", "plain"}


def test_families_come_from_a_mapping_or_a_function() -> None:
    options = {"gpt": "x", "claude": "y", "mine": "z"}

    def maker(name: str) -> str | None:
        return {"g": "O", "c": "A"}.get(name[0])

    judges = [Judge(lambda *s: 0.0, name="gpt judge"), Judge(lambda *s: 0.0, name="people")]
    by_name = comparisons(options, judges, family=maker).questions
    assert by_name.options.groups == ("O", "A", None)
    assert by_name.evaluator_groups == ("O", None)
    made = comparisons(options, judges, family=maker)
    made.choose(at_most=20)
    frame = made.record()
    assert set(zip(frame["evaluator"], frame["evaluator_group"].fillna(""), strict=True)) == {
        ("gpt judge", "O"),
        ("people", ""),
    }
    own = [Judge(lambda *s: 0.0, name="gpt judge", family="O"), judges[1]]
    assert comparisons(options, own, family={"gpt": "O", "claude": "A"}).questions == by_name


@pytest.mark.parametrize(("options", "settings", "said"), [
    (["a", "b"], {}, "options must map names to texts"),
    ({"a": "x", "b": 3}, {}, "the option 'b' must be a text"),
    ({"a": {"q": "x"}, "b": {"r": "y"}}, {}, "the option 'b' has no text for 'q'"),
    ({"a": str, "b": str}, {}, "there are no items"),
    ({"a": {"q": "x"}, "b": "y"}, {"items": "q"}, "items must be several names"),
    ({"a": "x", "b": "y"}, {"family": {"c": "C"}}, "'c' is no option"),
    ({"a": "x"}, {}, "one option only"),
])  # fmt: skip
def test_what_is_wrong_is_named(options: Any, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(eh.InputError, match=said):
        comparisons(options, [Judge(lambda *s: 0.0, name="P")], **settings)


@pytest.mark.parametrize("settings", [
    {"call": "gpt"}, {"name": ""}, {"retries": -1}, {"wait": -1.0}, {"price": 0.0}, {"items": "q"},
])  # fmt: skip
def test_a_judge_is_checked(settings: dict[str, Any]) -> None:
    (name,) = settings
    with pytest.raises(eh.InputError, match=f"{name} must"):
        Judge(**({"call": lambda text: 0.0, "name": "P"} | settings))


def test_judges_are_several_with_names() -> None:
    options = {"a": "x", "b": "y"}
    one = Judge(lambda *s: 0.0, name="P")
    with pytest.raises(eh.InputError, match="'P' names two judges"):
        comparisons(options, [one, one])
    with pytest.raises(eh.InputError, match="judges must be made by Judge"):
        comparisons(options, [lambda *s: 0.0])  # type: ignore[list-item]
    with pytest.raises(eh.InputError, match="judges is empty"):
        comparisons(options, [])


class Response:
    """As clients return it: a text, and how many tokens it took."""

    def __init__(self, text: str, tokens: int) -> None:
        self.text, self.tokens = text, tokens


def test_what_a_reply_really_cost_is_paid_and_planned_prices_are_not() -> None:
    rng = np.random.default_rng(0)
    costs: list[float] = []

    def model(text: str) -> Response:
        tokens = int(rng.integers(100, 900))
        costs.append(1e-4 * tokens)
        return Response(f"{float(text) + rng.normal():.3f}", tokens)

    judge = Judge(
        model, price=0.01, parse=lambda said: said.text, cost=lambda said: 1e-4 * said.tokens
    )
    made = panel({"a": "1", "b": "3"}, [judge])
    answer = made.choose()
    assert answer.paid == pytest.approx(sum(costs))
    assert made.record()["cost"].sum() == pytest.approx(sum(costs))
    assert f"for {answer.paid:.3g}" in str(answer)
    # a budget pays what it really costs: it ends when the next would be too much by its price
    costs.clear()
    tight = panel({"a": "1", "b": "1.6"}, [judge]).choose(budget=2.0)
    assert tight.paid == pytest.approx(sum(costs))
    assert 1.8 < tight.paid < 2.0 + max(costs)


def test_replies_that_cannot_be_read_are_paid_too() -> None:
    rng = np.random.default_rng(3)
    calls = 0

    def model(text: str) -> Reply:
        nonlocal calls
        calls += 1
        said = "hm" if rng.random() < 0.4 else f"{float(text) + rng.normal():.3f}"
        return Reply(said, cost=0.25)

    made = panel({"a": "1", "b": "2"}, [Judge(model, retries=0, wait=0.0, once=False)])
    answer = made.choose(at_most=60)
    assert answer.paid == 0.25 * calls > 0.25 * answer.spent


def test_a_cost_is_a_number() -> None:
    with pytest.raises(eh.InputError, match="the cost of a reply must be a number ≥ 0"):
        Reply(1.0, cost=-0.5)
    made = panel({"a": "1", "b": "2"}, [Judge(lambda text: 1.0, name="P", cost=lambda said: "x",
                                              retries=0, wait=0.0)])  # fmt: skip
    assert "the cost of a reply" in made.choose().failures[0].error


def opinions(seed: int, n: int, digits: int) -> list[Judge]:
    """Return judges who think something of each option for good, where all are equally good."""
    rng = np.random.default_rng(seed)

    def judge(name: str) -> Judge:
        likes = {option: round(5.0 + rng.normal(), digits) for option in "abc"}
        return Judge(lambda text: likes[text], name=name, once=True)

    return [judge(f"judge {j}") for j in range(n)]


@pytest.mark.parametrize("digits", [3, 0])
@pytest.mark.parametrize("drawn", [False, True])
def test_what_is_repeated_is_no_evidence(digits: int, drawn: bool) -> None:
    """Judges with one answer each about options that are alike, beside one who draws anew."""
    sure = 0
    rng = np.random.default_rng(0)
    for seed in range(20):
        options, jury = {o: o for o in "abc"}, opinions(seed, 3, digits)
        if drawn:
            jury[2] = Judge(
                lambda text, last=jury[2]: last.call(text) + 0.5 * rng.normal(), name="Z"
            )
        answer = panel(options, jury).choose()
        sure += answer.sure
        assert any(one.assumption == "once" for one in answer.warnings) == drawn
        assert answer.spent <= 9
    assert sure <= 3  # at a level of 5%


def test_a_temperature_of_zero_says_once() -> None:
    assert Judge(lambda text: 1.0, name="P", settings={"temperature": 0}).once is True
    assert Judge(lambda text: 1.0, name="P", settings={"temperature": 0.7}).once is None
    sampled = Judge(lambda text: 1.0, name="P", settings={"temperature": 0}, once=False)
    assert sampled.once is False


TASKS = tuple(f"t{i}" for i in range(40))


def hard_tasks(seed: int, gap: float = 0.5) -> tuple[dict[str, dict[str, str]], list[Judge]]:
    rng = np.random.default_rng(seed)
    easy = {task: 3.0 * rng.normal() for task in TASKS}
    options = {o: {task: f"{o} {task}" for task in TASKS} for o in "abc"}

    asked: Counter[tuple[str, str]] = Counter()

    def judge(name: str) -> Judge:
        def call(text: str, task: str) -> float:
            asked[name, text] += 1  # the same noise in whichever order threads ask
            own = np.random.default_rng([seed, asked[name, text], *f"{name}{text}".encode()])
            return float(easy[task] - gap * "abc".index(text[0]) + 0.3 * own.normal())

        return Judge(call, name=name)

    return options, [judge("P"), judge("Q")]


def test_all_options_have_the_same_items_and_items_cancel_out() -> None:
    options, jury = hard_tasks(0)
    made = panel(options, jury)
    answer = made.choose()
    assert (answer.label, answer.sure, answer.spent) == ("a", True, 240)
    assert answer.scope == "these judges, items like these"
    items = (
        made.record().groupby(["option", "evaluator"])["item"].agg(lambda some: tuple(sorted(some)))
    )
    assert set(items) == {tuple(sorted(TASKS))}
    searched = panel(options, hard_tasks(0)[1]).choose(design="search", at_most=240)
    assert not searched.sure  # the same scores, where items are noise of sd 3 against leads of .5


def test_money_and_numbers_limit_the_items() -> None:
    options, jury = hard_tasks(1)
    made = panel(options, [replace(judge, price=0.5) for judge in jury])
    answer = made.choose(budget=75.0)
    assert (answer.paid, answer.spent) == (75.0, 150)
    counts = made.record().groupby("item").size()
    assert (len(counts), set(counts)) == (25, {6})
    assert panel(options, jury).choose(at_most=125).spent == 120  # 20 items of six questions
    with pytest.raises(eh.InputError, match="20 items that all judges can be asked about"):
        panel(options, jury).choose(at_most=119, design="paired")
    assert panel(options, jury).choose(at_most=119).spent <= 119  # a search


def test_options_that_are_alike_are_not_sure() -> None:
    sure = sum(panel(*hard_tasks(seed, gap=0.0)).choose().sure for seed in range(20))
    assert sure <= 3


def test_an_interrupted_design_says_nothing_is_sure() -> None:
    options, jury = hard_tasks(2)
    calls = 0

    def call(text: str, task: str) -> float:
        nonlocal calls
        calls += 1
        if calls > 100:
            raise KeyboardInterrupt
        return float(jury[0].call(text, task))

    answer = panel(options, [Judge(call, name="P"), jury[1]]).choose()
    assert answer.stopped_because == "it was interrupted"
    assert not answer.sure


def test_several_best_and_a_tolerance_go_by_items_too() -> None:
    options, jury = hard_tasks(3)
    answer = panel(options, jury).choose(top=2)
    assert (set(answer.chosen), answer.sure) == ({"a", "b"}, True)
    near = panel(*hard_tasks(4, gap=0.01)).choose(tolerance=0.5)
    assert near.sure
    with pytest.raises(eh.InputError, match="compares two options on one item already"):
        comparisons(options, [Judge(lambda *s: 0.0, name="P")]).choose(design="paired")
