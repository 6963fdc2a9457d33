"""Judges who are not trusted, corrected by those who are: closed forms, and two routes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.arrays import Floats
from evenhand.certainty.aim import model_of
from evenhand.certainty.by_items import corrected_items
from evenhand.certainty.items import ItemsFit
from evenhand.certainty.likings import CorrectedFit, Likings, corrected, doubts
from evenhand.certainty.look import Look
from evenhand.policies import Feedback
from evenhand.questions import Questions

K, PEOPLE = 6, ("P", "Q", "R", "S")
PANEL = Questions.panel(
    [f"o{o}" for o in range(K)], ["model", *PEOPLE], capacity=None, trusted=PEOPLE
)
TRUSTED = PANEL.evaluator > 0
SHARES = (np.arange(200) + 0.5) / 200


def told(scores: Floats) -> Feedback:
    y = scores.reshape(-1)
    return Feedback(np.ones(len(y), dtype=np.int64), y, y**2)


def table(seed: int, likes: float) -> Floats:
    """Return (options, judges) scores: the model's have likings and next to no noise."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(K, 1))
    people = values + rng.normal(size=4) + rng.normal(size=(K, 4))
    return np.hstack([values + likes * rng.normal(size=(K, 1)), people])


@pytest.mark.parametrize(("seed", "likes"), [(1, 0.0), (2, 0.3), (3, 2.0)])
def test_a_whole_panel_has_a_closed_form(seed: int, likes: float) -> None:
    y = table(seed, likes)
    fit = corrected(model_of(PANEL), told(y), told(y), 1.0, 0.0, TRUSTED)
    assert isinstance(fit, CorrectedFit)
    c = 1.0 + 1.0 / 4.0  # of r: with σ known, one score of the model is as loud as any
    p, m = (part - part.mean() for part in (y[:, 1:].mean(axis=1), y[:, 0]))
    r = p - m
    chances = SHARES ** (0.5 * (K - 1)) * np.exp(-0.5 * SHARES * (r @ r) / c)
    chances /= chances.sum()
    w = chances @ SHARES
    spread = chances @ SHARES**2 - w**2
    rho = 0.25 / c  # cov(p, r)/var(r): what of a difference is the people's
    rivals = np.arange(1, K)
    found = fit.leads(0, rivals)
    value = p - rho * w * r
    np.testing.assert_allclose(found.estimates, value[0] - value[rivals], atol=1e-5)
    lead = r[0] - r[rivals]
    variances = 2.0 * (0.25 - 0.25 * rho * w) + rho**2 * spread * lead**2
    np.testing.assert_allclose(found.variances, variances, atol=1e-5)


def test_likings_of_any_size_leave_what_people_say() -> None:
    y = table(4, 0.3)
    y[:, 0] += 1e4 * np.arange(K) ** 2
    fit = corrected(model_of(PANEL), told(y), told(y), None, 0.0, TRUSTED)
    assert isinstance(fit, CorrectedFit)
    rivals = np.arange(1, K)
    for mine, theirs in zip(fit.leads(0, rivals), fit.trusted.leads(0, rivals), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=0.02)


@pytest.mark.parametrize("likes", [0.0, 0.5])
def test_shift_and_scale_change_nothing(likes: float) -> None:
    y, rivals = table(5, likes), np.arange(1, K)
    model = model_of(PANEL)
    first = corrected(model, told(y), told(y), None, 0.0, TRUSTED)
    y = 10.0 * y + 100.0
    y[:, 0] += 7.0  # the model's leniency
    other = corrected(model, told(y), told(y), None, 0.0, TRUSTED)
    assert first is not None
    assert other is not None
    one, ten = first.leads(0, rivals), other.leads(0, rivals)
    np.testing.assert_allclose(ten.estimates, 10.0 * one.estimates, rtol=1e-6)
    np.testing.assert_allclose(ten.variances, 100.0 * one.variances, rtol=1e-6)


