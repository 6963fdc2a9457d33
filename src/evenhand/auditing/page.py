"""The report of an audit, and what notebooks show of it."""

from __future__ import annotations

import math
from datetime import date
from importlib.metadata import version

from evenhand import html
from evenhand.auditing.audit import Audit
from evenhand.auditing.bias import BiasEstimate
from evenhand.auditing.decisions import RULES
from evenhand.auditing.figure import audit_picture, draw_audit_picture, verdict
from evenhand.policies.messages import Estimate
from evenhand.report.document import (
    Section,
    document,
    facts,
    frame_table,
    note,
    picture,
    table,
)
from evenhand.report.phrases import decimals, interval, percent

_MOST_ROWS = 50


def report_of(audit: Audit, title: str | None = None, made: date | None = None) -> str:
    """Return the report of an audit as one page of HTML."""
    return document(
        title or "Are these scores biased?",
        verdict(audit),
        [
            Section("How large, and how sure", _size(audit)),
            Section("Whose bias, and what it changes", _picture(audit)),
            Section("Decisions that would change", _decisions(audit)),
            Section("How it was computed", _method(audit)),
        ],
        made,
    )


def as_html(audit: Audit) -> str:
    """Return the audit as one block of HTML: nothing in it runs, all names are escaped."""
    made = audit.decisions
    counts = {said: made.count(said) for said in ("wrong", "fragile", "safe", "unknown")}
    known = {
        "bias": _interval(audit.bias),
        "as if scores were independent": _interval(audit.naive),
        "decisions": ", ".join(f"{n:,} {said}" for said, n in counts.items() if n),
        "scores": f"{len(audit.effects.scores):,}",
    }
    return html.block(verdict(audit), html.facts(known))


def _size(audit: Audit) -> list[str]:
    rows = [
        ["evaluators and options come back", *_numbers(audit.bias, audit.bias)],
        ["as if scores were independent", *_numbers(audit.naive, audit.bias)],
    ]
    header = ["how it is reckoned", "bias", "low", "high", "standard error", "degrees of freedom"]
    return [
        table("What evaluators add to those whom they are partial to", header, rows),
        note(
            "The first interval allows for evaluators who differ in their biases, and for options "
            "that all evaluators see with the same eyes: scores of one evaluator, or of one "
            "option, are not so many independent ones. The second does not, and is too short; it "
            "stands here for comparison."
        ),
    ]


def _numbers(bias: BiasEstimate, like: BiasEstimate) -> list[object]:
    """Return a bias as cells, with the decimals that another deserves."""
    digits = decimals((like.high - like.low) / 2)
    cells = [
        html.Rounded(x, digits) if math.isfinite(x) else None
        for x in (bias.value, bias.low, bias.high)
    ]
    se = html.Rounded(bias.se, digits + 1) if math.isfinite(bias.se) else None
    return [*cells, se, html.Rounded(bias.freedom, 0)]


def _interval(bias: BiasEstimate) -> str:
    return interval(Estimate(bias.value, bias.low, bias.high, bias.level))


def _picture(audit: Audit) -> list[str]:
    shown = audit_picture(audit)
    return [
        picture(
            draw_audit_picture(shown),
            "audit",
            f"{shown.title} Biases of evaluators with their intervals, and decisions by the favour "
            "that would tip them; the numbers are in the tables.",
            "The dark band is the common bias. On the right, every mark is a decision: what the "
            "whole panel would have to favour the winner's group by for another to be best.",
        )
    ]


def _decisions(audit: Audit) -> list[str]:
    made = audit.decisions
    frame = audit.flips
    rules = [
        [
            RULES.get(rule, rule),
            int(rows["flipped"].sum()),
            int(rows["podium_changed"].sum()),
            len(rows),
        ]
        for rule, rows in frame.groupby("rule", sort=False)
    ]
    events = made.to_frame()
    doubtful = events[events["verdict"].isin(["wrong", "fragile"])]
    doubtful = doubtful.sort_values(["verdict", "tipping_favour"], ascending=[False, True])
    names = {
        "event": "event",
        "verdict": "verdict",
        "winner": "winner by the mean",
        "fair_winner": "winner without bias",
        "lead": "lead",
        "tipping_favour": "favour that tips it",
    }
    if not any(made.contests.names):
        del names["event"]
    counts = ", ".join(
        f"{made.count(said):,} {said}"
        for said in ("wrong", "fragile", "safe", "unknown")
        if made.count(said)
    )
    return [
        f"Of {len(made):,} decision{'' if len(made) == 1 else 's'}: {counts}.",
        table("Winners and podiums by rule", ["rule", "winners", "podiums", "of"], rules),
        frame_table("Decisions that are wrong or fragile", doubtful, _MOST_ROWS, names),
        note(
            "Wrong: at every plausible bias somebody else is the best. Fragile: nobody can tell, "
            "because the bias or the noise is not known well enough. Safe: the winner is the best "
            "at every plausible bias. All of this is by the mean of these scores, which need not "
            "be how a committee decides."
        ),
    ]


def _method(audit: Audit) -> list[str]:
    scores = audit.effects.scores
    columns = ", ".join(f"{part}: {name}" for part, name in scores.called.items())
    evaluators = "not told apart" if scores.evaluator is None else f"{len(scores.evaluator):,}"
    entries: dict[str, object] = {
        "scores": f"{len(scores):,}",
        "options": f"{len(scores.option):,}",
        "evaluators": evaluators,
        "events": "one" if scores.event is None else f"{len(scores.event):,}",
        "groups": f"{len(scores.groups):,}" if scores.groups else "none",
        "columns": columns or None,
        "confidence": percent(audit.bias.level),
        "software": f"evenhand {version('evenhand')}",
    }
    return [
        facts("All that it takes to repeat it, beside the scores", entries),
        note(
            "Scores less what every option and every evaluator at an event adds to all of its own "
            "(two-way effects), regressed on partiality less the same."
        ),
    ]
