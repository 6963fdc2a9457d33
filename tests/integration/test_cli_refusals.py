"""Every option of every command at values that make no sense: words and exit code 2, no traceback.

And a full disk under every file that commands write: what was there before stays.
"""

from __future__ import annotations

import errno
import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

import evenhand as eh
from evenhand.cli import app

COMMANDS: Any = typer.main.get_command(app)
WORDS = {"-1": "-1", "huge": "9" * 400, "": ""}
"""What is tried where a name or a file is meant."""
ODD = WORDS | {"0": "0", "1e300": "1e300", "nan": "nan", "inf": "inf"}
FEW = ("--horizon", "60", "--replications", "2", "--policies", "uniform,priced-exploration")
FEW += ("--workers", "1")
GAPS = "d=4,kappa=2,delta_min=.1,delta_neq=.1"
USES = {
    "audit": ("audit", "s.csv"),
    "decide": ("decide", "s.csv"),
    "demo": ("demo",),
    "inspect": ("inspect", "t.csv", "--column=option_group=side", "--column=option=name"),
    "plan": (
        "plan",
        "t.csv",
        "--evaluators=j.csv",
        "--column=option_group=side",
        "--assume=lead=9",
    ),
    "worst case": ("simulate", "--family", "worst-case,d=2,kappa=1", *FEW),
    "gaps": ("simulate", "--family", f"gap-dependent,{GAPS}", *FEW),
    "random": ("simulate", "--family", "random,k=8,d=2", *FEW),
    "compare": ("compare", "--suite", "gaps", *FEW[:4], "--policies", "uniform", *FEW[-2:]),
    "reproduce": ("reproduce", "--quick"),
    "campaign": ("campaign", "new", "new.db", "prize", "t.csv", "--evaluators", "j.csv"),
    "pages": ("serve", "pages.db", "--no-open"),
    "tickets": ("campaign", "ask", "c.db", "prize", "--evaluator", "P", "-n", "2"),
}
"""Ways to call each command that work."""

NUMBERS = {
    *("--horizon", "--seed", "--replications", "--workers"),
    *("--at-most", "--at-most cost", "--precision", "--target top", "--target chance"),
    *("--assume lead", "--assume spread", "--assume noise", "--ask reviews"),
}
"""Options that are numbers: below zero, not a number or nothing at all is never one of them."""
FINE = {("--seed", "0"), ("--seed", "huge")}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "t.csv").write_text(
        "name,side,a,b\nA,home,1,2\nB,away,2,1\nC,home,3,5\nD,away,4,4\nE,home,0,1\n"
    )
    (tmp_path / "j.csv").write_text("judge,side\nP,home\nQ,away\nR,\n")
    (tmp_path / "s.csv").write_text(
        "option,evaluator,score,option_group,evaluator_group\n"
        "A,P,3,home,home\nB,P,1,away,home\nC,P,2,home,home\n"
        "A,Q,2,home,away\nB,Q,3,away,away\nC,Q,1,home,away\n"
        "A,R,4,home,\nB,R,2,away,\nC,R,1,home,\n"
    )
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(autouse=True)
def no_reproduction(monkeypatch: pytest.MonkeyPatch) -> None:
    """End where the minutes of running would begin: all options have been looked at by then."""

    def stop(*_: Any) -> None:
        raise typer.Exit(0)

    # the package has the command by the name of its module
    monkeypatch.setattr(importlib.import_module("evenhand.cli.research.reproduce"), "measure", stop)
    # likewise, where the pages would be served
    monkeypatch.setattr("uvicorn.Server.run", stop)


def run(*arguments: str) -> Result:
    if arguments[:1] == ("campaign",):  # each time anew: a name can be taken once
        for file in Path().glob("*.db*"):
            file.unlink()
        if arguments[1] != "new":
            options = "--evaluators", "j.csv", "--ask", "capacity=9", "--at-most", "10"
            CliRunner().invoke(app, ["campaign", "new", "c.db", "prize", "t.csv", *options])
    return CliRunner().invoke(app, list(arguments))


