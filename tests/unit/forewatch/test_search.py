"""Words in, things out: ranked, each once, never what is gone, and from an index that can always be made again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from forewatch.storage import search as index
from forewatch.storage.history import History, Tuning
from forewatch.storage.ledger import Ledger
from forewatch.storage.query import HistoryQuery
from forewatch.storage.search import search
from forewatch.storage.testing import START, batch, event
from schemas.clock import ManualClock
from streams import topics


class Desk:
    """A history whose search index is brought up to date after each batch."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._next = 0
        self.open()

    def open(self) -> None:
        tuning = Tuning(segment_rows=6, settle_s=0, grace_s=0)
        self.history = History.open(self.root, ManualClock(START), tuning)

    def keep(self, *documents: dict[str, Any]) -> None:
        self.history.ingest(batch(self._next, documents))
        self._next += len(documents)
        self.history.maintain()

    def find(self, text: str, limit: int = 20) -> list[str]:
        return [hit.event for hit in search(self.root, text, limit)]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    made = Desk(tmp_path / "history")
    yield made
    made.history.close()


def test_a_hit_says_what_and_when_it_was(desk: Desk) -> None:
    desk.keep(event(1, title="Your invoice", account="work"))
    [hit] = search(desk.root, "invoices")
    assert (hit.event, hit.account, hit.kind, hit.subject) == ("event-1", "work", "mail.received", "subject-1")
    assert (hit.title, hit.occurred_at.isoformat()) == ("Your invoice", "2026-01-01T09:00:00+00:00")


def test_all_words_come_before_any_word_and_titles_before_text(desk: Desk) -> None:
    desk.keep(
        event(1, title="Lunch", text="the invoice is overdue"),
        event(2, title="Invoice overdue", text="please pay"),
        event(3, title="Invoice", text="thank you"),
    )
    assert desk.find("overdue invoice") == ["event-2", "event-1"]
    assert desk.find("invoice unicorn") == ["event-3", "event-2", "event-1"]


def test_accents_and_people_are_found(desk: Desk) -> None:
    desk.keep(event(1, title="Kündigung", parties=[{"role": "from", "name": "Zoë Müller", "address": "z@example.org"}]))
    assert desk.find("kundigung") == desk.find("muller") == desk.find("z@example.org") == ["event-1"]


def test_a_thing_is_found_once_by_its_newest_version(desk: Desk) -> None:
    """Things of two accounts are two things, whatever their sources call them."""
    desk.keep(event(1, subject="s", title="Meeting"), event(2, subject="s", title="Meeting"))
    desk.keep(event(4, subject="s", title="Meeting", version="2"))
    assert sorted(desk.find("meeting")) == ["event-2", "event-4"]


def test_what_its_source_removed_is_not_found(desk: Desk) -> None:
    desk.keep(event(1, title="Secret"), event(2, title="Secret plan"))
    desk.keep(event(4, subject="subject-1", kind="mail.removed", op="retract", title="", text="", account="mail-1"))
    assert desk.find("secret") == ["event-2"]


def test_the_limit_counts_things(desk: Desk) -> None:
    desk.keep(*(event(n, title="Report") for n in range(5)))
    assert len(desk.find("report", limit=2)) == 2


@pytest.mark.parametrize("text", ["", '"', "NEAR(a b)", "title:x OR", "* ^ -", "a AND NOT"])
def test_no_text_is_a_syntax_error(desk: Desk, text: str) -> None:
    desk.keep(event(1))
    assert desk.find(text) == []


def test_before_the_first_upkeep_nothing_is_found(tmp_path: Path) -> None:
    assert search(tmp_path / "nowhere", "anything") == []


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"no database" * 999)])
def test_a_lost_or_damaged_index_is_made_again_from_history(desk: Desk, damage: Any) -> None:
    """Of these rows, six are in Parquet and one is hot."""
    desk.keep(*(event(n, title="Report") for n in range(6)))
    desk.keep(event(6, title="Report"))
    before = search(desk.root, "report ann words")
    assert len(before) == 7
    desk.history.close()
    damage(desk.root / index.NAME)
    desk.open()
    desk.history.maintain()
    assert search(desk.root, "report ann words") == before


def test_an_index_is_made_again_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although the newest row in Parquet is none that it holds."""
    desk.keep(*(event(n, title="Report") for n in range(5)))
    letter = {"id": "d", "topic": "records", "reason": "torn", "at": "2026-01-01T00:00:00Z"}
    desk.history.ingest(batch(0, [letter], topic=topics.DEAD))
    desk.history.maintain()
    desk.history.close()
    (desk.root / index.NAME).unlink()
    export, exports = HistoryQuery.export, []

    def counted(self: HistoryQuery, sql: str, *rest: Any) -> int:
        exports.append(sql)
        return export(self, sql, *rest)

    monkeypatch.setattr(HistoryQuery, "export", counted)
    desk.open()
    desk.history.maintain()
    desk.history.maintain()
    assert len(exports) == 1
    assert len(desk.find("report")) == 5


def test_making_it_again_can_be_given_up_and_leaves_it_as_it_was(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than a pipe holds is still to come then: nobody may wait for whoever writes it."""
    desk.keep(*(event(number, text=f"needle {'hay ' * 2000}") for number in range(60)))
    monkeypatch.setattr(index, "_CHUNK", 5)
    made = index.SearchIndex(desk.root)
    ledger = Ledger(desk.root, "normal")
    asked: list[int] = []

    def go_on() -> None:
        asked.append(len(asked))
        if len(asked) == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        made.catch_up(ledger, folded_to=1_000, go_on=go_on)
    made.close()
    ledger.close()
    assert len(desk.find("needle", limit=100)) == 60
