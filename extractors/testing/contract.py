"""The contract suite that every connector inherits: writing a connector means passing it.

A test module subclasses ``ConnectorContract`` and says how to make its connector and a scripted source::

    class TestMaildirConnector(ConnectorContract):
        connector = MaildirConnector(page_items=2)

        def source(self, folder: Path) -> ScriptedSource:
            return MaildirSource(folder)

Give the connector small pages, so that a few items need several. pytest is not imported here: ``tmp_path`` is all that
the suite asks of it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import ClassVar, Protocol

from pydantic import BaseModel

from extractors.connector import Connector, Delete, Upsert
from extractors.testing.polling import START, Poll, context_for, events_of, poll, records_of
from schemas.event import Event
from schemas.model import Json
from schemas.record import RAW_CAP, Record

QUALITY: Mapping[str, str] = {
    "bounded": "Sizes, counts and depths of whatever the source sends have limits, and passing one has a reason code.",
    "contract": "Passes ConnectorContract.",
    "deterministic-ids": "The same source gives the same record and event ids, on any machine.",
    "errors-translated": "Foreign exceptions become TransientError, AuthError or CursorExpired in one table.",
    "faults": "Whatever fails, in any order, it ends with what the source holds, each change once (fault_machine).",
    "fuzzed": "Malformed and hostile inputs end as an event or a rejection, within bounded time and memory.",
    "never-blocks": "No file or network I/O on the event loop.",
    "never-empties": "A source that is suddenly empty, truncated, unreadable or unmounted deletes nothing.",
    "preview": "`forewatch events preview` shows what would be made of one file, without storing anything.",
    "read-only": "Nothing changes at the source: no flags, no moves, no access marks.",
    "real-peer": "Tested against the real program or service that owns the format.",
    "reauth": "A revoked or expired consent becomes AuthError with what to do.",
    "sniffed": "`sniff` knows its files and folders, and refuses the other connectors' ones.",
    "zones": "Wall times are the owner's zone or the source's, never the process's.",
}
"""What a connector's ``quality.yaml`` must answer: each key ``done``, or ``todo: reason``, or ``exempt: reason``."""


class ScriptedSource(Protocol):
    """A real source that the suite changes under the connector, as a person or a program would.

    One behind a login also has ``key`` (``extractors.testing.access.Key``).
    """

    config: BaseModel

    def add(self) -> None:
        """One more item, later than all before it. The first ``add`` makes the source."""
        ...

    def change(self) -> None:
        """Something that the connector must notice about the first item; it stays the same item."""
        ...

    def remove(self) -> None:
        """Take the first item away."""
        ...

    def poison(self) -> None:
        """Add an item that can never work."""
        ...

    def breakages(self) -> Mapping[str, Callable[[], None]]:
        """Ways to go wrong in which nothing was really removed: ``empty``, ``truncated``, ``unreadable``,
        ``unmounted``; for a service ``down``, ``html``, ``revoked``. Leave out what the source cannot do, with the
        reason in quality.yaml."""
        ...

    def fingerprint(self) -> Json:
        """Names, bytes, times and flags of everything at the source."""
        ...


