"""Logs of tools are read as they were written: the rule that graded says what must be there."""

from __future__ import annotations

import copy
import csv
import json
import math
import re
import shutil
import zipfile
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import evenhand as eh
from evenhand.errors import InputError
from evenhand.readers import family
from evenhand.readers.documents import archive_of
from table_files import KINDS

LOGS = Path(__file__).parents[1] / "fixtures" / "logs"

QUESTIONS = {
    "capital": "What is the capital of France?",
    "naive": "What does ‘naïve’ mean?",
    "sum": "How much is 17 + 25?",
    "ice": "Why does ice float?",
    "tea": "Who drinks 茶?",
}
GPT, CLAUDE, LLAMA = "gpt-4o-mini", "claude-3-5-haiku-20241022", "llama-3.1-8b-instruct"
JUDGES = ("gpt-4o-2024-08-06", "claude-3-5-sonnet-20241022", "gemini-1.5-pro")
WORTH = {GPT: 0.7, CLAUDE: 0.75, LLAMA: 0.3}
LENIENT = dict(zip(JUDGES, (0.05, -0.1, 0.0), strict=True))
FAMILIES = {"gpt": "gpt", "cla": "claude", "lla": "llama", "gem": "gemini"}

KEY = ("option", "rival", "evaluator", "item")


def read(*given: Any, **how: Any) -> pd.DataFrame:
    """The scores as a frame, with what is said of them."""
    scores = eh.read_scores(*given, **how)
    frame = scores.to_frame()
    frame.attrs["notes"] = [
        note.message for note in scores.notes if note.assumption in ("log", "column")
    ]
    return frame


Scores = dict[tuple[str, str, str], float]
"""Scores by option, evaluator and item."""


def merit(model: str, judge: str, item: str) -> float:
    """What the stand-ins of judges went by when the logs were written: worth, leniency, 0.15 for
    the own family, and something that looks like chance."""
    own = 0.15 * (model[:3] == judge[:3])
    chance = (zlib.crc32(f"{model}|{judge}|{item}".encode()) % 1000 / 1000 - 0.5) * 0.5
    return min(1.0, max(0.0, WORTH[model] + LENIENT[judge] + own + chance))


def failed(model: str, item: str) -> bool:
    return model == LLAMA and item == "ice"


def silent(model: str, judge: str, item: str) -> bool:
    return model == LLAMA and judge == "gemini-1.5-pro" and item == "tea"


def cells(skipping_failures: bool) -> list[tuple[str, str, str]]:
    """What was scored: models, judges, items."""
    return [
        (model, judge, item)
        for model in WORTH
        for judge in JUDGES
        for item in QUESTIONS
        if not silent(model, judge, item) and not (skipping_failures and failed(model, item))
    ]


def letter(model: str, judge: str, item: str) -> float:
    worth = merit(model, judge, item)
    return 1.0 if worth > 0.7 else 0.5 if worth > 0.4 else 0.0


def wrote(path: Path, content: Any) -> Path:
    """Write JSON; lines of it where the file is called so."""
    lines = map(json.dumps, content) if path.suffix == ".jsonl" else [json.dumps(content)]
    path.write_text("\n".join(lines))
    return path


def found(frame: pd.DataFrame) -> Scores:
    keys = zip(frame["option"], frame["evaluator"], frame["item"], strict=True)
    scores = dict(zip(keys, frame["score"].tolist(), strict=True))
    assert len(scores) == len(frame)
    return scores


def test_inspect_logs_of_several_models_and_judges_are_one_frame() -> None:
    frame = read(LOGS / "inspect")
    assert found(frame) == {
        (f"mockllm/{model}", f"mockllm/{judge}", item): letter(model, judge, item)
        for model, judge, item in cells(skipping_failures=True)
    }
    (note,) = frame.attrs["notes"]
    assert "no score: 4," in note
    assert "llama-by-claude.eval, sample 'ice'" in note
    assert "the model’s server hung up – no answer" in note


def test_votes_of_a_panel_are_scores_of_each_judge() -> None:
    """Three scorers: by one judge, by another, and by a panel of all three; each in two epochs."""
    frame = read(LOGS / "inspect_panel", metric="model_graded_qa")
    expected = {}
    for model in WORTH:
        for judge in JUDGES:
            for item in ("capital", "naive"):
                for again in ("", ", again 2"):
                    for twice in ("",) if judge.startswith("gem") else ("", " (2)"):
                        key = (f"mockllm/{model}", f"mockllm/{judge}", f"{item}{again}{twice}")
                        expected[key] = letter(model, judge, item)
    assert found(frame) == expected


def test_a_scorer_that_calls_a_judge_itself_is_that_judge() -> None:
    frame = read(LOGS / "inspect_panel", metric="kindness")
    assert set(frame["evaluator"]) == {"mockllm/gemini-1.5-pro"}
    once = frame[~frame["item"].str.contains("again")]
    assert found(once) == {
        (f"mockllm/{model}", "mockllm/gemini-1.5-pro", item): round(
            merit(model, JUDGES[2], item), 2
        )
        for model in WORTH
        for item in ("capital", "naive")
    }


def test_promptfoo_assertions_are_scores_of_their_graders() -> None:
    frame = read(LOGS / "promptfoo" / "results.json", metric="llm-rubric")
    expected = {
        (model, judge, QUESTIONS[item]): merit(model, judge, item)
        for model, judge, item in cells(skipping_failures=True)
    }
    scores = found(frame)
    assert set(scores) == set(expected)
    assert all(abs(scores[key] - expected[key]) <= 0.005 + 1e-9 for key in scores)  # two decimals


def test_promptfoo_where_a_program_checked_the_evaluator_is_the_check() -> None:
    frame = read(LOGS / "promptfoo" / "results.json", metric="icontains")
    scores = found(frame)
    assert scores[GPT, "icontains", QUESTIONS["sum"]] == 1.0
    assert scores[LLAMA, "icontains", QUESTIONS["sum"]] == 0.0
    assert "evaluator_group" not in frame


