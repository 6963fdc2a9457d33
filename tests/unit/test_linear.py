"""The one fit: least squares, errors by clusters, and their degrees of freedom, by other routes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyfixest as pf
import pytest
import statsmodels.api as sm
from scipy import stats

from evenhand.inference import Target, conclude
from evenhand.linear import Design, Fit

Rng = np.random.Generator


def table(rng: Rng, k: int, J: int, each: int | None = None, items: int = 0) -> pd.DataFrame:
    """Return scores of k options by all or some of J judges, perhaps on items."""
    rows = []
    for o in range(k):
        judges = range(J) if each is None else rng.choice(J, each, replace=False).tolist()
        rows += [
            (o, j, i, float(o % 2 == j % 2), o + 0.5 * j + rng.normal())
            for j in judges
            for i in range(items or 1)
        ]
    return pd.DataFrame(rows, columns=["option", "evaluator", "item", "x", "score"])


def design(frame: pd.DataFrame, x: bool = False, item: bool = False, **more: Any) -> Design:
    codes = {name: frame[name].to_numpy(np.int32) for name in ("option", "evaluator", "item")}
    return Design(
        frame["score"].to_numpy(float),
        codes["option"],
        int(codes["option"].max()) + 1,
        codes["evaluator"],
        int(codes["evaluator"].max()) + 1,
        item=codes["item"] if item else None,
        n_items=int(codes["item"].max()) + 1 if item else 0,
        x=frame[["x"]].to_numpy(float) if x else np.zeros((len(frame), 0)),
        **more,
    )


def dummies(frame: pd.DataFrame, *columns: str) -> np.ndarray:
    parts = [pd.get_dummies(frame[name]).to_numpy(float) for name in columns if name != "x"]
    return np.hstack([*parts, frame[["x"]].to_numpy(float)] if "x" in columns else parts)


def test_leads_on_a_complete_panel_are_paired_t_tests() -> None:
    frame = table(np.random.default_rng(1), 3, 7)
    fit = Fit(design(frame, clusters={"evaluator": frame["evaluator"].to_numpy(np.int32)}))
    wide = frame.pivot(index="evaluator", columns="option", values="score")
    V, f = fit.errors.by_clusters(fit._weights([0, 0, 1], [1, 2, 2]), fit.design.clusters)
    for row, (a, b) in enumerate([(0, 1), (0, 2), (1, 2)]):
        by = stats.ttest_rel(wide[a], wide[b])
        lead = float((wide[a] - wide[b]).mean())
        assert fit.leads([a], [b]).estimate[0] == pytest.approx(lead, abs=1e-9)
        assert lead / np.sqrt(V[row]) == pytest.approx(by.statistic, rel=1e-9)
        assert f[row] == pytest.approx(by.df, rel=1e-9)


@pytest.mark.parametrize(("each", "x"), [(None, False), (4, True), (3, False)])
def test_estimates_and_noise_are_those_of_statsmodels(each: int | None, x: bool) -> None:
    frame = table(np.random.default_rng(2), 8, 6, each)
    fit = Fit(design(frame, x))
    names = ("option", "evaluator", *(["x"] if x else []))
    D = np.delete(dummies(frame, *names), 8, axis=1)  # all judges but the first
    other = sm.OLS(frame["score"].to_numpy(), D).fit()
    assert fit.freedom == other.df_resid
    assert fit.noise**2 == pytest.approx(other.scale, rel=1e-9)
    np.testing.assert_allclose(fit.residual, other.resid, atol=1e-9)
    np.testing.assert_allclose(fit.leverage, other.get_influence().hat_matrix_diag, atol=1e-9)
    if x:
        weights = fit.basis.weights({}, np.eye(1))
        assert fit.basis.estimates(weights, fit.design.y)[0] == pytest.approx(other.params[-1])
        hc2 = sm.OLS(frame["score"].to_numpy(), D).fit(cov_type="HC2")
        e = fit.errors.clusters().root(fit.residual)
        by_rows = float(((fit.basis.rows(weights)[0] * e) ** 2).sum())
        assert by_rows == pytest.approx(hc2.bse[-1] ** 2, rel=1e-9)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::pandas.errors.Pandas4Warning")
def test_sums_over_clusters_are_those_of_pyfixest() -> None:
    frame = table(np.random.default_rng(3), 12, 9, 5)
    fit = Fit(design(frame, True))
    other = pf.feols("score ~ x | option + evaluator", frame, vcov={"CRV1": "evaluator"},
                     ssc=pf.ssc(k_adj=False, G_adj=False))  # fmt: skip
    weights = fit.basis.weights({}, np.eye(1))
    judge = frame["evaluator"].to_numpy(np.int32)
    u = fit.basis.sums(weights, judge, 9, fit.residual)
    assert float((u**2).sum()) == pytest.approx(float(other.se()["x"]) ** 2, rel=1e-7)
    assert fit.basis.estimates(weights, fit.design.y)[0] == pytest.approx(float(other.coef()["x"]))


@pytest.mark.parametrize(("each", "items", "x"), [(None, 0, False), (4, 0, True), (None, 3, True)])
def test_variance_and_freedom_are_bell_and_mccaffreys(
    each: int | None, items: int, x: bool
) -> None:
    """CR2 and its degrees of freedom, with every matrix written out."""
    frame = table(np.random.default_rng(4), 6, 7, each, items)
    judge = frame["evaluator"].to_numpy(np.int32)
    fit = Fit(design(frame, x, item=bool(items)))
    names = ["option", "evaluator", *(["item"] if items else []), *(["x"] if x else [])]
    D = dummies(frame, *names)
    inverse = np.linalg.pinv(D)
    M = np.eye(len(D)) - D @ inverse
    e = M @ frame["score"].to_numpy()
    for a, b in ((0, 1), (5, 2)):
        c = np.zeros(D.shape[1])
        c[a], c[b] = 1.0, -1.0
        w = c @ inverse
        V, B = 0.0, np.zeros((7, len(D)))
        for g in range(7):
            rows = np.flatnonzero(judge == g)
            size, axes = np.linalg.eigh(M[np.ix_(rows, rows)])
            kept = size > 1e-8
            B[g, rows] = axes[:, kept] @ ((axes[:, kept].T @ w[rows]) / np.sqrt(size[kept]))
            V += float(B[g] @ e) ** 2
        Q = B @ M @ B.T
        weights = fit._weights([a], [b])
        found, freedom = fit.errors.by_clusters(weights, {"evaluator": judge})
        assert found[0] == pytest.approx(V, rel=1e-7)
        assert freedom[0] == pytest.approx(np.trace(Q) ** 2 / float((Q**2).sum()), rel=1e-6)
        assert weights.squares[0] == pytest.approx(float(w @ w), rel=1e-9)


def test_freedom_of_large_tables_is_near_the_exact_one(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = table(np.random.default_rng(5), 30, 40, 8)
    clusters = {"evaluator": frame["evaluator"].to_numpy(np.int32)}
    a, b = np.zeros(29, dtype=int), np.arange(1, 30)
    exact = Fit(design(frame, True, clusters=clusters)).leads(a, b)
    monkeypatch.setattr("evenhand.linear.errors._DENSE", 0)
    near = Fit(design(frame, True, clusters=clusters)).leads(a, b)
    np.testing.assert_allclose(near.estimate, exact.estimate, atol=1e-9)
    # variances differ by what is known of slopes alone
    np.testing.assert_allclose(near.variance, exact.variance, rtol=0.35)
    tails = (stats.t.ppf(0.975, one.freedom) for one in (near, exact))
    np.testing.assert_allclose(*tails, rtol=0.12)
    monkeypatch.setattr("evenhand.linear.fit._PAIRS", 0)
    first, second, pairs = next(Fit(design(frame, True, clusters=clusters)).pairs())
    assert second[first == 0].tolist() == b.tolist()
    np.testing.assert_allclose(pairs.variance[first == 0], near.variance, rtol=0.35)


@pytest.mark.parametrize("split", [False, True])
def test_tables_whose_basis_is_not_written_out_have_the_same_answer(
    monkeypatch: pytest.MonkeyPatch, split: bool
) -> None:
    frame = table(np.random.default_rng(7), 40, 12, 5)
    if split:
        frame = frame[frame["option"] % 2 == frame["evaluator"] % 2]
    clusters = {"evaluator": frame["evaluator"].to_numpy(np.int32)}

    def found() -> list[np.ndarray]:
        fit = Fit(design(frame, True, clusters=clusters))
        said = conclude(fit, Target(top=5), 0.05)
        return [said.values, said.leads, said.chances, fit.leverage, *said.ranks, *fit.bias(0, {})]

    for name in ("errors._DENSE", "fit._PAIRS"):
        monkeypatch.setattr(f"evenhand.linear.{name}", 0)
    written = found()
    for name, size in (("basis._WRITTEN", 0), ("basis.SMALL", 0), ("fit._BLOCK", 100)):
        monkeypatch.setattr(f"evenhand.linear.{name}", size)
    for one, other in zip(found(), written, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


def test_parts_that_share_no_judge_are_not_compared() -> None:
    frame = table(np.random.default_rng(6), 6, 6)
    apart = frame[(frame["option"] < 3) == (frame["evaluator"] < 3)]
    fit = Fit(design(apart))
    assert not fit.compared
    assert fit.part.tolist() == [0, 0, 0, 1, 1, 1]
    leads = fit.leads([0, 0, 3], [1, 3, 5])
    assert np.isfinite(leads.variance).tolist() == [True, False, True]
    alone = Fit(design(apart[apart["option"] < 3]))
    assert alone.leads([0], [1]).estimate[0] == pytest.approx(leads.estimate[0])


def test_the_same_asked_again_is_one_opinion() -> None:
    frame = table(np.random.default_rng(7), 4, 5)
    twice = pd.concat([frame, frame])
    once, again = (Fit(design(one).averaged()) for one in (frame, twice))
    np.testing.assert_allclose(once.leads([0], [1]), again.leads([0], [1]))


def test_scores_that_do_not_scatter_tell_no_error() -> None:
    frame = table(np.random.default_rng(8), 4, 5).assign(score=lambda t: 1.0 * t["option"])
    fit = Fit(design(frame))
    assert fit.silent
    assert np.isinf(fit.leads([3], [0]).variance).all()


def test_a_known_noise_is_taken_at_its_word() -> None:
    frame = table(np.random.default_rng(9), 4, 5)
    leads = Fit(design(frame), noise=2.0).leads([0], [1])
    assert leads.variance[0] == pytest.approx(4.0 * 2 / 5)


def test_who_is_among_the_best_holds_where_all_are_nearly_alike() -> None:
    """Six are a millionth apart: in 5% of tables somebody may be placed falsely, and three standard
    errors of 5% of 200 are 4.6%.
    """
    rng, k, J, m = np.random.default_rng(8), 12, 9, 3
    option, judge = np.repeat(np.arange(k), J).astype(np.int32), np.tile(np.arange(J), k)
    rank, wrong, placed = np.arange(k), 0, 0
    for _ in range(200):
        values = np.r_[20.0, 18.0, -1e-6 * np.arange(2, 8), np.full(4, -20.0)]
        y = values[option] + rng.normal(size=J)[judge] + rng.normal(size=len(option))
        judges = judge.astype(np.int32)
        fit = Fit(Design(y, option, k, judges, J, clusters={"evaluator": judges}))
        said = conclude(fit, Target(top=m), 0.05)
        inside, outside = list(said.inside), list(said.outside)
        wrong += bool((rank[inside] >= m).any() or (rank[outside] < m).any())
        placed += len(inside) + len(outside)
    assert wrong / 200 <= 0.096
    assert placed >= 6 * 200  # two that are far ahead, and four that are far behind
