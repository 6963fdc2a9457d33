"""Comparisons of all options with one baseline, as in AlpacaEval: another route, and the truth."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evenhand as eh

SLOPE, FIRST = 0.1, 0.08  # of 1,000 characters; of standing first
FAMILIES = ("gpt", "claude", "llama", "gemini", "mistral")


def verdicts(
    seed: int,
    models: int = 14,
    items: int = 60,
    judges: tuple[str, ...] = ("gpt",),
    both: bool = False,
) -> tuple[pd.DataFrame, dict[str, float]]:
    """Return comparisons with a baseline, in both orders or one, and true values."""
    rng = np.random.default_rng(seed)
    worth = rng.normal(0.0, 0.25, models)
    wordy = 0.6 * worth + rng.normal(0.0, 0.3, models)
    theirs, hard = np.exp(rng.normal(7.0, 0.4, items)), rng.normal(0.0, 0.1, items)
    rows = []
    for judge in judges:
        for m in range(models):
            own = theirs * np.exp(wordy[m] + rng.normal(0.0, 0.3, items))
            first = rng.random(items) < 0.5 if both else np.ones(items, dtype=bool)
            y = worth[m] + hard + SLOPE * (own - theirs) / 1000 + 0.2 * rng.standard_t(6, items)
            y += (FIRST * np.where(first, 1, -1) if both else 0) + 0.15 * (FAMILIES[m % 5] == judge)
            y -= 0.15 * (judge == "gpt")
            for i in range(items):
                one = (f"{FAMILIES[m % 5]}-{m}", FAMILIES[m % 5], own[i])
                two = ("base", "gpt", theirs[i])
                sides = (one, two) if first[i] else (two, one)
                score = y[i] if first[i] else -y[i]
                rows.append((*sides[0], *sides[1], f"{judge} judge", judge, i, score))
    columns = (
        "option option_group length rival rival_group rival_length evaluator evaluator_group item "
        "score"
    )
    names = {f"{FAMILIES[m % 5]}-{m}": float(worth[m]) for m in range(models)} | {"base": 0.0}
    return pd.DataFrame(rows, columns=columns.split()), names


def test_slopes_are_near_those_of_least_squares_with_all_columns_written_down() -> None:
    table, _ = verdicts(0, both=True)
    found = eh.audit(table)
    sign = np.where(table["rival"] == "base", 1.0, -1.0)
    model = np.where(sign > 0, table["option"], table["rival"])
    x = np.column_stack([sign * (table["length"] - table["rival_length"]), sign])
    D = np.hstack(
        [pd.get_dummies(model).to_numpy(float), pd.get_dummies(table["item"]).to_numpy(float), x]
    )
    slopes = np.linalg.lstsq(D, sign * table["score"], rcond=None)[0][-2:]
    # the baseline is 0 on every item, which is a row more; and judges may stretch the scale
    assert found.attributes["length"].value == pytest.approx(slopes[0], rel=0.02)
    assert found.attributes["position"].value == pytest.approx(slopes[1], rel=0.1)


def test_values_are_means_with_the_length_taken_off() -> None:
    table, _ = verdicts(1)
    audit, answer = eh.audit(table), eh.decide(table, next_n=0)
    slope = audit.attributes["length"].value
    off = table["score"] - slope * (table["length"] - table["rival_length"])
    means = off.groupby(table["option"]).mean()
    frame = audit.ranking.set_index("option")
    decided = {one.option: one.value for one in answer.ranking}
    for name, mean in means.items():
        assert frame.loc[name, "value"] == pytest.approx(mean, abs=0.02)
        assert decided[name] - decided["base"] == pytest.approx(frame.loc[name, "value"], abs=1e-9)
    assert frame.loc["base", ["value", "low", "high"]].tolist() == [0.0, 0.0, 0.0]
    plain = eh.audit(table, columns={"attributes": ()}).ranking.set_index("option")
    raw = table.groupby("option")["score"].mean()
    assert plain.loc[raw.index, "value"].to_numpy() == pytest.approx(raw.to_numpy())
    assert plain.loc[raw.index, "as given"].to_numpy() == pytest.approx(raw.to_numpy())


def test_the_same_whoever_is_written_first() -> None:
    table, _ = verdicts(2)
    turned = table.rename(
        columns={
            a: b
            for s in ("", "_group")
            for a, b in ((f"option{s}", f"rival{s}"), (f"rival{s}", f"option{s}"))
        }
    )
    turned = turned.rename(columns={"length": "rival_length", "rival_length": "length"})
    turned["score"] = -turned["score"]
    one, other = eh.audit(table), eh.audit(turned)
    assert one.attributes["length"].low == pytest.approx(other.attributes["length"].low)
    pd.testing.assert_frame_equal(one.ranking, other.ranking)


@pytest.mark.parametrize(
    ("models", "judges"), [(14, ("gpt",)), (4, ("gpt",)), (8, ("gpt", "claude"))]
)
def test_intervals_hold_the_truth(models: int, judges: tuple[str, ...]) -> None:
    """The length's in 54 logs: fewer than 46 would be hit with probability 3e-3."""
    n, hit, wrong, widths = 18, 0, 0, []
    values = []
    for seed in range(n):
        table, worth = verdicts(seed, models, 60, judges, both=seed % 2 == 1)
        audit, answer = eh.audit(table), eh.decide(table, next_n=0)
        bias = audit.attributes["length"].times(1000)
        hit += bias.covers(SLOPE)
        widths.append(bias.high - bias.low)
        if len(judges) == 1:  # who favours its own, as nobody can tell
            family = {name: 0.15 * (name.startswith("gpt")) - 0.15 for name in worth} | {
                "base": 0.0
            }
            worth = {name: value + family[name] for name, value in worth.items()}
            frame = audit.ranking.set_index("option")
            values += [
                frame.loc[m, "low"] <= worth[m] <= frame.loc[m, "high"]
                for m in worth
                if m != "base"
            ]
        wrong += answer.sure and worth[answer.label] < max(worth.values())
    assert hit >= 14
    assert np.median(widths) < (0.3 if len(judges) == 1 else 0.6)  # two judges say little of others
    assert wrong <= 1
    if values:
        assert np.mean(values) >= 0.95 - 3 * (0.95 * 0.05 / len(values)) ** 0.5 - 0.02