def test_where_prompts_differ_and_models_do_not_prompts_are_the_options() -> None:
    path = LOGS / "promptfoo" / "prompts-results.json"
    frame = read(path)
    assert set(frame["option"]) == {"{{question}}", "Answer briefly: {{question}}"}
    assert set(frame["evaluator"]) == {JUDGES[1]}
    by_model = read(path, columns={"option": "model"})
    assert set(by_model["option"]) == {GPT}
    assert set(by_model["item"].str.extract(r"\[prompt: (.*)\]")[0]) == set(frame["option"])


def older(content: dict[str, Any]) -> dict[str, Any]:
    """Results as version 2 has them: without numbers of tests, with a table beside them."""
    rows = [
        {name: value for name, value in row.items() if name not in ("testIdx", "promptIdx", "id")}
        for row in content["results"]["results"]
    ]
    return content | {"results": {"version": 2, "results": rows, "stats": {}, "table": {}}}


def test_promptfoo_of_version_2_and_results_alone_read_the_same(tmp_path: Path) -> None:
    path = LOGS / "promptfoo" / "results.json"
    content = json.loads(path.read_text("utf-8"))
    newer = read(path, metric="llm-rubric")
    for shape in (older(content), older(content)["results"]):
        pd.testing.assert_frame_equal(
            read(wrote(tmp_path / "old.json", shape), metric="llm-rubric"), newer
        )


def test_alpaca_eval_preferences_are_leads_of_the_second() -> None:
    """The stand-ins prefer by merit, with 0.1 for what they were shown first, in random order."""
    frame = read(LOGS / "alpaca_eval")
    assert len(frame) == 3 * 3 * 5 - 2  # a judge was silent on two answers about tea
    items = {question: item for item, question in QUESTIONS.items()}
    for row in frame.itertuples():
        item = items[row.item]
        lead = merit(row.option, row.evaluator, item) - merit(row.rival, row.evaluator, item)
        shown = [min(max(lead + place, -0.99), 0.99) for place in (0.1, -0.1)]
        assert min(abs(row.score - score) for score in shown) <= 0.002
    assert set(zip(frame["option"], frame["rival"], strict=True)) == {
        (CLAUDE, GPT),
        (LLAMA, GPT),
        (LLAMA, CLAUDE),
    }
    first = frame.iloc[0]
    assert (first["length"], first["rival_length"]) == (
        len("The capital of France is Paris, on the Seine."),
        len("Paris."),
    )
    assert (first["option_group"], first["rival_group"]) == ("claude", "gpt")


@pytest.mark.parametrize(
    ("preference", "score"), [(1, -1.0), (2, 1.0), (1.5, 0.0), (0, 0.0), (1.25, -0.5), ("2", 1.0)]
)
def test_every_preference(tmp_path: Path, preference: Any, score: float) -> None:
    path = alpaca(tmp_path, preference)
    assert read(path)["score"].tolist() == [score]


def alpaca(folder: Path, *preferences: Any, **changed: Any) -> Path:
    row = {"instruction": "?", "generator_1": "a", "generator_2": "b", "annotator": "c"}
    rows = [row | {"preference": preference} for preference in preferences]
    return wrote(folder / "annotations.json", [rows[0] | changed, *rows[1:]])


def replied(upper: float, how: str) -> Any:
    """A judge's reply that 'M', which is shown second, is better with a probability."""
    if how == "order":
        order = [{"model": m, "rank": n} for n, m in enumerate("Mm" if upper else "mM", 1)]
        return json.dumps({"concise_explanation": "…", "ordered_models": order})
    chances = {"M": upper, "The": 0.5, "m": 1.0 - upper}
    tokens = [{"token": t, "logprob": math.log(0.01 * p)} for t, p in chances.items() if p]
    return {"logprobs": {"content": [{"token": "M", "top_logprobs": tokens}]}, "text": "M"}


def ordered(folder: Path, rows: list[tuple[Any, ...]]) -> Path:
    """Annotations of models against a baseline: model, item, preference, reply."""
    said = [{"generator_1": "gpt-4", "generator_2": m, "instruction": i, "preference": p,
             "output_1": "four", "output_2": "so", "annotator": "gpt-4o", "raw_completion": reply}
            for m, i, p, reply in rows]  # fmt: skip
    return wrote(folder / "annotations.json", said)


@pytest.mark.parametrize("how", ["logprobs", "order"])
def test_alpaca_evals_order_of_presentation_is_told_by_the_judges_reply(
    tmp_path: Path, how: str
) -> None:
    sure = 1.0 if how == "order" else 0.9
    rows = [("a", "one", 1.0 + sure, replied(sure, how)),  # the second output was M
            ("a", "two", 1.0 + sure, replied(1.0 - sure, how)),  # and was m, shown first
            ("b", "two", 1.5, None), ("b", "one", 2.0 - sure, None)]  # fmt: skip
    frame = read(ordered(tmp_path, rows))
    lead = 2.0 * sure - 1.0
    assert frame[["option", "rival", "score", "length"]].to_numpy().tolist() == [
        ["gpt-4", "a", pytest.approx(-lead), 4], ["a", "gpt-4", pytest.approx(lead), 2],
        ["b", "gpt-4", 0.0, 2], ["gpt-4", "b", pytest.approx(lead), 4],
    ]  # fmt: skip
    assert any("judge's own reply" in note for note in frame.attrs["notes"])
    told = eh.read_scores(ordered(tmp_path, [*rows, ("b", "three", 2.0, "[M]")]))
    assert set(told.to_frame()["rival"]) == {"gpt-4"}  # of some it is not known: as they stand
    assert any("not in the log for 1 of 5" in note.message for note in told.notes)


def test_alpaca_evals_favour_for_a_place_is_found(tmp_path: Path) -> None:
    """Replies with 0.1 for the answer that is shown first, of models of any worth."""
    rng, rows = np.random.default_rng(4), []
    for item, is_m in enumerate(rng.random(300) < 0.5):
        for model, worth in (("a", 0.5), ("b", 0.35), ("c", 0.25)):
            lead = np.clip(worth + 0.1 * (1 if is_m else -1) + 0.1 * rng.normal(), 0.01, 0.99)
            reply = replied(float(1.0 - lead if is_m else lead), "logprobs")
            rows.append((model, f"item {item}", float(1.0 + lead), reply))
    path = ordered(tmp_path, rows)
    found, table = eh.audit(path, columns={"attributes": ()}).attributes["position"], read(path)
    sign = np.where(table["rival"] == "gpt-4", 1.0, -1.0)
    models = pd.get_dummies(table["option"].where(sign > 0, table["rival"])).to_numpy(float)
    slopes = np.linalg.lstsq(np.column_stack([sign, models]), sign * table["score"], rcond=None)[0]
    assert found.value == pytest.approx(slopes[0])  # an item has one order: from item to item
    assert found.low < 0.2 < found.high  # a score is 2·preference − 3
    assert found.high - found.low < 0.05


