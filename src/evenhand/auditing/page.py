"""The report of an audit, and what notebooks show of it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from importlib.metadata import version
from typing import TYPE_CHECKING

import numpy as np

from evenhand.auditing import words
from evenhand.auditing.audit import Audit
from evenhand.auditing.bias import BiasEstimate
from evenhand.auditing.decisions import RULES
from evenhand.auditing.figure import audit_picture, draw_audit_picture
from evenhand.report import markup as html
from evenhand.report.document import (
    Section,
    Standing,
    became,
    checked,
    document,
    facts,
    frame_table,
    note,
    picture,
    points,
    table,
)
from evenhand.report.words import decimals, number, percent, short

if TYPE_CHECKING:
    import pandas as pd

_MOST_ROWS = 50
_DOUBTFUL = ("wrong", "fragile")


def report_of(audit: Audit, title: str | None = None, made: date | None = None) -> str:
    """Return the report of an audit as one page of HTML."""
    return document(
        title or "Are these scores biased?",
        words.verdict(audit),
        [
            Section("Whose bias, and what it changes", _picture(audit)),
            Section("How large, and how sure", _size(audit)),
            Section("A second opinion", _placebo(audit)),
            Section("Who", _who(audit)),
            Section("Decisions that would change", _decisions(audit)),
            Section("What was assumed, and what became of it", _assumptions(audit)),
            Section("What no scores can tell", [points(audit.cannot_tell)]),
            Section("Whom to ask", _asks(audit)),
            Section("How it was computed", _method(audit)),
        ],
        made,
    )


def as_html(audit: Audit) -> str:
    """Return the audit as one block of HTML: nothing in it runs, all names are escaped."""
    said: dict[str, list[html.Markup]] = {}
    for title, text in words.facts(audit):
        said.setdefault(title, []).append(html.text(text))
    below = {title: html.Markup("<br>".join(texts)) for title, texts in said.items()}
    return html.block(words.verdict(audit), html.facts(below))


def _picture(audit: Audit) -> list[str]:
    shown = audit_picture(audit)
    if not (shown.known or shown.events):
        return []
    bounded = math.isfinite(audit.bias.high - audit.bias.low)
    band = "The dark band is the bias that evaluators have in common." if bounded else ""
    beside = (
        " On the right, every mark is a decision, by what the whole panel would have to favour the "
        "winner's group by for another to be best."
        if shown.events
        else ""
    )
    return [
        picture(
            draw_audit_picture(shown),
            "audit",
            f"{shown.title} Biases of evaluators with their intervals, and decisions by the favour "
            "that would tip them; the numbers are in the tables.",
            f"{band}{beside}".strip(),
        )
    ]


def _size(audit: Audit) -> list[str]:
    header = ["what", "estimate", "low", "high", "standard error", "degrees of freedom"]
    rows = [
        ["bias; evaluators and options come back", *_numbers(audit.bias)],
        ["bias of these alone, whatever others would do", *_numbers(audit.here, like=audit.bias)],
        ["bias, as if scores were independent", *_numbers(audit.naive, like=audit.bias)],
    ]
    rows += [[short(name), *_numbers(found)] for name, found in audit.attributes.items()]
    if audit.position is not None:
        rows.append(["standing first", *_numbers(audit.position)])
    if audit.by_features is not None and not audit.features_only:
        rows.append(["bias, by features alone", *_numbers(audit.by_features.bias)])
    return [
        table(f"What scores rise with ({percent(audit.bias.level)} intervals)", header, rows),
        words.naive(audit),
        _why_several(audit),
        "" if audit.by_features is None else audit.by_features.warning.message,
    ]


def _why_several(audit: Audit) -> str:
    """Return why there are several intervals of the bias; "" if there are none."""
    wide, plain = (one.high - one.low for one in (audit.bias, audit.naive))
    if not math.isfinite(wide):
        return ""
    short_one = "does not, and is too short" if plain < wide else "does not"
    return note(
        "The first interval allows for evaluators who differ in their biases, and for options that "
        "all evaluators see with the same eyes: scores of one evaluator, or of one option, are not "
        f"so many independent ones. The one as if scores were independent {short_one}; it stands "
        "here for comparison."
    )


def _numbers(found: BiasEstimate, like: BiasEstimate | None = None) -> list[object]:
    """Return an estimate as cells, with the decimals that it, or another, deserves."""
    like = found if like is None else like
    digits = decimals((like.high - like.low) / 2)
    cells: list[object] = [
        html.Rounded(x, digits) if math.isfinite(x) else None
        for x in (found.value, found.low, found.high)
    ]
    cells.append(html.Rounded(found.se, digits + 1) if math.isfinite(found.se) else None)
    return [*cells, html.Rounded(found.freedom, 0) if math.isfinite(found.freedom) else None]


def _placebo(audit: Audit) -> list[str]:
    found = audit.placebo
    if found.impossible:
        return [f"Groups could not be dealt out at random for comparison: {found.impossible}."]
    at_most = "at most " if found.chance * (len(found.draws) + 1) < 2.0 else ""
    return [
        words.placebo(audit),
        f"If groups meant nothing, a bias as large would be found with probability {at_most}"
        f"{number(found.chance)}, by {len(found.draws):,} random dealings.",
    ]


def _who(audit: Audit) -> list[str]:
    columns = {
        "evaluator": "evaluator",
        "group": "group",
        "leniency": "leniency",
        "scores": "scores",
        "own": "partial",
        "bias": "bias alone",
        "shrunk": "drawn in",
        "shrunk_low": "low",
        "shrunk_high": "high",
        "q": "q",
        "flagged": "sure",
    }
    favoured = {audit.favoured: "favoured"} | {
        name: said for name, said in columns.items() if name not in ("evaluator", "group")
    }
    if audit.features_only:
        return ["By features alone nobody's bias can be told from those of others."]
    evaluators = _known(audit.evaluators, ["flagged", "shrunk"])
    parties = _known(audit.groups, ["shrunk"])
    if not len(evaluators) and not len(parties):
        return ["No single bias could be told from those of others."]
    return [
        words.spread(audit),
        words.who(audit),
        frame_table("Evaluators, the surest first", evaluators, _MOST_ROWS, columns),
        frame_table("Those who are favoured", parties, _MOST_ROWS, favoured),
        note(
            "Partial: how many of the scores are partial. Drawn in: the better guess of each bias, "
            "drawn to the mean by as much as it is uncertain, with its interval. Of those whose "
            f"bias is called sure no more than {percent(1.0 - audit.bias.level)} are expected to "
            "be so by chance (false discovery rate q). Leniency is what an evaluator adds to all."
        ),
    ]


def _known(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """Return those who have a bias that is known, the largest first, q-values as people read."""
    if not len(frame):
        return frame
    found = frame[frame["shrunk"].notna()].sort_values(list(by), ascending=False, kind="stable")
    chances = ["< 0.001" if q < 0.001 else f"{q:.3f}" for q in found["q"].tolist()]
    return found.assign(q=chances)


def _decisions(audit: Audit) -> list[str]:
    made = audit.decisions
    rules = [
        [RULES.get(one.rule, one.rule), _count(one.flipped), _count(one.podium_changed)]
        for one in made.rules
    ]
    events = made.to_frame()
    doubtful = events[events["verdict"].isin(_DOUBTFUL)]
    doubtful = doubtful.sort_values(
        ["verdict", "tipping_favour"], ascending=[False, True], kind="stable"
    )
    names = {
        "event": "event",
        "verdict": "verdict",
        "winner": "winner",
        "fair_winner": "fair winner",
        "lead": "lead",
        "tipping_favour": "tipping favour",
    }
    changed = {"event": "event", "rule": "rule", "baseline": "wins", "winner": "would win"}
    if len(made) == 1:
        del names["event"], changed["event"]
    flips = made.changed()
    return [
        words.flips(audit),
        words.fragile(audit) or words.decided(audit),
        table("What changes, by rule", ["rule", "winners", "first three"], rules)
        if rules and audit.effects.told
        else "",
        frame_table("Winners that change", flips, _MOST_ROWS, changed)
        if audit.effects.told
        else "",
        frame_table("Decisions that are wrong or fragile", doubtful, _MOST_ROWS, names),
        note(
            "Wrong: at every plausible bias somebody else is better than the winner, by more than "
            "noise. Safe: at every plausible bias the winner is the best, by more than noise. "
            "Fragile: nobody can tell, because the bias or the noise is not known well enough; it "
            "is no reproach. The fair winner is the one with bias and leniency off; the "
            "lead is its lead; the tipping favour is what the whole panel would have to favour its "
            "group by for another to be best. All of this is by the mean of these scores, which "
            "need not be how a committee decides."
        )
        if len(doubtful)
        else "",
    ]


def _count(changed: np.ndarray) -> int:
    return int(changed.sum())


def _assumptions(audit: Audit) -> list[str]:
    told = _checks(audit)
    said = " ".join(seen for _, _, seen in told)
    others = (" ".join(one.message.split()) for one in audit.warnings)
    return [
        f"{_model(audit)}, a bias where the evaluator is partial, and noise.",
        checked(told),
        points(text for text in others if text not in said),
        words.pairs(audit),
        note("Held says that nothing was seen against it, not that it is proved."),
    ]


def _model(audit: Audit) -> str:
    """Return what scores are taken to be, but for bias and noise."""
    scores = audit.effects.scores
    everybody = "what the evaluator adds to everybody at that event"
    if audit.features_only:
        return "A score is taken to be what the features say, exactly"
    if scores.rival is not None:
        return (
            "A verdict is taken to be by how much one option is worth more than the other, what "
            "standing first adds"
        )
    if scores.reference is not None:
        return f"A score is taken to be the reference, {everybody}"
    return f"A score is taken to be what the option is worth, {everybody}"


def _checks(audit: Audit) -> list[tuple[str, Standing, str]]:
    """Return the assumptions that scores can contradict, each with what became of it."""
    effects = audit.effects
    left = effects.told and effects.freedom > 0 and not audit.features_only
    few = "Features alone do not tell." if audit.features_only else "Too few scores are left."
    timed = "No column says when scores were given." if effects.scores.time is None else few
    entries = [
        ("The bias and the use of the scale are the same all over.", ("slopes",), left, few),
        ("Noise is the same for all evaluators and options.", ("noise",), left, few),
        ("Nothing drifts.", ("drift",), left and effects.scores.time is not None, timed),
        ("Scores do not pile up at the ends of the scale.", ("ceiling", "floor"), True, few),
        ("No score lies far off what the others explain.", ("outliers",), left, few),
        ("The bias does not hang on one name.", ("influence",), left, few),
    ]
    return [became(audit.warnings, *entry) for entry in entries]


def _asks(audit: Audit) -> list[str]:
    """Return what to ask so that the bias can be told, where it cannot."""
    found = audit.identified
    if found.told:
        return []
    columns = ["evaluator", "evaluator_group", "option", "option_group", "rival", "item", "event"]
    used = [name for name in columns if any(getattr(ask, name) is not None for ask in found.asks)]
    rows = [[getattr(ask, name) for name in used] for ask in found.asks]
    header = [name.replace("_", " ") for name in used]
    return [found.advice, table("Scores to add", header, rows) if rows else ""]


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
        "noise": number(audit.effects.noise) if math.isfinite(audit.effects.noise) else None,
        "confidence": percent(audit.bias.level),
        "seed": audit.seed,
        "software": f"evenhand {version('evenhand')}",
    }
    return [
        facts("All that it takes to repeat it, beside the scores", entries),
        note(
            "By least squares on the model above: scores less what everything else in it explains, "
            "against partiality less the same. The interval is by clusters of evaluators and of "
            "those whom they favour, and by Student's distribution."
        ),
    ]
