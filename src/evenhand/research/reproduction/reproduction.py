"""The paper, reproduced: what was measured beside what it claims."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.report.model import Report, Result
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.reproduction.measurements import Measurements
from evenhand.research.reproduction.statements import Statement

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Reproduction(Result):
    """Every statement of the paper, with what was measured."""

    measurements: Measurements
    statements: tuple[Statement, ...]
    command: str = ""

    @property
    def holds(self) -> bool:
        """Whether every statement holds in what was measured."""
        return all(row.holds for row in self.statements)

    def _report(self) -> Report:
        from evenhand.research.reproduction.sections import report_of  # noqa: PLC0415

        return report_of(self)

    def _record(self) -> dict[str, Any]:
        return {
            "seed": self.measurements.seed,
            "statements": [dataclasses.asdict(row) for row in self.statements],
            "measurements": _parts(self.measurements),
        }

    def _draw(self, axes: Axes | None) -> Figure:
        from evenhand.research.reproduction.figures import draw_in_horizon  # noqa: PLC0415

        return draw_in_horizon(self.measurements, axes)

    def __repr__(self) -> str:
        held = sum(row.holds for row in self.statements)
        return f"Reproduction({held} of {len(self.statements)} statements hold)"


def _parts(value: Any) -> Any:
    """Return dataclasses as dictionaries; a problem is told by its parameters."""
    if isinstance(value, BiasedLinearBandit):
        return {"gamma": value.gamma, "omega": value.omega}
    if dataclasses.is_dataclass(value):
        return {f.name: _parts(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {name: _parts(part) for name, part in value.items()}
    return [_parts(part) for part in value] if isinstance(value, tuple | list) else value
