"""What is taken for granted about the options, in words, before anything is evaluated.

Notation: k options, whose points (x; z) have rank r. Evaluations are x·γ + z·ω and noise.

Nothing in a table says that values are linear in the features. Only evaluations can show that they
are not, and only of k − r options more than the r that the parameters need.
"""

from __future__ import annotations

from evenhand.actions import ActionSet
from evenhand.numerics.passes import sample_rows
from evenhand.numerics.row_space import DoubtfulRankError, row_space

_FEW = 2  # options beside those that the parameters need, that check the model but poorly


def model(actions: ActionSet) -> str:
    """Return what everything here rests on, in one sentence.

    Examples
    --------
    >>> print(model(ActionSet([[1.0], [1.0]], ["home", "away"])))
    Values are taken to be linear in the features, exactly, and evaluations to add one and the same
    bias for each group.
    """
    if actions.group_names is None:
        reaction = "evaluations to add what is linear in the attributes"
    else:
        reaction = "evaluations to add one and the same bias for each group"
    return f"Values are taken to be linear in the features, exactly, and {reaction}."


def spare_options(actions: ActionSet) -> int:
    """Return k − r: how many options are left to check with that values are linear.

    Examples
    --------
    >>> spare_options(ActionSet([[1.0], [1.0]], ["home", "away"]))
    0
    >>> spare_options(ActionSet([[1.0], [2.0], [3.0]], ["home", "away", "home"]))
    1
    """
    A = actions.points
    return len(A) - row_space(A, sample_rows(len(A), 48 * A.shape[1])).rank


def hardly_checked(actions: ActionSet) -> str | None:
    """Return that too few options can show where the model fails; None if there are enough.

    Examples
    --------
    >>> print(hardly_checked(ActionSet([[1.0], [1.0]], ["home", "away"])))
    No evaluations can check that here: 2 options are no more than the 2 numbers to be found.
    """
    k, m = actions.points.shape
    if k > m + _FEW:
        return None  # whatever the rank
    try:
        spare = spare_options(actions)
    except DoubtfulRankError:
        return "Evaluations can hardly check that here: some columns are all but combinations."
    if spare == 0:
        return (
            f"No evaluations can check that here: {k} options are no more than the {k} numbers to "
            "be found."
        )
    if spare <= _FEW:
        return (
            f"Evaluations can hardly check that here: {k} options are only {spare} more than the "
            f"{k - spare} numbers to be found."
        )
    return None


def without_constant(actions: ActionSet) -> str | None:
    """Return what it means that no constant lies in the span of the features; None if one does.

    Examples
    --------
    >>> print(without_constant(ActionSet([[1.0], [2.0]], ["home", "away"])))
    The features hold no constant: an option whose features are all 0 is taken to be worth 0, so
    that its scores average to the bias alone. Scores that start elsewhere (a vote from 0 to 1,
    points out of 100) would be misread; intercept=True adds a constant.
    >>> without_constant(ActionSet([[1.0], [2.0]], ["home", "away"], intercept=True))
    """
    if actions.has_constant:
        return None
    return (
        "The features hold no constant: an option whose features are all 0 is taken to be worth 0, "
        "so that its scores average to the bias alone. Scores that start elsewhere (a vote from 0 "
        "to 1, points out of 100) would be misread; intercept=True adds a constant."
    )


def assumed(actions: ActionSet) -> tuple[str, ...]:
    """Return all of it that there is to say, the model first.

    Examples
    --------
    >>> len(assumed(ActionSet([[1.0], [2.0]], ["home", "away"])))
    3
    """
    said = (model(actions), hardly_checked(actions), without_constant(actions))
    return tuple(sentence for sentence in said if sentence is not None)
