"""What was learnt goes with what alone taught it; what others taught as well stays, and counts what they taught."""

from __future__ import annotations

from actions.proposal.book import Book
from actions.proposal.state import ProposalState
from actions.testing.household import START
from actions.testing.talk import Talk
from schemas.journal import JournalEntry
from schemas.memory import Memory
from schemas.trigger import Evidence, Trigger
from streams import topics
from streams.codec import decode, encode
from streams.erase import Lineage, note_target
from streams.rewriting import Written
from tests.unit.actions.test_memories import fired, memories, talk, the, told


def letter(world: Talk, number: int, account: str, party: str = "Acme") -> ProposalState:
    """A bill that came by one account."""
    event = Evidence(event=f"ev{number}", account=account, kind="mail.received", occurred_at=START)
    trigger: Trigger = fired(number, party, evidence=(event,))
    world.say(trigger)
    state = world.book.by_trigger(trigger.id)
    assert state is not None
    return state


def without(world: Talk, target: str) -> tuple[Book, str]:
    """The book that the rest of the journal gives, and the rest itself as text."""
    written = [Written(n, topics.JOURNAL, b"ann", encode(entry)) for n, entry in enumerate(world.entries)]
    lineage = Lineage(target)
    lineage.trace_journal(written)
    left = [value for record in written if (value := lineage.verdict(record)) is not None]
    book = Book("ann")
    for value in left:
        book.apply(decode(JournalEntry, value))
    return book, b"\n".join(left).decode()


def said(book: Book, code: str) -> list[Memory]:
    return [memory for memory in book.memory if memory.code == code]


def test_what_two_accounts_taught_counts_what_the_other_one_taught() -> None:
    world = talk()
    world.tell(letter(world, 1, "mail"), "edit", step="s1", args={"payee": "Visa"})
    world.tell(letter(world, 2, "work"), "edit", step="s1", args={"payee": "Visa"})
    told(world, "correct", memory=the(world, "default").id, value="Giro")
    book, _ = without(world, "mail")
    (known,) = said(book, "default")
    assert (known.value and known.value.v, known.standing) == ("Giro", "confirmed"), "the person's own word stays"
    assert [basis.stream for basis in known.basis] == [world.entries[3].stream, "memory"]


def test_what_one_account_taught_goes_with_the_persons_word_on_it() -> None:
    world = talk()
    world.tell(letter(world, 1, "mail"), "edit", step="s1", args={"payee": "Zaunkoenig"})
    told(world, "correct", memory=the(world, "default").id, value="Zaunkoenig & Sons")
    world.tell(letter(world, 2, "work", "Bolt"), "reject", reason="kept")
    book, text = without(world, "mail")
    assert said(book, "default") == []
    assert [memory.value and memory.value.v for memory in said(book, "rejected")] == ["kept"]
    assert "Zaunkoenig" not in text


def test_so_does_a_proposal_that_shows_or_uses_it_and_what_that_taught() -> None:
    world = talk()
    world.tell(letter(world, 1, "mail"), "edit", step="s1", args={"payee": "Zaunkoenig"})
    told(world, "keep", memory=the(world, "default").id)
    world.tell(letter(world, 2, "work"), "reject", reason="taught by what it filled in")
    world.tell(letter(world, 3, "work", "Bolt"), "reject", reason="kept")
    book, text = without(world, "mail")
    assert "Zaunkoenig" not in text
    assert [memory.value and memory.value.v for memory in said(book, "rejected")] == ["kept"]


def test_what_was_forgotten_leaves_no_word_behind_either() -> None:
    world = talk()
    world.tell(letter(world, 1, "mail"), "edit", step="s1", args={"payee": "Visa"})
    told(world, "correct", memory=the(world, "default").id, value="Zaunkoenig")
    told(world, "forget", memory=the(world, "default").id)
    _, text = without(world, "mail")
    assert "Zaunkoenig" not in text


def test_a_note_goes_alone_and_a_note_about_an_event_goes_with_its_proposal() -> None:
    world = talk()
    letter(world, 1, "mail")
    told(world, "remember", text="about the letter", events=["ev1"])
    told(world, "remember", text="by itself")
    note = next(memory for memory in memories(world, "note") if memory.text == "by itself")
    book, text = without(world, note_target(note.id))
    assert [memory.text for memory in said(book, "note")] == ["about the letter"]
    assert "by itself" not in text
    assert len(book.proposals) == 1


def test_a_stream_that_many_share_goes_entry_by_entry() -> None:
    world = talk()
    state = letter(world, 1, "mail")
    world.say(world.command(state, "approve").model_copy(update={"id": "c9", "proposal": "nonesuch"}))
    told(world, "remember", text="kept")
    told(world, "remember", text="about the letter", events=["ev1"])
    lineage = Lineage("mail")
    lineage.ids.add("ev1")
    written = [Written(n, topics.JOURNAL, b"ann", encode(entry)) for n, entry in enumerate(world.entries)]
    lineage.trace_journal(written)
    assert lineage.proposals == {state.id}
    left = [decode(JournalEntry, lineage.verdict(record) or b"").type for record in written]
    assert left == ["erased", "erased", "command.refused", "memory.noted", "erased"]
