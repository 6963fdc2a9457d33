"""`choose`: have options evaluated until it is sure which one is the best."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any, Literal

from evenhand.actions import ActionSet
from evenhand.answers.answer import Answer
from evenhand.answers.crews import Evaluate, checked_functions, crew_for
from evenhand.answers.of_policy import answer_of
from evenhand.answers.question import Bounds, Kind, ReplyScale, compares
from evenhand.answers.run import Available, Run, run
from evenhand.answers.watch import Progress, watching
from evenhand.arrays import is_number, whole_number
from evenhand.assumptions import taken_for_granted
from evenhand.best import Best, oriented, sign
from evenhand.errors import InputError
from evenhand.inference.target import Target
from evenhand.policies.base import Policy, checks_of
from evenhand.questions import Askable, Questions, checked_askable, limited
from evenhand.questions.identifiable import refuse_incomparable
from evenhand.scores.scores import Finding, Level
from evenhand.search.blocks import FEW
from evenhand.search.careful_choice import CarefulChoice
from evenhand.search.certain_choice import CertainChoice
from evenhand.search.choice import Choice, limit_of, target_of
from evenhand.search.planned_choice import PlannedChoice

Looks = Literal["once"]

_MOST_PARALLEL = 10_000
_LOOKS = 0.1  # share of the evaluations that look where the design does not, to check the model
_LEASE = 3600.0  # seconds for which somebody else than a run may hold a question of a choice


def choose(
    options: Askable,
    evaluate: Evaluate,
    confidence: float = 0.95,
    tolerance: float = 0.0,
    at_most: int | None = None,
    parallel: int = 1,
    noise_scale: float | None = None,
    deviation: float | None = None,
    scores: Kind | None = None,
    bounds: Bounds | None = None,
    checks: bool = True,
    retries: int = 2,
    progress: bool | Callable[[Progress], object] | None = None,
    seed: int = 0,
    policy: Policy | None = None,
    *,
    budget: float | None = None,
    available: Available | None = None,
    store: Any = None,
    top: int = 1,
    bar: float | None = None,
    against: str | None = None,
    best: Best | None = None,
) -> Answer:
    """Have options evaluated until it is sure which one is really the best, and say so.

    Scores may be noisy, and may favour one group. What is asked next depends on what came back; the
    asking ends when the choice is sure, when it can be seen that no more scores would settle it, or
    when ``at_most`` evaluations or the ``budget`` are spent.
    Where every question can be asked once, or four times at most, what is asked is planned before,
    and looked at once.

    Parameters
    ----------
    options
        The options: features, and the group (or attributes) that scores may react to. Or
        `Questions`, where several evaluators can be asked, or options are compared in pairs.
    evaluate
        Returns a score, a number, for a `Question`; or `answers.Reply`, with what it really cost. A
        plain or an async function. An exception is a failed evaluation; `AbsentError` says that
        this evaluator is not available.
    confidence
        Probability with which what the answer says shall hold.
    tolerance
        How much the choice may lose against the best, in units of the scores; of the ``top`` best,
        any of them against any other option. Who is below a ``bar``, or worse than whom it is
        ``against``, by no more is good enough.
    at_most
        Most evaluations in all; 1,000 per option if not given.
    parallel
        How many questions may be out at once. A plain function then runs in threads; with one, in
        the caller's. Scores are used as they arrive.
    noise_scale
        Standard deviation of one score, if it is known; else it is estimated.
    deviation
        Standard deviation of what the features do not explain of the options' values, if it is
        known; else it is estimated. 0 says that the features are exact, in a panel with those of
        `evenhand.questions.with_exact_features`.
    scores
        "votes": every score is 0 or 1. "verdicts", where options are compared: 'first', 'second' or
        'tie' (True and False are the first and the second), or a number from −1 to 1.
    bounds
        Lowest and highest score that there can be; others are refused, and nothing is said to be
        beyond them. With ``deviation=0`` or `Questions`, and without a ``noise_scale``, they also
        say how large noise can be: what is sure then holds for any scores between them, however
        rare the large ones are. Where questions can be asked a few times only, noise is heard from
        the scores all the same. Where options are compared, the middle is a tie.
    checks
        Whether to spend some evaluations on options that would otherwise be left out, so that a
        wrong model can show; options that are compared by their own scores are not left out.
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
        policy can be given more; so for ``budget``.
    budget
        How much money may be spent, at the questions' prices; where there are none an evaluation
        costs 1.
    available
        A function that returns the names of those evaluators who can be asked now; it is called
        before every question. Everybody who has not left, if not given.
    store
        A file, or "postgresql://…", that keeps every score as it comes: a `Campaign`. After a crash
        the same call goes on where it was; several programs may work on the same choice. Or the
        owner's link to `evenhand serve`, "https://…/enter/…#name", which keeps it on that machine.
    top
        How many options are wanted. With more than one it is asked until the ``top`` best are sure
        as a set: in a panel, in comparisons, or by exact features (``deviation=0``).
    bar, against
        Instead of ``top``: those are wanted that are worth more than the ``bar``, on the scale of
        the average evaluator's scores, or than one option, ``against``, by name. It is asked until
        it is sure of every option whether it is.
    best
        Whether the "high" or the "low" scores are the best; "high" if not said. Where the lowest
        are, a ``bar`` is what options may be worth at most, and in comparisons a score below the
        middle is for the first. ``bounds=(5, 1)`` says the same. The policy is told the scores
        turned, with the highest the best; the answer is on the scale of the scores.

    Returns
    -------
    Answer
        Also after an interrupt (Ctrl-C), and where the evaluator fails again and again: with what
        is known by then, and ``stopped_because`` says it. Of several evaluators one who fails again
        and again is taken to have left; the others go on, and ``warnings`` says it.

    Raises
    ------
    NotIdentifiableError
        Before anything is asked, if no number of answers could tell the options apart.

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

    A panel: evaluators may favour their own group, and be lenient or severe. No features are
    needed.

    >>> teams = {"Ann": "away", "Bo": "away", "Cy": "home"}
    >>> judges = {"Paul": "home", "Quinn": "away", "Rita": "nowhere"}
    >>> def evaluate(question):
    ...     favour = teams[question.label] == judges[question.evaluator]
    ...     return [5.0, 3.0, 4.5][question.option] + favour + 0.1 * rng.standard_normal()
    >>> answer = eh.choose(eh.Questions.panel(teams, judges, capacity=None), evaluate)
    >>> answer.label, answer.sure, answer.certainty
    ('Ann', True, 'own scores')
    """
    checked_askable(options)
    checked_functions(evaluate, available)
    parallel = whole_number("parallel", parallel, 1, _MOST_PARALLEL)
    retries = whole_number("retries", retries, 0, 1_000)
    seed = whole_number("seed", seed, 0, 2**63 - 1)
    bounds, best = oriented(bounds, best, "bounds")
    best = best or "high"
    settings: dict[str, Any] = {
        "confidence": confidence,
        "tolerance": tolerance,
        "noise_scale": noise_scale,
        "bounds": bounds,
        "seed": seed,
        "top": top,
        "bar": bar,
        "against": against,
    }
    if store is not None:
        from evenhand.campaigns.run import choose_on  # noqa: PLC0415 # the door upstairs

        more = {"retries": retries, "deviation": deviation, "scores": scores, "checks": checks}
        settings |= more | {"best": best, "lease": _LEASE, "grades": None}
        made = {"policy": policy, "at_most": at_most, "budget": budget, "display": None}
        run_by = {"parallel": parallel, "available": available, "progress": progress}
        return choose_on(
            store, options, made | {"settings": settings}, run_by | {"evaluate": evaluate}
        )
    asked = asked_of(options, deviation)
    reading = ReplyScale(scores, bounds, comparing=compares(Questions.of(asked)), best=best)
    bar = -bar if best == "low" and is_number(bar) else bar
    if policy is None:
        settings |= {"at_most": at_most, "bounds": reading.limits, "bar": bar}
        policy = policy_for(asked, deviation, checks, None, budget, settings)
    else:
        _adopt(policy, asked, at_most, budget)
        refuse_other_target(policy, top, bar, against)
    checks_of(policy).level = Level(sign=sign(best))
    with watching(lambda: nullcontext(policy), progress) as watch:
        ran = (
            Run("there is no other option")
            if len(policy.options) == 1
            else run(
                policy,
                crew_for(evaluate, parallel),
                parallel=parallel,
                retries=retries,
                read=reading.read,
                seed=seed,
                watch=watch,
                available=available,
            )
        )
    if policy.spent + policy.observed > 0:
        checks_of(policy).look()  # at all there is, before anything is said
    return answer_of(
        policy,
        confidence=confidence,
        tolerance=tolerance,
        features_exact=deviation == 0,
        stopped_because=ran.stopped_because,
        failures=ran.failures,
        attempts=ran.attempts,
        notes=[*absences(ran.left), *notes_on(policy, checks)],
        scale=reading.limits,
        best=best,
    )


def refuse_other_target(
    policy: Policy, top: Any = 1, bar: Any = None, against: Any = None
) -> Target:
    """Return what a policy finds, or say that what is given it does not."""
    target = policy.target if isinstance(policy, CertainChoice | PlannedChoice) else None
    found = target or Target(top=1)
    given = {"top": None if top == 1 else top, "bar": bar, "against": against}
    for name, one in given.items():
        if one is not None and one != getattr(found, name):
            raise InputError(
                f"the policy {policy.name!r} finds which are {found.words}, where {name}={one!r} "
                f"is given; make it with that {name}, or leave the policy out."
            )
    return found


def asked_of(options: Askable, deviation: float | None) -> Askable:
    """Return what is asked: about options that are what their features say, if they are exact."""
    if deviation is not None and (not is_number(deviation) or deviation < 0.0):
        raise InputError(f"deviation must be a number ≥ 0, or None; got {deviation!r}.")
    if deviation == 0 and isinstance(options, Questions) and options.options.stand_alone:
        raise InputError(
            "deviation=0 says that values follow from the features, but these options have none; "
            "leave it out, or ask evenhand.questions.with_exact_features(questions, features)."
        )
    return options


def policy_for(
    options: Askable,
    deviation: float | None,
    checks: bool,
    looks: Looks | None,
    budget: float | None,
    settings: dict[str, Any],
) -> Policy:
    """Return the default policy: careful, or exact if the features are."""
    if looks not in (None, "once"):
        raise InputError(f"looks must be 'once' or None; got {looks!r}.")
    target = {name: settings.pop(name, None) for name in ("top", "bar", "against")}
    wanted = target_of(**target)
    few = isinstance(options, Questions) and int(options.capacity.max(initial=0)) <= FEW
    if looks is not None and not few:
        raise InputError(
            f"looks={looks!r} is for questions that can be asked once, or {FEW} times at most "
            "(capacity=1); here they can be asked again, and every score is looked at."
        )
    if isinstance(options, Questions):
        if limited(options):  # where all may be asked, policies see to it themselves
            refuse_incomparable(options)
        settings["budget"] = budget
    elif budget is not None:
        settings["at_most"] = _affordable(options, settings["at_most"], budget)
    if isinstance(options, Questions) or deviation == 0:
        if settings["noise_scale"] is not None:  # bounds then only refuse, which `read` does
            settings["bounds"] = None
        if wanted.top != 1:
            settings |= {name: one for name, one in target.items() if one is not None}
        if few:
            del settings["bounds"]  # which only refuse scores beyond, as `read` does
            return PlannedChoice(options, **settings)
        share = _LOOKS if checks else 0.0
        return CertainChoice(options, looks=share, **settings)
    if wanted.top != 1:
        raise InputError(
            f"which options are {wanted.words} can be found in a panel (Questions.panel), in "
            "comparisons, or by features that tell values exactly (deviation=0). By features that "
            "may leave something over only the best one can be; give one of these, or leave out "
            f"{wanted.kind}."
        )
    return CarefulChoice(options, deviation=deviation, **settings)


def _affordable(options: ActionSet, at_most: int | None, budget: float) -> int:
    """Return how many evaluations a budget pays for where each costs 1."""
    if not is_number(budget) or budget < 1.0:
        raise InputError(
            f"budget must be a number ≥ 1, the price of one evaluation, or None; got {budget!r}."
        )
    return min(limit_of(options, None, at_most), math.floor(budget))


def _adopt(policy: Policy, options: Askable, at_most: int | None, budget: float | None) -> None:
    """See that a given policy is about these options, and let it ask for more if it can."""
    if not isinstance(policy, Policy):
        raise InputError(f"policy must be a Policy, such as answer.policy; got {policy!r}.")
    if policy.actions != options:
        raise InputError(
            f"the policy is about other options ({policy.actions!r}) than those given "
            f"({options!r}); give the same to both."
        )
    at_most = None if at_most == policy.horizon else at_most
    budget = None if budget == policy.limits.money else budget
    if at_most is None and budget is None:
        return
    if not isinstance(policy, Choice):
        raise InputError(
            f"{policy.name!r} was made for {policy.horizon:,} evaluations in all, which cannot "
            f"become {at_most!r}, nor be given a budget; make a new one."
        )
    policy.allow(at_most, budget)


def absences(left: Mapping[str, str]) -> list[Finding]:
    """Return who left, and why, as far as that is known."""
    return [
        Finding("attendance", f"{name} left and was not asked again{because}", alarm=False)
        for name, because in ((name, why and f": {why}") for name, why in left.items())
    ]


def notes_on(policy: Policy, checks: bool = True) -> list[Finding]:
    """Return what is taken for granted of a policy's scores, whatever they are."""
    exact = policy.recommend().certainty == "features exact"
    return taken_for_granted(policy.actions, exact, checks or isinstance(policy, CarefulChoice))
