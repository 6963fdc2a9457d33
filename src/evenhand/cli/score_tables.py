"""What commands on tables of scores share: what people write in options, and files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from evenhand.cli.panel_files import table_at
from evenhand.cli.terminal import names_in
from evenhand.errors import InputError

_NOTHING = "none"


def scores_at(
    scores: str,
    log_format: str | None = None,
    metric: list[str] | None = None,
    families: Path | None = None,
) -> Any:
    """Return what to read; "-" is the standard input."""
    if scores == "-":
        return table_at(scores)
    if log_format is None and metric is None and families is None:
        return scores
    from evenhand.readers import read_scores  # noqa: PLC0415 - see evenhand.tables

    return read_scores(scores, log_format, metric=metric, families=families)


def column_in(text: str) -> str | None:
    """Return a column; None where 'none' says that there is none."""
    return None if text == _NOTHING else text


def columns_in(text: str) -> str | list[str] | None:
    """Return a column, or several that are separated by commas; None for 'none'."""
    return names_in(text) if "," in text else column_in(text)


def groups_in(text: str) -> Any:
    """Return a column, or groups by name where they are written out."""
    pairs = names_in(text) or []
    if not pairs or not all("=" in pair for pair in pairs):
        return column_in(text)
    return {name.strip(): group.strip() for name, group in (p.split("=", 1) for p in pairs)}


def scale_in(text: str | None) -> tuple[float, float] | None:
    """Return the lowest and the highest score."""
    if text is None:
        return None
    try:
        low, high = (float(end) for end in text.split(","))
    except ValueError:
        raise InputError(
            f"--scale is the lowest and the highest score, such as 0,10; got {text!r}."
        ) from None
    return low, high


def missing_in(text: str) -> Literal["refuse", "drop"]:
    """Return what becomes of rows with empty cells."""
    return text  # type: ignore[return-value] # checked where it is used


def check_files(figure: Path | None, report: Path | None = None, *others: Path | None) -> None:
    """Refuse files that cannot be written before any work."""
    if figure is not None:
        from evenhand.report.pictures import checked_format  # noqa: PLC0415 - loads matplotlib

        checked_format(figure)
    if report is not None and report.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"--report writes a page: FILE.html; got {str(report)!r}.")
    for path in (figure, report, *others):
        if path is not None and not path.parent.is_dir():
            raise InputError(
                f"there is no folder {str(path.parent)!r}; make it, or choose another."
            )
