"""A score as a log has it, and all of them as one frame: which metric, which option, which item."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeAlias

from evenhand.errors import InputError, Remedy
from evenhand.scores.grades import grade
from evenhand.tables.texts import listed

if TYPE_CHECKING:
    import pandas as pd


_LONGEST = 200  # letters of an item's name
_COLUMNS = (
    "option", "judge", "item", "score", "cluster", "rival", "task", "length", "rival_length"
)  # fmt: skip

Choice: TypeAlias = str | Sequence[str] | None
"""One name, several, or none."""


@dataclass(frozen=True, slots=True)
class LoggedScore:
    """One score of a log."""

    value: Any  # as it stands there: a number, a letter, a word; None where there is none
    item: str  # what the model was tried on
    # who answered; in comparisons, by how much it is better; None: the log does not say
    model: str | None
    judge: str  # who gave the score: a model, or the name of what scored
    metric: str  # what was scored, such as 'correctness'
    where: str  # file and place in it, for messages
    part: str = ""  # what tells apart several scores of one item, which are a cluster
    task: str = ""  # that the item is of; matters where a log has several
    rival: str | None = None  # in comparisons, than whom it is better
    is_first: bool | None = True  # in comparisons, whether the model was shown first; None: unknown
    length: int | None = None  # characters of the answer
    rival_length: int | None = None
    # what else may have been tried, such as prompts
    settings: Mapping[str, str] = field(default_factory=dict)
    # what no other score has, if the tool gives it: a retried run has the scores of the run before
    identity: str | None = None
    # names that say less, with the other name
    known_as: Mapping[str, str] = field(default_factory=dict)
    trouble: str | None = None  # why there is no score, where there is none


_PARTS = tuple(one.name for one in fields(LoggedScore))[1:-4]  # what is a column
_SIDES = {"model": "rival", "rival": "model", "length": "rival_length", "rival_length": "length"}


class Times(Counter[tuple[Any, ...]]):
    """How often something came."""

    def again(self, *key: Any) -> str:
        """Return which time it is, in words; nothing for the first."""
        self[key] += 1
        return f", again {self[key]}" if self[key] > 1 else ""


def short(text: Any, most: int = 80) -> str:
    """Return a text on one line, cut where it is long."""
    line = " ".join(str(text).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def item_name(text: Any) -> str:
    """Return what an item is called by its text; a long one is cut, and ends with a checksum."""
    line = " ".join(str(text).split())
    if len(line) <= _LONGEST:
        return line
    checksum = f" #{zlib.crc32(line.encode(errors='surrogatepass')):08x}"
    return short(line, _LONGEST - len(checksum)) + checksum


def size_of(text: Any) -> int | None:
    """Return the characters of a text; None for what is no text."""
    return len(text) if isinstance(text, str) else None


def framed(
    records: Sequence[tuple[str, LoggedScore]],
    option: Choice,
    metric: Choice,
    grades: Mapping[str, float],
) -> tuple[pd.DataFrame, list[str]]:
    """Return the scores, each with the name of its log, as a frame, and what is to be said."""
    notes: list[str] = []
    table, settings = _table(records, notes, grades)
    table = _of_metric(table, metric)
    if "rival" in table:
        table = _in_order(table, notes)
    chosen = _option(table, settings, option)
    table["option"] = table[chosen].agg(", ".join, axis=1) if len(chosen) > 1 else table[chosen[0]]
    others = [name for name in ("model", *settings) if name not in chosen]
    table["item"] = _items(table, others, notes)
    if table["task"].nunique() == 1:
        del table["task"]
    columns = [c for c in _COLUMNS if c in table and table[c].notna().any()]
    frame = table[columns].rename(columns={"judge": "evaluator"}).reset_index(drop=True)
    lengths = [c for c in ("length", "rival_length") if c in frame]
    frame = frame.astype({c: float if frame[c].isna().any() else int for c in lengths})
    frame.attrs["signed"] = True
    return frame, notes


def _table(
    records: Iterable[tuple[str, LoggedScore]], notes: list[str], grades: Mapping[str, float]
) -> tuple[pd.DataFrame, list[str]]:
    """All that was scored, a row each, with the names of the settings."""
    import pandas as pd  # noqa: PLC0415 # slow to load

    rows, settings = [], dict[str, None]()
    unread: dict[str, LoggedScore] = {}
    missing: list[LoggedScore] = []
    seen: set[str] = set()
    declared = {name.casefold(): value for name, value in grades.items()}
    again = 0
    for log, record in records:
        if record.identity is not None and record.identity in seen:
            again += 1
            continue
        seen.add(record.identity or "")
        try:
            word = str(record.value).strip().casefold()
            score = declared[word] if word in declared else grade(record.value)
        except ValueError:
            unread.setdefault(short(repr(record.value), 40), record)
            continue
        if score != score:  # noqa: PLR0124 # NaN
            missing.append(record)
            continue
        # a setting may be called as a part of a score is
        own = {
            f"setting {name}" if name in (*_PARTS, "option", "score", "log") else name: value
            for name, value in record.settings.items()
        }
        settings |= dict.fromkeys(own)
        row = {name: getattr(record, name) for name in _PARTS} | {"score": score, "log": log} | own
        _refuse_half_characters(row)
        rows.append(row)
    if unread:
        value, record = next(iter(unread.items()))
        raise InputError(
            f"{_visible(record.where)}: {_visible(value)} is no score. In all, "
            f"{_visible(listed(list(unread)))} cannot be read; put numbers there, or choose "
            "another metric",
            Remedy("grades", ..., "with these, the best first, if they are grades"),
        )
    if again:
        notes.append(f"Left out, as another log has the same scores: {again}.")
    if missing:
        where, why = _visible(missing[0].where), _visible(str(missing[0].trouble)).rstrip(".")
        notes.append(
            f"Left out, as there is no score: {len(missing)}, the first in {where} ({why})."
        )
    if not rows:
        said = f" {notes[-1]}" if notes else ""
        raise InputError(f"there are no scores in it.{said} Run the evaluation again.")
    table = pd.DataFrame(rows).dropna(axis="columns", how="all")
    for name in settings:
        table[name] = table[name].fillna("")
    if nobody := [row["where"] for row in rows if row["model"] is None]:
        raise InputError(f"{_visible(nobody[0])}: it does not say which model answered.")
    return table, list(settings)


def _refuse_half_characters(row: Mapping[str, Any]) -> None:
    """Refuse a name that is no text, as of a model whose answer was cut within an emoji."""
    for text in row.values():
        if isinstance(text, str) and not text.isascii() and (shown := _visible(text)) != text:
            said = f"{_visible(row['where'])}: {short(shown, 40)!r} has half of a character"
            raise InputError(f"{said}, which is no text; write the log again.")


def _visible(text: str) -> str:
    return text.encode(errors="backslashreplace").decode()


def _of_metric(table: pd.DataFrame, metric: Choice) -> pd.DataFrame:
    """The scores of the metrics that were asked for; of the only one, if nothing was."""
    known = table.groupby("metric", sort=False)["judge"].agg(["size", "unique"])
    if metric is None:
        if len(known) > 1:
            said = "; ".join(
                f"{name!r} ({size} scores by {listed(list(judges))})"
                for name, (size, judges) in zip(known.index, known.to_numpy(), strict=True)
            )
            raise InputError(
                f"there are several metrics: {said}. Each has evaluators of its own.",
                Remedy("metric", known.index[0], "or another, or several"),
            )
        return table.copy()
    wanted = [metric] if isinstance(metric, str) else list(metric)
    for name in wanted:
        if name not in known.index:
            raise InputError(f"there is no metric {name!r}; there are {listed(list(known.index))}.")
    table = table[table["metric"].isin(wanted)].copy()
    several = table.groupby("judge")["metric"].transform("nunique") > 1
    table.loc[several, "judge"] = table["judge"] + ", " + table["metric"]
    return table


def _in_order(table: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Comparisons with what was shown first in the first place, where the log says it of all."""
    if (alone := table["rival"].isna()).any():
        raise InputError(
            f"{table['where'][alone].iloc[0]}: it does not say against what, as others do; read "
            "scores of single answers and comparisons of two apart."
        )
    if "is_first" not in table:  # nowhere
        table["is_first"] = None
    # one judge sees an item in one order, so that what is not known of one model is of another
    orders = table.groupby(["judge", "item"])["is_first"]
    known = orders.transform("first").where(orders.transform("nunique") == 1)
    first = table["is_first"].fillna(known)
    unknown = int((first.isna() & (table["score"] != 0.0)).sum())
    if unknown:
        notes.append(
            f"Which answer was shown first is not in the log for {unknown:,} of {len(table):,}: "
            "what 'standing first' adds is no favour for a place."
        )
    elif (turned := first.eq(False)).any():
        notes.append("Which answer was shown first is told by the judge's own reply.")
        swapped = table.rename(columns=_SIDES).assign(score=-table["score"])
        table = table.where(~turned, swapped[table.columns])
    return table


