"""The audit of a table of scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.arrays import is_number
from evenhand.auditing import one_baseline
from evenhand.auditing.bias import BiasEstimate, clustered, here, plain
from evenhand.auditing.decisions import Decisions, decisions
from evenhand.auditing.diagnosis import diagnose, ends
from evenhand.auditing.effects import Effects, standing_first, two_way
from evenhand.auditing.identified import Identified, identified
from evenhand.auditing.individual_biases import Each, Spreads, of_evaluators, of_favoured
from evenhand.auditing.page import cannot_tell, record_of, report_of
from evenhand.auditing.pairs import PairEffect, pair_effect
from evenhand.auditing.placebo import Placebo, placebo
from evenhand.auditing.scale_use import allowing_for_scale, common_bias
from evenhand.auditing.shortlists import refuse_unfit
from evenhand.best import Best
from evenhand.inference.target import Target
from evenhand.errors import InputError
from evenhand.readers import read_scores
from evenhand.report.model import Report
from evenhand.report.result import Result
from evenhand.scores import Factor, Scores
from evenhand.scores.baseline import against_baseline
from evenhand.scores.grades import Grades
from evenhand.scores.scores import Finding

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Result):
    """What a table of scores says about the bias of those who gave them.

    Parameters
    ----------
    effects
        The scores, less what options and evaluators explain.
    bias
        How much evaluators add to what they are partial to; the interval allows for evaluators and
        options that come back.
    naive
        The same with an interval as if all scores were independent: too short.
    seed
        Where permutations of groups come from.
    target
        What is wanted at every event, if anybody said; `decisions.shortlist` is then who.

    Examples
    --------
    See `audit`. ``print(audit)`` says it in words:

    >>> import pandas as pd
    >>> import evenhand as eh
    >>> frame = pd.DataFrame(
    ...     [("Ann", "P", 1, 9.0), ("Bo", "P", 0, 5.0), ("Ann", "Q", 0, 6.0), ("Bo", "Q", 1, 6.0)],
    ...     columns=["option", "evaluator", "home", "score"],
    ... )
    >>> found = eh.audit(frame, partial="home")
    >>> round(found.bias.value, 9), found.decisions.names(found.decisions.fair_winner)
    (2.0, ['Ann'])
    """

    effects: Effects
    bias: BiasEstimate
    naive: BiasEstimate
    seed: int = 0
    target: Target | None = None

    @property
    def scores(self) -> Scores:
        """The scores that were audited."""
        return self.effects.scores

    @property
    def noise(self) -> float:
        """Standard deviation of what is left over; NaN where nothing is."""
        return self.effects.noise

    @cached_property
    def identified(self) -> Identified:
        """Whether the scores tell the bias; if not, why not, and whom to ask about what."""
        return identified(self.scores, self.effects.told)

    @cached_property
    def attributes(self) -> dict[str, BiasEstimate]:
        """By how much scores rise with each further attribute, by name."""
        names = [name for name in self.effects.names if name != self.effects.name]
        return {name: clustered(self.effects.along(name), self.bias.level) for name in names}

    @cached_property
    def position(self) -> BiasEstimate | None:
        """By how much standing first helps in comparisons; None where nothing was compared, and
        against one baseline, where it is an attribute if both stood first.
        """
        if self.effects.scores.rival is None or self.effects.scores.baseline is not None:
            return None
        return clustered(standing_first(self.effects.scores), self.bias.level)

    @cached_property
    def ranking(self) -> pd.DataFrame | None:
        """Options against the one that all were compared with, with attributes such as length taken
        off: value, its interval by items, and what was given; None where there is no such one.
        """
        if self.effects.scores.baseline is None:
            return None
        return one_baseline.ranking(self.effects, self.bias.level)

    @cached_property
    def here(self) -> BiasEstimate:
        """The bias of these evaluators towards these options alone, whatever others would do.

        With three evaluators, how others would be is known but roughly, and `bias` is wide; how
        these have been may be known well.
        """
        return allowing_for_scale(self.effects, here(self.effects, self.bias.level), here)

    @cached_property
    def placebo(self) -> Placebo:
        """Permutation test: the bias with groups dealt out to evaluators at random."""
        return placebo(self.effects, self.seed)

    @cached_property
    def spread(self) -> Spreads:
        """How much biases differ: among evaluators, and among those whom they favour."""
        return Spreads(self._of_evaluators.spread, self._of_favoured.spread)

    @property
    def evaluators(self) -> pd.DataFrame:
        """Evaluators one by one; see `Each.frame`."""
        return self._of_evaluators.frame

    @property
    def groups(self) -> pd.DataFrame:
        """Those who are favoured, one by one: groups, or options where there are none."""
        return self._of_favoured.frame

    @cached_property
    def _of_evaluators(self) -> Each:
        return of_evaluators(self.effects, self.bias.level)

    @cached_property
    def _of_favoured(self) -> Each:
        return of_favoured(self.effects, self.bias.level)

    @cached_property
    def decisions(self) -> Decisions:
        """What the scores decide at every event, and what would change that."""
        scores = self.effects.scores
        added = np.zeros(len(scores)) if self.attributes else None
        for name, bias in self.attributes.items():
            if added is not None and np.isfinite(bias.value):
                added += bias.value * scores.attributes[name]
        return decisions(scores, self.bias, added, self.target)

    @cached_property
    def flips(self) -> pd.DataFrame:
        """Who wins at every event, by every rule: a row each; see `Decisions.flips`."""
        return self.decisions.flips()

    @cached_property
    def pair(self) -> PairEffect:
        """What stays with a pair of evaluator and option, against noise."""
        return pair_effect(self.effects)

    @cached_property
    def warnings(self) -> tuple[Finding, ...]:
        """What the scores say about the model: alarms first, then notes."""
        scores = self.effects.scores
        found = list(diagnose(self.effects, self.bias))
        if self.effects.freedom <= 0:
            found += ends(scores)
        found += self.identified.notes
        found += scores.notes
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
        if len(kinds.codes) != len(self.effects.scores):
            raise InputError(
                f"by() needs a label for each of {len(self.effects.scores):,} scores; got "
                f"{len(kinds.codes):,}."
            )
        return Each(self.effects, "kind", kinds.codes, kinds.names, {}, self.bias.level).frame

    @property
    def favoured(self) -> str:
        """What is favoured: a group, or an option where there are no groups."""
        return "option" if self.effects.scores.option_group is None else "group"

    def _report(self) -> Report:
        return report_of(self)

    def _record(self) -> dict[str, Any]:
        return record_of(self)

    def _draw(self, axes: Axes | None) -> Figure:
        from evenhand.auditing.figure import audit_picture, draw_audit_picture  # noqa: PLC0415

        return draw_audit_picture(audit_picture(self), axes)

    def __repr__(self) -> str:
        return f"Audit(bias={self.bias.value:.4g}, scores={len(self.effects.scores)})"


def audit(
    table: Any,
    *,
    option: str = "option",
    evaluator: str | None = "evaluator",
    score: str = "score",
    rival: str | None = "rival",
    item: str | Sequence[str] | None = "item",
    event: str | Sequence[str] | None = "event",
    option_group: str | Mapping[str, str] | None = "option_group",
    rival_group: str | None = "rival_group",
    evaluator_group: str | Mapping[str, str] | None = "evaluator_group",
    partial: str | None = None,
    reference: str | None = None,
    attributes: Sequence[str] | None = None,
    time: str | None = None,
    scale: tuple[float, float] | None = None,
    best: Best | None = None,
    wide: bool | Sequence[str] = False,
    repeats: bool = False,
    missing: Literal["refuse", "drop"] = "refuse",
    decimal: str | None = None,
    grades: Grades = None,
    copies: Literal["refuse", "drop"] = "refuse",
    confidence: float = 0.95,
    top: int | None = None,
    bar: float | None = None,
    against: str | None = None,
    tolerance: float = 0.0,
    seed: int = 0,
) -> Audit:
    """Tell whether scores that exist are biased, whose are, and which decisions would change.

    Parameters
    ----------
    table
        `Scores`, or what `evenhand.read_scores` takes: a frame of pandas, polars or pyarrow, a
        file (CSV, Parquet, Excel), or the log of an evaluation tool. A row for each score.
    option, evaluator, score
        The columns that say what was scored, by whom (None: nobody said), and how.
    rival
        In comparisons, the column of the option that stands second; the score then says by how much
        the first is better.
    item
        What options were tried on, such as prompts; several columns are taken together.
    event
        Where options compete: each event has a winner, and evaluators may be lenient at one and
        severe at another. Without it, the whole table is one.
    option_group, rival_group, evaluator_group
        Groups, such as nations or model families: an evaluator is partial to the own one. Columns,
        or mappings from names to groups.
    partial
        Instead of groups, a column that says how partial the evaluator is to the option: 0 or 1, or
        anything between.
    reference
        A column with what the score should have been, where something impartial knows.
    attributes
        Columns that scores may react to and worth does not, such as length. If not said, the
        lengths of answers where a log compares all with one baseline; (): none.
    time
        A column that says when a score was given, to look for drifts.
    scale
        The lowest and the highest score that can be given.
    best
        Whether the "high" or the "low" scores are the best, as where 1 is the best mark or place:
        who gives its own group less then favours it. Biases stay on the scale of the scores, so
        that such a favour is below 0. ``scale=(5, 1)`` says the same.
    wide, repeats, missing, decimal, grades, copies
        How the table is written, see `evenhand.read_scores`. Scores that are words or letters are
        ``grades``, the best first.
    confidence
        Of all intervals.
    top
        How many are wanted at every event, such as the ten that are funded: which of them change,
        and by what, is then in ``decisions.shortlist``.
    bar, against
        Instead of ``top``: what they must be worth, on the scale of the average evaluator, or the
        option that they must beat.
    tolerance
        By how much they may be worse than the bar or that option.
    seed
        Where permutations of groups come from.

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
    ...     frame, option="skater", evaluator="judge", score="points",
    ...     option_group="nation", evaluator_group="country",
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
    scores = read_scores(
        table,
        option=option,
        score=score,
        evaluator=evaluator,
        rival=rival,
        item=item,
        event=event,
        option_group=option_group,
        rival_group=rival_group,
        evaluator_group=evaluator_group,
        partial=partial,
        reference=reference,
        attributes=attributes,
        time=time,
        scale=scale,
        best=best,
        wide=wide,
        repeats=repeats,
        missing=missing,
        decimal=decimal,
        grades=grades,
        copies=copies,
        beside=False,
        telling=True,
        lengths=True,
    )
    scores = against_baseline(scores)
    if target is not None:
        target = replace(target, best=scores.best)
        refuse_unfit(scores, target)
    if scores.evaluator is None and scores.rival is None and scores.reference is None:
        raise InputError(
            "an audit compares what several evaluators gave to the same options, and no column "
            "says who gave which score. Name it: evaluator=. Where nobody knows, but features say "
            "what options are worth, make an ActionSet of them for decide."
        )
    effects = two_way(scores)
    bias = common_bias(effects, confidence)
    return Audit(effects, bias, plain(effects, confidence), seed, target)