def test_it_is_least_squares_with_the_covariance_of_likings() -> None:
    """By the whole covariance of all scores for each τ, in comparisons with a favour."""
    family = {"a": "x", "b": "x", "c": "x", "d": "y", "e": "y", "model": "x"}
    asked = Questions.comparisons(
        list("abcde"), ["model", "people"], family=family, trusted="people"
    )
    rng, q, k = np.random.default_rng(6), len(asked), 5
    n = rng.integers(1, 9, size=q)
    y = asked.points @ rng.normal(size=asked.rows.shape[1]) + rng.normal(size=q) / np.sqrt(n)
    trusted = asked.evaluator == 1
    scores = Feedback(n, n * y, n * y**2)
    fit = corrected(model_of(asked), scores, scores, 1.0, 0.0, trusted)
    assert fit is not None
    A, Z = asked.points, asked.points[:, :k] * ~trusted[:, None]
    C = np.zeros((4, A.shape[1]))
    C[:, 0], C[np.arange(4), np.arange(1, 5)] = 1.0, -1.0
    D = np.diag(1.0 / n)

    def solved(tau2: float) -> tuple[float, Floats, Floats]:
        W = np.linalg.inv(D + tau2 * Z @ Z.T)
        known = np.linalg.pinv(A.T @ W @ A, rcond=1e-9, hermitian=True)
        theta = known @ A.T @ W @ y
        left, sizes = y - A @ theta, np.linalg.eigvalsh(A.T @ W @ A)
        log = np.log(sizes[sizes > 1e-9 * sizes.max()]).sum() - np.linalg.slogdet(W)[1]
        return -0.5 * (log + left @ W @ left), C @ theta, C @ known @ C.T

    P = np.linalg.inv(D) - np.linalg.inv(D) @ A @ np.linalg.pinv(A.T @ (A * n[:, None])) @ (
        A.T @ np.linalg.inv(D)
    )
    g = np.linalg.eigvalsh(Z.T @ P @ Z)
    found = [solved((1.0 - w) / (w * g[g > 1e-9 * g.max()].mean())) for w in SHARES]
    chances = np.exp([one[0] - max(two[0] for two in found) for one in found])
    chances /= chances.sum()
    leads = np.array([one[1] for one in found])
    mean = chances @ leads
    variances = chances @ [np.diag(one[2]) for one in found] + chances @ (leads - mean) ** 2
    np.testing.assert_allclose(fit.leads(0, np.arange(1, 5)).estimates, mean, atol=1e-4)
    np.testing.assert_allclose(fit.leads(0, np.arange(1, 5)).variances, variances, rtol=1e-4)


def test_more_options_tell_more_of_likings() -> None:
    """Kinds that agree as well: of more options that is less likely to be luck."""
    means = [float(Likings.told(np.ones(r), np.full(r, 0.5)).mean[0]) for r in (2, 5, 20, 100)]
    assert means == sorted(means, reverse=True)


def test_people_have_to_confirm_on_their_side() -> None:
    y = table(7, 0.0)
    y[0, 1:] -= y[0, 1:].mean() - y[1, 1:].mean()  # people have o0 and o1 even,
    y[0, 0] += 50.0  # and the model likes o0
    fit = corrected(model_of(PANEL), told(y), told(y), None, 0.0, TRUSTED)
    assert isinstance(fit, CorrectedFit)
    (chance,), (least,) = doubts(fit.trusted, 0, np.array([1]), 0.0, 0.05)
    assert chance == pytest.approx(0.5)
    assert least < 0.0
    look = Look.at(fit, 0, np.arange(1, K), 0.0, 0.05)
    assert not look.certain
    assert look.ends(K)[1, 0] <= least  # so that it loses something


def test_a_choice_that_is_not_confirmed_is_not_sure() -> None:
    """Whatever the model says, and however often."""
    rng, rows = np.random.default_rng(8), []
    for judge in ("model", *PEOPLE):
        for o in range(K):
            for _ in range(20 if judge == "model" else 1):
                liked = 4.0 * (o == 0) if judge == "model" else 0.0
                rows.append((f"o{o}", judge, liked - 2.0 * (o > 1) + 0.3 * rng.normal()))
    frame = pd.DataFrame(rows, columns=["option", "evaluator", "score"])
    assert not eh.decide(frame, trusted=PEOPLE, repeats=True).sure


# ---------------------------------------------------------------------- on items


def labelled(seed: int, n: int, likes: float, k: int = 4, G: int = 60) -> pd.DataFrame:
    """Return scores of a model on all items and of a person on the first n."""
    rng = np.random.default_rng(seed)
    good = rng.normal(size=(k, 1)) + rng.normal(size=(k, G))
    rows = []
    liked = likes * rng.normal(size=k)
    for o in range(k):
        for g in range(G):
            rows.append((f"o{o}", "model", g, good[o, g] + liked[o] + 0.3 * rng.normal()))
            if g < n:
                rows.append((f"o{o}", "person", g, good[o, g] + 0.3 * rng.normal()))
    return pd.DataFrame(rows, columns=["option", "evaluator", "item", "score"])