def _option(table: pd.DataFrame, settings: list[str], option: Choice) -> list[str]:
    """What may be chosen: the model, or what one judge saw several of."""
    known = ["model", *settings]
    if option is not None:
        chosen = [option] if isinstance(option, str) else list(option)
        for name in chosen:
            if name not in (*known, "log"):
                raise InputError(f"option {name!r} is not in the log; it has {listed(known)}.")
        if "rival" in table and chosen != ["model"]:
            raise InputError("in comparisons the options are the models; leave the option out.")
        return chosen
    judges = table.groupby("judge")
    varying = [name for name in known if int(judges[name].nunique().max()) > 1]
    if "model" in varying or "rival" in table or not varying:
        return ["model"]
    if len(varying) > 1:
        raise InputError(
            f"{listed(varying)} differ between answers; any may be the option",
            Remedy("columns", {"option": varying[0]}, "or another"),
            Remedy("columns", {"option": varying}, "for all of them together"),
        )
    return varying


def _items(table: pd.DataFrame, others: list[str], notes: list[str]) -> pd.Series[str]:
    """What options were tried on, with everything that differs and is not the option.

    What one judge saw several of, for one option and item, makes items of its own. What differs
    only from judge to judge does not: it is how the judge was asked for.
    """
    items = table["item"].astype(str)
    tasks = table["task"].unique()
    if len(tasks) > 1:
        said = f"Items are of {len(tasks)} tasks, which are named with them: {listed(list(tasks))}."
        if int(table.groupby("judge")["task"].nunique().max()) == 1 < table["judge"].nunique():
            said += " Every evaluator has one task, so none scored what another did: if the items "
            said += "are the same, give the tasks one name."
        notes.append(said)
        items = table["task"] + ": " + items
    if (table["part"] != "").any():
        table["cluster"], items = items, items + table["part"]
        part = table["part"].max().lstrip(", ")
        notes.append(f"Scores of an item are a cluster, such as '…' and '…, {part}'.")
    key = [table[c] for c in ("option", "judge", "metric", "rival") if c in table]
    for name in others:
        if int(table[name].groupby([*key, items]).nunique().max()) > 1:
            items = items + " [" + name + ": " + table[name] + "]"
            notes.append(f"{name!r} differs for the same option, and tells apart what was scored.")
    times = table.groupby([*key, items]).cumcount() + 1
    if int(times.max()) > 1:
        n = int(times.max())
        said = f"One evaluator scored the same up to {n} times: later ones are items '… (2)'."
        if table["log"].nunique() > 1:
            said += " If one log is to be compared with another, name 'log' as the option."
        notes.append(said)
        items = items.where(times == 1, items + " (" + times.astype(str) + ")")
    return items
