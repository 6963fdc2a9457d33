"""Families of models, by name: whose judge is partial to whom.

The table (``data/model_families.csv``) has words, and the family that a name with these words is
of. A tuned model is of the family of its weights: Vicuna is a Llama. Words are whole: 'ollama' is
no Llama, 'gpt4' is a GPT. The first row that fits counts; a row without a family takes its words
out of the name ('alpaca_eval_gpt4' is no Alpaca). Providers and folders before the name say
nothing: 'bedrock/us.anthropic.claude-3-5-sonnet' is a Claude by its last part.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from os import PathLike
from typing import TypeAlias

GivenFamilies: TypeAlias = Mapping[str, str | None] | str | PathLike[str] | None
"""Names or words with their families, a file of them, or nothing."""

_CODE = 2  # letters of a name that could be anybody's code


class Families:
    """Which family a name is of: as the user stated it, by name or words, else by the table."""

    def __init__(self, given: GivenFamilies = None) -> None:
        self.known_as = dict[str, str]()  # names that say less, with the other name
        if given is not None and not isinstance(given, Mapping):
            from evenhand.tables.opened import open_table  # noqa: PLC0415 # pyarrow is slow to load

            table = open_table(given)
            names, families = (table.texts(column, "families=") for column in ("name", "family"))
            given = {n: of for n, of in zip(names, families, strict=True) if n is not None}
        self._stated = {str(n): str(of or "").strip() or None for n, of in (given or {}).items()}

    def family(self, name: str) -> str | None:
        """Return the family of a model, or that all of several are of who judged as one, 'a + b';
        None if nobody knows it.
        """
        found = {self._of(one) or self._of(self.known_as.get(one, "")) for one in name.split(" + ")}
        return found.pop() if len(found) == 1 else None

    def _of(self, name: str) -> str | None:
        if name in self._stated:
            return self._stated[name]
        plain = _plain(name)
        if not self._stated and not _any_words().search(plain):
            return None  # as most names of people are
        for words, family in self._stated.items():
            if _words(words).search(plain):
                return family
        for words, family in _table():
            pattern = _words(words)
            if pattern.search(plain):
                if family is not None:
                    return family
                plain = pattern.sub("-", plain)
        return None

    def groups(self, part: str, names: Sequence[str]) -> dict[str, str | None] | None:
        """Return the families of names; None unless most options are known models."""
        found: dict[str, str | None] = {}
        unknown = 0
        for name in names:
            found[name] = self.family(name)
            unknown += found[name] is None or len(name) <= _CODE
            if part == "option" and 2 * unknown > len(names) and not self._stated:
                return None  # which is soon told of many
        return found


def family(name: str, families: GivenFamilies = None) -> str | None:
    """Return the family that a model is of, by its name; None if nobody knows it.

    Parameters
    ----------
    name
        A model's name, with or without providers before it.
    families
        Families by name, or by whole words in names, that come before those of the table: a
        mapping, or the path of a table (columns ``name`` and ``family``).

    Examples
    --------
    >>> family("openai/gpt-4o-mini-2024-07-18"), family("lmsys/vicuna-13b-v1.5")
    ('gpt', 'llama')
    >>> family("my-judge"), family("my-judge", {"my-judge": "gpt"})
    (None, 'gpt')
    """
    return Families(families).family(name)


@cache
def _table() -> tuple[tuple[str, str | None], ...]:
    text = resources.files("evenhand.data").joinpath("model_families.csv").read_text("utf-8")
    return tuple((row["words"], row["family"] or None) for row in csv.DictReader(text.splitlines()))


@cache
def _any_words() -> re.Pattern[str]:
    """What finds a word of the table in a name, whichever."""
    words = "|".join(re.escape(_plain(words)) for words, _ in _table())
    return re.compile(rf"(?<![a-z0-9])(?:{words})(?![a-z])")


@cache
def _words(words: str) -> re.Pattern[str]:
    """Whole words: no letter or digit before them, no letter after them ('gpt4', not 'gptq')."""
    return re.compile(rf"(?<![a-z0-9]){re.escape(_plain(words))}(?![a-z])")


def _plain(name: str) -> str:
    """The last part of a name, in small letters, with one sign between words."""
    last = name.strip().rstrip("/").rpartition("/")[2]
    return re.sub(r"[^a-z0-9]+", "-", last.lower())
