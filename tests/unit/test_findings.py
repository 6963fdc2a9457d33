"""Findings in a table of scores: planted faults are found and named, clean tables show nothing."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import evenhand as eh
from evenhand.findings import findings_of
from evenhand.scores import Factor, Finding, Scores
from score_tables import scored

K, J = 8, 10


def names(codes: np.ndarray, prefix: str) -> Factor:
    return Factor.of([f"{prefix}{code}" for code in codes])


def panel(
    seed: int | np.random.Generator = 0, k: int = K, j: int = J, noise: np.ndarray | None = None
) -> Scores:
    """Return a complete panel: row j·o + e has the score of evaluator e on option o."""
    rng = np.random.default_rng(seed)
    o, e = (codes.ravel() for codes in np.indices((k, j)))
    y = rng.normal(size=k)[o] + 0.7 * rng.normal(size=j)[e]
    y += rng.normal(size=len(o)) if noise is None else noise
    return Scores(y, names(o, "o"), names(e, "e"))


def fitted(scores: Scores, *factors: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return residuals, hat values and degrees of freedom of least squares on dummies."""
    assert scores.evaluator is not None
    codes = factors or (scores.scored[0], scores.chairs[0])
    columns = [column == i for column in codes for i in range(column.max() + 1)]
    if scores.partial is not None:
        columns.append(scores.partial)
    left, sizes, _ = np.linalg.svd(np.column_stack(columns).astype(float), full_matrices=False)
    basis = left[:, sizes > 1e-9 * sizes[0]]
    y = scores.score
    return y - basis @ (basis.T @ y), (basis**2).sum(axis=1), len(y) - basis.shape[1]


def found_in(scores: Scores, *factors: np.ndarray) -> tuple[Finding, ...]:
    return findings_of(scores, *fitted(scores, *factors), beside=scores.beside)


def codes_in(scores: Scores, *factors: np.ndarray) -> list[str]:
    return [finding.assumption for finding in found_in(scores, *factors)]


def moved(scores: Scores, rows: list[int], by: float) -> Scores:
    y = scores.score.copy()
    y[rows] += by
    return replace(scores, score=y)


def marks(scores: Scores, low: int, high: int, size: float) -> Scores:
    middle = 0.5 * (low + high)
    return replace(scores, score=np.clip(np.rint(middle + size * scores.score), low, high))


def clean(kind: str, rng: np.random.Generator) -> Scores:
    if kind == "small":
        return panel(rng, 5, 6)
    if kind == "incomplete":
        scores = panel(rng, 12, 9)
        kept = [o * 9 + e for o in range(12) for e in rng.permutation(9)[:4]]
        return scores.among(np.sort(kept))
    if kind == "t5":
        return panel(rng, noise=rng.standard_t(5, size=K * J))
    scores = panel(rng)
    if kind == "votes":
        return replace(scores, score=(scores.score > 1.0).astype(float))
    if kind == "timed":
        return replace(scores, time=rng.permutation(K * J).astype(float))
    if kind == "five marks":
        return marks(scores, 1, 5, 0.8)
    return marks(scores, 1, 10, 1.2) if kind == "ten marks" else scores


KINDS = ["plain", "small", "incomplete", "votes", "five marks", "ten marks", "timed", "t5"]


def test_at_most_three_in_a_hundred_clean_tables_show_anything() -> None:
    rng, runs = np.random.default_rng(1), 60
    shown = sum(bool(found_in(clean(kind, rng))) for kind in KINDS for _ in range(runs))
    assert shown <= stats.binom.isf(1e-3, len(KINDS) * runs, 0.03)


@pytest.mark.parametrize("scores", [panel(k=1), panel(j=1), panel(k=2, j=2)])
def test_tables_too_small_to_ask_show_nothing(scores: Scores) -> None:
    assert found_in(scores) == ()


def test_scores_without_any_scatter_show_nothing() -> None:
    assert found_in(panel(noise=np.zeros(K * J))) == ()
    assert found_in(replace(panel(), score=np.ones(K * J))) == ()


def test_a_score_that_is_off_by_eight_deviations_is_seen() -> None:
    rng, runs = np.random.default_rng(2), 100
    seen = 0
    for _ in range(runs):
        row = int(rng.integers(K * J))
        found = found_in(moved(panel(rng), [row], 8.0 * rng.choice([-1.0, 1.0])))
        note = ("outliers", False, (f"o{row // J}",))
        seen += [(one.assumption, one.alarm, one.concerns) for one in found] == [note]
    assert seen >= stats.binom.isf(1 - 1e-3, runs, 0.84)


def test_a_typing_error_is_named_with_its_row_option_and_evaluator() -> None:
    scores = replace(moved(panel(), [37], 40.0), place=lambda row: f"line {row + 2}")
    (found,) = found_in(scores)
    assert (found.assumption, found.alarm, found.concerns) == ("outliers", True, ("o3",))
    assert found.p_value < 1e-6
    for name in ("o3", "e7", "line 39", " above "):
        assert name in found.message
    assert " below " in found_in(moved(panel(), [37], -40.0))[0].message