def _mt_bench(**changed: Any) -> Any:
    row = {
        "question_id": 81,
        "model_1": "vicuna-7b",
        "model_2": "gpt-4",
        "g1_winner": "model_2",
        "g2_winner": "model_2",
        "judge": ["gpt-4", "pair-v2"],
        "turn": 1,
        "tstamp": 1.0,
    }
    asked = (
        "[The Start of Assistant A's Answer]\n{}\n[The End of Assistant A's Answer]\n\n"
        "[The Start of Assistant B's Answer]\n{}\n[The End of Assistant B's Answer]"
    )
    row |= {
        "g1_user_prompt": asked.format("No.", "Yes, it is."),
        "g2_user_prompt": asked.format("Yes, it is.", "No."),
    }
    last = {"question_id": 82, "turn": 2, "g1_winner": "tie", "g2_winner": "error"}
    return [row | changed, row | last]  # fmt: skip


def test_mt_benchs_pairs_are_two_games_in_both_orders(tmp_path: Path) -> None:
    """Each winner is named by its number, whichever stood first."""
    frame = read(wrote(tmp_path / "gpt-4_pair.jsonl", _mt_bench()))
    assert frame[["option", "rival", "score", "item"]].to_numpy().tolist() == [
        ["vicuna-7b", "gpt-4", -1.0, "81"], ["gpt-4", "vicuna-7b", 1.0, "81"],
        ["vicuna-7b", "gpt-4", 0.0, "82, turn 2"],
    ]  # fmt: skip
    assert frame[["length", "rival_length"]].to_numpy().tolist() == [[3, 11], [11, 3], [3, 11]]
    assert frame["cluster"].tolist() == ["81", "81", "82"]
    assert set(frame["evaluator"]) == {"gpt-4"}
    assert "judgment 2, game 2" in frame.attrs["notes"][0]


def test_mt_benchs_marks_are_scores(tmp_path: Path) -> None:
    row = {
        "question_id": 81,
        "model": "vicuna-7b",
        "judge": ["gpt-4", "single-v1"],
        "score": 7,
        "user_prompt": "[The Start of Assistant's Answer]\nNo.\n[The End of Assistant's Answer]",
    }
    rows = [row | {"turn": turn, "model": m} | ({} if m == "a" else {"score": -1})
            for turn in (1, 2) for m in "ab"]  # fmt: skip
    frame = read(wrote(tmp_path / "gpt-4_single.jsonl", rows))
    assert frame["item"].tolist() == ["81", "81, turn 2"]
    assert (frame["option"] == "a").all()
    assert frame["score"].tolist() == [7.0, 7.0]
    assert frame["length"].tolist() == [3, 3]
    assert "no score: 2" in frame.attrs["notes"][0]


def _arena_hard(*labels: Any, **changed: Any) -> Any:
    games = [None if label is None else {"score": label, "prompt": []} for label in labels]
    row = {"uid": "q1", "model": "vicuna-7b", "judge": "gpt-4.1", "baseline": "o3-mini"}
    return [row | {"games": games or [{"score": "A>B"}, {"score": "B>>A"}]} | changed]


@pytest.mark.parametrize(("label", "score"), [
    ("A>>B", 1.0), ("A>B", 0.5), ("A=B", 0.0), ("B>A", -0.5), ("B>>A", -1.0), ("B=A", 0.0),
    ("A<B", -0.5), ("A<<B", -1.0), ("B<<A", 1.0), ("a>b", 0.5),
])  # fmt: skip
def test_arena_hards_games_have_the_baseline_first_and_then_second(
    tmp_path: Path, label: str, score: float
) -> None:
    new = read(wrote(tmp_path / "vicuna-7b.jsonl", _arena_hard(label, label)))
    assert new[["option", "rival", "score"]].to_numpy().tolist() == [
        ["o3-mini", "vicuna-7b", score], ["vicuna-7b", "o3-mini", score]
    ]  # fmt: skip
    old = read(wrote(tmp_path / "old.jsonl", _arena_hard(label, None, baseline=None)))
    assert old[["option", "rival", "score"]].to_numpy().tolist() == [
        ["baseline", "vicuna-7b", score]
    ]
    assert any("do not name the baseline" in note for note in old.attrs["notes"])


@pytest.mark.parametrize("ending", ["json", "jsonl", "csv", "parquet"])
def test_battles_of_an_arena_are_a_table(tmp_path: Path, ending: str) -> None:
    """With conversations beside them, lists, which nobody reads."""
    path, winners = tmp_path / f"table.{ending}", ["model_a", "model_b", "tie", "tie (bothbad)"]
    rows = [{"question_id": f"q{n}", "model_a": "gpt-4", "model_b": "vicuna-7b", "winner": winner,
             "judge": f"user {n % 2}", "conversation_a": [{"role": "user", "content": "?"}]}
            for n, winner in enumerate(winners)]  # fmt: skip
    if ending.startswith("json"):
        wrote(path, rows)
    else:
        path.write_bytes(KINDS[path.name](pd.DataFrame(rows)))
    assert read(path)["score"].tolist() == [1.0, -1.0, 0.0, 0.0]


class Dataset:
    """As much of `datasets.Dataset` as is looked at."""

    def __init__(self, table: pa.Table, features: dict[str, Any]) -> None:
        self._table, self.features, self.num_rows = table, features, table.num_rows

    def with_format(self, kind: str) -> pa.Table:
        assert kind == "arrow"
        return self._table


