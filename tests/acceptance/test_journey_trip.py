"""A business trip planned end to end: options compared, held and, once confirmed, booked at an agency that is an MCP
server in the sandbox; the calendar on Radicale, the expense form, the mail to a colleague. No model."""

from __future__ import annotations

import email
import email.policy
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from pypdf import PdfReader

from actions.isolation.sandbox import Mode
from actions.testing.cases import form_pdf
from tests.acceptance.lives import ROOT, ZONE, Household, household
from tests.peers import caldav
from tests.peers.dovecot import PASSWORD, Dovecot
from tests.peers.process import provided
from tests.peers.smtp import submission

AGENCY = ROOT / "tests" / "standins" / "travel_mcp.py"
RULE = """\
rules:
  - id: trip-to-plan
    title: A business trip is to be planned
    when: {kind: calendar.scheduled, where: "title.startsWith('Business trip')"}
    key: subject
    propose: {title: "Plan: {{ title }}", goal: Plan the trip., urgency: normal, playbook: plan-trip}
"""
PLAYBOOK = """\
id: plan-trip
version: 1
title: Plan a business trip
slots:
  trip: {type: Text, from: [title], required: true, ask: "Which trip is it?"}
  starts: {type: DateTime, from: [starts_at], required: true, ask: "When does it start?"}
  city: {type: Text, required: true, ask: "Where to?"}
  traveller: {type: Text, required: true, ask: "Who travels?"}
  colleague: {type: Email, required: true, ask: "Who is to know?"}
  form: {type: Text, required: true, ask: "What is the expense form called?"}
steps:
  - {id: s1, tool: mcp.agency.options, args: {city: {slot: city}}}
  - id: s2
    tool: mcp.agency.hold
    args: {option: {ref: s1.best}}
    otherwise:
      - causes: [invalid]
        steps:
          - {id: s12, tool: mcp.agency.hold, args: {option: {ref: s1.second}}}
  - {id: s3, tool: mcp.agency.book, args: {reference: {ref: s2.reference}}}
  - id: s4
    tool: meeting.create
    args: {title: {text: "{city}: {s3.option} ({s3.reference})"}, start: {slot: starts}, minutes: 120}
  - {id: s5, tool: file.find, args: {words: {slot: form}, kind: pdf}, after: [s4]}
  - id: s6
    tool: file.fill
    args:
      template: {ref: s5.path}
      name: {text: "expenses-{code}.pdf"}
      field.traveller: {slot: traveller}
      field.city: {slot: city}
      field.booking: {ref: s3.reference}
      field.price: {ref: s3.price}
  - id: s7
    tool: mail.send
    args:
      to: {slot: colleague}
      subject: {text: "Trip to {city}"}
      body: {text: "Booked for {traveller}: {s3.option}, {s3.price}, reference {s3.reference}."}
      attachment: {ref: s6.path}
  - {id: s8, tool: notify, args: {text: {text: "The trip to {city} is booked: {s3.option}, {s3.price}."}}, after: [s7]}
"""
MANIFEST = """\
plugin: agency
version: "1"
command: {command}
parts: [{parts}]
permissions:
  files: {{write: [{book}]}}
tools:
  options: {{description: Compares ways to a city., says: "Compare ways to {{city}}", effect: read, class: pure}}
  booking: {{description: Tells how a booking stands., says: "Look at {{reference}}", effect: read, class: pure}}
  hold:
    description: Holds an option without paying.
    says: Hold {{option}}
    reversible: until it is booked
    seen: {{by: booking, args: {{reference: reference}}, field: status, equals: held}}
    undo: {{by: release, args: {{reference: reference}}}}
  book:
    description: Books what is held.
    says: Book {{reference}}
    seen: {{by: booking, args: {{reference: reference}}, field: status, equals: booked}}
  release:
    description: Gives a hold back.
    says: Release {{reference}}
    seen: {{by: booking, args: {{reference: reference}}, field: status, equals: released}}
"""
TRIP = b"""\
BEGIN:VCALENDAR\r
VERSION:2.0\r
PRODID:-//nora//desk//EN\r
BEGIN:VEVENT\r
UID:trip-lyon\r
DTSTAMP:20260302T060000Z\r
DTSTART:20260413T080000Z\r
DTEND:20260413T100000Z\r
SUMMARY:Business trip to Lyon\r
END:VEVENT\r
END:VCALENDAR\r
"""


@dataclass
class World:
    """The agency's book, the calendar, the colleague's mailbox."""

    house: Household
    book: Path
    desk: caldav.Desk
    dovecot: Dovecot
    colleague: str

    def sells_out(self, option: str) -> None:
        self.book.write_text(json.dumps({**json.loads(self.book.read_text()), "sold": [option]}))

    def bookings(self) -> dict[str, str]:
        found = json.loads(self.book.read_text())["bookings"].values()
        return {each["option"]: each["status"] for each in found}

    def entries(self) -> str:
        """All that the calendar server keeps."""
        found = [path for path in self.desk.server.folder.rglob("*.ics") if ".Radicale.cache" not in path.parts]
        return "\n".join(path.read_text() for path in found)

    def mails(self) -> list[EmailMessage]:
        with self.dovecot.client(self.colleague) as client:
            client.select_folder("INBOX", readonly=True)
            found = client.search()
            raw = client.fetch(found, ["BODY.PEEK[]"]) if found else {}
        return [email.message_from_bytes(each[b"BODY[]"], policy=email.policy.default) for each in raw.values()]


@pytest.fixture(scope="module")
def radicale(tmp_path_factory: pytest.TempPathFactory) -> Iterator[caldav.Server]:
    yield from provided(caldav.radicale, tmp_path_factory.mktemp("radicale"))


