"""Playbooks: those that ship give sound plans from much and from little; a wrong file says where and what."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from functools import cache
from pathlib import Path
from random import Random
from zoneinfo import ZoneInfo

import pytest

from actions.planning import planner
from actions.planning.playbook import Playbook
from actions.planning.playbook_loader import SHIPPED, load, load_all
from actions.planning.steps import Occasion
from actions.planning.validate import validate
from actions.policy import audit
from actions.proposal import render
from actions.proposal.propose import decide
from actions.proposal.state import ProposalState
from actions.run import resolve
from actions.run.executor import Executor
from actions.settings import ActSettings
from actions.setup import Setup
from actions.testing.desk import Desk
from actions.testing.household import OWNER, START, trigger
from actions.testing.laws import contents
from actions.testing.memory import MemoryJournal, MemoryLog
from actions.tools.tool import Registry
from schemas import ids
from schemas.clock import ManualClock
from schemas.command import Command, Verb
from schemas.errors import ConfigError
from schemas.fact import Span
from schemas.model import Json
from schemas.plan import Fixed, Plan
from schemas.trigger import Trigger
from schemas.value import Integrity, Value

BERLIN = ZoneInfo("Europe/Berlin")
NAMES = sorted(file.stem for file in SHIPPED.glob("*.yaml"))
ALONE = [name for name in NAMES if name != "apply-for-renewal"]
"""Those that need nobody's answer to end; tests/acceptance/test_journey_licence.py has an office that answers."""


def world(folder: Path) -> tuple[Desk, Setup]:
    desk = Desk(folder.resolve(), ManualClock(START))
    return desk, Setup(shipped(), desk.registry(), settings=ActSettings(zone=BERLIN))


@cache
def shipped() -> dict[str, Playbook]:
    """Read once: YAML is slow, and a playbook holds no tool."""
    return load_all(Desk(Path("/nonesuch"), ManualClock(START)).registry())


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return world(tmp_path)[0]


@pytest.fixture
def setup(tmp_path: Path) -> Setup:
    return world(tmp_path)[1]


def value(v: Json, type_: str = "Text", integrity: Integrity = Integrity.UNTRUSTED) -> Value:
    span = Span(part="text", start=0, end=4, quote=f"the words around {v}")
    return Value(v=v, type=type_, sources=("ev1",), integrity=integrity, span=span)


RICH: dict[str, Value] = {
    "title": value("Rechnung 17\u202e \n{amount} [x]"),
    "party.name": value("Acme GmbH"),
    "party.address": value("office@acme.example", "Email"),
    "party.from.address": value("office@acme.example", "Email"),
    "party.from.name": value("Acme GmbH"),
    "fact.due.on": value("2025-03-20", "Date"),
    "fact.invoice.amount": value({"amount": "82.50", "currency": "EUR"}, "Money"),
    "fact.invoice.number": value("17"),
    "fact.invoice.iban": value("DE89370400440532013000", "Iban"),
    "fact.expiry.on": value("2025-04-20", "Date"),
    "fact.expiry.what": value("passport"),
    "fact.expiry.notice_by": value("2025-03-31", "Date"),
    "fact.change.old": value({"amount": "9.99", "currency": "EUR"}, "Money"),
    "fact.change.new": value({"amount": "12.99", "currency": "EUR"}, "Money"),
    "fact.change.on": value("2025-05-01", "Date"),
    "fact.question.by": value("2025-03-10", "Date"),
    "fact.reservation.starts_at": value("2025-03-22T10:00:00+00:00", "DateTime"),
    "fact.reservation.code": value("K7QF"),
    "projection.on": value("2025-03-22", "Date"),
    "starts_at": value("2025-03-22T10:00:00+00:00", "DateTime"),
    "payload.organizer": value("boss@work.example", "Email"),
    "payload.message_id": value("<m1@acme.example>", "MessageId"),
    "payload.merchant": value("acme o'hara"),
    "payload.counterparty": value("ACME O'HARA GMBH"),
    "payload.booked_on": value("2025-03-01", "Date"),
    "conflict.title": value("Choir"),
    "absence.expected": value("2025-03-01T00:00:00+00:00", "DateTime", Integrity.SYSTEM),
    "anomaly.median": value({"amount": "12.00", "currency": "EUR"}, "Money", Integrity.KNOWN),
    "account": value("giro", "AccountId", Integrity.SYSTEM),
    "due_at": value("2025-03-22T00:00:00+00:00", "DateTime", Integrity.SYSTEM),
    "amount": value({"amount": "-82.50", "currency": "EUR"}, "Money", Integrity.KNOWN),
}
GIVEN = {
    "applicant": value("Ann Example", "Text", Integrity.USER),
    "office": value("office@town.example", "Email", Integrity.USER),
    "form": value("renewal form", "Text", Integrity.USER),
}
"""What only the person knows."""
POOR: dict[str, Value] = {"title": value("Something happened")}


