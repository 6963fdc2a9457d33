"""What is exported is documented, with an example that the doctests run."""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest

import evenhand as eh
from evenhand import policies
from evenhand.policies.registry import policy_class


@pytest.mark.parametrize("name", eh.__all__)
def test_every_exported_name_has_an_example(name: str) -> None:
    thing = getattr(eh, name)
    if inspect.ismodule(thing):
        public = [f for n, f in vars(thing).items() if not n.startswith("_")]
        own = [f for f in public if getattr(f, "__module__", None) == thing.__name__]
        assert own
        assert all(">>>" in (f.__doc__ or "") for f in own), [f for f in own if not f.__doc__]
    else:
        assert ">>>" in (thing.__doc__ or "")


def test_the_list_is_sorted() -> None:
    assert list(eh.__all__) == sorted(eh.__all__)


@pytest.mark.parametrize("module", [eh, policies])
def test_the_list_is_complete(module: ModuleType) -> None:
    assert all(hasattr(module, name) for name in module.__all__)


def test_every_registered_policy_can_be_imported() -> None:
    for name in eh.registered_policies():
        cls = policy_class(name)
        assert getattr(policies, cls.__name__) is cls
        assert cls.__name__ in dir(policies)
        assert ">>>" in (cls.__doc__ or "")
