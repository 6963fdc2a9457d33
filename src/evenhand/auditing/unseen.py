"""What no score can tell, in numbers: sentences that belong to every audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.report.words import abridged, number, short

if TYPE_CHECKING:
    from evenhand.auditing.audit import Audit


_NONE_SHOWS = "No score shows a favour that all evaluators share: it looks like worth"


def cannot_tell(audit: Audit) -> tuple[str, ...]:
    """Return what these scores do not tell, however many there are of their kind."""
    said = [_shared(audit), _reference(audit), _seen_by_own(audit), _assigned(audit)]
    return tuple(sentence for sentence in said if sentence)


def _shared(audit: Audit) -> str:
    """A favour of all evaluators, against what would tip the winners."""
    decided = audit.decisions
    favour = decided.tipping_favour
    tips = np.flatnonzero(np.isfinite(favour))
    if audit.effects.scores.reference is not None or not tips.size:
        return ""
    closest = int(tips[np.argmin(favour[tips])])
    least = number(favour[closest])
    if len(decided) == 1 and favour[closest] == 0.0:
        return f"{_NONE_SHOWS}, and the least would do here."
    if len(decided) == 1:
        return (
            f"If all evaluators favoured {_whose(audit, closest)} by more than {least}, somebody "
            f"else would be best. {_NONE_SHOWS}."
        )
    half = number(float(np.median(favour[~np.isnan(favour)])))
    side = "winner" if audit.effects.scores.option_group is None else "winner's group"
    return (
        f"If all evaluators favoured the {side} by {half}, half of the winners would change; the "
        f"first of them, at {abridged(decided.contests.names[closest])}, if they favoured "
        f"{_whose(audit, closest)} by {least}. {_NONE_SHOWS}."
    )


def _whose(audit: Audit, event: int) -> str:
    """Who would have to be favoured for the winner of an event to change."""
    decided, scores = audit.decisions, audit.effects.scores
    entry = int(decided.fair_winner[event])
    winner = short(scores.option.names[int(decided.contests.option[entry])])
    if scores.option_group is None:
        return winner
    group = int(scores.option_group[decided.contests.option[entry]])
    return f"{short(scores.groups[group])} (the group of {winner})" if group >= 0 else winner


def _reference(audit: Audit) -> str:
    """What the reference itself has wrong."""
    if audit.effects.scores.reference is None:
        return ""
    return (
        "The reference is taken to be right: what it has wrong, and goes with partiality, looks "
        "like a bias."
    )


def _seen_by_own(audit: Audit) -> str:
    """What partial evaluators know that others do not."""
    scores = audit.effects.scores
    known = scores.partial is not None and scores.evaluator is not None and audit.effects.told
    if not known or scores.reference is not None:
        return ""
    return (
        "What partial evaluators see in their own and nobody else does counts as bias: a better "
        "eye for it looks the same as a favour."
    )


def _assigned(audit: Audit) -> str:
    """Who scored what was not drawn at random, as far as anybody knows."""
    scores = audit.effects.scores
    if scores.partial is None or scores.evaluator is None or not audit.effects.told:
        return ""
    own = int((scores.partial != 0.0).sum())
    return (
        f"{own:,} of {len(scores):,} scores are by partial evaluators. If they were asked, or "
        "came, because of how an option would do that day, the bias has that in it."
    )
