"""The API fuzzed by its own document: no fault, and no answer that the document does not have."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import evenhand as eh
from evenhand.campaigns.stores import Store, open_store
from evenhand.serve import make_app
from evenhand.serve.access import Role, grant
from served import serving

CHECKS = (
    "not_a_server_error", "status_code_conformance", "content_type_conformance",
    "response_headers_conformance", "response_schema_conformance", "unsupported_method",
    "allow_header_conformance", "negative_data_rejection", "ignored_auth",
)  # fmt: skip
NIGHT = [pytest.param(500, marks=pytest.mark.nightly)]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path / "fuzz.db")
    panel = eh.Questions.panel({"Ann": "a", "Bo": "b"}, {"Paul": "a", "Rosa": "b"}, capacity=None)
    eh.Campaign.create(opened, "Cup", panel, at_most=10**6, bounds=(0, 10), noise_scale=1.0)
    yield opened
    opened.close()


@pytest.fixture
def address(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr("evenhand.serve.guard._MOST_REQUESTS", 10**9)
    monkeypatch.setattr("evenhand.serve.guard._MOST_STRANGERS", 10**9)
    with serving(make_app(store)) as found:
        yield found


def fuzzed(
    address: str, folder: Path, examples: int, token: str, checks: tuple[str, ...], *more: str
) -> int:
    """Send what the document allows, and what it does not; return how many requests were sent."""
    shown = ["--header", f"Authorization: Bearer {token}"] if token else []
    done = subprocess.run(
        [
            sys.executable, "-m", "schemathesis.cli", "run", f"{address}/openapi.json",
            "--checks", ",".join(checks), "--max-examples", str(examples), "--seed", "7",
            "--phases", "coverage,fuzzing", "--continue-on-failure", *shown, *more,
        ],
        cwd=folder, env=os.environ | {"NO_COLOR": "1"}, capture_output=True, text=True,
        timeout=1_800, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    (sent,) = re.findall(r"(\d+) generated, \d+ passed", done.stdout)
    return int(sent)


@pytest.mark.parametrize("examples", [25, *NIGHT])
@pytest.mark.parametrize("role", ["owner", "viewer", "nobody"])
def test_who_is_no_evaluator_gets_refusals_and_changes_nothing(
    store: Store, address: str, tmp_path: Path, role: Role, examples: int
) -> None:
    token = "" if role == "nobody" else grant(store, role, "Cup" if role == "viewer" else None)
    campaign = eh.Campaign.open(store, "Cup")
    before = campaign.status().hash
    checks = tuple(check for check in CHECKS if token or check != "negative_data_rejection")
    assert fuzzed(address, tmp_path, examples, token, checks) > 100
    assert campaign.status().hash == before


@pytest.mark.parametrize("examples", [25, *NIGHT])
def test_an_evaluator_is_answered_as_the_document_says(
    store: Store, address: str, tmp_path: Path, examples: int
) -> None:
    token = grant(store, "evaluator", "Cup", "Paul")
    assert fuzzed(address, tmp_path, examples, token, CHECKS) > 100
    campaign = eh.Campaign.open(store, "Cup")
    assert campaign.verify()
    assert campaign.status().evaluations == 0  # nobody guesses a ticket


@pytest.mark.parametrize("examples", [25, *NIGHT])
def test_scores_of_a_real_ticket_are_answered_as_the_document_says(
    store: Store, address: str, tmp_path: Path, examples: int
) -> None:
    campaign = eh.Campaign.open(store, "Cup")
    ticket = campaign.ask("Paul")
    assert ticket
    (tmp_path / "schemathesis.toml").write_text(f'[parameters]\n"body.ticket" = "{ticket.id}"\n')
    token = grant(store, "evaluator", "Cup", "Paul")
    told = "--include-path", "/api/v1/tell"
    assert fuzzed(address, tmp_path, examples, token, CHECKS, *told) > 20
    assert campaign.status().evaluations == 1  # one counts, however many were sent
    assert campaign.verify()
