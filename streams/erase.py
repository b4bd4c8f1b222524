"""What in the log comes from one account, directly or by way of what was concluded from it (law L10)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import msgspec

from rules.thing import names_of
from schemas.journal import JournalEntry
from schemas.model import Json
from streams import topics
from streams.broker import Broker
from streams.codec import decode, decode_event, encode
from streams.rewriting import Written, rewriter

_KEYED = (topics.POLLS, topics.RECORDS, topics.ACCOUNTS, topics.CURSORS)
"""Topics whose key is the account."""
_ACCOUNT_FIELD = "account"


@dataclass(slots=True)
class Lineage:
    """The account, its events, and the proposals that rest on any of them. Ids are compared as whole strings.

    Among the ids are the names of matters that only this account's events brought: what others said is called by them,
    too, as long as it was one matter.
    """

    account: str
    ids: set[str] = field(default_factory=set)
    proposals: set[str] = field(default_factory=set)
    keys: set[str] = field(default_factory=set)
    """Idempotency keys of what erased runs did: names of the files they left with us."""

    def trace_events(self, records: Iterable[Written]) -> None:
        names: set[str] = set()
        others: set[str] = set()
        for record in records:
            if record.value is not None:
                event = decode_event(record.value)
                is_own = event.account == self.account
                (names if is_own else others).update(names_of(event))
                if is_own:
                    self.ids.add(event.id)
        self.ids |= names - others

    def trace_signals(self, records: Iterable[Written]) -> None:
        """A trigger that rests on an erased event goes, and so does whatever names that trigger."""
        for record in records:
            document = _document(record)
            if isinstance(document, dict) and self.touches(document):
                self.ids.add(str(document["id"]))

    def trace_journal(self, records: Iterable[Written]) -> None:
        entries = [decode(JournalEntry, record.value) for record in records if record.value is not None]
        self.proposals |= {entry.stream for entry in entries if self.touches(entry.body)}
        self.ids |= self.proposals
        for entry in entries:
            if entry.stream in self.proposals and isinstance(key := entry.body.get("key"), str):
                self.keys.add(key)

    def touches(self, document: Json) -> bool:
        """Whether it names the account in a field of that name, or an erased id anywhere."""
        return any(
            text in self.ids or (name == _ACCOUNT_FIELD and text == self.account) for name, text in _strings(document)
        )

    def verdict(self, record: Written) -> bytes | None:
        """The record as it may stay."""
        if record.topic in _KEYED:
            return None if record.key == self.account.encode() else record.value
        if record.topic == topics.RULE_STATE:
            return None  # made again from the events that remain
        if record.topic == topics.JOURNAL:
            return self._entry(record)
        return None if self.touches(_document(record)) else record.value

    def _entry(self, record: Written) -> bytes | None:
        if record.value is None:
            return record.value
        entry = decode(JournalEntry, record.value)
        if entry.type == "erased" or not (entry.stream in self.proposals or self.touches(entry.body)):
            return record.value
        return encode(entry.model_copy(update={"type": "erased", "body": {}}))


def erase_from_log(broker: Broker, account: str, note: Callable[[Lineage], None] = lambda lineage: None) -> Lineage:
    """Take out of the log everything that came from this account. Idempotent. Blocks.

    ``note`` is told what will go before anything goes: after an attempt that was cut off nobody can find that again,
    and the lineage that is given back is empty. The state of the rules is gone afterwards: make it again with
    ``streams.evaluate.rebuilt``, then let others use the log (``streams.rewriting.reopen``). ConfigError while a
    service runs on the log.
    """
    with rewriter(broker, account) as found:
        lineage = Lineage(account)
        if not found.is_decided:
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
