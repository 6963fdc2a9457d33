"""The page of an audit: its sentences, its tables, and its record for machines.

The first screen says, in this order: is there a bias, how large, how sure; whose; what the mean
scores decide and what changes it; what to do next; alarms; what no score can tell. Nobody is named
whose interval holds 0, and no number has more digits than its interval deserves.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.best import Best, direction, sign
from evenhand.inference.biases import BiasEstimate
from evenhand.report import model
from evenhand.report.model import Chip, Kind, Part, Report, Section, frame_table
from evenhand.report.words import (
    abridged,
    counted,
    decimals,
    joined,
    listed,
    number,
    percent,
    short,
)
from evenhand.report.words import sentence as capital
from evenhand.scores import Scores
from evenhand.scores.scores import POSITION

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.auditing.audit import Audit

_MOST_NAMES = 3
_FEW = 10  # evaluators or options: more of them would tell more than more scores
_FIRST = "standing first adds {}".format
_UNTOLD = "These scores can't tell whether there is a bias."
_CHIPS: Mapping[str, Kind] = {"safe": "in", "wrong": "bad", "in": "in", "out": "out"}
_FRAGILE = "fragile (within noise, or dependent on how large the bias is)"
_AGREEMENT = "variance reliability alpha beside_trusted confusion position"
_KINDS: dict[str, Callable[[float], model.Cell]] = {
    **dict.fromkeys(("share", "accuracy", "flips", "first", "second"), model.Share),
    **dict.fromkeys(
        ("one review", "low", "high", "mean of reviews", "alpha", "kappa", "weighted"),
        partial(model.rounded, digits=2),
    ),
    **dict.fromkeys(("for 0.8", "for 0.9"), partial(model.rounded, digits=0)),
}
_VERDICTS = {
    "safe": "are safe (surely the best)",
    "fragile": f"are {_FRAGILE}",
    "wrong": "are wrong (surely not the best)",
    "unknown": "are not known",
}


def report_of(audit: Audit) -> Report:
    """Return what an audit has to say."""
    scores, favoured = audit.scores, _favoured(audit.scores)
    factors = (scores.option, scores.evaluator, scores.item, scores.event, scores.cluster)
    names = [name for factor in factors if factor is not None for name in factor.names]
    first, rests = facts(audit)
    return Report(
        "Are these scores biased?",
        verdict(audit),
        first,
        [
            Section("Against the baseline", partial(_ranking, audit), "brief"),
            Section("On each criterion", partial(_criteria, audit), "brief"),
            Section("Whose bias is how large", partial(_each, audit, "evaluator"), "brief"),
            Section("Who is favoured", partial(_each, audit, favoured)),
            Section("Winners that change", partial(_events, audit, True), "brief"),
            Section("Who is wanted, and what changes that", partial(_shortlist, audit), "brief"),
            Section("Decisions in doubt", partial(_events, audit, False)),
            Section("In a picture", partial(_picture, audit), "file"),
            Section("How large, and how sure", partial(_size, audit)),
            Section("How well evaluators agree", partial(_agreement, audit)),
            Section("What was assumed, and what became of it", partial(_assumptions, audit)),
            Section("How it was computed", partial(_method, audit)),
        ],
        names=[*names, *scores.groups, *scores.attributes, *scores.beside],
        rests=rests,
    )


def verdict(audit: Audit) -> str:
    """Return whether there is a bias, how large and how sure."""
    scores, found = audit.scores, audit.identified
    if found.told:
        return _sized(audit.bias, _added(scores), audit.noise, scores.best)
    return f"{(_others_first(audit) and _beside(audit)) or _UNTOLD} {found.why}"


def _favoured(scores: Scores) -> str:
    """Return what is favoured: a group, or an option where there are no groups."""
    return "option" if scores.option_group is None else "group"


def _others_first(audit: Audit) -> bool:
    """Tell whether position and attributes are all that these scores can tell."""
    asked = audit.scores.partial is None or audit.scores.baseline is not None
    return asked and not audit.identified.told


def _added(scores: Scores) -> Callable[[str], str]:
    """Return the words for how much evaluators add where they are partial."""
    if scores.stated is None:
        return "evaluators add {} to their own group".format
    column = short(scores.called.get("partial", "partiality"))
    plain = set(np.unique(scores.stated).tolist()) <= {-1.0, 0.0, 1.0}
    where = f"where {column} is 1" if plain else f"for every 1 of {column}"
    return lambda size: f"evaluators add {size} {where}"


def _sized(bias: BiasEstimate, added: Callable[[str], str], noise: float, best: Best) -> str:
    """Return whether there is a bias, how large, and how sure, in words for what is added."""
    half, sure = 0.5 * (bias.high - bias.low), f"{percent(bias.level)} sure"
    value, low, high = (number(x, decimals(half)) for x in (bias.value, bias.low, bias.high))
    whom = ""
    if best == "low":
        whom = f", which {'favours' if bias.value < 0.0 else 'disfavours'} it"
    if not math.isfinite(half) or half == 0.0:
        size = number(bias.value)
        said = f"{added(f'{size} point' if size == '1' else f'{size} points')}{whom}"
        if half == 0.0:
            return f"{'Yes' if bias.value else 'No'}: {said}, without any noise."
        return f"These scores can't tell: by estimate {said}, but too few are left to say how sure."
    if not bias.covers(0.0):
        return f"Yes: {added(f'{value} points ({low} to {high}, {sure})')}{whom}."
    said = added(f"{low} to {high} points ({sure})")
    if half <= noise:
        return f"No bias is shown: {said}."
    return f"{_UNTOLD[:-1]}: {said}, and that is wider than single scores scatter."


def attribute(scores: Scores, name: str, bias: BiasEstimate, noise: float) -> str:
    """Return by how much scores rise with as much of an attribute as is worth a word."""
    if name == POSITION and scores.baseline is not None:
        return _sized(bias, _FIRST, noise, scores.best)
    spread, unit = float(scores.attributes[name].std()), 1.0
    if spread > 0.0 and not 0.1 <= spread <= 100.0:
        unit = float(10.0 ** round(math.log10(spread)))
    every = f"every {unit:,.15g} of {short(name)}"
    return _sized(bias.times(unit), lambda size: f"{every} adds {size}", noise, scores.best)


def _beside(audit: Audit) -> str:
    """Return the biases beside partiality: for standing first, and along attributes."""
    scores, noise = audit.scores, audit.noise
    said = [] if audit.position is None else [_sized(audit.position, _FIRST, noise, scores.best)]
    said += [attribute(scores, name, bias, noise) for name, bias in audit.attributes.items()]
    return " ".join(said)


def facts(audit: Audit) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return what stands with the verdict, under short titles, and what that rests on."""
    alarms, notes = model.warned(audit.warnings)
    first = [
        *alarms,
        ("Beside it", "" if _others_first(audit) else _beside(audit)),
        ("Who", _who(audit)),
        ("Decisions", _decided(audit)),
        ("Agreement", _beside_trusted(audit) if audit.trusted else ""),
        ("Next", _next(audit)),
    ]
    rests = [
        ("How sure", _how_sure(audit)),
        *notes,
        ("Direction", direction(audit.scores.best)),
        *(("No score tells", text) for text in audit.cannot_tell),
    ]
    return first, rests