def test_a_log_of_alpaca_eval_says_what_length_adds_and_nothing_odd(tmp_path: Path) -> None:
    table, _ = verdicts(5, 10, 40)
    rows = [
        {
            "instruction": f"Question {row.item}",
            "generator_1": "gpt4_turbo",
            "output_1": "a" * int(row.rival_length),
            "generator_2": row.option,
            "output_2": "b" * int(row.length),
            "annotator": "gpt-4-1106-preview",
            "preference": 1.5 + float(np.clip(row.score, -1, 1)) / 2,
        }
        for row in table.itertuples()
    ]
    path = tmp_path / "annotations.json"
    path.write_text(json.dumps(rows))
    audit, answer = eh.audit(path), eh.decide(path)
    assert str(audit).startswith("Yes: every 1,000 of length adds 0.")
    for said in map(str, (audit, answer)):
        assert "nan" not in said.replace("\n", " ").split()
        assert "halves" not in said
    assert "favours its own group cannot be told" in " ".join(str(answer).split())
    assert answer.comparable
    one = tmp_path / "one.json"  # as it is written for a single model
    one.write_text(json.dumps([row for row in rows if row["generator_2"] == "gpt-0"]))
    alone = eh.decide(one)
    assert {"gpt-0", "gpt4_turbo"} == set(alone.options.labels)
    assert alone.comparable
    assert not np.isnan(eh.audit(one).attributes["length"].value)


def test_what_is_not_known_of_the_slope_is_in_the_interval() -> None:
    """Against the jackknife over items of the whole fit, for the option that is longest."""
    table, _ = verdicts(3, models=3, items=60)
    table["length"] += 4000.0 * (table["option"] == "claude-1")  # its value hangs on the slope

    def value(some: pd.DataFrame) -> float:
        x = some["length"] - some["rival_length"]
        D = [pd.get_dummies(some[c]).to_numpy(float) for c in ("option", "item")]
        slope = np.linalg.lstsq(np.hstack([*D, x.to_numpy()[:, None]]), some["score"], rcond=None)[
            0
        ][-1]
        mine = some["option"] == "claude-1"
        return float((some["score"] - slope * x)[mine].mean())

    away = np.array([value(table[table["item"] != i]) for i in range(60)])
    se = np.sqrt(59 / 60 * ((away - away.mean()) ** 2).sum())
    row = eh.audit(table).ranking.set_index("option").loc["claude-1"]
    assert (row["high"] - row["low"]) / 2 == pytest.approx(2.001 * se, rel=0.2)
