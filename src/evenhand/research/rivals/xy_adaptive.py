"""XY-adaptive: phases of ten times the accuracy, each with the design for leads that are open.

Soare, Lazaric and Munos, Best-Arm Identification in Linear Bandits, NeurIPS 2014, on the joint
model of values and bias. `identification`, `tracking` and `rage` have the notation, and when to
stop.

A phase tells apart who is left until ρ over its evaluations is a tenth of what it was in the phase
before. Then all go whom x̂ leads for certain, by the threshold in force. The source takes questions
one by one, each the one that makes ρ least; here they follow the shares of least ρ. It drops whom
anybody leads; here whom x̂ leads, who leads by most.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from evenhand.policies.registry import registered
from evenhand.research.rivals.rage import RoundPolicy

_FINER = 0.1  # ρ over the evaluations of a phase, as a share of that of the phase before


@registered
class XYAdaptive(RoundPolicy):
    """Evaluates by phases of the XY design for options that are left, until it is sure."""

    name: ClassVar[str] = "xy-adaptive"

    def length(self, spread: float) -> float:
        """Return what makes ρ over the evaluations a tenth of what it was."""
        return spread / (_FINER * (self._precision or spread))

    def left(self) -> NDArray[np.bool_]:
        """Tell whom x̂ does not lead for certain."""
        return np.asarray(self.leads.leads <= self.leads.widths)