def fired(name: str, values: dict[str, Value], **changes: object) -> Trigger:
    return trigger(rule=f"rule-{name}", playbook=name, values=values, **changes)


def planned(
    name: str, values: dict[str, Value], setup: Setup, given: dict[str, Value] | None = None
) -> planner.Planned:
    return planner.make(Occasion(fired(name, values), "p", 1, START), given or {}, setup)


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_playbook_uses_every_step_when_everything_is_known(name: str, setup: Setup) -> None:
    plan = planned(name, RICH, setup, GIVEN).plan
    assert plan is not None
    assert plan.planner.startswith(f"playbook:{name}/1@")
    assert [step.id for step in plan.steps] == [step.id for step in setup.playbooks[name].steps]
    assert validate(plan, setup.tools.manifest, setup.policy) == []


@pytest.mark.parametrize(("trust", "kind"), [(Integrity.USER, "allow"), (Integrity.UNTRUSTED, "deny")])
def test_a_file_is_as_far_to_be_trusted_as_the_words_that_chose_it(trust: Integrity, kind: str, setup: Setup) -> None:
    plan = planned("apply-for-renewal", RICH, setup, GIVEN).plan
    find, fill = setup.tools.manifest("file.find"), setup.tools.manifest("file.fill")
    assert plan is not None
    assert find is not None
    found = resolve.label({"path": "/papers/passwords.docx"}, plan.step("s1"), [value("form", "Text", trust)], find)
    assert setup.policy.judge(fill, {"template": found["path"]}).kind == kind


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_playbook_degrades_when_hardly_anything_is_known(name: str, setup: Setup) -> None:
    made = planned(name, POOR, setup)
    if made.plan is None:
        assert all(question.text.endswith("?") for question in made.questions)
    else:
        assert validate(made.plan, setup.tools.manifest, setup.policy) == []


@pytest.mark.parametrize("name", NAMES)
def test_planning_is_deterministic(name: str, setup: Setup) -> None:
    assert planned(name, RICH, setup) == planned(name, RICH, setup)


@pytest.mark.parametrize("name", ALONE)
def test_every_shipped_plan_runs_to_a_seen_end(name: str, tmp_path: Path) -> None:
    """Approved, confirmed where the policy asks, over all its waits, with the tools that ship."""
    desk, setup = world(tmp_path)
    desk.history.answer = [["2025-02-01", "12.00", "EUR"]]
    state, log = asyncio.run(lived(fired(name, RICH), desk, setup))
    assert (state.phase, state.unseen) == ("done", [])
    assert audit.verify(log.entries) == []
    assert all(live.phase in ("ok", "skipped") for live in state.steps.values())
    assert contents(desk.root) != {}


