"""The audit finds what was edited, dropped, reordered, or done without a grant; the book folds only what is sound."""

from __future__ import annotations

import asyncio
from functools import cache

import pytest

from actions.policy import audit
from actions.proposal.book import Book
from actions.testing.household import OWNER, Household
from schemas.errors import PoisonError
from schemas.journal import GENESIS, JournalEntry


@cache
def whole() -> tuple[JournalEntry, ...]:
    house = Household("keyed", "full")
    asyncio.run(house.live())
    return tuple(house.log.entries)


def codes(entries: list[JournalEntry]) -> list[tuple[int, str]]:
    return [(fault.seq, fault.code) for fault in audit.verify(entries)]


def resealed(entries: list[JournalEntry]) -> list[JournalEntry]:
    """What somebody with access to the file and to this code would do after an edit."""
    made: list[JournalEntry] = []
    before = GENESIS
    for entry in entries:
        linked = entry.model_copy(update={"prev_hash": before})
        made.append(linked.model_copy(update={"hash": linked.computed_hash()}))
        before = made[-1].hash
    return made


def at(type_: str) -> int:
    return next(n for n, entry in enumerate(whole()) if entry.type == type_ and entry.body.get("grant", "x") != "")


def test_a_sound_journal_has_no_faults() -> None:
    assert audit.verify(whole()) == []


def test_an_edited_entry_is_found() -> None:
    entries = list(whole())
    entries[3] = entries[3].model_copy(update={"actor": "person:mallory"})
    assert codes(entries) == [(4, "altered")]


def test_an_entry_that_was_edited_and_sealed_again_breaks_the_chain() -> None:
    entries = list(whole())
    forged = entries[3].model_copy(update={"actor": "person:mallory"})
    entries[3] = forged.model_copy(update={"hash": forged.computed_hash()})
    assert codes(entries) == [(5, "unlinked")]


def test_a_dropped_entry_is_found() -> None:
    entries = list(whole())
    del entries[3]
    assert codes(entries) == [(5, "gap")]


def test_reordered_entries_are_found() -> None:
    entries = list(whole())
    entries[2], entries[3] = entries[3], entries[2]
    assert (4, "gap") in codes(entries)


def test_what_a_fenced_process_left_is_named_and_harms_nothing() -> None:
    entries = list(whole())
    late = entries[5].model_copy(update={"epoch": 0})
    stale = entries[-1].model_copy(update={"epoch": 0, "seq": entries[-1].seq + 1})
    assert codes([*entries, late, stale]) == [(6, "repeated"), (len(entries) + 1, "fenced")]


def test_an_effect_with_changed_arguments_is_found_even_in_a_resealed_journal() -> None:
    entries = list(whole())
    intent = at("step.intent")
    body = dict(entries[intent].body)
    args = body["args"]
    assert isinstance(args, dict)
    body["args"] = args | {"payee": {"v": "Mallory", "type": "Text"}}
    entries[intent] = entries[intent].model_copy(update={"body": body})
    (fault,) = audit.verify(resealed(entries))
    assert (fault.code, fault.message) == ("ungranted", "does something else than was granted")
    assert str(fault).startswith(f"{entries[0].stream} #{intent + 1}: ")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grant": "f" * 32}, "names a grant that was never issued"),
        ({"step": "another"}, "spends the grant of another step"),
        ({"binding": "0" * 64}, "does something else than was granted"),
    ],
)
def test_an_effect_without_its_grant_is_found(change: dict[str, str], message: str) -> None:
    entries = list(whole())
    intent = at("step.intent")
    entries[intent] = entries[intent].model_copy(update={"body": entries[intent].body | change})
    assert [fault.message for fault in audit.verify(resealed(entries))] == [message]


class TestTheFold:
    def test_entries_that_come_again_change_nothing(self) -> None:
        once, twice = Book(OWNER), Book(OWNER)
        for entry in whole():
            once.apply(entry)
            twice.apply(entry)
            twice.apply(entry)
        for entry in whole():
            twice.apply(entry)
        assert once.proposals == twice.proposals
        assert once.pushed == twice.pushed

    def test_an_entry_of_an_older_generation_changes_nothing(self) -> None:
        book = Book(OWNER)
        for entry in whole():
            book.apply(entry)
        tip = book.tip(whole()[0].stream)
        book.apply(whole()[-1].model_copy(update={"epoch": 0, "seq": tip.seq + 1}))
        assert book.tip(whole()[0].stream) == tip

    def test_a_gap_is_never_folded_over(self) -> None:
        book = Book(OWNER)
        book.apply(whole()[0])
        with pytest.raises(PoisonError, match="entry 3 follows 1; run `forewatch audit verify`"):
            book.apply(whole()[2])