def test_a_dataset_is_a_table_whose_classes_have_names() -> None:
    labels = type("ClassLabel", (), {"names": ["model_b", "model_a"]})()
    table = pa.table({"model_a": ["x", "y"], "model_b": ["y", "z"], "winner": [1, None]})
    data = Dataset(table, {"model_a": "str", "model_b": "str", "winner": labels})
    frame = read(data, missing="drop")
    assert frame[["option", "rival", "score"]].to_numpy().tolist() == [["x", "y", 1.0]]
    del data.num_rows
    with pytest.raises(InputError, match="one split"):
        read(data)


def test_a_preference_out_of_range_is_named(tmp_path: Path) -> None:
    with pytest.raises(eh.InputError, match=r"annotation 2: 'preference 7' is no score"):
        read(alpaca(tmp_path, 1, 7))


def test_long_instructions_that_begin_alike_are_told_apart(tmp_path: Path) -> None:
    path = alpaca(tmp_path, 1, 2)
    rows = json.loads(path.read_text())
    for row, end in zip(rows, "ab", strict=True):
        row["instruction"] = "Once more: " * 40 + end
    path.write_text(json.dumps(rows))
    assert read(path)["item"].nunique() == 2


def test_a_model_against_itself_says_nothing(tmp_path: Path) -> None:
    frame = read(alpaca(tmp_path, 1, 2, generator_2="a"))
    assert frame["score"].tolist() == [1.0]
    assert any("a model against itself" in note for note in frame.attrs["notes"])


def test_promptfoo_without_assertions_has_no_scores(tmp_path: Path) -> None:
    """It then writes 1 for every answer."""
    content = json.loads((LOGS / "promptfoo" / "prompts-results.json").read_text("utf-8"))
    for row in content["results"]["results"]:
        row["gradingResult"] = {"pass": True, "score": 1, "reason": "No assertions"}
        row["score"] = 1
    with pytest.raises(eh.InputError, match=r"no scores in it.*No assertions"):
        read(wrote(tmp_path / "r.json", content))


def test_deepeval_metrics_are_scores_of_their_models() -> None:
    frame = read(LOGS / "deepeval")
    assert found(frame) == {
        (model, judge, QUESTIONS[item]): round(10 * merit(model, judge, item)) / 10
        for model, judge, item in cells(skipping_failures=False)
    }
    assert "I’d rather not say" in frame.attrs["notes"][0]


def test_deepeval_in_its_wrapping_and_in_names_of_python_reads_the_same(tmp_path: Path) -> None:
    path = LOGS / "deepeval" / f"test_run_{GPT}.json"
    content = json.loads(path.read_text("utf-8"))
    expected = read(path)
    python = json.dumps({"test_results": content["testCases"]})
    for name in ("actual_output", "metrics_data", "evaluation_model"):
        python = python.replace(re.sub("_(.)", lambda m: m[1].upper(), name), name)
    (tmp_path / "wrapped.json").write_text(json.dumps({"testRunData": content}))
    (tmp_path / f"{GPT}.json").write_text(python)
    pd.testing.assert_frame_equal(read(tmp_path / "wrapped.json"), expected)
    pd.testing.assert_frame_equal(read(tmp_path / f"{GPT}.json"), expected)


@pytest.mark.parametrize(
    ("path", "metric"),
    [
        ("inspect", None),
        ("inspect_panel", "model_graded_qa"),
        ("promptfoo/results.json", "llm-rubric"),
        ("deepeval", None),
    ],
)
def test_audits_and_questions_take_what_was_read(path: str, metric: str | None) -> None:
    frame = read(LOGS / path, metric=metric)
    for group, name in (("option_group", "option"), ("evaluator_group", "evaluator")):
        names = frame[name].str.removeprefix("mockllm/").str[:3]
        assert (frame[group] == names.map(FAMILIES)).all()
    audit = eh.audit(frame)
    dummies = [
        pd.get_dummies(column).to_numpy(float)
        for column in (frame["option"] + "|" + frame["item"], frame["evaluator"])
    ]
    own = (frame["option_group"] == frame["evaluator_group"]).to_numpy(float)
    X = np.column_stack([own, *dummies])
    bias = np.linalg.lstsq(X, frame["score"].to_numpy(), rcond=None)[0][0]
    assert math.isclose(audit.naive.value, bias, abs_tol=1e-9)
    questions = eh.Questions.from_scores(
        frame,
        columns={"option_group": "option_group", "evaluator_group": "evaluator_group"},
    )
    assert tuple(questions.options.labels) == tuple(dict.fromkeys(frame["option"]))


def test_archives_read_the_same_whether_deflated_or_not(tmp_path: Path) -> None:
    """Older logs of Inspect are deflated; Python before 3.14 cannot read the newer ones itself."""
    path = LOGS / "inspect" / "gpt-by-claude.eval"
    archive = archive_of(path)
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED):
        with zipfile.ZipFile(tmp_path / "old.eval", "w", method) as old:
            for name in archive.members:
                old.writestr(name, json.dumps(archive.json(name)))
        pd.testing.assert_frame_equal(read(tmp_path / "old.eval"), read(path))


def test_a_member_in_several_frames_of_zstandard_is_one_text(tmp_path: Path) -> None:
    """Inspect cuts long members into frames. The zip file is stored, then relabelled."""
    pack = pa.Codec("zstd").compress
    text = b'{"a": ["one", "two"]}'
    packed = pack(text[:9], asbytes=True) + pack(text[9:], asbytes=True)
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("header.json", packed)
    archive = archive_of(path)
    member = archive.members["header.json"]
    member.compress_type, member.CRC = 93, zlib.crc32(text)
    assert archive.json("header.json") == {"a": ["one", "two"]}


def test_a_run_that_was_cut_short_is_read_and_said_to_be(tmp_path: Path) -> None:
    path = LOGS / "inspect" / "gpt-by-gemini.json"
    content = json.loads(path.read_text("utf-8"))
    content["status"] = "cancelled"
    content["samples"] = content["samples"][:2]
    frame = read(wrote(tmp_path / "log.json", content))
    assert len(frame) == 2
    assert "status 'cancelled'" in frame.attrs["notes"][0]