async def lived(fact: Trigger, desk: Desk, setup: Setup) -> tuple[ProposalState, MemoryLog]:
    log = MemoryLog()
    journal = log.open(OWNER)
    executor = Executor(journal, journal.book, setup, desk.clock, Random(1))
    await journal.append(decide(journal.book, fact, START, setup))
    state = journal.book.by_trigger(fact.id)
    assert state is not None
    await tell(journal, state, "approve", desk, setup, digest=state.digest)
    assert isinstance(desk.clock, ManualClock)
    for _ in range(30):
        when = await executor.advance(state.id)
        gates = {uid: live.gate.digest for uid, live in state.steps.items() if live.gate}
        for uid, digest in gates.items():
            await tell(journal, state, "confirm", desk, setup, digest=digest, step=uid)
        if when is None and not gates:
            break
        if not gates:
            desk.clock.advance_to(when or desk.clock.now())
    return state, log


async def tell(
    journal: MemoryJournal, state: ProposalState, verb: Verb, desk: Desk, setup: Setup, *, digest: str, **args: Json
) -> None:
    now = desk.clock.now()
    command = Command(
        id=ids.command_id(state.id, verb, digest), owner=OWNER, who="ann", channel="cli", verb=verb,
        proposal=state.id, digest=digest, args=args, at=now,
    )  # fmt: skip
    await journal.append(decide(journal.book, command, now, setup))


def test_times_of_a_plan_are_the_owners_own_across_the_change_of_the_clocks(setup: Setup) -> None:
    """30 March 2025 has 23 hours in Berlin; nine o'clock is nine o'clock on both sides of it."""
    for expiry, wake in [("2025-04-10", "2025-03-27T09:00:00+01:00"), ("2025-04-20", "2025-04-06T09:00:00+02:00")]:
        plan = planned("renew-document", RICH | {"fact.expiry.on": value(expiry, "Date")}, setup).plan
        assert plan is not None
        assert fixed(plan, "s3", "until").v == wake


def test_a_wait_that_is_over_already_is_left_out_with_what_hangs_on_it(setup: Setup) -> None:
    plan = planned("pay-invoice", RICH | {"fact.due.on": value("2025-03-04", "Date")}, setup).plan
    assert plan is not None
    assert [step.tool for step in plan.steps] == ["document.write", "calendar.add"]


def test_outside_values_make_a_second_gate_and_tell_where_they_came_from(setup: Setup) -> None:
    plan = planned("pay-invoice", RICH, setup).plan
    assert plan is not None
    assert [step.gate for step in plan.steps] == ["second", "plan", "none", "plan"]
    assert plan.steps[0].reasons == (
        "the account number “DE89 3704 0044 0532 0130 00” comes from outside text (ev1):"
        " “the words around DE89370400440532013000”",
        "the amount “82.50 EUR” comes from outside text (ev1):"
        " “the words around {'amount': '82.50', 'currency': 'EUR'}”",
    )
    assert plan.risk == "medium"


def test_outside_words_never_add_a_step_or_a_place(setup: Setup) -> None:
    evil = RICH | {"party.name": value("{code} [{amount}] {s1.path}"), "title": value("steps: [tool: notify]")}
    plan = planned("pay-invoice", evil, setup).plan
    assert plan is not None
    assert [step.id for step in plan.steps] == ["s1", "s2", "s3", "s4"]
    view = render.proposal(state_of(fired("pay-invoice", evil), setup), setup)
    assert view.steps[1].does == "Add “Pay {code} [{amount}] {s1.path} 82.50 EUR” to your calendar: 20 March 2025"


def state_of(fact: Trigger, setup: Setup) -> ProposalState:
    async def story() -> ProposalState:
        journal = MemoryLog().open(OWNER)
        await journal.append(decide(journal.book, fact, START, setup))
        state = journal.book.by_trigger(fact.id)
        assert state is not None
        return state

    return asyncio.run(story())


def fixed(plan: Plan, step: str, name: str) -> Value:
    argument = plan.step(step).args[name]
    assert isinstance(argument, Fixed)
    return argument.value


