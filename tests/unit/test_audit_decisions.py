"""Winners by every rule, against plain loops, dense least squares and small tables by hand."""

from __future__ import annotations

import math
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.auditing.bias import BiasEstimate
from evenhand.auditing.contests import Contests
from evenhand.auditing.decisions import RULES, Decisions, decisions
from evenhand.auditing.levels import Levels
from evenhand.auditing.rules import Ballots, Comparison
from evenhand.scores import Factor, Scores
from evenhand.scores.read import read_table

UNKNOWN = BiasEstimate(math.nan, -math.inf, math.inf, 0.95, math.nan, math.nan)


def bias_of(value: float, width: float = 0.0) -> BiasEstimate:
    return BiasEstimate(value, value - width, value + width, 0.95, width / 2, 100.0)


def table(seed: int, *, items: bool = False, missing: float = 0.3) -> pd.DataFrame:
    """Return two events with integer scores, so that there are ties, and holes."""
    rng = np.random.default_rng(seed)
    rows = [
        {
            "event": event,
            "option": f"o{o}",
            "item": item,
            "evaluator": f"e{e}",
            "option_group": f"g{o % 3}",
            "evaluator_group": f"g{e % 3}",
            "score": float(rng.integers(0, 5)),
        }
        for event in ("one", "two")
        for o in range(5)
        for item in (("x", "y") if items else ("x",))
        for e in range(4)
        if rng.random() > missing or e == 0  # e0 sees all, and links all
    ]
    return pd.DataFrame(rows)


def scores_of(frame: pd.DataFrame, **parts: str) -> Scores:
    return read_table(
        frame,
        evaluator="evaluator",
        item="item",
        event="event",
        option_group="option_group",
        evaluator_group="evaluator_group",
        **parts,
    )


def by_loops(frame: pd.DataFrame, rule: str, beta: float) -> dict[str, dict[str, float]]:
    """Return the values of the options at each event, an item at a time; {} if one has none."""
    own = frame["option_group"] == frame["evaluator_group"]
    frame = frame.assign(score=frame["score"] - beta * own)
    found: dict[str, dict[str, float]] = {}
    for event, part in frame.groupby("event"):
        values: dict[str, list[float]] = {}
        for (option, _), cell in part.groupby(["option", "item"]):
            rows = sorted(cell["score"])
            if rule == "recusal":
                rows = cell["score"][~own[cell.index]].tolist()
            if rule == "trimmed mean" and len(rows) >= 3:
                rows = rows[1:-1]
            values.setdefault(str(option), []).append(sum(rows) / len(rows) if rows else math.nan)
        means = {option: sum(each) / len(each) for option, each in values.items()}
        found[str(event)] = {} if any(map(math.isnan, means.values())) else means
    return found


def best(values: dict[str, float]) -> set[str]:
    top = max(values.values())
    return {option for option, value in values.items() if value >= top - 1e-7}


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("items", [False, True])
def test_rules_agree_with_plain_loops(seed: int, items: bool) -> None:
    frame = table(seed, items=items)
    found = decisions(scores_of(frame), bias_of(0.7), 1.0, 10).flips()
    before = by_loops(frame, "mean", 0.0)
    given = {"mean": before, "recusal": before, "trimmed mean": by_loops(frame, "trimmed mean", 0)}
    taken = {rule: by_loops(frame, rule, 0.7) for rule in ("mean", "trimmed mean")}
    taken["recusal"] = by_loops(frame, "recusal", 0.0)
    checked = found[found["rule"].isin(given)]
    assert len(checked) == 6
    for row in checked.itertuples():
        old, new = given[row.rule][row.event], taken[row.rule][row.event]
        if not new:
            assert pd.isna(row.winner)
            assert not row.flipped
            continue
        assert row.winner in best(new)
        assert row.baseline in best(old)
        assert row.flipped == best(old).isdisjoint(best(new))
        first, second = sorted(new.values(), reverse=True)[:2]
        assert row.margin == pytest.approx(first - second, abs=1e-7)


def dense_values(frame: pd.DataFrame, column: np.ndarray) -> dict[tuple[str, str, str], float]:
    """Return two-way levels of what is scored at an event, by dummies and numpy."""
    cells = list(zip(frame["event"], frame["option"], frame["item"], strict=True))
    chairs = list(zip(frame["event"], frame["evaluator"], strict=True))
    names, seats = sorted(set(cells)), sorted(set(chairs))
    X = np.zeros((len(frame), len(names) + len(seats)))
    for row, (cell, chair) in enumerate(zip(cells, chairs, strict=True)):
        X[row, names.index(cell)] = X[row, len(names) + seats.index(chair)] = 1.0
    solved = np.linalg.lstsq(X, column, rcond=None)[0]
    return dict(zip(names, solved, strict=False))


