"""What residuals are asked about: planted faults are found and named, by independent routes."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.auditing import two_way
from evenhand.checks import Finding
from evenhand.scores import Factor, Scores

OPTIONS, EVALUATORS, EVENTS = 24, 8, 3


def panel(seed: int = 0) -> tuple[Scores, dict[str, np.ndarray], np.random.Generator]:
    """Return a clean panel: every evaluator scores every option at every event."""
    rng = np.random.default_rng(seed)
    event, option, evaluator = (
        codes.ravel() for codes in np.indices((EVENTS, OPTIONS, EVALUATORS))
    )
    values, lenient = rng.normal(size=OPTIONS) * 2.0, rng.normal(size=EVALUATORS)
    own = (option % 4 == evaluator % 4).astype(float)
    scores = Scores(
        values[option] + lenient[evaluator] + own + rng.normal(size=len(option)),
        Factor.of([f"o{i}" for i in option]),
        Factor.of([f"e{i}" for i in evaluator]),
        event=Factor.of([f"v{i}" for i in event]),
        groups=tuple("abcd"),
        option_group=(np.arange(OPTIONS) % 4).astype(np.int32),
        evaluator_group=(np.arange(EVALUATORS) % 4).astype(np.int32),
    )
    parts = {"value": values[option], "own": own, "evaluator": evaluator, "event": event}
    return scores, parts, rng


def found_in(scores: Scores) -> list[Finding]:
    return list(eh.audit(scores).warnings)


def the(findings: list[Finding], assumption: str) -> Finding:
    (found,) = [finding for finding in findings if finding.assumption == assumption]
    return found


def test_nothing_is_found_in_clean_scores() -> None:
    assert found_in(panel()[0]) == []


def test_a_bias_that_rises_with_value_is_seen_at_both_ends() -> None:
    scores, parts, _ = panel()
    slope = 0.5 * parts["own"] * parts["value"]  # 1 + value/2: ends at the tenths of value
    found = the(found_in(replace(scores, score=scores.score + slope)), "slopes")
    assert not found.alarm
    assert found.p_value < 0.005


def test_an_evaluator_who_stretches_the_scale_is_named() -> None:
    scores, parts, _ = panel()
    wide = 0.6 * parts["value"] * (parts["evaluator"] == 3)
    found = the(found_in(replace(scores, score=scores.score + wide)), "slopes")
    assert "e3 by 1.5" in found.message  # 1.6 over a mean of 1.075
    assert found.p_value < 1e-6


def test_a_noisy_evaluator_is_named() -> None:
    scores, parts, rng = panel()
    loud = 3.0 * rng.normal(size=len(scores)) * (parts["evaluator"] == 5)
    found = the(found_in(replace(scores, score=scores.score + loud)), "noise")
    assert "e5" in found.message
    assert found.p_value < 1e-6


def test_noise_that_grows_with_value_is_seen() -> None:
    scores, parts, rng = panel(1)
    loud = rng.normal(size=len(scores)) * np.maximum(parts["value"] + 2.0, 0.0)
    found = the(found_in(replace(scores, score=scores.score + loud)), "noise")
    assert "better" in found.message


def test_a_drift_that_makes_the_bias_is_an_alarm() -> None:
    scores, parts, rng = panel()
    time = rng.random(len(scores)) + 2.0 * parts["own"]  # their own come last
    drifted = replace(scores, score=scores.score + 4.0 * time, time=time)
    found = the(found_in(drifted), "drift")
    assert found.alarm
    sd = float(time.std())
    slope = float(found.message.split("by ")[1].split()[0])
    assert slope == pytest.approx(4.0 * sd, rel=0.1)
    # what they say of the bias with the drift off is what dense least squares say
    last = time - time[parts["own"] == 1.0].mean()
    columns = [parts["own"], time, parts["own"] * last]
    columns += [(codes == i).astype(float) for codes, n in (scores.scored, scores.chairs)
                for i in range(n)]  # fmt: skip
    solved = np.linalg.lstsq(np.column_stack(columns), drifted.score, rcond=None)[0]
    said = float(found.message.split("the bias is ")[1].split()[0].rstrip("."))
    assert said == pytest.approx(solved[0], abs=0.01)


def test_a_bias_that_grows_with_time_is_seen() -> None:
    scores, parts, rng = panel()
    time = rng.random(len(scores))
    grown = replace(scores, score=scores.score + 6.0 * (time - 0.5) * parts["own"], time=time)
    assert "bias" in the(found_in(grown), "drift").message


def test_a_time_that_options_share_shows_no_drift() -> None:
    scores, _, _ = panel()
    # the same for all evaluators of an option: it looks like worth, and nobody can tell
    told = replace(scores, time=scores.scored[0].astype(float))
    assert not [finding for finding in found_in(told) if finding.assumption == "drift"]


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ((-9.0, 2.0), "the highest there is"),
        ((-9.0, 9.0), "and nobody gave more, though the scale goes to 9"),
        (None, "and nobody gave more"),
    ],
)
def test_scores_at_the_end_of_a_scale(stated: tuple[float, float] | None, said: str) -> None:
    scores, _, _ = panel()
    cut = replace(scores, score=np.minimum(scores.score, 2.0), scale=stated)
    share = (cut.score == 2.0).mean()
    found = the(found_in(cut), "ceiling").message
    assert found.startswith(f"{share:.0%} of all scores are 2, {said}:")
    plain = replace(scores, scale=(-99.0, 99.0))
    assert not [f for f in found_in(plain) if f.assumption in ("ceiling", "floor")]


def test_piled_up_scores_are_an_end_without_a_stated_scale() -> None:
    scores, _, _ = panel()
    cut = replace(scores, score=np.maximum(scores.score, -1.0))
    assert the(found_in(cut), "floor").message.split()[5] == "−1,"
    rounded = replace(scores, score=np.rint(scores.score))  # its ends are rare
    assert not [f for f in found_in(rounded) if f.assumption in ("floor", "ceiling")]


def test_two_valued_scores_have_no_ends_and_no_loud_evaluators() -> None:
    scores, _, _ = panel()
    votes = replace(scores, score=(scores.score > 0.0).astype(float))
    assert {f.assumption for f in found_in(votes)} <= {"slopes"}


def small_events(k: int, rng: np.random.Generator, pair: float) -> Scores:
    """Return 20 events of the same few options before six judges, all equally loud."""
    event, option, judge = (codes.ravel() for codes in np.indices((20, k, 6)))
    stays = pair * rng.normal(size=(k, 6))[option, judge]
    return Scores(
        stays + rng.normal(size=len(event)),
        Factor.of([f"o{i}" for i in option]),
        Factor.of([f"e{i}" for i in judge]),
        event=Factor.of([f"v{i}" for i in event]),
        stated=(option == judge % k).astype(float),
    )


@pytest.mark.parametrize(("k", "pair"), [(2, 0.0), (3, 0.0), (2, 0.6)])
def test_judges_of_two_or_three_options_are_seldom_called_loud(k: int, pair: float) -> None:
    rng = np.random.default_rng(5)
    found = [f.assumption for _ in range(60) for f in found_in(small_events(k, rng, pair))]
    assert found.count("noise") <= 2  # at 1% each, more than two of 60 have a chance of 2%


def test_rare_votes_are_seldom_called_unequal() -> None:
    rng = np.random.default_rng(6)
    scores, _, _ = panel()
    found = [
        f.assumption
        for _ in range(60)
        for f in found_in(replace(scores, score=(rng.random(len(scores)) < 0.02).astype(float)))
    ]
    assert found.count("slopes") <= 3


def test_a_typing_error_is_named() -> None:
    scores, _, _ = panel()
    typed = scores.score.copy()
    typed[100] += 400.0
    found = the(found_in(replace(scores, score=typed)), "outliers")
    option, evaluator = scores.option.names[scores.option.codes[100]], scores.evaluator
    assert evaluator is not None
    assert f"of {option} by {evaluator.names[evaluator.codes[100]]} is" in found.message


def test_a_bias_by_kind_of_event_is_that_of_these_events_alone() -> None:
    scores, parts, _ = panel()
    moved = replace(scores, score=scores.score + 3.0 * parts["own"] * (parts["event"] == 1))
    audit = eh.audit(moved)
    found = audit.by(parts["event"] == 1).set_index("kind")["bias"]
    for kind in (True, False):
        rows = (parts["event"] == 1) == kind
        assert found[str(kind)] == pytest.approx(two_way(_rows(moved, rows)).bias)
    with pytest.raises(eh.InputError, match="576"):
        audit.by(["a", "b"])


def _rows(scores: Scores, rows: np.ndarray) -> Scores:
    assert scores.evaluator is not None
    assert scores.event is not None
    return replace(
        scores,
        score=scores.score[rows],
        option=Factor(scores.option.codes[rows], scores.option.names),
        evaluator=Factor(scores.evaluator.codes[rows], scores.evaluator.names),
        event=Factor(scores.event.codes[rows], scores.event.names),
    )


@pytest.mark.parametrize("items", [False, True])
def test_pair_effects_are_told_from_noise(items: bool) -> None:
    pairs, noises = [], []
    for seed in range(6):
        scores, parts, rng = panel(seed)
        pair = parts["evaluator"] * OPTIONS + scores.option.codes
        stays = 1.5 * rng.normal(size=OPTIONS * EVALUATORS)[pair]
        scores = replace(scores, score=scores.score + stays)
        if items:  # one leniency over all: rows of a pair are mixed by it
            scores = replace(scores, item=scores.event, event=None)
        found = eh.audit(scores).pair
        assert found.pairs == OPTIONS * EVALUATORS
        pairs.append(found.pair)
        noises.append(found.noise)
    # sd of an estimated sd: about 1.5/√(2 · 161) and 1/√(2 · 320) each, over 6 seeds
    assert np.mean(pairs) == pytest.approx(1.5, abs=4 * 0.1 / math.sqrt(6))
    assert np.mean(noises) == pytest.approx(1.0, abs=4 * 0.045 / math.sqrt(6))


def test_pairs_that_never_come_back_tell_nothing() -> None:
    scores, parts, _ = panel()
    first = parts["event"] == 0
    assert scores.evaluator is not None
    once = replace(
        scores,
        score=scores.score[first],
        option=Factor(scores.option.codes[first], scores.option.names),
        evaluator=Factor(scores.evaluator.codes[first], scores.evaluator.names),
        event=None,
    )
    found = eh.audit(once).pair
    assert found.pairs == 0
    assert math.isnan(found.share)
