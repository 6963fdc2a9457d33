"""Evidence of blocks: no null hypothesis is bet against with profit, and what a record folds to."""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand import Feedback
from evenhand.inference.target import Target
from evenhand.questions import Questions
from evenhand.search import conclude
from evenhand.search.conclude import Aim, Evidence
from evenhand.search.evidence import (
    BAR,
    bets,
    bounded,
    certainty_entropy,
    gaussian,
    growth,
    symmetric,
)
from evenhand.search.leads import directions, lead_weights
from evenhand.search.record import Plan, Record

LOG = math.log(20.0)  # of the evidence that is enough at 95%
sizes = st.floats(0.01, 100.0)


def some_bets(lead: float, off: float, tau: float, **kind: bool) -> np.ndarray:
    return bets(np.array([lead]), np.array([off]), np.array([tau]), **kind)


def mean_e(log_e: np.ndarray, chances: np.ndarray) -> float:
    return float(np.exp(log_e) @ chances)


@given(st.lists(sizes, min_size=1, max_size=6), st.floats(-9.0, 9.0), sizes, sizes, st.floats(0, 5))
def test_symmetric_noise_of_any_sizes_wins_no_bet(
    noises: list[float], lead: float, off: float, tau: float, worse: float
) -> None:
    """All signs of noise that has another size in each score; the lead is −``worse``."""
    X = np.array(list(itertools.product([-1.0, 1.0], repeat=len(noises)))) @ noises
    chances = np.full(len(X), 1.0 / len(X))
    by = np.repeat(some_bets(lead, off, tau), len(X), axis=0)
    at_null = mean_e(symmetric(X, by), chances)
    assert at_null == pytest.approx(1.0, abs=1e-12)  # a martingale where the lead is 0,
    assert mean_e(symmetric(X - worse, by), chances) <= at_null + 1e-12  # and less below


@given(sizes, st.floats(-9.0, 9.0), st.floats(0.0, 3.0))
def test_scores_within_bounds_win_no_bet_however_skewed(
    off: float, lead: float, worse: float
) -> None:
    """All pairs of scores 1 to 5, of distributions that are skewed in opposite ways."""
    marks = np.arange(1.0, 6.0)
    first, second = np.array([0.9, 0, 0, 0, 0.1]), np.array([0.0, 0.8, 0, 0.2, 0])
    chances = np.outer(first, second).reshape(-1)
    X = np.subtract.outer(marks, marks).reshape(-1)
    shift = float(chances @ X) + worse
    by = np.repeat(some_bets(lead, off, 1.0), len(X), axis=0)
    log_e = bounded(X - shift, by, np.full(len(X), X.min() - shift))
    assert np.isfinite(log_e).all()  # no score takes all that was won
    assert mean_e(log_e, chances) <= 1.0 + 1e-12


@given(sizes, st.floats(-9.0, 9.0), st.floats(0.1, 10.0), st.floats(0.0, 3.0))
def test_normal_noise_of_a_stated_size_wins_no_bet(
    off: float, lead: float, tau: float, worse: float
) -> None:
    """By closed form: the mean of exp(λX − λ²τ²/2) is exp(−λ·worse), so of e their average."""
    by = some_bets(lead, off, tau, bounded=False)
    hermite, weights = np.polynomial.hermite_e.hermegauss(64)
    one = np.clip(by, 0.0, 2.0 / tau)  # where 64 nodes are exact
    log_e = gaussian(tau * hermite - worse, np.repeat(one, 64, axis=0), np.full(64, tau))
    shares = np.exp(-0.5 * np.linspace(-2, 2, 9) ** 2)
    closed = np.exp(-one[0] * worse) @ shares / shares.sum()
    assert mean_e(log_e, weights / weights.sum()) == pytest.approx(closed, rel=1e-6)
    assert closed <= 1.0


def test_an_enemy_who_chooses_leaders_and_bets_by_the_past_wins_nothing() -> None:
    """The largest mean of W after four blocks, over all that may be bet and all sizes of noise."""
    menu = [some_bets(*one) for one in ((0.1, 1.0, 1.0), (3.0, 0.1, 1.0), (1.0, 1.0, 0.1))]

    def best(wealth: float, blocks: int) -> float:
        if not blocks or wealth >= 20.0:
            return wealth
        tried = []
        for by, size in itertools.product(menu, (0.3, 5.0)):
            won = np.exp(symmetric(np.array([-size, size]), np.repeat(by, 2, axis=0)))
            tried.append(0.5 * sum(best(wealth * float(e), blocks - 1) for e in won))
        return max([wealth, *tried])  # he may stop, too

    assert best(1.0, 4) == pytest.approx(1.0, abs=1e-9)