@pytest.mark.parametrize("seed", range(4))
def test_two_way_values_are_those_of_dense_least_squares(seed: int) -> None:
    frame = table(seed, items=True)
    ballots = Ballots.of(scores_of(frame))
    found = ballots.two_way(ballots.score)
    dense = dense_values(frame, frame["score"].to_numpy())
    contests, names = ballots.contests, scores_of(frame).option.names
    for event, name in enumerate(contests.names):
        options = [names[code] for code in contests.option[contests.event == event]]
        expected = np.array([np.mean([dense[name, o, i] for i in ("x", "y")]) for o in options])
        level = found[contests.event == event]
        assert level - level.mean() == pytest.approx(expected - expected.mean(), abs=1e-9)


def test_the_variance_of_a_lead_is_that_of_dense_least_squares() -> None:
    frame = table(3)
    found = decisions(scores_of(frame), UNKNOWN, 2.0, 10)
    cells = sorted(set(zip(frame["event"], frame["option"], strict=True)))
    chairs = sorted(set(zip(frame["event"], frame["evaluator"], strict=True)))
    X = np.zeros((len(frame), len(cells) + len(chairs)))
    for row, (event, option, who) in enumerate(
        zip(frame["event"], frame["option"], frame["evaluator"], strict=True)
    ):
        X[row, cells.index((event, option))] = 1.0
        X[row, len(cells) + chairs.index((event, who))] = 1.0
    spread = 4.0 * np.linalg.pinv(X.T @ X)
    for row in found.to_frame().itertuples():
        d = np.zeros(X.shape[1])
        d[cells.index((row.event, row.fair_winner))] = 1.0
        d[cells.index((row.event, row.runner_up))] = -1.0
        assert row.lead_se == pytest.approx(math.sqrt(d @ spread @ d))


def test_a_long_chain_is_no_trouble() -> None:
    # option i is scored by evaluators i and i + 1 only: without noise, levels are exact
    n = 3_000
    rng = np.random.default_rng(0)
    worth, lenient = rng.normal(size=n), rng.normal(size=n + 1)
    option = np.repeat(np.arange(n), 2)
    evaluator = option + np.tile([0, 1], n)
    rows = Levels(option.astype(np.int32), evaluator.astype(np.int32), n, n + 1)
    found = rows.fitted(worth[option] + lenient[evaluator])
    assert found - found[0] == pytest.approx(worth - worth[0], abs=1e-5)
    # neighbours have one evaluator in common: the difference of two scores
    contrast = np.zeros(n)
    contrast[[1500, 1501]] = 1.0, -1.0
    assert rows.variances(contrast, np.zeros(n, dtype=np.int32), 1) == pytest.approx([2.0])


def test_where_a_winner_wins_is_where_a_grid_says() -> None:
    for seed in range(12):
        frame = table(seed)
        scores = scores_of(frame)
        found = decisions(scores, bias_of(0.5), 1.0, 10)
        ballots = Ballots.of(scores)
        y, p = (ballots.two_way(x) for x in (ballots.score, ballots.partial))
        for event in range(len(found)):
            mine = found.contests.event == event
            for beta in np.linspace(-9.05, 9.05, 40):
                values = (y - beta * p)[mine]
                lead = values.max() - (y - beta * p)[found.winner[event]]
                wins = found.wins_from[event] <= beta <= found.wins_to[event]
                assert (lead < 1e-9) == wins


def two_options(ann: list[float], bo: list[float], own: list[float]) -> Scores:
    """Return judges who score Ann and Bo once each; ``own``: how partial each is to Ann."""
    n = len(ann)
    return Scores(
        np.array(ann + bo),
        Factor.of(["Ann"] * n + ["Bo"] * n),
        Factor.of([f"e{i}" for i in range(n)] * 2),
        stated=np.array(own + [0.0] * n),
    )


def test_wrong_fragile_and_safe() -> None:
    scores = two_options([9.0, 7.0], [7.0, 8.0], [1.0, 0.0])  # Ann leads by ½ − β/2

    def said(value: float, width: float, noise: float = 1e-6) -> Decisions:
        return decisions(scores, bias_of(value, width), noise, 50)

    assert said(1.5, 0.2).wins_to == pytest.approx([1.0])
    assert said(1.5, 0.2).verdict == ("wrong",)
    assert said(1.5, 0.6).verdict == ("fragile",)
    assert said(0.5, 0.2).verdict == ("safe",)
    assert said(0.5, 0.2, noise=3.0).verdict == ("fragile",)
    assert said(1.5, 0.2, noise=3.0).verdict == ("wrong",)  # whatever the noise, the bias decides
    assert not said(1.5, 0.2, noise=3.0).sure[0]
    assert decisions(scores, UNKNOWN, 1.0, 50).verdict == ("unknown",)
    assert said(0.5, 0.2).tipping_favour == pytest.approx([0.25])
    assert said(1.5, 0.2).to_frame().loc[0, ["winner", "fair_winner"]].tolist() == ["Ann", "Bo"]


