"""What audits say, word by word, in every case."""

from __future__ import annotations

import json
import math
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.auditing import words
from evenhand.auditing.bias import BiasEstimate
from evenhand.auditing.effects import two_way
from evenhand.auditing.individual_biases import BiasSpread, Spreads
from evenhand.auditing.pairs import PairEffect
from evenhand.auditing.placebo import Placebo
from evenhand.checks import Finding
from evenhand.scores import Factor, Scores

NAMES = ("one", "two", "three")
LOUD = 0.5  # scores of the small panel scatter by about this


def panel(
    *, stated: np.ndarray | None = None, events: int = 1, favour: float = 0.0, gap: float = 3.0
) -> Scores:
    """Return three options and three evaluators; P is partial to Ann, Q to Bo, R to nobody."""
    rng = np.random.default_rng(0)
    event, option, evaluator = (codes.ravel() for codes in np.indices((events, 3, 3)))
    own = stated if stated is not None else (option == evaluator) & (option < 2)
    groups = {} if stated is not None else {
        "groups": ("FRA", "ITA", "SWE", "USA"),
        "option_group": np.array([0, 1, 3], dtype=np.int32),
        "evaluator_group": np.array([0, 1, 2], dtype=np.int32),
    }  # fmt: skip
    return Scores(
        9.0 - gap * option + favour * own + LOUD * rng.normal(size=len(option)),
        Factor(option.astype(np.int32), ("Ann", "Bo", "Cy")),
        Factor(evaluator.astype(np.int32), ("P", "Q", "R")),
        event=None if events == 1 else Factor(event.astype(np.int32), NAMES[:events]),
        stated=stated,
        called={} if stated is None else {"partial": "home"},
        **groups,
    )  # fmt: skip


def audit_of(scores: Scores, value: float, low: float, high: float, **known: object) -> eh.Audit:
    """Return an audit with a bias that is given, and other parts that are."""
    effects = two_way(scores)
    bias = BiasEstimate(value, low, high, 0.95, (high - low) / 4.0, 20.0)
    naive = BiasEstimate(value, low / 2 + value / 2, high / 2 + value / 2, 0.95, 0.1, 90.0)
    audit = eh.Audit(effects, bias, naive)
    audit.__dict__.update(known)
    return audit


@pytest.mark.parametrize(
    ("value", "low", "high", "said"),
    [
        (
            2.004,
            1.46,
            2.55,
            "Yes: evaluators add 2.00 points (1.46 to 2.55, 95% sure) to their own group. Ann wins "
            "by these scores with it and without it.",
        ),
        (
            -2.004,
            -2.55,
            -1.46,
            "Yes: evaluators take 2.00 points (1.46 to 2.55, 95% sure) off their own group. Ann "
            "wins by these scores with it and without it.",
        ),
        (
            0.02,
            -0.21,
            0.25,
            "No bias is shown: what evaluators add to their own group may be anything from −0.21 "
            "to 0.25 points; more than 0.25 is excluded (95% sure).",
        ),
        (
            1.0,
            -4.0,
            6.0,
            "These scores can't tell whether there is a bias: what evaluators add to their own "
            "group is between −4.0 and 6.0 points (95% sure), and that is wider than single scores "
            "scatter.",
        ),
        (
            1.0,
            -math.inf,
            math.inf,
            "These scores can't tell: by estimate evaluators add 1 point to their own group, but "
            "too few scores are left to say how far off that is.",
        ),
        (
            1.5,
            1.5,
            1.5,
            "Yes: evaluators add 1.5 points to their own group, without any noise. Ann wins by "
            "these scores with it and without it.",
        ),
        (
            0.0,
            0.0,
            0.0,
            "No bias is seen: what evaluators add to their own group is nothing at all.",
        ),
    ],
)
def test_the_verdict(value: float, low: float, high: float, said: str) -> None:
    assert words.verdict(audit_of(panel(favour=value), value, low, high)) == said


@pytest.mark.parametrize(
    ("partial", "where"),
    [
        ([1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0], "where home is 1"),
        ([0.5, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0], "for every 1 of home"),
    ],
)
def test_stated_partiality_is_spoken_of_by_its_column(partial: list[float], where: str) -> None:
    scores = panel(stated=np.array(partial))
    assert words.verdict(audit_of(scores, 1.0, 0.5, 1.5)).startswith(
        f"Yes: evaluators add 1.00 points (0.50 to 1.50, 95% sure) {where}. "
    )
    assert words.verdict(audit_of(scores, -1.0, -1.5, -0.5)).startswith(
        f"Yes: evaluators take off 1.00 points (0.50 to 1.50, 95% sure) {where}. "
    )
    assert words.verdict(audit_of(scores, 0.0, -0.1, 0.1)) == (
        f"No bias is shown: what evaluators add {where} may be anything from −0.10 to 0.10 points; "
        "more than 0.10 is excluded (95% sure)."
    )