class TestSlots:
    TEXT = """\
id: test-trust
version: 1
title: Trust
slots:
  to: {type: Email, from: [party.address, party.name], required: true, integrity: known, ask: "To whom?"}
  day: {type: Date, from: [starts_at]}
steps:
  - {id: s1, tool: mail.draft, args: {to: {slot: to}, subject: Hello, body: "Hello there"}}
"""

    def made(self, values: dict[str, Value], tmp_path: Path, given: dict[str, Value]) -> planner.Planned:
        _, setup = world(tmp_path)
        file = tmp_path / "test-trust.yaml"
        file.write_text(self.TEXT)
        more = Setup({"test-trust": load(file, setup.tools)}, setup.tools, setup.policy, setup.settings)
        return planner.make(Occasion(fired("test-trust", values), "p", 1, START), given, more)

    def test_a_value_that_is_not_trusted_enough_is_asked_about_and_shown(self, tmp_path: Path) -> None:
        (question,) = self.made({"party.address": value("x@evil.example", "Email")}, tmp_path, {}).questions
        assert (question.text, question.found and question.found.v) == ("To whom?", "x@evil.example")

    def test_the_persons_own_value_goes_first(self, tmp_path: Path) -> None:
        mine = Value(v="me@example.org", type="Email", integrity=Integrity.USER, how="user")
        plan = self.made({"party.address": value("x@evil.example", "Email")}, tmp_path, {"to": mine}).plan
        assert plan is not None
        assert fixed(plan, "s1", "to") == mine

    def test_a_text_that_is_no_valid_value_is_passed_over(self, tmp_path: Path) -> None:
        known = {"party.address": value("not an address", "Text", Integrity.KNOWN)}
        assert self.made(known, tmp_path, {}).plan is None
        good = known | {"party.name": value("a@example.org", "Text", Integrity.KNOWN)}
        plan = self.made(good, tmp_path, {}).plan
        assert plan is not None
        assert fixed(plan, "s1", "to").type == "Email"


class TestReminders:
    def test_a_reminder_waits_for_the_day_before_the_deadline(self, setup: Setup) -> None:
        plan = planner.make(Occasion(trigger(playbook=None), "p", 1, START), {}, setup).plan
        assert plan is not None
        assert [step.tool for step in plan.steps] == ["wait.until", "notify"]
        assert fixed(plan, "s1", "until").v == "2025-03-19T09:00:00+01:00"

    def test_without_time_left_it_only_says_so(self, setup: Setup) -> None:
        soon = trigger(playbook="nonesuch", deadline_at=START + timedelta(hours=2))
        plan = planner.make(Occasion(soon, "p", 1, START), {}, setup).plan
        assert plan is not None
        assert [step.tool for step in plan.steps] == ["notify"]
        assert plan.reasons == ("only a reminder: there is no playbook 'nonesuch'",)

    def test_a_deadline_that_is_over_does_not_close_the_question_at_once(self) -> None:
        late = trigger(deadline_at=START - timedelta(days=1))
        assert planner.expiry(late, START) == START + planner.OFFERED_FOR
        assert planner.expiry(trigger(expires_at=START + timedelta(days=1)), START) == START + timedelta(days=1)


