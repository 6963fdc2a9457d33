"""The story of Fair Phased Elimination: what was evaluated and why, and what came of it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from evenhand.policies.base import Counts, Estimate
from evenhand.policies.fair_phased_elimination import FairPhasedElimination, Phase
from evenhand.report.inspection import plain_number

_MOST_NAMES = 4  # of options in a cell; policy.history has all
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
    width = (estimate.high - estimate.low) / 2
    digits = max(0, 1 - math.floor(math.log10(width))) if width > 0 else 6
    value, low, high = (
        f"{number:+.{digits}f}" for number in (estimate.value, estimate.low, estimate.high)
    )
    return f"{value} ({low} to {high})"


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
    return said
