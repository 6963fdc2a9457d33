"""Write a reproduction to a folder: figures, page, and the numbers behind them."""

from __future__ import annotations

import json
from pathlib import Path

from evenhand.files import make_folder, write_atomically
from evenhand.report.pictures import save_figure
from evenhand.research.reproduction.figures import FIGURES
from evenhand.research.reproduction.reproduction import Reproduction


def write_reproduction(reproduction: Reproduction, folder: Path) -> Path:
    """Write everything to a folder, figures as SVG and PNG, numbers as ``measurements.json``;
    return the page.
    """
    make_folder(folder)
    for figure in FIGURES:
        drawn = figure.draw(reproduction.measurements)
        for kind in ("svg", "png"):
            save_figure(drawn, folder / f"{figure.name}.{kind}")
    with write_atomically(folder / "measurements.json", "the report") as draft:
        draft.write_text(json.dumps(reproduction.to_dict(), indent=1) + "\n", "utf-8")
    reproduction.report(folder / "index.html")
    return folder / "index.html"