def test_files_cut_off_or_damaged_are_named(tmp_path: Path) -> None:
    whole = (LOGS / "inspect" / "gpt-by-claude.eval").read_bytes()
    (tmp_path / "cut.eval").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(eh.InputError, match=r"cut\.eval is a zip file without its end"):
        read(tmp_path / "cut.eval")
    with zipfile.ZipFile(LOGS / "inspect" / "gpt-by-claude.eval") as archive:
        offset = archive.getinfo("samples/sum_epoch_1.json").header_offset
    damaged = bytearray(whole)
    damaged[offset + 120] ^= 0xFF
    (tmp_path / "damaged.eval").write_bytes(damaged)
    with pytest.raises(eh.InputError, match=r"damaged\.eval, samples/sum_epoch_1\.json.* damaged"):
        read(tmp_path / "damaged.eval")
    damaged = bytearray(whole)
    damaged[whole.rindex(b"PK\x01\x02") + 6] = 200  # the version that it needs
    (tmp_path / "newer.eval").write_bytes(damaged)
    with pytest.raises(eh.InputError, match=r"newer\.eval is a zip file without its end"):
        read(tmp_path / "newer.eval")
    text = (LOGS / "promptfoo" / "results.json").read_text("utf-8")
    (tmp_path / "cut.json").write_text(text[:5000])
    with pytest.raises(eh.InputError, match=r"cut\.json: the JSON breaks off in line 1"):
        read(tmp_path / "cut.json")
    (tmp_path / "cut.jsonl").write_text('{"score": 1}\n{"score": 0}\n{"sco')
    with pytest.raises(eh.InputError, match=r"cut\.jsonl: line 3 is no JSON"):
        read(tmp_path / "cut.jsonl")


@pytest.mark.parametrize(("content", "message"), [
    ({}, "is JSON with nothing in it; what can be read is a log of Inspect"),
    ([], "with nothing in it"), ([1, 2], "is JSON with 'int'"),
    ({"a": 1, "b": 2}, "is JSON with 'a', 'b'"), ({"testCases": []}, "is JSON with 'testCases'"),
    ([{"instruction": "?", "output": "!", "generator": "a"}], "no column 'score'"),
    ({"version": 2, "status": "error", "eval": {"model": "a"}}, "there are no scores in it"),
    ({"eval": {"model": "a"}, "samples": [{"id": 1, "error": {"message": "ouch"}}]}, "ouch"),
    ({"eval": {}, "samples": [{"id": 1, "scores": {"s": {"value": 1}}}]}, "which model"),
])  # fmt: skip
def test_what_is_no_log_is_said_to_be_what_it_is(
    tmp_path: Path, content: Any, message: str
) -> None:
    with pytest.raises(eh.InputError, match=r"x\.json|no scores") as error:
        read(wrote(tmp_path / "x.json", content))
    assert message in str(error.value)


CHECKS, BOTH = LOGS / "inspect_checks.json", [LOGS / "deepeval", LOGS / "alpaca_eval"]


@pytest.mark.parametrize(("given", "how", "message"), [
    ("none.json", {}, "there is no file"), ([], {}, "no file is given"),
    (CHECKS, {}, "'checks.brief' (10 scores by 'checks'); 'checks.words'"),
    (CHECKS, {"metric": "match"}, "no metric 'match'; there are 'includes', 'checks.brief'"),
    (LOGS / "deepeval", {"columns": {"option": "prompt"}}, "it has 'model'"),
    (BOTH, {"metric": ["preference", "Correctness [GEval]"]}, "of two apart"),
])  # fmt: skip
def test_what_cannot_be_done_is_said(given: Any, how: dict[str, Any], message: str) -> None:
    with pytest.raises(eh.InputError) as error:
        read(given, **how)
    assert message in str(error.value)


def test_several_metrics_of_one_evaluator_are_several_evaluators() -> None:
    assert "rival" in read(BOTH, metric="preference")  # one, of several tools
    frame = read(CHECKS, metric=["checks.brief", "checks.words"])
    assert set(frame["evaluator"]) == {"checks, checks.brief", "checks, checks.words"}


def test_of_a_folder_what_is_no_log_is_left_out_and_named(tmp_path: Path) -> None:
    shutil.copy(LOGS / "deepeval" / f"test_run_{GPT}.json", tmp_path / "run.json")
    (tmp_path / "leaderboard.csv").write_text("model,score\na,1\n")
    (tmp_path / "settings.json").write_text('{"a": 1}')
    (tmp_path / ".cache.json").write_text("{")
    frame = read(tmp_path)
    assert len(frame) == 15
    note = frame.attrs["notes"][0]
    assert "leaderboard.csv" in note
    assert "settings.json" in note
    assert "cache" not in note


@pytest.mark.parametrize("kind", [*KINDS, "rows.json", "rows.jsonl"])
def test_what_was_read_can_be_kept_as_a_table_and_read_again(tmp_path: Path, kind: str) -> None:
    frame, path = read(LOGS / "deepeval"), tmp_path / kind
    if kind in KINDS:
        path.write_bytes(KINDS[kind](frame))
    else:
        wrote(path, frame.to_dict("records"))
    pd.testing.assert_frame_equal(read(path), frame)


