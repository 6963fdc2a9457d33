"""The package with every sentence of it changed, run on a store that it did not write.

``python reworded.py STORE FORGED NEW`` verifies a campaign that `lived` in a store, and a file; has
another live in a new store; and prints as JSON what is wrong with the first two, and the third's
log.
"""

from __future__ import annotations

import ast
import json
import math
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

MARK = "¤"
_SENTENCE = 20  # characters of the shortest
_IN_SQL = ("evenhand.campaigns.ledger", "evenhand.campaigns.stores")


class Reworded(ast.NodeTransformer):
    """Marks every text that may be a sentence, but for docstrings."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr:
        return node if isinstance(node.value, ast.Constant) else self.generic_visit(node)  # type: ignore[return-value] # the same node

    def visit_Constant(self, node: ast.Constant) -> ast.Constant:
        text = node.value
        if not isinstance(text, str) or len(text) <= _SENTENCE or " " not in text:
            return node
        return ast.copy_location(ast.Constant(f"{MARK}{text}{MARK}"), node)


def reword() -> None:
    """Have all modules of the package that are imported from now on say everything otherwise."""
    as_written = SourceFileLoader.get_code

    def get_code(self: SourceFileLoader, fullname: str) -> CodeType | None:
        if not fullname.startswith("evenhand") or fullname.startswith(_IN_SQL):
            return as_written(self, fullname)
        tree = Reworded().visit(ast.parse(self.get_data(self.path)))
        return compile(ast.fix_missing_locations(tree), self.path, "exec", dont_inherit=True)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign] # that is the point


def lived(store: Path) -> Any:
    """Return a campaign with failures, a withdrawal and two decisions."""
    import evenhand as eh  # noqa: PLC0415 # as it is worded then

    panel = eh.Questions.panel(
        {"Ann": "a", "Bo": "b", "Cy": "a"}, {"P": "a", "Q": "b", "R": None, "S": "b"}, capacity=None
    )
    campaign = eh.Campaign.create(store, "lived", panel, at_most=60, noise_scale=2.0, retries=0)

    def evaluate(question: Any) -> float:
        return 3.0 - 0.6 * float(question.option) + math.sin(0.3 * question.number)

    for _ in range(5):
        ticket: Any = campaign.ask("S")
        campaign.fail(ticket, "no sound")
    for _ in range(10):
        ticket = campaign.ask(None)
        campaign.tell(ticket, evaluate(ticket.question))
    campaign.withdraw(3, "a slip")
    campaign.run(evaluate)
    campaign.extend(at_most=100)
    campaign.run(evaluate)
    return campaign


def main(store: Path, forged: Path, new: Path) -> None:
    """Print what comes of a record, and the log of another."""
    reword()
    import evenhand as eh  # noqa: PLC0415 # reworded

    with eh.Campaign.open(store, "lived") as campaign:
        found = campaign.verify()
    with lived(new) as campaign:
        (log,) = campaign.export(new.with_suffix(".jsonl"))
    json.dump(
        {
            "wrong": found.wrong,
            "words": str(found),
            "forged": str(eh.campaigns.verification.verify_file(forged)),
            "log": log.read_text("utf-8"),
        },
        sys.stdout,
    )


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
