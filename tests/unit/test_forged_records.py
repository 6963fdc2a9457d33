"""Whole campaigns, verified: what was decided follows from the log, and from no forged one.

Forgeries have a whole new chain of seals: what finds them is the books or replay.
"""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
import reworded
from evenhand.campaigns.events import START, Event, as_line, sealed
from evenhand.campaigns.verification import RecordVerification, verify_file

pytestmark = pytest.mark.usefixtures("hasty")

Log = list[tuple[str, dict[str, Any]]]
Forgery = Callable[[Log], None]

VALUES = {"Ann": 1.0, "Bo": 0.2, "Cy": 0.0, "Di": 2.5}


def panel(options: str = "Ann Bo Cy", capacity: int | None = None) -> eh.Questions:
    groups = dict(zip(["Ann", "Bo", "Cy", "Di"], "abab", strict=True))
    return eh.Questions.panel(
        {name: groups[name] for name in options.split()},
        {"P": "a", "Q": "b", "R": None},
        capacity=capacity,
    )


def skaters() -> eh.ActionSet:
    skill = np.array([0.0, 0.5, 1.0, 2.0, 2.2, 3.0])
    return eh.ActionSet(np.column_stack([np.ones(6), skill]), ["home", "away"] * 3)


def campaigned(
    folder: Path,
    asked: Any,
    change: Callable[[eh.Campaign], None] | None = None,
    at: int | None = 12,
    verifies: bool = True,
    **settings: Any,
) -> Log:
    """Have a campaign evaluated, changed after some evaluations, and decided; return its log.

    It is changed once it was decided, if ``at`` is None.
    """
    rng = np.random.default_rng(3)
    campaign = eh.Campaign.create(folder / "c.db", "c", asked, **settings)
    told = 0
    while True:
        if told == at and change is not None:
            change(campaign)
        ticket = campaign.ask(None)
        if not ticket and at is None and change is not None:
            change(campaign)
            ticket, change = campaign.ask(None), None
        if not isinstance(ticket, eh.campaigns.Ticket):
            break
        question = ticket.question
        value = VALUES.get(question.label, float(question.index))
        favour = 0.5 * (question.evaluator == "P" and question.label in ("Ann", "Cy"))
        campaign.tell(ticket, value + favour + 0.5 * rng.standard_normal())
        told += 1
    assert not verifies or campaign.verify().wrong == ()
    assert campaign.verify().evaluations == campaign.status().evaluations
    (file,) = campaign.export(folder / "events.jsonl")
    campaign.close()
    lines = (json.loads(line) for line in file.read_text("utf-8").splitlines())
    return [(line["kind"], line["body"]) for line in lines]


def verified(log: Log, folder: Path, at: float = 1e9) -> RecordVerification:
    """Seal a log as if it had been so from the first, and verify it."""
    before, lines = START, []
    for number, (kind, content) in enumerate(log, start=1):
        event = sealed(before, number, at + number, kind, content)  # type: ignore[arg-type] # any
        before = event.hash
        lines.append(as_line(event))
    file = folder / "forged.jsonl"
    file.write_text("\n".join(lines) + "\n", "utf-8")
    return verify_file(file)


def more(campaign: eh.Campaign) -> None:
    campaign.extend(questions=panel("Di Cy Bo Ann"), at_most=400)


def logged(campaign: eh.Campaign) -> None:
    pairs = [(o, e) for o in ("Ann", "Bo", "Cy") for e in "PQR"]
    table = pd.DataFrame(pairs, columns=["option", "evaluator"])
    campaign.import_scores(table.assign(score=np.linspace(0.0, 1.0, len(table))))


def withdrawing(*numbers: int) -> Callable[[eh.Campaign], None]:
    def change(campaign: eh.Campaign) -> None:
        for n in numbers:
            campaign.withdraw(n, "a slip")

    return change


def gone_and_back(campaign: eh.Campaign) -> None:
    """Have plans come and go of which none was asked by, while answers are out."""
    tickets = campaign.ask("P", n=5, worker="two")
    campaign.leave("R", "ill")
    assert isinstance(tickets, list)
    for ticket in tickets:
        campaign.tell(ticket, VALUES[ticket.question.label])
    campaign.join("R")


def more_then_fewer(campaign: eh.Campaign) -> None:
    more(campaign)
    withdrawing(2, 11, 12, 28)(campaign)


CASES: dict[str, Any] = {
    "a panel": (panel(), None, 0, {"at_most": 200}),
    "people": (panel(capacity=2), None, 0, {}),
    "options": (skaters(), None, 0, {"at_most": 200}),
    "somebody leaves": (panel(), lambda c: c.leave("R", "ill"), 12, {"at_most": 150}),
    "more options": (panel(), more, 20, {"at_most": 300, "noise_scale": 0.5}),
    "logged scores first": (panel(), logged, 0, {"at_most": 150}),
    "more evaluations": (panel(), lambda c: c.extend(at_most=150), 30, {"at_most": 40}),
    "one withdrawn": (panel(capacity=2), withdrawing(5), 12, {}),
    "of a search": (panel(), withdrawing(20), 30, {"at_most": 150}),
    "all that opened it": (panel(), withdrawing(*range(1, 8)), 25, {"at_most": 150}),
    "of a batch": (skaters(), withdrawing(3, 30), 40, {"at_most": 200}),
    "gone and back": (panel(), gone_and_back, 21, {"at_most": 150}),
    "more, then fewer": (panel(), more_then_fewer, 30, {"at_most": 200, "noise_scale": 0.5}),
}


