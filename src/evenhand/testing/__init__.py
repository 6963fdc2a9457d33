"""What every policy must do, as checks that anyone can run on a policy of their own.

    from evenhand.testing import check_policy

    def test_my_policy():
        check_policy(MyPolicy)

A check is a function of a factory, called as `Policy` is, and a `Case`; its docstring is the part
of the contract that it checks, and it raises `AssertionError` where that is broken. No test runner
is needed. With pytest, parametrise over `CHECKS` and `CASES` to see each by its name.

A policy that may stop before its horizon is spent says so by ``spends_all = False``. One that
decides step by step has `Policy.memory` and `Policy.recall`, so that its state can be kept. One
that says ``plays_questions`` must keep the contract on `QUESTION_CASES`, too, where what is asked
is told from what is chosen, and keep to capacities, workloads and who is there. What `Policy`
itself sees to (feedback that cannot be right, what is outstanding, asks beyond what is free or
left, arguments, budgets) is not checked here.
"""

from evenhand.testing.cases import CASES, LIMITED_CASES, QUESTION_CASES, Case
from evenhand.testing.checks import (
    CHECKS,
    QUESTION_CHECKS,
    Check,
    PolicyFactory,
    asked_for,
    check_policy,
)

__all__ = [
    "CASES",
    "CHECKS",
    "LIMITED_CASES",
    "QUESTION_CASES",
    "QUESTION_CHECKS",
    "Case",
    "Check",
    "PolicyFactory",
    "asked_for",
    "check_policy",
]
