"""An audit as a report: verdict, facts, tables and pictures; and as a record for machines."""

from __future__ import annotations

import math
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from evenhand.auditing import words
from evenhand.auditing.bias import BiasEstimate
from evenhand.auditing.decisions import RULES
from evenhand.best import Best, sign
from evenhand.report.model import (
    Assumptions,
    Cell,
    Chance,
    Facts,
    Note,
    Part,
    Picture,
    Points,
    Report,
    Section,
    Standing,
    Table,
    became,
    frame_table,
    rounded,
)
from evenhand.report.words import decimals, joined, number, percent

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.auditing.audit import Audit
    from evenhand.scores import Scores

_EACH = {
    "leniency": "leniency",
    "scores": "scores",
    "own": "partial",
    "bias": "bias",
    "shrunk": "shrunken",
    "shrunk_low": "low",
    "shrunk_high": "high",
    "q": "q",
    "flagged": "stands out",
}


def report_of(audit: Audit) -> Report:
    """Return what an audit has to say."""
    return Report(
        "Are these scores biased?",
        words.verdict(audit),
        words.facts(audit),
        [
            Section("Whose bias, and what it changes", partial(_picture, audit)),
            Section("How large, and how sure", partial(_size, audit)),
            Section("Against the baseline", partial(_ranking, audit), "brief"),
            Section("Permutation test", partial(_permutations, audit)),
            Section("Whose bias is how large", partial(_who, audit), "brief"),
            Section("Who is favoured", partial(_favoured, audit)),
            Section("Winners that change", partial(_changed, audit), "brief"),
            Section("Who is wanted, and what changes that", partial(_wanted, audit), "brief"),
            Section("Decisions", partial(_decisions, audit)),
            Section("What was assumed, and what became of it", partial(_assumptions, audit)),
            Section("Whom to ask", partial(_asks, audit)),
            Section("How it was computed", partial(_method, audit)),
        ],
        names=_names(audit.effects.scores),
    )


def _names(scores: Scores) -> list[str]:
    """Return the user's own names, in what an audit says."""
    factors = (scores.option, scores.evaluator, scores.item, scores.event, scores.cluster)
    names = [name for factor in factors if factor is not None for name in factor.names]
    return [*names, *scores.groups, *scores.attributes, *scores.beside]


def _picture(audit: Audit) -> list[Part]:
    events = any(map(math.isfinite, audit.decisions.tipping_favour.tolist()))
    if not (events or math.isfinite(audit.bias.value)):
        return []
    bounded = math.isfinite(audit.bias.high - audit.bias.low)
    band = "The dark band is the bias that evaluators have in common." if bounded else ""
    beside = (
        " On the right, every mark is a decision, by what the whole panel would have to favour the "
        "winner's group by for another to be best."
        if events
        else ""
    )
    return [
        Picture(
            "audit",
            audit.plot,
            f"{words.verdict(audit)} Biases of evaluators with their intervals, and decisions by "
            "the favour that would tip them; the numbers are in the tables.",
            f"{band}{beside}".strip(),
        )
    ]


def _size(audit: Audit) -> list[Part | None]:
    header = ["what", "estimate", "low", "high", "standard error", "degrees of freedom"]
    rows = [[_about(audit.bias), *_numbers(audit.bias)]]
    if audit.bias.clusters:
        rows.append([_about(audit.here), *_numbers(audit.here, like=audit.bias)])
    rows.append(["bias, as if scores were independent", *_numbers(audit.naive, like=audit.bias)])
    rows += [[name, *_numbers(found)] for name, found in audit.attributes.items()]
    if audit.position is not None:
        rows.append(["standing first", *_numbers(audit.position)])
    level = percent(audit.bias.level)
    return [Table(f"What scores rise with ({level} intervals)", header, rows), _why(audit)]


def _about(found: BiasEstimate) -> str:
    """Return for whom an interval of the bias is."""
    like = f", for {joined(list(found.clusters))} like these" if found.clusters else ""
    only = f", of these {joined(found.only)} only" if found.only else ""
    return f"bias{like}{only}"


def _why(audit: Audit) -> Note | None:
    """Return why there are several intervals of the bias; None if there are none."""
    wide, plain = (one.high - one.low for one in (audit.bias, audit.naive))
    if not math.isfinite(wide):
        return None
    compared = "does not, and is too short" if plain < wide else "does not"
    return Note(
        "The first interval allows for evaluators who differ in their biases, and for options that "
        "all evaluators see with the same eyes: scores of one evaluator, or of one option, are not "
        f"so many independent ones. The one as if scores were independent {compared}; it stands "
        "here for comparison."
    )


def _numbers(found: BiasEstimate, like: BiasEstimate | None = None) -> list[Cell]:
    """Return an estimate as cells, with the decimals that it, or another, deserves."""
    like = found if like is None else like
    digits = decimals((like.high - like.low) / 2)
    values = [rounded(x, digits) for x in (found.value, found.low, found.high)]
    return [*values, rounded(found.se, digits + 1), rounded(found.freedom, 0)]


