"""What findings say, in words: what was seen, and what to do."""

from __future__ import annotations

from evenhand.checks.fit import LackOfFit


def fit(lack: LackOfFit, worst: list[tuple[str, float]]) -> str:
    """``worst``: labels and residuals."""
    seen = _unexplained(lack)
    if worst:
        seen += ", most of all " + ", ".join(f"{label} ({off:+.2g})" for label, off in worst)
    return f"{seen}. Go by the options' own scores, or add features that tell these options apart."


def intercept(lack: LackOfFit, share: float) -> str:
    """``share``: how much of the lack of fit a constant would explain."""
    return (
        f"{_unexplained(lack)}. A constant, which the features do not hold, would explain "
        f"{share:.0%} of it: add an intercept, ActionSet(..., intercept=True)."
    )


def _unexplained(lack: LackOfFit) -> str:
    p = f"p = {lack.p_value:.1g}" if lack.p_value >= 1e-12 else "p < 1e-12"
    return (
        "The features do not explain the scores: mean scores of options lie further from the "
        f"linear model than their scatter allows ({p})"
    )


def not_checked(n_options: int, df: int) -> str:
    """Nothing could be seen of the fit, with so many options and degrees of freedom."""
    seen = "Whether the features explain the scores was not checked: "
    if df == 0:
        return (
            f"{seen}{n_options} options were evaluated, no more than the model has parameters. "
            "Evaluate further ones."
        )
    return f"{seen}hardly any option was evaluated twice. Evaluate some again."


def scale_too_small(stated: float, seen: float) -> str:
    """Repeats scatter more than stated."""
    return (
        f"Scores of one and the same option scatter by {seen:.3g}, more than the stated "
        f"noise_scale of {stated:.3g} allows. Give noise_scale=None, and it is estimated."
    )


def scale_too_large(stated: float, seen: float) -> str:
    """Repeats scatter far less than stated."""
    return (
        f"Scores of one and the same option scatter by {seen:.3g} only; noise_scale was stated as "
        f"{stated:.3g}. A smaller one needs fewer evaluations."
    )


def drift(slope: float) -> str:
    """Scores move with time, by so much per evaluation."""
    return (
        f"Scores {'rise' if slope > 0 else 'fall'} with time, by {abs(100 * slope):.2g} in 100 "
        "evaluations, for one and the same option. Ask in random order, and ask early options "
        "again."
    )


def dependence(correlation: float) -> str:
    """Neighbours are correlated."""
    return (
        "Scores that follow each other are alike beyond their options (correlation "
        f"{correlation:.2f}), so they tell less than so many independent ones. Ask in random "
        "order, with breaks or by several evaluators."
    )


def outliers(n: int, share: float, named: str) -> str:
    """So many scores, this share of all, lie far out."""
    return (
        f"{n} scores ({share:.1%}) lie far outside what their options' other scores allow: "
        f"{named}. Look for typing errors; drop or mend these scores."
    )


def suspicious(named: str) -> str:
    """A score or a few lie far out."""
    return f"Suspicious, far from its option's other scores: {named}. Look at it again."


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
