"""A constant added to all scores, or another unit, changes nothing; nor does a jury that agrees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.scores.scores import LEAST, MOST
from rotation import nightly
from score_tables import KINDS, Table, table

CLOSE = 1e-6  # of the range of the scores
UNITS, RANKS = range(80), range(150)  # tables of the two tests; by day two of each sort
UNITS_BY_DAY = (
    1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 17, 18, 23, 25, 31, 32, 33, 36, 37, 39, 46, 48, 55,
    61, 96,
)  # fmt: skip
RANKS_BY_DAY = (
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 18, 20, 24, 27, 29, 31, 32, 36, 37, 41, 43, 45, 46, 51,
    53, 59, 79, 87, 108,
)  # fmt: skip


def drawn(seed: int, test: int) -> Table | None:
    return table(np.random.default_rng([seed, test]))


@pytest.mark.parametrize(("seeds", "test"), [(UNITS_BY_DAY, 21), (RANKS_BY_DAY, 22)])
def test_by_day_tables_of_all_sorts_are_tried(seeds: tuple[int, ...], test: int) -> None:
    tables = [given for seed in seeds if (given := drawn(seed, test)) is not None]
    assert len(tables) == len(seeds)
    assert {(one.kind, one.noise) for one in tables} == {(x, y) for x in KINDS for y in (0.0, 0.5)}
    assert {(one.kind, one.compares) for one in tables} >= {
        *((kind, True) for kind in KINDS),
        *((kind, False) for kind in ("panel", "groups", "comparisons")),
    }


def moved(given: Table, scale: float, offset: float) -> Any:
    """Return the scores in another unit, and with a constant added (not to comparisons)."""
    added = 0.0 if "rival" in given.frame else offset
    return given.frame.assign(score=given.frame["score"] * scale + added), added


def digits_are_lost(scores: Any, compared: bool) -> bool:
    """Whether floating-point numbers do not hold differences to `CLOSE`, or squares of squares."""
    size = float(np.abs(scores).max())
    apart = size if compared else float(np.ptp(scores))
    whole = size < 2.0**53 and bool((scores == np.rint(scores)).all())
    return not LEAST <= apart <= MOST or (not whole and np.spacing(size) > CLOSE * apart)


def decided(given: Table, frame: Any, scale: float, added: float, assigned: str) -> Any:
    """Return what `decide` says, in the units and from the level of the table as it was."""
    answer = eh.decide(frame, assigned=assigned, repeats=True, **given.settings)  # type: ignore[arg-type]
    numbers = [answer.loss, *(x for bias in answer.biases for x in (bias.shrunk, bias.low))]
    numbers += [
        x for one in answer.ranking for x in (one.lead, *answer.conclusion.leads[one.index])
    ]
    levels = [x for one in answer.ranking for x in (one.raw, one.value, one.low, one.high)]
    named = answer.label, answer.sure, answer.comparable, [one.assumption for one in answer.alarms]
    off = 0.0 if answer.scale.compared else added
    return named, np.array([*numbers, *(np.array(levels) - off)]) / scale


def audited(given: Table, frame: Any, scale: float, added: float, _: str) -> Any:
    """Return what `audit` says, in the units and from the level of the table as it was."""
    found = eh.audit(frame, repeats=True)
    bias, decisions = found.bias, found.decisions
    named = str(found)[:20].split()[0], decisions["fair_winner"].tolist(), len(found.warnings)
    numbers = [bias.value, bias.low, bias.high, found.noise, bias.chance * scale]
    numbers += [*decisions.lead, *decisions.lead_se, *found.evaluators["leniency"]]
    return named, np.array(numbers) / scale


@pytest.mark.parametrize("seed", [*UNITS_BY_DAY, *nightly({*UNITS} - {*UNITS_BY_DAY})])
@pytest.mark.parametrize(
    ("said", "way"), [(audited, ""), (decided, "before"), (decided, "adaptively")]
)
def test_units_and_constants_change_nothing(said: Any, way: str, seed: int) -> None:
    rng = np.random.default_rng([seed, 21])
    given = table(rng)
    one_judge = given is None or given.frame["evaluator"].nunique() < 2
    if given is None or (way == "adaptively" and given.kind == "items") or (one_judge and not way):
        return
    named, numbers = said(given, given.frame, 1.0, 0.0, way)
    apart = float(np.ptp(given.frame["score"]))
    for exponent, level in (
        (0.0, rng.uniform(3, 12)),
        (rng.uniform(-250, 250), -np.inf),
        (rng.uniform(-99, 99), rng.uniform(3, 9)),
    ):
        scale = 10.0**exponent
        frame, added = moved(given, scale, 10.0**level * scale)
        if digits_are_lost(frame["score"], "rival" in frame):
            with pytest.raises(eh.InputError, match="column 'score'"):
                said(given, frame, scale, added, way)
            continue
        others, theirs = said(given, frame, scale, added, way)
        assert others == named
        rounding = 8.0 * np.spacing(added) / scale
        np.testing.assert_allclose(theirs, numbers, rtol=1e-5, atol=CLOSE * apart + rounding)


@pytest.mark.parametrize("seed", [*RANKS_BY_DAY, *nightly({*RANKS} - {*RANKS_BY_DAY})])
def test_options_are_comparable_where_exact_ranks_say_so(seed: int) -> None:
    given = drawn(seed, 22)
    if given is None:
        return
    for way in ("before", "adaptively"):
        if given.kind == "items" and way == "adaptively":
            continue
        answer = eh.decide(given.frame, assigned=way, repeats=True, **given.settings)  # type: ignore[arg-type]
        compares = given.compares_at_once if way == "before" else given.compares
        assert answer.comparable == compares
        leads = np.array([one.lead for one in answer.ranking])
        assert np.isfinite(leads).all() or not compares
        if given.noise == 0.0 and (way == "adaptively" or given.kind != "comparisons"):
            assert not answer.sure
            asked = {(one.options, one.evaluator) for one in answer.next_questions}
            columns = ["option", "rival"] if "rival" in given.frame else ["option"]
            known = {
                (tuple(row[:-1]), row[-1])
                for row in given.frame[[*columns, "evaluator"]].itertuples(index=False)
            }
            assert given.kind == "items" or not compares or not asked & known
