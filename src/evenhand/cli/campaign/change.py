"""Changes of a campaign, and tickets that come back without a score."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand.campaigns.export import evaluation_of
from evenhand.cli.campaign.store import Because, CampaignName, StoreName, opened, say, seat
from evenhand.cli.campaign.tables import WHO, Tables
from evenhand.cli.columns import OF_NEWCOMERS, takes
from evenhand.cli.options import numeric, whole
from evenhand.questions import Questions

TicketId = Annotated[
    str, typer.Argument(metavar="TICKET", help="Such as 17-9f3a2c.", show_default=False)
]
Evaluator = Annotated[
    str, typer.Argument(metavar="WHO", help="Name of the evaluator.", show_default=False)
]


def pause(store: StoreName, name: CampaignName, *, because: Because = "") -> None:
    """Hand out nothing until `resume`. What is out may still come back."""
    with opened(store, name) as campaign:
        campaign.pause(because)
    say(f"Campaign {name!r} is paused.")


def resume(store: StoreName, name: CampaignName) -> None:
    """Go on after `pause`."""
    with opened(store, name) as campaign:
        campaign.resume()
    say(f"Campaign {name!r} goes on.")


@takes(*OF_NEWCOMERS, tables=Tables)
def extend(
    store: StoreName,
    name: CampaignName,
    *,
    at_most: Annotated[
        int | None,
        whole("N", "Most evaluations in all, those before included."),
    ] = None,
    budget: Annotated[
        float | None,
        numeric("X", "What may be spent in all, at the campaign's prices."),
    ] = None,
    options: Annotated[
        Path | None,
        typer.Option(
            metavar="OPTIONS.csv",
            help="All options, those before and new ones. With it go the options below that "
            "`new` had.",
            rich_help_panel=WHO,
        ),
    ] = None,
    tables: Tables,
) -> None:
    """Go on with more to spend, more options or more evaluators.

    A campaign that was decided goes on, too, unless nothing more would be asked: it is certain, or
    was decided by one look. `--evaluators` alone names those who come in addition.
    With `--options`, tables have all options and evaluators: those before, with the groups that
    they had, and the new ones.

    **Examples**

    `evenhand campaign extend prize.db prize --at-most 200`

    `evenhand campaign extend prize.db prize --evaluators Uma=FRA,Vic=ITA`

    `evenhand campaign extend prize.db prize --options skaters.csv --evaluators more_judges.csv
    --column option_group=nation`
    """
    with opened(store, name) as campaign:
        asked, shown = None, None
        newcomers: dict[str, Any] = {}
        if options is None and tables.evaluators is not None:
            newcomers = tables.newcomers(Questions.of(campaign._followed().policy.actions))
        if options is not None:
            followed = campaign._followed()
            before = followed.policy.actions
            columns = dict.fromkeys(c for own in followed.display.values() for c in own)
            asked, shown = tables.like(options, before, list(columns)).read(options, before)
        campaign.extend(at_most=at_most, budget=budget, questions=asked, display=shown, **newcomers)
        found = campaign.status()
    money = "" if found.budget == float("inf") else f" for {found.budget:g}"
    say(f"Campaign {name!r} goes on, with at most {found.at_most:,} evaluations{money}.")


def withdraw(
    store: StoreName,
    name: CampaignName,
    evaluation: Annotated[
        str,
        typer.Argument(
            metavar="EVALUATION",
            help="Its number, as `tell` said it; or its ticket, such as 17-9f3a2c.",
            show_default=False,
        ),
    ],
    *,
    because: Because,
    blind: Annotated[
        bool,
        typer.Option(
            "--blind",
            help="Say that this was decided without regard to any score: a duplicate, the wrong "
            "form. Else the answer is sure only if it is with the score put back, too.",
        ),
    ] = False,
) -> None:
    """Have an evaluation count no more, such as a typing error. It is kept, and marked.

    Its ticket waits for another score. A campaign that was decided goes on.

    **Examples**

    `evenhand campaign withdraw prize.db prize 12 --because "7.5 was typed as 75"`

    `evenhand campaign withdraw prize.db prize 13 --because "filled in the wrong form" --blind`
    """
    with opened(store, name) as campaign:
        number = evaluation_of(campaign._follower, evaluation)
        receipt = campaign.withdraw(number, because, blind=blind)
    again = " before" if receipt.repeated else ""
    what = receipt.why.removeprefix("it was withdrawn")
    said = f"Evaluation {number} was withdrawn{again}. It counts no more{what}."
    say(said)


def fail(
    store: StoreName,
    name: CampaignName,
    ticket: TicketId,
    *,
    because: Because,
) -> None:
    """Give a ticket back that could not be answered; after some tries it is given up."""
    with opened(store, name) as campaign:
        notice = campaign.fail(ticket, because)
    say(f"Ticket {ticket}: {notice.why}.")


def decline(
    store: StoreName,
    name: CampaignName,
    ticket: TicketId,
    *,
    because: Because,
) -> None:
    """Never ask this evaluator this question again, such as for a conflict of interest.

    Others are asked instead. What is known beforehand goes into `campaign new --conflicts`.

    **Example**

    `evenhand campaign decline prize.db prize 17-9f3a2c --because "he was my student"`
    """
    if (judge := seat(store)) is not None:
        notice = judge.decline(ticket, because)
    else:
        with opened(store, name) as campaign:
            notice = campaign.decline(ticket, because)
    say(f"Ticket {ticket}: {notice.why}.")


def release(store: StoreName, name: CampaignName, ticket: TicketId) -> None:
    """Give a ticket back unanswered; it waits for whoever asks next."""
    with opened(store, name) as campaign:
        notice = campaign.release(ticket)
    say(f"Ticket {ticket}: {notice.why}.")


def leave(
    store: StoreName,
    name: CampaignName,
    evaluator: Evaluator,
    *,
    because: Because = "",
) -> None:
    """Go on without an evaluator, until `join`."""
    with opened(store, name) as campaign:
        campaign.leave(evaluator, because)
    say(f"The campaign goes on without {evaluator}.")


def join(store: StoreName, name: CampaignName, evaluator: Evaluator) -> None:
    """Have an evaluator back who left."""
    with opened(store, name) as campaign:
        campaign.join(evaluator)
    say(f"{evaluator} is asked again.")
