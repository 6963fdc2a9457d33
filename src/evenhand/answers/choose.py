"""`choose`: have options evaluated until it is sure which one is the best."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from evenhand.actions import ActionSet, checked_actions
from evenhand.answers.answer import Answer, answer_of
from evenhand.answers.crews import Evaluate, crew_for
from evenhand.answers.question import Question
from evenhand.answers.run import Run, run
from evenhand.answers.watch import Progress, watching
from evenhand.assumptions import hardly_checked, model, without_constant
from evenhand.errors import InputError
from evenhand.policies import CarefulChoice, CertainChoice
from evenhand.policies.base import Policy, is_number
from evenhand.policies.messages import Finding
from evenhand.policies.terms import checked_bounds

Bounds = tuple[float, float]

_MOST_PARALLEL = 10_000
_LOOKS = 0.1  # share of the evaluations that look where the design does not, to check the model
_NOT_CHECKED = (
    "No evaluation was spent on checking the model (checks=False): where it fails, that may not "
    "have been seen."
)


def choose(
    options: ActionSet,
    evaluate: Evaluate,
    confidence: float = 0.95,
    tolerance: float = 0.0,
    at_most: int | None = None,
    parallel: int = 1,
    noise_scale: float | None = None,
    deviation: float | None = None,
    scores: Literal["votes"] | None = None,
    bounds: Bounds | None = None,
    checks: bool = True,
    retries: int = 2,
    progress: bool | Callable[[Progress], object] | None = None,
    seed: int = 0,
    policy: Policy | None = None,
) -> Answer:
    """Have options evaluated until it is sure which one is really the best, and say so.

    Scores may be noisy, and may favour one group. What is asked next depends on what came back; the
    asking ends when the choice is sure, when it can be seen that no more scores would settle it, or
    when ``at_most`` evaluations are spent.

    Parameters
    ----------
    options
        The options: features, and the group (or attributes) that scores may react to.
    evaluate
        Returns a score, a number, for a `Question`. A plain or an async function. An exception
        is a failed evaluation.
    confidence
        Probability with which what the answer says shall hold.
    tolerance
        How much the choice may lose against the best, in units of the scores.
    at_most
        Most evaluations in all; 1,000 per option if not given.
    parallel
        How many questions may be out at once. A plain function then runs in threads; with one, in
        the caller's. Scores are used as they arrive.
    noise_scale
        Standard deviation of one score, if it is known; else it is estimated.
    deviation
        Standard deviation of what the features do not explain of the options' values, if it is
        known; else it is estimated. 0 says that the features are exact.
    scores
        "votes": every score is 0 or 1.
    bounds
        Lowest and highest score that there can be; others are refused. With ``deviation=0`` and
        without a ``noise_scale`` they also say how loud noise can be: valid for any scores, but
        costly where they are wide.
    checks
        Whether to spend some evaluations on options that would otherwise be left out, so that a
        wrong model can show.
    retries
        How often a failed question is tried again before it is given up.
    progress
        None: a bar on the terminal, if there is one, when it takes more than a second. True: else
        lines. False: nothing. A function: called with a `Progress` after every evaluation.
    seed
        Where all randomness comes from. The order of arrival may still differ between runs.
    policy
        A policy of one's own to ask, or that of an earlier answer, to go on. It brings its own
        settings; of the above only ``tolerance``, ``deviation=0``, ``parallel``, ``retries``,
        ``progress`` and what says which scores are possible are used then, and ``at_most`` if the
        policy can be given more.

    Returns
    -------
    Answer
        Also after an interrupt (Ctrl-C), and where the evaluator fails again and again: with what
        is known by then, and ``stopped_because`` says it.

    Examples
    --------
    >>> import numpy as np
    >>> import evenhand as eh
    >>> options = eh.ActionSet([[1.0, 5.0], [1.0, 2.0], [1.0, 4.0], [1.0, 1.0]],
    ...                        ["away", "away", "home", "home"], ["Ann", "Bo", "Cy", "Di"])
    >>> rng = np.random.default_rng(0)
    >>> def evaluate(question):                       # yours: ask a judge, call a model
    ...     return [5.0, 2.0, 6.0, 3.0][question.option] + 0.1 * rng.standard_normal()
    >>> answer = eh.choose(options, evaluate)
    >>> answer.label, answer.sure                     # Cy's scores are higher: a bias for home
    ('Ann', True)
    """
    checked_actions(options)
    if not callable(evaluate):
        raise InputError(f"evaluate must be a function of a question; got {evaluate!r}.")
    parallel = _whole("parallel", parallel, 1, _MOST_PARALLEL)
    retries = _whole("retries", retries, 0, 1_000)
    seed = _whole("seed", seed, 0, 2**63 - 1)
    if deviation is not None and (not is_number(deviation) or deviation < 0.0):
        raise InputError(f"deviation must be a number ≥ 0, or None; got {deviation!r}.")
    limits = _limits(scores, bounds)
    if policy is None:
        settings: dict[str, Any] = {
            "at_most": at_most,
            "confidence": confidence,
            "tolerance": tolerance,
            "noise_scale": noise_scale,
            "bounds": limits,
            "seed": seed,
        }
        policy = _default_policy(options, deviation, checks, settings)
    else:
        _adopt(policy, options, at_most)
    with watching(policy, progress) as watch:
        ran = (
            Run("there is no other option")
            if len(options) == 1
            else run(
                policy,
                crew_for(evaluate, parallel),
                parallel=parallel,
                retries=retries,
                read=_reader(scores, limits),
                seed=seed,
                watch=watch,
            )
        )
    if policy.spent + policy.observed > 0:
        policy.checks.look()  # at all there is, before anything is said
    return answer_of(
        policy,
        confidence=confidence,
        tolerance=tolerance,
        features_exact=deviation == 0,
        stopped_because=ran.stopped_because,
        failures=ran.failures,
        notes=_notes(policy, checks),
    )


def _default_policy(
    options: ActionSet, deviation: float | None, checks: bool, settings: dict[str, Any]
) -> Policy:
    """Return what asks if nobody says otherwise: careful, or exact if the features are."""
    if deviation == 0:
        if settings["noise_scale"] is not None:  # bounds then only refuse, which `read` does
            settings["bounds"] = None
        return CertainChoice(options, looks=_LOOKS if checks else 0.0, **settings)
    return CarefulChoice(options, deviation=deviation, looks=checks, **settings)


def _adopt(policy: Policy, options: ActionSet, at_most: int | None) -> None:
    """See that a given policy is about these options, and let it ask for more if it can."""
    if not isinstance(policy, Policy):
        raise InputError(f"policy must be a Policy, such as answer.policy; got {policy!r}.")
    if policy.actions != options:
        raise InputError(
            f"the policy is about other options ({policy.actions!r}) than those given "
            f"({options!r}); give the same to both."
        )
    if at_most is not None and at_most != policy.horizon:
        policy.allow(at_most)


def _limits(scores: object, bounds: Bounds | None) -> Bounds | None:
    """Return the lowest and the highest possible score, if there are any."""
    if scores not in (None, "votes"):
        raise InputError(f"scores must be 'votes' or None; got {scores!r}.")
    if scores == "votes":
        if bounds is not None:
            raise InputError(f"votes are 0 or 1; leave out bounds, which is {bounds!r}.")
        return 0.0, 1.0
    return checked_bounds(bounds)


def _reader(scores: str | None, limits: Bounds | None) -> Callable[[Question, object], float]:
    """Return what takes the score out of a reply, or says what is wrong with it."""

    def read(question: Question, reply: object) -> float:
        if scores == "votes" and isinstance(reply, bool | np.bool_):
            return float(reply)
        if not is_number(reply):
            kind = "" if reply is None else f", of {type(reply).__name__}"
            raise InputError(
                f"the score of {question.label!r} must be a finite number; got {reply!r}{kind}."
            )
        score = float(reply)
        if scores == "votes" and score not in (0.0, 1.0):
            raise InputError(
                f"the vote on {question.label!r} must be 0 or 1; got {score:g}. For scores in "
                "between say bounds=(0, 1) instead of scores='votes'."
            )
        if limits is not None and not limits[0] <= score <= limits[1]:
            raise InputError(
                f"the score of {question.label!r} must lie in [{limits[0]:g}, {limits[1]:g}]; got "
                f"{score:g}."
            )
        return score

    return read


def _notes(policy: Policy, checks: bool) -> list[Finding]:
    """Return what is taken for granted, whatever the scores are."""
    options, unchecked = policy.actions, None
    if policy.recommend().certainty == "features exact":
        unchecked = hardly_checked(options)
    said = {
        "checks": None if checks else _NOT_CHECKED,
        "looks": None if unchecked is None else f"{model(options)} {unchecked}",
        "intercept": without_constant(options),
    }
    return [Finding(name, text, alarm=False) for name, text in said.items() if text is not None]


def _whole(name: str, value: object, least: int, most: int) -> int:
    if not is_number(value) or value != int(value) or not least <= value <= most:
        raise InputError(f"{name} must be a whole number from {least} to {most:,}; got {value!r}.")
    return int(value)