@pytest.mark.parametrize("name", CASES)
def test_a_decision_follows_from_the_log(name: str, tmp_path: Path) -> None:
    asked, change, at, settings = CASES[name]
    log = campaigned(tmp_path, asked, change, at, **settings)
    found = verified(log, tmp_path)
    assert found.wrong == ()
    assert found.decided
    gone = {content["evaluation"] for kind, content in log if kind == "withdrawn"}
    rows = [row for kind, c in log if kind in ("told", "imported") for row in c["evaluations"]]
    assert found.evaluations == sum(row[0] not in gone for row in rows)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    folder = tmp_path_factory.mktemp("campaign")
    made = campaigned(folder, panel(), at_most=300, noise_scale=0.5)
    assert verified(made, folder).wrong == ()
    assert made[-1][1]["answer"]["sure"]
    return made


def places(log: Log, kind: str) -> list[int]:
    return [i for i, (what, _) in enumerate(log) if what == kind]


def changed(kind: str, which: int, path: str, change: Callable[[Any], Any]) -> Forgery:
    """Return what changes one value in an event of a kind: ``path`` is where, in its content."""

    def forge(log: Log) -> None:
        inner: Any = log[places(log, kind)[which]][1]
        *before, last = [int(key) if key.lstrip("-").isdigit() else key for key in path.split(".")]
        for key in before:
            inner = inner[key]
        inner[last] = change(inner[last])

    return forge


def in_answer(path: str, change: Callable[[Any], Any]) -> Forgery:
    return changed("decided", -1, f"answer.{path}", change)


def _left_out(log: Log) -> None:
    del log[places(log, "told")[4]]


def _twice(log: Log) -> None:
    where = places(log, "told")[4]
    log.insert(where, copy.deepcopy(log[where]))


def _order(log: Log) -> None:
    first, *_, last = places(log, "told")
    one, other = (log[i][1]["evaluations"][0] for i in (first, last))
    one[3], other[3] = other[3], one[3]


def _prior(log: Log) -> None:
    """Have a plan expect what came."""
    plans = (content["plan"] for kind, content in log if kind == "planned")
    tested = next(plan for plan in plans if plan["pairs"])
    tested["hopes"][0] += 1.0


def _no_plan(log: Log) -> None:
    del log[places(log, "planned")[-1]]


def _evaluator(log: Log) -> None:
    """Have the same key twice: a score that was told again, and counted again."""
    one, other = (log[i][1]["evaluations"][0] for i in places(log, "told")[:2])
    other[4:] = one[4:]