def changed(use: tuple[str, ...], flag: str, value: str) -> list[str]:
    """The same call with another value for a flag, or for what a flag says by a key."""
    flag, _, key = flag.partition(" ")
    if key:
        return [
            *(one for one in use if not one.startswith(f"{flag}={key}")),
            flag,
            f"{key}={value}",
        ]
    if flag not in use:
        return [*use, flag, value]
    place = use.index(flag) + 1
    return [*use[:place], value, *use[place + 1 :]]


def command_of(use: tuple[str, ...]) -> Any:
    """The command that a call calls, perhaps one of a group."""
    command = COMMANDS.commands[use[0]]
    return (command.commands[use[1]] if hasattr(command, "commands") else command).loaded()


def flags(command: Any) -> list[str]:
    """All options of a command that take a value, and what they say by a key."""
    plain = [
        max(option.opts, key=len)
        for option in command.params
        if option.opts[0].startswith("-") and not option.is_flag
    ]
    said = getattr(command.callback, "says", {}).values()
    costs = ["--at-most cost"] * (command.name in ("plan", "new"))
    return [*plain, *costs, *(one for one in said if not one.startswith("--column"))]


@pytest.mark.parametrize("value", ODD.values())
@pytest.mark.parametrize(
    "given", ["worst-case,d=2,kappa=1,c=1", f"gap-dependent,{GAPS}", "random,k=8,d=2,seed=1"]
)
def test_odd_numbers_of_families_are_refused_in_words(given: str, value: str) -> None:
    name, *keys = given.split(",")
    for place, one in enumerate(keys):
        other = [*keys[:place], f"{one.split('=')[0]}={value}", *keys[place + 1 :]]
        result = run("simulate", "--family", ",".join([name, *other]), *FEW)
        said = f"{name} {other[place]}: {result.exit_code} {result.exception!r}"
        assert result.exception is None or isinstance(result.exception, SystemExit), said
        fine = one.startswith("seed") and value in ("0", WORDS["huge"])
        assert result.exit_code == 0 if fine else result.exit_code in (0, 2), said
        if value in ("-1", "nan", "") and not fine:
            assert result.exit_code == 2, said
            assert len(result.stderr.strip()) > 20, said


def test_every_command_is_walked() -> None:
    assert {use[0] for use in USES.values()} == set(COMMANDS.commands)
    known = {flag for use in USES.values() for flag in flags(command_of(use))}
    assert known >= NUMBERS
    assert len(known) > 25


@pytest.mark.parametrize("use", USES)
def test_the_calls_themselves_work(use: str) -> None:
    result = run(*USES[use])
    assert result.exit_code == 0, result.output


def called(use: str) -> tuple[str, ...]:
    """The name of the command of a call."""
    return USES[use][: 2 if USES[use][0] == "campaign" else 1]


def walked(use: str) -> list[str]:
    """The options that are tried by day: a use's own, and all others with one use in turn."""
    uses = [name for name in USES if called(name) == called(use)]
    own = {*USES[use]} - {*FEW}
    return [
        flag
        for n, flag in enumerate(flags(command_of(USES[use])))
        if flag in own or n % len(uses) == uses.index(use)
    ]


def test_by_day_too_every_option_is_walked() -> None:
    for use, call in USES.items():
        tried = {flag for name in USES if called(name) == called(use) for flag in walked(name)}
        assert tried == {*flags(command_of(call))}, use


@pytest.mark.parametrize("use", USES)
def test_odd_values_are_refused_in_words(use: str, request: pytest.FixtureRequest) -> None:
    call = USES[use]
    nothing = (3, 4) if call[0] == "campaign" else ()  # incomparable, or nobody to be asked
    night = request.config.getoption("--nightly")
    for flag in flags(command_of(call)) if night else walked(use):
        for name in ODD if flag in NUMBERS else WORDS:
            result = run(*changed(call, flag, ODD[name]))
            said = f"{call[0]} {flag} {name}: {result.exit_code} {result.exception!r}"
            assert result.exception is None or isinstance(result.exception, SystemExit), said
            assert result.exit_code in (0, 2, *nothing), said
            if result.exit_code == 2:
                assert len(result.stderr.strip()) > 20, said
            refused = name in ("-1", "nan", "") or (name == "0" and flag not in ("--precision",))
            if flag in NUMBERS and refused and (flag, name) not in FINE:
                assert result.exit_code == 2, said


