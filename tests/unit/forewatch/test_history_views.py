"""The views that people ask: current, typed, in their own time zone, and all the way back to the source (law L5)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import pytest

from actions.proposal.state import ProposalState
from actions.setup import Setup
from actions.testing.bank import BankTool, Ledger, manifest
from actions.testing.household import START, Household, playbook, trigger
from actions.testing.talk import Talk
from actions.tools.tool import Registry
from actions.tools.wait import WaitUntil
from forewatch.storage import guard, viewfile, views
from forewatch.storage.history import History, Tuning
from forewatch.storage.query import HistoryQuery
from forewatch.storage.testing import batch, event, rows
from schemas.clock import ManualClock
from schemas.journal import JournalEntry
from schemas.trigger import Evidence, Retraction
from schemas.value import Integrity, Value
from streams import topics


class Shelf:
    """A history, asked through ``history.duckdb`` right after each batch; ``fold`` moves all of it to Parquet."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._offsets: dict[str, int] = {}
        self._history = History.open(root, ManualClock(START), Tuning(segment_age_s=0, settle_s=0, grace_s=0))
        self._history.maintain()

    def keep(self, topic: str, *documents: Any) -> None:
        first = self._offsets.get(topic, 0)
        self._offsets[topic] = first + len(documents)
        self._history.ingest(batch(first, documents, topic))

    def fold(self) -> None:
        self._history.maintain()

    def ask(self, sql: str, zone: str = "UTC") -> list[tuple[Any, ...]]:
        return rows(self.root, sql, zone)

    def close(self) -> None:
        self._history.close()


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    made = Shelf(tmp_path / "history")
    yield made
    made.close()


def booking(number: int, kind: str = "bank.posted", **changes: Any) -> dict[str, Any]:
    payload = {"type": "bank", "row_key": f"row-{number}", "merchant": "acme", "booked_on": "2026-03-01"}
    amount = {"amount": "-10.00", "currency": "EUR"}
    payload |= changes.pop("payload", {})
    return event(number, account="bank", kind=kind, amount=amount, payload=payload, **changes)


class TestCurrentState:
    def test_bank_counts_each_transaction_once(self, shelf: Shelf) -> None:
        shelf.keep(
            topics.EVENTS,
            booking(1),
            booking(2, id="v2", subject="subject-1", version="2", title="the same row, corrected"),
            booking(3, "bank.pending"),
            booking(4, payload={"replaces": "row-3"}),
            booking(5, "bank.pending"),
            booking(6),
            booking(7, "bank.removed", id="gone", subject="subject-6", op="retract"),
            booking(8, "bank.balance"),
        )
        found = shelf.ask("SELECT id, pending FROM bank ORDER BY id")
        assert found == [("event-4", False), ("event-5", True), ("v2", False)]
        assert shelf.ask("SELECT count(*) FROM events") == [(8,)]

    def test_calendar_has_the_newest_version_and_what_was_cancelled(self, shelf: Shelf) -> None:
        shelf.keep(
            topics.EVENTS,
            event(1, kind="calendar.scheduled", subject="a", title="first"),
            event(2, kind="calendar.changed", subject="a", account="mail-1", title="moved"),
            event(3, kind="calendar.scheduled", subject="b", account="mail-1"),
            event(4, kind="calendar.cancelled", subject="b", account="mail-1"),
        )
        assert shelf.ask("SELECT kind, title FROM calendar ORDER BY id") == [
            ("calendar.changed", "moved"),
            ("calendar.cancelled", "Letter 4"),
        ]

    def test_mail_names_its_sender(self, shelf: Shelf) -> None:
        shelf.keep(topics.EVENTS, event(1), booking(2))
        found = shelf.ask("SELECT id, sender_name, sender_address, message_id FROM mail")
        assert found == [("event-1", "Ann", "ann@example.org", "<1@example.org>")]


