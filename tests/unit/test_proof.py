"""The proof: every part by another route, what policies state, and what they might have stated."""

from __future__ import annotations

import math
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import integrate, stats

import evenhand as eh
from evenhand.arrays import Floats
from evenhand.campaigns.proof import Examination, examine
from evenhand.campaigns.proof.certain import Certain
from evenhand.campaigns.proof.evidence import Reading, against_equality, log_moment
from evenhand.campaigns.proof.record import record_of
from evenhand.campaigns.proof.squares import Fit, Spread
from evenhand.campaigns.proof.winner import Winner
from evenhand.certainty.aim import model_of
from evenhand.certainty.e_process import StageReading as Stage
from evenhand.certainty.e_process import interval
from evenhand.certainty.stages import reading
from evenhand.numerics.intervals import planned_interval
from records import Log, Play, changed, played
from rotation import nightly


def panel(capacity: int | None = None, **more: Any) -> eh.Questions:
    options = {"Ann": "a", "Bo": "b", "Cy": "c", "Di": "a"}
    return eh.Questions.panel(
        options, {"P": "a", "Q": "b", "R": None, "S": "c"}, capacity=capacity, **more
    )


def options() -> eh.ActionSet:
    rng = np.random.default_rng(5)
    features = np.column_stack([np.ones(8), rng.standard_normal(8)])
    return eh.ActionSet(features, ["home", "away"] * 4)


def many() -> eh.ActionSet:
    features = np.random.default_rng(6).standard_normal((20, 8))
    return eh.ActionSet(features, ["home", "away"] * 10)


def truth(asked: eh.ActionSet | eh.Questions, seed: int, size: float = 1.0) -> Floats:
    points = asked.points
    return points @ (size * np.random.default_rng(seed).standard_normal(points.shape[1]))


# ------------------------------------------------------------------ parts


@pytest.mark.parametrize("nu", [0, 1, 2, 7, 30, 400])
@pytest.mark.parametrize("y", [-20.0, -3.0, -0.1, 0.0, 0.5, 4.0, 40.0])
def test_moments_are_those_of_chi(nu: int, y: float) -> None:
    with mpmath.workdps(30):
        mode = 0.5 * (y + math.sqrt(y * y + 4.0 * nu)) if nu else max(y, 0.0)
        cuts = [0, max(mode - 9, 0) / 2, max(mode - 9, 0), mode, mode + 9, mpmath.inf]
        cuts = sorted(set(cuts))

        def integrand(r: Any) -> Any:
            return r**nu * mpmath.exp(-r * r / 2 + r * y)

        norm = mpmath.mpf(2) ** ((nu - 1) / mpmath.mpf(2)) * mpmath.gamma((nu + 1) / mpmath.mpf(2))
        exact = float(mpmath.log(mpmath.quad(integrand, cuts) / norm))
    said = float(log_moment(np.array([float(nu)]), np.array([y]))[0])
    assert said == pytest.approx(exact, rel=1e-7, abs=1e-8)


@pytest.mark.parametrize("freedom", [math.inf, 4.0, 40.0])
def test_evidence_is_enough_at_the_ends_of_intervals_and_not_inside(freedom: float) -> None:
    """By the policies' search for the ends, and by formulas of the proof at them."""
    rng = np.random.default_rng(0)
    n, scatter, failure = 20, 0.0 if math.isinf(freedom) else 1.3 * freedom, 0.03
    stages, plans = [], []
    for _ in range(2):
        J, spread, unit = rng.uniform(0.5, 30.0, n), rng.uniform(0.1, 2.0, n), 1.1
        at, centre = rng.normal(size=n) / np.sqrt(J), spread * rng.normal(size=n)
        ones = np.ones(n)
        parts = scatter * ones, freedom * ones, centre, spread, unit * ones
        stages.append(Stage(at, J, *parts))
        plans.append((Reading(at, J, scatter, freedom), Spread(centre, spread**2), unit))
    middle, low, high = interval(stages, failure)
    for end in (low, high):
        far = np.isinf(end)
        had = against_equality(plans, np.where(far, middle, end))[~far]
        assert (had >= math.log(1.0 / failure) - 1e-7).all()
        near = np.where(far, middle, end - 1e-3 * (end - middle))
        assert (against_equality(plans, near)[~far] < math.log(1.0 / failure)).all()
    one = Reading(np.array([0.4]), np.array([9.0]), scatter, freedom)
    far_out = planned_interval(0.4, 9.0, scatter, freedom, 20.0, failure)[1]
    said = one.mixed(np.array([far_out]), np.array([20.0]))[0]
    assert said == pytest.approx(math.log(1.0 / failure)) or math.isinf(far_out)


