"""The store that the environment names, for commands that are told none."""

from __future__ import annotations

import os
from typing import Any

import typer
from typer.core import TyperCommand

VARIABLE = "EVENHAND_STORE"

_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # of whichever click typer brings


class StoreCommand(TyperCommand):
    """A command whose first argument may come from the environment."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the store before the arguments if one is missing."""
        store = os.environ.get(VARIABLE)
        if store and self._lacks_one(ctx, list(args)):
            args = [store, *args]
        return super().parse_args(ctx, args)

    def _lacks_one(self, ctx: Any, args: list[str]) -> bool:
        wanted = [p for p in self.params if p.param_type_name == "argument" and p.required]
        try:
            given, rest, _ = self.make_parser(ctx).parse_args(args)
        except _UsageError:
            return False
        texts = [p for p in wanted if isinstance(given.get(p.name or ""), str)]
        return len(texts) == len(wanted) - 1 and not rest