class TestTime:
    @pytest.mark.parametrize("zone", ["America/Los_Angeles", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe"])
    def test_days_are_the_same_days_in_every_session_zone(self, shelf: Shelf, zone: str) -> None:
        shelf.keep(
            topics.EVENTS,
            event(1, kind="calendar.scheduled", all_day=True, wall_start="2026-03-29", wall_end="2026-03-31",
                  starts_at="2026-03-28T23:00:00Z", ends_at="2026-03-30T22:00:00Z"),
            booking(2),
            event(3, facts=[{"kind": "due", "origin": "text", "certainty": 0.9, "on": "2026-03-29", "what": "pay"}]),
        )  # fmt: skip
        for _ in range(2):  # as hot rows, and as Parquet
            text = "CAST({} AS VARCHAR)".format
            assert shelf.ask(f"SELECT {text('starts_on')}, {text('ends_on')} FROM calendar", zone) == [
                ("2026-03-29", "2026-03-30")
            ]
            assert shelf.ask(f"SELECT {text('booked_on')} FROM bank", zone) == [("2026-03-01",)]
            assert shelf.ask(f"SELECT {text('day')} FROM facts", zone) == [("2026-03-29",)]
            shelf.fold()

    def test_an_instant_shows_in_the_zone_of_the_session(self, shelf: Shelf) -> None:
        shelf.keep(topics.EVENTS, event(1, due_at="2026-03-29T01:30:00Z"))
        shelf.fold()
        table = HistoryQuery(shelf.root, "Europe/Berlin").page("SELECT due_at FROM events")
        assert table.rows == [["2026-03-29T03:30:00+02:00"]]


class TestFacts:
    def test_each_fact_is_a_row_with_its_day_money_and_number(self, shelf: Shelf) -> None:
        span = {"part": "text", "start": 0, "end": 9, "quote": "82.50 EUR"}
        money = {"amount": "82.50", "currency": "EUR"}
        base = {"origin": "text", "certainty": 0.9}
        shelf.keep(
            topics.EVENTS,
            event(
                1,
                facts=[
                    base | {"kind": "invoice", "number": "A-17", "amount": money, "due": "2026-03-20", "span": span},
                    base | {"kind": "expiry", "on": "2026-04-01", "what": "passport", "category": "document"},
                    base | {"kind": "change", "what": "price", "new": money, "on": "2026-05-01"},
                ],
            ),
        )
        columns = "kind, CAST(day AS VARCHAR), CAST(amount AS VARCHAR), currency, number, what, quote"
        assert shelf.ask(f"SELECT {columns} FROM facts ORDER BY kind") == [
            ("change", "2026-05-01", "82.5000", "EUR", None, "price", None),
            ("expiry", "2026-04-01", None, None, None, "passport", None),
            ("invoice", "2026-03-20", "82.5000", "EUR", "A-17", None, "82.50 EUR"),
        ]


PAGE = Path(__file__).parents[3] / "docs" / "reference" / "history.md"
EXAMPLES = re.findall(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
SOURCES = EXAMPLES[0].replace("the id that forewatch proposals list shows", "{proposal}")


def talk() -> Talk:
    clock = ManualClock(START)
    tools = [BankTool(manifest("bank.pay", "keyed", effect="write_self"), Ledger(clock)), WaitUntil()]
    return Talk(Setup({"pay": playbook("small")}, Registry(tools)), clock)


def said(world: Talk) -> ProposalState:
    [state] = world.book.proposals.values()
    return state


class TestProposals:
    def test_a_proposal_leads_back_to_its_source_record(self, shelf: Shelf) -> None:
        world = talk()
        evidence = Evidence(event="event-1", kind="mail.received", occurred_at=START, quote="82.50 EUR")
        fired = trigger(evidence=(evidence,))
        world.say(fired)
        shelf.keep(topics.EVENTS, event(1), event(2))
        shelf.keep(topics.TRIGGERS, fired)
        shelf.keep(topics.JOURNAL, *world.entries)
        expected = (
            "Pay Acme 82.50 EUR by 20 March", "offered", "invoice-unpaid", "lead_reached", "82.50 EUR",
            "mail-1", "maildir", "subject-1", "record-1", "1", "<1@example.org>",
        )  # fmt: skip
        assert shelf.ask(SOURCES.format(proposal=said(world).id)) == [expected]
        shelf.fold()
        assert shelf.ask(SOURCES.format(proposal=said(world).id)) == [expected]

    @staticmethod
    def stories() -> Iterator[tuple[str, Talk]]:
        """Worlds at rest in every state that a proposal can be in without an executor."""
        for verb, args in (
            ("approve", {}),
            ("reject", {"reason": "not now"}),
            ("never", {}),
            ("snooze", {"until": (START + timedelta(days=2)).isoformat()}),
        ):
            world = talk()
            world.say(trigger())
            world.tell(said(world), verb, **args)  # type: ignore[arg-type]
            yield verb, world
        world = talk()
        world.say(trigger())
        world.say(
            Retraction(id="r", owner="ann", trigger=trigger().id, rule="invoice-unpaid", key="acme-17", at=START,
                       reason="unless", says="Paid.")
        )  # fmt: skip
        yield "retract", world
        world = talk()
        unknown = Value(v=None, type="Text", integrity=Integrity.UNTRUSTED)
        world.say(trigger(values={"party.name": unknown}))
        yield "needs input", world
        for name, then in (("refreshed", ()), ("snoozed and refreshed", ("snooze",))):
            world = talk()
            world.say(trigger())
            for _ in then:
                world.tell(said(world), "snooze", until=(START + timedelta(days=2)).isoformat())
            world.say(trigger(2, title="Pay Acme 90.00 EUR by 20 March"))
            yield name, world
        dearer = Value(v={"amount": "90.00", "currency": "EUR"}, type="Money", integrity=Integrity.KNOWN)
        for until in ("clears", "changes"):
            world = talk()
            world.say(trigger())
            world.tell(said(world), "snooze", until=until)
            world.say(trigger(2, values=trigger().values | {"fact.invoice.amount": dearer}))
            yield f"known until it {until}", world

    def test_sql_says_of_each_proposal_what_the_book_says(self, shelf: Shelf) -> None:
        expected = {}
        for story, world in self.stories():
            state = said(world)
            entries = [renamed(entry, f"{story}: {entry.stream}") for entry in world.entries]
            shelf.keep(topics.JOURNAL, *entries)
            expected[f"{story}: {state.id}"] = (
                state.phase,
                state.title,
                state.trigger.id,
                state.plan.version if state.plan else None,
                state.reason,
                state.says,
                state.surface,
                state.surface_reason,
                state.priority["score"],
            )
        assert {phase for phase, *_ in expected.values()} > {"offered", "snoozed", "rejected", "retracted", "running"}
        found = shelf.ask(
            "SELECT id, state, title, trigger, plan_version, reason, says, surface, surface_reason, priority"
            " FROM proposals"
        )
        assert {row[0]: row[1:] for row in found} == expected

    def test_a_whole_run_can_be_read_with_its_steps(self, shelf: Shelf) -> None:
        world = Household("keyed")
        asyncio.run(world.live())
        shelf.keep(topics.JOURNAL, *world.log.entries)
        [(run, proposal, state, intents, results)] = shelf.ask("SELECT id, proposal, state, intents, results FROM runs")
        plan = world.state.plan
        assert plan is not None
        assert (run, proposal, state) == (plan.run, world.proposal, "done")
        assert intents == results == sum(entry.type == "step.intent" for entry in world.log.entries)
        steps = shelf.ask("SELECT uid, id, tool, attempts > 0 FROM steps ORDER BY id")
        assert steps == [(step.uid, step.id, step.tool, step.tool != "wait.until") for step in plan.steps]

    def test_audit_has_every_entry_with_its_hash(self, shelf: Shelf) -> None:
        world = talk()
        world.say(trigger())
        shelf.keep(topics.JOURNAL, *world.entries)
        found = shelf.ask("SELECT id, proposal, seq, type, prev_hash, hash FROM audit ORDER BY seq")
        assert found == [(e.id, e.stream, e.seq, e.type, e.prev_hash, e.hash) for e in world.entries]

    def test_of_two_entries_at_one_place_the_newer_generation_counts(self, shelf: Shelf) -> None:
        world = talk()
        world.say(trigger())
        drafted, offered = world.entries
        fenced = offered.model_copy(update={"type": "proposal.expired", "epoch": 0, "hash": "fenced"})
        shelf.keep(topics.JOURNAL, drafted, fenced, offered)
        assert shelf.ask("SELECT state FROM proposals") == [("offered",)]
        assert shelf.ask("SELECT count(*) FROM audit") == [(3,)]


def renamed(entry: JournalEntry, stream: str) -> JournalEntry:
    return entry.model_copy(update={"stream": stream, "id": f"{stream} {entry.seq}"})


class TestTheRest:
    def test_signals_are_told_apart(self, shelf: Shelf) -> None:
        explanation = {"rule": "r", "revision": "1", "event": "event-1", "outcome": "suppressed",
                       "reason": "cooldown", "at": "2026-01-01T00:00:00Z"}  # fmt: skip
        base = {"owner": "me", "rule": "r", "key": "k", "at": "2026-01-01T00:00:00Z"}
        evidence = {"event": "event-2", "kind": "bank.posted", "occurred_at": "2026-01-01T00:00:00Z"}
        shelf.keep(
            topics.TRIGGERS,
            trigger(),
            base | {"type": "retraction", "id": "x", "trigger": "t", "reason": "unless", "says": "Paid.",
                    "evidence": [evidence]},
            base | {"type": "suppression", "id": "y", "explanation": explanation},
        )  # fmt: skip
        assert shelf.ask("SELECT rule, reason FROM triggers") == [("invoice-unpaid", "lead_reached")]
        assert shelf.ask("SELECT trigger, reason, says FROM retractions") == [("t", "unless", "Paid.")]
        assert shelf.ask("SELECT reason, event FROM suppressions") == [("cooldown", "event-1")]
        assert shelf.ask("SELECT signal, trigger, event FROM evidence WHERE type = 'retraction'") == [
            ("x", "t", "event-2")
        ]

    def test_a_dead_letter_keeps_its_bytes(self, shelf: Shelf) -> None:
        letter = {"id": "d", "topic": "records", "code": "too_deep", "reason": "nested", "account": "mail-0",
                  "at": "2026-01-01T00:00:00Z", "payload": "AAH/"}  # fmt: skip
        shelf.keep(topics.DEAD, letter)
        assert shelf.ask("SELECT code, account, payload FROM dead_letters") == [("too_deep", "mail-0", b"\x00\x01\xff")]

    @pytest.mark.parametrize("sql", EXAMPLES)
    def test_the_examples_of_the_documentation_run(self, shelf: Shelf, sql: str) -> None:
        assert shelf.ask(sql) == []
        with duckdb.connect() as engine:
            assert guard.check(engine, sql).text == sql

    def test_every_view_is_documented(self) -> None:
        documented = re.findall(r"^\| `(\w+)` \|", PAGE.read_text(), re.MULTILINE)
        assert documented == list(views.PUBLIC)

    def test_the_file_and_our_own_queries_have_the_same_views(self, shelf: Shelf) -> None:
        sql = (
            "SELECT table_name, column_name, data_type FROM information_schema.columns"
            " WHERE table_schema = 'main' ORDER BY table_name, ordinal_position"
        )
        shelf.keep(topics.EVENTS, event(1))
        mine = HistoryQuery(shelf.root, "UTC").page(sql).rows
        assert {name for name, _, _ in mine} == set(views.PUBLIC)
        assert [tuple(row) for row in mine] == shelf.ask(sql)

    def test_the_file_holds_no_rows(self, shelf: Shelf) -> None:
        shelf.keep(topics.EVENTS, *(event(n, text="x" * 10_000) for n in range(100)))
        assert (shelf.root / viewfile.NAME).stat().st_size < 1_000_000
        assert shelf.ask("SELECT count(*) FROM duckdb_tables() WHERE NOT internal") == [(0,)]