def _how_sure(audit: Audit) -> str:
    """Return for whom the interval is, and the permutation test."""
    bias, test, said = audit.bias, audit.placebo, []
    if not 0.0 < bias.high - bias.low < math.inf:
        return ""
    if bias.clusters:
        like = joined([f"{n:,} {kind}" for kind, n in bias.clusters.items()])
        said.append(f"The interval is for others like these {like}, too (cluster-robust).")
    if not test.impossible and len(test.draws):
        at_most = "at most " if test.chance * (len(test.draws) + 1) < 2.0 else ""
        size = number(test.chance, 3 if test.chance < 0.01 else 2)
        said.append(
            "With groups dealt out at random (permutation test) as large a bias has a chance of "
            f"{at_most}{size}."
        )
    return " ".join(said)


def _who(audit: Audit) -> str:
    """Return whose bias is not 0, the largest first, and what to expect of others."""
    each = {name: column.to_numpy() for name, column in audit.evaluators.items()}
    spread, failure = audit.spread, 1.0 - audit.bias.level
    known = each["own"] > 0
    if not audit.identified.told or not audit.bias.low < audit.bias.high or not known.any():
        return ""
    low, high, size = each["shrunk_low"], each["shrunk_high"], each["shrunk"]
    named = np.flatnonzero(known & each["flagged"] & ((low > 0.0) | (high < 0.0)))
    named = named[np.argsort(-np.abs(size[named]), kind="stable")]
    said = "single biases are within noise"
    if not np.isfinite(each["bias"]).any():
        said = "single biases can't be told from those of others"
    elif len(named) and spread.evaluators.sd == 0.0:
        said = "they do not differ by more than noise, and that of all is the best guess for each"
    of = f"of {counted(int(known.sum()), 'evaluator')} with partial scores can be named"
    if len(named) and spread.evaluators.sd != 0.0:
        names = [
            f"{short(each['evaluator'][x])} ({_between(size[x], low[x], high[x])})"
            for x in named.tolist()
        ]
        said = (
            f"{len(named):,} {of}, with shrunken biases (at most {percent(failure)} by chance): "
            f"{joined(names, _MOST_NAMES)}."
        )
    else:
        said = f"Nobody {of}: {said}."
    for kind, one in (("evaluator", spread.evaluators), (_favoured(audit.scores), spread.groups)):
        if math.isfinite(one.next_high - one.next_low) and one.sd > 0.0:
            said += f" Another {kind}'s: {_between(math.nan, one.next_low, one.next_high)}."
    return said


