"""The story of real panels: an event that is settled, one that is not, and a season of them.

Every score is one that a judge gave. Nothing is simulated but the placebo of the audit.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from evenhand.answers import Answer, decide
from evenhand.answers.words import rival
from evenhand.auditing import Audit, audit
from evenhand.auditing.words import verdict
from evenhand.cases.skating import scores
from evenhand.cli.terminal import heading
from evenhand.report.phrases import listed, size_and_span

if TYPE_CHECKING:
    import pandas as pd

PICTURES = ("panel.png", "tie.png", "season.png")

SETTLED = "ISU GP Rostelecom Cup 2016", "ICE DANCE FREE DANCE"
CLOSE = "ISU GP 2016 Skate Canada International", "ICE DANCE FREE DANCE"
_CALLED = {SETTLED: "Rostelecom Cup 2016, free dance", CLOSE: "Skate Canada 2016, free dance"}
_ROWS = 4  # couples in a table: those that anybody speaks of
_PARTS: dict[str, Any] = {
    "option": "skater",
    "evaluator": "judge",
    "option_group": "nation",
    "evaluator_group": "judge_nation",
}


@dataclass(frozen=True, eq=False)
class Event:
    """One event: every judge's score of every couple, and what they come to.

    Parameters
    ----------
    called
        What people call it.
    table
        (couples, judges) the scores, in a frame.
    nations
        The nation of each couple and of each judge.
    answer
        Who is best by these scores, and how sure that is.
    """

    called: str
    table: pd.DataFrame
    nations: dict[str, str]
    answer: Answer

    @property
    def by_mean(self) -> str:
        """The couple with the highest mean score."""
        return str(self.table.mean(axis="columns").idxmax())

    @property
    def firsts(self) -> dict[str, str]:
        """Whom every judge puts first."""
        return {str(judge): str(couple) for judge, couple in self.table.idxmax().items()}

    @property
    def home(self) -> dict[str, str]:
        """Those judges who put a couple of their own nation first, and whom."""
        return {j: c for j, c in self.firsts.items() if self.nations[j] == self.nations[c]}

    def named(self, name: str) -> str:
        """Return a name with its nation."""
        return f"{name} ({self.nations[name]})"


@dataclass(frozen=True, eq=False)
class Story:
    """Two events and a season."""

    settled: Event
    close: Event
    season: Audit


def story(seed: int) -> Story:
    """Return what came of two events, and of the season."""
    season = scores()
    found = audit(season, event=["competition", "program"], **_PARTS, seed=seed)
    return Story(_event(season, SETTLED), _event(season, CLOSE), found)


def _event(season: pd.DataFrame, which: tuple[str, str]) -> Event:
    rows = season[(season["competition"] == which[0]) & (season["program"] == which[1])]
    nations = dict(zip(rows["skater"], rows["nation"], strict=True))
    nations |= dict(zip(rows["judge"], rows["judge_nation"], strict=True))
    table = rows.pivot_table(index="skater", columns="judge", values="score", sort=False)
    return Event(_CALLED[which], table, nations, decide(scores=rows, **_PARTS))


def tell(terminal: Console, told: Story) -> None:
    """Tell the story."""
    _tell_settled(terminal, told.settled)
    _tell_close(terminal, told.close)
    _tell_season(terminal, told.season)
    _tell_more(terminal)


def _tell_settled(terminal: Console, event: Event) -> None:
    heading(terminal, "1. Who was best?")
    others = {j: c for j, c in event.home.items() if c != event.by_mean}
    apart = listed(
        [f"{event.named(judge)} has {event.named(c)} first" for judge, c in others.items()]
    )
    n_judges, n_couples = len(event.firsts), len(event.table)
    terminal.print(
        f"{event.called}: {n_couples} couples, {n_judges} judges. {apart}; the other "
        f"{n_judges - len(others)} have {event.named(event.by_mean)}.\n"
    )
    _table(terminal, event, list(others))
    answer = event.answer
    terminal.print(
        f"\nRaw scores: the mean of all {n_judges} chooses {event.by_mean}; "
        + ", ".join(f"{judge} alone {c}" for judge, c in others.items())
        + "."
    )
    terminal.print(
        f"evenhand: choose {answer.label}, {_sure(answer)}. {rival(answer)} Judges give their own "
        f"nation {_too_much(answer)}.",
        style="bold",
    )


def _tell_close(terminal: Console, event: Event) -> None:
    heading(terminal, "2. And where nobody can say?")
    ranking, firsts = event.answer.ranking, Counter(event.firsts.values())
    home = listed([f"{event.named(judge)} has {event.named(c)}" for judge, c in event.home.items()])
    terminal.print(
        f"{event.called}: {len(event.firsts)} judges, {len(firsts)} couples whom somebody puts "
        f"first. Again judges look after their own: {home}.\n"
    )
    _table(terminal, event, [])
    lead = ranking[0].raw - ranking[1].raw
    terminal.print(
        f"\nRaw scores: {ranking[0].option}, by {lead:.2f} points of {ranking[0].raw:.0f}. "
        "A mean has to name a winner."
    )
    terminal.print(
        f"evenhand: {_sure(event.answer)}. Judges give their own nation {_too_much(event.answer)}. "
        f"Without that {ranking[0].option} leads {ranking[1].option} by {ranking[1].lead:.2f}, and "
        f"each is known to ±{(ranking[0].high - ranking[0].low) / 2:.1f} only.",
        style="bold",
    )


def _tell_season(terminal: Console, found: Audit) -> None:
    heading(terminal, "3. One event, or all of them?")
    n = len(found.effects.scores)
    terminal.print(
        f"The same question to the whole season, {n:,} scores (eh.audit, evenhand audit):\n"
    )
    terminal.print(verdict(found), style="bold")
    terminal.print(
        "\nFor every partial judge there were several who were not. With one judge alone nobody "
        "could have told; print(audit) says what else no score can tell."
    )


def _tell_more(terminal: Console) -> None:
    heading(terminal, "Your own scores")
    terminal.print(
        "evenhand audit SCORES.csv    is there a bias, whose, and what does it decide?\n"
        "evenhand decide SCORES.csv   who is best, how sure, and what to ask next?\n"
        "evenhand demo --one-judge    one judge, who can be asked again and again"
    )


def _table(terminal: Console, event: Event, judges: list[str]) -> None:
    """Print the best couples, by some judges, by the mean of all and by evenhand."""
    table = Table(box=None, pad_edge=False)
    table.add_column("couple")
    for header in (*(event.named(j) for j in judges), "mean of all", "worth"):
        table.add_column(header, justify="right")
    for place in event.answer.ranking[:_ROWS]:
        half = (place.high - place.low) / 2
        table.add_row(
            event.named(place.option),
            *(f"{event.table.loc[place.option, judge]:.1f}" for judge in judges),
            f"{place.raw:.2f}",
            f"{place.value:.2f} ± {half:.1f}",
            style="bold" if place.option == event.answer.label else "",
        )
    terminal.print(table)


def _sure(answer: Answer) -> str:
    level = f"{100 * answer.confidence:g}%"
    return f"{level} sure" if answer.sure else "not sure who is best"


def _too_much(answer: Answer) -> str:
    size, span = size_and_span(answer.bias)
    return f"{size} points too much{span}"


def draw(told: Story, folder: Path) -> None:
    """Draw both answers and the audit into a folder."""
    told.settled.answer.plot(folder / PICTURES[0])
    told.close.answer.plot(folder / PICTURES[1])
    told.season.plot(folder / PICTURES[2])


def to_dict(told: Story) -> dict[str, Any]:
    """Return the story as a plain value."""
    return {
        "settled": _event_dict(told.settled),
        "close": _event_dict(told.close),
        "season": {"scores": len(told.season.effects.scores), "bias": _bias(told.season.bias)},
    }


def _event_dict(event: Event) -> dict[str, Any]:
    answer = event.answer
    return {
        "event": event.called,
        "firsts": event.firsts,
        "by_mean": event.by_mean,
        "recommended": answer.label,
        "sure": answer.sure,
        "confidence": answer.confidence,
        "lead": float(np.min([one.lead for one in answer.ranking if one.option != answer.label])),
        "bias": _bias(answer.bias),
    }


def _bias(bias: Any) -> dict[str, float]:
    return {"value": bias.value, "low": bias.low, "high": bias.high}
