"""Forecasts with their chance: what is said to settle it does so about as often as is said."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import evenhand as eh
from evenhand.certainty.prospects import chance_to_settle
from rotation import nightly


def test_of_two_options_it_is_a_normal_probability() -> None:
    """λ has mean KL and variance Ks², so the lead at the end is normal with these."""
    L, s, share = 2.5, 1.0, 0.4
    tau = 0.5 * (L**2 - s**2)  # variance of two values L apart, less what noise adds
    K = 2.0 * tau / (2.0 * tau + s**2)
    mean = share * L + (1.0 - share) * K * L
    sd = math.sqrt((1.0 - share) ** 2 * K * s**2 + share * (1.0 - share) * s**2)
    needed = stats.norm.isf(0.025) * math.sqrt(share) * s
    exact = stats.norm.sf(needed, mean, sd) + stats.norm.cdf(-needed, mean, sd)
    found = chance_to_settle(
        np.array([L]), np.array([[s**2]]), np.array([[share * s**2]]), tolerance=0.0, failure=0.05
    )
    assert found == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 2_000))


def test_chances_are_about_what_comes() -> None:
    """Values of one population, scored with noise: the share that is settled is as was said."""
    rng, k, share = np.random.default_rng(8), 6, 0.4
    said, came = [], []
    for _ in range(400):
        values = rng.normal(0.0, 1.5, k)
        first = values + rng.normal(0.0, 0.8, k)
        error = 0.8 * math.sqrt(share)
        more = values + rng.normal(0.0, 0.8 * math.sqrt(share / (1.0 - share)), k)
        last = share * first + (1.0 - share) * more
        b = int(np.argmax(first))
        S = 0.64 * (np.eye(k - 1) + 1.0)
        leads = np.delete(first[b] - first, b)
        said.append(chance_to_settle(leads, S, share * S, tolerance=0.0, failure=0.05))
        gaps = np.sort(last)[-1] - np.sort(last)[:-1]
        came.append(bool((gaps >= stats.norm.isf(0.025) * error * math.sqrt(2.0)).all()))
    assert 0.2 < np.mean(came) < 0.7
    assert np.mean(said) == pytest.approx(np.mean(came), abs=0.08)
    sure = np.array(said) > 0.8
    assert np.mean(np.array(came)[sure]) > 0.75


@pytest.mark.parametrize("seeds", [(0, 1), *nightly([((2, 3),)])])
def test_many_close_options_are_not_said_to_be_settled_soon(seeds: tuple[int, int]) -> None:
    """Forty-eight applications, three reviews each: hardly ever does another review settle it."""
    words = []
    for seed in seeds:
        rng = np.random.default_rng([5, seed])
        values, lenient = 6.0 + rng.normal(0.0, 0.8, 48), 0.7 * rng.normal(size=14)
        rows = [
            (f"A{a}", f"R{r}", float(np.clip(round(values[a] + lenient[r] + rng.normal()), 1, 10)))
            for a in range(48)
            for r in rng.permutation(14)[:3]
        ]
        table = pd.DataFrame(rows, columns=["option", "evaluator", "score"])
        answer = eh.decide(table, scale=(1, 10), next_n=1)
        assert answer.loss <= 9.0
        assert answer.next_questions.chance < 0.5
        words.append(answer.next_questions.advice)
    assert all("should settle" not in text and "a chance of" in text for text in words)


def test_a_campaign_says_how_probable_it_is_that_what_is_left_settles_it(tmp_path: Path) -> None:
    for gap, settled in ((0.0, False), (6.0, True)):
        options, judges = [f"o{i}" for i in range(8)], [f"j{i}" for i in range(9)]
        panel = eh.Questions.panel(options, judges)
        store = str(tmp_path / f"{gap:g}.db")
        rng = np.random.default_rng(3)
        with eh.Campaign.create(store, "prize", panel, looks="once") as campaign:
            assert math.isnan(campaign.status().chance)
            for judge in judges[:5]:
                while ticket := campaign.ask(judge):
                    worth = gap * (ticket.question.option == 3)
                    campaign.tell(ticket, worth + float(rng.normal()))
            status, answer = campaign.status(), campaign.answer()
        assert status.forecast == 32
        assert (status.chance > 0.9) == settled
        assert (status.chance < 0.2) == (not settled)
        assert answer.chance == status.chance
        said = "should settle it" if settled else "settle it (a chance of"
        assert said in str(answer)
