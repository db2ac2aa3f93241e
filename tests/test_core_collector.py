"""Python's collector leaves alone what a run keeps, and only as long as the run lasts."""

from __future__ import annotations

import gc
import weakref

import pytest

from cypherforge.core.collector import settled


class Ring:
    """Something that only the collector can free."""

    def __init__(self) -> None:
        self.me = self


def test_what_was_settled_is_not_looked_at_until_the_end() -> None:
    with pytest.raises(KeyError), settled() as settle:
        kept = weakref.ref(Ring())
        settle()
        gc.collect()
        assert kept() is not None
        later = weakref.ref(Ring())
        gc.collect()
        assert later() is None
        raise KeyError
    assert gc.get_freeze_count() == 0
    gc.collect()
    assert kept() is None


def test_what_another_froze_stays_frozen() -> None:
    gc.freeze()
    try:
        before = gc.get_freeze_count()
        with settled() as settle:
            settle()
        assert gc.get_freeze_count() == before > 0
    finally:
        gc.unfreeze()