WRITERS = {
    "a picture of an audit": ((*USES["audit"], "--report"), "old.png"),
    "a report of an audit": ((*USES["audit"], "--report"), "old.html"),
    "a picture of a decision": ((*USES["decide"], "--report"), "old.png"),
    "a report of a decision": ((*USES["decide"], "--report"), "old.html"),
    "a picture of regret": ((*USES["random"], "--report"), "old.svg"),
    "a table": ((*USES["compare"], "--report"), "old.csv"),
    "a picture of a comparison": ((*USES["compare"], "--report"), "old.png"),
}


@pytest.mark.parametrize("what", WRITERS)
def test_a_full_disk_keeps_the_old_file(
    what: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments, name = WRITERS[what]
    (folder / name).write_text("what was there before")

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    for call in ("fsync", "replace"):
        with monkeypatch.context() as broken:
            broken.setattr(os, call, full)
            result = run(*arguments, name)
        assert result.exit_code == 2, result.output
        assert "No space left on device" in " ".join(result.stderr.split())
        assert (folder / name).read_text() == "what was there before"
        files = {path.name for path in folder.iterdir()}
        assert files == {"t.csv", "j.csv", "s.csv", name}
    assert run(*arguments, name).exit_code == 0
    assert (folder / name).read_bytes() != b"what was there before"


def test_a_store_that_cannot_be_used_is_no_verdict() -> None:
    gone = CliRunner().invoke(app, ["campaign", "verify", "no.db", "prize"])
    assert (gone.exit_code, "there is no store" in gone.stderr) == (5, True)


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (RecursionError("too deep"), 5, "RecursionError, which should not have happened"),
        (
            OSError(errno.EIO, "Input/output error", "x.db"),
            5,
            "'x.db' cannot be used: Input/output",
        ),
        (EOFError(), 5, "EOFError, which should not have happened"),
        (eh.StoreError("gone"), 5, "evenhand: gone"),
        (eh.InputError("not so"), 2, "evenhand: not so"),
        (MemoryError("8 TB"), 2, "more memory than there is (8 TB)"),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 5, ""),
        (KeyboardInterrupt(), 130, ""),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
def test_no_error_has_the_exit_code_of_a_record_that_is_wrong(
    error: BaseException, code: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise error

    look = importlib.import_module("evenhand.cli.campaign.look")
    monkeypatch.setattr(look, "verify_file", fail)
    result = CliRunner().invoke(app, ["campaign", "verify", "events.jsonl"])
    assert result.exit_code == code
    assert said in " ".join(result.stderr.split())
    assert bool(result.stderr) == bool(said)


def test_output_that_cannot_be_written_is_said() -> None:
    command = [sys.executable, "-c", "from evenhand.cli import app; app()", *USES["audit"]]
    with open("/dev/full", "w") as full:
        result = subprocess.run(
            command, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert result.returncode == 5
    assert result.stderr.startswith("evenhand: a file or the output cannot be used: No space left")
    assert "Traceback" not in result.stderr
    assert "Exception ignored" not in result.stderr


@pytest.mark.parametrize(("column", "told"), [
    ("otion=skater", "did you mean option? It takes option, evaluator, score, "),
    ("option-group=nation", "did you mean option_group?"),
    ("features=age", "--column has no 'features' here. It takes option,"),
    ("skater", "--column has no 'skater' here. It takes option,"),
    ("option=", "--column option does not say what"),
    ("option=name", "--column says option twice, 'nobody' and 'name'"),
])  # fmt: skip
def test_roles_that_a_command_does_not_have_are_refused(column: str, told: str) -> None:
    result = CliRunner().invoke(
        app, ["audit", "t.csv", "--column=option=nobody", "--column", column]
    )
    assert result.exit_code == 2
    assert told in result.stderr
