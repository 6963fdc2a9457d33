"""What is exported is documented, with an example that the doctests run."""

from __future__ import annotations

import inspect

import pytest

import evenhand as eh


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


def test_the_list_is_sorted_and_complete() -> None:
    assert list(eh.__all__) == sorted(eh.__all__)
    assert all(hasattr(eh, name) for name in eh.__all__)
