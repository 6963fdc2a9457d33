"""An audit as plain values, for JSON: names that stay, and nothing that is no number."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.auditing.bias import BiasEstimate
from evenhand.auditing.words import verdict

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.auditing.audit import Audit


def as_dict(audit: Audit) -> dict[str, Any]:
    """Return all that an audit says; None for what is not known or has no end."""
    scores, decided = audit.effects.scores, audit.decisions
    found = {
        "verdict": verdict(audit),
        "scores": len(scores),
        "options": len(scores.option),
        "evaluators": 0 if scores.evaluator is None else len(scores.evaluator),
        "events": len(decided),
        "bias": _bias(audit.bias),
        "here": _bias(audit.here),
        "naive": _bias(audit.naive),
        "position": None if audit.position is None else _bias(audit.position),
        "attributes": {name: _bias(bias) for name, bias in audit.attributes.items()},
        "placebo": {
            "draws": len(audit.placebo.draws),
            "mean": audit.placebo.mean,
            "sd": audit.placebo.sd,
            "z": audit.placebo.z,
            "chance": audit.placebo.chance,
            "impossible": audit.placebo.impossible,
        },
        "spread": {
            "evaluators": asdict(audit.spread.evaluators),
            audit.favoured + "s": asdict(audit.spread.groups),
        },
        "by_evaluator": _rows(audit.evaluators),
        "by_" + audit.favoured: _rows(audit.groups),
        "pair": {**asdict(audit.pair), "share": audit.pair.share},
        "influences": [asdict(one) for one in audit.influences],
        "flips": {
            rule.rule: {
                "winners": int(rule.flipped.sum()),
                "podiums": int(rule.podium_changed.sum()),
            }
            for rule in decided.rules
        },
        "decisions": _rows(decided.to_frame()),
        "warnings": [
            {
                "assumption": finding.assumption,
                "message": finding.message,
                "alarm": finding.alarm,
                "p_value": finding.p_value,
            }
            for finding in audit.warnings
        ],
        "cannot_tell": list(audit.cannot_tell),
    }
    return {name: plain(value) for name, value in found.items()}


def plain(value: Any) -> Any:
    """Return a value of plain Python, with None in the place of NaN and infinity.

    Examples
    --------
    >>> plain({"a": np.float64(1.5), "b": [math.nan, -math.inf], "c": np.bool_(True)})
    {'a': 1.5, 'b': [None, None], 'c': True}
    """
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _bias(bias: BiasEstimate) -> dict[str, Any]:
    return {**asdict(bias), "chance": bias.chance}


def _rows(frame: pd.DataFrame) -> list[dict[str, Any]]:
    return [dict(row) for row in frame.to_dict("records")]
