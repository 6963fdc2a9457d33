"""Every error evenhand raises on purpose; catch `EvenhandError` to catch them all."""

from __future__ import annotations

from dataclasses import dataclass


class EvenhandError(Exception):
    """Something evenhand cannot do, with the reason and what to do about it."""


class InputError(EvenhandError, ValueError):
    """What was given is not what is needed; the message names it and says how to mend it."""


class AccuracyError(EvenhandError):
    """A solver could not reach the accuracy asked for; the message says what it reached."""


@dataclass(frozen=True)
class Confounding:
    """Why a bias cannot be told from the value, and what would help.

    Parameters
    ----------
    combination
        Coefficients, in the user's units, of a combination of features that equals the attribute
        for every option; "(constant)" is the constant term.
    twin
        Name of an option; another with the same features from ``twin_group`` would make the bias
        as easy to estimate as it can be (κ_* = 1).
    twin_group
        The group that the new option should belong to; None where there are no groups.
    """

    combination: dict[str, float]
    twin: str
    twin_group: str | None


class NotIdentifiableError(EvenhandError):
    """No amount of evaluations tells the quantity asked for (κ = ∞).

    The evaluations of all options stay the same when the parameters move along some direction
    that the asked quantity feels. For a bias, ``confounding`` says which combination of features
    equals the group, and which new option would help.
    """

    def __init__(self, message: str, confounding: Confounding | None = None) -> None:
        super().__init__(message)
        self.confounding = confounding
