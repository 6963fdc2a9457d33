"""What may be left out: the store that the environment names, and the campaign of a link."""

from __future__ import annotations

import os
from typing import Any

import typer
from typer.core import TyperCommand

VARIABLE = "EVENHAND_STORE"

_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # of whichever click typer brings


def is_link(store: str) -> bool:
    """Tell whether a store is an evaluator's link to a server."""
    return store.startswith(("https://", "http://"))


class StoreCommand(TyperCommand):
    """A command whose store may come from the environment; a link says which campaign it is of."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the store before the arguments if one is missing, or no name after a link."""
        store = os.environ.get(VARIABLE)
        if self._lacks_one(ctx, list(args)):
            link = next((i for i, one in enumerate(args) if is_link(one)), None)
            if link is not None:
                args = [*args[: link + 1], "", *args[link + 1 :]]
            elif store:
                args = [store, *args]
        elif store and is_link(store) and self._lacks_one(ctx, [store, *args]):
            args = [store, "", *args]
        return super().parse_args(ctx, args)

    def _lacks_one(self, ctx: Any, args: list[str]) -> bool:
        wanted = [p for p in self.params if p.param_type_name == "argument" and p.required]
        try:
            given, rest, _ = self.make_parser(ctx).parse_args(args)
        except _UsageError:
            return False
        texts = [p for p in wanted if isinstance(given.get(p.name or ""), str)]
        return len(texts) == len(wanted) - 1 and not rest
