"""Commands that are loaded when they run: a group knows their names and where they are."""

from __future__ import annotations

import ast
from functools import cache
from importlib import import_module
from pkgutil import get_data
from typing import Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup

FLAGS = "evenhand.flags"
"""Where a context has what to type for an argument, at the command that runs."""


class LateCommand(TyperCommand):
    """A command that is loaded when it runs; until then it has a name, and its help one line."""

    def __init__(
        self, name: str, home: str, kind: type[TyperCommand], settings: dict[str, Any]
    ) -> None:
        super().__init__(name)
        self._module, _, self._function = home.partition(":")
        self._kind, self._settings = kind, settings

    def _own(self) -> Any:
        """Return the function behind it."""
        return getattr(import_module(self._module), self._function)

    def loaded(self) -> Any:
        """Return the command itself."""
        alone = typer.Typer(
            add_completion=False, rich_markup_mode="markdown", pretty_exceptions_enable=False
        )
        alone.command(self.name, cls=self._kind, context_settings=self._settings)(self._own())
        return typer.main.get_command(alone)

    def make_context(self, *args: Any, **more: Any) -> Any:
        """Load the command, and leave word of its options for what is said of an error."""
        command = self.loaded()
        ctx = command.make_context(*args, **more)
        own = {param.name: param.opts[0] for param in command.params if param.opts}
        ctx.meta[FLAGS] = own | getattr(self._own(), "says", {})
        return ctx

    def first_line(self) -> str:
        """Return what the command is for."""
        return _first_lines(self._module)[self._function]


@cache
def _first_lines(module: str) -> dict[str, str]:
    """Return what the functions of a module are for, out of its file: to import it takes long."""
    package, _, name = module.rpartition(".")
    body = ast.parse(get_data(package, f"{name}.py") or b"").body
    functions = [node for node in body if isinstance(node, ast.FunctionDef)]
    return {f.name: (ast.get_docstring(f) or "").partition("\n\n")[0] for f in functions}


class LateCommands(TyperGroup):
    """A group of such commands; those that were added to it in other ways come after them."""

    homes: ClassVar[dict[str, str]] = {}
    """Where each command is: its module and, after a colon, its function."""
    kind: ClassVar[type[TyperCommand]] = TyperCommand
    settings: ClassVar[dict[str, dict[str, Any]]] = {}
    """Settings of the context of some commands, by their names."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        late = {
            name: LateCommand(name, home, self.kind, self.settings.get(name, {}))
            for name, home in self.homes.items()
        }
        self.commands = {**late, **self.commands}

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print the help, with a line for each command."""
        for command in self.commands.values():
            if isinstance(command, LateCommand):
                command.help = command.first_line()
        super().format_help(ctx, formatter)
