"""The ledger: commits never pass a batch that is not settled."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.ledger import LIMIT, Ledger
from streams.work import Batch


def batch(first: int, last: int, topic: str = "events") -> Batch:
    offsets = range(first, last + 1)
    return Batch(topic, 0, offsets, [None] * len(offsets), [b""] * len(offsets))


def issued(*batches: Batch, readers: int = 1) -> Ledger:
    ledger = Ledger({"events": readers})
    for one in batches:
        ledger.issue(one)
    return ledger


def test_a_batch_that_is_not_settled_holds_back_the_later_ones() -> None:
    first, second, third = batch(0, 9), batch(10, 19), batch(20, 29)
    ledger = issued(first, second, third)
    ledger.settle(third)
    ledger.settle(second)
    assert ledger.commitable("events", 0) is None
    ledger.settle(first)
    assert ledger.commitable("events", 0) == 30


def test_every_reader_must_settle() -> None:
    only = batch(0, 4)
    ledger = issued(only, readers=2)
    ledger.settle(only)
    assert ledger.commitable("events", 0) is None
    ledger.settle(only)
    assert ledger.commitable("events", 0) == 5


def test_what_is_committed_is_not_offered_again() -> None:
    only = batch(0, 4)
    ledger = issued(only)
    ledger.settle(only)
    ledger.committed("events", 0, 5)
    assert ledger.commitable("events", 0) is None
    assert ledger.pending() == []


def test_an_answer_about_a_batch_from_before_a_reset_changes_nothing() -> None:
    before, again = batch(0, 9), batch(0, 9)
    ledger = issued(before)
    ledger.reset()
    ledger.issue(again)
    assert not ledger.settle(before)
    assert ledger.commitable("events", 0) is None


def test_a_partition_with_enough_batches_out_is_full_until_the_oldest_is_settled() -> None:
    batches = [batch(n, n) for n in range(LIMIT)]
    ledger = issued(*batches)
    assert ledger.is_full("events", 0)
    ledger.settle(batches[1])
    assert ledger.is_full("events", 0)
    ledger.settle(batches[0])
    assert not ledger.is_full("events", 0)
    assert not ledger.is_idle("events", 0)


@given(st.permutations(range(12)), st.integers(0, 12))
def test_in_any_order_the_commit_is_the_end_of_the_settled_prefix(order: list[int], settled: int) -> None:
    batches = [batch(n * 3, n * 3 + 2) for n in range(12)]
    ledger = issued(*batches)
    for n in order[:settled]:
        ledger.settle(batches[n])
    done = set(order[:settled])
    prefix = next((n for n in range(12) if n not in done), 12)
    assert ledger.commitable("events", 0) == (prefix * 3 or None)


def test_the_predecessor_is_the_batch_issued_before_as_long_as_it_is_out() -> None:
    first, second, third = batch(0, 9), batch(10, 19), batch(20, 29)
    ledger = issued(first, second, third)
    assert ledger.predecessor(first) is None
    assert ledger.predecessor(third) is second
    ledger.settle(second)
    assert ledger.predecessor(third) is second
    ledger.settle(first)
    assert ledger.predecessor(third) is None


def test_a_batch_from_before_a_reset_has_no_place() -> None:
    before = batch(0, 9)
    ledger = issued(before)
    ledger.reset()
    with pytest.raises(KeyError):
        ledger.predecessor(before)
