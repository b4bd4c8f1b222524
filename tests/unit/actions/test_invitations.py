"""Invitations that came by mail: the answer repeats the request and adds one word; strangers are not answered."""

from __future__ import annotations

import asyncio
from pathlib import Path

import icalendar
import pytest

from actions.run.attempt import Answer, attempt
from actions.testing.cases import incoming, invitation
from actions.testing.desk import Desk
from actions.testing.laws import AT, KEY
from actions.testing.mailbox import Mail
from actions.tools.mailbox import parsed
from schemas.clock import ManualClock
from schemas.model import Json


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path.resolve(), ManualClock(AT))


def answered(desk: Desk, raw: bytes, **more: Json) -> Answer:
    desk.mail.box.mails = [Mail(raw)]
    tool = desk.registry().tool("mail.answer_invitation")
    assert tool is not None
    message = str(parsed(raw)["Message-ID"])
    args: dict[str, Json] = {"message_id": message, "to": "ada@example.org", "answer": "accepted"}
    return asyncio.run(attempt(tool, {**args, **more}, KEY, 30))


@pytest.mark.parametrize("answer", ["accepted", "declined", "tentative"])
def test_any_calendar_program_reads_the_answer(desk: Desk, answer: str) -> None:
    assert answered(desk, invitation(), answer=answer).outcome == "ok"
    ((to, raw),) = desk.mail.box.outgoing
    mail = parsed(raw)
    (part,) = [each for each in mail.walk() if each.get_content_type() == "text/calendar"]
    assert (to, part.get_param("method"), mail["In-Reply-To"]) == ("ada@example.org", "REPLY", "<town@example.org>")
    calendar = icalendar.Calendar.from_ical(part.get_content())
    (event,) = calendar.walk("VEVENT")
    assert str(calendar["METHOD"]) == "REPLY"
    assert (str(event["UID"]), int(event["SEQUENCE"]), str(event["SUMMARY"])) == (
        "townhall",
        3,
        "Town hall, in the square",
    )
    assert (str(event["ATTENDEE"]), event["ATTENDEE"].params["PARTSTAT"]) == ("mailto:Ann@example.org", answer.upper())
    assert mail["Subject"] == f"{answer.capitalize()}: Town hall, in the square"


@pytest.mark.parametrize(
    ("changes", "more", "code"),
    [
        ({"METHOD:REQUEST": "METHOD:CANCEL"}, {}, "invalid"),
        ({"Ann@example.org": "cleo@example.org"}, {}, "invalid"),
        ({"mailto:ada@example.org": "https://evil.example"}, {}, "invalid"),
        ({"mailto:ada@example.org": "mailto:mallory@evil.example"}, {}, "denied"),
        ({}, {"to": "mallory@evil.example"}, "denied"),
        ({}, {"answer": "needs-action"}, "invalid"),
    ],
)
def test_what_is_no_invitation_of_the_owner_is_not_answered(
    desk: Desk, changes: dict[str, str], more: dict[str, Json], code: str
) -> None:
    answer = answered(desk, invitation(**changes), **more)
    assert (answer.outcome, answer.code) == ("failed", code)
    assert desk.mail.box.outgoing == []


def test_a_mail_without_an_invitation_is_not_answered(desk: Desk) -> None:
    assert answered(desk, incoming()).code == "invalid"
