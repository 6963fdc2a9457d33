"""Values, states and records of strangers: words or a value that can be used, and never a signal.

All is tried in a process of its own: what ends that by a signal fails a test, and not the tests.
"""

from __future__ import annotations

import faulthandler
import json
import resource
import sqlite3
import traceback
import warnings
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import children
import evenhand as eh
from evenhand.campaigns.events import START, Event, as_line, events_in, seal
from evenhand.campaigns.verification import verify_file
from evenhand.questions import with_exact_features
from mutations import mutated, places

NAMES = {"Ann": "fr", "Bo": "it", "Cy": "fr"}
JUDGES = {"P": "fr", "Q": "it"}


def ended_well(work: Callable[..., None], *args: Any) -> None:
    """Run work in a process of its own; fail with what it says, or with its signal."""
    here, there = children.Pipe()
    process = children.start(_told, work, args, there)
    try:
        said = here.recv()
    except EOFError:
        said = "nothing"
    code = children.ended(process)
    assert (code, said) == (0, "well"), f"it ended with {code}: {said[-3000:]}"


def _told(work: Callable[..., None], args: tuple[Any, ...], pipe: Any) -> None:
    faulthandler.enable()
    warnings.simplefilter("ignore")
    try:
        work(*args)
    except BaseException:
        pipe.send(traceback.format_exc())
    else:
        pipe.send("well")


def wholes() -> list[eh.Questions | eh.ActionSet]:
    frame = pd.DataFrame(
        {
            "name": list("ABCDEF"),
            "side": list("xyxyxy"),
            "size": [1.0, 2.0, 3.0, 9.0, 1.0, 1.0],
            "colour": list("uuvvuv"),
        }
    )
    return [
        eh.Questions.panel(NAMES, JUDGES),
        with_exact_features(
            eh.Questions.panel(NAMES, JUDGES, capacity=None, noise=2.0), [[1.0], [2.0], [3.0]]
        ),
        eh.Questions.comparisons(NAMES, JUDGES),
        eh.Questions(
            [[1.0, 0.0], [0.0, 1.0]],
            [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]],
            [[0.0], [1.0], [0.0]],
            noise=[1.0, 2.0, 3.0],
        ),
        eh.ActionSet([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]], ["home", "away", "away"]),
        eh.ActionSet([[1.0], [2.0]], attributes=[[0.1, 3.0], [0.4, 5.0]]),
        eh.ActionSet.from_table(frame, label="name", group="side", intercept=True),
    ]


def read_and_use(seed: int, n: int) -> None:
    """Read mutated values; use those that are read."""
    given = [(type(whole), whole.to_dict()) for whole in wholes()]
    where = [places(content) for _, content in given]
    made = 0
    for i in range(n):
        rng, which = np.random.default_rng([seed, i]), i % len(given)
        cls, content = given[which]
        try:
            found = cls.from_dict(mutated(content, rng, where[which]))
        except eh.InputError:
            continue
        made += 1
        assert cls.from_dict(json.loads(json.dumps(found.to_dict()))) == found, (seed, i)
        _use(found)
    assert n // 20 < made < n // 2  # some changes are none that matter; most are


def _use(found: Any) -> None:
    with suppress(eh.EvenhandError):  # in words
        policy = eh.policy("certain-choice", found, horizon=30)
        for _ in range(3):
            asked = np.flatnonzero(policy.ask(1).counts)
            policy.tell(eh.Feedback.from_scores(found, asked, np.ones(len(asked))))


def test_mutated_questions_and_options_are_refused_or_can_be_used(tries: tuple[int, int]) -> None:
    ended_well(read_and_use, *tries)


def test_one_changed_sign_is_refused() -> None:
    content = eh.Questions.panel(["A", "B"], ["P", "Q"], capacity=None).to_dict()
    content["rows"]["columns"][-1] *= -1
    with pytest.raises(eh.InputError, match=r"no questions as to_dict.*rows\.columns contradict"):
        eh.Questions.from_dict(content)


