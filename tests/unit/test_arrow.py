"""The model of panels in arrow form, against plain least squares on dense rows."""

import json

import numpy as np
import pytest
from scipy import sparse

import evenhand as eh
from evenhand.certainty import aim as aims
from evenhand.certainty.arrow import ArrowModel
from evenhand.checks import residuals
from evenhand.numerics.least_squares import Arrow
from evenhand.numerics.panels import PanelForm
from evenhand.policies import Feedback, checks_of
from evenhand.research.environments import SimulatedEvaluations
from random_panels import random_panel


class Plain:
    """Evaluations one by one, and least squares on their dense rows."""

    def __init__(self, questions, rng, share=0.7):
        q, m = questions.rows.shape
        counts = rng.integers(0, 4, q) * (rng.random(q) < share)
        rows = np.repeat(np.arange(q), counts)
        self.A = questions.weighted_points[rows]
        self.y = self.A @ rng.normal(size=m) * 3 + rng.normal(size=len(rows))
        self.told = Feedback(
            np.bincount(rows, minlength=q),
            np.bincount(rows, self.y, q).astype(float),
            np.bincount(rows, self.y**2, q).astype(float),
        )
        _, s, self.Wt = np.linalg.svd(self.A, full_matrices=False)
        self.kept = s > 1e-9 * s.max(initial=0.0)
        self.s = s

    @property
    def rank(self):
        return int(self.kept.sum())

    def spread(self, directions):
        along = directions @ self.Wt[self.kept].T
        inside = np.linalg.norm(directions - along @ self.Wt[self.kept], axis=1) < 1e-8
        theta = np.linalg.lstsq(self.A, self.y, rcond=1e-9)[0]
        variances = ((along / self.s[self.kept]) ** 2).sum(axis=1)
        return (
            np.where(inside, directions @ theta, 0.0),
            np.where(inside, variances, np.inf),
        )

    @property
    def scatter(self):
        theta = np.linalg.lstsq(self.A, self.y, rcond=1e-9)[0]
        return float(((self.y - self.A @ theta) ** 2).sum())


def directions_of(questions):
    """Return leads over the first option, values and attributes as rows of coefficients."""
    k, d, p = len(questions.options), questions.n_features, questions.n_attributes
    eye = np.eye(d)
    leads = np.hstack([eye[0] - eye[:k], np.zeros((k, p))])
    values = np.hstack([eye[:k], np.tile(questions.neutral, (k, 1))])
    attributes = np.hstack([np.zeros((p, d)), np.eye(p)])
    return leads, values, attributes