def test_other_words_for_columns_and_letters_for_scores_are_read(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("Model;Judge;Question;Grade\ngpt-4;vicuna-7b;?;C\nllama-3;gpt-4o;?;P\n")
    frame = read(path)
    assert frame["score"].tolist() == [1.0, 0.5]
    assert frame["option_group"].tolist() == ["gpt", "llama"]
    assert frame["evaluator_group"].tolist() == ["llama", "gpt"]
    assert any("'Judge' is read as 'evaluator'" in note for note in frame.attrs["notes"])


def test_people_are_of_no_family(tmp_path: Path) -> None:
    path = tmp_path / "scores.csv"
    path.write_text("option,evaluator,score\nClaude,Mia,7\nBo,Mia,6\nCy,Grok,5\n")
    assert list(read(path).columns) == ["option", "evaluator", "score"]


@pytest.mark.parametrize(("value", "score"), [
    ("C", 1.0), ("INCORRECT", 0.0), ("p", 0.5), ("N", 0.0), (" pass ", 1.0), ("No", 0.0),
    (True, 1.0), (3, 3.0), ("-2e-1", -0.2), *((none, None) for none in (None, math.nan, "", "nan")),
])  # fmt: skip
def test_letters_words_and_numbers_are_scores(tmp_path: Path, value: Any, score: Any) -> None:
    scores = {"a": {"value": value}, "b": {"value": 0.25}}
    path = wrote(tmp_path / "log.json", _inspect(scores=scores))
    if score is None:
        with pytest.raises(InputError, match="no metric 'a'"):
            eh.read_scores(path, metric=["a", "b"])
    else:
        assert eh.read_scores(path, metric=["a", "b"]).score.tolist() == [score, 0.25]


@pytest.mark.parametrize("value", ["Z", "very good", math.inf, "-inf", [[]], {"a": []}])
def test_what_means_nothing_is_refused(tmp_path: Path, value: Any) -> None:
    with pytest.raises(InputError, match="is no score"):
        eh.read_scores(wrote(tmp_path / "log.json", _inspect(scores={"a": {"value": value}})))


def test_families_of_real_names() -> None:
    with (LOGS / "families.csv").open(encoding="utf-8", newline="") as file:
        expected = {row["name"]: row["family"] or None for row in csv.DictReader(file)}
    assert len(expected) > 300
    assert {name: family(name) for name in expected} == expected


def test_codes_of_two_letters_are_no_models_unless_others_are() -> None:
    assert family("o1") == family("gpt-4") is not None
    for options, known in (
        (["o0", "o1", "o2", "o3"], False),
        (["o1", "o3"], False),
        (["o1", "gpt-4", "claude-3-opus"], True),
    ):
        rows = [{"option": o, "evaluator": "gpt-4o", "score": i} for i, o in enumerate(options)]
        scores = eh.read_scores(rows)
        assert (scores.option_group is not None) == known
    assert scores.option_group is not None
    assert scores.option_group[0] == scores.option_group[1] != scores.option_group[2]


def test_families_of_the_user_come_first(tmp_path: Path) -> None:
    (tmp_path / "families.csv").write_text("name,family\nmy-judge,gpt\ngemma,gemini\ngpt-4,\n")
    stated = tmp_path / "families.csv"
    assert family("my-judge", stated) == "gpt"
    assert family("acme/my-judge-v2", stated) == "gpt"
    assert family("google/gemma-2-9b-it", stated) == "gemini"
    assert family("gpt-4", stated) is None
    assert family("claude-3-opus", stated) == "claude"


def test_families_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("model,maker\na,b\n")
    with pytest.raises(eh.InputError, match="no column 'name', which is to be families"):
        family("a", tmp_path / "f.csv")
    with pytest.raises(eh.InputError, match="there is no file"):
        family("a", tmp_path / "none.csv")


def test_a_label_that_says_nothing_is_looked_up_by_the_providers_id(tmp_path: Path) -> None:
    content = json.loads((LOGS / "promptfoo" / "prompts-results.json").read_text("utf-8"))
    for row in content["results"]["results"]:
        row["provider"] = {"id": "openai:chat:gpt-4o", "label": "ours"}
    frame = read(wrote(tmp_path / "r.json", content), columns={"option": "model"})
    assert set(frame["option"]) == {"ours"}
    assert set(frame["option_group"]) == {"gpt"}


def test_promptfoo_lines_and_repeats(tmp_path: Path) -> None:
    """`-o results.jsonl` has a result in each line, `--repeat 2` every test twice."""
    content = json.loads((LOGS / "promptfoo" / "results.json").read_text("utf-8"))
    rows = content["results"]["results"]
    lines = [json.dumps(row, ensure_ascii=False) for row in rows for _ in range(2)]
    (tmp_path / "results.jsonl").write_text("\n".join(lines), encoding="utf-8")
    once = read(LOGS / "promptfoo" / "results.json", metric="llm-rubric")
    twice = read(tmp_path / "results.jsonl", metric="llm-rubric")
    again = once.assign(item=once["item"] + ", again 2")
    assert found(twice) == found(once) | found(again)


def test_older_logs_of_inspect_read_the_same(tmp_path: Path) -> None:
    """They have a sample's only score without a name, and the scorer in the results."""
    path = LOGS / "inspect" / "llama-by-gemini.json"
    content = json.loads(path.read_text("utf-8"))
    judge = content["eval"].pop("model_roles")["grader"]["model"]
    del content["eval"]["scorers"]
    (total,) = content["results"]["scores"]
    total["params"]["model"] = judge
    for sample in content["samples"]:
        scores = sample.pop("scores")
        if scores:
            (sample["score"],) = scores.values()
            sample["score"].pop("metadata")
    (tmp_path / path.name).write_text(json.dumps(content))
    pd.testing.assert_frame_equal(read(tmp_path / path.name), read(path))


def test_scores_that_a_retried_run_took_over_count_once(tmp_path: Path) -> None:
    path = LOGS / "inspect" / "gpt-by-claude.eval"
    for name in ("first.eval", "retried.eval"):
        shutil.copy(path, tmp_path / name)
    frame = read(tmp_path)
    assert found(frame) == found(read(path))
    assert "another log has the same scores: 5" in frame.attrs["notes"][0]


def test_what_differs_for_one_judge_is_the_option(tmp_path: Path) -> None:
    """Two runs of one model whose task got two arguments; how the judge is called is no option."""
    content = json.loads((LOGS / "inspect" / "gpt-by-gemini.json").read_text("utf-8"))
    for tone in ("terse", "kind"):
        for judge in ("gemini-1.5-pro", "gpt-4o"):
            content["eval"]["task_args"] = {"tone": tone, "judge": judge}
            content["eval"]["model_roles"]["grader"]["model"] = judge
            for sample in content["samples"]:
                sample["uuid"] += tone
                for score in sample["scores"].values():
                    score["metadata"]["grading"][1]["model"] = judge
            (tmp_path / f"{tone}-{judge}.json").write_text(json.dumps(content))
    frame = read(tmp_path)
    assert set(frame["option"]) == {"terse", "kind"}
    assert set(frame["item"]) == set(QUESTIONS)
    assert set(frame["evaluator"]) == {"gemini-1.5-pro", "gpt-4o"}


JUNK = [None, [], {}, "", "x", 0, 1.5, True, [None], [1], {"a": 1}, math.nan, [[]], ["a"], [{}],
        math.inf, 10**400, "x\ud83d", -1, "a\u2028b"]  # fmt: skip


def places(thing: Any) -> list[tuple[Any, Any]]:
    """Every object or list in JSON, with each name or number in it."""
    inner = thing if isinstance(thing, dict) else dict(enumerate(thing[:3]))
    found: list[tuple[Any, Any]] = [(thing, key) for key in inner]
    for value in inner.values():
        if isinstance(value, (dict, list)):
            found += places(value)
    return found


@given(data=st.data())
def test_whatever_is_wrong_in_a_log_is_read_past_or_said(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    mutable = [
        LOGS / "inspect" / "llama-by-gemini.json",
        LOGS / "promptfoo" / "prompts-results.json",
        *sorted((LOGS / "alpaca_eval").glob("*.json"))[:1],
        *sorted((LOGS / "deepeval").glob("*.json"))[:1],
        *([row | {"raw_completion": reply} for row in _alpaca()]
          for reply in (replied(0.75, "logprobs"), replied(1.0, "order"))),
        _mt_bench(), _arena_hard(),
    ]  # fmt: skip
    content = data.draw(st.sampled_from(mutable))
    if isinstance(content, Path):
        content = json.loads(content.read_text("utf-8"))
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from(places(content)))
        holder[key] = copy.deepcopy(data.draw(st.sampled_from(JUNK)))
    lines = isinstance(content, list) and data.draw(st.booleans())
    file = tmp_path_factory.mktemp("log") / ("log.jsonl" if lines else "log.json")
    file.write_text("\n".join(map(json.dumps, content)) if lines else json.dumps(content))
    try:
        frame = read(file)
    except eh.InputError:
        return  # anything else would be a fault of the reader
    assert np.isfinite(frame["score"]).all()
    assert not frame.duplicated([c for c in frame if c in KEY]).any()


LONG = 10**400
HALF = "x\ud83d"  # of an emoji


def _alpaca(**changed: Any) -> Any:
    row = {"instruction": "Why?", "generator_1": "gpt-4", "generator_2": "vicuna-7b",
           "output_1": "So.", "output_2": "Because.", "annotator": "gpt-4o"}  # fmt: skip
    return [row | {"preference": 1.25} | changed, row | {"preference": 2, "instruction": "How?"}]


def _promptfoo(**changed: Any) -> Any:
    row = {"success": True, "score": 1, "vars": {"q": "a"}, "prompt": {"raw": "p"}}
    return {
        "results": [row | {"provider": name} | changed for name in ("gpt-4o", "claude-3-haiku")]
    }


def _deepeval(**changed: Any) -> Any:
    metric = {"name": "G", "score": 0.5, "evaluationModel": "gpt-4"} | changed
    return {"testCases": [{"input": "q", "metricsData": [metric]}], "identifier": "m"}


def _inspect(model: str = "m", **changed: Any) -> Any:
    sample = {"id": 1, "epoch": 1, "scores": {"s": {"value": 1}}} | changed
    return {"eval": {"model": model, "task": "t"}, "samples": [sample]}


def _graded(task: str, judge: str, model: str, ids: str, epochs: int = 1) -> Any:
    """A log in which a judge graded samples, each in some epochs."""
    log, scorer = _inspect(model), {"name": "graded", "options": {"model": judge}}
    log["eval"] |= {"task": task, "scorers": [scorer]}
    log["samples"] = [
        {"id": one, "epoch": epoch, "scores": {"graded": {"value": 0.6}}}
        for one in ids
        for epoch in range(1, epochs + 1)
    ]
    return log


@pytest.mark.parametrize(("log", "place"), [
    *((_alpaca(**{name: HALF}), "annotation 1")
      for name in ("instruction", "generator_1", "generator_2", "annotator")),
    (_alpaca(preference=LONG), "annotation 1"),
    (_promptfoo(vars={"q": HALF}), "result 1"), (_promptfoo(provider=HALF), "result 1"),
    (_promptfoo(score=LONG), "result 1"),
    (_deepeval(name=HALF), "test case 1"), (_deepeval(evaluationModel=HALF), "test case 1"),
    (_deepeval(score=-LONG), "test case 1"),
    (_inspect(id=HALF), "sample"), (_inspect(HALF), "sample '1'"),
    (_inspect(scores={HALF: {"value": 1}}), "sample '1'"),
    (_inspect(scores={"s": {"value": LONG}}), "sample '1'"),
    (_mt_bench(model_1=HALF), "judgment 1, game 1"), (_mt_bench(judge=[HALF]), "judgment 1"),
    (_arena_hard(model=HALF), "judgment 1, game 1"), (_arena_hard(HALF, "A>B"), "judgment 1"),
    (_arena_hard(LONG), "judgment 1, game 1"), (_alpaca(preference=math.inf), "annotation 1"),
])  # fmt: skip
def test_half_characters_and_endless_numbers_are_refused_with_their_place(
    tmp_path: Path, log: Any, place: str
) -> None:
    with pytest.raises(InputError, match=place) as error:
        eh.read_scores(wrote(tmp_path / "log.json", log))
    assert str(error.value).encode()  # it can be printed


@pytest.mark.parametrize(("text", "message"), [
    (json.dumps(_alpaca()).encode().replace(b"So.", b"S\xf6."), "line 1 has the byte 0xf6"),
    (b'[{"a": 1},\n{"a": "\xff"}]', "line 2 has the byte 0xff"),
    (b"[" * 100_000, "nested too deeply"), (b'{"a":' * 100_000, "nested too deeply"),
    (json.dumps(_mt_bench()[0]).encode() + b"\n" + b'{"a":' * 100_000, "line 2: the JSON is"),
])  # fmt: skip
def test_what_is_no_text_or_nested_without_end_is_refused_with_its_place(
    tmp_path: Path, text: bytes, message: str
) -> None:
    (tmp_path / "log.json").write_bytes(text)
    with pytest.raises(InputError, match=rf"log\.json: .*{message}"):
        eh.read_scores(tmp_path / "log.json")


@pytest.mark.parametrize("depth", [300, 900])
def test_what_is_nested_in_a_log_is_read_past_or_refused(tmp_path: Path, depth: int) -> None:
    deep = "[" * depth + "]" * depth
    run = {"model": "m", "scorers": [{"name": "s", "options": {"model": 0}}], "solver": 1}
    log = {"eval": run, "samples": [{"id": 1, "scores": {"s": {"value": 0.5}}}]}
    text = json.dumps(log).replace('"model": 0', f'"model": {deep}')
    (tmp_path / "log.json").write_text(text.replace('"solver": 1', f'"solver": {deep}'))
    with suppress(InputError):
        assert eh.read_scores(tmp_path / "log.json").score.tolist() == [0.5]


def test_lines_end_where_json_ends_them_in_whichever_unicode(tmp_path: Path) -> None:
    rows = _mt_bench(g1_judgment="One\u2028two\x85three")
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        (tmp_path / "log.jsonl").write_bytes(lines.encode(encoding))
        assert len(read(tmp_path / "log.jsonl")) == 3


@pytest.mark.parametrize("text", ['""', '""\n', "\n \n", '"",""\n'])
def test_a_file_of_nothing_but_marks_is_empty(tmp_path: Path, text: str) -> None:
    (tmp_path / "log.json").write_text(text)
    with pytest.raises(InputError, match=r"is empty|has no columns"):
        eh.read_scores(tmp_path / "log.json")


def test_what_is_in_no_use_may_be_half_a_character(tmp_path: Path) -> None:
    assert len(eh.read_scores(wrote(tmp_path / "log.json", _alpaca(output_1=HALF)))) == 2
    (tmp_path / "log.json").write_text(f'[{{"id": {"1" * 5000}}}]')
    with pytest.raises(InputError, match="digits"):
        eh.read_scores(tmp_path / "log.json")


@pytest.mark.parametrize("call", [eh.read_scores, eh.audit, eh.decide])
@pytest.mark.parametrize("times", [1, 200])
def test_the_text_of_a_table_is_no_path(call: Any, times: int) -> None:
    with pytest.raises(InputError, match="StringIO"):
        call("option,evaluator,score\n" + "a,P,1\nb,P,2\n" * times)


@pytest.mark.parametrize("call", [eh.read_scores, eh.audit, eh.decide])
@pytest.mark.parametrize("missing", ["refuse", "drop"])
def test_a_table_of_nothing_is_refused_in_words(call: Any, missing: Any) -> None:
    for columns in (["evaluator", "score"], ["score"], ["option", "evaluator", "score"]):
        frame = pd.DataFrame({"option": list("aabb"), "evaluator": list("PQPQ"), "score": [1] * 4})
        for table in (frame.assign(**dict.fromkeys(columns)), frame.assign(score=None)[:1]):
            with pytest.raises(InputError, match="empty"):
                call(table, missing=missing)


@pytest.mark.parametrize(("judges", "called"), [
    (("file://a.py", "file://b.py"), ["file://a.py", "file://b.py"]),
    ([{"id": f"file://{x}.py", "config": {"model": "gpt-4o"}} for x in "ab"],
     ["gpt-4o (file://a.py)", "gpt-4o (file://b.py)"]),
    ([{"id": "python:judge.py", "config": {"tone": x, "n": 1}} for x in ("mild", "stern")],
     ["python:judge.py [tone=mild]", "python:judge.py [tone=stern]"]),
    ([{"id": f"file://{x}.py", "label": f"judge {x}"} for x in "ab"], ["judge a", "judge b"]),
])  # fmt: skip
def test_judges_from_files_are_kept_apart(tmp_path: Path, judges: Any, called: list[str]) -> None:
    """Two models on two questions; the second judge gives 0.1 more."""
    parts = [{"score": 0.2 + 0.1 * n, "assertion": {"type": "llm-rubric", "provider": judge}}
             for n, judge in enumerate(judges)]  # fmt: skip
    graded = {"gradingResult": {"componentResults": parts}}
    logs = [_promptfoo(vars={"q": item}, **graded) for item in ("one", "two")]
    results = {"results": [row for log in logs for row in log["results"]]}
    frame = read(wrote(tmp_path / "results.json", results))
    assert sorted(set(frame["evaluator"])) == called
    assert len(frame) == 8
    means = frame.groupby("evaluator")["score"].mean()
    assert means[called[1]] - means[called[0]] == pytest.approx(0.1)
    if "gpt-4o" in called[0]:
        assert set(frame["evaluator_group"]) == {"gpt"}


def test_tasks_of_inspect_are_named_and_keep_their_items_apart(tmp_path: Path) -> None:
    for task, ids in (("sums", "12"), ("capitals", "13")):
        for model in (GPT, CLAUDE):
            log = _graded(task, "gpt-4o", model, ids, epochs=2)
            wrote(tmp_path / f"{task}-{model}.json", log)
    frame = read(tmp_path)
    assert {"sums: 1", "capitals: 1", "sums: 1, again 2", "capitals: 3"} <= set(frame["item"])
    assert frame["item"].nunique() == 8
    assert set(frame["task"]) == {"sums", "capitals"}
    note = next(note for note in frame.attrs["notes"] if "tasks" in note)
    assert "'capitals', 'sums'" in note


def test_a_task_for_every_judge_is_said_to_part_them(tmp_path: Path) -> None:
    for judge in ("gpt-4o", "gemini-1.5-pro"):
        for model in (GPT, CLAUDE):
            log = _graded(f"by {judge}", judge, model, "12")
            wrote(tmp_path / f"{judge}-{model}.json", log)
    notes = read(tmp_path).attrs["notes"]
    assert any("none scored what another did" in note for note in notes)


def test_letters_of_a_log_are_read_by_declared_grades(tmp_path: Path) -> None:
    log = _graded("essays", "gpt-4o", GPT, "123")
    for sample, letter in zip(log["samples"], ("A", "b", "D"), strict=True):
        sample["scores"]["graded"]["value"] = letter
    path = wrote(tmp_path / "log.json", log)
    with pytest.raises(InputError, match="if they are grades"):
        read(path)
    assert read(path, grades=["A", "B", "C", "D"])["score"].tolist() == [4.0, 3.0, 1.0]
    assert read(path, grades={"A": 9, "B": 5.5, "D": 0})["score"].tolist() == [9.0, 5.5, 0.0]
