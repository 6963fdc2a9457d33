"""`evenhand campaign set` and `extend`: a campaign, or one of its tickets, goes another way."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand.campaigns import Campaign
from evenhand.campaigns.export import evaluation_of
from evenhand.cli.campaign.store import CampaignName, StoreName, opened, say, seat
from evenhand.cli.options import OF_NEWCOMERS, AtMost, at_most_in, takes
from evenhand.cli.panels import Panel
from evenhand.errors import InputError
from evenhand.questions import Questions

_ABOUT = {
    **dict.fromkeys(("pause", "resume"), ""),
    **dict.fromkeys(("leave", "join"), "WHO"),
    **dict.fromkeys(("release", "decline", "fail"), "TICKET"),
    "withdraw": "EVALUATION",
}
"""What each change is about."""
_SAID = {
    "pause": "Campaign {name!r} is paused.",
    "resume": "Campaign {name!r} goes on.",
    "leave": "Campaign {name!r} goes on without {about}.",
    "join": "{about} is asked again.",
}
_EXPLAINED, _EXPLICABLE = ("decline", "fail", "withdraw"), ("pause", "leave")


def set_(
    store: StoreName,
    name: CampaignName,
    change: Annotated[
        str,
        typer.Argument(
            metavar="CHANGE",
            autocompletion=lambda: [f"{one}=" if what else one for one, what in _ABOUT.items()],
            help="""One of these.

- pause: hand out nothing until resume; what is out may still come back.
- resume: go on after pause.
- leave=WHO: go on without an evaluator, until join.
- join=WHO: have an evaluator back who left.
- release=TICKET: give it back unanswered; it waits for whoever asks next.
- decline=TICKET: never ask this evaluator this question again, such as for a conflict of interest;
  others are asked. What is known beforehand goes into `new --ask conflicts=…`.
- fail=TICKET: give it back as one that could not be answered; after some tries it is given up.
- withdraw=EVALUATION: count it no more, such as a typing error. By its number, as `tell` said it,
  or its ticket. It is kept, and marked; its ticket waits for another score.""",
            show_default=False,
        ),
    ],
    *,
    because: Annotated[
        str,
        typer.Option(
            metavar="TEXT",
            help="Why; it is kept in the record. Of decline, fail and withdraw it must be said.",
        ),
    ] = "",
    blind: Annotated[
        bool,
        typer.Option(
            "--blind",
            help="Say that to withdraw it was decided without regard to any score: a duplicate, "
            "the wrong form. Else the answer is sure only if it is with the score put back, too.",
        ),
    ] = False,
) -> None:
    """Pause a campaign or resume it, go on without somebody, give a ticket back, or take back a
    score.

    **Examples**

    `evenhand campaign set prize.db prize pause --because lunch`

    `evenhand campaign set prize.db prize leave=Tom --because ill`

    `evenhand campaign set prize.db prize decline=17-9f3a2c --because "he was my student"`

    `evenhand campaign set prize.db prize withdraw=12 --because "7.5 was typed as 75"`
    """
    verb, _, about = (part.strip() for part in change.partition("="))
    if verb not in _ABOUT or bool(about) != bool(_ABOUT[verb]):
        known = ", ".join(f"{one}={what}" if what else one for one, what in _ABOUT.items())
        raise InputError(f"a campaign can be set to {known}; got {change!r}.")
    if not because and verb in _EXPLAINED:
        raise InputError(f"say why, with --because: it is kept in the record of a {verb}.")
    if because and verb not in _EXPLAINED + _EXPLICABLE:
        raise InputError(f"{verb} has no --because; leave it out.")
    if blind and verb != "withdraw":
        raise InputError(f"{verb} has no --blind; leave it out.")
    if verb == "decline" and (judge := seat(store)) is not None:
        said = f"Ticket {about}: {judge.decline(about, because).why}."
    else:
        with opened(store, name) as campaign:
            said = _changed(campaign, verb, about, because, blind)
    say(said)


def _changed(campaign: Campaign, verb: str, about: str, because: str, blind: bool) -> str:
    """Change a campaign, and return what is to be said of it."""
    if verb == "withdraw":
        number = evaluation_of(campaign._follower, about)
        receipt = campaign.withdraw(number, because, blind=blind)
        again = " before" if receipt.repeated else ""
        what = receipt.why.removeprefix("it was withdrawn")
        return f"Evaluation {number} was withdrawn{again}. It counts no more{what}."
    reason = [because] if verb in _EXPLAINED + _EXPLICABLE else []
    notice = getattr(campaign, verb)(*([about] if about else []), *reason)
    if verb in _SAID:
        return _SAID[verb].format(name=campaign.name, about=about)
    return f"Ticket {about}: {notice.why}."


@takes(column=OF_NEWCOMERS, ask=("workload", "conflicts"), assume=("bias",))
def extend(
    store: StoreName,
    name: CampaignName,
    *,
    at_most: AtMost = None,
    options: Annotated[
        Path | None,
        typer.Option(
            metavar="OPTIONS.csv",
            help="All options, those before and new ones. With it go the columns, conflicts and "
            "the bias that `new` had.",
        ),
    ] = None,
    panel: Panel,
) -> None:
    """Go on with more to spend, more options or more evaluators.

    A campaign that was decided goes on, too, unless nothing more would be asked: it is certain, or
    was decided by one look. `--evaluators` alone names those who come in addition.
    With `--options`, tables have all options and evaluators: those before, with the groups that
    they had, and the new ones. `--at-most` is of all evaluations, those before included.

    **Examples**

    `evenhand campaign extend prize.db prize --at-most 200`

    `evenhand campaign extend prize.db prize --evaluators Uma=FRA,Vic=ITA`

    `evenhand campaign extend prize.db prize --options skaters.csv --evaluators more_judges.csv
    --column option_group=nation`
    """
    n, cost = at_most_in(at_most, "N", "cost")
    with opened(store, name) as campaign:
        asked, shown = None, None
        newcomers: dict[str, Any] = {}
        followed = campaign._followed()
        before = followed.policy.actions
        if options is not None:
            columns = dict.fromkeys(c for own in followed.state.display.values() for c in own)
            asked, shown = panel.like(options, before, list(columns)).read(options, before)
        elif panel.evaluators is not None:
            newcomers = panel.newcomers(Questions.of(before))
        campaign.extend(at_most=n, budget=cost, questions=asked, display=shown, **newcomers)
        found = campaign.status()
    money = "" if found.budget == float("inf") else f" for {found.budget:g}"
    say(f"Campaign {name!r} goes on, with at most {found.at_most:,} evaluations{money}.")