def assert_same(spread, wanted):
    estimates, variances = wanted
    assert np.array_equal(np.isinf(spread.variances), np.isinf(variances))
    known = np.isfinite(variances)
    np.testing.assert_allclose(spread.variances[known], variances[known], rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(spread.estimates, estimates, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("seed", range(60))
def test_the_fit_is_least_squares_on_dense_rows(seed):
    rng = np.random.default_rng(seed)
    questions = random_panel(rng, calibrations=seed % 3, noise=seed % 2 == 0)
    plain, model = Plain(questions, rng), ArrowModel(questions)
    assert model.rank == np.linalg.matrix_rank(questions.points)
    for about in (None, model.fit(Plain(questions, rng).told, 1.0)):
        fit = model.fit(plain.told, 1.0, about)
        leads, values, attributes = directions_of(questions)
        assert_same(fit.leads(0, np.arange(len(questions.options))), plain.spread(leads))
        assert_same(fit.values(), plain.spread(values))
        assert_same(fit.attributes(np.eye(len(attributes))), plain.spread(attributes))
        assert (fit.scatter, fit.freedom, fit.unit) == (0.0, np.inf, 1.0)
        fit = model.fit(plain.told, None, about)
        assert fit.scatter == pytest.approx(plain.scatter, rel=1e-9, abs=1e-9)
        assert fit.freedom == len(plain.y) - plain.rank


def test_unknown_noise_is_taken_from_the_scatter():
    rng = np.random.default_rng(3)
    questions = eh.Questions.panel(list("abcde"), list("PQR"), partial=None, capacity=None)
    plain = Plain(questions, rng, share=1.0)
    fit = ArrowModel(questions).fit(plain.told, None)
    assert fit.unit**2 == pytest.approx(plain.scatter / (len(plain.y) - plain.rank))
    doubled = Feedback(plain.told.counts, 2 * plain.told.sums, 4 * plain.told.sums_of_squares)
    scaled = ArrowModel(questions).fit(doubled, 2.0)
    assert scaled.unit == 1.0
    rivals = np.arange(1, 5)
    np.testing.assert_allclose(scaled.leads(0, rivals).estimates, fit.leads(0, rivals).estimates)


def test_blocks_that_nobody_connects_are_not_compared():
    questions = eh.Questions.panel(list("abcd"), list("PQRS"), partial=None, capacity=None)
    counts = np.zeros((4, 4), dtype=np.int64)
    counts[:2, :2] = counts[2:, 2:] = 10**6
    told = Feedback(counts.ravel(), np.zeros(16), 1.0 * counts.ravel())
    fit = ArrowModel(questions).fit(told, 1.0)
    variances = fit.leads(0, np.arange(4)).variances
    np.testing.assert_allclose(variances, [0.0, 1e-6, np.inf, np.inf])  # two of each evaluator
    assert np.isinf(fit.values().variances).all()
    bridge = counts.copy()
    bridge[0, 2] = 1  # one evaluation connects them, at the variance of that one at least
    fit = ArrowModel(questions).fit(
        Feedback(bridge.ravel(), np.zeros(16), 1.0 * bridge.ravel()), 1.0
    )
    assert 1.0 < fit.leads(0, np.array([2])).variances[0] < 1.0 + 1e-4


def test_options_that_cannot_be_compared_are_refused():
    panel = eh.Questions.panel({"a": "x", "b": "y"}, {"P": "x", "Q": "y"}, bias="group")
    with pytest.raises(eh.NotIdentifiableError, match="'a' and 'b' cannot be compared"):
        ArrowModel(panel)


def test_which_questions_have_the_form():
    options, judges = {"a": "x", "b": "y"}, {"P": "x", "Q": "y"}
    assert eh.Questions.panel(options, judges).has_arrow_form
    given = eh.Questions([[1.0], [2.0]], features=[[1.0], [2.0]], attributes=[[0.0], [1.0]])
    assert not given.has_arrow_form
    assert not eh.Questions.of(eh.ActionSet([[1.0], [2.0]], ["x", "y"])).has_arrow_form


def test_rows_without_attributes():
    form = Arrow.of_rows(
        np.array([0, 1, 1]), sparse.csr_array((3, 0)), np.array([1.0, 2.0, 2.0]), 3
    )
    variances = form.lead_variances(0, np.arange(3))
    np.testing.assert_allclose(variances, [0.0, 1.25, np.inf])
    assert form.rank == 2


# ---------------------------------------------------------------------- the smaller side


@pytest.mark.parametrize("seed", range(30))
def test_either_side_of_a_panel_may_have_the_diagonal_block(seed):
    """More evaluators than options, with gaps, biases and noise, by one side and by the other."""
    rng = np.random.default_rng([21, seed])
    k, e = int(rng.integers(2, 6)), int(rng.integers(7, 15))
    groups = [f"g{x}" for x in range(int(rng.integers(1, 4)))]
    options = {f"o{x}": str(rng.choice(groups)) for x in range(k)}
    judges = {f"j{x}": str(rng.choice([*groups, "none"])) for x in range(e)}
    noise = rng.uniform(0.5, 2.0, e).tolist() if seed % 2 else None
    bias = ("common", "group", "evaluator")[seed % 3]
    questions = eh.Questions.panel(options, judges, noise=noise, bias=bias, capacity=None)
    seen = np.flatnonzero(rng.random(len(questions)) < (0.35, 0.7, 1.0)[seed % 3])
    counts = rng.integers(1, 4, len(seen)).astype(float)
    items, n = questions.about[seen, 0], len(questions.items)
    turned = questions.panel_form(seen, counts)
    Z = sparse.csr_array(questions.matrix[seen][:, questions.n_features :])
    plain = PanelForm.of(items, Z, turned.weights, n)
    assert turned.levels is not None
    assert plain.levels is None
    assert turned.rank == plain.rank
    y, loud = rng.normal(size=len(seen)), np.exp(rng.normal(size=n))
    for one, other in (
        (turned, plain),
        (turned.with_noise(loud[items]), plain.with_noise(loud[items])),
    ):
        everybody, neutral = np.arange(k), questions.neutral
        same_variances(one.lead_variances(0, everybody), other.lead_variances(0, everybody))
        same_variances(*(x.value_variances(everybody, neutral) for x in (one, other)))
        rows = np.vstack([np.eye(Z.shape[1]), rng.normal(size=(3, Z.shape[1]))])
        same_variances(one.variances(rows), other.variances(rows))
        if np.isfinite(other.lead_variances(0, everybody)).all():
            np.testing.assert_allclose(*(covariance(x) for x in (one, other)), atol=1e-9)
    for one, other in zip(turned.within(items, n), plain.within(items, n), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-9)
    np.testing.assert_allclose(turned.without(y), plain.without(y), atol=1e-9)
    assert turned.mixed(loud[items]) == pytest.approx(plain.mixed(loud[items]), rel=1e-9)
    fitted = [
        v[items] + Z @ omega for v, omega in (x.solve(x.weights * y) for x in (turned, plain))
    ]
    np.testing.assert_allclose(*fitted, atol=1e-8)


def same_variances(one, other):
    np.testing.assert_array_equal(np.isinf(one), np.isinf(other))
    known = np.isfinite(other)
    np.testing.assert_allclose(one[known], other[known], rtol=1e-8, atol=1e-9)


def covariance(form):
    level, own, rows = form.lead_parts(0, np.arange(1, form.n_items))
    return level + np.diag(own) + rows @ form.errors.covariance @ rows.T.toarray()


def test_squares_inside_groups_are_those_of_the_hat_matrix():
    """Two questions about the same option to the same evaluator are two rows of one level."""
    rng = np.random.default_rng(3)
    items, who = rng.integers(0, 3, 40), rng.integers(0, 8, 40)
    Z = sparse.csr_array(np.hstack([np.eye(8)[who][:, 1:], rng.normal(size=(40, 1))]))
    weights = rng.uniform(0.5, 2.0, 40)
    for levels in (None, np.arange(8) < 7):
        form = PanelForm.of(items, Z, weights, 3, levels)
        A = np.sqrt(weights)[:, None] * np.hstack([np.eye(3)[items], Z.toarray()])
        H = A @ np.linalg.pinv(A)
        same = items[:, None] == items
        expected = [(H**2 * same)[items == o].sum() for o in range(3)]
        leverages, inside = form.within(items, 3)
        np.testing.assert_allclose(leverages, np.diagonal(H), atol=1e-10)
        np.testing.assert_allclose(inside, expected, atol=1e-10)


# ---------------------------------------------------------------------- checks


@pytest.mark.parametrize("seed", range(20))
def test_the_check_of_the_fit_is_the_same_by_both_routes(seed):
    rng = np.random.default_rng(seed)
    questions = random_panel(rng, calibrations=seed % 2, noise=seed % 3 == 0)
    seen = np.flatnonzero(rng.random(len(questions)) < 0.8)
    if len(seen) == 0:
        seen = np.array([0])
    counts = rng.integers(1, 5, len(seen))
    noise = np.ones(len(seen)) if questions.noise is None else questions.noise[seen]
    Z = sparse.csr_array(questions.matrix[seen][:, questions.n_features :])
    items, weights = questions.about[seen, 0], counts / noise**2
    panel = PanelForm.of(items, Z, weights, len(questions.items), questions.lenient)
    rows, y = questions.weighted_points[seen], rng.normal(size=len(seen))
    scatters = (counts - 1) * rng.random(len(seen))
    one, other = (residuals(span, counts, y, scatters, 1.0).lack for span in (panel, rows))
    np.testing.assert_allclose(one, other, rtol=1e-8, equal_nan=True)


def test_a_look_at_a_large_panel_never_makes_its_rows_dense():
    questions = eh.Questions.panel(
        {f"o{i}": f"g{i % 7}" for i in range(400)},
        {f"e{i}": f"g{i % 7}" for i in range(20)},
        capacity=None,
    )
    rng = np.random.default_rng(0)
    counts = np.zeros(len(questions), dtype=np.int64)
    counts[rng.choice(len(questions), 900, replace=False)] = 2
    policy = eh.CertainChoice(questions)
    checks_of(policy).take(counts, rng.normal(size=len(counts)) * counts, 9.0 * counts)
    items = len(np.unique(questions.about[counts > 0, 0]))
    assert checks_of(policy).lack_of_fit().df == 900 - items - 20  # a bias, and leniencies but one
    assert "points" not in vars(questions)
    assert "labels" not in vars(questions)


# ---------------------------------------------------------------------- a search


def searched(questions, truth, *, interrupted):
    """Return what a search asks, one by one, and the policy; perhaps restored after each tell."""
    policy = eh.CertainChoice(questions, noise_scale=1.0, at_most=20_000)
    assert isinstance(policy.aim.model, ArrowModel)
    evaluations, asked = SimulatedEvaluations(truth, seed=4), []
    while not policy.finished:
        allocation = policy.ask(7)
        asked.append(allocation.counts)
        policy.tell(evaluations.evaluate(allocation))
        if interrupted and len(asked) % 5 == 0:
            policy = eh.restore(json.loads(json.dumps(policy.state())))
    return np.array(asked), policy


def test_a_search_is_right_and_goes_on_from_its_state_exactly(monkeypatch):
    monkeypatch.setattr(aims, "_LARGE", 0)
    questions = eh.Questions.panel(
        {f"o{i}": f"g{i % 3}" for i in range(8)},
        {f"e{i}": f"g{i}" for i in range(4)},
        capacity=None,
    )
    truth = eh.BiasedLinearBandit(
        questions, np.linspace(0.0, 3.5, 8), np.array([2.0, 0.5, -0.5, 1.0]), noise_scale=1.0
    )
    asked, policy = searched(questions, truth, interrupted=False)
    decision = policy.recommend()
    assert (decision.option, decision.loss, decision.certainty) == (7, 0.0, "own scores")
    assert policy.bias().covers(2.0)
    again, _ = searched(questions, truth, interrupted=True)
    assert np.array_equal(asked, again)


def test_what_most_combinations_share_is_taken_out_without_a_change() -> None:
    """Deviations from a mean, and a row that shares nothing with them, beside one row at a time."""
    names = [f"o{o}" for o in range(5)], [f"e{e}" for e in range(30)]
    rng, questions = np.random.default_rng(12), eh.Questions.panel(*names, capacity=None)
    counts = rng.integers(1, 4, size=len(questions))
    form = questions.panel_form(np.arange(len(questions)), counts)
    p = questions.n_attributes
    rows = np.vstack([rng.normal(size=(1, p)), np.eye(p) - 1.0 / p])
    alone = [form.variances(row[None])[0] for row in rows]
    assert form.variances(rows) == pytest.approx(alone)