def _between(value: float, low: float, high: float) -> str:
    """Return a signed number, if it is one, and its interval."""
    digits = decimals(0.5 * (high - low))
    size = "" if math.isnan(value) else f"{'+' if value > 0.0 else ''}{number(value, digits)}, "
    return f"{size}{number(low, digits)} to {number(high, digits)}"


def _decided(audit: Audit) -> str:
    """Return what the mean scores decide, what changes that, and whether it is more than noise."""
    made, flips = audit.decisions, audit.flips
    if audit.shortlist is not None:
        return _changes(audit.shortlist, _wanted(audit))
    rivals = made[made["options"] > 1]
    n, rules = len(rivals), flips["rule"].unique().tolist()
    if n == 0 or rules[0] != "bias":
        return ""
    off = "by the references" if audit.scores.reference is not None else "with leniency off, too"
    if n > 1:
        counts = Counter(rivals["verdict"])
        kinds = [f"{counts[kind]:,} {said}" for kind, said in _VERDICTS.items() if counts[kind]]
        by_bias, fair = flips.groupby("rule", sort=False)["flipped"].sum()
        return (
            f"Of {n:,} winners by the mean scores {by_bias:,} change with the bias off and "
            f"{fair:,} {off}; {joined(kinds)}."
        )
    one = rivals.iloc[0]
    tied = [one["tied"]] if one["tied"] else []
    by_mean = listed([one["winner"], *tied], _MOST_NAMES)
    biased, fairly = map(short, map(str, flips[flips["event"] == one["event"]]["winner"]))
    how = {
        "safe": f"{fairly} is the best, by more than noise",
        "wrong": f"{by_mean} is not the best, by more than noise",
        "fragile": _FRAGILE,
    }.get(one["verdict"])
    said = f"By the mean scores {by_mean} {'tie' if tied else 'wins'}; with the bias off, {biased}"
    said = f"{said}; {off}, {fairly}"
    if {biased, fairly} == {by_mean}:
        said = f"{by_mean} wins by the mean scores, with the bias off, and {off}"
    return "" if how is None else f"{said}: {how}."