def _ranking(audit: Audit) -> list[Part]:
    """Return options against the one that all were compared with, attributes taken off."""
    scores, frame = audit.effects.scores, audit.ranking
    if frame is None or scores.baseline is None:
        return []
    columns = {"option": "option", "value": "value", "low": "low", "high": "high"}
    baseline, told = scores.option.names[scores.baseline], frame.copy()
    said = f"By how much an option is better than {baseline}, and the interval by items"
    if scores.best == "low":
        said = f"What an option scores against {baseline}, where less is better, by items"
    if scores.attributes:
        said += f", with {joined(list(scores.attributes))} taken off; 'as given' without that"
        columns |= {"as given": "as given", "rank as given": "rank as given"}
    if float(abs(scores.score).max()) <= 1.0:
        told["win rate"] = 50.0 * (1.0 + sign(scores.best) * told["value"])
        columns["win rate"] = "win rate, %"
        said += f". A win rate is half of 1 {'and' if scores.best == 'high' else 'less'} the value"
    title = f"Options against {baseline}, the best first ({percent(audit.bias.level)} intervals)"
    return [frame_table(title, told, columns), Note(f"{said}.")]


def _permutations(audit: Audit) -> list[Part]:
    found = audit.placebo
    if found.impossible:
        return [f"Groups could not be dealt out at random for comparison: {found.impossible}."]
    at_most = "at most " if found.chance * (len(found.draws) + 1) < 2.0 else ""
    return [
        f"If groups meant nothing, a bias as large would be found with probability {at_most}"
        f"{number(found.chance)}, by {len(found.draws):,} random dealings of groups to evaluators "
        "(placebos)."
    ]


def _who(audit: Audit) -> list[Part]:
    best = audit.effects.scores.best
    found, severe = _known(audit.evaluators, best), "; above 0, severity" * (best == "low")
    if not len(found):
        return ["No single bias could be told from those of others."]
    columns = {"evaluator": "evaluator", "group": "group"} | _EACH
    return [
        frame_table("Evaluators, the surest first", found, columns, {"q": Chance}),
        Note(
            f"Leniency (the evaluator effect{severe}) is what an evaluator adds to all. Partial: "
            "how many of the scores are partial. Shrunken: the better guess of each bias, drawn to "
            "the mean by as much as it is uncertain, with its interval. Of those who stand out no "
            f"more than {percent(1.0 - audit.bias.level)} are expected to do so by chance (false "
            "discovery rate q)."
        ),
    ]


def _favoured(audit: Audit) -> list[Part]:
    columns = {audit.favoured: "favoured"} | _EACH
    found = _known(audit.groups, audit.effects.scores.best)
    return [frame_table("Those who are favoured, the surest first", found, columns, {"q": Chance})]


def _known(frame: pd.DataFrame, best: Best) -> pd.DataFrame:
    """Return those who have a bias that is known, the surest first, then the largest favour."""
    known = frame[frame["shrunk"].notna()]
    found = known.sort_values("shrunk", ascending=best == "low", kind="stable")
    return found.sort_values("q", kind="stable")


def _changed(audit: Audit) -> list[Part]:
    """Return which winners change under which rule."""
    changed = {"event": "event", "rule": "rule", "baseline": "wins", "winner": "would win"}
    if len(audit.decisions) == 1:
        del changed["event"]
    if not audit.effects.told:
        return []
    return [frame_table("Who wins, and would by the rule", audit.decisions.changed(), changed)]


def _wanted(audit: Audit) -> list[Part]:
    """Return which of those that are wanted change, and by what."""
    found = audit.decisions.shortlist
    if found is None:
        return []
    names = {
        "event": "event",
        "option": "option",
        "by_mean": "by the mean",
        "without_bias": "bias off",
        "without_leniency": "leniency off",
        "fair": "both off",
        "verdict": "surely",
        "changed_by": "changed by",
    }
    frame, caption = found.to_frame(), f"Who is {found.wanted}"
    if len(audit.decisions) == 1:
        del names["event"]
        frame = frame.sort_values(["fair", "by_mean"], ascending=False, kind="stable")
        caption += " and who is not, those who are with both off first"
    else:  # of many events, what is worth a look
        said = ~frame["verdict"].isin(["at the line", "itself"])
        frame = frame[(frame["changed_by"] != "") | said]
        caption += ": those of whom that is sure, and those of whom it changes"
    read = (
        f"'Surely' in or out is so of all options of an event at once, {percent(audit.bias.level)} "
        "sure. At the line a change is within noise, and nobody is wronged by more than that."
    )
    return [frame_table(caption, frame, names), Note(read)]