def test_two_errors_do_not_hide_one_another() -> None:
    rows = [12, 55]
    (found,) = found_in(moved(panel(), rows, 12.0))
    assert set(found.concerns) == {"o1", "o5"}
    (found,) = found_in(moved(panel(), [12, 15], 12.0))  # of the same option
    assert found.concerns == ("o1",)


def test_an_error_beside_the_only_other_score_of_its_option_concerns_the_option() -> None:
    rng = np.random.default_rng(3)
    scores = panel(rng, 12, 9)
    scores = scores.among(np.flatnonzero((np.arange(108) >= 9) | (np.arange(108) % 9 < 2)))
    found = found_in(moved(scores, [0], 30.0))
    assert [one.concerns for one in found if one.alarm] == [("o0",)]


def test_an_error_in_a_comparison_concerns_both_options() -> None:
    rng = np.random.default_rng(4)
    first, second, judge = np.array(
        [(a, b, e) for a, b in itertools.combinations(range(6), 2) for e in range(5)]
    ).T
    y = rng.normal(size=len(first)) + 0.5 * (second - first)
    y[20] += 25.0
    option = Factor(first.astype(np.int32), tuple(f"o{i}" for i in range(6)))
    scores = Scores(y, option, names(judge, "e"), rival=second.astype(np.int32))
    basis = np.linalg.qr((first[:, None] == range(6)) * 1.0 - (second[:, None] == range(6)))[0][
        :, :5
    ]
    residual, leverage = y - basis @ (basis.T @ y), (basis**2).sum(axis=1)
    found = findings_of(scores, residual, leverage, len(y) - 5)
    assert [one.concerns for one in found if one.alarm] == [(f"o{first[20]}", f"o{second[20]}")]


@pytest.mark.parametrize(
    ("tail", "most"), [("t3", 0.16), ("lognormal", 0.28), ("votes", 0.0), ("loud judge", 0.15)]
)
def test_heavy_tails_seldom_look_like_typing_errors(tail: str, most: float) -> None:
    rng, runs, shown = np.random.default_rng(5), 100, 0
    for _ in range(runs):
        noise = {
            "t3": rng.standard_t(3, size=K * J),
            "lognormal": rng.lognormal(size=K * J),
            "votes": np.zeros(K * J),
            "loud judge": rng.normal(size=K * J) * np.where(np.arange(K * J) % J == 0, 6.0, 1.0),
        }[tail]
        scores = panel(rng, noise=noise)
        if tail == "votes":
            scores = replace(scores, score=(scores.score > 1.5).astype(float))
        shown += "outliers" in codes_in(scores)
    assert shown <= most * runs


@pytest.mark.parametrize("shift", [0.0, 3.5])
def test_who_copies_is_named_up_to_a_constant(shift: float) -> None:
    y = panel(k=6, j=5).score.reshape(6, 5).copy()
    scores = replace(panel(k=6, j=5), score=y.ravel())
    assert "copies" not in codes_in(scores)
    y[:, 3] = y[:, 1] + shift
    for size in (1e-90, 1.0, 1e12):
        found = found_in(replace(scores, score=y.ravel() * size))
        assert [one.assumption for one in found if one.alarm] == ["copies"]
        assert all(name in found[0].message for name in ("e1", "e3"))
        assert found[0].concerns == ()


def test_marks_and_orders_may_agree_in_earnest() -> None:
    rng = np.random.default_rng(6)
    for _ in range(40):
        order = np.argsort(np.argsort(1.5 * np.arange(6)[:, None] + rng.normal(size=(6, 8)), 0), 0)
        whole = rng.integers(1, 4, size=(6, 8))
        for y in (order, whole):
            scores = replace(panel(k=6, j=8), score=y.ravel().astype(float))
            assert "copies" not in codes_in(scores)
    assert "copies" not in codes_in(
        replace(panel(k=5, j=4), score=np.repeat([7.1, 5.2, 6.4, 3.3, 8.0], 4))
    )


def test_copies_are_seen_over_several_events() -> None:
    rng = np.random.default_rng(7)
    event, option, judge = (codes.ravel() for codes in np.indices((3, 4, 5)))
    y = rng.normal(size=(3, 4, 5))
    y[:, :, 4] = y[:, :, 0]
    scores = Scores(y.ravel(), names(option, "o"), names(judge, "e"), event=names(event, "v"))
    assert [one.assumption for one in found_in(scores) if one.alarm] == ["copies"]


def test_decide_is_not_sure_where_a_judge_is_anothers_copy() -> None:
    rng = np.random.default_rng(5)
    scores = 3.0 * np.arange(6)[:, None] + rng.normal(scale=0.5, size=(6, 4))
    honest = eh.decide(scored(scores, "PQRS"))
    assert honest.sure
    assert not honest.alarms
    scores[:, 3] = scores[:, 0] + 1.0
    copied = eh.decide(scored(scores, "PQRS"))
    assert not copied.sure
    assert any("P" in one.message and "S" in one.message for one in copied.alarms)


