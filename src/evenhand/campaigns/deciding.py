"""What the evaluations so far say, and what goes into the record of it."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any

from evenhand.answers.answer import Answer, answer_of
from evenhand.answers.choose import notes_on
from evenhand.answers.question import Failure
from evenhand.campaigns.replica import Replica
from evenhand.policies.messages import Finding
from evenhand.policies.sayings import certificate_of, checks_of


def answer_from(replica: Replica) -> Answer:
    """Return the answer that a replica has come to; the replica stays as it is."""
    policy, settings = copy.copy(replica.policy), replica.settings
    if policy.spent + policy.observed > 0:
        checks_of(policy).look()  # at all there is, before anything is said
    return answer_of(
        policy,
        confidence=settings["confidence"],
        tolerance=settings["tolerance"],
        features_exact=settings["deviation"] == 0,
        stopped_because=_stopped_because(replica),
        failures=[
            Failure(replica.question(number, ticket), reason, settings["retries"] + 1)
            for number, ticket, reason in replica.given_up
        ],
        notes=[*_absences(replica), *notes_on(policy, settings["checks"])],
    )


def _stopped_because(replica: Replica) -> str | None:
    """Return why nothing more is asked, if not because the policy is done."""
    if len(replica.policy.options) == 1:
        return "there is no other option"
    if trouble := replica.trouble:
        return f"{'without those who left, ' if replica.left else ''}{trouble}"
    if replica.status == "paused":
        return f"the campaign is paused{': ' if replica.why else ''}{replica.why}"
    return None if replica.status == "finished" or replica.finished else "the campaign goes on"


def _absences(replica: Replica) -> list[Finding]:
    return [
        Finding("attendance", f"{name} left and was not asked again: {why}", alarm=False)
        for name, why in sorted(replica.left.items())
    ]


def plain(value: Any) -> Any:
    """Return a value fit for the record: numbers that are not finite become texts.

    Examples
    --------
    >>> plain({"loss": math.inf, "lead": (1.5, math.nan)})
    {'loss': 'inf', 'lead': [1.5, 'nan']}
    """
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(float(value))
    if isinstance(value, Mapping):
        return {str(name): plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if hasattr(value, "tolist"):  # arrays, and numbers of arrays
        return plain(value.tolist())
    return value


def decision_of(replica: Replica) -> dict[str, Any]:
    """Return what the record says of a decision."""
    answer = answer_from(replica)
    return {
        "answer": plain(answer.to_dict()),
        "because": answer.stopped_because,
        "evaluations": replica.counted,
        "certificate": certificate_of(replica.policy),
    }