class ConnectorContract:
    """The laws of connectors. Subclasses set ``connector`` and ``source``; they may add tests of their own."""

    connector: ClassVar[Connector]
    items: ClassVar[int] = 7
    """How many items a source starts with: enough for several pages."""

    def source(self, folder: Path) -> ScriptedSource:
        """A source that lives in this empty folder and holds nothing yet."""
        raise NotImplementedError

    def filled(self, folder: Path) -> ScriptedSource:
        folder.mkdir(parents=True, exist_ok=True)
        source = self.source(folder)
        for _ in range(self.items):
            source.add()
        return source

    def first(self, source: ScriptedSource) -> Poll:
        return self.poll(source, None)

    def again(self, source: ScriptedSource, before: Poll, *, days: int = 1) -> Poll:
        return self.poll(source, before.cursor, days=days)

    def poll(self, source: ScriptedSource, cursor: Json, *, days: int = 0, kill_after: int | None = None) -> Poll:
        context = context_for(now=START + timedelta(days=days))
        key = getattr(source, "key", None)
        return poll(self.connector, source.config, cursor, context, key=key, kill_after=kill_after)

    def records(self, *polls: Poll) -> dict[str, Record]:
        """By id, as the service keeps them: a record that came twice is there once."""
        changes: list[Upsert | Delete] = []
        for each in polls:
            changes += each.upserts
            changes += each.deletes
        return {record.id: record for record in records_of(self.connector, changes, context_for())}

    def test_the_first_poll_gives_everything_once(self, tmp_path: Path) -> None:
        result = self.first(self.filled(tmp_path))
        assert result.error is None
        assert len(self.records(result)) == len(result.upserts) >= self.items
        assert all(upsert.is_new for upsert in result.upserts)
        assert all(len(upsert.raw) <= RAW_CAP for upsert in result.upserts)
        assert [page.complete for page in result.pages] == [False] * (len(result.pages) - 1) + [True]
        assert not result.deletes

    def test_a_poll_of_an_unchanged_source_gives_nothing(self, tmp_path: Path) -> None:
        source = self.filled(tmp_path)
        source.poison()
        first = self.first(source)
        second = self.again(source, first)
        assert second.error is None
        assert (second.upserts, second.deletes, second.rejected) == ([], [], [])
        assert self.again(source, second, days=2).upserts == []

    def test_new_items_alone_come_with_the_next_poll(self, tmp_path: Path) -> None:
        source = self.filled(tmp_path)
        first = self.first(source)
        source.add()
        second = self.again(source, first)
        assert second.upserts
        assert not {u.native_id for u in second.upserts} & {u.native_id for u in first.upserts}
        assert not second.deletes

    def test_a_change_is_a_new_version_of_a_known_item(self, tmp_path: Path) -> None:
        source = self.filled(tmp_path)
        first = self.first(source)
        source.change()
        second = self.again(source, first)
        known = {upsert.native_id: upsert.version for upsert in first.upserts}
        assert second.upserts
        for upsert in second.upserts:
            assert not upsert.is_new
            assert known[upsert.native_id] != upsert.version
        assert not second.deletes
        assert self.again(source, second, days=2).upserts == []

    def test_a_removed_item_is_a_delete_that_becomes_a_retraction(self, tmp_path: Path) -> None:
        source = self.filled(tmp_path)
        first = self.first(source)
        source.remove()
        second = self.again(source, first)
        assert second.deletes
        assert {delete.native_id for delete in second.deletes} < {upsert.native_id for upsert in first.upserts}
        context = context_for(now=START + timedelta(days=1))
        events, poison = events_of(self.connector, records_of(self.connector, second.deletes, context), context)
        assert not poison
        assert events
        assert {event.op for event in events} == {"retract"}
        subjects = {event.subject for event in self.events(first)}
        assert {event.subject for event in events} <= subjects
        assert self.again(source, second, days=2).deletes == []

    def test_a_source_that_breaks_deletes_nothing_and_keeps_its_place(self, tmp_path: Path) -> None:
        names = list(self.filled(tmp_path / "names").breakages())
        assert names, "a source must offer at least one way to break"
        for name in names:
            source = self.filled(tmp_path / name)
            first = self.first(source)
            source.breakages()[name]()
            broken = self.again(source, first)
            assert broken.deletes == [], name
            assert broken.upserts == [], name
            assert broken.error is not None or broken.warnings, f"{name}: nobody was told"
            assert broken.cursor == first.cursor, name

    def test_a_source_that_is_broken_from_the_start_says_so(self, tmp_path: Path) -> None:
        for name in ("unreadable", "unmounted", "down", "html", "revoked"):
            source = self.filled(tmp_path / name)
            if (break_it := source.breakages().get(name)) is None:
                continue
            break_it()
            result = self.first(source)
            assert result.error is not None or result.warnings or result.rejected, f"{name}: nobody was told"

    def test_a_poll_killed_between_any_two_pages_ends_with_the_same_records(self, tmp_path: Path) -> None:
        source = self.filled(tmp_path)
        whole = self.first(source)
        for pages in range(len(whole.pages) + 1):
            killed = Poll() if pages == 0 else self.kill(source, pages)
            resumed = self.poll(source, killed.cursor)
            assert self.records(killed, resumed) == self.records(whole), f"killed after page {pages}"
            assert resumed.cursor == whole.cursor, f"killed after page {pages}"

    def test_what_a_killed_poll_told_is_withdrawn_where_it_is_gone_by_the_next(self, tmp_path: Path) -> None:
        source = self.filled(tmp_path)
        killed = self.kill(source, 1)
        source.remove()
        resumed = self.again(source, killed)
        assert resumed.error is None
        there = {upsert.native_id for upsert in self.first(source).upserts}
        lost = {upsert.native_id for upsert in killed.upserts} - there
        assert lost <= {gone.native_id for gone in resumed.deletes}

    def kill(self, source: ScriptedSource, pages: int) -> Poll:
        return self.poll(source, None, kill_after=pages)

    def test_the_same_cursor_and_source_give_the_same_pages(self, tmp_path: Path) -> None:
        source = self.filled(tmp_path)
        first = self.first(source)
        assert self.first(source).pages == first.pages
        source.add()
        assert self.again(source, first).pages == self.again(source, first).pages

    def test_a_cursor_survives_json(self, tmp_path: Path) -> None:
        source = self.filled(tmp_path)
        first = self.first(source)
        assert first.cursor is not None
        stored = json.loads(json.dumps(first.cursor))
        assert self.again(source, replace(first, cursor=stored)).upserts == []

    def events(self, result: Poll) -> list[Event]:
        events, _ = events_of(self.connector, list(self.records(result).values()), context_for())
        return events

    def test_normalising_is_deterministic_with_stable_ids(self, tmp_path: Path) -> None:
        first = self.first(self.filled(tmp_path))
        later = context_for(now=START + timedelta(days=400))
        for record in self.records(first).values():
            events = self.connector.normalise(record, context_for())
            assert events, record.native_id
            assert self.connector.normalise(record, later) == events, "normalise looked at the clock"
            for event in events:
                assert Event.model_validate_json(event.model_dump_json()) == event
                assert (event.owner, event.account, event.source) == (record.owner, record.account, record.source)
                assert event.observed_at == record.fetched_at
        ids = [event.id for event in self.events(first)]
        assert len(ids) == len(set(ids))

    def test_a_poison_item_is_rejected_and_the_rest_goes_on(self, tmp_path: Path) -> None:
        healthy = len(self.events(self.first(self.filled(tmp_path / "healthy"))))
        source = self.filled(tmp_path / "poisoned")
        source.poison()
        source.add()
        result = self.first(source)
        events, poison = events_of(self.connector, list(self.records(result).values()), context_for())
        assert result.error is None
        assert result.rejected or poison
        assert all(rejected.code and rejected.reason and rejected.where for rejected in result.rejected)
        assert len(events) > healthy

    def test_polling_changes_nothing_at_the_source(self, tmp_path: Path) -> None:
        source = self.filled(tmp_path)
        source.poison()
        before = source.fingerprint()
        self.again(source, self.first(source))
        assert source.fingerprint() == before