@pytest.mark.parametrize("policy", [True, False])
def test_what_is_left_of_equal_scores_is_no_evidence(policy: bool) -> None:
    """Rounded scores have a noise of exactly 0 at times; then rounding would be certain."""
    asked = panel()
    q = len(asked)
    counts = np.full(q, 2)
    alike, apart = np.full(q, 3.1), np.where(asked.about[:, 0] == 1, 4.1, 3.1)
    for scores, says in ((alike, False), (apart, True)):
        if policy:
            model = model_of(asked)
            told = eh.Feedback(counts, counts * scores, counts * scores**2)
            before = model.fit(eh.Feedback(counts, 0.7 * counts, counts.astype(float)), None)
            fit = model.fit(told, None, before)
            leads = fit.leads(1, np.array([0, 2, 3]))
            information = reading(fit, leads, leads, 1.0).information
        else:
            fitted = Fit.of(asked.points, counts.astype(float), scores, np.zeros(q), False)
            X = np.eye(4, asked.points.shape[1])
            said = fitted.of_rows(X[1] - X[[0, 2, 3]])
            information = Reading.of(fitted, said, np.ones(3, dtype=np.bool_)).information
        assert (information > 0.0).all() == says
        assert (information == 0.0).all() == (not says)


@pytest.mark.parametrize("freedom", [math.inf, 6.0])
def test_the_winner_test_is_a_ratio_of_areas(freedom: float) -> None:
    rng = np.random.default_rng(2)
    factor, leads, R = rng.normal(size=(3, 4)), np.array([0.4, 1.7, 3.0]), 2.5
    winner = Winner(leads, factor, 0.0 if math.isinf(freedom) else R, freedom)
    S, null = factor @ factor.T, -0.3
    for j, chance in enumerate(winner.chances(null)):
        rooms = leads * S[j, j] / S[j]
        low = leads[j] - rooms[rooms > 0].min()
        high = leads[j] - rooms[rooms < 0].max(initial=-np.inf)
        root = math.sqrt(S[j, j])
        x, a, b = ((end - null) / root for end in (leads[j], low, high))
        reach = 40.0 if math.isinf(freedom) else math.sqrt(R + x**2)

        def area(z: float, reach: float = reach) -> float:
            if math.isinf(freedom):
                return float(stats.norm.pdf(z))
            return float(max(reach**2 - z * z, 0.0) ** (freedom / 2 - 1))

        a, b = max(a, -reach), min(b, reach)
        part, whole = (integrate.quad(area, begin, b)[0] for begin in (x, a))
        assert chance == pytest.approx(part / whole, rel=1e-6)


# ------------------------------------------------------------------ whole decisions

