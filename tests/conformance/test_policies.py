"""Every registered policy keeps the contract; a new one is found here by itself."""

from __future__ import annotations

from functools import partial

import pytest

import evenhand as eh
from evenhand.testing import CASES, CHECKS, Case, Check


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", eh.registered_policies())
def test_contract(name: str, check: Check, case: Case) -> None:
    check(partial(eh.policy, name), case)
