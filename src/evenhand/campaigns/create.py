"""Creating a campaign: the arguments are checked, and become its first event."""

from __future__ import annotations

import hashlib
import inspect
import secrets
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from evenhand.answers.choose import asked_of, policy_for, refuse_other_target
from evenhand.answers.question import ReplyScale, compares
from evenhand.arrays import checked_aim, is_number, whole_number
from evenhand.best import Best, oriented, turned
from evenhand.campaigns import ledger
from evenhand.campaigns.arguments import (
    checked_display,
    checked_name,
    checked_seconds,
)
from evenhand.campaigns.ledger import Page
from evenhand.campaigns.stores import Session, Store
from evenhand.errors import ConflictError, InputError
from evenhand.policies.base import Policy
from evenhand.policies.registry import policy_class
from evenhand.questions import Askable, Questions, checked_askable
from evenhand.scores.grades import grades_in
from evenhand.search import PlannedChoice
from evenhand.search.choice import Choice, limit_of

_TARGET = ("top", "bar", "against")


def insert(store: Store, name: str, content: dict[str, Any]) -> int:
    """Put a campaign into a store; return its id."""
    content = content | {"made": secrets.token_hex(8)}

    def begin(session: Session) -> int:
        there = ledger.find(session, name)
        if there is not None:
            (first,) = ledger.events_after(session, there, 0, 1)
            if first.content.get("made") == content["made"]:
                return there  # this very one, of a try whose outcome was not known
            raise ConflictError(
                f"there is a campaign {name!r} in the store already; open it, or choose another "
                "name."
            )
        page = Page(session, ledger.new(session, name))
        page.catch_up(None)
        page.append("created", content)
        page.close()
        return page.id

    return store.write(begin)


def first_event(
    name: str,
    questions: Askable,
    *,
    policy: Policy | str | None,
    at_most: int | None,
    budget: float | None,
    display: Any,
    settings: dict[str, Any],
    looks: Any = None,
    texts: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return what the first event says, or what is wrong with what was given."""
    checked_name(name, "name")
    checked_askable(questions)
    given = settings | {
        "lease": checked_seconds(settings["lease"]),
        "retries": whole_number("retries", settings["retries"], 0, 1_000),
        "seed": whole_number("seed", settings["seed"], 0, 2**63 - 1),
        "checks": bool(settings["checks"]),
    }
    deviation = given["deviation"]
    given["bounds"], best = oriented(given["bounds"], given["best"], "bounds")
    given["best"] = best = best or "high"
    given["grades"] = grades_in(given["grades"]) or None
    stated = any(given[name] is not None for name in ("scores", "bounds", "grades"))
    if isinstance(policy, Policy) and not stated:
        given["bounds"] = turned(policy.bounds, best)
    asked = asked_of(questions, deviation)
    about = Questions.of(asked)
    reading = ReplyScale(
        given["scores"],
        given["bounds"],
        comparing=compares(about),
        grades=given["grades"],
        best=best,
    )
    # a policy maximises: it has scores, bounds and a bar turned where the lowest are the best
    told = given | {"bounds": reading.limits, "bar": _turned_bar(given["bar"], best)}
    if policy is None:
        arguments = {
            "at_most": at_most,
            "confidence": given["confidence"],
            "tolerance": given["tolerance"],
            "noise_scale": given["noise_scale"],
            "bounds": reading.limits,
            "seed": given["seed"],
            **{name: told[name] for name in _TARGET},
        }
        made = policy_for(asked, deviation, given["checks"], looks, budget, arguments)
    elif isinstance(policy, str):
        made = _named(policy, asked, at_most, budget, told)
    else:
        made = _fresh(policy, asked, at_most, budget)
    found = refuse_other_target(made, told["top"], told["bar"], told["against"])
    given |= {"top": found.top, "bar": _turned_bar(found.bar, best), "against": found.against}
    checked_aim(given["confidence"], given["tolerance"])
    for evaluator in about.evaluators:
        checked_name(evaluator, "the name of an evaluator")
    shown = checked_display(display, about.options.labels)
    columns = dict.fromkeys(column for own in shown.values() for column in own)  # in this order
    once = "once" if isinstance(made, PlannedChoice) else looks
    hashed = {} if texts is None else {"texts": {of: hash_of(texts[of]) for of in texts}}
    return hashed | {
        "name": name,
        "policy": made.state(),
        "settings": _plain_numbers(given) | {"looks": once, "shown": list(columns)},
        "display": shown,
        "evenhand": version("evenhand"),
    }


def _turned_bar(bar: Any, best: Best) -> Any:
    return -bar if best == "low" and is_number(bar) else bar


def hash_of(text: str) -> str:
    """Return by what a text is known again: 16 hexadecimal digits, for there may be thousands.

    Examples
    --------
    >>> hash_of("Rate the answer from 1 to 10.")
    'd8ee72b0261d7cf4'
    """
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _named(
    name: str, asked: Askable, at_most: int | None, budget: float | None, given: dict[str, Any]
) -> Policy:
    """Make a policy by its name, of as much of what was given as it takes."""
    made = policy_class(name)
    takes = set[str]()
    for init in (vars(cls).get("__init__") for cls in made.__mro__):
        own = {} if init is None else inspect.signature(init).parameters
        takes |= own.keys()
        if own and all(one.kind is not one.VAR_KEYWORD for one in own.values()):
            break  # else it hands on what it is given to the class that it is made of
    given = given | {"budget": budget}
    names = (
        "noise_scale",
        "seed",
        "budget",
        "confidence",
        "tolerance",
        "bounds",
        "deviation",
        *_TARGET,
    )
    arguments = {key: given[key] for key in names if given[key] is not None and key in takes}
    return made(asked, limit_of(asked, None, at_most), **arguments)


def _fresh(policy: Any, asked: Askable, at_most: int | None, budget: float | None) -> Policy:
    """Return a policy of the user's that knows nothing yet: what it knows would not be recorded."""
    if not isinstance(policy, Policy):
        raise InputError(f"policy must be a Policy, the name of one, or None; got {policy!r}.")
    if policy.actions != asked:
        raise InputError(
            f"the policy is about other options ({policy.actions!r}) than those given "
            f"({asked!r}); give the same to both."
        )
    told = policy.spent + policy.observed
    if told or policy.limits.outstanding.any():
        was = f"told {told} evaluations" if told else "asked"
        raise InputError(
            f"the policy has been {was}, which the record would not have; give a new one, and "
            "import the scores, if there are any."
        )
    if at_most not in (None, policy.horizon) or budget not in (None, policy.limits.money):
        if not isinstance(policy, Choice):
            raise InputError(
                f"{policy.name!r} was made for {policy.horizon:,} evaluations; say at_most and "
                "budget where it is made."
            )
        policy.allow(at_most, budget)
    made: Policy = policy
    return made


def _plain_numbers(given: dict[str, Any]) -> dict[str, Any]:
    """Return settings with numbers of arrays as plain ones."""
    bounds = given["bounds"]
    return {
        key: float(value) if is_number(value) and not isinstance(value, int) else value
        for key, value in given.items()
    } | {"bounds": None if bounds is None else [float(end) for end in bounds]}
