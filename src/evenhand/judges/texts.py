"""What judges are shown: the texts of options, over the items that they were tried on."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.errors import InputError
from evenhand.tables import listed

Text = str | Mapping[str, str] | Callable[[str], str]
Pool = tuple[str | None, ...]


@dataclass(frozen=True, eq=False)
class Texts:
    """The texts of options, by item."""

    held: Mapping[str, Text]  # by option: a text, texts by item, or a function of the item
    items: tuple[str, ...] = ()  # none where every option is one text

    @classmethod
    def of(cls, options: Any, items: Sequence[str] | None = None) -> Texts:
        """Return the texts of options as people give them; see `judges.panel`."""
        if not isinstance(options, Mapping) or not options:
            what = "texts, to texts by item, or to functions of an item"
            raise InputError(f"options must map names to {what}; got {options!r}.")
        for name, text in options.items():
            if not isinstance(text, str | Mapping) and not callable(text):
                what = "a text, texts by item, or a function of an item"
                raise InputError(f"the option {name!r} must be {what}; got {text!r}.")
        by_item = {name: text for name, text in options.items() if isinstance(text, Mapping)}
        if items is None:
            items = tuple(next(iter(by_item.values()), ()))
        elif isinstance(items, str) or not all(isinstance(item, str) for item in items):
            raise InputError(f"items must be several names; got {items!r}.")
        if not items and (by_item or any(callable(text) for text in options.values())):
            raise InputError("there are no items; name those that options were tried on (items=).")
        if len(set(items)) < len(items):
            raise InputError("items: a name stands there twice; name every item once.")
        for name, text in by_item.items():
            if lacking := [item for item in items if item not in text]:
                said = f"the option {name!r} has no text for {listed(lacking)}"
                raise InputError(f"{said}; give one, or name the items that all have (items=).")
        return cls(dict(options), tuple(items))

    def text(self, option: str, item: str | None) -> str:
        """Return the text of an option for an item."""
        held = self.held[option]
        if isinstance(held, str):
            return held
        if item is None:
            raise InputError(f"the option {option!r} has a text by item; say which item.")
        return held[item] if isinstance(held, Mapping) else held(item)

    def shown(self, options: Sequence[str], item: str | None) -> tuple[str, ...]:
        """Return what a judge is called with: the texts, then the item if there are some."""
        texts = tuple(self.text(option, item) for option in options)
        return texts if item is None else (*texts, item)

    def by_name(self) -> dict[str, str]:
        """Return all texts, each by a name of its own; not those that functions make."""
        named = {}
        for option, held in self.held.items():
            if isinstance(held, str):
                named[f"the text of {option!r}"] = held
            elif isinstance(held, Mapping):
                named |= {f"the text of {option!r} on {x!r}": held[x] for x in self.items}
        return named

    def known(self, why: str) -> None:
        """Raise `InputError` if texts are made when they are asked for only."""
        if made := [name for name, held in self.held.items() if callable(held)]:
            said = f"and {listed(made)} is a function; give its texts by item"
            raise InputError(f"{why} needs the texts beforehand, {said}.")
