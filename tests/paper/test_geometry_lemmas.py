"""The margin of Lemma 1, measured again on named sets; other lemmas are tried by `reproduce`."""

from __future__ import annotations

import math

import numpy as np
import pytest

import evenhand as eh
from instances import BIASES, Bias
from reference import kappa_star

PLAIN = [bias for bias in BIASES if bias.gaps is None]
"""Action sets without gaps, κ_* from 1 to beyond 1e9."""


@pytest.mark.parametrize("bias", PLAIN, ids=lambda bias: bias.name)
def test_lemma_1(bias: Bias) -> None:
    """margin/radius = (√κ_*−1)/(√κ_*+1), both measured again from the points and the normal."""
    geometry = eh.bias_geometry(eh.ActionSet(bias.features, bias.groups))
    kappa = kappa_star(bias.features, bias.groups)
    if kappa == 1.0:
        assert not geometry.separable
        assert geometry.kappa_star == pytest.approx(1.0, rel=bias.tolerance)
        return
    assert geometry.separable
    root = math.sqrt(kappa)
    # 1 − margin/radius = 2/(√κ+1) keeps its digits when κ is large.
    shortfall = (geometry.radius - geometry.margin) / geometry.radius
    noise = 1e-13
    assert shortfall == pytest.approx(2 / (root + 1), rel=max(bias.tolerance, 1e-7), abs=noise)
    normal = np.asarray(geometry.normal, dtype=np.float64)
    sides = np.array(bias.groups) * (bias.features @ normal) / np.linalg.norm(normal)
    assert (sides > 0).all() or (sides < 0).all()
    distances = np.abs(sides)
    # Relative to what cancels in x·normal.
    rounding = 64 * np.finfo(float).eps * float((np.abs(bias.features) @ np.abs(normal)).max())
    rounding /= float(np.linalg.norm(normal))
    assert distances.min() == pytest.approx(geometry.margin, rel=1e-7, abs=rounding)
    assert distances.max() == pytest.approx(geometry.radius, rel=1e-7, abs=rounding)