def _decisions(audit: Audit) -> list[Part]:
    made = audit.decisions
    rules: list[list[Cell]] = [[RULES[one.rule], int(one.flipped.sum())] for one in made.rules]
    events = made.to_frame()
    doubtful = events[events["verdict"].isin(["wrong", "fragile"])].sort_values(
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
    if len(made) == 1:
        del names["event"]
    found: list[Part] = []
    if audit.effects.told:
        found.append(Table("What changes, by rule", ["rule", "winners"], rules))
    if len(doubtful):
        found += [
            frame_table("Decisions that are wrong or fragile", doubtful, names),
            Note(
                "Wrong: at every plausible bias somebody else is better than the winner, by more "
                "than noise. Safe: at every plausible bias the winner is the best, by more than "
                "noise. Fragile: nobody can tell, because the bias or the noise is not known well "
                "enough; it is no reproach. The fair winner is the one with bias and leniency off; "
                "the lead is its lead; the tipping favour is what the whole panel would have to "
                "favour its group by for another to be best. All of this is by the mean of these "
                "scores, which need not be how a committee decides."
            ),
        ]
    return found


def _assumptions(audit: Audit) -> list[Part]:
    checked = _checks(audit)
    seen = " ".join(said for _, _, said in checked)
    others = [" ".join(one.message.split()) for one in audit.warnings]
    return [
        f"{_model(audit)}, a bias where the evaluator is partial, and noise.",
        Assumptions(checked),
        Points([text for text in others if text not in seen]),
        Note("Held says that nothing was seen against it, not that it is proved."),
    ]


def _model(audit: Audit) -> str:
    """Return what scores are taken to be, but for bias and noise."""
    scores = audit.effects.scores
    everybody = "what the evaluator adds to everybody at that event"
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
    left = effects.told and effects.freedom > 0
    few = "Too few scores are left."
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


def _asks(audit: Audit) -> list[Part]:
    """Return what to ask so that the bias can be told, where it cannot."""
    found = audit.identified
    if found.told:
        return []
    columns = ["evaluator", "evaluator_group", "option", "option_group", "rival", "item", "event"]
    used = [name for name in columns if any(getattr(ask, name) is not None for ask in found.asks)]
    rows = [[getattr(ask, name) for name in used] for ask in found.asks]
    return [found.advice, Table("Scores to add", [name.replace("_", " ") for name in used], rows)]


def _method(audit: Audit) -> list[Part]:
    scores = audit.effects.scores
    called = scores.called.items()
    columns = ", ".join(f"{part}: {name}" for part, name in called if name != part)
    entries: dict[str, Cell] = {
        "scores": len(scores),
        "options": len(scores.option),
        "evaluators": "not told apart" if scores.evaluator is None else len(scores.evaluator),
        "events": "one" if scores.event is None else len(scores.event),
        "groups": len(scores.groups) or "none",
        "columns": columns or None,
        "noise": audit.effects.noise,
        "confidence": percent(audit.bias.level),
        "seed": audit.seed,
        "software": f"evenhand {version('evenhand')}",
    }
    return [
        Facts("All that it takes to repeat it, beside the scores", entries),
        Note(
            "By least squares on the model above: scores less what everything else in it explains, "
            "against partiality less the same. The interval is by clusters of evaluators and of "
            "those whom they favour, and by Student's distribution."
        ),
    ]


def record_of(audit: Audit) -> dict[str, Any]:
    """Return all that an audit says, for machines."""
    scores, decided = audit.effects.scores, audit.decisions
    return {
        "verdict": words.verdict(audit),
        "scores": len(scores),
        "best": scores.best,
        "options": len(scores.option),
        "evaluators": 0 if scores.evaluator is None else len(scores.evaluator),
        "events": len(decided),
        "bias": _bias(audit.bias),
        "here": _bias(audit.here),
        "naive": _bias(audit.naive),
        "ranking": None if audit.ranking is None else audit.ranking.to_dict("records"),
        "position": None if audit.position is None else _bias(audit.position),
        "attributes": {name: _bias(bias) for name, bias in audit.attributes.items()},
        "placebo": {
            "draws": len(audit.placebo.draws),
            "mean": audit.placebo.mean,
            "sd": audit.placebo.sd,
            "z": audit.placebo.z,
            "chance": audit.placebo.chance,
            "impossible": audit.placebo.impossible,
        },
        "spread": {
            "evaluators": audit.spread.evaluators,
            f"{audit.favoured}s": audit.spread.groups,
        },
        "by_evaluator": audit.evaluators.to_dict("records"),
        f"by_{audit.favoured}": audit.groups.to_dict("records"),
        "pair": {**asdict(audit.pair), "share": audit.pair.share},
        "influences": audit.influences,
        "flips": {rule.rule: int(rule.flipped.sum()) for rule in decided.rules},
        "decisions": decided.to_frame().to_dict("records"),
        "wanted": None
        if decided.shortlist is None
        else decided.shortlist.to_frame().to_dict("records"),
        "warnings": [
            {name: getattr(one, name) for name in ("assumption", "message", "alarm", "p_value")}
            for one in audit.warnings
        ],
        "cannot_tell": audit.cannot_tell,
    }


def _bias(bias: BiasEstimate) -> dict[str, Any]:
    return {**asdict(bias), "chance": bias.chance}
