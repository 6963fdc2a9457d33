"""Which model stages work with."""

from __future__ import annotations

from evenhand.certainty.arrow import ArrowModel
from evenhand.certainty.dense import DenseModel
from evenhand.certainty.models import Model
from evenhand.questions import Askable, Questions

_LARGE = 200_000  # numbers in a dense matrix of rows, from which on panels keep their structure


def model_of(actions: Askable) -> Model:
    """Return the model for these options, or for the questions that can be asked about them."""
    if isinstance(actions, Questions) and keeps_structure(actions):
        return ArrowModel(actions)
    return DenseModel(actions)


def keeps_structure(questions: Questions) -> bool:
    """Tell whether these questions are a panel that is large enough for the arrow form."""
    q, m = questions.rows.shape
    return bool(q * m > _LARGE) and questions.has_arrow_form
