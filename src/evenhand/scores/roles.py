"""The roles of columns in a table of scores, each declared once, and how a table is read.

Nothing here imports pyarrow, which takes long to load.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal, NamedTuple, TypedDict

from evenhand.best import Best
from evenhand.errors import InputError
from evenhand.scores.grades import Grades


class Role(NamedTuple):
    """What a column of a table can be."""

    name: str
    holds: Literal["names", "groups", "numbers"]
    words: tuple[str, ...] = ()  # what else people call such a column; found if it is the only one
    several: bool = False  # whether several columns may have it together
    asked: bool = False  # whether a column has it only if the user names one


ROLES: Mapping[str, Role] = {role.name: role for role in (
    Role("option", "names", (
        *("model", "model a", "model 1", "system", "candidate", "generator", "generator 1"),
        *("application", "applicant", "essay", "manuscript"),
        *("proposal", "submission", "paper", "project", "entry", "contestant", "nominee"),
        *("antrag", "bewerber", "bewerberin", "bewerbung", "kandidat", "kandidatin", "projekt"),
        *("candidat", "dossier", "projet", "candidato", "propuesta", "proyecto", "progetto"),
        *("product", "stimulus", "treatment", "wine", "beer", "song", "film", "movie"),
        *("skater", "diver", "athlete", "performer"),
    )),
    Role("score", "numbers", (
        *("rating", "liking"),
        *("winner", "grade", "mark", "marks", "points", "vote", "punkte", "punktzahl"),
        *("bewertung", "wertung", "points attribués", "puntuación", "puntos", "calificación"),
        *("punteggio", "voto", "punten", "ocena", "punkty", "poäng", "pontos", "pontuação"),
    )),
    Role("evaluator", "names", (
        *("judge", "grader", "annotator", "rater", "reviewer", "referee", "assessor", "juror"),
        *("judge model", "grader model", "evaluator model", "annotator model", "scorer", "labeler"),
        *("labeller", "taster", "examiner", "voter", "jury member", "panel member", "marker"),
        *("panelist", "panellist", "coder", "tester", "user id", "expert"),
        *("worker", "subject id", "scoresheet", "resp", "respondent", "pollster", "critic"),
        *("consumer", "viewer", "listener"),
        *("gutachter", "gutachterin", "gutachter:in", "jurymitglied", "juror:in", "prüfer"),
        *("évaluateur", "rapporteur", "relecteur", "juré", "evaluador", "revisor", "jurado"),
        *("valutatore", "revisore", "beoordelaar", "recensent"),
    )),
    Role("rival", "names", ("generator 2", "model b", "model 2")),
    Role("item", "names", (
        *("prompt", "question", "instruction", "sample", "task", "example", "document", "doc"),
    ), several=True),
    Role("event", "names", several=True),
    Role("cluster", "names", several=True),
    Role("criterion", "names", ("criteria", "kriterium", "critère", "criterio", "critério")),
    Role("option_group", "groups"),
    Role("rival_group", "groups"),
    Role("evaluator_group", "groups"),
    Role("partial", "numbers", asked=True),
    Role("reference", "numbers", asked=True),
    Role("attributes", "numbers", several=True, asked=True),
    Role("time", "numbers", asked=True),
)}  # fmt: skip
"""The roles of columns, by name."""

_REPEATS = re.compile(
    r"(?:epoch|run|seed|trial|attempt|repetition|repeat|replicate|replication|rep|iteration"
    r"|durchlauf|wiederholung|répétition|repetición)s?(?:[ _.-]*(?:id|idx|index|no|nr|number))?",
    re.IGNORECASE,
)


def counts_repeats(column: str) -> bool:
    """Whether a column of this name counts how often the same thing was asked."""
    return _REPEATS.fullmatch(column.strip()) is not None


# Words of columns that tell scores apart, though nobody gave a score who is called so.
THINGS = frozenset((
    *("turn", "round", "year", "month", "week", "day", "date", "time", "duration", "order", "page"),
    *("line", "row", "position", "rank", "session", "stage", "level", "version", "set", "series"),
    *("episode", "section", "segment", "seg", "aspect", "dimension", "category", "criterion"),
    *("criteria", "subcriterion", "subcriteria", "language", "gender", "age", "url"),
    *(word for word in ROLES["item"].words if " " not in word),
))  # fmt: skip

# Words of those who may have scored, or have been scored.
EITHER = frozenset(("participant", "subject"))


NEEDED = ("option", "score")
BY_NAME = tuple(r.name for r in ROLES.values() if not r.asked and r.name not in NEEDED)
"""Roles that a column of the same name has, if there is one and nothing else was said."""

Groups = str | Mapping[str, str] | None

Families = Callable[[str, Sequence[str]], Mapping[str, str | None] | None]
"""Says of a role and its names which groups they are of, where no column does."""


Columns = Mapping[str, Any]
"""Columns by roles: ``{"option": "wine", "evaluator": "taster"}``; None where nothing has one."""


class ReadOptions(TypedDict, total=False):
    """How a table of scores is read: the same for every verb.

    ``columns``: which column has which role, where its name does not say so (`ROLES`): ``option``,
    ``score``, ``evaluator``, ``rival``, ``item``, ``event``, ``cluster``, ``criterion``,
    ``option_group``, ``rival_group``, ``evaluator_group`` (see `Scores`), and of numbers
    ``partial``, ``reference``, ``attributes``, ``time`` (dates count in days). None says that
    nothing has the role. Several columns of one item, event or cluster are taken together. Groups
    may be a mapping from names to groups. In comparisons a column ``length`` with ``rival_length``
    beside it counts as the difference.

    ``criteria``: columns that hold the marks of one review, or what stands in the column
    ``criterion``, with their weights; their weighted mean is the score.
    ``scale``: the lowest and highest score that can be given; (5, 1) says that 1 is the best.
    ``best``: whether the "high" or the "low" scores are the best; "high" if not said, but where a
    title, a note or the name of the scores' column says that it may be the lowest.
    ``wide``: whether the table has a row for each option and a column for each evaluator, or which
    columns these are; where ``evaluator`` has a column, or it is "item", they are items. Empty
    cells are no scores. ``repeats``: whether an evaluator may have scored the same thing several
    times. ``missing``: what to do with rows where a cell is empty. ``decimal``: what stands before
    decimals in texts; found out if not said. ``grades``: words that scores are, the best first
    (equally spaced), or with numbers. ``copies``: what to do with rows that are the same in every
    cell.

    For verbs: ``beside``: whether to keep columns that have no role (not of a wide table).
    ``scored``: whether there must be scores; else it will do who scored what. ``telling``: whether
    scores must tell something, two at least, that differ. ``lengths``: whether the lengths of
    answers that were compared with one baseline are an attribute, if nobody says which are.
    """

    columns: Columns
    criteria: Mapping[str, float] | None
    scale: tuple[float, float] | None
    best: Best | None
    wide: bool | str | Sequence[str]
    repeats: bool
    missing: Literal["refuse", "drop"]
    decimal: str | None
    grades: Grades
    copies: Literal["refuse", "drop"]
    beside: bool
    scored: bool
    telling: bool
    lengths: bool


def roles_said(reading: ReadOptions) -> dict[str, Any]:
    """Return the roles that were said, without those said to have the column of their own name."""
    columns = reading.get("columns") or {}
    if not isinstance(columns, Mapping):
        raise InputError(f"columns is a mapping from roles to columns; got {columns!r}")
    for role in columns:
        if role not in ROLES:
            near = get_close_matches(str(role), list(ROLES), 1)
            meant = f"; did you mean {near[0]!r}?" if near else ";"
            raise InputError(
                f"columns has no role {role!r}{meant} the roles are {', '.join(ROLES)}"
            )
    return {role: column for role, column in columns.items() if column != role or ROLES[role].asked}