def test_one_evaluator_is_told_whom_to_ask() -> None:
    frame = pd.DataFrame(
        {
            "option": ["Ann", "Bo"],
            "evaluator": ["P", "P"],
            "score": [7.0, 5.0],
            "option_group": ["FRA", "ITA"],
            "evaluator_group": ["FRA", "FRA"],
        }
    )
    said = str(eh.audit(frame))
    assert said.startswith(
        "These scores can't tell whether there is a bias. There is one evaluator"
    )
    assert "Ask a new evaluator" in said


def small(rows: dict[str, list[float]], home: list[tuple[str, str]], loud: float) -> Scores:
    """Return scores of options by evaluators P, Q, …, NaN for none; ``home``: who is partial."""
    rng = np.random.default_rng(2)
    cells = [
        (option, "PQRSTU"[i], score + loud * rng.normal())
        for option, scores in rows.items()
        for i, score in enumerate(scores)
        if not math.isnan(score)
    ]
    return Scores(
        np.array([score for _, _, score in cells]),
        Factor.of([option for option, _, _ in cells]),
        Factor.of([who for _, who, _ in cells]),
        stated=np.array([float((option, who) in home) for option, who, _ in cells]),
        called={"partial": "home"},
    )


def test_a_winner_whom_the_bias_makes_is_named() -> None:
    # P gives Ann 4 more: by the mean she leads by 1/6, and without it she is 1/2 behind
    def said(loud: float, low: float = 3.8, high: float = 4.2) -> str:
        rows = {"Ann": [11.0] + [7.0] * 5, "Bo": [7.5] * 6}
        return words.decided(audit_of(small(rows, [("Ann", "P")], loud), 4.0, low, high))

    changed = "With it taken off, Bo wins by the mean of these scores, not Ann"
    assert said(0.01) == f"{changed}, by more than noise."
    assert said(0.01, 0.9, 4.2) == f"{changed}, but not at every plausible bias."
    assert said(0.5) == f"{changed}, but not by more than noise."
    lenient = small({"Ann": [11.0] + [7.0] * 5, "Bo": [6.5] * 6}, [("Ann", "P")], 0.3)
    assert words.decided(audit_of(lenient, 4.0, 3.8, 4.2)) == (
        "Ann wins by these scores with it and without it, but not by more than noise."
    )


def test_what_leniency_changes_is_not_put_down_to_the_bias() -> None:
    # P and Q give 4 more to everybody; they scored Ann, others scored Bo; nobody is partial to them
    no = math.nan
    rows = {
        "Ann": [9.0, 9.0, no, no],
        "Bo": [no, no, 6.0, 6.0],
        "Cy": [9.0, 8.0, 4.0, 4.0],
        "Di": [7.0, 7.0, 3.0, 3.0],
    }
    home = [("Cy", "P")]

    def said(loud: float) -> str:
        return words.decided(audit_of(small(rows, home, loud), 1.0, 0.9, 1.1))

    lenient = (
        "Ann wins by these scores with it and without it. With leniency taken off as well, Bo leads"
    )
    assert said(0.01) == f"{lenient}, by more than noise."
    assert said(0.4) == f"{lenient}, but not by more than noise."
    # with a favour of 6 for Ann by P, it takes both: Bo is 1 behind by the mean with the bias off,
    # and 2 behind by levels with it on
    both = {**rows, "Ann": [15.0, 9.0, no, no], "Cy": [8.0, 8.0, 4.0, 4.0]}
    assert words.decided(audit_of(small(both, [("Ann", "P")], 0.01), 6.0, 5.9, 6.1)) == (
        "Ann wins by these scores with it and without it. With leniency taken off as well, Bo "
        "leads, by more than noise."
    )


def test_a_tie_by_the_mean_is_named() -> None:
    rows = {"Ann": [10.0, 6.0, 8.0], "Bo": [6.0, 10.0, 8.0], "Cy": [7.9, 7.9, 7.9]}
    for_both = small(rows, [("Ann", "P"), ("Bo", "Q")], 0.0)
    assert words.decided(audit_of(for_both, 4.0, 3.9, 4.1)).startswith(
        "With it taken off, Cy wins by the mean of these scores, not Ann and Bo, who tie"
    )
    for_one = small(rows, [("Ann", "P")], 0.0)
    assert words.decided(audit_of(for_one, 4.0, 3.9, 4.1)).startswith(
        "By the mean of these scores Ann and Bo tie; with it taken off, Bo is ahead"
    )


