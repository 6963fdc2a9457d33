"""How sure a policy is: who is how far behind, what a choice may lose, what the bias is."""

from __future__ import annotations

import math

import numpy as np
from rich.table import Table
from rich.text import Text

from evenhand.policies.certified import Certified
from evenhand.policies.messages import Estimate
from evenhand.report.words import decimals, number, percent

_MOST_RIVALS = 15  # of the options behind the recommended one; decision.leads has all


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
    sure = f"with probability at least {percent(decision.level)}"
    if decision.loss == 0.0:
        said = f"{decision.label} is the best, {sure}."
        if 0.0 < decision.withstands < math.inf:
            two = policy.actions.group_names is not None
            said += (
                f" It would still be if {'belonging to a group' if two else 'attributes'} were "
                f"truly worth up to ±{number(decision.withstands)}{unit}."
            )
    elif decision.loss < 2.0 * policy.stated_bound:
        said = (
            f"{decision.label} looks best and, {sure}, loses at most "
            f"{number(decision.loss)}{unit} against the best."
        )
    else:
        said = f"{decision.label} looks best; nothing is certain yet."
    told = "not known yet." if np.isnan(bias.value) else f"{_interval(bias)}{unit}."
    return f"{said} Bias: {told}"


def _interval(estimate: Estimate) -> str:
    """Return a number with its interval, to two digits of the interval's half-width."""
    if math.isinf(estimate.high - estimate.low):
        return f"about {estimate.value:+.3g}, without an interval"
    digits = decimals((estimate.high - estimate.low) / 2)
    value, low, high = (f"{x:+.{digits}f}" for x in (estimate.value, estimate.low, estimate.high))
    return f"{value} ({low} to {high})"


def _behind(value: float, low: float, high: float) -> list[str]:
    """Return how far an option is behind, with its interval, as cells."""
    if math.isinf(high):
        return [f"{value:.3g}" if value else "–", "–", "–"]
    if low == high:  # of equal features
        return ["0"] * 3
    digits = decimals((high - low) / 2)
    return [f"{round(x, digits) + 0.0:.{digits}f}" for x in (value, low, high)]
