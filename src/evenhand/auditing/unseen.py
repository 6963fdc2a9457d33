"""What no score can tell, in numbers: sentences that belong to every audit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.report.phrases import number, short

if TYPE_CHECKING:
    from evenhand.auditing.audit import Audit


def cannot_tell(audit: Audit) -> tuple[str, ...]:
    """Return what these scores do not tell, however many there are of their kind."""
    said = [_shared(audit), _seen_by_own(audit), _assigned(audit)]
    return tuple(sentence for sentence in said if sentence)


def _shared(audit: Audit) -> str:
    """A favour of all evaluators, against what would tip the winners."""
    decided = audit.decisions
    favour = decided.tipping_favour
    tips = np.flatnonzero(np.isfinite(favour))
    if audit.effects.scores.reference is not None or not tips.size:
        return ""
    closest = int(tips[np.argmin(favour[tips])])
    winner = short(decided.names(decided.fair_winner)[closest] or "")
    whose = winner
    groups, of = audit.effects.scores.groups, audit.effects.scores.option_group
    if of is not None:
        code = int(of[decided.contests.option[decided.fair_winner[closest]]])
        whose = f"{short(groups[code])}, the group of {winner}," if code >= 0 else winner
    if len(decided) == 1:
        return (
            f"A favour that all evaluators share looks like worth. If all of them favoured {whose} "
            f"by more than {number(favour[closest])}, somebody else would be best."
        )
    return (
        "A favour that all evaluators share looks like worth. Half of the winners would change if "
        f"everybody favoured the winner's {'group' if of is not None else 'side'} by "
        f"{number(float(np.median(favour[~np.isnan(favour)])))}; the first to change, "
        f"{short(decided.contests.names[closest])}, by {number(favour[closest])} for {whose}"
        f"{'' if whose.endswith(',') else ''}".rstrip(",") + "."
    )


def _seen_by_own(audit: Audit) -> str:
    """What partial evaluators know that others do not."""
    scores = audit.effects.scores
    if scores.partial is None or scores.reference is not None or not audit.effects.told:
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
        f"{own:,} of {len(scores):,} scores are by partial evaluators. Were they asked, or did they "
        "offer, because of how an option would do that day, the bias has that in it."
    )
