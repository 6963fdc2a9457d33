"""The command `evenhand`: one file per subcommand; each parses, calls one function and prints.

Exit codes: 0 fine, 1 what was to be confirmed is not so (a record does not verify, what `decide
--require` asks for is surely false), 2 what was given cannot be used, 3 the bias cannot be
estimated or options be compared, 4 what there is is not enough (for a plan, for what is required),
or nothing is to be evaluated now, 5 it failed: a store, a disk, or evenhand itself.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Annotated, Any

import typer

from evenhand import __version__
from evenhand.cli.campaign import campaign
from evenhand.cli.commands import FLAGS, LateCommands
from evenhand.errors import Door, EvenhandError, Remedy, StoreError

_CALLED = {  # names of Python that are others here
    "group": "option_group",
    "label": "option",
    "bounds": "scale",
    "grades": "scale",
    "best": "scale",
    "noise_scale": "noise",
    "leads": "lead",
    "values": "spread",
    "evaluations": "at_most",
    "compare": "pairs",
}
_REFUSED, _FAILED, _INTERRUPTED = 2, 5, 130


class _Commands(LateCommands):
    """Subcommands whose errors are a paragraph for the user, and never exit code 1."""

    homes = {  # noqa: RUF012 - read only
        "demo": "evenhand.cli.demo:demo",
        "audit": "evenhand.cli.audit:audit",
        "decide": "evenhand.cli.decide:decide",
        "inspect": "evenhand.cli.inspect:inspect",
        "plan": "evenhand.cli.plan:plan",
        "serve": "evenhand.cli.serve:serve",
        "simulate": "evenhand.cli.research.simulate:simulate",
        "compare": "evenhand.cli.research.compare:compare",
        "reproduce": "evenhand.cli.research.reproduce:reproduce",
    }

    def invoke(self, ctx: Any) -> Any:
        try:
            try:
                return super().invoke(ctx)
            finally:
                sys.stdout.flush()  # here, where it can be said that it is not possible
        except EvenhandError as error:
            typer.echo(f"evenhand: {error.told(_typed(ctx.meta.get(FLAGS, {})))}", err=True)
            raise typer.Exit(_FAILED if isinstance(error, StoreError) else _REFUSED) from None
        except MemoryError as error:
            typer.echo(f"evenhand: this takes more memory than there is ({error}).", err=True)
            typer.echo("Ask for less: fewer options, replications or workers.", err=True)
            raise typer.Exit(_REFUSED) from None
        except OSError as error:
            _forget_output()
            if error.errno != errno.EPIPE:  # whoever closes a pipe has read enough
                where = "" if error.filename is None else f" {error.filename!r}"
                typer.echo(
                    f"evenhand: a file or the output{where} cannot be used: "
                    f"{error.strerror or error}. See that it is there, with permission and room, "
                    "and do the same again.",
                    err=True,
                )
            raise typer.Exit(_FAILED) from None
        except KeyboardInterrupt:
            raise typer.Exit(_INTERRUPTED) from None
        except Exception as error:
            if hasattr(error, "exit_code"):  # typer's own way to end
                raise
            sys.excepthook(type(error), error, error.__traceback__)
            typer.echo(
                f"evenhand: {type(error).__name__}, which should not have happened, whatever was "
                "given. Please report it with the lines above, and what you did.",
                err=True,
            )
            raise typer.Exit(_FAILED) from None


def _typed(flags: Mapping[str, str]) -> Door:
    """Return how a command says what may help, by what to type for an argument."""
    import shlex  # noqa: PLC0415 # only of errors

    def option(name: str, value: Any) -> str | None:
        typed = flags.get(_CALLED.get(name, name)) or flags.get(name)
        if typed is None:
            return None
        if isinstance(value, Mapping):
            value = ",".join(f"{key}={one}" for key, one in value.items())
        elif isinstance(value, list | tuple):
            value = ",".join(map(str, value))
        elif value is True:
            value = "all" if name == "wide" else ""
        unsaid = "BEST,…,WORST" if name == "grades" else "…"
        text = unsaid if value is ... else "none" if value is None else str(value)
        flag, _, key = typed.partition(" ")
        words = f"{key}={text}" if key and text else key or text
        return f"{flag} {words if value is ... else shlex.quote(words)}" if words else flag

    def said(remedy: Remedy) -> str | None:
        each = remedy.value if remedy.argument == "columns" else {remedy.argument: remedy.value}
        words = [option(name, value) for name, value in each.items()]
        return None if None in words else remedy.said(f"say {' '.join(map(str, words))}")

    return said


def _forget_output() -> None:
    """Throw away what is still to be written where nothing can be, or Python tries at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


app = typer.Typer(
    cls=_Commands,
    name="evenhand",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(campaign)


def _print_version(asked: bool) -> None:
    if asked:
        typer.echo(f"evenhand {__version__}")
        raise typer.Exit


@app.callback(
    epilog="**Exit codes**: 0 fine; 1 what was to be confirmed is not so; 2 what was given cannot "
    "be used; 3 the bias cannot be estimated; 4 what there is, is not enough, or nothing is to be "
    "evaluated now; 5 it failed: a store, a disk, or evenhand itself."
)
def main(
    show_version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and stop.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """The right choice from unfair evaluations."""
    # A terminal that cannot show κ gets a question mark, not a crash.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
