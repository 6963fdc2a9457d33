"""Judges on a store: killed in the midst and gone on with, and never with other texts."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import children
import evenhand as eh
from evenhand.judges import Judge, JudgePanel, Reply, comparisons, panel

TASKS = tuple(f"t{n}" for n in range(30))


def texts(**edited: str) -> dict[str, dict[str, str]]:
    return {o: {t: edited.get(f"{o}_{t}", f"{o} on {t}") for t in TASKS} for o in "abc"}


def said_of(text: str, task: str) -> Reply:
    """What a model says is drawn, but the same in every process: a test knows what was said."""
    rng = np.random.default_rng(list(f"{text}{task}".encode()))
    score = 5.0 - "abc".index(text[0]) + rng.normal()
    return Reply(f"I read it twice and weighed it. Score: [[{score:.2f}]]", cost=0.001 * len(text))


def scored(call: Any = said_of, **settings: Any) -> JudgePanel:
    made = {"model": "m-1", "instructions": "Score it."} | settings
    return panel(texts(), [Judge(call, name="model", price=0.01, settings=made)])


def compared(call: Any) -> JudgePanel:
    return comparisons(texts(), [Judge(call, name="model", price=0.01)])


def verdict_of(first: str, second: str, task: str) -> Reply:
    lead = float(said_of(first, task).score[-6:-2]) - float(said_of(second, task).score[-6:-2])
    return Reply(f"It depends on many things, but on the whole: [[{'A' if lead > 0 else 'B'}]]",
                 cost=0.002)  # fmt: skip


KINDS: dict[str, tuple[Any, Any]] = {
    "scored": (scored, said_of),
    "compared": (compared, verdict_of),
}
"""How judges are asked, and what they say."""


def _doomed(store: str, kind: str, calls: int) -> None:
    """Ask so many questions, and die before the next is answered."""
    done, (made, says) = 0, KINDS[kind]

    def call(*shown: str) -> Reply:
        nonlocal done
        done += 1
        if done > calls:
            os.kill(os.getpid(), signal.SIGKILL)
        return says(*shown)

    made(call).choose(store=store, at_most=90, progress=False)


@pytest.mark.parametrize("kind", ["scored", "compared"])
def test_the_record_is_whole_after_a_kill(tmp_path: Path, kind: str) -> None:
    store = str(tmp_path / "judged.db")
    assert children.ended(children.start(_doomed, store, kind, 37)) == -signal.SIGKILL
    (make, says), heard = KINDS[kind], list[tuple[str, ...]]()

    def call(*shown: str) -> Reply:
        heard.append(shown)
        return says(*shown)

    made = make(call)
    answer = made.choose(store=store, at_most=90, progress=False)
    frame = made.record()
    extra = 4 if kind == "compared" else 0  # two questions were asked twice, and two of it kept
    assert len(frame) == answer.spent
    assert len(frame) - extra <= len(heard) + 37 <= len(frame) + extra
    assert len(heard) < len(frame)  # and what was asked before is not asked again
    for row in frame.to_dict("records"):
        sides = [row["option"], row["rival"]] if kind == "compared" else [row["option"]]
        shown = [f"{side} on {row['item']}" for side in sides]
        assert row["reply"] == says(*shown, row["item"]).score
        mark = re.search(r"\[\[(.*)\]\]", row["reply"])
        assert mark is not None
        assert row["score"] == (
            float(mark[1]) if kind == "scored" else {"A": 1.0, "B": -1.0}[mark[1]]
        )
    assert answer.paid == pytest.approx(frame["cost"].sum())
    # the same as if nobody had been killed
    alone = make(says).choose(at_most=90, progress=False)
    if kind == "scored":
        assert (alone.label, alone.sure, alone.spent) == (answer.label, answer.sure, answer.spent)
        pd.testing.assert_frame_equal(alone.standings, answer.standings)
    # a finished choice asks nothing, and its record is still whole
    later = make(says)
    later.choose(store=store, at_most=90, progress=False)
    assert later.record().equals(frame)


def test_edited_texts_and_settings_are_refused_by_name(tmp_path: Path) -> None:
    store = tmp_path / "judged.db"
    scored().choose(store=store, at_most=60, progress=False)
    edited = panel(
        texts(b_t7="b on t7, polished"),
        [Judge(said_of, name="model", price=0.01,
               settings={"model": "m-1", "instructions": "Score it."})],
    )  # fmt: skip
    with pytest.raises(eh.InputError, match=r"other texts: the text of 'b' on 't7' was another"):
        edited.choose(store=store, at_most=60)
    assert edited.record().empty or len(edited.record()) == 60
    with pytest.raises(eh.InputError, match=r"the judge 'model' \(instructions\) was another then"):
        scored(instructions="Score it strictly.").choose(store=store, at_most=60)
    with pytest.raises(eh.InputError, match=r"\(temperature\) was not there then"):
        scored(temperature=1.0).choose(store=store, at_most=60)
    same = scored().choose(store=store, at_most=60, progress=False)
    assert same.spent == 60


def test_costs_of_a_campaign_are_what_was_told(tmp_path: Path) -> None:
    questions = eh.Questions.panel(["Ann", "Bo"], ["P", "Q"], prices={"P": 1.0, "Q": 2.0})
    campaign = eh.Campaign.create(tmp_path / "store.db", "it", questions)
    costs = iter([0.25, 0.5, None, 4.0])
    expected = 0.0
    for judge in questions.evaluators:
        for ticket in campaign.ask(judge, n=2):  # type: ignore[union-attr] # a list
            cost = next(costs)
            expected += ticket.question.price if cost is None else cost
            campaign.tell(ticket, Reply(5.0 + ticket.question.option, cost, said="well done"))
    assert campaign.status().paid == campaign.answer().paid == expected
    (written,) = campaign.export(tmp_path / "told.csv")
    assert written.read_text().splitlines()[1].endswith("well done,0.25")
    assert campaign.verify().wrong == ()
    campaign.close()
    with eh.Campaign.open(tmp_path / "store.db", "it") as reopened:
        assert reopened.status().paid == expected
