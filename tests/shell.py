"""The command line, as tests run it in their own process."""

from __future__ import annotations

import json
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from evenhand.cli import app


def run(*arguments: object, **more: Any) -> Result:
    return CliRunner().invoke(app, [*map(str, arguments)], **more)


def answer(*arguments: object) -> dict[str, Any]:
    """Return what a command finds: it ends well, and its JSON has no NaN."""
    result = run(*arguments, "--json")
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(
        result.stdout, parse_constant=lambda name: pytest.fail(f"{name} is not JSON")
    )
    return found
