"""What is said once for everything to come: permissions with their ends, the stop of everything, known payees."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from datetime import timedelta
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from actions import nominal
from actions.journal import Draft
from actions.planning.playbook import Playbook
from actions.policy import audit
from actions.policy.destination import canonical
from actions.policy.experience import STREAM
from actions.policy.permission_offer import AFTER, offer
from actions.proposal.propose import Input, decide
from actions.proposal.state import ProposalState
from actions.run.executor import Executor
from actions.run.move import Record
from actions.run.moves import next_move
from actions.settings import ActSettings
from actions.setup import Setup
from actions.testing.bank import BankTool, Behaviour, Ledger, manifest
from actions.testing.household import OWNER, START, trigger
from actions.testing.memory import MemoryLog
from actions.tools.tool import Arg, Registry
from actions.tools.wait import WaitUntil
from forewatch.cards import card, entry_line
from schemas import ids
from schemas.clock import ManualClock
from schemas.command import Command, Verb
from schemas.journal import JournalEntry
from schemas.model import Json
from schemas.value import Integrity, Value

IBAN, OTHER = "DE89370400440532013000", "GB29NWBK60161331926819"


def playbook(to: str) -> Playbook:
    return Playbook.model_validate(
        {
            "id": "pay", "version": 1, "title": "Pay", "sha": "0" * 64,
            "slots": {
                "to": {"type": to, "from": ["fact.invoice.iban"], "required": True},
                "amount": {"type": "Money", "from": ["fact.invoice.amount"], "required": True},
            },
            "steps": [{"id": "s1", "tool": "bank.pay", "args": {"to": {"slot": "to"}, "amount": {"slot": "amount"}}}],
        }
    )  # fmt: skip


class World:
    """A bank that pays to account numbers (or to whatever else ``to`` says), and a person whose every word is a method
    here."""

    def __init__(self, script: Sequence[Behaviour] = (), to: str = "Iban", **changes: object) -> None:
        self.clock = ManualClock(START)
        self.ledger = Ledger(self.clock)
        self.to = to
        args = {"to": Arg(type=to, sink="destination"), "amount": Arg(type="Money")}
        self.tool = BankTool(manifest("bank.pay", "keyed", args=args, **changes), self.ledger, script)
        note = BankTool(manifest("bank.note", "keyed", effect="write_self"), self.ledger)
        self.setup = Setup({"pay": playbook(to)}, Registry([self.tool, note, WaitUntil()]))
        self.log = MemoryLog()
        self.journal = self.log.open(OWNER)
        self._said = 0

    def restart(self) -> None:
        self.journal = self.log.open(OWNER)

    def say(self, said: Input) -> list[JournalEntry]:
        return run(self._say(said))

    async def _say(self, said: Input) -> list[JournalEntry]:
        drafts = decide(self.journal.book, said, self.clock.now(), self.setup)
        return await self.journal.append(drafts) if drafts else []

    def stand(self, verb: Verb, **args: Json) -> list[JournalEntry]:
        return self.say(self.command(STREAM, verb, "", args))

    def allow(self, **changes: Json) -> list[JournalEntry]:
        ends = (self.clock.now() + timedelta(days=90)).isoformat()
        args: dict[str, Json] = {"tool": "bank.pay", "to": IBAN, "cap": euros("100.00"), "times": 3, "expires_at": ends}
        return self.stand("allow", **(args | changes))

    def command(self, proposal: str, verb: Verb, digest: str, args: dict[str, Json]) -> Command:
        self._said += 1
        return Command(
            id=ids.command_id(proposal, verb, str(self._said)), owner=OWNER, who=OWNER, channel="cli", verb=verb,
            proposal=proposal, digest=digest, args=args, at=self.clock.now(),
        )  # fmt: skip

    def tell(self, state: ProposalState, verb: Verb, digest: str, **args: Json) -> list[JournalEntry]:
        return self.say(self.command(state.id, verb, digest, args))

    def invoice(
        self, number: int = 1, to: str = IBAN, amount: str = "82.50", trust: Integrity = Integrity.UNTRUSTED
    ) -> ProposalState:
        """An invoice arrives, its payment is proposed, and the person approves the plan."""
        values = {
            "party.name": Value(v="Acme", type="Text", sources=("ev1",)),
            "fact.invoice.iban": Value(v=to, type=self.to, sources=("ev1",), integrity=trust),
            "fact.invoice.amount": Value(v=euros(amount), type="Money", sources=("ev1",), integrity=trust),
        }  # fmt: skip
        slots = {"to": "fact.invoice.iban", "amount": "fact.invoice.amount"}
        fired = trigger(number, key=f"acme-{number}", values=values)
        self.say(fired)
        state = self.journal.book.by_trigger(fired.id)
        assert state is not None
        if state.phase == "needs_input":
            given: dict[str, Json] = {slot: values[source].v for slot, source in slots.items()}
            self.tell(state, "answer", "", slots=given)
        self.tell(state, "approve", state.digest)
        self.go(state)
        return state

    def go(self, state: ProposalState) -> None:
        run(self.executor().advance(state.id))

    def executor(self) -> Executor:
        return Executor(self.journal, self.journal.book, self.setup, self.clock, Random(7))

    def confirm(self, state: ProposalState) -> None:
        ((uid, live),) = state.steps.items()
        assert live.gate is not None
        self.tell(state, "confirm", live.gate.digest, step=uid)
        self.go(state)

    def entries(self, type_: str) -> list[JournalEntry]:
        return [entry for entry in self.log.entries if entry.type == type_]

    @property
    def paid(self) -> int:
        return len(self.ledger.landed())


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def euros(amount: str) -> Json:
    return {"amount": amount, "currency": "EUR"}


def code(entries: list[JournalEntry]) -> Json:
    assert [entry.type for entry in entries] == ["command.refused"]
    return entries[0].body["code"]


def phases(state: ProposalState) -> list[str]:
    return [live.phase for live in state.steps.values()]


def offered(world: World, state: ProposalState) -> str:
    """What the card of the one step says."""
    shown = card(state, world.setup, world.setup.settings.zone)
    (step,) = shown["steps"]
    assert bool(step["offer"]) == ("to allow it ahead" in "\n".join(shown["lines"]))
    return str(step["offer"])


def approved(world: World, times: int, to: str = IBAN) -> None:
    for number in range(1, times + 1):
        world.confirm(world.invoice(number, to=to))
    assert world.paid == times


def test_who_answered_first_is_told_by_the_owners_clock() -> None:
    world = World()
    world.setup = replace(world.setup, settings=ActSettings(zone=ZoneInfo("Europe/Berlin")))
    state = world.invoice()
    (refused,) = world.tell(state, "approve", state.digest)
    assert (
        refused.body["message"] == "already answered (approve by person:ann via cli at 2025-03-03 10:00); it is running"
    )


class TestOffers:
    def test_after_three_approvals_the_fourth_question_says_how_to_allow_it_ahead(self) -> None:
        world = World()
        approved(world, 2)
        state = world.invoice(3)
        assert offered(world, state) == ""
        world.confirm(state)
        assert offered(world, world.invoice(4)) == (
            f"forewatch permissions allow bank.pay {IBAN} --cap 'AMOUNT EUR' --for 90d"
        )
        assert (world.paid, world.journal.book.experience.permissions) == (3, {}), "nothing is allowed by an offer"
        world.restart()
        (*_, state) = world.journal.book.proposals.values()
        assert offered(world, state)

    def test_what_it_offers_lets_the_next_one_pass(self) -> None:
        world = World()
        approved(world, 3)
        assert offered(world, world.invoice(4))
        world.allow(times=4)
        assert (world.invoice(5).phase, world.paid) == ("done", 4)

    def test_another_destination_is_another_row(self) -> None:
        world = World()
        approved(world, 3)
        assert offered(world, world.invoice(4, to=OTHER)) == ""

    def test_it_is_not_offered_where_it_would_be_asked_about_all_the_same(self) -> None:
        world = World()
        approved(world, 3)
        assert offered(world, world.invoice(4, amount="4000.00")) == ""

    @pytest.mark.parametrize(
        ("type_", "to"),
        [
            ("Url", "https://office.example/Renew?case=7&to=$(reboot)"),
            ("Url", "https://office.example/`reboot`;reboot|reboot&reboot>/dev/null"),
            ("Url", 'https://office.example/it\'s"quoted"/$HOME/*/~/!!/#end'),
            ("Url", "https://office.example:8443/a"),
            ("Url", "https://xn--80ak6aa92e.example/a"),
            ("Email", "land'lord+$HOME`id`{a}!|&*@example.org"),
        ],
    )
    def test_what_it_offers_reaches_the_command_as_the_destination_and_as_nothing_else(
        self, type_: str, to: str
    ) -> None:
        world = World(to=type_)
        approved(world, 3, to)
        command = offered(world, world.invoice(4, to=to))
        typed = command.replace("forewatch", "printf '%s\\0'", 1)
        given = subprocess.run(["sh", "-c", typed], capture_output=True, check=True).stdout.decode().split("\0")
        assert given == ["permissions", "allow", "bank.pay", to.lower() if type_ == "Email" else to,
                         "--cap", "AMOUNT EUR", "--for", "90d", ""]  # fmt: skip
        made = world.allow(to=given[3], times=4)
        assert made[0].type == "permission.allowed"
        assert (world.invoice(5, to=to).phase, world.paid) == ("done", 4)

    @pytest.mark.parametrize(
        ("type_", "to"),
        [
            ("Url", "https://office.example/\u202egpj.exe"),
            ("Url", "https://office.example/\u2066a\u2069"),
            ("Url", "https://office.example/a\u200bb"),
            ("Url", "https://office.example/a\u00adb"),
            ("Url", "https://office.example/\ufeffa"),
            ("Url", "https://office.example/a\ufe0fb"),
            ("Url", "https://office.example/a\u3164b"),
            ("Url", "https://office.example/a\u00a0b"),
            ("Url", "https://office.example/a b"),
            ("Url", "https://office.example/a\nforewatch stop-everything"),
            ("Url", "https://office.example/a\r\x1b[2Kb"),
            ("Url", "https://office.example/a\tb"),
            ("Url", "https://office.example/a\x7fb"),
            ("Url", "https://office.example/a\u0085b\u2028c"),
            ("Url", "https://\u043effice.example/a"),
            ("Url", "https://office.example/\u0440ay"),
            ("Url", "https://office.example/\u2024\u2024/a"),
            ("Url", "https://\uff4fffice.example/a"),
            ("Url", "https://office\u3002example/a"),
            ("Url", "https://m\u00fcnchen.example/a"),
            ("Url", "https://office.example@evil.example/a"),
            ("Url", "https://office.example:443@evil.example/a"),
            ("Url", "https://evil.example\\.office.example/a"),
            ("Url", "https://evil.example%2foffice.example/a"),
            ("Url", "https://office.example/[here](https://evil.example)"),
            ("Email", "--for=366d@example.org"),
            ("Email", "-h@example.org"),
        ],
    )
    def test_a_destination_that_cannot_be_told_as_it_is_is_not_offered(self, type_: str, to: str) -> None:
        """However it came through: what a plan takes from a text is cleaned before it gets here."""
        world = World(to=type_)
        state = world.invoice(to="https://office.example/a" if type_ == "Url" else "landlord@example.org")
        (live,) = state.steps.values()
        assert live.gate is not None
        assert state.plan is not None
        value = Value(v=to, type=type_)
        assert nominal.fault(type_, to) == "", "it would be no destination at all"
        for name in ("plain", "hostile"):
            if name == "hostile":
                live.gate.args["to"] = value
            at = canonical(live.gate.args["to"])
            state.experience.rows["bank.pay", type_, at] = AFTER
            assert bool(offer(state, state.plan.step("s1"), world.setup)) == (name == "plain"), at

    @pytest.mark.parametrize("how", ["wrong", "stop"])
    def test_a_bad_outcome_begins_a_new_row(self, how: Verb) -> None:
        world = World(hold_s=60.0)
        for number in (1, 2, 3, 4):
            state = world.invoice(number)
            world.confirm(state)
            if number < 4 or how != "stop":
                world.clock.advance_to(world.clock.now() + timedelta(minutes=2))
                world.go(state)
        assert world.paid == (3 if how == "stop" else 4)
        world.tell(state, how, "", **({"step": "s1"} if how == "wrong" else {}))
        world.go(state)
        assert offered(world, world.invoice(5)) == ""

    def test_what_the_person_allowed_or_took_back_is_not_offered(self) -> None:
        world = World()
        approved(world, 3)
        (made,) = world.allow(times=1)
        state = world.invoice(4)
        assert offered(world, state) == "", "it stands, and is used up"
        world.stand("revoke", id=made.body["permission"]["id"])  # type: ignore[index, call-overload]  # JSON
        assert offered(world, state) == ""


class TestPermissions:
    def test_a_step_that_is_covered_needs_no_second_confirmation_and_still_a_grant_that_names_the_permission(
        self,
    ) -> None:
        world = World()
        (made,) = world.allow()
        state = world.invoice()
        assert (state.phase, world.paid) == ("done", 1)
        (granted,) = world.entries("grant.issued")
        (intent,) = world.entries("step.intent")
        permission = made.body["permission"]["id"]  # type: ignore[index, call-overload]  # JSON
        assert granted.body["grant"]["permission"] == permission  # type: ignore[index, call-overload]  # JSON
        assert granted.body["grant"]["level"] == "standing"  # type: ignore[index, call-overload]  # JSON
        assert intent.body["grant"] == granted.body["grant"]["id"]  # type: ignore[index, call-overload]  # JSON
        assert audit.verify(world.log.entries) == []

    def test_without_one_it_asks(self) -> None:
        world = World()
        state = world.invoice()
        assert (world.paid, bool(next(iter(state.steps.values())).gate)) == (0, True)

    @pytest.mark.parametrize(
        ("invoice", "allowed"),
        [
            ({"to": OTHER}, {}),
            ({"amount": "100.01"}, {}),
            ({}, {"cap": {"amount": "100.00", "currency": "USD"}}),
            ({}, {"cap_period": euros("82.49")}),
        ],
        ids=["another destination", "more than the cap", "another currency", "more than the period's cap"],
    )
    def test_what_is_not_exactly_covered_asks(self, invoice: dict[str, str], allowed: dict[str, Json]) -> None:
        world = World()
        assert world.allow(**allowed)[0].type == "permission.allowed"
        world.invoice(**invoice)  # type: ignore[arg-type]  # a trust is never given
        assert (world.paid, len(world.entries("step.gated"))) == (0, 1)

    def test_acts_of_a_period_are_counted_and_then_it_asks_until_the_period_is_over(self) -> None:
        world = World()
        world.allow(times=2)
        for number in (1, 2, 3):
            world.invoice(number)
        assert world.paid == 2
        world.clock.advance_to(world.clock.now() + timedelta(days=32))
        world.invoice(4)
        assert world.paid == 3

    def test_sums_of_a_period_are_counted_whatever_allowed_them(self) -> None:
        world = World()
        world.confirm(world.invoice(1))
        world.allow(cap_period=euros("100.00"))
        world.invoice(2)
        assert world.paid == 1

    def test_said_again_after_a_crash_that_took_the_answer_it_allows_no_more_than_once(self) -> None:
        """It is one entry: there or not. Who never saw the answer says it once more."""
        world = World()
        (made,) = world.allow(times=1)
        world.restart()
        world.clock.advance_to(world.clock.now() + timedelta(minutes=1))
        assert code(refused := world.allow(times=1)) == "exists"
        assert made.body["permission"]["id"] in str(refused[0].body["message"])  # type: ignore[index, call-overload]  # JSON
        world.restart()
        for number in (1, 2):
            world.invoice(number)
        assert (world.paid, len(world.entries("permission.allowed"))) == (1, 1)
        assert world.allow(times=2)[0].type == "permission.allowed", "other bounds are another permission"

    def test_what_is_over_can_be_allowed_again(self) -> None:
        world = World()
        (made,) = world.allow()
        world.stand("revoke", id=made.body["permission"]["id"])  # type: ignore[index, call-overload]  # JSON
        assert world.allow()[0].type == "permission.allowed"
        world.clock.advance_to(world.clock.now() + timedelta(days=91))
        assert world.allow()[0].type == "permission.allowed"

    def test_its_last_day_is_told_by_the_owners_clock(self) -> None:
        world = World()
        world.allow(expires_at="2025-05-31T22:30:00+00:00")
        (standing,) = world.journal.book.experience.permissions.values()
        assert standing.permission.says(ZoneInfo("Europe/Berlin")).endswith("until 2025-06-01")
        assert standing.permission.says(ZoneInfo("UTC")).endswith("until 2025-05-31")

    def test_it_ends(self) -> None:
        world = World()
        world.allow()
        world.clock.advance_to(world.clock.now() + timedelta(days=90))
        world.invoice()
        assert world.paid == 0

    def test_taken_back_in_the_hold_window_nothing_is_sent(self) -> None:
        world = World(hold_s=60.0)
        (made,) = world.allow()
        state = world.invoice()
        assert [live.phase for live in state.steps.values()] == ["held"]
        world.stand("revoke", id=made.body["permission"]["id"])  # type: ignore[index, call-overload]  # JSON
        world.clock.advance_to(world.clock.now() + timedelta(minutes=2))
        world.go(state)
        assert (world.paid, [live.phase for live in state.steps.values()]) == (0, ["gated"])

    @pytest.mark.parametrize("how", ["lie", "no", "wrong", "stop"])
    def test_one_bad_outcome_loses_it(self, how: str) -> None:
        world = World(["lie"] if how == "lie" else ["no"] if how == "no" else [], hold_s=60.0 if how == "stop" else 0.0)
        world.allow()
        state = world.invoice()
        for _ in range(5):
            world.clock.advance_to(world.clock.now() + timedelta(minutes=1))
            if how != "stop":
                world.go(state)
        if how == "wrong":
            world.tell(state, "wrong", "", step="s1", reason="I had paid it already")
        if how == "stop":
            world.tell(state, "stop", "")
        (standing,) = world.journal.book.experience.permissions.values()
        assert standing.lost == {
            "lie": "its effect was not to be seen", "no": "it failed: the account is closed",
            "wrong": "you said that it was wrong", "stop": "you stopped what it had begun",
        }[how]  # fmt: skip
        world.invoice(2)
        assert len(world.entries("step.gated")) == 1

    def test_it_is_only_for_what_leaves_names_one_destination_and_is_bounded(self) -> None:
        world = World()
        assert code(world.allow(tool="bank.nope")) == "unknown_tool"
        assert code(world.allow(tool="bank.note")) == "not_needed"
        assert code(world.allow(to="Acme")) == "bad_value"
        assert code(world.allow(cap=None)) == "no_cap"
        assert code(world.allow(cap=euros("-5.00"))) == "bad_value"
        assert code(world.allow(times=0)) == "bad_argument"
        assert code(world.allow(period="decade")) == "bad_argument"
        for ends in ("soon", "2025-03-03T09:00:00", "2024-01-01T00:00:00+00:00", "2027-01-01T00:00:00+00:00"):
            assert code(world.allow(expires_at=ends)) == "bad_argument"
        assert code(world.stand("revoke", id="nope")) == "unknown_permission"
        assert code(world.stand("approve")) == "bad_argument"
        assert world.journal.book.experience.permissions == {}


class TestWaitingSteps:
    """What is allowed ahead while a step waits for its confirmation."""

    def test_it_lets_the_step_go_on(self) -> None:
        world = World()
        state = world.invoice()
        assert phases(state) == ["gated"]
        (made,) = world.allow()
        world.go(state)
        assert (state.phase, world.paid) == ("done", 1)
        (released,) = world.entries("step.released")
        (intent,) = world.entries("step.intent")
        permission = made.body["permission"]["id"]  # type: ignore[index, call-overload]  # JSON
        assert (released.body["permission"], released.body["grant"]) == (permission, intent.body["grant"])
        assert released.actor == "executor", "nobody confirmed it"
        assert entry_line(released, world.setup.settings.zone) == f"allowed ahead by permission {permission}"
        assert audit.verify(world.log.entries) == []

    @pytest.mark.parametrize(
        "allowed",
        [{"to": OTHER}, {"cap": euros("82.49")}, {"cap": {"amount": "100.00", "currency": "USD"}}],
        ids=["another destination", "less than its sum", "another currency"],
    )
    def test_what_does_not_cover_it_leaves_the_question(self, allowed: dict[str, Json]) -> None:
        world = World()
        state = world.invoice()
        assert world.allow(**allowed)[0].type == "permission.allowed"
        world.go(state)
        assert (world.paid, phases(state)) == (0, ["gated"])
        world.confirm(state)
        assert world.paid == 1

    def test_the_rest_of_the_policy_still_asks(self) -> None:
        world = World()
        state = world.invoice(amount="4000.00")  # twice what a day may hold
        world.allow(cap=euros("5000.00"))
        world.go(state)
        assert (world.paid, phases(state)) == (0, ["gated"])

    def test_of_two_that_wait_it_lets_go_as_many_as_it_has_times(self) -> None:
        world = World(hold_s=60.0)
        first, second = world.invoice(1), world.invoice(2)
        world.allow(times=1)
        for _ in range(2):
            world.go(first)
            world.go(second)
            world.clock.advance_to(world.clock.now() + timedelta(minutes=2))
        assert (world.paid, first.phase, phases(second)) == (1, "done", ["gated"])

    def test_taken_back_before_anybody_looked_it_lets_nothing_go(self) -> None:
        world = World()
        state = world.invoice()
        (made,) = world.allow()
        world.stand("revoke", id=made.body["permission"]["id"])  # type: ignore[index, call-overload]  # JSON
        world.go(state)
        assert (world.paid, phases(state)) == (0, ["gated"])

    def test_a_run_that_is_paused_goes_on_only_when_it_is_resumed(self) -> None:
        world = World()
        state = world.invoice()
        world.tell(state, "pause", "")
        world.allow()
        world.go(state)
        assert (world.paid, phases(state)) == (0, ["gated"])
        world.tell(state, "resume", "")
        world.go(state)
        assert world.paid == 1

    def test_a_confirmation_that_comes_in_at_the_same_moment_pays_once(self) -> None:
        world = World()
        state = world.invoice()
        world.allow()
        ((uid, live),) = state.steps.items()
        assert live.gate is not None
        move = next_move(state, world.clock.now(), world.setup)
        assert isinstance(move, Record)
        world.tell(state, "confirm", live.gate.digest, step=uid)
        run(world.journal.append(move.drafts))
        world.go(state)
        assert (state.phase, world.paid) == ("done", 1)
        assert audit.verify(world.log.entries) == []

    @pytest.mark.parametrize("written", [0, 1, 2])
    def test_a_crash_at_any_point_after_it_was_allowed_loses_nothing(self, written: int) -> None:
        """Nothing, the grant alone, or all of it was durable."""
        world = World()
        state = world.invoice()
        world.allow()
        move = next_move(state, world.clock.now(), world.setup)
        assert isinstance(move, Record)
        assert [draft.type for draft in move.drafts] == ["grant.issued", "step.released"]
        if written:
            run(world.journal.append(move.drafts[:written]))
        world.restart()
        world.clock.advance_to(world.clock.now() + timedelta(minutes=1))
        (state,) = world.journal.book.proposals.values()
        world.go(state)
        assert (state.phase, world.paid) == ("done", 1)
        assert (len(world.entries("grant.issued")), len(world.entries("step.released"))) == (1, 1)
        assert audit.verify(world.log.entries) == []


class TestKnownPayees:
    def test_a_payee_is_known_from_a_payment_that_the_person_confirmed(self) -> None:
        world = World()
        world.confirm(world.invoice(1))
        state = world.invoice(2, to=OTHER)
        (live,) = state.steps.values()
        assert live.gate is not None
        assert "your saved account number for Acme is “DE89 3704 0044 0532 0130 00”" in live.gate.reasons[0]

    def test_no_outside_text_makes_one_known(self) -> None:
        world = World()
        world.invoice(1)
        assert (world.journal.book.experience.known, world.journal.book.experience.names) == ({}, {})


class TestStopEverything:
    def test_nothing_is_begun_after_it_until_it_goes_on(self) -> None:
        world = World()
        world.allow()
        world.stand("stop_everything", reason="I am on a plane")
        state = world.invoice()
        assert (world.paid, state.phase, world.entries("step.intent")) == (0, "running", [])
        world.restart()
        state = world.journal.book.proposals[state.id]
        world.go(state)
        assert world.paid == 0
        world.stand("resume_everything")
        world.go(state)
        assert (world.paid, state.phase) == (1, "done")

    def test_what_is_in_flight_ends_and_is_recorded_and_no_step_follows(self) -> None:
        world = World()
        world.allow()
        seen: list[int] = []

        def stop(point: str) -> None:
            if point == "during call bank.pay" and not seen:
                seen.append(len(world.log.entries))
                drafts = decide(
                    world.journal.book, world.command(STREAM, "stop_everything", "", {}), START, world.setup
                )
                later.append(world.journal.append(drafts))

        later: list[Coroutine[Any, Any, Any]] = []
        world.tool.point = stop
        state = world.invoice()
        run(later[0])
        world.go(state)
        assert (world.paid, state.phase) == (1, "done")
        world.invoice(2)
        assert (world.paid, len(world.entries("step.intent"))) == (1, 1)

    def test_a_decision_that_was_made_just_before_it_is_not_written_after_it(self) -> None:
        world = World()
        world.allow()

        class Late(type(world.journal)):  # type: ignore[misc]  # the class of the journal as it is
            """Says stop between the decision to send and the write of its intent."""

            async def append(self, drafts: Sequence[Draft]) -> list[JournalEntry]:
                if any(draft.type == "step.intent" for draft in drafts) and not self.book.experience.stopped:
                    said = world.command(STREAM, "stop_everything", "", {})
                    await super().append(decide(self.book, said, START, world.setup))
                return list(await super().append(drafts))

        journal = world.log.open(OWNER)
        world.journal = Late(world.log, journal.book, world.log.epoch)
        world.invoice()
        assert (world.paid, world.entries("step.intent"), len(world.entries("acting.stopped"))) == (0, [], 1)

    def test_to_go_on_something_must_be_stopped(self) -> None:
        assert code(World().stand("resume_everything")) == "not_stopped"
