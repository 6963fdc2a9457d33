"""What is taken for granted about the options, in words, before anything is evaluated.

Notation: q questions, whose points (x; z) have rank r; in an `ActionSet` every option is its own.
Evaluations are x·γ + z·ω and noise.

Nothing in a table says that values are linear in the features, nor in a panel that evaluators add
the same to all options. Only evaluations can show that they do not, and only of q − r questions
more than the r that the parameters need.
"""

from __future__ import annotations

import numpy as np

from evenhand.actions import ActionSet
from evenhand.numerics.row_space import DoubtfulRankError, space_of
from evenhand.questions import Askable, Questions, panel_form
from evenhand.scores.scores import Finding

_FEW = 2  # questions beside those that the parameters need, that check the model but poorly
_NOT_CHECKED = (
    "No evaluation was spent on checking the model (checks=False): where it fails, that may not "
    "have been seen."
)


def model(actions: Askable) -> str:
    """Return what everything here rests on, in one sentence."""
    if isinstance(actions, Questions):
        return _model_of_questions(actions)
    if actions.group_names is None:
        reaction = "evaluations to add what is linear in the attributes"
    else:
        reaction = "evaluations to add one and the same bias for each group"
    return f"Values are taken to be linear in the features, exactly, and {reaction}."


def _model_of_questions(questions: Questions) -> str:
    """Return what a score is taken to be the sum of."""
    two = bool((questions.about >= 0).all())
    more = "by how much one option is worth more than the other"
    parts = [more if two else "what the option is worth"]
    if any(column.kind == "leniency" for column in questions.columns):
        parts.append("what the evaluator adds to everybody")
    if any(column.kind == "position" for column in questions.columns):
        parts.append("what being named first adds")
    parts += _favours(questions)
    if any(column.kind == "attribute" for column in questions.columns):
        parts.append("what is linear in the attributes")
    listed = parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])}, and {parts[-1]}"
    said = f"A score is taken to be {listed}."
    if questions.options.stand_alone:
        return said
    return f"Values are taken to be linear in the features, exactly. {said}"


def _favours(questions: Questions) -> list[str]:
    """Return which favours there may be, in words."""
    favours = [column for column in questions.columns if column.kind == "bias"]
    if not favours:
        return []
    if any(column.evaluator is not None for column in favours):
        return ["one favour of each evaluator, the same for all who are favoured"]
    if any(column.group is not None for column in favours):
        return ["one favour for each own group, the same for all its evaluators"]
    if len(questions.evaluators) < 2 or len(favours) > 1:
        return [f"one favour for the {column.name}" for column in favours]
    return [f"one favour for the {favours[0].name}, the same for all evaluators"]


def spare_options(actions: Askable) -> int:
    """Return q − r: how many options, or questions, are left to check the model with."""
    if isinstance(actions, Questions) and actions.has_arrow_form:
        (asked,) = np.nonzero(actions.may_ask)
        return len(asked) - panel_form(actions, asked, np.ones(len(asked))).rank
    A = actions.points if isinstance(actions, ActionSet) else actions.points[actions.may_ask]
    return len(A) - space_of(A).rank


def hardly_checked(actions: Askable) -> str | None:
    """Return that too few options can show where the model fails; None if there are enough."""
    what = "options"
    k, m = len(actions), actions.n_features + actions.n_attributes
    if isinstance(actions, Questions):
        what, k = "questions", int(actions.may_ask.sum())
    if k > m + _FEW:
        return None  # whatever the rank
    try:
        spare = spare_options(actions)
    except DoubtfulRankError:
        return "Evaluations can hardly check that here: some columns are all but combinations."
    if spare == 0:
        return (
            f"No evaluations can check that here: {k} {what} are no more than the {k} numbers to "
            "be found."
        )
    if spare <= _FEW:
        return (
            f"Evaluations can hardly check that here: {k} {what} are only {spare} more than the "
            f"{k - spare} numbers to be found."
        )
    return None


def without_constant(actions: Askable) -> str | None:
    """Return what it means that no constant lies in the span of the features; None if one does."""
    if isinstance(actions, Questions) or actions.has_constant:
        return None
    return (
        "The features hold no constant: an option whose features are all 0 is taken to be worth 0, "
        "so that its scores average to the bias alone. Scores that start elsewhere (a vote from 0 "
        "to 1, points out of 100) would be misread; intercept=True adds a constant."
    )


def assumed(actions: Askable) -> tuple[str, ...]:
    """Return all of it that there is to say, the model first."""
    said = (model(actions), hardly_checked(actions), without_constant(actions))
    return tuple(sentence for sentence in said if sentence is not None)


def taken_for_granted(actions: Askable, exact: bool, checks: bool = True) -> list[Finding]:
    """Return what a decision takes for granted, whatever the scores are: ``exact`` if it takes the
    features to tell values exactly, ``checks`` if evaluations were spent on checking the model.
    """
    unchecked = hardly_checked(actions) if exact or isinstance(actions, Questions) else None
    said = {
        "checks": None if checks else _NOT_CHECKED,
        "looks": None if unchecked is None else f"{model(actions)} {unchecked}",
        "intercept": without_constant(actions),
    }
    return [Finding(name, text, alarm=False) for name, text in said.items() if text is not None]
