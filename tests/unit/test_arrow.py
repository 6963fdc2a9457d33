"""The model of panels in arrow form, against plain least squares on dense rows."""

import json

import numpy as np
import pytest
from scipy import sparse

import evenhand as eh
from evenhand.numerics.arrow import Arrow
from evenhand.policies.arrow import ArrowModel
from evenhand.policies.messages import Feedback

KINDS = ("common", "evaluator", "group")


def random_panel(rng, **settings):
    """Return a small panel of random shape whose options can be compared."""
    while True:
        panel = any_panel(rng, **settings)
        rank = np.linalg.matrix_rank
        d, p = panel.n_features, panel.n_attributes
        leads = np.eye(len(panel.options) - 1, d + p, 1)
        leads[:, 0] = -1.0
        if rank(np.vstack([panel.points, leads])) == rank(panel.points):
            return panel


def any_panel(rng, *, calibrations=0, noise=False):
    """Return a small panel of random shape, of which the last items may be calibrations."""
    k, e = int(rng.integers(2, 6)), int(rng.integers(1, 5))
    groups = rng.choice(list("abc"), k + calibrations)
    sides = rng.choice(list("abcd"), e)
    panel = eh.Questions.panel(
        {f"o{i}": g for i, g in enumerate(groups)},
        {f"e{i}": g for i, g in enumerate(sides)},
        leniency=bool(rng.random() < 0.8),
        bias=str(rng.choice(KINDS)),
        capacity=None,
        prices=rng.choice([1.0, 2.0, 5.0], e),
        noise=rng.choice([0.5, 1.0, 3.0], e) if noise else None,
    )
    return as_calibrations(panel, calibrations)


def as_calibrations(panel, n):
    """Return a panel whose last n options can only be asked about."""
    content = panel.to_dict()
    k = len(content["options"]) - n
    content["options"] = content["options"][:k]
    content["groups"] = None if content["groups"] is None else content["groups"][:k]
    return eh.Questions.from_dict(content)


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


@pytest.mark.parametrize("seed", range(5))
def test_a_fit_is_remembered_exactly_through_json(seed):
    rng = np.random.default_rng(seed)
    questions = random_panel(rng, calibrations=1, noise=True)
    model = ArrowModel(questions)
    fit = model.fit(Plain(questions, rng).told, None)
    kept = json.loads(json.dumps(fit.memory(), default=lambda a: np.asarray(a).tolist()))
    again = model.recalled(kept)
    rivals = np.arange(len(questions.options))
    for one, other in (
        (fit.leads(0, rivals), again.leads(0, rivals)),
        (fit.values(), again.values()),
        (fit.attributes(np.eye(len(fit.omega))), again.attributes(np.eye(len(fit.omega)))),
    ):
        assert np.array_equal(one.estimates, other.estimates)
        assert np.array_equal(one.variances, other.variances)
    assert (fit.scatter, fit.freedom, fit.unit) == (again.scatter, again.freedom, again.unit)


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
    form = Arrow.of(np.array([0, 1, 1]), sparse.csr_array((3, 0)), np.array([1.0, 2.0, 2.0]), 3)
    variances = form.lead_variances(0, np.arange(3))
    np.testing.assert_allclose(variances, [0.0, 1.25, np.inf])
    assert form.rank == 2