CASES: dict[str, tuple[Any, dict[str, Any]]] = {
    "panel": (panel(), {"at_most": 120}),
    "panel, sure": (panel(), {"at_most": 400, "noise": 0.3}),
    "long plans": (panel(), {"noise_scale": 3.0, "noise": 3.0, "stop": 411}),
    "panel, bounded": (panel(), {"at_most": 150, "bounds": (-12.0, 12.0)}),
    "panel, tolerance": (panel(), {"at_most": 90, "tolerance": 0.4, "noise_scale": 1.0}),
    "prices and noise": (
        panel(prices={"R": 4.0}, noise={"P": 0.5}),
        {"at_most": 200, "budget": 150.0, "together": 4},
    ),
    "features help": (panel(features=[[0.0], [1.0], [2.0], [4.0]]), {"at_most": 60, "together": 3}),
    "limited": (panel(6), {"stop": 50, "together": 2}),
    "comparisons": (eh.Questions.comparisons(["A", "B", "C"], ["P", "Q"]), {"at_most": 100}),
    "features exact": (options(), {"at_most": 150, "deviation": 0, "noise": 0.4}),
    "many features": (many(), {"at_most": 500, "deviation": 0, "noise": 0.4, "together": 2}),
    "many features, tolerance": (
        many(),
        {"at_most": 300, "deviation": 0, "noise_scale": 1.0, "tolerance": 0.3},
    ),
    "σ too small": (panel(), {"at_most": 300, "noise_scale": 0.4}),
    "all alike": (panel(), {"at_most": 40, "noise": 0.0, "size": 0.0}),
    "once": (panel(1), {"looks": "once", "noise": 0.3}),
    "once, small tolerance": (panel(1), {"looks": "once", "tolerance": 0.1, "noise": 0.7}),
    "once, large tolerance": (panel(1), {"looks": "once", "tolerance": 3.0, "noise": 0.7}),
    "once, on a scale": (panel(1), {"looks": "once", "bounds": (-1.0, 1.0)}),
    "once, compared": (
        eh.Questions.comparisons(["A", "B", "C", "D"], ["P", "Q", "R"], capacity=1),
        {"looks": "once", "noise": 0.5},
    ),
    "always": (panel(2), {"looks": "always", "noise": 0.5, "together": 5}),
    "always, tolerance": (panel(4), {"looks": "always", "tolerance": 0.2, "noise_scale": 1.0}),
    "once, bounded": (panel(1), {"looks": "once", "noise": 0.3, "bounds": (-12.0, 12.0)}),
    "always, bounded": (panel(4), {"looks": "always", "noise": 0.5, "bounds": (-12.0, 12.0)}),
    "cut short": (panel(2), {"looks": "always", "noise": 0.5, "stop": 13}),
    "careful": (options(), {"at_most": 300, "noise": 0.3}),
    "careful, stated": (
        options(),
        {"at_most": 200, "noise": 0.3, "noise_scale": 0.3, "tolerance": 0.2, "together": 3},
    ),
    "careful, few": (options(), {"at_most": 12, "noise": 0.3}),
}


@pytest.mark.parametrize("name", CASES)
def test_what_a_policy_states_is_confirmed(name: str) -> None:
    asked, settings = CASES[name]
    size = settings.get("size", 1.0)
    for seed in range(2):
        log = played(asked, truth(asked, 1 + seed, size), seed, **settings)
        found = examine(log)
        assert found.wrong == ()
        assert found.confirmed[0].startswith("what is lost")


def test_what_a_scale_allows_is_confirmed_if_the_scores_are_on_it() -> None:
    asked, settings = CASES["once, on a scale"]
    log = played(asked, truth(asked, 1), 1, **settings)
    answer = log[-1][1]["answer"]
    assert answer["loses_at_most"] <= 2.0
    assert any(line["high"] == 1.0 for line in answer["ranking"])
    narrower = changed(log, [0, 1, "settings", "bounds"], [-0.9, 0.9])
    assert "beyond the scale" in examine(narrower).wrong[0]
    assert examine(changed(log, [0, 1, "settings", "bounds"], None)).wrong


@pytest.mark.parametrize("looks", ["once", "always"])
def test_what_is_certain_between_bounds_is_confirmed_and_no_more(looks: str) -> None:
    asked = eh.Questions.panel(["Ann", "Bo", "Cy"], ["P", "Q", "R", "S"], capacity=4)
    worth = np.where(np.arange(len(asked)) < 4, 4.0, -4.0)
    log = played(asked, worth, 3, looks=looks, noise=0.2, bounds=(-5.0, 5.0))
    answer = log[-1][1]["answer"]
    assert (answer["option"], answer["sure"]) == (asked.options.labels[0], True)
    assert examine(log).wrong == ()
    wider = [0, 1, "policy", "arguments", "named", "bounds"]
    assert examine(changed(log, wider, [-9.0, 9.0])).wrong


def test_what_a_plan_expects_of_one_population_must_follow_from_the_scores() -> None:
    asked, settings = CASES["many features"]
    log = played(asked, truth(asked, 1), 1, **settings)
    plans = [i for i, (kind, content) in enumerate(log) if kind == "planned"]
    compare = next(i for i in plans if log[i][1]["plan"]["purpose"] == "compare")
    where = [compare, 1, "plan", "expected", "leads", 0]
    lead = log[compare][1]["plan"]["expected"]["leads"][0]
    wrong = examine(changed(log, where, 1.001 * lead)).wrong
    assert any("does not follow from the scores before it" in text for text in wrong)


@pytest.fixture(scope="module")
def certain() -> Log:
    log = played(panel(), truth(panel(), 2, 2.0), 4, noise_scale=1.0, at_most=400)
    assert log[-1][1]["answer"]["sure"]
    assert examine(log).wrong == ()
    return log