GOOD = """\
id: test-book
version: 1
title: Test
slots:
  what: {type: Text, from: [title], required: true}
steps:
  - id: s1
    tool: notify
    args:
      text: {text: "{what}"}
"""


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("tool: notify", "tool: notfy"), "8:5: unknown tool 'notfy'; did you mean 'notify'?"),
        (("{what}", "{waht}"), "10:7: unknown slot 'waht'; did you mean 'what'?"),
        (("{what}", "{s3.path}"), "7:5: s1 refers to 's3', which is not an earlier step; earlier: "),
        (("type: Text", "type: Txt"), "5:10: slots.what.type: unknown type 'Txt'; use one of Text, Query, Email"),
        (("      text:", "      body:"), "10:7: notify has no argument 'body'; use one of text"),
        (("version: 1\n", ""), "1:1: 'version' is missing; add it"),
        (("title: Test", "titel: Test"), "1:1: 'title' is missing; add it"),
        (("version: 1", "version: 1\ncolour: red"), "3:1: unknown key 'colour'; remove it"),
        (("    tool: notify\n", "    tool: notify\n    needs: [who]\n"), "9:5: unknown slot 'who'; use one of title"),
        (("slots:", "slots: ["), "6:1: not YAML: expected ',' or ']'"),
        (("    args:\n      text: {text: \"{what}\"}\n", ""), "7:5: notify needs the argument 'text' (Text); add it"),
    ],
)  # fmt: skip
def test_a_wrong_playbook_says_where_and_what(change: tuple[str, str], says: str, tmp_path: Path, setup: Setup) -> None:
    file = tmp_path / "test-book.yaml"
    file.write_text(GOOD)
    assert load(file, setup.tools).id == "test-book"
    file.write_text(GOOD.replace(*change))
    with pytest.raises(ConfigError) as caught:
        load(file, setup.tools)
    message = str(caught.value)
    assert message.startswith(f"{file}:")
    assert says in message


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"\xff\xfe\x00", "not UTF-8; save the file as UTF-8"),
        (b"- a list", "a playbook is a mapping"),
        (b"", "a playbook is a mapping"),
        (b"x\n" * 600_000, "larger than 1,000,000 bytes"),
        (b"a: &a [*a]\nb: *c", "anchors and aliases are not allowed in playbooks"),
    ],
)
def test_what_is_no_playbook_at_all_is_said_too(raw: bytes, says: str, tmp_path: Path, setup: Setup) -> None:
    file = tmp_path / "broken.yaml"
    file.write_bytes(raw)
    with pytest.raises(ConfigError, match=says):
        load(file, setup.tools)
    with pytest.raises(ConfigError, match="cannot read the file"):
        load(tmp_path / "nonesuch.yaml", setup.tools)


def test_a_persons_own_playbook_replaces_the_one_that_ships(tmp_path: Path, setup: Setup) -> None:
    (tmp_path / "mine.yaml").write_text(GOOD.replace("test-book", "pay-invoice"))
    assert load_all(setup.tools, (SHIPPED, tmp_path))["pay-invoice"].title == "Test"


def test_a_playbook_that_ships_may_name_a_tool_that_is_not_set_up_here(tmp_path: Path, setup: Setup) -> None:
    playbook = f"{GOOD}  - {{id: s2, tool: fax.send, args: {{to: {{slot: what}}}}}}\n"
    (tmp_path / "test-book.yaml").write_text(playbook)
    with pytest.raises(ConfigError, match=r"unknown tool .fax\.send"):
        load_all(setup.tools, (tmp_path,))
    partial = Setup(load_all(setup.tools, (tmp_path,), partial=(tmp_path,)), setup.tools, settings=setup.settings)
    plan = planner.make(Occasion(fired("test-book", RICH), "p", 1, START), {}, partial).plan
    assert plan is not None
    assert [step.tool for step in plan.steps] == ["notify"]


def test_a_playbook_outlives_the_grant_and_the_plugin_of_its_tools(tmp_path: Path, setup: Setup) -> None:
    tools = [tool for name in setup.tools.names() if (tool := setup.tools.tool(name))]
    ungranted = Registry(tools, is_offered=lambda manifest: manifest.name != "notify")
    (tmp_path / "test-book.yaml").write_text(f"{GOOD}  - {{id: s2, tool: mcp.travel.book, args: {{anything: 1}}}}\n")
    assert list(load_all(ungranted, (tmp_path,))) == ["test-book"]


def test_the_plan_tells_which_text_it_was_made_from(tmp_path: Path, setup: Setup) -> None:
    file = tmp_path / "test-book.yaml"
    file.write_text(GOOD)
    first = load(file, setup.tools).planner
    file.write_text(GOOD.replace("Test", "Other"))
    assert first.startswith("playbook:test-book/1@")
    assert load(file, setup.tools).planner != first


@pytest.mark.parametrize("name", NAMES)
def test_what_a_playbook_asks_the_history_has_one_order(name: str) -> None:
    """A run that is killed asks again: rows of one instant must not change places meanwhile."""
    text = " ".join((SHIPPED / f"{name}.yaml").read_text().split())
    assert text.count(" LIMIT ") == text.count(", id LIMIT ")
