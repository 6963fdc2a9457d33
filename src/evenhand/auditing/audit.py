"""The audit of a table of scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from evenhand.arrays import is_number
from evenhand.auditing.agreement import Agreement
from evenhand.auditing.decisions import Decisions, decisions, refuse_unfit
from evenhand.auditing.each import Each, Spreads, each, of_evaluators, of_favoured
from evenhand.auditing.identified import Identified, why_not
from evenhand.auditing.page import cannot_tell, record_of, report_of
from evenhand.auditing.placebo import Placebo, placebo
from evenhand.errors import InputError, Remedy
from evenhand.findings import findings_of, unlinked
from evenhand.inference import Target
from evenhand.inference.biases import BiasEstimate, TableFit
from evenhand.questions.inputs import trusted_among
from evenhand.readers import read_scores
from evenhand.report.model import Report, Result
from evenhand.scores import Factor, Scores
from evenhand.scores.roles import ReadOptions
from evenhand.scores.scores import Finding, against_baseline, as_scores, crossed

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Result):
    """What a table of scores says about the bias of those who gave them.

    Parameters
    ----------
    table
        The scores, and their fits.
    bias
        How much evaluators add to what they are partial to; the interval allows for evaluators and
        options that come back.
    seed
        Where permutations of groups come from.
    target
        What is wanted at every event, if anybody said; `shortlist` is then who.
    trusted
        Names of evaluators with whom `agreement` compares the others.

    Examples
    --------
    See `audit`. ``print(audit)`` says it in words:

    >>> import pandas as pd
    >>> import evenhand as eh
    >>> frame = pd.DataFrame(
    ...     [("Ann", "P", 1, 9.0), ("Bo", "P", 0, 5.0), ("Ann", "Q", 0, 6.0), ("Bo", "Q", 1, 6.0)],
    ...     columns=["option", "evaluator", "home", "score"],
    ... )
    >>> found = eh.audit(frame, columns={"partial": "home"})
    >>> round(found.bias.value, 9), found.decisions["fair_winner"].tolist()
    (2.0, ['Ann'])
    """

    table: TableFit
    bias: BiasEstimate
    seed: int = 0
    target: Target | None = None
    trusted: tuple[str, ...] = ()

    @property
    def scores(self) -> Scores:
        """The scores that were audited; comparisons with one baseline as scores on items."""
        return self.table.scores

    @property
    def noise(self) -> float:
        """Standard deviation of what is left over; NaN where nothing is."""
        return self.table.panel.noise

    @cached_property
    def naive(self) -> BiasEstimate:
        """The bias with an interval as if all scores were independent: too short."""
        return self.table.naive(self.bias.level)

    @cached_property
    def here(self) -> BiasEstimate:
        """The bias of these evaluators towards these options alone, whatever others would do.

        With three evaluators, how others would be is known but roughly, and `bias` is wide; how
        these have been may be known well.
        """
        return self.table.here(self.bias.level)

    @cached_property
    def identified(self) -> Identified:
        """Whether the scores tell the bias; if not, why not, and whom to ask about what."""
        return Identified(True) if self.table.own.any() else why_not(self.scores)

    @cached_property
    def attributes(self) -> dict[str, BiasEstimate]:
        """By how much scores rise with each further attribute, by name."""
        return {name: self.table.bias(self.bias.level, name) for name in self.scores.attributes}

    @cached_property
    def position(self) -> BiasEstimate | None:
        """By how much standing first helps in comparisons; None where nothing was compared, and
        against one baseline, where it is an attribute if both stood first.
        """
        return self.table.standing_first(self.bias.level)

    @cached_property
    def ranking(self) -> pd.DataFrame | None:
        """Options against the one that all were compared with, with attributes such as length taken
        off: value, its interval by items, and what was given; None where there is no such one.
        """
        import pandas as pd  # noqa: PLC0415 # slow to load

        scores, base = self.scores, self.scores.baseline
        if base is None or scores.rival is not None or scores.item is None:
            return None
        k, low = len(scores.option), scores.best == "low"
        found = self.table.values.leads(np.arange(k), np.full(k, base)).ends(1.0 - self.bias.level)
        found = -found[:, [0, 2, 1]] if low else found
        found[base] = 0.0
        given = np.bincount(scores.option.codes, scores.score, k) / scores.option.counts
        tried, n = crossed(scores.option.codes, scores.item.codes)
        of = np.zeros(n, dtype=np.intp)
        of[tried] = scores.option.codes
        items = np.bincount(of, minlength=k)
        items[base] = 0
        columns = {"option": scores.option.names, "as given": given}
        columns |= dict(zip(("value", "low", "high"), found.T + 0.0, strict=True))
        frame = pd.DataFrame(columns | {"items": items})
        frame["rank as given"] = frame["as given"].rank(ascending=low, method="min").astype(int)
        return frame.sort_values("value", ascending=low, kind="stable", ignore_index=True)

    @cached_property
    def criteria(self) -> pd.DataFrame | None:
        """The bias in the marks on each criterion: a row each, with its weight and mean mark."""
        import pandas as pd  # noqa: PLC0415 # slow to load

        alone, weights = self.scores.on_criteria, self.scores.weights
        means = {name: float(one.score.mean()) for name, one in alone.items()}
        found = {name: TableFit(one).bias(self.bias.level) for name, one in alone.items()}
        rows = [(c, weights[c], means[c], b.value, b.low, b.high) for c, b in found.items()]
        header = ["criterion", "weight", "mean", "bias", "low", "high"]
        return pd.DataFrame(rows, columns=header) if rows else None

    @cached_property
    def placebo(self) -> Placebo:
        """Permutation test: the bias with groups dealt out to evaluators at random."""
        return placebo(self.table, self.seed)

    @cached_property
    def agreement(self) -> Agreement:
        """How well evaluators agree with one another, and with those who are trusted."""
        return Agreement(self.scores, self.bias.level, self.trusted)

    @cached_property
    def _each(self) -> tuple[Each, Each]:
        return of_evaluators(self.table, self.bias.level), of_favoured(self.table, self.bias.level)

    @cached_property
    def spread(self) -> Spreads:
        """How much biases differ: among evaluators, and among those whom they favour."""
        return Spreads(*(one.spread for one in self._each))

    @property
    def evaluators(self) -> pd.DataFrame:
        """The biases of evaluators, one by one."""
        return self._each[0].frame

    @property
    def groups(self) -> pd.DataFrame:
        """Those who are favoured, one by one: groups, or options where there are none."""
        return self._each[1].frame

    @cached_property
    def _decided(self) -> Decisions:
        return decisions(self.scores, self.bias, self.attributes, self.target)

    @property
    def decisions(self) -> pd.DataFrame:
        """What the scores decide: a row for every event, with a verdict on its winner by the mean
        scores; see `Decisions.events`.
        """
        return self._decided.events

    @property
    def flips(self) -> pd.DataFrame:
        """Who wins at every event, by every rule: a row each; see `Decisions.flips`."""
        return self._decided.flips

    @property
    def shortlist(self) -> pd.DataFrame | None:
        """Who is wanted at every event, by every rule; see `Decisions.shortlist`."""
        return self._decided.shortlist

    @cached_property
    def warnings(self) -> tuple[Finding, ...]:
        """What the scores say about the model: alarms first, then notes."""
        panel = self.table.panel
        found = [
            *findings_of(self.scores, self.table.residual, panel.leverage, float(panel.freedom)),
            *(unlinked(self.scores) if self.identified.told else ()),
            *self.scores.notes,
        ]
        return tuple(sorted(found, key=lambda finding: not finding.alarm))

    @cached_property
    def cannot_tell(self) -> tuple[str, ...]:
        """What no score can tell, in numbers."""
        return cannot_tell(self)

    def by(self, labels: Iterable[object]) -> pd.DataFrame:
        """Return the bias in each kind of score, with intervals for these evaluators and options.

        Parameters
        ----------
        labels
            (n,) the kind of each score, such as free or short programme, in the order of the table.
        """
        kinds = Factor.of([str(label) for label in labels])
        if len(kinds.codes) != len(self.scores):
            raise InputError(
                f"by() needs a label for each of {len(self.scores):,} scores; got "
                f"{len(kinds.codes):,}."
            )
        return each(self.table, self.bias.level, "kind", kinds.codes, kinds.names).frame

    def _report(self) -> Report:
        return report_of(self)

    def _record(self) -> dict[str, Any]:
        return record_of(self)

    def _draw(self, axes: Axes | None) -> Figure:
        from evenhand.auditing.figure import audit_picture, draw_audit_picture  # noqa: PLC0415

        return draw_audit_picture(audit_picture(self), axes)

    def __repr__(self) -> str:
        return f"Audit(bias={self.bias.value:.4g}, scores={len(self.scores)})"


def audit(
    table: Any,
    *,
    confidence: float = 0.95,
    top: int | None = None,
    bar: float | None = None,
    against: str | None = None,
    tolerance: float = 0.0,
    trusted: Sequence[str] | str | None = None,
    seed: int = 0,
    **reading: Unpack[ReadOptions],
) -> Audit:
    """Tell whether scores that exist are biased, whose are, and which decisions would change.

    Parameters
    ----------
    table
        `Scores`, or what `evenhand.read_scores` takes: a frame of pandas, polars or pyarrow, a
        file (CSV, Parquet, Excel), or the log of an evaluation tool. A row for each score.
    confidence
        Of all intervals.
    top
        How many are wanted at every event, such as the ten that are funded: which of them change,
        and by what, is then in ``shortlist``.
    bar, against
        Instead of ``top``: what they must be worth, on the scale of the average evaluator, or the
        option that they must beat.
    tolerance
        By how much they may be worse than the bar or that option.
    trusted
        Evaluators, such as people beside a model, with whom `Audit.agreement` compares the others;
        by default the ``reference``, if there is one.
    seed
        Where permutations of groups come from.
    reading
        How the table is read, ``columns`` first: see `evenhand.read_scores`. An evaluator is
        partial to the own group (``option_group``, ``evaluator_group``), or as ``partial`` says.
        Each ``event`` has a winner of its own, and evaluators may be lenient at one and severe at
        another. With a ``reference``, what the score should have been. ``attributes`` are what
        scores may react to and worth does not; if not said, the lengths of answers where a log
        compares all with one baseline. Where the "low" scores are the ``best``, biases stay on the
        scale of the scores: a favour is below 0.

    Examples
    --------
    Five judges and six skaters, each scored once by everybody:

    >>> import pandas as pd
    >>> judges = {"P": "FRA", "Q": "ITA", "R": "FRA", "S": "ITA", "T": "SWE"}
    >>> skaters = {"Ann": "FRA", "Bo": "ITA", "Cy": "FRA", "Di": "ITA", "Ed": "JPN", "Flo": "USA"}
    >>> noise = iter([3, -2, 1, 0, -1, 2, -3, 1, 0, 2, -2, 1, -1, 3, 0] * 2)
    >>> rows = [
    ...     (skater, nation, judge, of, 10 * place + 4 * (nation == of) + next(noise) / 4)
    ...     for place, (skater, nation) in enumerate(skaters.items())
    ...     for judge, of in judges.items()
    ... ]
    >>> frame = pd.DataFrame(rows, columns=["skater", "nation", "judge", "country", "points"])
    >>> found = audit(
    ...     frame,
    ...     columns={"option": "skater", "evaluator": "judge", "score": "points",
    ...              "option_group": "nation", "evaluator_group": "country"},
    ... )
    >>> found.bias.covers(4.0), found.bias.covers(0.0)
    (True, False)
    >>> print(str(found).splitlines()[0])
    Yes: evaluators add ... points (... to ..., 95% sure) to their own group...
    """
    if not is_number(confidence) or not 0.0 < confidence < 1.0:
        raise InputError(f"confidence must lie between 0 and 1; got {confidence!r}.")
    target = Target.of(top, bar, against, tolerance)
    if tolerance and (target is None or target.top is not None):
        raise InputError(f"tolerance goes with bar or against; got {tolerance!r} without them.")
    unsaid = ReadOptions(repeats=False, beside=False, telling=True, lengths=True)
    scores = against_baseline(read_scores(table, **(unsaid | reading)))
    if scores.baseline is not None and scores.reference is None:
        scores = as_scores(scores)
    if target is not None:
        target = replace(target, best=scores.best)
        refuse_unfit(scores, target)
    if scores.evaluator is None and scores.rival is None and scores.reference is None:
        raise InputError(
            "an audit compares what several evaluators gave to the same options, and no column "
            "says who gave which score. Where nobody knows, but features say what options are "
            "worth, make an ActionSet of them for decide.",
            Remedy("columns", {"evaluator": ...}, "with that column"),
        )
    names = () if scores.evaluator is None else scores.evaluator.names
    people = () if trusted is None else trusted_among(trusted, names)
    _ = scores.level  # says what is wrong with scores that have lost their digits
    fitted = TableFit(scores)
    return Audit(fitted, fitted.bias(confidence), seed, target, people)