def _wanted(audit: Audit) -> str:
    """Return what is wanted, as it follows 'is' or 'are'."""
    assert audit.target is not None
    top = audit.target.top
    return audit.target.words if top is None else f"among the best {top:,}"


def _changes(rows: pd.DataFrame, wanted: str) -> str:
    """Return whom mean scores and all taken off decide otherwise, and of whom that is sure."""

    def named(some: pd.DataFrame) -> str:
        names = some["option"].tolist()
        if rows["event"].nunique() > 1:
            names = [f"{x} at {abridged(at)}" for x, at in zip(names, some["event"], strict=True)]
        return listed(names, _MOST_NAMES)

    by_mean, fair, verdict = rows["by_mean"], rows["fair"], rows["verdict"]
    found = {
        "by the mean scores only": by_mean & ~fair,
        "with all taken off only": fair & ~by_mean,
        "beyond noise": verdict == np.where(by_mean, "out", "in"),
        "surely so": fair & (verdict == "in"),
    }
    parts = [f"{how}: {named(rows[which])}" for how, which in found.items() if which.any()]
    if (by_mean == fair).all():
        parts = ["the same by the mean scores and with all taken off", *parts]
    return f"{capital(wanted)} {'; '.join(parts)}."


def _next(audit: Audit) -> str:
    """Return what to do: whom to ask, or what may be trusted."""
    bias = audit.bias
    if not audit.identified.told:
        return audit.identified.advice
    if not bias.covers(0.0):
        said = "The bias is identified: take it off (`decide` does), or let nobody score the own."
        made, open_ = audit.decisions, "fragile"
        if audit.shortlist is not None:
            made, open_ = audit.shortlist, "at the line"
        more = f" What is {open_} needs more scores."
        return said + more * bool((made["verdict"] == open_).any())
    if 0.5 * (bias.high - bias.low) <= audit.noise:
        return "The bias is identified, and small if there is one: nothing has to be taken off."
    kind, n = min(bias.clusters.items(), key=lambda one: one[1], default=("scores", _FEW))
    more = f"more {kind} than these {n:,}" if n < _FEW else "more scores, by all of them,"
    return f"The bias is identified, but not well: {more} would narrow its interval."


def cannot_tell(audit: Audit) -> tuple[str, ...]:
    """Return what these scores do not tell, however many there are of their kind."""
    scores, said = audit.scores, [_shared_favour(audit)]
    if scores.reference is not None:
        said.append("What the reference has wrong, and goes with partiality, looks like a bias.")
    if audit.identified.told and scores.partial is not None and scores.evaluator is not None:
        if scores.reference is None:
            said.append("A better eye for one's own looks the same as a favour.")
        own = int((scores.partial != 0.0).sum())
        said.append(
            f"{own:,} of {len(scores):,} scores are partial: if they were given because of how an "
            "option would do that day, the bias has that in it."
        )
    return tuple(text for text in said if text)


def _shared_favour(audit: Audit) -> str:
    """Return by how much all evaluators would have to favour winners for others to be best."""
    made, scores = audit.decisions, audit.scores
    tips = made[np.isfinite(made["tipping_favour"])]
    if scores.reference is not None or not len(tips):
        return ""
    never = "No score shows a favour that all evaluators share: it looks like worth."
    if audit.shortlist is not None:
        return never
    closest = tips.loc[tips["tipping_favour"].idxmin()]
    whom = short(closest["fair_winner"])
    if scores.option_group is not None:
        group = scores.option_group[scores.option.names.index(closest["fair_winner"])]
        whom = f"{short(scores.groups[group])} (the group of {whom})" if group >= 0 else whom
    at = f" at {abridged(closest['event'])}" if len(made) > 1 else ""
    who, size, error = scores.evaluator, closest["tipping_favour"], 2.0 * closest["lead_se"]
    they = "all evaluators" if who is None or len(who) > 1 else short(who.names[0])
    written = number(size, decimals(error) if 0.0 < error < math.inf else None)
    written = f"by more than {written if written.strip('0.') else f'{size:.1g}'}"
    written = written if size else "at all"
    return f"If {they} favoured {whom} {written}, somebody else would be best{at}. {never}"


