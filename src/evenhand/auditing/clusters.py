"""How sure a bias is when the same evaluators and the same options come back.

Residuals of one evaluator have his own bias in common, those of one option what judges see in it
alike. Sums over clusters keep that: the variance of β is Σ_g (Σ_{i in g} S̃_i e_i)²/(S̃·S̃)², over
evaluators plus over options less over pairs (Cameron, Gelbach and Miller).
"""

from __future__ import annotations

import math

import numpy as np

from evenhand.auditing.bias import BiasEstimate
from evenhand.auditing.effects import Effects
from evenhand.scores.factor import Codes, crossed


def plain(effects: Effects, level: float) -> BiasEstimate:
    """Return the bias as if scores were independent of one another."""
    se = effects.noise / math.sqrt(effects.information)
    return BiasEstimate.by_student(effects.bias, se, effects.freedom, level)


def clustered(effects: Effects, level: float) -> BiasEstimate:
    """Return the bias, where evaluators and options come back."""
    scores = effects.scores
    assert scores.evaluator is not None
    who, whom = scores.evaluator.codes, scores.option.codes
    variance = _variance(effects, who) + _variance(effects, whom)
    variance -= _variance(effects, crossed(who, whom)[0])
    partial = scores.partial
    assert partial is not None
    G = min(len(np.unique(codes[partial != 0.0])) for codes in (who, whom))
    se = math.sqrt(variance * G / (G - 1))
    return BiasEstimate.by_student(effects.bias, se, G - 1, level)


def _variance(effects: Effects, clusters: Codes) -> float:
    sums = np.bincount(clusters, effects.own * effects.residual)
    return float(sums @ sums) / effects.information**2