def fits(frame: pd.DataFrame, k: int) -> ItemsFit:
    asked = Questions.panel([f"o{o}" for o in range(k)], ["model", "person"], capacity=None)
    person = (frame["evaluator"] == "person").to_numpy()
    which = 2 * frame["option"].str[1:].astype(int).to_numpy() + person
    items, y = frame["item"].to_numpy(), frame["score"].to_numpy()
    found = corrected_items(
        lambda some, of: ItemsFit(of, which[some], items[some], y[some]),
        asked,
        which,
        items,
        person,
    )
    assert found is not None
    return found


def test_on_items_people_correct_the_mean_of_the_model() -> None:
    """Of two options: prediction-powered inference, by its own formula."""
    n, G = 20, 60
    frame = labelled(8, n, 0.5, k=2, G=G)
    wide = frame.pivot_table(index="item", columns=["evaluator", "option"], values="score")
    model = (wide["model"]["o0"] - wide["model"]["o1"]).to_numpy()
    person = (wide["person"]["o0"] - wide["person"]["o1"]).to_numpy()[:n]
    found = fits(frame, 2).leads(0, np.array([1]))
    # the jackknife's changes, by item: of a mean of n, (x̄ − x_i)/(n − 1), times √((n − 1)/n)
    on_part, on_all = np.zeros(G), (model.mean() - model) / np.sqrt(G * (G - 1))
    by_person = np.zeros(G)
    on_part[:n] = (model[:n].mean() - model[:n]) / np.sqrt(n * (n - 1))
    by_person[:n] = (person.mean() - person) / np.sqrt(n * (n - 1))
    x = on_part - on_all
    share = (by_person @ x) / (x @ x)
    lead = person.mean() - share * (model[:n].mean() - model.mean())
    np.testing.assert_allclose(found.estimates, [lead], atol=1e-9)
    np.testing.assert_allclose(found.variances, [((by_person - share * x) ** 2).sum()], rtol=1e-9)


def test_likings_of_the_model_do_not_move_what_people_confirm() -> None:
    frame = labelled(9, 20, 0.0)
    liked = frame.copy()
    model = liked["evaluator"] == "model"
    liked.loc[model & (liked["option"] == "o2"), "score"] += 3.0
    one, other = (fits(table, 4).trusted for table in (frame, liked))
    assert one is not None
    assert other is not None
    for mine, theirs in zip(
        one.leads(0, np.arange(1, 4)), other.leads(0, np.arange(1, 4)), strict=True
    ):
        np.testing.assert_allclose(mine, theirs, atol=1e-9)


def test_on_items_the_model_makes_leads_better_known() -> None:
    frame = labelled(10, 20, 0.1)
    people = frame[frame["evaluator"] == "person"]
    both, alone = eh.decide(frame, trusted=["person"]), eh.decide(people)
    wide, narrow = (np.ptp(one.decision.leads[:, 1:], axis=1) for one in (alone, both))
    rivals = np.delete(np.arange(4), both.option)
    assert both.option == alone.option
    assert (narrow[rivals] < wide[rivals]).all()


# ---------------------------------------------------------------------- who is trusted


def test_who_is_trusted_must_be_an_evaluator() -> None:
    frame = labelled(1, 20, 0.0)
    with pytest.raises(eh.errors.InputError, match="'Zoe' is none of the evaluators"):
        eh.decide(frame, trusted=["Zoe"])
    with pytest.raises(eh.errors.InputError, match="nobody is named"):
        Questions.panel(["a", "b"], ["P"], trusted=[])


def test_who_is_trusted_is_kept() -> None:
    assert PANEL.trusted == PEOPLE
    assert Questions.from_dict(PANEL.to_dict()) == PANEL
    assert Questions.from_dict(PANEL.to_dict()).trusted == PEOPLE
    forged = PANEL.to_dict() | {"trusted": ["Zoe"]}
    with pytest.raises(eh.errors.InputError, match="trusted contradict"):
        Questions.from_dict(forged)