def _picture(audit: Audit) -> list[Part]:
    if not math.isfinite(audit.bias.value) and len(audit.decisions) == 1:
        return []
    said = (
        f"{verdict(audit)} Biases with their intervals, and decisions; numbers are in the tables."
    )
    return [model.Picture("audit", audit.plot, said)]


def _size(audit: Audit) -> list[Part]:
    bias = audit.bias
    like = f", for {joined(list(bias.clusters))} like these" if bias.clusters else ""
    estimates = {f"bias{like}": bias, "bias, of these alone": audit.here}
    estimates |= {"bias, as if scores were independent": audit.naive, **audit.attributes}
    if audit.position is not None:
        estimates["standing first"] = audit.position

    def column(part: str, more: int = 0) -> list[model.Cell]:
        return [
            model.rounded(getattr(one, part), decimals((one.high - one.low) / 2) + more)
            for one in estimates.values()
        ]

    columns: dict[str, Sequence[model.Cell]] = {
        "what": list(estimates),
        "estimate": column("value"),
        "low": column("low"),
        "high": column("high"),
        "standard error": column("se", 1),
        "degrees of freedom": [model.rounded(one.freedom, 0) for one in estimates.values()],
    }
    return [model.Table.of(f"What scores rise with ({percent(bias.level)} intervals)", columns)]


def _ranking(audit: Audit) -> list[Part]:
    """Return options against the one that all were compared with, attributes taken off."""
    scores, frame = audit.scores, audit.ranking
    if frame is None or scores.baseline is None:
        return []
    if float(abs(scores.score).max()) <= 1.0:
        frame = frame.assign(**{"win rate, %": 50.0 * (1.0 + sign(scores.best) * frame["value"])})
    title = f"Options against {scores.option.names[scores.baseline]}, the best first"
    if scores.attributes:
        title += f"; all but 'as given' with {joined(list(scores.attributes))} taken off"
    title += f" ({percent(audit.bias.level)} intervals, by items)"
    return [frame_table(title, frame, drawn=("value", "low", "high"))]


def _criteria(audit: Audit) -> list[Part]:
    """Return the bias in the marks on each criterion."""
    if audit.criteria is None:
        return []
    title = f"The bias in the marks on each criterion ({percent(audit.bias.level)} intervals)"
    return [frame_table(title, audit.criteria, drawn=("bias", "low", "high"))]


def _each(audit: Audit, kind: str) -> list[Part]:
    """Return the biases of evaluators, or of those whom they favour, the surest first."""
    frame, best = (audit.evaluators if kind == "evaluator" else audit.groups), audit.scores.best
    found = frame[frame["shrunk"].notna()].sort_values("shrunk", ascending=best == "low")
    found = found.sort_values("q", kind="stable")
    shown = {kind: kind, "group": "group", "leniency": "leniency", "scores": "scores"}
    shown |= {"own": "partial", "bias": "bias", "shrunk": "shrunken", "shrunk_low": "low"}
    shown |= {"shrunk_high": "high", "q": "q", "flagged": "shown"}
    if not len(found):
        return ["No single bias could be told from those of others."]
    by_chance = (
        f"Shown: at most {percent(1.0 - audit.bias.level)} by chance (false discovery rate q)."
    )
    ends, caption = ("shrunk", "shrunk_low", "shrunk_high"), f"By {kind}, the surest first"
    table = frame_table(caption, found, shown, {"q": model.Chance}, ends)
    return [table, by_chance if kind == "evaluator" else ""]


def _of_events(
    audit: Audit, caption: str, frame: pd.DataFrame, names: dict[str, str], read: str
) -> list[Part]:
    """Return a table with a column of events where there are several."""
    several = {} if len(audit.decisions) == 1 else {"event": "event"}
    chips = {"verdict": lambda word: Chip(word, _CHIPS.get(word, "at"))}
    return [frame_table(caption, frame, several | names, chips), read]