def test_scores_cut_off_at_an_end_are_noted() -> None:
    scores = panel()
    high, low = np.quantile(scores.score, [0.7, 0.3])
    for cut, code in (
        (np.minimum(scores.score, high), "ceiling"),
        (np.maximum(scores.score, low), "floor"),
    ):
        (found,) = [one for one in found_in(replace(scores, score=cut)) if one.assumption == code]
        assert not found.alarm
        assert found.message.startswith(
            f"{np.mean(cut == (high if code == 'ceiling' else low)):.0%}"
        )
    assert not {"ceiling", "floor"} & {*codes_in(scores)}
    assert not {"ceiling", "floor"} & {*codes_in(marks(scores, 1, 5, 0.6))}  # whose ends are rare


def test_drift_in_random_order_is_a_note() -> None:
    rng = np.random.default_rng(8)
    time = rng.permutation(K * J) / (K * J)
    scores = replace(moved(panel(), [], 0.0), time=time)
    assert "drift" not in codes_in(scores)
    for best, word in (("high", "lenient"), ("low", "severe")):
        (found,) = found_in(replace(scores, score=scores.score + 4.0 * time, best=best))
        assert (found.assumption, found.alarm) == ("drift", False)
        assert word in found.message
        slope = float(found.message.split("by ")[1].split()[0])
        assert slope == pytest.approx(4.0 * time.std(), abs=0.35)  # three errors, 1/√(n − rank)


def test_drift_that_makes_leads_or_a_bias_is_an_alarm() -> None:
    rng = np.random.default_rng(9)
    scores = panel()
    time = rng.random(K * J) + 0.25 * scores.option.codes  # options come one after another
    (found,) = found_in(replace(scores, score=scores.score + 4.0 * time, time=time))
    assert (found.assumption, found.alarm) == ("drift", True)
    assert scores.evaluator is not None
    own = (scores.option.codes % 2 == scores.evaluator.codes % 2).astype(float)
    time = rng.random(K * J) + 2.0 * own  # their own come last
    (found,) = found_in(replace(scores, score=scores.score + 4.0 * time, time=time, stated=own))
    assert (found.assumption, found.alarm) == ("drift", True)


def test_a_time_that_options_share_shows_no_drift() -> None:
    scores = panel()
    time = scores.option.codes.astype(float)
    assert found_in(replace(scores, score=scores.score + 4.0 * time, time=time)) == ()


def test_a_noisy_evaluator_is_named_in_a_note() -> None:
    rng = np.random.default_rng(10)
    times = np.where(np.arange(K * J) % J == 4, 6.0, 1.0)
    found = found_in(panel(3, noise=times * rng.normal(size=K * J)))
    assert [(one.assumption, one.alarm) for one in found] == [("noise", False)]
    assert "e4" in found[0].message
    assert found[0].p_value < 1e-3


def test_likings_for_options_that_come_on_many_items_are_no_noise() -> None:
    rng = np.random.default_rng(11)
    option, item, judge = (codes.ravel() for codes in np.indices((5, 20, 4)))
    shown = 0
    for _ in range(20):
        y = rng.normal(size=(5, 4))[option, judge] + 0.3 * rng.normal(size=len(option))
        scores = Scores(y, names(option, "o"), names(judge, "e"), item=names(item, "i"))
        shown += bool(found_in(scores, option, item, judge))
    assert shown <= 3


def on_items(size: float, templates: int = 10) -> Scores:
    """Two options on 60 items from some templates, each of which suits one of them."""
    rng = np.random.default_rng(12)
    option, item = (codes.ravel() for codes in np.indices((2, 60)))
    template = item % templates
    y = size * rng.normal(size=(2, templates))[option, template] + rng.normal(size=120)
    return Scores(
        y,
        names(option, "o"),
        names(np.zeros(120, dtype=int), "e"),
        item=names(item, "i"),
        beside={
            "template": names(template, "t"),
            "family": names(option, "f"),
            "row": names(np.arange(120), "r"),
        },
    )


@pytest.mark.parametrize(("templates", "alarm"), [(10, True), (6, True), (5, False)])
def test_templates_are_found_and_few_are_strata(templates: int, alarm: bool) -> None:
    scores = on_items(2.0, templates)
    (found,) = found_in(scores, scores.option.codes, scores.item.codes)  # type: ignore[union-attr] # there are items
    assert (found.assumption, found.alarm) == ("clusters", alarm)
    assert "cluster='template'" in found.message
    (again,) = found_in(scores)  # a fit that has a cell for every option on an item
    assert again.p_value == found.p_value == 0.001
    assert found_in(replace(scores, beside={})) == ()
    assert found_in(on_items(0.0, templates)) == ()


def test_schools_of_judges_are_found() -> None:
    rng = np.random.default_rng(13)
    option, judge = (codes.ravel() for codes in np.indices((8, 12)))
    y = 2.0 * rng.normal(size=(8, 4))[option, judge % 4] + rng.normal(size=len(option))
    school = {"school": names(judge % 4, "s")}
    (found,) = found_in(Scores(y, names(option, "o"), names(judge, "e"), beside=school))
    assert (found.assumption, found.alarm) == ("clusters", True)
