"""What findings say, in words: what was seen, and what to do."""

from __future__ import annotations

from evenhand.questions import Questions

OPTIONS = {
    "one": "option",
    "many": "options",
    "model": "the features",
    "Model": "The features",
    "means": "mean scores of options lie further from the linear model than their scatter allows",
    "remedy": "Go by the options' own scores, or add features that tell these options apart.",
    "further": "Evaluate further ones.",
    "again": "hardly any option was evaluated twice. Evaluate some again.",
    "constant": "A constant, which the features do not hold, would explain {share:.0%} of it: add "
    "an intercept, ActionSet(..., intercept=True).",
}
"""What to call what was evaluated, what should explain it, and what to do if it does not."""

_QUESTIONS = {
    "one": "question",
    "many": "questions",
    "model": "values, leniency and favours",
    "Model": "Values, leniency and favours",
    "means": "mean answers to questions lie further from their sum than their scatter allows",
    "remedy": "Evaluators differ on these by more: let each have a favour of its own "
    "(bias='evaluator'), or ask more evaluators about the options that matter.",
    "further": "Ask further ones.",
    "again": "hardly any question was asked twice, so what one evaluator adds to one option alone "
    "counts as noise. Ask some again, if that can be.",
    "constant": "A favour for what is named first would explain {share:.0%} of it: allow for it, "
    "Questions.comparisons(..., position=True).",
}
_ONCE = _QUESTIONS | {
    "again": "nothing can be asked twice, so what one evaluator adds to one option alone counts as "
    "noise."
}
_FIT = "{Model} do not explain the scores: {means} ({p}){worst}. "
_UNCHECKED = "Whether {model} explain the scores was not checked: "
_SCATTER = "Scores of one and the same {one} scatter by {seen:.3g}"
_SAID = {
    "fit": _FIT + "{remedy}",
    "intercept": _FIT,
    "no fit": _UNCHECKED + "{n} {many} were evaluated, no more than the model has parameters. "
    "{further}",
    "no scatter": _UNCHECKED + "{again}",
    "louder": _SCATTER + ", more than the stated noise_scale of {stated:.3g} allows. Give "
    "noise_scale=None, and it is estimated.",
    "quieter": _SCATTER + " only; noise_scale was stated as {stated:.3g}. A smaller one needs "
    "fewer evaluations.",
    "drift": "Scores {way} with time, by {size:.2g} in 100 evaluations, for one and the same "
    "{one}. Ask in random order, and ask early {many} again.",
    "dependence": "Scores that follow each other are alike beyond their {many} (correlation "
    "{rho:.2f}), so they tell less than so many independent ones. Ask in random order, with breaks "
    "or by several evaluators.",
    "outliers": "{n} scores ({share:.1%}) lie far outside what their {many}' other scores allow: "
    "{named}. Look for typing errors; drop or mend these scores.",
    "suspicious": "Suspicious, far from its {one}'s other scores: {named}. Look at it again.",
    "repeats": "All {n} repeated evaluations gave the same score as before. An evaluator who "
    "repeats himself tells nothing new, and the noise cannot be seen: ask others, or ask in "
    "another way.",
    "rounding": "Scores come in steps of {step:.3g}, coarse beside their scatter of {seen:.2g}. "
    "Intervals are made for scores without steps: finer scores tell more.",
}


def terms_of(questions: Questions) -> dict[str, str]:
    """Return what to call what was evaluated: options, where each is its own question."""
    if not len(questions.evaluators):
        return OPTIONS
    return _ONCE if int(questions.capacity.max(initial=0)) <= 1 else _QUESTIONS


def said(what: str, terms: dict[str, str], **seen: object) -> str:
    """Return what was seen, in words."""
    more = terms["constant"] if what == "intercept" else ""
    return (_SAID[what] + more).format(**terms, **seen)
