"""What in the log comes from one account, event or note, directly or by what was concluded from it (law L10)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import msgspec

from rules.thing import names_of
from schemas.event import Event
from schemas.journal import JournalEntry
from schemas.model import Json
from streams import topics
from streams.broker import Broker
from streams.codec import decode, decode_event, encode
from streams.erase_taught import only_taught_by, valid
from streams.rewriting import Written, rewriter

_KEYED = (topics.POLLS, topics.RECORDS, topics.ACCOUNTS, topics.CURSORS)
"""Topics whose key is the account."""
_ACCOUNT_FIELD = "account"


def event_target(event: str) -> str:
    """The name of an erasure of one event: of the thing that it tells of, in all its versions. Accounts are named by
    their ids, which have no colon."""
    return f"event:{event}"


def note_target(memory: str) -> str:
    """The name of an erasure of one note that the person told the memory."""
    return f"memory:{memory}"


@dataclass(slots=True)
class Lineage:
    """What is erased, its events, and the proposals that rest on any of them. Ids are compared as whole strings.

    Among the ids are the names of matters that only these events brought: what others said is called by them, too, as
    long as it was one matter. Also those of memories that nothing else taught, so that what rests on them goes, too.
    """

    target: str
    """An account, or what ``event_target`` or ``note_target`` gives."""
    ids: set[str] = field(default_factory=set)
    things: set[tuple[str, str]] = field(default_factory=set)
    """Account and subject of what goes in all its versions, where no whole account does."""
    proposals: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    """Idempotency keys of what erased runs did: names of the files they left with us."""

    @property
    def account(self) -> str:
        """Empty where only an event or a note goes."""
        return "" if ":" in self.target else self.target

    def trace_events(self, records: Iterable[Written]) -> None:
        names: set[str] = set()
        others: set[str] = set()
        for record in records:
            if record.value is None:
                continue
            event = decode_event(record.value)
            mine = self._is_own(event)
            (names if mine else others).update(names_of(event))
            if mine:
                self.ids.add(event.id)
                if not self.account and event.record:
                    self.ids.add(event.record)
        self.ids |= names - others

    def find_thing(self, records: Iterable[Written]) -> None:
        """What the one event tells of; before ``trace_events``."""
        wanted = self.target.removeprefix("event:")
        events = (decode_event(record.value) for record in records if record.value is not None)
        self.things |= {(event.account, event.subject) for event in events if event.id == wanted}

    def _is_own(self, event: Event) -> bool:
        return event.account == self.account if self.account else (event.account, event.subject) in self.things

    def trace_signals(self, records: Iterable[Written]) -> None:
        """A trigger that rests on an erased event goes, and so does whatever names that trigger."""
        for record in records:
            document = _document(record)
            if isinstance(document, dict) and self.touches(document):
                self.ids.add(str(document["id"]))

    def trace_journal(self, records: Iterable[Written]) -> None:
        """Until nothing more is found: a memory may go with a proposal, and another proposal with that memory."""
        entries = list(valid(decode(JournalEntry, record.value) for record in records if record.value is not None))
        proposals = {entry.stream for entry in entries if entry.type == "proposal.drafted"}
        self.ids |= self._told(entries)
        size = -1
        while size != len(self.ids):
            size = len(self.ids)
            self.proposals |= {entry.stream for entry in entries if self.touches(entry.body)} & proposals
            self.ids |= self.proposals
            self.ids |= only_taught_by(entries, self._goes)
        for entry in entries:
            if entry.stream in self.proposals and isinstance(key := entry.body.get("key"), str):
                self.keys.add(key)

    def _told(self, entries: Iterable[JournalEntry]) -> set[str]:
        """The note, and the command by which it was told."""
        note = self.target.removeprefix("memory:")
        told = [e for e in entries if e.type == "memory.noted" and e.body["memory"] == note]
        return {name for entry in told for name in (note, entry.cause)}

    def _goes(self, entry: JournalEntry) -> bool:
        return entry.stream in self.proposals or self.touches(entry.body)

    def touches(self, document: Json) -> bool:
        """Whether it names the account in a field of that name, or an erased id anywhere."""
        return any(
            text in self.ids or (name == _ACCOUNT_FIELD and text == self.account != "")
            for name, text in _strings(document)
        )

    def verdict(self, record: Written) -> bytes | None:
        """The record as it may stay."""
        if record.topic in _KEYED and (self.account or record.topic != topics.RECORDS):
            return None if self.account and record.key == self.account.encode() else record.value
        if record.topic == topics.RULE_STATE:
            return None  # made again from the events that remain
        if record.topic == topics.JOURNAL:
            return self._entry(record)
        return None if self.touches(_document(record)) else record.value

    def _entry(self, record: Written) -> bytes | None:
        if record.value is None:
            return record.value
        entry = decode(JournalEntry, record.value)
        if entry.type == "erased" or not self._goes(entry):
            return record.value
        return encode(entry.model_copy(update={"type": "erased", "body": {}}))


def erase_from_log(broker: Broker, target: str, note: Callable[[Lineage], None] = lambda lineage: None) -> Lineage:
    """Take out of the log everything that came from this account, event or note. Idempotent. Blocks.

    ``note`` is told what will go before anything goes: after an attempt that was cut off nobody can find that again,
    and the lineage that is given back is empty. The state of the rules is gone afterwards: make it again with
    ``streams.evaluate.rebuilt``, then let others use the log (``streams.rewriting.reopen``). ConfigError while a
    service runs on the log.
    """
    with rewriter(broker, target) as found:
        lineage = Lineage(target)
        if not found.is_decided:
            if target.startswith("event:"):
                lineage.find_thing(found.read(topics.EVENTS))
            lineage.trace_events(found.read(topics.EVENTS))
            lineage.trace_signals(found.read(topics.TRIGGERS))
            lineage.trace_journal(found.read(topics.JOURNAL))
            note(lineage)
        found.rewrite([spec.name for spec in topics.SPECS], lineage.verdict)
        return lineage


def _document(record: Written) -> Json:
    found: Json = msgspec.json.decode(record.value) if record.value else None
    return found


def _strings(document: Json, name: str = "") -> Iterator[tuple[str, str]]:
    """Every string in it, with the name of the field that it is in."""
    if isinstance(document, str):
        yield name, document
    elif isinstance(document, dict):
        for key, value in document.items():
            yield from _strings(value, key)
    elif isinstance(document, list):
        for value in document:
            yield from _strings(value, name)