@given(st.floats(-1e300, 1e300), st.floats(-9.0, 9.0), sizes, sizes)
def test_what_a_lead_wins_and_its_opposite_loses_add_up(
    X: float, lead: float, off: float, tau: float
) -> None:
    by = np.repeat(some_bets(lead, off, tau), 2, axis=0)
    both = np.exp(symmetric(np.array([X, -X]), by))
    assert both.sum() == pytest.approx(2.0)
    assert both.max() <= 2.0 + 1e-12


def test_growth_is_that_of_small_effects_and_two_at_most() -> None:
    assert growth(np.array([1e-4]))[0] == pytest.approx(0.5e-8, rel=1e-4)
    assert growth(np.array([50.0]))[0] == pytest.approx(math.log(2.0))
    effects = np.linspace(0.01, 5.0, 50)
    assert (np.diff(growth(effects)) > 0.0).all()


def test_certainty_takes_no_evidence_at_even_odds() -> None:
    assert certainty_entropy(0.4) == certainty_entropy(0.5) == 0.0
    assert certainty_entropy(0.95) == pytest.approx(0.9 * math.log(19.0))


def judged(k: int = 4, groups: bool = False) -> Questions:
    options = {f"o{x}": "ab"[x % 2] for x in range(k)}
    judges = {"P": "a", "Q": "b", "R": None}
    if groups:
        return Questions.panel(options, judges, bias="common", capacity=None)
    return Questions.panel(list(options), list(judges), capacity=None)


def compared() -> Questions:
    return Questions.comparisons(["a", "b", "c", "d"], ["P", "Q"], capacity=None)


@pytest.mark.parametrize("questions", [judged(), judged(groups=True), compared()])
def test_weights_of_leads_cancel_all_but_the_lead(questions: Questions) -> None:
    rng = np.random.default_rng(3)
    pairs = np.array(list(itertools.permutations(range(4), 2)))
    told = 0
    for _ in range(20):
        asked = np.sort(rng.choice(len(questions), 7, replace=False))
        counts = rng.integers(1, 4, 7)
        W = lead_weights(questions, asked, counts, pairs)
        some = np.isfinite(W).all(axis=1)
        found = W[some] @ questions.points[asked]
        assert found == pytest.approx(directions(questions, pairs)[some], abs=1e-9)
        told += int(some.sum())
    assert told > 40


def test_a_value_for_a_bar_is_that_of_an_impartial_question_to_everybody() -> None:
    questions = judged(groups=True)
    asked, pairs = np.arange(len(questions)), np.array([[1, BAR], [BAR, 2]])
    W = lead_weights(questions, asked, np.ones(len(asked)), pairs)
    assert W @ questions.points == pytest.approx(directions(questions, pairs), abs=1e-9)


def test_a_lead_that_severity_or_favour_would_pass_for_is_not_told() -> None:
    questions = judged(groups=True)
    cell = {
        (int(i), int(e)): n
        for n, (i, e) in enumerate(zip(questions.about[:, 0], questions.evaluator, strict=True))
    }
    apart = np.sort([cell[0, 0], cell[1, 1]])  # nobody saw both
    partial = np.sort([cell[0, 0], cell[1, 0]])  # who favours one of them saw both
    impartial = np.sort([cell[0, 2], cell[1, 2]])
    pair, once = np.array([[0, 1]]), np.ones(2)
    assert np.isnan(lead_weights(questions, apart, once, pair)).all()
    assert np.isnan(lead_weights(questions, partial, once, pair)).all()
    assert lead_weights(questions, impartial, once, pair).tolist() == [[1.0, -1.0]]


def aimed(**wanted: object) -> Aim:
    tolerance = wanted.pop("tolerance", 0.0)
    top = wanted.pop("top", None if wanted else 1)
    target = Target(top=top, tolerance=tolerance, **wanted)  # type: ignore[arg-type]
    return Aim(judged(), target, 0.05)


