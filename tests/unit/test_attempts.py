"""Tries that fail: what is counted, and when it is an alarm."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import evenhand as eh
from evenhand.campaigns.tell import end_lease
from evenhand.findings import Attempts

PANEL = eh.Questions.panel(["Ann", "Bo", "Cy"], ["P", "Q"], capacity=None)


def filled(answered: list[int], failed: list[int]) -> Attempts:
    attempts = Attempts()
    for x, (n, f) in enumerate(zip(answered, failed, strict=True)):
        for _ in range(n):
            attempts.answer(x)
        for _ in range(f):
            attempts.fail(x)
    return attempts


def test_counts_by_option_and_evaluator() -> None:
    attempts = filled([3, 1, 2, 0, 4, 4], [1, 0, 0, 2, 0, 0])
    assert attempts.by_option(PANEL) == {"Ann": (5, 1), "Bo": (4, 2), "Cy": (8, 0)}
    assert attempts.by_evaluator(PANEL) == {"P": (10, 1), "Q": (7, 2)}
    assert (attempts.tries, attempts.failures) == (17, 3)


def test_the_chance_of_failures_is_fishers_where_there_is_one_evaluator() -> None:
    one = eh.Questions.panel(["Ann", "Bo"], ["P"], capacity=None)
    attempts = filled([40, 12], [1, 19])
    exact = stats.fisher_exact([[19, 12], [1, 40]], alternative="greater").pvalue
    (found,) = attempts.findings(one)
    assert found.p_value == pytest.approx(2 * exact, rel=1e-9)  # of two options


def test_an_evaluator_who_fails_is_no_alarm_whomever_he_was_asked_about() -> None:
    # Q fails in half of the tries, and is asked about Bo alone
    attempts = filled([40, 0, 40, 40, 40, 0], [0, 0, 0, 40, 0, 0])
    assert attempts.by_option(PANEL)["Bo"] == (120, 40)
    assert attempts.findings(PANEL) == []


def test_choose_is_rarely_sure_where_low_answers_of_an_option_fail() -> None:
    answers = []
    for seed in range(8):
        rng = np.random.default_rng(seed)

        def evaluate(question: eh.Question, rng: np.random.Generator = rng) -> float:
            y = (1.0 if question.label != "Cy" else 0.0) + rng.normal()
            if question.label == "Bo" and y < 0.0:
                raise RuntimeError("refused")
            return float(y)

        answers.append(eh.choose(PANEL, evaluate, retries=20, at_most=2_000, progress=False))
    alarmed = [answer for answer in answers if answer.alarms]
    assert len(alarmed) >= 5
    answer = alarmed[0]
    assert not answer.sure
    assert [finding.assumption for finding in answer.alarms] == ["attempts"]
    assert "Bo failed in" in str(answer)
    record = json.loads(json.dumps(answer.to_dict()["attempts"]))
    assert record["options"]["Bo"]["failures"] == record["failures"] > 0


def test_a_campaign_counts_tries_and_another_process_does(tmp_path: Path) -> None:
    made = eh.Campaign.create(tmp_path / "store.db", "it", PANEL, retries=3)
    failed = 0
    for turn in range(12):
        ticket = made.ask("PQ"[turn % 2])
        if turn % 3 == 0:
            made.fail(ticket, "the line was down")
            failed += 1
        else:
            made.tell(ticket, 5.0 + turn % 2)
    for campaign in (made, eh.Campaign.open(tmp_path / "store.db", "it")):
        tried = campaign.answer().attempts
        assert (tried.tries, tried.failures) == (12, failed)
    assert made.verify()


def test_a_lease_that_ran_out_is_a_failure_though_nobody_asked_again(tmp_path: Path) -> None:
    """An answer that stays away may do so for what it would have been."""
    made = eh.Campaign.create(tmp_path / "store.db", "it", PANEL)
    kept, lost = (made.ask(name) for name in ("P", "Q"))
    assert made.answer().attempts.failures == 0  # it is out, and may come
    end_lease(made._follower, lost)
    made.tell(kept, 5.0)
    for campaign in (made, eh.Campaign.open(tmp_path / "store.db", "it")):
        tried = campaign.answer().attempts
        assert tried.by_evaluator(PANEL) == {"P": (1, 0), "Q": (1, 1)}
    made.tell(lost, 4.0)  # it came after all
    assert made.answer().attempts.failures == 0
    assert made.verify()
