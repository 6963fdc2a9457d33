"""How sure a policy is: what the table and the words say is what the decision says."""

from __future__ import annotations

import math

import numpy as np

import evenhand as eh
from evenhand.cli.story import certainty, standings_table
from evenhand.policies.rounds import Play
from evenhand.report.words import number

LABELS = ["Ada", "Bo [x]", "Cy", "Di", "Ed"]


def certified(counts: list[int], gamma: tuple[float, float]) -> eh.policies.Certified:
    """Tell without noise, home marked down by 0.4; Ed has the features of Di."""
    actions = eh.ActionSet(
        [[1.0, 0.0], [0.4, 0.1], [0.0, 1.0], [-0.33, 0.0], [-0.33, 0.0]],
        ["home", "home", "away", "away", "home"],
        LABELS,
    )
    means = np.asarray(actions.features) @ gamma - 0.4 * np.asarray(actions.groups)
    policy = eh.policies.Certified(Given(actions, sum(counts), counts), budget=math.inf)
    n = np.array(counts)
    policy.tell(eh.Feedback(n, n * means, n * means**2 * (1 + 1e-12)))
    return policy


class Given(eh.Policy):
    """Asks for what it is given, once."""

    name = "given"

    def __init__(self, actions: eh.ActionSet, horizon: int, counts: list[int]) -> None:
        super().__init__(actions, horizon)
        self.counts = np.array(counts)

    def play(self) -> Play:
        yield self.counts

    def recommend(self) -> eh.Decision:
        return eh.Decision.of(self, 0)

    def bias(self) -> eh.Estimate:
        return eh.Estimate(np.nan, -np.inf, np.inf, 0.95)


def cells(policy: eh.policies.Certified) -> list[list[str]]:
    """The rows of the standings."""
    columns = [[str(cell) for cell in column.cells] for column in standings_table(policy).columns]
    return [list(row) for row in zip(*columns, strict=True)]


def test_standings_are_the_decision_in_a_table() -> None:
    policy = certified([400, 300, 200, 100, 50], (0.9, 0.3))
    leads = policy.recommend().leads
    assert leads is not None
    rows = cells(policy)
    assert rows[0] == ["Ada", "home", "400", "–", "–", "–"]
    behind = [LABELS.index(row[0]) for row in rows[1:]]
    assert sorted(behind) == [1, 2, 3, 4]
    assert [leads[x, 1] for x in behind] == sorted(leads[x, 1] for x in behind)
    for x, row in zip(behind, rows[1:], strict=True):
        assert row[2] == str(policy.ledger.counts[x])
        np.testing.assert_allclose([float(cell) for cell in row[3:]], leads[x], atol=0.05)
    # without noise the estimates are the truth
    bo = next(row for row in rows if row[0] == "Bo [x]")
    assert float(bo[3]) == round(0.9 - (0.4 * 0.9 + 0.1 * 0.3), len(bo[3].split(".")[1]))


def test_certainty_says_what_the_decision_says() -> None:
    sure = certified([10**7, 10**7, 10**7, 10**7, 10**7], (0.9, 0.3))
    decision = sure.recommend()
    assert decision.loss == 0.0
    words = certainty(sure, "points")
    assert words.startswith("Ada is the best, with probability at least 95%. It would still be if")
    assert f"±{decision.withstands:.3g} points" in words
    assert "Bias: -0.4000" in words
    unsure = certified([30, 20, 20, 20, 20], (0.9, 0.9))
    assert f"loses at most {number(unsure.recommend().loss)} against the best" in certainty(unsure)
    nothing = certified([1, 0, 0, 0, 0], (0.9, 0.9))
    assert certainty(nothing) == "Ada looks best; nothing is certain yet. Bias: not known yet."
    assert cells(nothing)[1][2:] == ["0", "–", "–", "–"]


def test_many_rivals_are_cut_short() -> None:
    x = np.vstack([np.eye(8), 0.5 * np.eye(8), -0.5 * np.eye(8)])
    actions = eh.ActionSet(x, [1, -1] * 12)
    policy = eh.policies.Certified(eh.policy("uniform", actions, 10**4))
    counts = policy.ask().counts
    policy.tell(eh.Feedback(counts, counts * x[:, 0], counts * x[:, 0] ** 2))
    table = standings_table(policy)
    assert table.row_count == 16
    assert str(table.caption).startswith("and 8 more")
