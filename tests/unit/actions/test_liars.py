"""Tools whose other side lies (law L9): it says yes and does nothing, says something else, or nothing that fits."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from actions.run.attempt import attempt
from actions.testing.cases import CASES
from actions.testing.desk import Desk
from actions.testing.laws import AT, KEY
from actions.testing.web import page
from actions.tools.tool import Args, Tool
from schemas.clock import ManualClock
from schemas.model import Json

LYING = (
    "mail.send", "mail.reply", "mail.label", "mail.move", "meeting.move", "meeting.reschedule", "meeting.cancel",
    "meeting.answer", "task.mark",
)  # fmt: skip


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    made = Desk(tmp_path.resolve(), ManualClock(AT))
    made.mail.box.lies = made.agendas.calendar.lies = made.agendas.list.lies = True
    return made


def tool_of(desk: Desk, name: str) -> Tool:
    CASES[name].prepare(desk)
    tool = desk.registry().tool(name)
    assert tool is not None
    return tool


@pytest.mark.parametrize("name", LYING)
def test_a_yes_without_an_effect_is_not_seen_and_not_found(desk: Desk, name: str) -> None:
    tool, args = tool_of(desk, name), CASES[name].args(desk)
    answer = asyncio.run(attempt(tool, args, KEY, 30))
    assert answer.outcome == "ok"
    assert asyncio.run(tool.verify(args, KEY, answer.out)) is None
    assert asyncio.run(tool.look_up(args, KEY)) is None


@pytest.mark.parametrize("name", ["meeting.create", "meeting.invite", "task.create"])
def test_what_was_created_and_is_not_there_is_unknown(desk: Desk, name: str) -> None:
    tool, args = tool_of(desk, name), CASES[name].args(desk)
    answer = asyncio.run(attempt(tool, args, KEY, 30))
    assert (answer.outcome, answer.code) == ("unknown", "unknown")
    assert asyncio.run(tool.look_up(args, KEY)) is None


def test_a_site_that_answers_something_else_proves_nothing(desk: Desk) -> None:
    tool, args = tool_of(desk, "web.submit"), CASES["web.submit"].args(desk)
    desk.web.pages["https://office.example.org/form"] = page("Sorry, try again later")
    answer = asyncio.run(attempt(tool, args, KEY, 30))
    assert asyncio.run(tool.verify(args, KEY, answer.out)) is None


def test_a_mail_that_was_sent_with_other_words_is_not_what_was_approved(desk: Desk) -> None:
    desk.mail.box.lies = False
    tool, args = tool_of(desk, "mail.send"), CASES["mail.send"].args(desk)
    answer = asyncio.run(attempt(tool, args, KEY, 30))
    sent = desk.mail.box.mails[-1]
    for field, other in (("to", "mallory@evil.example"), ("subject", "Something else"), ("body", "I pay everything.")):
        wrong: Args = {**args, field: other}
        assert asyncio.run(tool.verify(wrong, KEY, answer.out)) is None
    sent.raw = sent.raw.replace(b"SG93IHRv", b"SG93IG5v")  # a letter of what is attached
    assert asyncio.run(tool.verify(args, KEY, answer.out)) is None


def test_another_schema_is_a_failure_with_its_reason(desk: Desk) -> None:
    class Other:
        manifest = tool_of(desk, "meeting.times").manifest

        async def call(self, args: Args, key: str) -> dict[str, Json]:
            return {"start": "soon", "text": "x", "count": 1}

        async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
            return None

        async def verify(self, args: Args, key: str, result: Args) -> None:
            return None

    answer = asyncio.run(attempt(Other(), {}, KEY, 30))
    assert (answer.outcome, answer.code) == ("failed", "schema")
    assert "'start' that must be an instant" in answer.message