OPTIONS = eh.ActionSet(
    [[1.0, 0.2], [0.3, 1.0], [-0.4, 0.5], [0.5, 0.5]], ["home", "away", "away", "home"]
)
SETTINGS: tuple[dict[str, Any], ...] = (
    {},
    {"noise_scale": 0.5, "budget": 0.05},  # of an envelope: its core plays
    {"horizon_known": False},
    {"batch": 3},
    {"cost": "evaluation", "worth": 50.0},
    {"comparisons": "pairs", "beta": "log", "factor": 0.5},
    {"exploration": 50.0, "delta": 0.1, "value_bound": 2.0, "seed": 5},
    {"threshold": "usual", "confidence": 0.9, "tolerance": 0.1},
    {"omega": 0.25},
)


def states() -> list[dict[str, Any]]:
    """Return states of all policies, at several moments of a run, on all that they play."""
    panel = eh.Questions.panel(NAMES, JUDGES, capacity=None)
    limited = eh.Questions.panel(NAMES, JUDGES, capacity=9, prices=[1.0, 2.0])
    found: dict[str, dict[str, Any]] = {}
    for name in eh.registered_policies():
        for asked in (OPTIONS, panel, limited):
            for settings in SETTINGS:
                try:
                    policy = eh.policy(name, asked, 400, **settings)
                except (TypeError, eh.EvenhandError):  # it knows none of that, or cannot play it
                    continue
                for _ in range(4 if getattr(policy, "memory", 0) is not None else 0):
                    text = json.dumps(policy.state())
                    found[text] = json.loads(text)
                    for _ in range(4):
                        if (counts := policy.ask().counts).any():
                            policy.tell(some_scores(counts, policy.spent))
    return list(found.values())


def some_scores(counts: Any, seed: int) -> eh.Feedback:
    """Return scores by the number of the question and a little noise, however many they are."""
    noise = np.random.default_rng(seed % 2**32).standard_normal(len(counts))
    means = np.sin(np.arange(len(counts))) + 0.3 * noise
    squares = counts * (means**2 + np.where(counts > 1, 0.1, 0.0))
    return eh.Feedback(counts, counts * means, squares)


def restore_and_use(seed: int, n: int) -> None:
    """Restore mutated states, and go on with those that are restored."""
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    given, used, words = states(), 0, list[str]()
    resource.setrlimit(resource.RLIMIT_AS, (size + 3 * 2**30,) * 2)
    resource.setrlimit(resource.RLIMIT_CPU, (60 + n,) * 2)  # a second each, and more to begin
    for i in range(n):
        rng = np.random.default_rng([seed, i])
        state = given[int(rng.integers(len(given)))]
        try:
            policy = eh.restore(mutated(state, rng, places(state)))
            for _ in range(3):
                counts = policy.ask().counts
                assert counts.shape == (len(policy.actions),), (seed, i)
                assert 0 <= counts.min() <= counts.sum() <= policy.remaining, (seed, i)
                some = np.minimum(counts, 5)
                policy.ask(2, some)
                if some.any():
                    policy.tell(some_scores(some, policy.spent))
                assert 0 <= policy.recommend().option < len(policy.options), (seed, i)
                bias = policy.bias()
                assert not bias.low > bias.high, (seed, i)
            json.dumps(policy.state())
        except eh.EvenhandError as error:
            words.append(str(error).strip())
            continue
        used += 1
    assert all(words)
    assert n // 20 < used < n // 2


def test_mutated_states_are_refused_or_go_on(tries: tuple[int, int]) -> None:
    seed, n = tries
    ended_well(restore_and_use, seed, n)


def a_record(path: Path) -> None:
    """Make a campaign of which most things that can happen have happened."""
    panel = eh.Questions.panel(NAMES, JUDGES, capacity=None)
    with eh.Campaign.create(path, "prize", panel, at_most=90, noise_scale=1.0) as campaign:
        rng = np.random.default_rng(0)
        for i in range(20):
            ticket = campaign.ask("PQ"[i % 2])
            told = campaign.tell(ticket, float(ticket.question.option + rng.standard_normal()))
        campaign.withdraw(told, "a slip")
        campaign.fail(campaign.ask("P"), "no pen")
        campaign.extend(at_most=100)
        campaign.run(lambda question: float(question.option + rng.standard_normal()))
        campaign.export(path.with_suffix(".jsonl"))