def _events(audit: Audit, changed: bool) -> list[Part]:
    """Return the decisions that change by a rule; or the others that are wrong or fragile."""
    frame, flips = audit.decisions, audit.flips
    flipped = flips["flipped"].to_numpy().reshape(-1, len(frame)).any(axis=0)
    by_bias = flips["winner"][flips["rule"] == "bias"].to_numpy()
    frame = frame.assign(
        mean=frame["winner"] + np.where(frame["tied"] == "", "", ", ") + frame["tied"],
        unbiased=by_bias if len(by_bias) else None,
    )
    frame = frame[flipped if changed else frame["verdict"].isin(["wrong", "fragile"]) & ~flipped]
    of_winners = audit.shortlist is None and (audit.identified.told or not changed)
    if not len(frame) or not of_winners:
        return []
    frame = frame.sort_values(["verdict", "tipping_favour"], ascending=[False, True], kind="stable")
    names = {"mean": "wins by the mean", "unbiased": "bias off", "fair_winner": "both off"}
    names |= {"verdict": "verdict", "lead": "lead", "tipping_favour": "tipping favour"}
    read = (
        "Tipping favour: what all evaluators would have to favour the winner's group by, with both "
        "off, for another to be best."
    )
    return _of_events(audit, "Who wins, and would", frame, names, read)


def _shortlist(audit: Audit) -> list[Part]:
    """Return which of those that are wanted change, and by what."""
    frame = audit.shortlist
    if frame is None:
        return []
    caption = f"Who is {_wanted(audit)}"
    if len(audit.decisions) > 1:  # what is worth a look
        caption += ": those of whom it is sure, or changes"
        frame = frame[(frame["changed_by"] != "") | frame["verdict"].isin(["in", "out"])]
    frame = frame.sort_values(["fair", "by_mean"], ascending=False, kind="stable")
    names = {"option": "option", "by_mean": "by the mean", "without_bias": "bias off"}
    names |= {"without_leniency": "leniency off", "fair": "both off", "verdict": "surely"}
    names |= {"changed_by": "changed by"}
    read = f"'Surely' is so of all options of an event at once ({percent(audit.bias.level)} sure)."
    return _of_events(audit, caption, frame, names, read)


def _beside_trusted(audit: Audit) -> str:
    """Return how well the others agree with those who are trusted."""
    said = []
    for one in audit.agreement.beside_trusted.to_dict("records"):
        name, size = "κ", one["kappa"]
        if math.isnan(size):
            name, size = "weighted κ", one["weighted"]
        on = counted(one["scores"], "verdict" if audit.scores.rival is not None else "score")
        equal = "" if math.isnan(one["accuracy"]) else f"{percent(one['accuracy'])} are equal, "
        said.append(
            f"{short(one['evaluator'])} beside {short(one['trusted'])}, {on}: {equal}{name} "
            f"{'unknown' if math.isnan(size) else number(size, 2)}"
        )
    more = "; and others" if len(said) > _MOST_NAMES else ""
    return f"{'; '.join(said[:_MOST_NAMES])}{more}." if said else "Nobody scored what they did."


def _agreement(audit: Audit) -> list[Part]:
    """Return what scores differ by, how reliable they are, and agreement with the trusted."""
    found, parts = audit.agreement, list[Part]()
    if len(found.variance):
        shown = {"source": "source", "sd": "standard deviation", "share": "share of the variance"}
        parts.append(frame_table("What scores differ by", found.variance, shown, _KINDS))
    if len(found.reliability):
        title = f"Reliability ({percent(audit.bias.level)} intervals)"
        parts.append(frame_table(title, found.reliability, kinds=_KINDS))
        read = "ICC(2,1): severity is an error; ICC(3,1): it is removed. Of one review, of their "
        parts.append(read + "mean, and how many it takes for 0.8 and 0.9.")
    several = len(found.beside_trusted) > 1
    for frame, title in (
        (found.alpha, "Krippendorff's α, of scores as numbers, by their order, or as names"),
        (found.beside_trusted, "Beside those who are trusted"),
        (found.confusion[:0] if several else found.confusion, "Scores beside those of the trusted"),
        (found.position.drop(columns=["low", "high"]), "Pairs that were compared in both orders"),
    ):
        parts += [frame_table(title, frame, kinds=_KINDS)] if len(frame) else []
    return parts