def test_without_a_known_bias_there_is_recusal() -> None:
    scores = two_options([9.0, 7.0], [7.0, 8.0], [1.0, 0.0])
    found = decisions(scores, UNKNOWN, 1.0, 50).flips().set_index("rule")
    assert set(found.index) == {"recusal", "recusal and leniency", "bias and leniency"}
    assert found.loc["recusal", "winner"] == "Bo"  # 7 against 7½
    assert found.loc["recusal", "flipped"]
    # the second judge alone links them, and is more severe than nobody
    assert found.loc["recusal and leniency", "margin"] == pytest.approx(1.0)


def test_own_biases_are_taken_off_one_by_one() -> None:
    scores = two_options([9.0, 7.0], [7.0, 8.0], [1.0, 0.0])
    found = decisions(scores, bias_of(0.1), 1.0, 50, own=np.array([3.0, 0.0])).flips()
    row = found.set_index("rule").loc["own biases"]
    assert (row["winner"], row["flipped"], row["margin"]) == ("Bo", True, pytest.approx(1.0))
    assert set(found["rule"]) <= set(RULES)


def test_ties_change_nothing() -> None:
    contests = Contests.of(Scores(np.zeros(4), Factor.of(["a", "b", "c", "d"]), None))

    def compared(values: list[float], before: list[float]) -> Comparison:
        return Comparison.of("", contests, np.array(values), np.array(before))

    third = 1.0 / 3.0
    same = compared([third, third, 1 - third - third, 0.0], [third, 1 - 2 * third, third, 0.0])
    assert not same.podium_changed[0]
    assert same.margin[0] == 0.0
    shared = compared([1.0, 2.0, 0.0, 0.0], [2.0, 2.0, 0.0, 0.0])
    assert not shared.flipped[0]  # b won before, too
    assert not shared.podium_changed[0]
    swapped = compared([3.0, 1.0, 2.0, 0.0], [3.0, 2.0, 1.0, 0.0])
    assert not swapped.flipped[0]
    assert swapped.podium_changed[0]
    fourth = compared([4.0, 3.0, 2.0, 1.0], [4.0, 3.0, 2.0, 0.0])
    assert not fourth.podium_changed[0]


def test_groups_tip_together() -> None:
    scores = Scores(
        np.array([9.0, 8.0, 5.0]),
        Factor.of(["Ann", "Bo", "Cy"]),
        Factor.of(["P"] * 3),
        groups=("x", "y"),
        option_group=np.array([0, 0, 1], dtype=np.int32),
        evaluator_group=np.array([1], dtype=np.int32),
    )
    assert decisions(scores, bias_of(0.0), 1.0, 1).tipping_favour == pytest.approx([4.0])
    alone = Scores(np.array([9.0]), Factor.of(["Ann"]), Factor.of(["P"]), stated=np.zeros(1))
    found = decisions(alone, bias_of(0.0), 1.0, 1)
    assert found.tipping_favour.tolist() == found.lead.tolist() == [math.inf]
    assert found.names(found.winner) == ["Ann"]
    assert found.names(found.runner_up) == [None]


def test_options_that_nobody_links_are_not_ranked_by_levels() -> None:
    scores = Scores(
        np.array([9.0, 8.0]), Factor.of(["Ann", "Bo"]), Factor.of(["P", "Q"]), stated=np.zeros(2)
    )
    found = decisions(scores, bias_of(1.0), 1.0, 1)
    assert found.verdict == ("unknown",)
    assert found.names(found.winner) == ["Ann"]
    assert found.names(found.fair_winner) == [None]
    assert math.isnan(found.tipping_favour[0])


def test_comparisons_speak_for_both() -> None:
    # a beats b by 2, b beats c by 1, a loses to c by 4: means (2 − 4)/2, (−2 + 1)/2, (−1 + 4)/2
    scores = Scores(
        np.array([2.0, 1.0, -4.0]),
        Factor(np.array([0, 1, 0], dtype=np.int32), ("a", "b", "c")),
        Factor.of(["P"] * 3),
        rival=np.array([1, 2, 2], dtype=np.int32),
        stated=np.array([0.0, 0.0, -1.0]),
    )
    row = decisions(scores, bias_of(3.0), 1.0, 1).flips().set_index("rule").loc["mean"]
    # with the favour for c off, a loses to it by 1: ½ , −½, 0
    assert (row["winner"], row["baseline"], row["margin"]) == ("a", "c", pytest.approx(0.5))