DRIFT = {"assumption": "drift", "alarm": True, "options": [], "concerns": [], "p_value": 0.001}
FORGERIES: dict[str, Forgery] = {
    "score": changed("told", 7, "evaluations.0.3", lambda score: score + 0.01),
    "left out": _left_out,
    "twice": _twice,
    "order": _order,
    "other question": changed("told", 3, "evaluations.0.2", lambda number: (number + 1) % 9),
    "leader": changed("planned", -1, "plan.pairs", lambda pairs: pairs[1::-1] + pairs[2:]),
    "prior": _prior,
    "ends when it looked best": changed("planned", -2, "plan.order", lambda order: order[:-3]),
    "no plan": _no_plan,
    "wider interval": in_answer("biases.0.high", lambda high: high + 0.01),
    "mean": in_answer("ranking.0.raw", lambda mean: mean + 0.1),
    "counted": in_answer("ranking.0.evaluations", lambda n: n + 1),
    "words": in_answer("certainty", lambda _: "it was agreed"),
    "reason": changed("decided", -1, "because", lambda _: "spent"),
    "choice": in_answer("option", lambda name: "Bo" if name == "Ann" else "Ann"),
    "sure": in_answer("sure", lambda sure: not sure),
    "loss": in_answer("loses_at_most", lambda _: 0.5),
    "alarm": in_answer("warnings", lambda _: [DRIFT]),
    "lead": in_answer("ranking.-1.lead", lambda lead: lead + 0.01),
    "bias": in_answer("biases.0.estimate", lambda bias: bias + 0.01),
    "confidence": changed("created", 0, "policy.arguments.named.confidence", lambda _: 0.999999),
    "evaluator": _evaluator,
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_log_is_seen(log: Log, name: str, tmp_path: Path) -> None:
    forged = copy.deepcopy(log)
    FORGERIES[name](forged)
    assert forged != log
    assert verified(forged, tmp_path).wrong


ZOE = changed("told", 5, "evaluations.0.4", lambda _: "Zoe")


def _undecided(log: Log) -> None:
    del log[-1]


def _alarm_on_the_way(log: Log) -> None:
    log.insert(places(log, "told")[9], ("alarmed", DRIFT))


def _untouched(log: Log) -> None:
    """Seal it anew: `verified` gives other times."""


@pytest.mark.parametrize("forge", [ZOE, _undecided, _alarm_on_the_way, _untouched])
def test_some_changes_only_a_seal_finds_that_was_written_down(
    log: Log, forge: Forgery, tmp_path: Path
) -> None:
    """Who gave a score, times: docs/research/records.md says so."""
    assert verified(log, tmp_path)
    seal = json.loads((tmp_path / "forged.jsonl").read_text("utf-8").splitlines()[-1])["hash"]
    forged = copy.deepcopy(log)
    forge(forged)
    assert verified(forged, tmp_path, at=2e9).wrong == ()
    (wrong,) = verify_file(tmp_path / "forged.jsonl", seal).wrong
    assert "the record is another one" in wrong


@pytest.mark.parametrize(
    ("part", "said"),
    [
        ("[" * 10**5 + "]" * 10**5, "deep"),
        ("[" * 60 + "]" * 60, "deep"),
        ('{"a":' * 10**5 + "1" + "}" * 10**5, "deep"),
        ("1" * 10**5, "too large"),
        ('"' + "x" * 10**4 + '"', "dict"),
    ],
)
def test_what_is_nested_too_deeply_or_too_large_is_said_in_words(
    log: Log, part: str, said: str, tmp_path: Path
) -> None:
    """In a file it is refused; what is in a store does not verify."""
    verified(log, tmp_path)
    file = tmp_path / "forged.jsonl"
    lines = file.read_text("utf-8").splitlines()
    body = json.dumps(log[-1][1]["answer"], sort_keys=True, separators=(",", ":"))
    lines[-1] = lines[-1].replace(f'"answer":{body}', f'"answer":{part}')
    assert part in lines[-1]
    file.write_text("\n".join(lines) + "\n", "utf-8")
    if said == "dict":
        assert not verify_file(file)
    else:
        with pytest.raises(eh.InputError, match=f"line {len(lines)} is no event: .*{said}"):
            verify_file(file)
    event = Event(1, 0.0, "decided", f'{{"answer":{part}}}', b"")
    with pytest.raises(eh.InputError, match=r"event 1 .* cannot be read"):
        _ = event.content


def test_every_decision_is_replayed(tmp_path: Path) -> None:
    """Not the last one alone."""
    log = campaigned(tmp_path, panel(), more, None, at_most=300, noise_scale=0.5)
    first, *_, last = places(log, "decided")
    assert first < last
    assert verified(log, tmp_path).wrong == ()
    log[first][1]["answer"]["loses_at_most"] = 0.01
    assert any(
        f"event {first + 1}: answer loses_at_most" in text for text in verified(log, tmp_path).wrong
    )


def test_a_log_without_a_decision_is_whole_all_the_same(log: Log, tmp_path: Path) -> None:
    begun = log[: places(log, "told")[5] + 1]
    found = verified(begun, tmp_path)
    assert not found.decided
    assert found.wrong == ()
    assert "nothing was decided" in str(found)
    assert "does not create" in str(verified(log[1:], tmp_path))


def test_a_record_of_another_version_says_so(log: Log, tmp_path: Path) -> None:
    other = copy.deepcopy(log)
    other[0][1]["evenhand"] = "0.0.1"
    found = verified(other, tmp_path)
    assert found.made_by == "0.0.1"
    assert "but made by 0.0.1" in str(found)


def test_a_log_that_cannot_be_read_says_so(log: Log, tmp_path: Path) -> None:
    broken = copy.deepcopy(log)
    del broken[0][1]["policy"]["arguments"]
    assert "cannot be followed" in str(verified(broken, tmp_path))


def test_a_record_verifies_after_every_sentence_of_the_package_was_changed(tmp_path: Path) -> None:
    """And no sentence gets into one: the log holds numbers, codes, and what people said."""
    with reworded.lived(tmp_path / "a.db") as campaign:
        assert campaign.verify().wrong == ()
        (file,) = campaign.export(tmp_path / "a.jsonl")
    lines = (json.loads(line) for line in file.read_text("utf-8").splitlines())
    log = [(line["kind"], line["body"]) for line in lines]
    assert {kind for kind, _ in log} >= {"alarmed", "decided", "extended", "failed", "left"}
    in_answer("ranking.0.value", lambda value: value * (1.0 + 1e-5))(log)
    assert verified(log, tmp_path).wrong

    places = [tmp_path / name for name in ("a.db", "forged.jsonl", "b.db")]
    ran = subprocess.run(
        [sys.executable, reworded.__file__, *places], capture_output=True, check=True
    )
    said = json.loads(ran.stdout)
    assert reworded.MARK in said["words"]
    assert said["wrong"] == []
    assert "answer ranking 1 value" in said["forged"]
    assert '"decided"' in said["log"]
    assert reworded.MARK not in said["log"]
