"""What findings say, in words: what was seen, and what to do."""

from __future__ import annotations

from typing import NamedTuple

from evenhand.checks.statistics import LackOfFit
from evenhand.questions import Questions


class Wording(NamedTuple):
    """What to call what was evaluated, what should explain it, and what to do if it does not."""

    one: str
    many: str
    model: str
    means: str
    remedy: str
    further: str
    again: str


_OPTIONS = Wording(
    "option",
    "options",
    "the features",
    "mean scores of options lie further from the linear model than their scatter allows",
    "Go by the options' own scores, or add features that tell these options apart.",
    "Evaluate further ones.",
    "hardly any option was evaluated twice. Evaluate some again.",
)
_QUESTIONS = Wording(
    "question",
    "questions",
    "values, leniency and favours",
    "mean answers to questions lie further from their sum than their scatter allows",
    "Evaluators differ on these by more: let each have a favour of its own (bias='evaluator'), or "
    "ask more evaluators about the options that matter.",
    "Ask further ones.",
    "hardly any question was asked twice, so what one evaluator adds to one option alone counts as "
    "noise. Ask some again, if that can be.",
)
_ONCE = _QUESTIONS._replace(
    again="nothing can be asked twice, so what one evaluator adds to one option alone counts as "
    "noise."
)


def terms_of(questions: Questions) -> Wording:
    """Return what to call what was evaluated: options, where each is its own question."""
    if not len(questions.evaluators):
        return _OPTIONS
    return _ONCE if int(questions.capacity.max(initial=0)) <= 1 else _QUESTIONS


def fit(lack: LackOfFit, worst: list[tuple[str, float]], terms: Wording = _OPTIONS) -> str:
    """``worst``: labels and residuals."""
    seen = _unexplained(lack, terms)
    if worst:
        seen += ", most of all " + ", ".join(f"{label} ({off:+.2g})" for label, off in worst)
    return f"{seen}. {terms.remedy}"


def intercept(lack: LackOfFit, share: float, terms: Wording = _OPTIONS) -> str:
    """``share``: how much of the lack of fit a constant would explain."""
    seen = _unexplained(lack, terms)
    if terms is not _OPTIONS:
        return (
            f"{seen}. A favour for what is named first would explain {share:.0%} of it: allow for "
            "it, Questions.comparisons(..., position=True)."
        )
    return (
        f"{seen}. A constant, which the features do not hold, would explain {share:.0%} of it: add "
        "an intercept, ActionSet(..., intercept=True)."
    )


def _unexplained(lack: LackOfFit, terms: Wording) -> str:
    p = f"p = {lack.p_value:.1g}" if lack.p_value >= 1e-12 else "p < 1e-12"
    model = terms.model[0].upper() + terms.model[1:]
    return f"{model} do not explain the scores: {terms.means} ({p})"


def not_checked(n_options: int, df: int, terms: Wording = _OPTIONS) -> str:
    """Nothing could be seen of the fit, with so many options and degrees of freedom."""
    seen = f"Whether {terms.model} explain the scores was not checked: "
    if df == 0:
        return (
            f"{seen}{n_options} {terms.many} were evaluated, no more than the model has "
            f"parameters. {terms.further}"
        )
    return f"{seen}{terms.again}"


def scale_too_small(stated: float, seen: float, terms: Wording = _OPTIONS) -> str:
    """Repeats scatter more than stated."""
    return (
        f"Scores of one and the same {terms.one} scatter by {seen:.3g}, more than the stated "
        f"noise_scale of {stated:.3g} allows. Give noise_scale=None, and it is estimated."
    )


def scale_too_large(stated: float, seen: float, terms: Wording = _OPTIONS) -> str:
    """Repeats scatter far less than stated."""
    return (
        f"Scores of one and the same {terms.one} scatter by {seen:.3g} only; noise_scale was "
        f"stated as {stated:.3g}. A smaller one needs fewer evaluations."
    )


def drift(slope: float, terms: Wording = _OPTIONS) -> str:
    """Scores move with time, by so much per evaluation."""
    return (
        f"Scores {'rise' if slope > 0 else 'fall'} with time, by {abs(100 * slope):.2g} in 100 "
        f"evaluations, for one and the same {terms.one}. Ask in random order, and ask early "
        f"{terms.many} again."
    )


def dependence(correlation: float, terms: Wording = _OPTIONS) -> str:
    """Neighbours are correlated."""
    return (
        f"Scores that follow each other are alike beyond their {terms.many} (correlation "
        f"{correlation:.2f}), so they tell less than so many independent ones. Ask in random "
        "order, with breaks or by several evaluators."
    )


def outliers(n: int, share: float, named: str, terms: Wording = _OPTIONS) -> str:
    """So many scores, this share of all, lie far out."""
    return (
        f"{n} scores ({share:.1%}) lie far outside what their {terms.many}' other scores allow: "
        f"{named}. Look for typing errors; drop or mend these scores."
    )


def suspicious(named: str, terms: Wording = _OPTIONS) -> str:
    """A score or a few lie far out."""
    return f"Suspicious, far from its {terms.one}'s other scores: {named}. Look at it again."


def repeats(n: int) -> str:
    """So many repeats gave nothing new."""
    return (
        f"All {n} repeated evaluations gave the same score as before. An evaluator who repeats "
        "himself tells nothing new, and the noise cannot be seen: ask others, or ask in another "
        "way."
    )


def rounding(step: float, seen: float) -> str:
    """The step between scores is wide beside their scatter."""
    return (
        f"Scores come in steps of {step:.3g}, coarse beside their scatter of {seen:.2g}. Intervals "
        "are made for scores without steps: finer scores tell more."
    )
