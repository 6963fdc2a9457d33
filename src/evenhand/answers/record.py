"""An answer as a plain value, fit for JSON."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from evenhand.answers.answer import Answer


def as_record(answer: Answer) -> dict[str, Any]:
    """Return the answer as texts, numbers and lists; what is not known is NaN or infinite."""
    questions = answer.next_questions
    return {
        "option": answer.label,
        "sure": answer.sure,
        "certainty": answer.certainty,
        "scope": answer.scope,
        "confidence": answer.confidence,
        "tolerance": answer.tolerance,
        "loses_at_most": answer.loss,
        "withstands": answer.withstands,
        "why": " ".join(answer.stopped_because.split()),
        "assumed": answer.assumed,
        "scores": answer.scores,
        "by_mean_scores": None
        if answer.raw_choice is None
        else answer.standing(answer.raw_choice).option,
        "ranking": [
            {name: part for name, part in asdict(standing).items() if name != "index"}
            for standing in answer.ranking
        ],
        "biases": [asdict(bias) for bias in answer.biases],
        "attempts": answer.attempts.to_dict(answer.questions) if answer.attempts.tries else None,
        "withdrawn": answer.withdrawn.to_dict(),
        "warnings": [
            {"assumption": found.assumption, "message": found.message, "alarm": found.alarm}
            for found in answer.warnings
        ],
        "next_questions": [
            {name: part for name, part in asdict(one).items() if name != "question"}
            for one in questions
        ],
        "questions_until_sure": questions.until_sure,
        "chance_to_settle": questions.chance,
        "advice": questions.advice,
    }
