"""No answer contradicts itself: 500 random tables, and what that means."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import evenhand as eh

TABLES = 500
PARTS = 10


def drawn(seed: int) -> tuple[pd.DataFrame, dict[str, object]]:
    """Return a random table, and what is asked of it."""
    rng = np.random.default_rng([35, seed])
    k, J = int(rng.integers(2, 9)), int(rng.integers(2, 8))
    items = int(rng.choice([1, 1, 1, 6]))
    worth, severity = rng.normal(size=k) * rng.choice([0.0, 0.5, 2.0]), rng.normal(size=J)
    noise = rng.choice([0.3, 1.0]) * np.exp(0.5 * rng.normal(size=k))
    rows = []
    for o in range(k):
        for j in range(J):
            if rng.random() < 0.25 and J > 2:
                continue
            for i in range(items):
                y = 5.0 + worth[o] + severity[j] + noise[o] * rng.normal()
                rows.append((f"o{o}", f"e{j}", f"i{i}", f"g{o % 2}", f"g{j % 2}", y))
    columns = ["option", "evaluator", "item", "option_group", "evaluator_group", "score"]
    frame = pd.DataFrame(rows, columns=columns)
    if items == 1:
        frame = frame.drop(columns="item")
    kind = rng.integers(4)
    if kind == 1:
        frame["score"] = frame["score"].round().clip(1, 10)
    if kind == 2:
        frame["score"] = (frame["score"] > 5.0).astype(float)
    if rng.random() < 0.5:
        frame = frame.drop(columns=["option_group", "evaluator_group"])
    names = sorted(frame["option"].unique())
    wanted: list[dict[str, object]] = [{}, {"bar": 5.0}, {"against": names[0]}]
    if len(names) > 2:
        wanted += [{"top": int(rng.integers(1, len(names)))}] * 2
    asked = wanted[int(rng.integers(len(wanted)))] if len(names) > 1 else {}
    if rng.random() < 0.3:
        asked = asked | {"tolerance": 0.5}
    return frame, asked


def contradictions(answer: eh.Answer) -> list[str]:
    """Return what in an answer contradicts something else in it."""
    said, delta = answer.conclusion, 1.0 - answer.confidence
    k, target = len(said.verdicts), said.target
    low, high = said.ranks
    found = []

    def refuse(wrong: object, what: str) -> None:
        if np.any(wrong):
            found.append(what)

    placed = sorted([*said.inside, *said.outside, *said.undecided])
    others = [x for x, one in enumerate(said.verdicts) if one != "itself"]
    refuse(placed != others, "every option is in, out or undecided, and none is two of these")
    refuse(low > high, "the best place is above the worst")
    for r in range(1, k + 1):
        refuse((low <= r).sum() < r, "too few may have the first places")
        refuse((high >= k + 1 - r).sum() < r, "too few may have the last places")
    refuse((said.values[:, 0] < said.values[:, 1]).any(), "a value below its interval")
    refuse((said.values[:, 0] > said.values[:, 2]).any(), "a value above its interval")
    # who is surely worse may be so by less than the tolerance, and is wanted then
    fails = said.short if answer.tolerance and target.top is None else said.outside
    chance = said.chances
    known = np.isfinite(chance)
    refuse((chance[known] <= 0.0) | (chance[known] >= 1.0), "a chance of 0 or 1")
    for x in np.flatnonzero(known).tolist():
        if x in said.inside:
            refuse(chance[x] < 1.0 - delta, "surely in, and improbable")
        elif x in fails:
            refuse(chance[x] > delta, "surely out, and probable")
        else:
            refuse(not 0.005 < chance[x] < 0.995, "not sure, and a chance of 100% or 0%")
    if target.top is not None:
        m = target.top
        strictly = said.where("in")
        refuse(high[list(strictly)] > m, "surely in, and perhaps beyond the line")
        refuse(low[list(said.outside)] <= m, "surely out, and perhaps within the line")
        refuse(answer.sure != (said.loss <= target.tolerance), "sure, and more may be lost")
        refuse(answer.sure and set(said.chosen) - set(said.inside), "sure, and not in")
        refuse(len(strictly) > m, "more are surely in than are wanted")
        lost = said.loss == 0.0 and len(said.outside) != k - m
        refuse(lost and math.isfinite(said.loss), "nothing is lost, and not all others are out")
    else:
        refuse(answer.sure != (not said.undecided), "sure, and something is undecided")
        refuse(set(said.inside) - set(said.chosen), "surely wanted, and not chosen")
        refuse(set(fails) & set(said.chosen), "surely not wanted, and chosen")
    if target.top is not None and answer.comparable:
        worst = min(said.chances[list(said.chosen)], default=np.nan)
        others = np.delete(np.arange(k), said.chosen)
        if len(said.parts) == 1:
            refuse(said.chances[others] > worst, "more probable than who is chosen")
    ahead = said.leads[:, 1] > 0.0
    if target.top == 1:
        out = np.isin(np.arange(k), said.outside)
        refuse(out & ~ahead, "surely behind, and an interval of the lead with 0")
    order = [one.index for one in answer.ranking]
    refuse(np.diff(said.values[order, 0]) > 1e-9, "ranked below what is worth less")
    if k > 1 and not answer.contradicted and answer.comparable:
        last = next(one for one in reversed(answer.ranking) if one.index != answer.option)
        both = answer.compare(answer.label, last.option)
        lead = said.leads[last.index]
        refuse(not np.allclose([both.value, both.low, both.high], lead), "two leads of one pair")
    return found


@pytest.mark.parametrize("part", range(PARTS))
def test_no_answer_contradicts_itself(part: int) -> None:
    for seed in range(part, TABLES, PARTS):
        frame, asked = drawn(seed)
        try:
            answer = eh.decide(frame, next_n=0, **asked)  # type: ignore[arg-type]
        except eh.InputError:
            continue
        assert not contradictions(answer), f"table {seed}, {asked}: {contradictions(answer)}"
        if answer.sure and not answer.tolerance:
            wider = eh.decide(frame, next_n=0, **asked | {"tolerance": 0.1})  # type: ignore[arg-type]
            assert wider.sure, f"table {seed}: sure without a tolerance, and not with one"
