"""The story of a run: what was evaluated and why, what came of it, and how sure that is.

`story_table` is for Fair Phased Elimination, phase by phase; `standings_table` and `certainty` are
for policies that say how sure they are, `PricedExploration` and whatever else is `Certified`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from evenhand.arrays import Counts
from evenhand.policies.certified import Certified
from evenhand.policies.fair_phased_elimination import FairPhasedElimination, Phase
from evenhand.policies.messages import Estimate
from evenhand.report.inspection import plain_number

_MOST_NAMES = 4  # of options in a cell; policy.history has all
_MOST_RIVALS = 15  # of the options behind the recommended one; decision.leads has all
_PURPOSE = {"estimate bias": "the bias", "recovery": "the rest", "exploit": "the rest"}


@dataclass(frozen=True)
class StoryLine:
    """One step of a run, in words.

    Parameters
    ----------
    phase
        Number of the phase, l.
    precision
        What the step aims to know evaluations or the bias to, ε_l.
    why
        What the evaluations were for.
    evaluated
        How many of which options.
    eliminated
        Names of the options that were dropped; "" if none was.
    bias
        Estimate of the bias, with its interval; "" where the step doesn't estimate it.
    kappa
        κ(Δ̂), the regret that a unit of information about the bias costs; "" where not needed.
    verdict
        What was decided.
    done
        Whether the evaluations have been made; the last step may be still ahead.
    """

    phase: int
    precision: float
    why: str
    evaluated: str
    eliminated: str
    bias: str
    kappa: str
    verdict: str
    done: bool

    @property
    def outcome(self) -> str:
        """What came of the step, in one sentence."""
        dropped = f"dropped {self.eliminated}" if self.eliminated else ""
        bias = f"bias {self.bias}" if self.bias else ""
        return "; ".join(part for part in (dropped, bias, self.verdict) if part)


def story_lines(policy: FairPhasedElimination) -> tuple[StoryLine, ...]:
    """Return what a policy did so far, step by step."""
    left: dict[str, list[str]] = {name: [] for name in policy.actions.group_names or ()}
    group_of = [(policy.actions.group_names or ())[int(z > 0)] for z in policy.actions.groups]
    for label, name in zip(policy.actions.labels, group_of, strict=True):
        left[name].append(label)
    lines, evaluations = [], 0
    for step in policy.history:
        evaluations += int(step.counts.sum())
        for x in step.eliminated:
            left[group_of[x]].remove(policy.actions.labels[x])
        lines.append(_line(policy, step, left, done=evaluations <= policy.spent))
    return tuple(lines)


def story_table(policy: FairPhasedElimination) -> Table:
    """Return the story of a run as a table for the terminal.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0], [0.5]], ["home", "away"], ["Ada", "Bo"])
    >>> policy = eh.FairPhasedElimination(actions, horizon=2)
    >>> policy.tell(eh.Feedback([0, 2], [0.0, 1.8], [0.0, 1.7]))
    >>> for column in story_table(policy).columns:
    ...     print(column.header, *column.cells, sep=": ")
    Phase: 1
    ±: 2
    What for: the rest
    Evaluated: 2 of Bo
    κ(Δ̂): –
    What came of it: Bo until the end: the budget ends here
    """
    table = Table(
        title=f"Fair Phased Elimination: {policy.spent:,} of {policy.horizon:,} evaluations",
        caption=_caption(policy),
        caption_justify="left",
        title_justify="left",
        box=SIMPLE_HEAD,
    )
    for header in ("Phase", "±"):
        table.add_column(header, justify="right", no_wrap=True)
    for header in ("What for", "Evaluated"):
        table.add_column(header)
    table.add_column("κ(Δ̂)", justify="right", no_wrap=True)
    table.add_column("What came of it")
    phase = 0
    for line in story_lines(policy):
        new = line.phase != phase
        phase = line.phase
        cells = (
            str(phase) if new else "",
            f"{line.precision:.3g}" if new else "",
            line.why,
            line.evaluated,
            line.kappa or "–",
            line.outcome,
        )
        # Text, not markup: a name may hold brackets
        table.add_row(*(Text(cell) for cell in cells), style="" if line.done else "dim")
    return table


def standings_table(policy: Certified) -> Table:
    """Return who is how far behind the recommended option, the closest first.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0], [1.0], [0.0]], ["home", "away", "away"], ["Ada", "Bo", "Cy"])
    >>> policy = eh.policies.Certified(eh.policy("uniform", actions, horizon=10_000))
    >>> while not policy.finished:
    ...     counts = policy.ask().counts
    ...     policy.tell(eh.Feedback(counts, counts * [0.5, 0.1, -0.2], counts * [1.25, 1.01, 1.04]))
    >>> for column in standings_table(policy).columns:
    ...     print(column.header, *column.cells, sep=": ")
    option: Ada: Bo: Cy
    group: home: away: away
    evaluated: 3,334: 3,333: 3,333
    behind by: –: 0: 0.300
    at least: –: 0: 0.2...
    at most: –: 0: 0.3...
    """
    decision, actions = policy.recommend(), policy.actions
    assert decision.leads is not None
    best, names = decision.option, actions.group_names
    order = [int(x) for x in np.argsort(decision.leads[:, 1], kind="stable") if x != best]
    left_out = len(order) - _MOST_RIVALS
    if left_out > 0:
        order = order[:_MOST_RIVALS]
    table = Table(
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        caption=f"and {left_out:,} more, certainly farther behind or less known."
        if left_out > 0
        else None,
        caption_justify="left",
    )
    table.add_column("option", no_wrap=True)
    if names is not None:
        table.add_column("group", no_wrap=True)
    for header in ("evaluated", "behind by", "at least", "at most"):
        table.add_column(header, justify="right", no_wrap=True)
    for x in [best, *order]:
        group = [] if names is None else [names[int(actions.groups[x] > 0)]]
        numbers = ["–"] * 3 if x == best else _behind(*decision.leads[x].tolist())
        count = f"{policy.ledger.counts[x]:,}"
        # Text, not markup: a name may hold brackets
        cells = (Text(cell) for cell in (actions.labels[x], *group, count, *numbers))
        table.add_row(*cells, style="bold" if x == best else "")
    return table


def certainty(policy: Certified, unit: str = "") -> str:
    """Say what a policy recommends, what that may lose, what it withstands, and what the bias is.

    Parameters
    ----------
    policy
        A policy that says how sure it is.
    unit
        What values are counted in, for people.

    Examples
    --------
    >>> import evenhand as eh
    >>> actions = eh.ActionSet([[1.0], [0.0], [0.0]], ["home", "away", "home"], ["Ada", "Bo", "Cy"])
    >>> policy = eh.policies.Certified(eh.policy("uniform", actions, horizon=10_000))
    >>> while not policy.finished:
    ...     counts = policy.ask().counts
    ...     policy.tell(eh.Feedback(counts, counts * [0.5, 0.1, -0.1], counts * [1.25, 1.01, 1.01]))
    >>> print(certainty(policy, "points"))
    Ada is the best, with probability at least 95%. It would still be if belonging to a group were
    truly worth up to ±0.2... points. Bias: -0.100 (-0.1... to -0.0...) points.
    """
    decision, bias = policy.recommend(), policy.bias()
    unit = f" {unit}" if unit else ""
    sure = f"with probability at least {100 * decision.level:.6g}%"
    if decision.loss == 0.0:
        said = f"{decision.label} is the best, {sure}."
        if 0.0 < decision.withstands < math.inf:
            two = policy.actions.group_names is not None
            said += (
                f" It would still be if {'belonging to a group' if two else 'attributes'} were "
                f"truly worth up to ±{plain_number(decision.withstands)}{unit}."
            )
    elif decision.loss < 2.0 * policy.stated_bound:
        said = (
            f"{decision.label} looks best and, {sure}, loses at most "
            f"{plain_number(decision.loss)}{unit} against the best."
        )
    else:
        said = f"{decision.label} looks best; nothing is certain yet."
    told = "not known yet." if np.isnan(bias.value) else f"{_interval(bias)}{unit}."
    return f"{said} Bias: {told}"


def _line(
    policy: FairPhasedElimination, step: Phase, left: dict[str, list[str]], done: bool
) -> StoryLine:
    labels = policy.actions.labels
    verdict = step.verdict
    if step.step == "evaluate group":
        stay = left[str(step.group)]
        verdict = f"only {stay[0]} is left" if len(stay) == 1 else f"{len(stay)} are left"
    return StoryLine(
        phase=step.phase,
        precision=step.precision,
        why=f"compare {step.group}" if step.step == "evaluate group" else _PURPOSE[step.step],
        evaluated=_evaluated(policy, step.counts) + ("" if done else ", to come"),
        eliminated=_listed([labels[x] for x in step.eliminated]),
        bias="" if step.bias is None else _interval(step.bias),
        kappa="" if step.kappa is None else plain_number(step.kappa),
        verdict=verdict,
        done=done,
    )


def _evaluated(policy: FairPhasedElimination, counts: Counts) -> str:
    """Return "9 each of Ada and Bo", or "9 of Ada, 3 of Bo", the most evaluated first."""
    labels = policy.actions.labels
    used = [int(x) for x in np.argsort(-counts, kind="stable") if counts[x] > 0]
    numbers = {int(counts[x]) for x in used}
    if not used:
        return "none"
    if len(used) > 1 and len(numbers) == 1:
        return f"{numbers.pop():,} each of {_listed([labels[x] for x in used])}"
    return _listed([f"{int(counts[x]):,} of {labels[x]}" for x in used])


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST_NAMES
    if more > 1:
        return ", ".join(names[:_MOST_NAMES]) + f" and {more} more"
    return ", ".join(names)


def _interval(estimate: Estimate) -> str:
    """Return a number with its interval, to two digits of the interval's half-width."""
    if math.isinf(estimate.high - estimate.low):
        return f"about {estimate.value:+.3g}, without an interval"
    digits = _decimals(estimate.low, estimate.high)
    value, low, high = (
        f"{number:+.{digits}f}" for number in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} ({low} to {high})"


