"""Questions: what can be asked, apart from what can be chosen.

An option can be chosen, and is worth x·γ. A question can be asked: it is about an option, or about
two of them, goes to an evaluator, has a price, and may be asked so often. What comes back has the
mean f·γ + z·ω, for the question's features f and attributes z. In an `ActionSet` every option is
its own question.
"""

from evenhand.questions.advice import Advice, Ask, with_neutral
from evenhand.questions.check import Check, NotIdentified
from evenhand.questions.hand_outs import HandOut, hand_out
from evenhand.questions.identifiable import Accuracy, accuracy, panel_form
from evenhand.questions.inputs import (
    UNLIMITED,
    Column,
    Options,
    limited,
    named_biases,
    names_about,
    of_kind,
)
from evenhand.questions.panel import with_exact_features
from evenhand.questions.questions import Askable, Questions, checked_askable
from evenhand.questions.superset import Superset

__all__ = [
    "UNLIMITED",
    "Accuracy",
    "Advice",
    "Ask",
    "Askable",
    "Check",
    "Column",
    "HandOut",
    "NotIdentified",
    "Options",
    "Questions",
    "Superset",
    "accuracy",
    "checked_askable",
    "hand_out",
    "limited",
    "named_biases",
    "names_about",
    "of_kind",
    "panel_form",
    "with_exact_features",
    "with_neutral",
]
