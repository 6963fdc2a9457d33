"""Every error evenhand raises on purpose; catch `EvenhandError` to catch them all."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenhand.geometry import Confounding


class EvenhandError(Exception):
    """Something evenhand cannot do, with the reason and what to do about it."""


class InputError(EvenhandError, ValueError):
    """What was given is not what is needed; the message names it and says how to mend it."""


class NotIdentifiableError(EvenhandError):
    """No amount of evaluations tells the quantity asked for (κ = ∞).

    The evaluations of all options stay the same when the parameters move along some direction
    that the asked quantity feels. For a bias, ``confounding`` says which combination of features
    equals the group, and which new option would help.
    """

    confounding: Confounding | None = None


class AccuracyError(EvenhandError):
    """A solver could not reach the accuracy asked for; the message says what it reached."""
