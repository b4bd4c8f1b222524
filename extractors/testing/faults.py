"""A connector under faults, in random order: what the service holds in the end is what the source holds.

A Hypothesis state machine changes the source, polls, kills polls between pages, and lets requests meet faults. After
each healthy poll the records kept so far, folded, are exactly the source's truth, and no change was recorded twice::

    TestFaults = fault_machine(lambda: GmailSource(), connector).TestCase
    TestFilesUnderFaults = fault_machine(lambda: FaultyFiles(MaildirSource), connector).TestCase
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Protocol

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from extractors.connector import Connector
from extractors.testing.contract import ScriptedSource
from extractors.testing.polling import START, Poll, context_for, poll, records_of
from schemas.errors import ForewatchError
from schemas.record import Record


class FaultySource(ScriptedSource, Protocol):
    """A scripted source that can be made to misbehave."""

    key: Any

    def faults(self) -> Mapping[str, Callable[[int], None]]:
        """By name, what lets the n-th request from now meet a fault (``extractors.testing.standin``)."""
        ...

    def heal(self) -> None:
        """No fault is armed any more, and a revoked consent is granted again."""
        ...

    def lose_cursors(self) -> None:
        """Every cursor handed out so far is unknown from now on."""
        ...

    def close(self) -> None:
        """Stop what was started."""
        ...


class FaultyFiles:
    """A source on disk under faults: what ``breakages`` names befalls it for one poll, then its files are back as they
    were. Losing cursors is a backup that was played back: other inodes, later times of change."""

    key: Any = None

    def __init__(self, make: Callable[[Path], ScriptedSource]) -> None:
        self._root = Path(mkdtemp(prefix="faults-"))
        self._folder, self._kept = self._root / "source", self._root / "kept"
        self._folder.mkdir()
        self._source = make(self._folder)
        self.config = self._source.config
        self.add, self.change, self.remove = self._source.add, self._source.change, self._source.remove
        self.poison, self.fingerprint = self._source.poison, self._source.fingerprint

    def breakages(self) -> Mapping[str, Callable[[], None]]:
        return self._source.breakages()

    def faults(self) -> Mapping[str, Callable[[int], None]]:
        return {name: self._breaking(name) for name in self.breakages()}

    def _breaking(self, name: str) -> Callable[[int], None]:
        def befall(after: int) -> None:
            shutil.copytree(self._folder, self._kept, symlinks=True)
            self.breakages()[name]()

        return befall

    def heal(self) -> None:
        shutil.rmtree(self._folder)
        self._kept.rename(self._folder)

    def lose_cursors(self) -> None:
        shutil.copytree(self._folder, self._kept, symlinks=True)
        self.heal()

    def close(self) -> None:
        shutil.rmtree(self._root)


class _Books:
    """What the service would hold: the records by id in order of arrival, and the cursor."""

    def __init__(self) -> None:
        self.cursor: Any = None
        self.records: dict[str, Record] = {}

    def take(self, connector: Connector, result: Poll) -> None:
        self.cursor = result.cursor
        for page in result.pages:
            for record in records_of(connector, [*page.upserts, *page.deletes], context_for()):
                self.records.setdefault(record.id, record)

    def held(self) -> dict[str, tuple[bytes, Any]]:
        """Native id to content and flags, of what the source still has."""
        found: dict[str, tuple[bytes, Any]] = {}
        for record in self.records.values():
            if record.op == "upsert":
                found[record.native_id] = (record.raw, record.meta.get("flags"))
            else:
                found.pop(record.native_id, None)
        return found

    def repeated(self) -> list[str]:
        """Native ids of which the same state was recorded twice in a row."""
        last: dict[str, tuple[str, bytes, Any]] = {}
        found = []
        for record in self.records.values():
            state = (record.op, record.raw, record.meta.get("flags"))  # a mail that was read has the same bytes
            if last.get(record.native_id) == state:
                found.append(record.native_id)
            last[record.native_id] = state
        return found


def fault_machine(
    make: Callable[[], FaultySource],
    connector: Connector,
    *,
    examples: int = 25,
    steps: int = 12,
    doubts: int = 0,
    is_listed: Callable[[str], bool] = lambda native_id: True,
) -> type[RuleBasedStateMachine]:
    """The machine; its ``TestCase`` is what pytest runs, and names its ``connector``. ``make`` gives a fresh, empty
    source.

    ``doubts``: on how many further days a connector looks again before it believes that something is gone.
    ``is_listed``: whether the source still lists the thing of this native id; what it said only once is not compared.
    """
    names = sorted(_names(make))

    class Machine(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            self.source = make()
            self.books = _Books()
            self.hours = 0
            self.size = 0

        @initialize(count=st.integers(2, 6))
        def fill(self, count: int) -> None:
            for _ in range(count):
                self.add()

        @rule()
        def add(self) -> None:
            self.source.add()
            self.size += 1

        @rule()
        def change(self) -> None:
            if self.size:
                self.source.change()

        @rule()
        def remove(self) -> None:
            if self.size > 1:
                self.source.remove()
                self.size -= 1

        @rule()
        def lose_cursors(self) -> None:
            self.source.lose_cursors()

        @rule(fault=st.sampled_from(names), after=st.integers(0, 8))
        def poll_under_a_fault(self, fault: str, after: int) -> None:
            self.source.faults()[fault](after)
            self._poll()
            self.source.heal()

        @rule(pages=st.integers(1, 4))
        def killed_poll(self, pages: int) -> None:
            self._poll(kill_after=pages)

        @rule()
        def healthy_poll(self) -> None:
            for later in range(doubts + 1):
                self.hours += 24 if later else 0
                result = self._poll()
                assert result.error is None, result.error
            assert self._listed(self.books) == self._truth()

        def _listed(self, books: _Books) -> dict[str, tuple[bytes, Any]]:
            return {native_id: state for native_id, state in books.held().items() if is_listed(native_id)}

        @invariant()
        def no_change_is_recorded_twice(self) -> None:
            assert self.books.repeated() == []

        def _poll(self, kill_after: int | None = None) -> Poll:
            self.hours += 1
            context = context_for(START + timedelta(hours=self.hours))
            result = poll(
                connector, self.source.config, self.books.cursor, context, kill_after=kill_after, key=self.source.key
            )
            assert isinstance(result.error, ForewatchError | None)
            self.books.take(connector, result)
            return result

        def _truth(self) -> dict[str, tuple[bytes, Any]]:
            """What a new account would be given now."""
            result = poll(connector, self.source.config, None, context_for(), key=self.source.key)
            assert result.error is None, result.error
            fresh = _Books()
            fresh.take(connector, result)
            return self._listed(fresh)

        def teardown(self) -> None:
            try:
                self.healthy_poll()
            finally:
                self.source.close()

    Machine.TestCase.connector = connector  # type: ignore[attr-defined]  # our own mark
    Machine.TestCase.settings = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    return Machine


def _names(make: Callable[[], FaultySource]) -> list[str]:
    source = make()
    try:
        return list(source.faults())
    finally:
        source.close()
