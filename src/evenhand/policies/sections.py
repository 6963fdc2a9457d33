"""A policy in a notebook: where it stands, what it would choose and how sure that is, the bias."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.arrays import Floats
from evenhand.numerics.intervals import Estimate
from evenhand.policies.conclusion import end_of, values_of
from evenhand.policies.messages import Decision
from evenhand.questions import Options
from evenhand.report.model import Cell, Points, Report, Section, Span, Table
from evenhand.report.words import counted, number, percent

if TYPE_CHECKING:
    from evenhand.policies.base import Policy

_MOST_OPTIONS = 10  # in the table; values() and decision.leads have all


def report_of(policy: Policy) -> Report:
    """Return where a policy stands."""
    decision = policy.recommend()
    findings = decision.warnings or policy.findings()
    facts = [
        ("evaluations", f"{policy.spent:,} of at most {policy.horizon:,}"),
        ("choice now", decision.label),
        ("how sure", how_sure(decision)),
        ("bias", in_words(policy.bias())),
        ("also observed", counted(policy.observed, "evaluation") if policy.observed else ""),
        ("done", end_of(policy) or ""),
    ]
    warnings = [f"{'⚠' if one.alarm else '·'} {one}" for one in findings]
    return Report(
        policy.name,
        policy.name,
        facts,
        [Section("", [Points(warnings), _standings(policy, decision)], "brief")],
    )


def how_sure(decision: Decision) -> str:
    """Return what is certain about a decision, in a few words."""
    if decision.level == 0.0:
        return "not said"
    if not np.isfinite(decision.loss):
        return "nothing is certain yet"
    said = "the best" if decision.loss == 0.0 else f"loses at most {number(decision.loss)}"
    said += f", with probability at least {percent(decision.level)}"
    if decision.certainty == "own scores":
        said += ", by its own scores"
    elif decision.certainty == "features exact":
        said += ", if values are linear in the features"
    return said


def in_words(estimate: Estimate) -> str:
    """Return a number with its interval, in a few words."""
    if np.isnan(estimate.value):
        return "not known yet"
    if not np.isfinite(estimate.high - estimate.low):
        return f"{number(estimate.value)}, without an interval"
    return (
        f"{number(estimate.value)}, from {number(estimate.low)} to {number(estimate.high)} with "
        f"probability at least {percent(estimate.level)}"
    )


def _standings(policy: Policy, decision: Decision) -> Table | None:
    """Return a table of values with intervals, or of leads; nothing if the policy says neither."""
    values = values_of(policy)
    if values is not None:
        return _ranked(policy.options, "value", values, -values[:, 0])
    if decision.leads is None:
        return None
    leads = decision.leads.copy()
    leads[np.isinf(leads[:, 2]), 0] = np.nan  # not known yet
    leads[decision.option] = 0.0
    order = np.where(np.arange(len(leads)) == decision.option, -np.inf, leads[:, 0])
    return _ranked(policy.options, f"behind {decision.label} by", leads, order)


def _ranked(options: Options, header: str, rows: Floats, keys: Floats) -> Table:
    order = np.argsort(keys, kind="stable")[:_MOST_OPTIONS]  # NaN comes last
    shown = rows[order]
    finite = shown[np.isfinite(shown)]
    ends = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 0.0)
    groups = options.groups
    cells: list[list[Cell]] = [
        [
            options.labels[x],
            *([] if groups is None else [groups[x]]),
            *(value, low, high),
            Span(value, low, high, ends),
        ]
        for x, (value, low, high) in zip(order.tolist(), shown.tolist(), strict=True)
    ]
    group = [] if groups is None else ["group"]
    columns = ["option", *group, header, "from", "to", ""]
    return Table("", columns, cells, more=len(rows) - len(order))