@pytest.mark.parametrize(
    ("where", "to"),
    [
        (["option"], "Di"),
        (["loses_at_most"], "nothing"),
        (["loses_at_most"], -0.1),
        (["loses_at_most"], "-inf"),
        (["withstands"], "-inf"),
        (["withstands"], 99.0),
        (["ranking", 1, "low"], -1e-9),
        (["ranking", 2, "high"], 0.1),
        (["ranking", 2, "high"], -99.0),
        (["ranking", 0, "option"], "Ed"),
        (["biases", 1, "low"], 0.0),
        (["biases", 1, "high"], -99.0),
        (["biases"], [{}]),
    ],
)
def test_a_statement_that_was_changed_is_not_confirmed(
    certain: Log, where: list[Any], to: Any
) -> None:
    assert examine(changed(certain, [-1, 1, "answer", *where], to)).wrong


@pytest.mark.parametrize(
    "name",
    ["panel", "comparisons", "features exact", "limited", "once", "once, compared", "always"],
)
@pytest.mark.parametrize("seeds", [range(2, 4), *nightly([range(4)])], ids=len)
def test_a_smaller_loss_or_a_narrower_interval_is_not_confirmed(name: str, seeds: range) -> None:
    asked, settings = CASES[name]
    answer = [-1, 1, "answer"]
    tried = 0
    for seed in seeds:
        log = played(asked, truth(asked, 1 + seed, 0.3), seed, **settings)
        said = log[-1][1]["answer"]
        assert examine(log).wrong == ()
        if said["loses_at_most"]:  # None has no end
            tried += 1
            assert examine(
                changed(log, [*answer, "loses_at_most"], 0.9 * said["loses_at_most"])
            ).wrong
        for i, line in enumerate(said["ranking"]):
            if isinstance(line["low"], float) and line["high"] > line["low"]:
                for end, other in (("low", "high"), ("high", "low")):
                    at = line[end] + 0.02 * (line[other] - line[end])
                    assert examine(changed(log, [*answer, "ranking", i, end], at)).wrong
    assert tried


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("careful", ("values", "biases")),  # features are said to be exact
        ("careful, stated", ("what is lost to others", "values")),
    ],
)
def test_of_a_careful_choice_by_own_scores_what_is_lost_within_a_group_is_confirmed(
    name: str, taken: tuple[str, ...]
) -> None:
    asked, settings = CASES[name]
    log = played(asked, truth(asked, 2), 1, **settings)
    assert (examine(log).wrong, examine(log).taken) == ((), taken)
    answer, groups = log[-1][1]["answer"], dict(zip(asked.labels, asked.groups, strict=True))
    own = {x for x, group in groups.items() if group == groups[answer["option"]]}
    worst = [line["option"] for line in answer["ranking"] if line["option"] in own][-1]
    forged = changed(log, [-1, 1, "answer"], answer | {"option": worst, "loses_at_most": 0.0})
    to = {text.rpartition(" to ")[2].split("'")[1] for text in examine(forged).wrong}
    assert to
    assert "biases" in taken or to <= own


def told(log: Log, n: int) -> int:
    """Return the place of the n-th score."""
    return [i for i, (kind, _) in enumerate(log) if kind == "told"][n]


def plans_in(log: Log) -> list[int]:
    """Return the places of plans that test something."""
    return [i for i, (kind, c) in enumerate(log) if kind == "planned" and c["plan"]["leader"] >= 0]


