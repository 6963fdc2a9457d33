"""The front door: options and an evaluator, or scores that exist, come in; an answer leaves."""

from evenhand.answers.answer import Answer
from evenhand.answers.biases import Biases, NamedBias
from evenhand.answers.choose import choose
from evenhand.answers.decide import decide
from evenhand.answers.next_questions import NextQuestion, NextQuestions
from evenhand.answers.of_policy import answer_of
from evenhand.answers.question import Failure, Question, Reply, ReplyScale
from evenhand.answers.watch import Progress

__all__ = [
    "Answer",
    "Biases",
    "Failure",
    "NamedBias",
    "NextQuestion",
    "NextQuestions",
    "Progress",
    "Question",
    "Reply",
    "ReplyScale",
    "answer_of",
    "choose",
    "decide",
]
