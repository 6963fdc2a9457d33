"""Results as plain values: what JSON can hold, and nothing that is no number."""

from __future__ import annotations

import math
from dataclasses import asdict, is_dataclass
from datetime import date
from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Return a value of plain Python, with None in the place of NaN and infinity."""
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, date):
        return value.isoformat()
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    return value
