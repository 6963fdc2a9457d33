"""What every result can do: print, show itself in a notebook, to_dict, plot, report."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from datetime import date
from os import PathLike
from typing import TYPE_CHECKING, Any

from evenhand.report.model import Report
from evenhand.report.plain_values import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Result(ABC):
    """A result that says what it has to say in one value, a `Report`, however it is shown.

    A room implements three methods, which hand on to its `sections.py` and `figure.py`.
    """

    @abstractmethod
    def _report(self) -> Report:
        """Return what there is to say."""

    @abstractmethod
    def _record(self) -> Mapping[str, Any]:
        """Return what machines read, by names that stay; numbers may be infinite or NaN."""

    @abstractmethod
    def _draw(self, axes: Axes | None) -> Figure:
        """Draw the picture, or its main part into axes of the user's."""

    def __str__(self) -> str:
        from evenhand.report.text import as_text  # noqa: PLC0415 # only who prints needs it

        return as_text(self._report())

    def _repr_html_(self) -> str:
        from evenhand.report.notebook import as_html  # noqa: PLC0415 # only notebooks need it

        return as_html(self._report())

    def to_dict(self) -> dict[str, Any]:
        """Return everything as texts, numbers, lists and dictionaries, fit for JSON.

        What is not known, or has no end, is None.
        """
        found: dict[str, Any] = plain(dict(self._record()))
        return found

    def plot(self, path: str | PathLike[str] | None = None, ax: Axes | None = None) -> Figure:
        """Draw the picture.

        Parameters
        ----------
        path
            Where to write it (.png, .svg or .pdf); nowhere if not given.
        ax
            Axes of a figure of your own, which get the main part of the picture.
        """
        from evenhand.report.pictures import checked_format, save_figure  # noqa: PLC0415

        if path is not None:
            checked_format(path)
        figure = self._draw(ax)
        if path is not None:
            save_figure(figure, path)
        return figure

    def report(
        self, path: str | PathLike[str], *, title: str | None = None, made: date | None = None
    ) -> None:
        """Write a page of HTML that holds everything, to read, to print and to send on.

        Parameters
        ----------
        path
            Where to write it.
        title
            What it is about, in your words.
        made
            The day that it is of; today if not given.
        """
        from evenhand.report.document import as_page, write_page  # noqa: PLC0415

        write_page(as_page(self._report(), title, made), path)