@pytest.fixture
def world(dovecot_server: Dovecot, radicale: caldav.Server, bwrap_mode: Mode, tmp_path: Path) -> Iterator[World]:
    folder = tmp_path.resolve()
    book = _furnished(folder)
    nora, colleague = dovecot_server.user(), dovecot_server.user()
    desk = caldav.Desk(radicale)
    desk.clear()
    desk.put(f"{desk.make('work')}trip.ics", TRIP)
    with ExitStack() as stack:
        stack.callback(desk.close)
        smtp = stack.enter_context(submission(dovecot_server))
        server = {"host": "localhost", "port": dovecot_server.imaps, "ca_file": str(dovecot_server.ca)}
        server |= {"username": nora, "smtp_host": "localhost", "smtp_port": smtp.port}
        dav = {"url": radicale.url, "username": caldav.USER}
        home = {"home": str(folder / "home"), "timezone": ZONE.key, "folders": [str(folder / "forms")]}
        place: dict[str, Any] = {
            "settings": {**home, "interruptions_per_day": 10},
            "accounts": [
                {"id": "mail", "connector": "imap", "config": {**server, "allow_private": True}, "allow": ["send"]},
                {"id": "days", "connector": "caldav", "config": {**dav, "allow_private": True}, "allow": ["write"]},
            ],
            "password": PASSWORD,
            "born": "2026-03-02T07:00+01:00",
            "rule": "trip-to-plan",
        }
        yield World(stack.enter_context(household(folder, place)), book, desk, dovecot_server, colleague)


def _furnished(folder: Path) -> Path:
    """The household's own rule, playbook, form and plugin, the last let in by the command that a person uses."""
    for name, text in {"rules": RULE, "playbooks": PLAYBOOK}.items():
        (folder / "home" / name).mkdir(parents=True)
        (folder / "home" / name / "trip.yaml").write_text(text)
    for name in ("forms", "agency"):
        (folder / name).mkdir()
    (folder / "forms" / "travel expenses.pdf").write_bytes(form_pdf("traveller", "city", "booking", "price"))
    book = folder / "agency" / "agency.json"
    book.write_text(json.dumps({"sold": [], "bookings": {}}))
    command = json.dumps([os.path.realpath(sys.executable), str(AGENCY), str(book.parent)])
    (folder / "agency.yaml").write_text(MANIFEST.format(command=command, parts=AGENCY.parent, book=book.parent))
    told = subprocess.run(
        [sys.executable, "-c", "from forewatch.cli.main import main; main()", "plugins", "add",
         str(folder / "agency.yaml"), "--yes"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "FOREWATCH_HOME": str(folder / "home")}, cwd=ROOT,
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stdout + told.stderr
    return book


def asked_for(world: World) -> dict[str, Any]:
    """The entry in the calendar has led to a proposal; the person has said what is missing, and approved."""
    given = {"city": "Lyon", "traveller": "Nora Bell", "colleague": world.colleague, "form": "travel expenses"}
    (asked,) = world.house.live(["until", "2026-03-02"])["proposals"]
    assert asked["phase"] == "needs_input"
    (gated,) = world.house.live(["answer", given], ["approve"])["proposals"]
    assert gated["steps"]["s1"]["out"]["best"] == "TRAIN-7"
    (reasons,) = [step["asks"] for step in gated["steps"].values() if step["asks"]]
    assert any("outside" in reason for reason in reasons), "an option that a server names is shown with its origin"
    assert world.bookings() == {}
    return dict(gated)


def test_a_trip_is_held_booked_entered_and_told_though_the_best_way_is_sold_out(world: World) -> None:
    asked_for(world)
    world.sells_out("TRAIN-7")
    (other,) = world.house.live(["confirm"], ["minutes", 5])["proposals"]
    assert other["revision"], "another option is another effect, so it is asked for"
    assert world.bookings() == {}
    world.house.live(["approve"], ["confirm"], ["minutes", 5])
    assert world.bookings() == {"FLIGHT-2": "held"}
    (done,) = world.house.live(["confirm_all"])["proposals"]
    assert world.bookings() == {"FLIGHT-2": "booked"}
    assert (done["phase"], {name for name, step in done["steps"].items() if step["phase"] != "ok"}) == ("done", set())
    assert world.entries().count("SUMMARY:Lyon: FLIGHT-2 (R1)") == 1
    (mail,) = world.mails()
    (attached,) = mail.iter_attachments()
    fields = PdfReader(io.BytesIO(attached.get_payload(decode=True))).get_fields() or {}  # type: ignore[arg-type]  # bytes
    assert {name: str(field["/V"]) for name, field in fields.items()} == {
        "traveller": "Nora Bell", "city": "Lyon", "booking": "R1", "price": "164.00 EUR",
    }  # fmt: skip
    assert world.house.notices() == ["The trip to Lyon is booked: FLIGHT-2, 164.00 EUR."]


def test_a_trip_that_is_called_off_gives_its_hold_back(world: World) -> None:
    asked_for(world)
    (held,) = world.house.live(["confirm"], ["minutes", 5])["proposals"]
    assert (world.bookings(), held["steps"]["s2"]["receipt"]) == ({"TRAIN-7": "held"}, True)
    world.house.live(["abort"], ["confirm"], ["minutes", 5])
    (over,) = world.house.live(["minutes", 5])["proposals"]
    assert (over["phase"], world.bookings()) == ("stopped", {"TRAIN-7": "released"})
    assert (world.mails(), world.entries().count("SUMMARY"), world.house.notices()) == ([], 1, [])