def test_many_events_are_counted() -> None:
    audit = audit_of(panel(events=3), 0.1, 0.05, 0.15)
    assert words.decided(audit) == "By the mean of these scores it changes no winner of 3 events."
    assert words.flips(audit) == (
        "Winners that change, of 3: with the bias taken off, 0. With leniency taken off as well, 0."
    )
    assert words.fragile(audit) == "Of 3 winners, 3 safe."
    for_bo = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0], 3)  # by P, a third of the mean
    scores = panel(events=3, stated=for_bo, favour=12.0)
    huge = audit_of(scores, 12.0, 11.9, 12.1)
    assert words.decided(huge) == (
        "By the mean of these scores it changes the winner at 3 of 3 events, for sure."
    )
    assert words.fragile(huge) == (
        "Of 3 winners, 3 wrong (another is better at every plausible bias, by more than noise)."
    )
    unsure = audit_of(scores, 12.0, 0.1, 24.0)
    assert words.decided(unsure) == (
        "By the mean of these scores it changes the winner at 3 of 3 events, none for sure."
    )
    assert words.fragile(unsure) == (
        "Of 3 winners, 3 fragile (the lead is within noise, or hangs on the bias)."
    )


def spread_of(sd: float, low: float, high: float) -> BiasSpread:
    return BiasSpread(12, 1.0, 0.8, 1.2, sd, low, high, 0.95, 0.01)


def test_naive_placebo_spread_and_pairs() -> None:
    bias = BiasEstimate(2.0, 1.5, 2.5, 0.95, 0.25, 20.0, {"evaluators": 9, "options": 12})
    audit = eh.Audit(two_way(panel()), bias, BiasEstimate(2.0, 1.7, 2.3, 0.95, 0.15, 90.0))
    assert words.naive(audit) == (
        "As if all scores were independent it would be 1.70 to 2.30. The interval is "
        "cluster-robust, for 9 evaluators and 12 options who come back."
    )
    only = BiasEstimate(2.0, 1.5, 2.5, 0.95, 0.25, 20.0, {"options": 12}, ("evaluators",))
    assert words.naive(eh.Audit(audit.effects, only, audit.naive)).endswith(
        "12 options who come back. It is about these evaluators only: how others would be does not "
        "show."
    )
    draws = np.tile([-1.0, 1.0], 50)
    audit.__dict__["placebo"] = Placebo(5.0, draws)
    assert words.placebo(audit) == (
        "With groups dealt out to evaluators at random (100 times) the bias scatters by 1.01; the "
        "true one is 4.97 times that far off."
    )
    audit.__dict__["placebo"] = Placebo(5.0, np.zeros(0), "all evaluators are of one group")
    assert words.placebo(audit) == ""
    audit.__dict__["spread"] = Spreads(spread_of(1.25, -0.5, 4.5), spread_of(0.5, 1.0, 3.0))
    assert words.spread(audit) == (
        "Not everybody's is the same: that of another evaluator lies between −0.5 and 4.5 (sd "
        "among 12 evaluators 1.25); that of another group lies between 1.0 and 3.0 (sd among 12 "
        "groups 0.5); 95% sure."
    )
    audit.__dict__["spread"] = Spreads(*[spread_of(0.0, -0.5, 4.5)] * 2)
    assert words.spread(audit) == ""
    audit.__dict__["pair"] = PairEffect(1.5, 2.5, 1234)
    assert words.pairs(audit) == (
        "Evaluators' lasting likings for single options have a standard deviation of 1.5, other "
        "noise 2.5 (variance components, from 1,234 pairs with several scores)."
    )
    audit.__dict__["pair"] = PairEffect(math.nan, math.nan, 0)
    assert words.pairs(audit) == ""


