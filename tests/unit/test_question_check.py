"""The check of questions, against ranks of dense matrices, union-find and brute force."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.policies import OptionFrame
from evenhand.questions import Ask, with_exact_features
from pages import read
from panels import panels


def askable(questions: eh.Questions) -> np.ndarray:
    """The rows that may be asked, dense."""
    who = questions.evaluator
    busy = np.array([w >= 0 and questions.workload[w] == 0 for w in who])
    return questions.points[(questions.capacity > 0) & ~busy]


def rank(A: np.ndarray) -> int:
    return 0 if 0 in A.shape else int(np.linalg.matrix_rank(A))


def told(A: np.ndarray, vector: np.ndarray) -> bool:
    """Whether a vector lies in the span of the rows, by rank."""
    return rank(np.vstack([A, vector])) == rank(A)


def lead(questions: eh.Questions, one: int, other: int) -> np.ndarray:
    X = questions.options.features
    return np.concatenate([X[one] - X[other], np.zeros(questions.n_attributes)])


def refuse_what_is_not_true(questions: eh.Questions) -> None:
    """Hold a check to ranks: classes, biases, what is spare."""
    found = questions.check()
    A = askable(questions)
    labels = list(questions.options.labels)
    place = {name: i for i, names in enumerate(found.classes) for name in names}
    assert sorted(place) == sorted(labels)
    for one, other in itertools.combinations(range(len(labels)), 2):
        together = place[labels[one]] == place[labels[other]]
        assert told(A, lead(questions, one, other)) == together
    unit, d = np.eye(questions.points.shape[1]), questions.n_features
    missing = [one.name for one in found.not_identified]
    for j, column in enumerate(questions.columns):
        if column.kind == "leniency":
            assert column.name not in (*found.identified, *missing)
        else:
            assert column.name in (found.identified if told(A, unit[d + j]) else missing)
    who = questions.evaluator[questions.may_ask].tolist()
    most = sum(min(who.count(e), n) for e, n in enumerate(questions.workload.tolist()))
    most += who.count(-1)
    assert (found.rank, found.spare) == (rank(A), max(0, most - rank(A)))


@st.composite
def anything(draw: st.DrawFn) -> eh.Questions:
    """Questions of small whole numbers: rows that depend on each other are the rule."""
    k, d, p = draw(st.integers(2, 4)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    q = draw(st.integers(1, 7))
    numbers = st.integers(-1, 2)

    def matrix(rows: int, columns: int) -> np.ndarray:
        entries = draw(st.lists(numbers, min_size=rows * columns, max_size=rows * columns))
        return np.array(entries, dtype=float).reshape(rows, columns)

    return eh.Questions(
        matrix(k, d),
        matrix(q, d),
        matrix(q, p) * draw(st.sampled_from([1.0, 1e-4, 1e5])),
        capacity=draw(st.lists(st.integers(0, 1), min_size=q, max_size=q)),
        prices=draw(st.lists(st.sampled_from([1.0, 5.0]), min_size=q, max_size=q)),
        evaluator=draw(
            st.none() | st.lists(st.sampled_from(["P", "Q", None]), min_size=q, max_size=q)
        ),
    )


@st.composite
def verdicts(draw: st.DrawFn) -> eh.Questions:
    """Comparisons of which some may not be asked."""
    families = st.sampled_from(["x", "y", None])
    made = eh.Questions.comparisons(
        {f"o{i}": draw(families) for i in range(draw(st.integers(2, 4)))},
        {f"j{i}": draw(families) for i in range(draw(st.integers(1, 2)))},
        position=draw(st.booleans()),
        bias=draw(st.sampled_from(["judge", "common"])),
    )
    kept = draw(st.lists(st.booleans(), min_size=len(made), max_size=len(made)))
    return made.restrict(np.flatnonzero([*kept[1:], True]))


def on_features(questions: eh.Questions) -> eh.Questions:
    return with_exact_features(questions, [[i, 1.5 * i * i] for i in range(len(questions.options))])


DRAWN = {
    "panels": panels(),
    "features": panels().map(on_features),
    "anything": anything(),
    "verdicts": verdicts(),
}


@settings(max_examples=80)
@given(data=st.data())
@pytest.mark.parametrize("kind", DRAWN)
def test_a_check_says_what_ranks_say_and_its_advice_cures(kind: str, data: st.DataObject) -> None:
    questions = data.draw(DRAWN[kind])
    refuse_what_is_not_true(questions)
    found = questions.check()
    better = questions.adding(found.advice)
    again = better.check()
    assert again.comparable
    assert again.identifiable or kind == "verdicts"
    assert bool(found.advice) == (not found.identifiable)
    A, unit = askable(better), np.eye(better.points.shape[1])
    scale = np.abs(better.points).max(axis=0)
    A = A / np.where(scale > 0, scale, 1.0)
    for one, other in itertools.combinations(range(len(better.options)), 2):
        assert told(A, lead(better, one, other) / np.where(scale > 0, scale, 1.0))
    for one in found.not_identified:
        assert told(A, unit[better.n_features + better.attribute_names.index(one.name)])
    for advice in found.advice if kind == "panels" else ():
        for ask in advice.add:
            assert all(repr(name) in advice.text or "more" in advice.text for name in ask.about)
            assert ask.evaluator is None or ask.evaluator in advice.text


@settings(max_examples=60)
@given(st.lists(st.booleans(), min_size=12, max_size=12))
def test_without_favours_options_are_compared_by_chains_of_evaluators(asked: list[bool]) -> None:
    """Leniency alone: an option and an evaluator are linked by a question, as union-find has it."""
    questions = eh.Questions.panel(
        ["a", "b", "c", "d"], ["P", "Q", "R"], capacity=np.array(asked).reshape(4, 3).astype(int)
    )
    parent = list(range(7))

    def root(x: int) -> int:
        while parent[x] != x:
            x = parent[x]
        return x

    for cell in np.flatnonzero(asked).tolist():
        parent[root(cell // 3)] = root(4 + cell % 3)
    chains: dict[int, list[str]] = {}
    for option, name in enumerate("abcd"):
        chains.setdefault(root(option), []).append(name)
    assert questions.check().classes == tuple(tuple(names) for names in chains.values())


OPTIONS = {"Ann": "fr", "Bo": "it", "Cy": "fr", "Di": "it"}


def test_one_evaluator_is_told_to_bring_a_neutral_one() -> None:
    found = eh.Questions.panel(OPTIONS, {"P": "fr"}).check()
    assert found.classes == (("Ann", "Cy"), ("Bo", "Di"))
    (favour,) = found.not_identified
    assert favour.why == (
        "it looks the same as a difference in value between 'Ann', 'Cy' and 'Bo', 'Di'"
    )
    (advice,) = found.advice
    assert advice.add == (Ask(("Ann",), "a neutral evaluator"), Ask(("Bo",), "a neutral evaluator"))
    assert favour.advice is None  # what compares the options tells the favour, too


def test_blocks_that_share_nobody_are_named_with_a_pair_that_links_them() -> None:
    """The bias is told within each block; what is better across them is not."""
    blocks = np.kron(np.eye(2, dtype=int), np.ones((2, 2), dtype=int))
    judges = {"P": "fr", "Q": "it", "R": "fr", "S": "it"}
    questions = eh.Questions.panel(OPTIONS, judges, capacity=blocks)
    found = questions.check()
    assert found.classes == (("Ann", "Bo"), ("Cy", "Di"))
    assert found.identified == ("own group",)
    assert "They fall into 2 parts: 'Ann', 'Bo'; 'Cy', 'Di'." in " ".join(str(found).split())
    (advice,) = found.advice
    (ask,) = advice.add
    assert advice.text == f"Let {ask.evaluator} be asked about {ask.about[0]!r}."
    assert ask.evaluator in judges
    assert questions.adding(ask).check().identifiable


def test_an_evaluator_who_sees_the_own_group_only_tells_no_favour() -> None:
    seen = np.array([[1, 1], [0, 1], [1, 1], [0, 1]])
    questions = eh.Questions.panel(OPTIONS, {"P": "fr", "N": "us"}, capacity=seen, bias="evaluator")
    found = questions.check()
    assert found.comparable
    (favour,) = found.not_identified
    assert (favour.name, favour.why) == (
        "own group of P",
        "it looks the same as a difference in leniency between 'P' and 'N'",
    )
    assert favour.advice is not None
    assert favour.advice.add == (Ask(("Bo",), "P"),)
    assert "What helps: let P be asked about 'Bo'." in found.sentences
    assert "Let P be asked about 'Bo'." in str(found)


def test_an_evaluator_with_nobody_else_to_judge_is_told_to_judge_something_else() -> None:
    everybody = {"Ann": "fr", "Bo": "fr"}
    questions = eh.Questions.panel(everybody, {"P": "fr", "N": "us"})
    found = questions.check()
    assert found.comparable
    assert [one.name for one in found.not_identified] == ["own group"]
    better = questions.adding(found.advice)
    assert better.options.labels == ("Ann", "Bo", "an option nobody favours")
    assert better.check().identifiable


def test_where_nothing_may_be_asked_that_is_said() -> None:
    found = eh.Questions.panel(OPTIONS, {"P": "fr", "Q": "it"}, capacity=0).check()
    assert len(found.classes) == 4
    assert found.not_identified[0].why == "no question that may be asked shows it"
    assert (found.rank, found.spare) == (0, 0)
    busy = eh.Questions.panel(OPTIONS, {"P": "fr", "Q": "it"}, workload=0)
    assert busy.check().classes == found.classes
    assert busy.adding(busy.check().advice).check().identifiable


def test_a_policy_that_cannot_compare_says_what_the_check_says() -> None:
    questions = eh.Questions.panel(OPTIONS, {"P": "fr"})
    with pytest.raises(eh.NotIdentifiableError) as refused:
        OptionFrame.of(questions)
    for sentence in questions.check().sentences:
        assert sentence in str(refused.value)
    assert "Add" in questions.check().advice[0].text
    OptionFrame.of(questions.adding(questions.check().advice))  # and what it says can be followed


def test_a_check_is_said_in_json_and_in_a_notebook() -> None:
    questions = eh.Questions.panel({"<b>": "fr", "Bo": "it"}, {"P": "fr"})
    found = questions.check()
    written: Any = found.to_dict()
    assert written["classes"] == [["<b>"], ["Bo"]]
    assert written["advice"][0]["add"][0]["about"] == ["<b>"]
    assert "'<b>'" in read(found._repr_html_()).text
    assert repr(found) == "Check(2 classes of 2 options, 0 biases told, 1 not)"


def test_a_large_panel_is_checked_without_a_table_of_its_questions() -> None:
    rng = np.random.default_rng(1)
    seen = rng.random((400, 30)) < 0.1
    questions = eh.Questions.panel(
        {f"o{i}": str(i % 20) for i in range(400)},
        {f"e{j}": str(j % 25) for j in range(30)},
        capacity=seen.astype(int),
    )
    found = questions.check()
    A = questions.points[questions.capacity > 0]
    assert found.rank == rank(A)
    assert "points" not in vars(eh.Questions.panel(["a", "b"], ["P"]).check().questions)
    unseen = sum(len(names) == 1 for names in found.classes)
    assert unseen >= int((~seen.any(axis=1)).sum())
    assert questions.adding(found.advice).check().identifiable


def test_what_cannot_be_added_is_refused() -> None:
    general = eh.Questions([[1.0], [2.0]], [[1.0], [2.0]], [[1.0], [0.0]], labels=["a", "b"])
    with pytest.raises(eh.InputError, match="'c' is no option"):
        general.adding(Ask(("c",), None))