def _assumptions(audit: Audit) -> list[Part]:
    scores, left = audit.scores, audit.bias.freedom > 0
    worth = "what the option is worth" if scores.reference is None else "the reference"
    taken = f"A score is taken to be {worth}, what the evaluator adds to everybody at that event"
    if scores.rival is not None:
        taken = "A verdict is taken to be the difference of two worths, what standing first adds"
    few = "Too few scores are left."
    timed = "No column says when scores were given." if scores.time is None else few
    entries = [
        ("Noise is the same for all evaluators and options.", ("noise",), left, few),
        ("Nothing drifts.", ("drift",), left and scores.time is not None, timed),
        ("Scores do not pile up at the ends of the scale.", ("ceiling", "floor"), True, few),
        ("No score lies far off what the others explain.", ("outliers",), left, few),
        ("Nobody copied another.", ("copies",), left, few),
    ]
    return [
        f"{taken}, a bias where the evaluator is partial, and noise.",
        model.Assumptions([model.became(audit.warnings, *entry) for entry in entries]),
    ]


def _method(audit: Audit) -> list[Part]:
    scores = audit.scores
    called = [f"{part}: {name}" for part, name in scores.called.items() if name != part]
    entries: dict[str, model.Cell] = {
        "table": str(scores).splitlines()[0],
        "columns": ", ".join(called) or None,
        "noise": audit.noise,
        "confidence": percent(audit.bias.level),
        "seed": audit.seed,
        "software": f"evenhand {version('evenhand')}",
    }
    said = "By least squares, with errors by clusters of evaluators and of those whom they favour"
    return [model.Facts(f"{said}; all that it takes to repeat it, beside the scores", entries)]


def record_of(audit: Audit) -> dict[str, Any]:
    """Return all that an audit says, for machines."""
    scores, made, test = audit.scores, audit.decisions, audit.placebo
    favoured = _favoured(scores)

    def of(bias: BiasEstimate | None) -> dict[str, Any] | None:
        return None if bias is None else {**asdict(bias), "chance": bias.chance}

    def rows(frame: pd.DataFrame | None) -> list[Any] | None:
        return None if frame is None else frame.to_dict("records")

    def parts(one: object, names: str) -> dict[str, Any]:
        return {name: getattr(one, name) for name in names.split()}

    return {
        "verdict": verdict(audit),
        "scores": len(scores),
        "best": scores.best,
        "options": len(scores.option),
        "evaluators": 0 if scores.evaluator is None else len(scores.evaluator),
        "events": len(made),
        **{name: of(one) for name, one in parts(audit, "bias here naive position").items()},
        "attributes": {name: of(bias) for name, bias in audit.attributes.items()},
        "ranking": rows(audit.ranking),
        **({} if audit.criteria is None else {"criteria": rows(audit.criteria)}),
        "placebo": {"draws": len(test.draws), **parts(test, "mean sd z chance impossible")},
        "spread": {"evaluators": audit.spread.evaluators, f"{favoured}s": audit.spread.groups},
        "by_evaluator": rows(audit.evaluators),
        f"by_{favoured}": rows(audit.groups),
        "agreement": {name: rows(one) for name, one in parts(audit.agreement, _AGREEMENT).items()},
        "flips": audit.flips.groupby("rule", sort=False)["flipped"].sum().to_dict(),
        "decisions": rows(made),
        "wanted": rows(audit.shortlist),
        "identified": audit.identified.told,
        "ask": [ask._asdict() for ask in audit.identified.asks],
        "warnings": [parts(one, "assumption message alarm p_value") for one in audit.warnings],
        "cannot_tell": audit.cannot_tell,
    }
