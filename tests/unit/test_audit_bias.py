"""The bias of an audit against least squares with every column written down, and whom to ask."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.arrays import Floats
from evenhand.scores import Factor, Scores
from evenhand.scores.scores import Codes
from rotation import nightly


def factor(codes: Codes) -> Factor:
    found, dense = np.unique(codes, return_inverse=True)
    return Factor(dense.reshape(-1).astype(np.int32), tuple(f"n{i}" for i in found))


def dummies(codes: Codes, n: int) -> Floats:
    return np.eye(n)[codes]


def random_scores(rng: np.random.Generator) -> Scores:
    """Return a small table: sparse, often in several parts, with cells that come again."""
    n, k, e, events = (int(rng.integers(1, most)) for most in (30, 9, 6, 4))
    option, evaluator = factor(rng.integers(0, k, n)), factor(rng.integers(0, e, n))
    return Scores(
        rng.normal(size=n) * 10.0 ** rng.uniform(-2, 3) + 50.0,
        option,
        evaluator,
        event=factor(rng.integers(0, events, n)) if rng.random() < 0.5 else None,
        item=factor(rng.integers(0, 2, n)) if rng.random() < 0.3 else None,
        groups=("a", "b", "c"),
        option_group=rng.integers(-1, 3, len(option)).astype(np.int32),
        evaluator_group=rng.integers(-1, 3, len(evaluator)).astype(np.int32),
        attributes={"length": rng.normal(size=n)} if rng.random() < 0.5 else {},
        reference=rng.normal(size=n) if rng.random() < 0.2 else None,
    )


def random_comparisons(rng: np.random.Generator) -> Scores:
    n, k, e = (int(rng.integers(2, most)) for most in (60, 7, 5))
    option, evaluator = Factor(rng.integers(0, k, n).astype(np.int32), tuple("abcdefg"[:k])), None
    if rng.random() < 0.8:
        evaluator = factor(rng.integers(0, e, n))
    rival = (option.codes + rng.integers(1, k, n)) % k
    if rng.random() < 0.2:  # the same option always stands first: position is its value
        option = Factor(np.zeros(n, dtype=np.int32), option.names)
        rival = rng.integers(1, k, n)
    return Scores(
        rng.normal(size=n),
        option,
        evaluator,
        rival=rival.astype(np.int32),
        event=factor(rng.integers(0, 2, n)) if rng.random() < 0.3 else None,
        groups=("a", "b"),
        option_group=rng.integers(0, 2, k).astype(np.int32),
        evaluator_group=None
        if evaluator is None
        else rng.integers(0, 2, len(evaluator)).astype(np.int32),
        attributes={"length": rng.normal(size=n)},
    )


def columns(scores: Scores) -> Floats:
    """Return D, written down."""
    n = len(scores)
    if scores.rival is None:
        chairs = dummies(*scores.chairs)
        return (
            chairs if scores.reference is not None else np.hstack([dummies(*scores.scored), chairs])
        )
    k = len(scores.option)
    event = np.zeros(n, dtype=int) if scores.event is None else scores.event.codes
    m = k * (int(event.max()) + 1)
    first, second = event * k + scores.option.codes, event * k + scores.rival
    D = dummies(first, m) - dummies(second, m)
    if scores.evaluator is None:
        return np.hstack([D, np.ones((n, 1))])
    many = scores.evaluator.counts >= 20
    own = dummies(scores.evaluator.codes, len(many))
    return np.hstack([D, own[:, many], own[:, ~many].sum(axis=1)[:, None]])


def agrees_with_least_squares(audit: eh.Audit, D: Floats, y: Floats, R: dict[str, Floats]) -> None:
    whole = np.column_stack([D, *R.values()])
    theta = np.linalg.lstsq(whole, y, rcond=1e-10)[0]
    left, size = y - whole @ theta, np.abs(y).max()
    freedom = len(y) - np.linalg.matrix_rank(whole, tol=1e-8)
    if freedom > 0:
        assert audit.noise == pytest.approx(np.sqrt(left @ left / freedom), abs=1e-9 * size)
    else:
        assert np.isnan(audit.noise)
    for j, name in enumerate(R):
        others = np.delete(whole, D.shape[1] + j, axis=1)
        told = np.linalg.matrix_rank(whole, tol=1e-8) > np.linalg.matrix_rank(others, tol=1e-8)
        if name in audit.attributes:
            slope = audit.attributes[name].value
            assert np.isfinite(slope) == told
            if told and audit.scores.rival is not None:  # else judges may stretch the scale
                assert slope == pytest.approx(theta[D.shape[1] + j], rel=1e-6, abs=1e-8 * size)
            continue
        assert audit.identified.told == told == np.isfinite(audit.naive.value)
        if told:
            own = R[name] - others @ np.linalg.lstsq(others, R[name], rcond=1e-10)[0]
            found = audit.naive
            assert found.value == pytest.approx(theta[D.shape[1] + j], rel=1e-6, abs=1e-8 * size)
            if freedom > 0:
                se = np.sqrt(left @ left / freedom / (own @ own))
                assert (found.se, found.freedom) == pytest.approx((se, freedom), abs=1e-9 * size)


def regressors(scores: Scores) -> dict[str, Floats]:
    own = {} if scores.partial is None else {"own group": scores.partial}
    return own | dict(scores.attributes)


def tables(make: object, seed: int, n: int = 150) -> Iterator[Scores]:
    rng = np.random.default_rng(seed)
    return (make(rng) for _ in range(n))  # type: ignore[operator] # a function of the generator


def test_small_tables_agree_with_least_squares() -> None:
    for drawn in tables(random_scores, seed=1):
        # items are additive without events
        scores = replace(drawn, item=None) if drawn.event is None else drawn
        y = scores.score - (0.0 if scores.reference is None else scores.reference)
        agrees_with_least_squares(eh.audit(scores), columns(scores), y, regressors(scores))


def test_comparisons_agree_with_least_squares() -> None:
    for scores in tables(random_comparisons, seed=2):
        audit, D, R = eh.audit(scores), columns(scores), regressors(scores)
        agrees_with_least_squares(audit, D, scores.score, R)
        k = len(scores.option) * (1 if scores.event is None else len(scores.event))
        whole = np.column_stack([D[:, :k], *R.values(), np.ones(len(scores))])
        theta = np.linalg.lstsq(whole, scores.score, rcond=1e-10)[0]
        if np.isfinite(audit.position.value):  # one for all who judge
            assert audit.position.value == pytest.approx(theta[-1], abs=1e-8)


def test_with_a_reference_one_evaluator_is_enough() -> None:
    truth = np.array([3.0, 5.0, 4.0, 8.0])
    partial = np.array([1.0, 0.0, 0.0, 1.0])
    scores = Scores(
        truth + 0.5 + 2.0 * partial,
        Factor.of(["a", "b", "c", "d"]),
        Factor.of(["P"] * 4),
        stated=partial,
        reference=truth,
    )
    audit = eh.audit(scores)
    assert audit.bias.value == pytest.approx(2.0)
    assert audit.evaluators["leniency"].to_numpy() == pytest.approx([0.5])


def test_without_partiality_there_are_leniencies_all_the_same() -> None:
    scores = Scores(
        np.array([3.0, 1.0, 4.0, 2.0]), Factor.of(list("abab")), Factor.of(list("PPQQ"))
    )  # fmt: skip
    audit = eh.audit(scores)
    assert not audit.identified.told
    assert np.isnan(audit.bias.value)
    assert audit.decisions["lead"].tolist() == pytest.approx([2.0])
    assert audit.evaluators["leniency"].to_numpy() == pytest.approx([-0.5, 0.5])


@pytest.mark.parametrize("links", [40, 2500])
def test_long_chains_are_solved(links: int) -> None:
    """Each option is seen by two evaluators who share it alone; one cycle closes the chain."""
    first = np.arange(links)
    option, evaluator = np.concatenate([first, first]), np.concatenate([first, (first + 1) % links])
    y = np.random.default_rng(6).normal(size=2 * links)
    found = eh.audit(Scores(y, factor(option), factor(evaluator)))
    # one direction is left: the alternating sign around the cycle
    around = np.concatenate([np.ones(links), -np.ones(links)]) / np.sqrt(2 * links)
    assert found.noise == pytest.approx(abs(around @ y), abs=1e-9)


def followed(scores: Scores, asks: tuple[Any, ...]) -> pd.DataFrame:
    """Return the table with the scores that were advised, of new people too."""
    old = scores.to_frame()
    more = [{part: getattr(ask, part, None) for part in old} for ask in asks]
    whole = pd.concat([old, pd.DataFrame(more)], ignore_index=True)
    if "evaluator" in whole:  # who is called like an option would be taken for it
        whole["evaluator"] = "by " + whole["evaluator"]
    return whole.assign(score=np.arange(len(whole)) - 0.5)


@pytest.mark.parametrize("n", [70, *nightly([200])])
@pytest.mark.parametrize("make", [random_scores, random_comparisons])
def test_who_follows_the_advice_can_tell_the_bias(make: object, n: int) -> None:
    seen = 0
    for scores in tables(make, seed=10, n=n):
        bare = replace(scores, attributes={})
        audit = eh.audit(bare)
        found = audit.identified
        assert found.told == np.isfinite(audit.bias.value) == (found.why == "")
        if found.asks:
            seen += 1
            assert eh.audit(followed(bare, found.asks), repeats=True).identified.told, (
                scores,
                found,
            )
        assert bool(found.advice) != found.told
    assert seen > 0.1 * n


def panel(
    rows: list[tuple[str, str]], of: dict[str, str], event: list[str] | None = None
) -> Scores:
    """Return scores of (option, evaluator), whose groups are known."""
    option, evaluator = (Factor.of([row[i] for row in rows]) for i in range(2))
    groups = tuple(dict.fromkeys(of.values()))
    sides = [
        np.array([groups.index(of[name]) if name in of else -1 for name in one.names], np.int32)
        for one in (option, evaluator)
    ]
    return Scores(
        np.arange(len(rows)) ** 2.0, option, evaluator, groups=groups, option_group=sides[0],
        evaluator_group=sides[1], event=None if event is None else Factor.of(event),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "asks"),
    [
        ("Ann P, Bo P", "Ann new, Bo new"),  # there is one evaluator
        ("Ann P, Bo Q", "Bo P, Ann Q"),  # everybody is equally partial
        ("Ann P, Bo P, Cy Q, Di Q", "Ann Q, Cy P"),  # every option has one evaluator
        ("Ann P, Ann N, Bo N", "Bo P"),  # partiality looks like leniency
        ("Ann P, Bo P, Bo N", "Ann N"),  # and here like worth
        ("Cy P, Cy Q, Di P, Di Q", "Cy new, Di new"),  # nobody scored the own group
    ],
)
def test_whom_to_ask_where_a_bias_cannot_be_told(rows: str, asks: str) -> None:
    of = {"Ann": "fr", "Bo": "it", "Cy": "us", "Di": "jp", "P": "fr", "Q": "it"}
    pairs = [tuple(row.split()) for row in rows.split(", ")]
    found = eh.audit(panel(pairs, of)).identified  # type: ignore[arg-type] # two words each
    new = "a neutral evaluator", "a new evaluator (us)"
    said = {(x.option, "new" if x.evaluator in new else x.evaluator) for x in found.asks}
    assert said == {tuple(ask.split()) for ask in asks.split(", ")}


def test_attributes_that_go_hand_in_hand_with_partiality_are_named() -> None:
    scores = panel(
        [(o, e) for o in ("Ann", "Bo") for e in ("P", "Q")],
        {"Ann": "fr", "Bo": "it", "P": "fr", "Q": "it"},
    )
    found = eh.audit(replace(scores, attributes={"length": 3.0 * scores.partial})).identified
    assert not found.told
    assert "'length'" in found.why


def test_a_note_says_what_is_not_linked() -> None:
    crossed_pair = [(o, e) for o in ("Ann", "Bo") for e in ("P", "Q")]
    rows = [*crossed_pair, ("Cy", "R"), ("Di", "R")]
    of = {"Ann": "fr", "Bo": "it", "P": "fr", "Q": "it"}
    found = eh.audit(panel(rows, of))
    assert found.identified.told
    (split,) = (one for one in found.warnings if one.assumption == "overlap")
    assert (split.assumption, split.alarm) == ("overlap", False)
    assert "2 in all" in split.message
    # at events of their own nobody has to link them
    at = ["x"] * 4 + ["y"] * 2
    for linked in (panel(rows, of, at), panel(crossed_pair, of)):
        assert "overlap" not in [one.assumption for one in eh.audit(linked).warnings]