def ballot(leader: int, rivals: Sequence[int], judge: int = 0) -> Plan:
    options = sorted({leader, *rivals} - {BAR})
    pairs = np.array([[leader, x] for x in rivals])
    hopes = np.tile([1.0, 0.5, 1.0], (len(rivals), 1))
    order = np.array([x * 3 + j for j in range(3) for x in options])
    if BAR not in (leader, *rivals):
        order = order[order % 3 == judge]
    return Plan("compare", order, pairs=pairs, hopes=hopes)


def scored(record: Record, plan: Plan, scores: np.ndarray) -> None:
    """Put a plan in force, and all its scores."""
    record.begin(plan)
    record.tell(feedback_of(plan, scores))


def feedback_of(plan: Plan, scores: np.ndarray) -> Feedback:
    counts = np.bincount(plan.order, minlength=12).astype(np.int64)
    return Feedback(counts, counts * scores, counts * scores**2)


def by_hand(leads: Sequence[float]) -> float:
    """Log W of leads that each were one block, by the definition of e."""
    hope, off, tau = 1.0, 0.5, 1.0
    nodes = np.linspace(-2.0, 2.0, 9)
    shares = np.exp(-0.5 * nodes**2) / np.exp(-0.5 * nodes**2).sum()
    bet = np.clip(hope + off * nodes, 0.1 * off, tau) / tau**2
    return sum(math.log(shares @ (2.0 / (1.0 + np.exp(-2.0 * bet * X)))) for X in leads)


def test_evidence_is_the_product_of_blocks_whoever_led_and_whatever_came_between() -> None:
    rng = np.random.default_rng(1)
    plans = [ballot(0, [1, 2]), ballot(1, [2, 3]), ballot(0, [2], 2), ballot(3, [0, 2], 1)] * 2
    scores = [rng.normal(size=12) for _ in plans]
    leads: dict[int, list[float]] = {x: [] for x in range(4)}
    for plan, y in zip(plans, scores, strict=True):
        judge = int(plan.order[0]) % 3
        for i, x in plan.pairs.tolist():
            leads[x].append(y[3 * i + judge] - y[3 * x + judge])
    found = []
    for order in (range(8), rng.permutation(8), rng.permutation(8)):
        record = Record(12)
        for at in order:
            scored(record, plans[at], scores[at])
        found.append(Evidence(aimed()).follow(record).wealth[0, :4])
    for one in found:
        assert one == pytest.approx([by_hand(leads[x]) for x in range(4)])


def test_a_block_that_is_not_whole_says_nothing_and_others_may_be_out_beside_it() -> None:
    record, alone = Record(12), Record(12)
    y = np.arange(12.0)
    record.begin(ballot(0, [1]))
    second = ballot(2, [3], 1)
    scored(record, second, y)
    scored(alone, second, y)
    assert Evidence(aimed()).follow(record).wealth.tolist() == (
        Evidence(aimed()).follow(alone).wealth.tolist()
    )


def lead_by(ahead: int, behind: Sequence[int], size: float, blocks: int) -> Record:
    record = Record(12)
    for block in range(blocks):
        scored(
            record, ballot(ahead, behind, block % 3), np.repeat(size * (np.arange(4) == ahead), 3)
        )
    return record


@pytest.mark.parametrize(
    ("wanted", "ways"),
    [({}, 1), ({"top": 2}, 4), ({"top": 3}, 3), ({"bar": 0.0}, 8), ({"against": "o3"}, 6)],
)
def test_it_is_enough_for_all_that_may_be_wrong(wanted: dict[str, object], ways: int) -> None:
    assert aimed(**wanted).enough == pytest.approx(math.log(ways / 0.05))


def test_the_answer_comes_with_the_block_by_which_all_others_reach_the_threshold() -> None:
    each = by_hand([1.5])
    needed = math.ceil(LOG / each)
    for blocks in (needed - 1, needed):
        evidence = Evidence(aimed()).follow(lead_by(0, [1, 2, 3], 1.5, blocks))
        assert evidence.best == (0 if blocks == needed else None)


def test_who_is_out_once_stays_out() -> None:
    record = lead_by(0, [1, 2, 3], 3.0, 10)
    for _ in range(30):
        scored(record, ballot(0, [1, 2, 3]), np.repeat([-3.0, 0.0, 0.0, 0.0], 3))
    evidence = Evidence(aimed()).follow(record)
    assert evidence.best == 0
    assert evidence.wealth[0, 1] < 0.0


