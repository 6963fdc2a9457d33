"""Write a reproduction to a folder: figures, page, and the numbers behind them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.errors import InputError
from evenhand.files import write_atomically
from evenhand.report.bias_figure import save_figure
from evenhand.research.environments.problem import BiasedLinearBandit
from evenhand.research.reproduction.figures import PICTURES
from evenhand.research.reproduction.measurements import Measurements
from evenhand.research.reproduction.page import page
from evenhand.research.reproduction.statements import Statement


def write_reproduction(
    found: Measurements, rows: tuple[Statement, ...], folder: Path, command: str
) -> Path:
    """Write everything to a folder and return the page.

    Figures are written as SVG and PNG, the numbers as ``measurements.json``.
    """
    make_folder(folder)
    drawings = {}
    for picture in PICTURES:
        figure = picture.draw(found)
        for kind in ("svg", "png"):
            save_figure(figure, folder / f"{picture.name}.{kind}")
        drawings[picture.name] = (folder / f"{picture.name}.svg").read_text("utf-8")
    numbers = {
        "statements": [dataclasses.asdict(row) for row in rows],
        "measurements": _plain(found),
    }
    _write(folder / "measurements.json", json.dumps(numbers, indent=1) + "\n")
    return _write(folder / "index.html", page(found, rows, drawings, command))


def _write(path: Path, text: str) -> Path:
    with write_atomically(path, "the report") as draft:
        draft.write_text(text, "utf-8")
    return path


def make_folder(folder: Path) -> None:
    """Make a folder that can be written to, or say why not."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder {folder} cannot be made: {error.strerror or error}; choose another."
        ) from None


def _plain(value: Any) -> Any:
    """Return dataclasses and arrays as JSON has them; a problem is told by its parameters."""
    if isinstance(value, BiasedLinearBandit):
        return {"gamma": value.gamma.tolist(), "omega": value.omega}
    if dataclasses.is_dataclass(value):
        return {f.name: _plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return value
