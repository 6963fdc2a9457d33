"""The story of a run: what the table says is what happened."""

from __future__ import annotations

import math

import numpy as np
from rich.cells import cell_len
from rich.console import Console

import evenhand as eh
from evenhand.policies.rounds import Play
from evenhand.report.story import certainty, standings_table, story_lines, story_table

LABELS = ["Ada", "Bo [x]", "Cy", "Di", "Ed"]


def run(horizon: int, gamma: tuple[float, float], *, rounds: int = 99) -> eh.FairPhasedElimination:
    """Play without noise: home is marked down by 0.4, away up."""
    actions = eh.ActionSet(
        [[1.0, 0.0], [0.4, 0.1], [0.0, 1.0], [-0.33, 0.0], [0.1, 0.2]],
        ["home", "home", "away", "away", "away"],
        LABELS,
    )
    means = np.asarray(actions.features) @ gamma - 0.4 * np.asarray(actions.groups)
    policy = eh.FairPhasedElimination(actions, horizon, noise_scale=1.0)
    while (counts := policy.ask().counts).any() and rounds:
        policy.tell(eh.Feedback(counts, counts * means, counts * means**2 * (1 + 1e-12)))
        rounds -= 1
    return policy


def printed(policy: eh.FairPhasedElimination, width: int = 200) -> str:
    console = Console(width=width)
    with console.capture() as capture:
        console.print(story_table(policy))
    return capture.get()


def test_every_step_is_told_with_names_and_numbers() -> None:
    policy = run(10**6, (0.9, 0.3))
    lines = story_lines(policy)
    assert len(lines) == len(policy.history)
    assert all(line.done for line in lines)
    first, second, third = lines[:3]
    counts = policy.history[0].counts
    assert first.evaluated == f"{counts[2]} each of Cy, Di, Ed"
    assert (first.why, second.why, third.why) == ("compare away", "compare home", "the bias")
    assert (first.kappa, first.bias, first.eliminated) == ("", "", "")
    assert float(third.kappa) == round(float(policy.history[2].kappa or 0), 2)
    assert third.bias.startswith("-0.4 (-2.")
    assert third.verdict == "the best group is still open"
    dropped = {name for line in lines for name in line.eliminated.split(", ") if name}
    assert dropped == {LABELS[x] for step in policy.history for x in step.eliminated}
    assert "Di" in dropped
    assert lines[-1].verdict == "Ada until the end: the budget ends here"


def test_the_table_reads_as_the_story() -> None:
    """Names are printed as they are, brackets too; the verdict and the recommendation are there."""
    policy = run(10**6, (0.9, 0.3))
    text = printed(policy)
    assert "1,000,000 of 1,000,000 evaluations" in text
    assert "the best option is in group home" in text
    assert "dropped Bo [x]; only Ada is left" in text
    assert "Recommended: Ada." in text
    assert "A bias above 0 favours home, below 0 away" in text
    assert "0.999999" in text
    assert all(cell_len(line) <= 80 for line in printed(policy, width=80).splitlines())


def test_giving_up_on_the_bias_is_told_with_its_price() -> None:
    """Two leaders of equal value: the bias is never worth what it would cost to know."""
    policy = run(10**5, (0.9, 0.9))
    assert policy.history[-1].step == "recovery"
    last = story_lines(policy)[-1]
    assert last.kappa
    assert last.verdict.endswith("more about the bias is not worth its price")


def test_what_is_still_to_come_is_said_so() -> None:
    """A budget below the first phase is planned at once, but nothing has been evaluated yet."""
    policy = run(5, (0.9, 0.3), rounds=0)
    (line,) = story_lines(policy)
    assert not line.done
    assert line.evaluated == "5 of Cy, to come"
    assert "Nothing has been evaluated yet." in printed(policy)


def test_many_names_are_cut_short() -> None:
    features = np.vstack([np.eye(8), -0.5 * np.eye(8)[0]])
    actions = eh.ActionSet(features, [1] + [-1] * 8, [f"n{i}" for i in range(9)])
    policy = eh.FairPhasedElimination(actions, 10**4)
    counts = policy.ask().counts
    policy.tell(eh.Feedback(counts, np.zeros(9), counts.astype(float)))
    assert story_lines(policy)[0].evaluated.endswith("each of n1, n2, n3, n4 and 4 more")


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
    assert f"loses at most {unsure.recommend().loss:.3g} against the best" in certainty(unsure)
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
