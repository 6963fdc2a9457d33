"""Verdicts on two answers: annotations of AlpacaEval, judgments of MT-bench and of arena-hard.

AlpacaEval's ``preference`` is 1 where the first answer is better, 2 where the second is, and
between them where the judge was not sure; 1.5, and in old files 0, is a tie. The second answer is
of the model that is evaluated, the first of the baseline: the score is 2·preference − 3. The judge
saw the two as 'm' and 'M', in random order, and its own reply is kept: by which of the names won,
or by how probable each was as its token, the preference tells which of the two 'm' was, which is
shown first.

MT-bench and arena-hard ask twice, in both orders. Of MT-bench, ``g1_winner`` is of the game with
``model_1`` first, ``g2_winner`` of the other; of arena-hard, the baseline stands first in the first
game and second in the second. MT-bench's marks of single answers (``gpt-4_single.jsonl``) are read
here, too.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from evenhand.arrays import is_number
from evenhand.readers.documents import Document, Format, has, members, name_of, reach
from evenhand.readers.frame import LoggedScore, item_name, size_of
from evenhand.scores.grades import grade, verdict_in

_SAME = 1e-6  # up to which a preference is that of a reply; more is written down of both
_UNREAD = "no verdict can be read in the judge's reply"
_ANSWERS = re.compile(  # that stand in what a judge was asked, by MT-bench and by arena-hard
    r"[\[<]\|?The Start of Assistant( [AB]|)'s Answer\|?[\]>]\n(.*?)\n"
    r"[\[<]\|?The End of Assistant\1's Answer",
    re.DOTALL,
)


def _alpaca(document: Document, notes: list[str]) -> Iterator[LoggedScore]:
    del notes
    for number, row in enumerate(document.content, 1):
        baseline, model = (name_of(reach(row, f"generator_{place}")) for place in (1, 2))
        alone = baseline == model
        preference = reach(row, "preference")
        yield LoggedScore(
            None if alone else _lead(preference),
            item=item_name(reach(row, "instruction") or number),
            model=model,
            rival=baseline,
            judge=name_of(reach(row, "annotator")) or "annotator",
            metric="preference",
            where=f"{document.where}, annotation {number}",
            length=size_of(reach(row, "output_2")),
            rival_length=size_of(reach(row, "output_1")),
            trouble="a model against itself" if alone else "no preference",
            is_first=_is_first(preference, _upper_won(row)),
        )


def _lead(preference: Any) -> Any:
    """How much the second is better, −1 to 1; what is no preference stays a text."""
    try:
        number = grade(preference)
    except ValueError:
        return f"preference {preference}"
    if number == 0.0 or math.isnan(number):
        return number
    return 2.0 * number - 3.0 if 1.0 <= number <= 2.0 else f"preference {preference}"


def _upper_won(row: Any) -> float | None:
    """How probable the judge found 'M' the better, the answer that it was shown second."""
    reply = reach(row, "raw_completion") or reach(row, "preference_raw_completion")
    with suppress(ValueError, RecursionError):
        reply = json.loads(reply) if isinstance(reply, str) else reply
    tokens = members(next(iter(members(reply, "logprobs", "content")), None), "top_logprobs")
    chance = {str(reach(one, "token")): reach(one, "logprob") for one in tokens}
    upper, lower = (_exp(chance.get(name)) for name in "Mm")
    if upper + lower > 0.0:
        return upper / (upper + lower)
    order = "".join(str(reach(one, "model")) for one in members(reply, "ordered_models"))
    return {"Mm": 1.0, "mM": 0.0}.get(order)


def _exp(logprob: Any) -> float:
    return math.exp(min(logprob, 0.0)) if is_number(logprob) else 0.0


def _is_first(preference: Any, upper: float | None) -> bool | None:
    """Whether the second output was shown first; None if the reply does not tell."""
    if upper is None or not is_number(preference):
        return None
    as_it_stands, turned = abs(preference - 1.0 - upper), abs(preference - 2.0 + upper)
    if min(as_it_stands, turned) > _SAME or abs(as_it_stands - turned) <= _SAME**2:
        return None
    return bool(turned < as_it_stands)


def _pairs(document: Document, notes: list[str]) -> Iterator[LoggedScore]:
    del notes
    for number, row in enumerate(document.content, 1):
        models = {side: name_of(reach(row, side)) for side in ("model_1", "model_2")}
        for game, (first, second) in enumerate((models, reversed(models)), 1):
            winner = reach(row, f"g{game}_winner")
            value = {first: 1.0, second: -1.0, "tie": 0.0}.get(str(winner))
            yield LoggedScore(
                value,
                model=models[first],
                rival=models[second],
                metric="winner",
                where=f"{document.where}, judgment {number}, game {game}",
                trouble=_UNREAD,
                **_judged(row, number),
                **_lengths(reach(row, f"g{game}_user_prompt")),
            )


def _marks(document: Document, notes: list[str]) -> Iterator[LoggedScore]:
    del notes
    for number, row in enumerate(document.content, 1):
        mark = reach(row, "score")
        yield LoggedScore(
            None if mark == -1 else mark,  # as it has those that it could not read
            model=name_of(reach(row, "model")),
            metric="score",
            where=f"{document.where}, judgment {number}",
            trouble=_UNREAD,
            **_judged(row, number),
            **_lengths(reach(row, "user_prompt")),
        )


def _judged(row: Any, number: int) -> dict[str, Any]:
    """The question, its turn and the judge, a model with the name of its instructions."""
    judge, turn = reach(row, "judge"), reach(row, "turn")
    judge = judge[0] if isinstance(judge, list) and judge else judge
    return {
        "item": name_of(reach(row, "question_id")) or str(number),
        "part": "" if turn in (None, 1) else f", turn {name_of(turn)}",
        "judge": name_of(judge) or "judge",
    }


def _games(document: Document, notes: list[str]) -> Iterator[LoggedScore]:
    unnamed = not any(reach(row, "baseline") for row in document.content)
    if unnamed:
        said = "Arena-hard's judgments do not name the baseline; it is called 'baseline'."
        notes.append(said)
    for number, row in enumerate(document.content, 1):
        sides = [name_of(reach(row, "baseline")) or "baseline", name_of(reach(row, "model"))]
        for game, played in enumerate(members(row, "games")[:2], 1):
            first, second = sides if game == 1 else reversed(sides)
            asked = reach(played, "user_prompt") or _last_words(members(played, "prompt"))
            alone = first == second
            yield LoggedScore(
                None if alone else _verdict(reach(played, "score")),
                model=first,
                rival=second,
                item=name_of(reach(row, "question_id") or reach(row, "uid")) or str(number),
                judge=name_of(reach(row, "judge")) or "judge",
                metric="verdict",
                where=f"{document.where}, judgment {number}, game {game}",
                trouble="a model against itself" if alone else _UNREAD,
                **_lengths(asked),
            )


def _verdict(label: Any) -> Any:
    """A>>B, A>B, A=B and so on, also written the other way round, as a number."""
    if not isinstance(label, str):
        return None if label is None else f"verdict {label}"
    plain = label.strip().upper()
    found = verdict_in(plain[::-1].replace("<", ">") if "<" in plain or plain == "B=A" else plain)
    return f"verdict {label}" if found is None else found


def _last_words(messages: list[Any]) -> Any:
    return reach(messages[-1] if messages else None, "content")


def _lengths(asked: Any) -> dict[str, Any]:
    """How long the answers are that a judge was shown, as far as the log has them."""
    answers = _ANSWERS.findall(asked) if isinstance(asked, str) else ()
    shown: Mapping[str, int] = {side.strip(): len(text) for side, text in answers}
    names = {"A": "length", "B": "rival_length", "": "length"}
    return {names[side]: n for side, n in shown.items()} if len(shown) == len(answers) else {}


FORMATS = (
    Format(lambda rows: has(rows, "generator_1", "generator_2", "preference"), _alpaca),
    Format(lambda rows: has(rows, "model_1", "model_2", "g1_winner", "g2_winner"), _pairs),
    Format(lambda rows: has(rows, "question_id", "model", "judge", "score", "turn"), _marks),
    Format(lambda rows: has(rows, "model", "judge", "games"), _games),
)
