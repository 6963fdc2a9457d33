"""A report in nouns of one's own: applications for options, reviewers for evaluators.

Nouns are replaced in what evenhand says, at one place, when a report is shown. Names never are:
cells of tables stay, and in sentences, titles and pictures so does whatever is one of the report's
``names``, wherever it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evenhand.errors import InputError
from evenhand.report.model import (
    Assumptions,
    Facts,
    Part,
    Picture,
    Points,
    Report,
    Section,
    Table,
)
from evenhand.report.words import abridged, sentence, short, visible

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOUNS: Mapping[str, tuple[str, ...]] = {
    "option": ("option",),
    "evaluator": ("evaluator", "judge"),
    "group": ("group",),
    "item": ("item",),
    "score": ("score",),
    "evaluation": ("evaluation",),
}
"""What may be called otherwise, and by which words evenhand says it."""

_CONSONANT_U = "uni|use|usu|eu|one"  # vowels that sound like consonants


_OURS: Mapping[type, tuple[str, ...]] = {  # what of a part is said by evenhand
    Table: ("caption", "header"),
    Facts: ("caption", "entries"),
    Points: ("sentences",),
    Assumptions: ("entries",),
    Picture: ("description", "caption"),
}


def reworded(report: Report, say: Callable[[str], str], *, pictures: bool = True) -> Report:
    """Return a report in other words, with those of its pictures unless they stay."""

    def said(value: Any) -> Any:
        if isinstance(value, str):
            return say(value)
        if isinstance(value, Mapping):
            return {say(name): one for name, one in value.items()}
        return [tuple(map(said, one)) if isinstance(one, tuple) else say(one) for one in value]

    def part_of(part: Any) -> Part:
        if isinstance(part, str):
            return say(part)
        if isinstance(part, Picture) and pictures:
            draw = part.draw
            part = replace(part, draw=lambda: figure_in(draw(), say))
        found: Part = replace(part, **{x: said(getattr(part, x)) for x in _OURS[type(part)]})
        return found

    def section_of(section: Section) -> Section:
        return replace(
            section, title=say(section.title), parts=lambda: [*map(part_of, section.filled)]
        )

    return replace(
        report,
        title=say(report.title),
        verdict=say(report.verdict),
        facts=said(report.facts),
        rests=said(report.rests),
        sections=[*map(section_of, report.sections)],
    )


def figure_in(figure: Figure, say: Callable[[str], str]) -> Figure:
    """Return a picture in other words; names on its axes stay."""
    from matplotlib.text import Text  # noqa: PLC0415 # slow to load

    for text in figure.findobj(Text):
        text.set_text(say(text.get_text()))
    return figure


@dataclass(frozen=True)
class Nouns:
    """Nouns of one's own, singular and plural, by the words that they stand for."""

    said: Mapping[str, str]
    names: Sequence[str]  # that are never altered

    @classmethod
    def of(cls, call: Mapping[str, str], names: Sequence[str]) -> Nouns:
        """Return nouns by ``{"option": "entry"}``; an irregular plural: ``"fish/fish"``."""
        said: dict[str, str] = {}
        for what, noun in call.items():
            one, _, many = (part.strip() for part in noun.partition("/"))
            if what not in NOUNS or not one:
                raise InputError(
                    f"call: say one of {', '.join(NOUNS)} and a word for it, such as "
                    f"option=application; got {what}={noun}."
                )
            for word in NOUNS[what]:
                said |= {word: one, f"{word}s": many or _plural(one)}
        # only names in which a noun stands could be altered
        forms = {form for name in names for form in (visible(name), short(name), abridged(name))}
        at_risk = re.compile(rf"\b({'|'.join(said)})\b", re.IGNORECASE)
        return cls(said, sorted((f for f in forms if at_risk.search(f)), key=len, reverse=True))

    def __call__(self, text: str) -> str:
        """Return a text in these nouns."""
        return self._pattern.sub(self._replaced, text)

    @property
    def _pattern(self) -> re.Pattern[str]:
        nouns = "|".join(sorted(self.said, key=len, reverse=True))
        kept = "|".join(r"\s+".join(map(re.escape, name.split())) for name in self.names)
        name = rf"(?<!\w)(?:{kept})(?!\w)" if kept else r"(?!)"
        # arguments of Python and of the command line keep their names
        noun = (
            rf"(?:(?P<article>\ban?)(?P<gap>\s+))?(?!{name})(?<![\w=-])(?P<noun>{nouns})(?![\w=])"
        )
        return re.compile(rf"{name}|{noun}", re.IGNORECASE)

    def _replaced(self, found: re.Match[str]) -> str:
        if found["noun"] is None:
            return found[0]
        noun, article = self.said[found["noun"].lower()], found["article"]
        noun = sentence(noun) if found["noun"][0].isupper() else noun
        if article is None:
            return noun
        vowel = re.match(rf"(?!{_CONSONANT_U})[aeiou]", noun, re.IGNORECASE)
        return f"{article[0]}{'n' if vowel else ''}{found['gap']}{noun}"


def _plural(noun: str) -> str:
    if re.search(r"[^aeiou]y$", noun):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "z", "ch", "sh")) else f"{noun}s"
