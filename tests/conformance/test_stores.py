"""What every store does, whatever database it is: the suite's only hole is the fixture."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evenhand.campaigns.stores import Store, open_store


@pytest.fixture
def store(store_address: str) -> Iterator[Store]:
    with open_store(store_address) as opened:
        yield opened


def test_now_moves_on(store: Store) -> None:
    assert store.read(lambda s: s.now()) <= store.read(lambda s: s.now())
