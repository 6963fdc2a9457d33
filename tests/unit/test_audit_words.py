"""What audits say: which verdict goes with which interval, and whom the winner is put down to."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.auditing import BiasEstimate
from evenhand.scores import Factor, Scores


def panel(rows: dict[str, list[float]], home: list[tuple[str, str]], loud: float) -> Scores:
    """Return scores of options by evaluators P, Q, …, NaN for none; ``home``: who is partial."""
    rng = np.random.default_rng(2)
    cells = [
        (option, "PQRSTU"[i], score + loud * rng.normal())
        for option, scores in rows.items()
        for i, score in enumerate(scores)
        if not math.isnan(score)
    ]
    return Scores(
        np.array([score for _, _, score in cells]),
        Factor.of([option for option, _, _ in cells]),
        Factor.of([who for _, who, _ in cells]),
        stated=np.array([float((option, who) in home) for option, who, _ in cells]),
        called={"partial": "home"},
    )


def audit_of(scores: Scores, value: float, low: float, high: float) -> eh.Audit:
    """Return an audit with a bias that is given."""
    bias = BiasEstimate(value, low, high, 0.95, (high - low) / 4.0, 20.0)
    return replace(eh.audit(scores), bias=bias)


FAVOUR = {"Ann": [11.0] + [7.0] * 5, "Bo": [7.5] * 6}  # P gives Ann 4 more


@pytest.mark.parametrize(
    ("value", "low", "high", "said", "numbers"),
    [
        (2.004, 1.46, 2.55, "Yes", ["2.00", "1.46", "2.55", "95"]),
        (-2.004, -2.55, -1.46, "Yes", ["2.00", "2.55", "1.46", "95"]),
        (0.02, -0.21, 0.25, "No", ["0.21", "0.25", "95"]),
        (1.0, -4.0, 6.0, "These scores can't tell", ["4.0", "6.0", "95"]),
        (1.0, -math.inf, math.inf, "These scores can't tell", ["1"]),
        (1.5, 1.5, 1.5, "Yes", ["1.5"]),
        (0.0, 0.0, 0.0, "No", ["0"]),
    ],
)
def test_the_verdict_goes_by_the_interval_and_has_no_more_digits(
    value: float, low: float, high: float, said: str, numbers: list[str]
) -> None:
    found = audit_of(panel(FAVOUR, [("Ann", "P")], 0.5), value, low, high).to_dict()["verdict"]
    assert found.startswith(said)
    assert re.findall(r"\d+(?:\.\d+)?", found.replace("home is 1", "")) == numbers


def test_what_leniency_changes_is_not_put_down_to_the_bias() -> None:
    # P and Q give 4 more to everybody; they scored Ann, others scored Bo; nobody is partial to them
    no = math.nan
    rows = {
        "Ann": [9.0, 9.0, no, no],
        "Bo": [no, no, 6.0, 6.0],
        "Cy": [9.0, 8.0, 4.0, 4.0],
        "Di": [7.0, 7.0, 3.0, 3.0],
    }
    found = audit_of(panel(rows, [("Cy", "P")], 0.01), 1.0, 0.9, 1.1)
    assert found.to_dict()["flips"] == {"bias": 0, "bias and leniency": 1}


def table(favours: list[float], noise: float) -> Scores:
    """Return scores of 12 options by evaluators A, B, …, of whom each favours two by so much."""
    rng, n = np.random.default_rng(4), len(favours)
    option, who = (codes.reshape(-1) for codes in np.indices((12, n)))
    own = (option % n == who).astype(float)
    return Scores(
        0.3 * option + own * np.array(favours)[who] + noise * rng.normal(size=12 * n),
        Factor.of([f"o{x}" for x in option]),
        Factor.of(["ABCDEF"[x] for x in who]),
        stated=own,
        called={"partial": "home"},
    )


@pytest.mark.parametrize("favours", [[0.0] * 6, [9.0, 0.0, 0.0, 0.0, 0.0, 0.0], [4.0] * 6])
def test_nobody_is_named_whose_interval_holds_zero(favours: list[float]) -> None:
    audit = eh.audit(table(favours, 1.0))
    frame = audit.evaluators.set_index("evaluator")
    sure = frame[frame["flagged"] & ((frame["shrunk_low"] > 0) | (frame["shrunk_high"] < 0))]
    who = " ".join(re.split(r"\n(?=\w)", str(audit).split("\nWho")[1])[0].split())
    named = re.findall(r"\b([A-F]) \(\+?([−\d.]+), ([−\d.]+) to ([−\d.]+)\)", who)
    apart = audit.spread.evaluators.sd > 0.0  # else each has the bias of all, and no own
    assert len(named) == (min(len(sure), 3) if apart else 0)
    for name, *numbers in named:
        found = [float(x.replace("−", "-")) for x in numbers]
        assert name in sure.index
        assert found == pytest.approx(
            sure.loc[name, ["shrunk", "shrunk_low", "shrunk_high"]], abs=0.06
        )


def duels(*, groups: bool) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    rows = [
        (f"m{a}", f"m{b}", f"j{e}", 0.2 * (a - b) + 0.5 + 0.05 * rng.normal(), *rng.random(2))
        for a in range(4)
        for b in range(4)
        for e in range(4)
        if a != b
    ]
    columns = ["option", "rival", "evaluator", "score", "length", "rival_length"]
    frame = pd.DataFrame(rows, columns=columns)
    if groups:
        for part in ("option", "rival", "evaluator"):
            frame[f"{part}_group"] = "f" + (frame[part].str[1].astype(int) % 2).astype(str)
    return frame


def test_comparisons_speak_of_standing_first() -> None:
    audit = eh.audit(duels(groups=True))
    assert audit.position.covers(0.5)
    nobody = eh.audit(duels(groups=False), columns={"attributes": ["length"]}).to_dict()
    assert nobody["verdict"].startswith("Yes")
    assert nobody["bias"]["value"] is None


def test_the_record_is_json_with_stable_names() -> None:
    audit = eh.audit(duels(groups=True))
    record = json.loads(json.dumps(audit.to_dict(), allow_nan=False))
    names = (
        "verdict scores best options evaluators events bias here naive position attributes ranking "
        "placebo spread by_evaluator by_group agreement flips decisions wanted identified ask "
        "warnings cannot_tell"
    )
    assert list(record) == names.split()
    assert record["bias"]["value"] == pytest.approx(audit.bias.value)
    assert record["position"]["low"] < 0.5 < record["position"]["high"]
    assert len(record["by_evaluator"]) == record["evaluators"] == 4
    assert record["decisions"][0]["winner"] == "m3"
    shared = audit.decisions.tipping_favour[0]
    assert f"{shared:.3g}" in record["cannot_tell"][0]
