"""The front door: options and an evaluator come in, an answer leaves in plain words."""

from evenhand.answers.answer import Answer
from evenhand.answers.biases import Biases, NamedBias
from evenhand.answers.choose import choose
from evenhand.answers.question import Failure, Question
from evenhand.answers.watch import Progress

__all__ = ["Answer", "Biases", "Failure", "NamedBias", "Progress", "Question", "choose"]
