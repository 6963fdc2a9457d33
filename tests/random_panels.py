"""Small panels of random shape, for tests of what must hold of all."""

import numpy as np

import evenhand as eh

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


def any_panel(rng, *, noise=False):
    """Return a small panel of random shape."""
    k, e = int(rng.integers(2, 6)), int(rng.integers(1, 5))
    groups = rng.choice(list("abc"), k)
    sides = rng.choice(list("abcd"), e)
    return eh.Questions.panel(
        {f"o{i}": g for i, g in enumerate(groups)},
        {f"e{i}": g for i, g in enumerate(sides)},
        leniency=bool(rng.random() < 0.8),
        bias=str(rng.choice(KINDS)),
        capacity=None,
        prices=rng.choice([1.0, 2.0, 5.0], e),
        noise=rng.choice([0.5, 1.0, 3.0], e) if noise else None,
    )
