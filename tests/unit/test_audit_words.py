"""What audits say: which verdict goes with which interval, and whom the winner is put down to."""

from __future__ import annotations

import json
import math
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


def verdict(*given: object) -> str:
    return str(audit_of(*given).to_dict()["verdict"])  # type: ignore[arg-type] # as it takes them


FAVOUR = {"Ann": [11.0] + [7.0] * 5, "Bo": [7.5] * 6}  # P gives Ann 4 more


@pytest.mark.parametrize(
    ("value", "low", "high", "said"),
    [
        (2.004, 1.46, 2.55, "Yes: evaluators add 2.00 points (1.46 to 2.55, 95% sure)"),
        (-2.004, -2.55, -1.46, "Yes: evaluators take off 2.00 points (1.46 to 2.55, 95% sure)"),
        (0.02, -0.21, 0.25, "No bias is shown"),
        (1.0, -4.0, 6.0, "These scores can't tell"),
        (1.0, -math.inf, math.inf, "These scores can't tell"),
        (1.5, 1.5, 1.5, "Yes: evaluators add 1.5 points"),
        (0.0, 0.0, 0.0, "No bias is seen"),
    ],
)
def test_the_verdict_goes_by_the_interval(value: float, low: float, high: float, said: str) -> None:
    found = verdict(panel(FAVOUR, [("Ann", "P")], 0.5), value, low, high)
    assert found.startswith(said)
    assert "where home is 1" in found


def test_a_winner_whom_the_bias_makes_is_named() -> None:
    # by the mean Ann leads by 1/6, and without the favour she is 1/2 behind
    for loud, low, beyond in (
        (0.01, 3.8, "by more than noise."),
        (0.01, 0.9, "but not at every plausible bias."),
        (0.5, 3.8, "but not by more than noise."),
    ):
        said = verdict(panel(FAVOUR, [("Ann", "P")], loud), 4.0, low, 4.2)
        assert "With it taken off, Bo wins" in said
        assert said.endswith(beyond)
    ahead = panel(FAVOUR | {"Bo": [6.5] * 6}, [("Ann", "P")], 0.3)
    assert "Ann wins by these scores with it and without it" in verdict(ahead, 4.0, 3.8, 4.2)


def test_what_leniency_changes_is_not_put_down_to_the_bias() -> None:
    # P and Q give 4 more to everybody; they scored Ann, others scored Bo; nobody is partial to them
    no = math.nan
    rows = {
        "Ann": [9.0, 9.0, no, no],
        "Bo": [no, no, 6.0, 6.0],
        "Cy": [9.0, 8.0, 4.0, 4.0],
        "Di": [7.0, 7.0, 3.0, 3.0],
    }
    scores = panel(rows, [("Cy", "P")], 0.01)
    said = verdict(scores, 1.0, 0.9, 1.1)
    assert "Ann wins by these scores with it and without it" in said
    assert "With leniency taken off as well, Bo leads, by more than noise" in said
    assert audit_of(scores, 1.0, 0.9, 1.1).to_dict()["flips"] == {"bias": 0, "bias and leniency": 1}


def test_a_tie_by_the_mean_is_named() -> None:
    rows = {"Ann": [10.0, 6.0, 8.0], "Bo": [6.0, 10.0, 8.0], "Cy": [7.9, 7.9, 7.9]}
    for_both = panel(rows, [("Ann", "P"), ("Bo", "Q")], 0.0)
    assert "Cy wins by the mean of these scores, not Ann and Bo" in verdict(for_both, 4.0, 3.9, 4.1)
    for_one = panel(rows, [("Ann", "P")], 0.0)
    said = verdict(for_one, 4.0, 3.9, 4.1)
    assert "Ann and Bo tie; with it taken off, Bo is ahead" in said


def duels(*, groups: bool) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    rows = [
        {
            "option": f"m{a}",
            "rival": f"m{b}",
            "evaluator": f"j{e}",
            "score": 0.2 * (a - b) + 0.5 + 0.05 * rng.normal(),
            "length": rng.random(),
            "rival_length": rng.random(),
        }
        for a in range(4)
        for b in range(4)
        for e in range(4)
        if a != b
    ]
    frame = pd.DataFrame(rows)
    if groups:
        for part in ("option", "rival", "evaluator"):
            frame[f"{part}_group"] = "f" + (frame[part].str[1].astype(int) % 2).astype(str)
    return frame


def test_comparisons_speak_of_standing_first() -> None:
    audit = eh.audit(duels(groups=True))
    assert audit.position is not None
    assert audit.position.covers(0.5)
    assert "standing first adds 0." in " ".join(str(audit).split())
    nobody = eh.audit(duels(groups=False), attributes=["length"]).to_dict()
    assert nobody["verdict"].startswith("Yes: standing first adds 0.")
    assert nobody["bias"]["value"] is None


def test_the_record_is_json_with_stable_names() -> None:
    audit = eh.audit(duels(groups=True))
    record = json.loads(json.dumps(audit.to_dict(), allow_nan=False))
    names = (
        "verdict scores best options evaluators events bias here naive ranking position attributes "
        "placebo spread by_evaluator by_group pair influences flips decisions wanted warnings "
        "cannot_tell"
    )
    assert list(record) == names.split()
    assert record["bias"]["value"] == pytest.approx(audit.bias.value)
    assert record["position"]["low"] < 0.5 < record["position"]["high"]
    assert len(record["by_evaluator"]) == record["evaluators"] == 4
    assert record["decisions"][0]["winner"] == "m3"
    shared = audit.decisions.tipping_favour[0]
    assert f"{shared:.3g}" in record["cannot_tell"][0]
