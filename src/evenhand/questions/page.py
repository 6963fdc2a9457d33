"""What a notebook shows of questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand import html
from evenhand.questions.entries import UNLIMITED

if TYPE_CHECKING:
    from evenhand.questions.questions import Questions

_SHOWN_QUESTIONS, _SHOWN_COLUMNS = 10, 6


def page(questions: Questions) -> html.Markup:
    """Return the first questions with who is asked, attributes, price and limit."""
    n = min(len(questions), _SHOWN_QUESTIONS)
    attributes = questions.matrix[:n, questions.n_features :].toarray()[:, :_SHOWN_COLUMNS]
    cut = ["…"] * (questions.n_attributes > _SHOWN_COLUMNS)
    rows: list[list[object]] = []
    for x in range(n):
        items = [questions.items[i] for i in questions.options_of(x)]
        limit = int(questions.capacity[x])
        rows.append(
            [
                " against ".join(items) or f"question {x + 1}",
                questions.evaluator_of(x),
                *attributes[x].tolist(),
                *cut,
                float(questions.prices[x]),
                "–" if limit == UNLIMITED else limit,
            ]
        )
    header = [
        "question",
        "evaluator",
        *questions.attribute_names[:_SHOWN_COLUMNS],
        *cut,
        "price",
        "at most",
    ]
    return html.block(repr(questions), html.table(header, rows, left_out=len(questions) - n))