def test_places_take_pairs_across_the_line_and_a_bar_takes_sides() -> None:
    record = Record(12)
    for block in range(20):
        for a in (0, 1):
            scored(record, ballot(a, [2, 3], block % 3), np.repeat([4.0, 4.0, 0.0, 0.0], 3))
    inside, outside = Evidence(aimed(top=2)).follow(record).sides
    assert (inside.tolist(), outside.tolist()) == ([True, True, False, False],) * 1 + (
        [False, False, True, True],
    )
    barred = Record(12)
    for _ in range(20):
        scored(barred, ballot(0, [BAR]), np.full(12, 4.0))
        scored(barred, ballot(BAR, [1]), np.full(12, -4.0))
    inside, outside = Evidence(aimed(bar=0.0)).follow(barred).sides
    assert (inside.tolist(), outside.tolist()) == (
        [True, False, False, False],
        [False, True, False, False],
    )


def test_a_loss_is_the_slack_by_which_the_evidence_of_its_own_blocks_is_just_enough() -> None:
    record = lead_by(0, [1, 2, 3], 0.1, 12)
    loss = Evidence(aimed()).follow(record).loss(0)
    assert 0.0 < loss < math.inf
    shifted = 12 * by_hand([0.1 + loss])
    assert shifted == pytest.approx(LOG, abs=1e-6)


@given(st.lists(st.floats(-2.0, 4.0), min_size=4, max_size=30))
def test_losses_never_grow_and_are_nothing_once_all_others_are_out(leads: list[float]) -> None:
    record, evidence, before = Record(12), Evidence(aimed()), math.inf
    for block, size in enumerate(leads):
        scored(record, ballot(0, [1, 2, 3], block % 3), np.repeat([size, 0.0, 0.0, 0.0], 3))
        now = evidence.follow(record).loss(0)
        assert now <= before * (1.0 + 1e-9) + 1e-9
        assert (now == 0.0) == (evidence.best == 0)
        before = now


def test_a_tolerance_counts_in_the_blocks_of_the_leader_who_is_chosen_alone() -> None:
    leads = [0.1] * 12
    own = lead_by(0, [1, 2, 3], 0.1, 12)
    evidence = Evidence(aimed(tolerance=0.8)).follow(own)
    assert (evidence.best, Evidence(aimed()).follow(own).best) == (0, None)
    assert evidence.lacking(np.zeros(1, dtype=int), np.ones(1, dtype=int)) == pytest.approx(
        LOG - by_hand([0.9] * 12)
    )
    changed = Record(12)  # others led in half of them
    for block, lead in enumerate(leads):
        leader = (0, 3)[block % 2]
        at = np.repeat(lead * (np.arange(4) == leader), 3)
        scored(changed, ballot(leader, [x for x in range(4) if x != leader]), at)
    lacks = (
        Evidence(aimed(tolerance=0.8)).follow(changed).lacking(np.zeros(1, int), np.ones(1, int))
    )
    assert lacks == pytest.approx(LOG - by_hand([0.9] * 6) - by_hand([0.1] * 6))


@pytest.mark.parametrize(
    "wanted", [{}, {"tolerance": 0.3}, {"top": 2}, {"bar": 0.5}, {"against": "o1"}]
)
def test_a_copy_goes_on_as_a_new_fold_would(wanted: dict[str, object]) -> None:
    aim, rng, record = aimed(**wanted), np.random.default_rng(4), Record(12)
    plans = [ballot(0, [1, 2]), ballot(1, [2, 3]), ballot(0, [BAR]), ballot(BAR, [3])]
    if aim.target.bar is None:
        plans = plans[:2]
    evidence = Evidence(aim)
    for step in range(24):
        scored(record, plans[step % len(plans)], rng.normal([1.0] * 6 + [0.0] * 6))
        evidence.follow(record)
        if step == 12:
            copied = evidence.copied(copy.copy(aim))
    copied.follow(record)
    anew = Evidence(aim).follow(record)
    for one in (evidence, copied):
        assert one.wealth.tolist() == anew.wealth.tolist()
        assert one.most.tolist() == anew.most.tolist()
        if aim.target.top == 1:
            assert one.best == anew.best
            assert [one.loss(x) for x in range(4)] == [anew.loss(x) for x in range(4)]


def test_rounding_is_no_lead() -> None:
    record = Record(12)
    scored(record, ballot(0, [1, 2, 3]), np.repeat([0.1 + 0.2, 0.3, 0.3, 0.3], 3) + 1e6)
    assert conclude.Tested.by(record.rounds[0], aimed()).X.tolist() == [0.0, 0.0, 0.0]