def test_who_stands_out() -> None:
    def who(flagged: list[bool], sd: float = 1.0) -> str:
        n = len(flagged)
        frame = pd.DataFrame(
            {
                "evaluator": [f"e{i}" for i in range(n)],
                "own": [3] * n,
                "shrunk": [1.0 + i if i % 2 else -2.0 - i for i in range(n)],
                "flagged": flagged,
            }
        )
        each = SimpleNamespace(frame=frame, spread=spread_of(sd, 0.0, 1.0))
        return words.who(audit_of(panel(), 1.0, 0.5, 1.5, _of_evaluators=each))

    assert who([False, False]) == (
        "Nobody of 2 evaluators with partial scores can be named: single biases are within noise."
    )
    assert who([False, True]) == (
        "1 of 2 evaluators with partial scores stands out (at most 5% of these by chance): e1 "
        "(+2), shrunken to the mean."
    )
    assert who([True] * 5, math.nan) == (
        "5 of 5 evaluators with partial scores stand out (at most 5% of these by chance): e4 (−6), "
        "e2 (−4), e3 (+4) and 2 more."
    )
    assert who([]) == ""


def test_words_are_set_in_columns() -> None:
    notes = (
        Finding("a", "One  thing."),
        Finding("b", "Another.", alarm=False),
        Finding("c", "More.", alarm=False),
    )
    audit = audit_of(panel(), 1.0, 0.5, 1.5, warnings=notes, cannot_tell=("This.",))
    lines = str(audit).splitlines()
    assert lines[lines.index("") - 1].endswith("with it and without it.")
    assert lines[-4:] == [
        "WARNING         One thing.",
        "Note            Another.",
        "                More.",
        "No score tells  This.",
    ]
    assert max(map(len, lines)) <= 100


def test_what_no_score_can_tell_has_numbers() -> None:
    one = audit_of(panel(), 0.0, -0.1, 0.1)
    favour = one.decisions.tipping_favour[0]
    shared, own, asked = one.cannot_tell
    assert shared == (
        f"If all evaluators favoured FRA (the group of Ann) by more than {favour:.3g}, somebody "
        "else would be best. No score shows a favour that all evaluators share: it looks like "
        "worth."
    )
    assert own.startswith("What partial evaluators see in their own and nobody else does")
    assert asked.startswith("2 of 9 scores are by partial evaluators.")
    several = audit_of(panel(events=3), 0.0, -0.1, 0.1)
    favours = several.decisions.tipping_favour
    first = NAMES[int(np.argmin(favours))]
    assert several.cannot_tell[0] == (
        f"If all evaluators favoured the winner's group by {np.median(favours):.3g}, half of the "
        f"winners would change; the first of them, at {first}, if they favoured FRA (the group of "
        f"Ann) by {favours.min():.3g}. No score shows a favour that all evaluators share: it looks "
        "like worth."
    )


def duels(*, groups: bool) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    rows = [
        {
            "option": f"m{a}",
            "rival": f"m{b}",
            "evaluator": f"j{e}",
            "score": 0.2 * (a - b) + 0.5 + 0.05 * rng.normal(),
            "length": rng.random(),
            "rival_length": rng.random(),
        }
        for a in range(4)
        for b in range(4)
        for e in range(4)
        if a != b
    ]
    frame = pd.DataFrame(rows)
    if groups:
        for part, group in (
            ("option", "option_group"),
            ("rival", "rival_group"),
            ("evaluator", "evaluator_group"),
        ):
            frame[group] = "f" + (frame[part].str[1].astype(int) % 2).astype(str)
    return frame


def test_comparisons_speak_of_standing_first() -> None:
    audit = eh.audit(duels(groups=True))
    assert audit.position is not None
    assert audit.position.covers(0.5)
    (beside,) = [text for title, text in words.facts(audit) if title == "Beside it"]
    assert beside.startswith("Yes: standing first adds 0.")
    nobody = eh.audit(duels(groups=False), attributes=["length"])
    said = words.verdict(nobody)
    assert said.startswith("Yes: standing first adds 0.")
    assert "what every 1 of length adds is between" in said
    assert said.endswith("Nobody said who is partial to what.")


def test_the_record_is_json_with_stable_names() -> None:
    audit = eh.audit(duels(groups=True))
    record = json.loads(json.dumps(audit.to_dict(), allow_nan=False))
    names = (
        "verdict scores best options evaluators events bias here naive ranking position attributes "
        "placebo spread by_evaluator by_group pair influences flips decisions wanted warnings "
        "cannot_tell"
    )
    assert list(record) == names.split()
    assert record["verdict"] == words.verdict(audit)
    assert record["bias"]["value"] == pytest.approx(audit.bias.value)
    assert record["position"]["low"] < 0.5 < record["position"]["high"]
    assert len(record["by_evaluator"]) == record["evaluators"] == 4
    assert record["decisions"][0]["winner"] == "m3"
    one = eh.audit(duels(groups=False)).to_dict()
    assert one["bias"]["value"] is None
    assert one["bias"]["low"] is None