def test_scores_that_were_changed_are_seen(certain: Log) -> None:
    n = sum(kind == "told" for kind, _ in certain)
    place = told(certain, n // 2)
    row = [place, 1, "evaluations", 0]
    score = certain[place][1]["evaluations"][0][3]
    assert examine(changed(certain, [*row, 3], score + 1e-3)).wrong
    assert examine(changed(certain, [*row, 2], 0)).wrong
    assert examine([*certain[:place], *certain[place + 1 :]]).wrong
    gone = {"evaluation": n // 2, "ticket": None, "blind": True, "reopened": False}
    withdrawn = ("withdrawn", gone)
    assert examine([*certain[:-1], withdrawn, certain[-1]]).wrong
    named = [0, 1, "policy", "arguments", "named"]
    for name, value in (("confidence", 0.9999999), ("noise_scale", 1.1), ("tolerance", -1.0)):
        assert examine(changed(certain, [*named, name], value)).wrong, name


def test_plans_that_were_changed_are_seen(certain: Log) -> None:
    """A prior that knew the outcome would make evidence of anything."""
    first, *_, last = plans_in(certain)
    plan = [first, 1, "plan"]
    leads = certain[first][1]["plan"]["expected"]["leads"]
    for part, to in (
        (["expected", "leads"], [lead + 1.0 for lead in leads]),
        (["expected", "variances"], [1.0 for _ in leads]),
        (["expected", "unit"], 0.5),
        (["leader"], certain[first][1]["plan"]["rivals"][0]),
    ):
        assert examine(changed(certain, [*plan, *part], to)).wrong, part
    earlier = list(certain)
    earlier.insert(last - 2, earlier.pop(last))  # the plan before it ends when it looks best
    assert examine(earlier).wrong
    assert examine([*certain[:last], *certain[last + 1 :]]).wrong


def test_a_certificate_says_where_the_evidence_was(certain: Log) -> None:
    places = certain[-1][1]["certificate"]["sufficed"]
    labels = panel().options.labels
    best = labels.index(certain[-1][1]["answer"]["option"])
    assert sorted(x for x, *_ in places) == sorted({0, 1, 2, 3} - {best})
    record = record_of(certain)
    check = Certain(record, certain[-1][1]["certificate"])
    assert not check.unrefuted(best, 0.0).any()
    assert len(check._fits) <= len(places) + len(check.tests)  # and ends of plans, no other looks
    for x, r, n in places:
        wealth = np.zeros(4)
        for p, one, _ in check.tests:
            if p < r:
                wealth[one.plan.rivals] += check.evidence(p, len(one.told), 0.0)
        at = record.rounds[r].plan.rivals == x
        had = [wealth[x] + float(check.evidence(r, i, 0.0)[at][0]) for i in (n - 1, n)]
        assert had[0] < math.log(20.0) <= had[1] + 1e-9


def looks() -> Log:
    log = played(panel(2), truth(panel(2), 3), 1, looks="always", noise=0.5)
    assert examine(log).wrong == ()
    assert log[-1][1]["certificate"]["looks"]
    return log


@pytest.mark.parametrize(
    ("where", "to"),
    [
        (["looks", 0, 0], 1),
        (["looks", 0, 1], 7),
        (["looks", 0, 2], 10**6),
        (["looks", 0, 3], -1),
        (["looks", 0, 4], 1.5),
        (["looks", 0, 4], "much"),
        (["looks", 0], []),
        (["looks"], None),
        (["chance"], 2.0),
        (["began"], -1),
        (["sufficed", 0, 1], -1),
        (["sufficed", 0, 1], 99),
        (["sufficed", 0, 2], 10**6),
        (["sufficed", 0, 2], 0.5),
        (["sufficed"], [["Ann", "x", {}]]),
        (["ended"], [99]),
        (["ended"], {"a": 1}),
    ],
)
def test_a_certificate_that_is_none_is_refused_in_words(
    certain: Log, where: list[Any], to: Any
) -> None:
    log = certain if where[0] in ("sufficed", "ended") else looks()
    (wrong,) = examine(changed(log, [-1, 1, "certificate", *where], to)).wrong
    assert "cannot be read" in wrong


def test_who_did_not_lead_at_a_look_is_not_confirmed() -> None:
    """The winner test is about the option that leads by the scores, and no other."""
    log = looks()
    place = [-1, 1, "certificate", "looks", 0, 3]
    others = {0, 1, 2, 3} - {log[-1][1]["certificate"]["looks"][0][3]}
    for x in others:
        (wrong,) = examine(changed(log, place, x)).wrong
        assert "does not lead" in wrong


@pytest.mark.parametrize("tolerance", [0.0, 0.3])
def test_what_an_answer_ended_counts_for_that_answer_alone(tolerance: float) -> None:
    """Options that come after an answer are tested by new plans; the one it ended adds nothing."""
    few = eh.Questions.panel(["Ann", "Bo", "Cy"], ["P", "Q", "R"], capacity=None)
    more = eh.Questions.panel(["Zoe", "Ann", "Bo", "Cy"], ["P", "Q", "R"], capacity=None)
    worth, ended = {"Ann": 3.0, "Bo": 0.5, "Cy": 0.0, "Zoe": 5.0}, False
    for seed in range(3):
        play = Play(few, seed, noise_scale=1.0, tolerance=tolerance, at_most=500)
        play.go_on(lambda label: worth[label.split(" by ")[0]])
        first = play.decided()
        assert examine(first).wrong == ()
        play.extend(more)
        play.go_on(lambda label: worth[label.split(" by ")[0]])
        log = play.decided()
        assert log[-1][1]["answer"]["option"] == "Zoe"
        assert log[-1][1]["answer"]["sure"]
        assert examine(log).wrong == ()
        check = Certain(record_of(log), log[-1][1]["certificate"])
        for r in log[-1][1]["certificate"]["ended"]:
            ended |= r < len(check.record.rounds) - 1
            assert not any(whole for p, _, whole in check.tests if p == r)
    assert ended


@pytest.mark.parametrize("more", [0, 3, 6, 9, 12])
def test_a_design_that_begins_anew_after_an_answer_is_confirmed(more: int) -> None:
    """After an answer a design begins anew: by its scores alone, little is known for a while."""
    names, judges = ["Ann", "Bo", "Cy"], ["P", "Q", "R"]
    few = eh.Questions.panel(names, judges, capacity=4)
    play = Play(few, 1, noise=0.3, looks="always")

    def worth(label: str) -> float:
        return {"Ann": 2.0, "Bo": 0.5, "Cy": 0.0, "Zoe": 1.5}[label.partition(" by ")[0]]

    play.go_on(worth)
    assert play.decided()[-1][1]["answer"]["sure"]
    play.extend(eh.Questions.panel(["Zoe", *names], judges, capacity=8))
    play.policy.limits.leave("R")
    play.go_on(worth, len(play.told) + more)
    log = play.decided()
    assert examine(log).wrong == ()


def test_what_was_withdrawn_counts_for_no_plan() -> None:
    play = Play(panel(), 3, noise_scale=1.0, at_most=300)
    means = dict(zip(panel().labels, truth(panel(), 2, 2.0), strict=True))
    play.go_on(means.__getitem__, stop=40)
    play.withdraw(5, 33)
    play.go_on(means.__getitem__)
    log = play.decided()
    assert log[-1][1]["answer"]["sure"]
    assert examine(log).wrong == ()
    kept = [event for event in log if event[0] != "withdrawn"]
    assert examine(kept).wrong


def test_imported_scores_are_planned_by_and_are_no_evidence() -> None:
    play = Play(panel(), 3, noise_scale=1.0, at_most=300)
    means = dict(zip(panel().labels, truth(panel(), 2, 2.0), strict=True))
    play.observe(means.__getitem__, 30)
    play.go_on(means.__getitem__)
    log = play.decided()
    assert examine(log).wrong == ()
    told_ = [(("told" if kind == "imported" else kind), content) for kind, content in log]
    assert examine(told_).wrong


def test_other_policies_are_left_to_replay() -> None:
    asked = options()
    log = played(asked, truth(asked, 1), 0, policy=eh.policy("uniform", asked, horizon=24))
    assert examine(log) == Examination((), (), ("what 'uniform' states",))


@pytest.mark.parametrize(
    ("where", "to"),
    [
        (["rows", "columns", 3], 10**6),
        (["rows", "columns", 3], -1),
        (["rows", "starts", 2], 999),
        (["rows", "shape"], [10**9, 10**9]),
        (["rows", "entries", 0], 1e300),
        (["rows", "entries", 0], "1.0"),
        (["n_features"], 10**12),
        (["noise"], [0.0] * 16),
        (["options"], "Ann"),
        (["about", 0], [99, -1]),
        (["columns"], [3, 4]),
        (["evaluators"], None),
    ],
)
def test_questions_that_are_none_are_refused_before_any_kernel_sees_them(
    certain: Log, where: list[Any], to: Any
) -> None:
    place = [0, 1, "policy", "arguments", "placed", 0, "questions"]
    (wrong,) = examine(changed(certain, [*place, *where], to)).wrong
    assert "cannot be read" in wrong


def test_a_model_that_is_too_large_is_left_to_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    log = played(panel(), truth(panel(), 1), 1, at_most=60)
    monkeypatch.setattr("evenhand.campaigns.proof.record.MOST_COLUMNS", 5)
    assert examine(log) == Examination(
        (), (), ("all that rests on 16 questions with 8 parameters",)
    )