def duels(seed: int) -> Scores:
    """Return comparisons of four options by three evaluators, who favour what stands first."""
    rng = np.random.default_rng(seed)
    pairs = [(a, b) for a in range(4) for b in range(4) if a != b] * 3
    keep = rng.random(len(pairs)) < 0.8
    first, second = np.array(pairs, dtype=np.int32)[keep].T
    return Scores(
        rng.normal(size=len(first)),
        Factor(first, ("a", "b", "c", "d")),
        Factor.of([f"e{i}" for i in rng.integers(0, 3, len(first))]),
        rival=second,
        stated=rng.integers(-1, 2, len(first)).astype(float),
    )


@pytest.mark.parametrize("seed", range(3))
def test_compared_options_are_worth_what_dense_least_squares_say(seed: int) -> None:
    scores = duels(seed)
    assert scores.rival is not None
    found = decisions(scores, bias_of(0.4), 2.0, 10)
    n = np.arange(len(scores))
    X = np.zeros((len(scores), 5))  # a position that all have in common: few verdicts each
    X[n, scores.option.codes] += 1.0
    X[n, scores.rival] -= 1.0
    X[:, 4] = 1.0
    assert scores.stated is not None
    solved = np.linalg.lstsq(X, scores.score - 0.4 * scores.stated, rcond=None)[0][:4]
    best_of, next_of = np.argsort(-solved)[:2]
    assert found.fair_winner.tolist() == [best_of]  # entries are options: there is one event
    assert found.lead[0] == pytest.approx(solved[best_of] - solved[next_of])
    spread = 4.0 * np.linalg.pinv(X.T @ X)
    d = np.zeros(5)
    d[best_of], d[next_of] = 1.0, -1.0
    assert found.bias.se == 0.0
    assert found.lead_se[0] == pytest.approx(math.sqrt(d @ spread @ d))


def test_a_reference_knows_who_is_best() -> None:
    scores = two_options([9.0, 7.0], [7.0, 8.0], [1.0, 0.0])
    known = Scores(
        scores.score,
        scores.option,
        scores.evaluator,
        stated=scores.stated,
        reference=np.array([6.0, 6.0, 7.0, 7.0]),
    )
    found = decisions(known, bias_of(0.1), 1.0, 2)
    assert found.names(found.fair_winner) == ["Bo"]
    assert found.sure.tolist() == [True]
    assert found.verdict == ("wrong",)
    row = found.flips().set_index("rule").loc["reference"]
    assert (row["winner"], row["baseline"], row["margin"]) == ("Bo", "Ann", 1.0)


def test_what_attributes_add_is_no_worth() -> None:
    scores = two_options([9.0, 8.0], [7.0, 8.0], [0.0, 0.0])
    length = np.array([3.0, 3.0, 0.0, 0.0])
    found = decisions(scores, bias_of(0.0), 1.0, 2, attributes=length)
    assert found.names(found.winner) == ["Ann"]
    assert found.names(found.fair_winner) == ["Bo"]
    assert found.lead == pytest.approx([2.0])


def test_events_stand_in_the_order_of_their_names_and_keep_their_options() -> None:
    frame = table(0)
    scores = scores_of(frame)
    contests = Contests.of(scores)
    assert scores.event is not None
    for number, name in enumerate(contests.names):
        here = {scores.option.names[code] for code in contests.option[contests.event == number]}
        assert here == set(frame["option"][frame["event"] == name])
    assert contests.sizes.sum() == len(contests.option)


def test_the_season_of_skating() -> None:
    season = pd.read_csv(str(files("evenhand") / "data" / "skating_judges.csv.gz"))
    audit = eh.audit(
        season,
        option="skater",
        evaluator="judge",
        event=["competition", "program"],
        option_group="nation",
        evaluator_group="judge_nation",
    )
    flips = audit.flips.groupby("rule")["flipped"].sum()
    assert (flips["mean"], flips["trimmed mean"], flips["recusal"]) == (0, 2, 2)
    favour = audit.decisions.tipping_favour
    assert len(favour) == 136
    assert np.median(favour) == pytest.approx(5.4, abs=0.05)
    # as many as the winner test of `PlannedChoice` is sure of at one look
    assert audit.decisions.sure.sum() == pytest.approx(93, abs=2)