def _decimals(low: float, high: float) -> int:
    """Return how many decimals an interval deserves: two digits of its half-width."""
    width = (high - low) / 2
    return max(0, 1 - math.floor(math.log10(width))) if width > 0 else 6


def _behind(value: float, low: float, high: float) -> list[str]:
    """Return how far an option is behind, with its interval, as cells."""
    if math.isinf(high):
        return [f"{value:.3g}" if value else "–", "–", "–"]
    if low == high:  # of equal features
        return ["0"] * 3
    digits = _decimals(low, high)
    return [f"{round(number, digits) + 0.0:.{digits}f}" for number in (value, low, high)]


def _caption(policy: FairPhasedElimination) -> str:
    if not policy.spent:
        return "Nothing has been evaluated yet."
    names = policy.actions.group_names or ("", "")
    said = f"Recommended: {policy.recommend().label}. ± is what a phase wants to know to within."
    if any(step.bias is not None for step in policy.history):
        level = policy.bias().level
        said += (
            f" A bias above 0 favours {names[1]}, below 0 {names[0]}; all intervals hold together "
            f"with probability at least {level:.6g}."
        )
    if policy.stated_noise is None or math.isinf(policy.stated_bound):
        said += (
            f" Phases are planned for noise of ±{policy.noise_scale:g} and values within "
            f"±{policy.value_bound:g}; give noise_scale and value_bound if yours are others."
        )
    return said