def other_records(folder: Path) -> None:
    """Make campaigns of other policies."""
    options = eh.ActionSet([[1.0], [2.0], [4.0]], ["home", "away", "away"])
    for name, asked, policy in (
        ("planned", eh.Questions.panel(NAMES, JUDGES, capacity=2), None),
        ("careful", options, None),
        ("uniform", options, "uniform"),
    ):
        rng = np.random.default_rng(0)
        with eh.Campaign.create(
            folder / "others.db", name, asked, at_most=30, policy=policy
        ) as campaign:
            campaign.run(lambda question, rng=rng: float(question.option + rng.standard_normal()))
            campaign.export(folder / f"{name}.jsonl")


def verify_mutated(path: Path, seed: int, n: int) -> None:
    """Verify files of which one event says something else, by its own seal or by a new chain."""
    a_record(path)
    other_records(path.parent)
    records = [list(events_in(file)) for file in sorted(path.parent.glob("*.jsonl"))]
    assert len(records) == 4
    file = path.parent / "mutated.jsonl"
    for events in records:
        file.write_text("".join(f"{as_line(event)}\n" for event in events), "utf-8")
        assert verify_file(file), str(verify_file(file))
    for i in range(n):
        rng, events = np.random.default_rng([seed, i]), records[i % len(records)]
        at = int(rng.choice([0, len(events) - 1, *range(len(events))]))
        content = json.loads(events[at].body)
        changed = json.dumps(
            mutated(content, rng, places(content)) if content else [],
            sort_keys=True,
            separators=(",", ":"),
            ensure_ascii=bool(rng.random() < 0.1),
        )
        if changed == events[at].body:
            continue
        new = [as_line(event) for event in events]
        new[at] = new[at].replace(events[at].body, changed)
        anew = rng.random() < 0.5
        if anew:
            new = _sealed_anew(events, at, changed)
        file.write_text("\n".join(new) + "\n", "utf-8", "replace")
        with suppress(eh.InputError):  # in words
            found = verify_file(file)
            assert not found or anew, (seed, i)


def _sealed_anew(events: list[Event], at: int, body: str) -> list[str]:
    before, lines = START, []
    for place, event in enumerate(events):
        one = Event(event.number, event.at, event.kind, body if place == at else event.body, b"")
        before = seal(before, one) if body.isascii() else event.hash
        lines.append(as_line(Event(one.number, one.at, one.kind, one.body, before)))
    return lines


def test_mutated_records_are_refused_or_do_not_verify(
    tmp_path: Path, tries: tuple[int, int]
) -> None:
    seed, n = tries
    ended_well(verify_mutated, tmp_path / "store.db", seed, n // 5)


def use_mutated_stores(path: Path, seed: int, n: int) -> None:
    """Use stores of which the first event, or another, says something else."""
    a_record(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.commit()
        bodies = dict(connection.execute("SELECT number, body FROM event"))
    for i in range(n):
        rng = np.random.default_rng([seed, i])
        at = int(rng.choice([1, *bodies]))
        content = json.loads(bodies[at])
        changed = json.dumps(mutated(content, rng, places(content)))
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("UPDATE event SET body = ? WHERE number = ?", (changed, at))
            connection.commit()
        with eh.Campaign.open(path, "prize") as campaign:
            for call in (campaign.status, campaign.answer, campaign.verify):
                with suppress(eh.EvenhandError):  # in words
                    call()
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("UPDATE event SET body = ? WHERE number = ?", (bodies[at], at))
            connection.commit()


def test_mutated_stores_are_refused_or_can_be_used(tmp_path: Path, tries: tuple[int, int]) -> None:
    seed, n = tries
    ended_well(use_mutated_stores, tmp_path / "store.db", seed, n // 20)
