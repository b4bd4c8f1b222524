"""Tools at providers: each exchange held against what Google and Microsoft publish, each end told for what it is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from actions.run.attempt import Answer, attempt
from actions.testing.cases import incoming
from actions.testing.laws import KEY, OTHER
from actions.testing.mailbox import Mail, MemoryMailboxes
from actions.tools.kept import Kept
from actions.tools.mailbox import parsed
from actions.tools.meetings import INVITE, RESCHEDULE, MeetingAnswer, MeetingCancel, MeetingCreate, MeetingMove
from actions.tools.send import MailReply, MailSend
from actions.tools.sort import MailLabel, MailMove
from actions.tools.tasks import TaskCreate
from actions.tools.tool import Args, Tool
from actions.tools.tree import Tree
from actions.tools.unsubscribe import MailUnsubscribe
from actions.tools.web import Hosts, WebSubmit
from actions.tools.wire import Reply as Answered
from extractors.connector import Access
from extractors.http import Http
from extractors.testing import Key
from extractors.testing.standin import Asked, Reply, StandIn
from forewatch.outgoing.accounts import Outgoing
from forewatch.outgoing.http import PublicWeb
from schemas.account import AccountState
from schemas.clock import ManualClock
from schemas.model import Json
from tests.standins.acting import ActingCalendar, ActingGmail, ActingGraph
from tests.standins.graph import meeting

NOW = datetime(2026, 3, 2, 9, tzinfo=UTC)
WAIT_S = 60.0


class Office(StandIn):
    """A CalDAV calendar, a page with a form, and a list that can be left: whatever is written is kept by its place."""

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[str, bytes] = {}

    def answer(self, asked: Asked) -> Reply:
        match asked.method:
            case "PROPFIND":
                return _multistatus(_CALENDAR)
            case "REPORT":
                shown = (_OBJECT.format(path=path, data=raw.decode()) for path, raw in self.held.items())
                return _multistatus("".join(shown))
            case "PUT" if asked.path in self.held and asked.headers.get("if-none-match") == "*":
                return Reply(412)
            case "PUT" | "POST":
                self.held[asked.path] = asked.body
                return Reply(201, b"Thank you", {"Content-Type": "text/plain"})
        return Reply(404)


_CALENDAR = (
    "<d:response><d:href>/cal/</d:href><d:propstat><d:status>HTTP/1.1 200 OK</d:status><d:prop>"
    "<d:resourcetype><d:collection/><c:calendar/></d:resourcetype></d:prop></d:propstat></d:response>"
)
_OBJECT = (
    "<d:response><d:href>{path}</d:href><d:propstat><d:status>HTTP/1.1 200 OK</d:status><d:prop>"
    '<d:getetag>"1"</d:getetag><c:calendar-data>{data}</c:calendar-data></d:prop></d:propstat></d:response>'
)


def _multistatus(text: str) -> Reply:
    names = 'xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"'
    return Reply(207, f"<d:multistatus {names}>{text}</d:multistatus>".encode(), {"Content-Type": "application/xml"})


class Person:
    def __init__(self, kind: str, service: StandIn, folder: Path, token: str) -> None:
        self.service, self.token = service, token
        if kind in ("caldav", "web"):
            self._with_office(kind, folder)
            return
        base = f"{service.url}/v1.0" if kind.startswith("graph") else service.url
        config: dict[str, Json] = {"base_url": base, "allow_private": True, "provider": "x", "client_id": "y"}
        config |= {"addresses": ["nora@example.net"]} if kind.startswith("graph") else {}
        self.account = AccountState.model_validate(
            {
                "id": "a",
                "owner": "me",
                "connector": kind,
                "created_at": NOW,
                "config": config,
                "allow": ["send", "write"],
            }
        )
        clock, kept = ManualClock(NOW), Kept(folder / "effects")
        outgoing = Outgoing(self._enter, clock, ZoneInfo("Europe/Berlin"))
        outgoing.accounts = lambda: [self.account]
        mail = (MailSend(outgoing, Tree([folder]), clock), MailReply(outgoing, Tree([folder]), clock))
        sort = (MailLabel(outgoing, kept), MailMove(outgoing, kept))
        makes = (MeetingCreate(outgoing), MeetingCreate(outgoing, INVITE), MeetingAnswer(outgoing, kept))
        moves = (MeetingMove(outgoing, kept), MeetingMove(outgoing, kept, RESCHEDULE), MeetingCancel(outgoing, kept))
        tools: tuple[Tool, ...] = (*mail, *sort, *makes, *moves)
        self.tools = {tool.manifest.name: tool for tool in tools}

    def _with_office(self, kind: str, folder: Path) -> None:
        """CalDAV by a password; pages without any."""
        config: dict[str, Json] = {"url": f"{self.service.url}/cal/", "username": "nora", "allow_private": True}
        self.account = AccountState.model_validate(
            {"id": "a", "owner": "me", "connector": "caldav", "created_at": NOW, "config": config, "allow": ["write"]}
        )
        clock, kept, place = ManualClock(NOW), Kept(folder / "effects"), f"127.0.0.1:{self.service.port}"
        outgoing = Outgoing(self._enter, clock, ZoneInfo("Europe/Berlin"))
        outgoing.accounts = lambda: [self.account]
        web = PublicWeb(clock.now, lambda: Http(clock.now, allow_private=True))
        mail = MemoryMailboxes()
        mail.box.mails = [Mail(incoming(List_Unsubscribe=f"<https://{place}/leave>"))]
        submit = WebSubmit(web, Hosts((place,)), kept)
        leave = MailUnsubscribe(mail, _Plain(web), kept)
        tools: tuple[Tool, ...] = (MeetingCreate(outgoing), TaskCreate(outgoing), submit, leave)
        self.tools = {tool.manifest.name: tool for tool in tools}

    def _enter(self, account: AccountState, asked: bool) -> AbstractAsyncContextManager[Access]:
        return Key(secrets={"password": "s3cret"}, tokens=lambda refused: self.token).open(NOW)

    def tries(self, name: str, args: Args, key: str = KEY) -> Answer:
        return asyncio.run(attempt(self.tools[name], args, key, WAIT_S))

    def found(self, name: str, args: Args, key: str = KEY) -> dict[str, Json] | None:
        return asyncio.run(self.tools[name].look_up(args, key))

    def calls(self, name: str, args: Args, key: str = KEY) -> dict[str, Json]:
        """Done, found by its key, seen; done again: the same answer."""
        answer = self.tries(name, args, key)
        assert answer.outcome == "ok", answer
        assert asyncio.run(self.tools[name].verify(args, key, answer.out)) is not None
        assert self.found(name, args, key) == answer.out
        assert self.tries(name, args, key).out == answer.out
        assert self.service.violations == []
        return answer.out


@dataclass
class _Plain:
    """A list's address is always https; the stand-in speaks http."""

    web: PublicWeb

    async def send(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, content: bytes | None = None
    ) -> Answered:
        return await self.web.send(method, url.replace("https:", "http:"), headers=headers, content=content)


@contextmanager
def office(folder: Path, kind: str) -> Iterator[tuple[Person, Office]]:
    with Office() as service:
        yield Person(kind, service, folder.resolve(), ""), service


@contextmanager
def gmail(folder: Path) -> Iterator[tuple[Person, ActingGmail]]:
    with ActingGmail() as service:
        yield Person("gmail", service, folder.resolve(), "token-1"), service


@contextmanager
def google(folder: Path) -> Iterator[tuple[Person, ActingCalendar]]:
    with ActingCalendar() as service:
        yield Person("google_calendar", service, folder.resolve(), "token-1"), service


@contextmanager
def graph(folder: Path, kind: str = "graph_mail") -> Iterator[tuple[Person, ActingGraph]]:
    with ActingGraph() as service:
        yield Person(kind, service, folder.resolve(), "good"), service


LETTER: Args = {"to": "office@example.org", "subject": "Kündigung", "body": "Guten Tag"}
MEETING: Args = {"title": "Review", "start": "2026-03-10T10:00:00+01:00", "minutes": 45, "guest": "ada@example.org"}


class TestGmail:
    def test_a_mail_is_sent_once_and_found_by_its_message_id(self, tmp_path: Path) -> None:
        with gmail(tmp_path) as (person, service):
            out = person.calls("mail.send", LETTER)
            (raw,) = service.sent
            assert str(parsed(raw)["Message-ID"]) == out["message_id"]

    def test_a_mail_that_gmail_renamed_is_found_by_our_own_header(self, tmp_path: Path) -> None:
        with gmail(tmp_path) as (person, service):
            service.renames = True
            out = person.calls("mail.send", LETTER)
            assert out["message_id"] == "<CAB+renamed@mail.gmail.com>"
            assert len(service.sent) == 1
            assert person.found("mail.send", LETTER, OTHER) is None

    def test_an_answer_stays_in_its_thread(self, tmp_path: Path) -> None:
        with gmail(tmp_path) as (person, service):
            service.add(incoming("bill"), ("INBOX", "UNREAD"), NOW)
            person.calls("mail.reply", {"message_id": "<bill@example.org>", "to": "ada@example.org", "body": "Paid."})
            assert parsed(service.sent[0])["In-Reply-To"] == "<bill@example.org>"

    def test_labels_and_places_come_and_go(self, tmp_path: Path) -> None:
        with gmail(tmp_path) as (person, service):
            name = service.add(incoming("bill"), ("INBOX", "UNREAD"), NOW)
            service.own["Label_0"] = "Rechnungen"
            which: dict[str, Json] = {"message_id": "<bill@example.org>"}
            person.calls("mail.label", {**which, "label": "seen", "on": True})
            out = person.calls("mail.label", {**which, "label": "Due soon", "on": True}, OTHER)
            assert out["was"] is False
            assert service.letters[name].labels == {"INBOX", "Label_2"}
            out = person.calls("mail.move", {**which, "folder": "rechnungen"}, "d" * 32)
            assert service.letters[name].labels == {"Label_0", "Label_2"}
            assert out["previous_folder"] == "inbox"
            assert person.tries("mail.move", {**which, "folder": "nonesuch"}, "e" * 32).code == "not_found"


class TestGraphMail:
    def test_a_mail_is_one_draft_that_is_sent_once(self, tmp_path: Path) -> None:
        with graph(tmp_path) as (person, service):
            person.calls("mail.send", LETTER)
            (raw,) = service.delivered
            assert parsed(raw)["To"] == "office@example.org"

    def test_a_draft_that_a_crash_left_is_sent_and_not_made_again(self, tmp_path: Path) -> None:
        with graph(tmp_path) as (person, service):
            service.arm("cut", after=2)  # the question, the draft, and then no answer to the sending
            assert person.tries("mail.send", LETTER).outcome == "unknown"
            assert person.found("mail.send", LETTER) is None
            person.calls("mail.send", LETTER)
            assert (len(service.delivered), len(service.mails)) == (1, 1)

    def test_labels_and_places_come_and_go(self, tmp_path: Path) -> None:
        with graph(tmp_path) as (person, service):
            mail = service.deliver(incoming("bill"), NOW)
            service.folder("bills", "Rechnungen")
            which: dict[str, Json] = {"message_id": "<bill@example.org>"}
            person.calls("mail.label", {**which, "label": "flagged", "on": True})
            person.calls("mail.label", {**which, "label": "due", "on": True}, OTHER)
            assert (mail.is_flagged, service.categories[mail.id]) == (True, ["due"])
            out = person.calls("mail.move", {**which, "folder": "rechnungen"}, "d" * 32)
            assert (mail.folder, out["previous_folder"]) == ("folder-bills==", "Posteingang")


class TestCalendars:
    @pytest.mark.parametrize("which", ["google", "graph"])
    def test_a_meeting_is_made_moved_and_called_off_and_its_guests_are_told(self, tmp_path: Path, which: str) -> None:
        with _calendar(which, tmp_path) as (person, told):
            out = person.calls("meeting.invite", MEETING)
            args: dict[str, Json] = {"event_id": out["event_id"], "account": out["account"]}
            later = "2026-03-11T10:00:00+01:00"
            assert person.tries("meeting.move", {**args, "start": later}, "9" * 32).code == "invalid"
            moved = person.calls("meeting.reschedule", {**args, "start": later}, OTHER)
            assert moved["previous_start"] == "2026-03-10T09:00:00+00:00"
            person.calls("meeting.cancel", args, "d" * 32)
            assert person.found("meeting.invite", MEETING) is None
            assert any("ada@example.org" in each for each in told())

    def test_an_invitation_at_microsoft_is_answered(self, tmp_path: Path) -> None:
        with graph(tmp_path, "graph_calendar") as (person, service):
            theirs = {"isOrganizer": False, "responseStatus": {"response": "notResponded"}}
            service.put_event("default", meeting("e1", "Town hall", NOW, **theirs))
            out = person.calls("meeting.answer", {"event_id": "uid-e1", "answer": "accepted"})
            assert (out["previous_answer"], service.answers) == ("needs-action", ["accepted"])

    def test_an_invitation_at_google_is_answered_without_a_word_about_the_others(self, tmp_path: Path) -> None:
        with google(tmp_path) as (person, service):
            people = [
                {"email": "nora@example.org", "self": True, "responseStatus": "needsAction"},
                {"email": "bo@example.org", "responseStatus": "declined"},
            ]
            times = {
                "start": {"dateTime": "2026-03-10T10:00:00+01:00"},
                "end": {"dateTime": "2026-03-10T11:00:00+01:00"},
            }
            organiser = {"email": "ada@example.org"}
            service.put({"id": "e1abc", "summary": "Town hall", "attendees": people, "organizer": organiser, **times})
            person.calls("meeting.answer", {"event_id": "e1abc@google.com", "answer": "tentative"})
            said = [each["responseStatus"] for each in service.calendars["primary"].events["e1abc"]["attendees"]]
            assert said == ["tentative", "declined"]


@contextmanager
def _calendar(which: str, folder: Path) -> Iterator[tuple[Person, Callable[[], list[str]]]]:
    if which == "google":
        with google(folder) as (person, service):
            yield person, lambda: service.told
    else:
        with graph(folder, "graph_calendar") as (other, microsoft):
            yield other, lambda: microsoft.answers


@dataclass(frozen=True)
class End:
    """How the request that has the effect ends, and what that is. ``lands``: the effect is there all the same."""

    name: str
    status: int
    lands: bool
    outcome: str
    code: str


ENDS = (
    End("bad request", 400, False, "failed", "invalid"),
    End("not allowed", 403, False, "failed", "denied"),
    End("not found", 404, False, "failed", "not_found"),
    End("unprocessable", 422, False, "failed", "invalid"),
    End("too many", 429, False, "not_sent", "rate"),
    End("request time-out", 408, False, "unknown", "unknown"),
    End("too early", 425, False, "unknown", "unknown"),
    End("500 after the effect", 500, True, "unknown", "unknown"),
    End("503 before the effect", 503, False, "unknown", "unknown"),
    End("cut after the effect", 0, True, "unknown", "unknown"),
    End("cut before the effect", -1, False, "unknown", "unknown"),
)
"""acting.md 4.4: definite answers, not sent, unknown."""
EFFECTS: tuple[tuple[str, str, Args], ...] = (
    ("gmail", "mail.send", LETTER),
    ("graph_mail", "mail.send", LETTER),
    ("google_calendar", "meeting.invite", MEETING),
    ("graph_calendar", "meeting.invite", MEETING),
    ("caldav", "meeting.create", {"title": "Review", "start": "2026-03-10T10:00:00+01:00"}),
    ("caldav", "task.create", {"title": "Call the office"}),
    ("web", "web.submit", {"url": "", "proof": "thank you", "field.name": "Nora"}),
    ("web", "mail.unsubscribe", {"message_id": "<news@example.org>"}),
)
IDS = [f"{kind}-{name}" for kind, name, _ in EFFECTS]
READING = ("GET", "PROPFIND", "REPORT")


def _armed(service: Any, end: End) -> None:
    """The first request that is no read meets this end."""
    honest, handle = service.answer, service.handle
    met: list[int] = []

    def answer(asked: Asked) -> Reply:
        is_it = asked.method not in READING and not (asked.path.endswith("/me/messages") and asked.method == "POST")
        if not is_it or met:
            return honest(asked)  # type: ignore[no-any-return]
        met.append(1)
        if end.lands:
            honest(asked)
        return Reply.of({"error": {"code": end.status, "message": "as told", "errors": []}}, max(end.status, 200))

    def handled(asked: Asked) -> tuple[Reply, str]:
        before = len(met)
        reply, fault = handle(asked)
        return (reply, "cut") if len(met) > before and end.status <= 0 else (reply, fault)

    service.answer, service.handle, service.check = answer, handled, lambda asked, reply: []


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.name.replace(" ", "-"))
@pytest.mark.parametrize(("kind", "name", "args"), EFFECTS, ids=IDS)
def test_each_end_of_an_effect_is_told_for_what_it_is(
    tmp_path: Path, kind: str, name: str, args: Args, end: End
) -> None:
    opens: dict[str, Callable[[], Any]] = {
        "gmail": lambda: gmail(tmp_path),
        "google_calendar": lambda: google(tmp_path),
        "graph_mail": lambda: graph(tmp_path),
        "graph_calendar": lambda: graph(tmp_path, "graph_calendar"),
        "caldav": lambda: office(tmp_path, "caldav"),
        "web": lambda: office(tmp_path, "web"),
    }
    with opens[kind]() as (person, service):
        _armed(service, end)
        answer = person.tries(name, _placed(args, service))
        assert (answer.outcome, answer.code) == (end.outcome, end.code)
        is_found = end.lands and person.tools[name].manifest.look_up
        assert (person.found(name, _placed(args, service)) is not None) is is_found


def _placed(args: Args, service: StandIn) -> Args:
    return {**args, "url": f"{service.url}/form"} if "url" in args else args


@pytest.mark.parametrize(("kind", "name", "args"), EFFECTS, ids=IDS)
def test_nobody_there_means_that_nothing_was_sent(tmp_path: Path, kind: str, name: str, args: Args) -> None:
    with gmail(tmp_path) as (person, service):
        port = service.port
    person = Person(kind, service, tmp_path.resolve(), "good")
    assert f":{port}" in str(person.account.config)
    assert person.tries(name, _placed(args, service)).outcome == "not_sent"


@pytest.mark.parametrize(("kind", "name", "args"), EFFECTS, ids=IDS)
def test_a_page_in_between_is_no_answer(tmp_path: Path, kind: str, name: str, args: Args) -> None:
    """A captive portal's 200. Google's calendar is asked for the effect at once; the others are asked before it. A form
    and a list know no other answers than pages: a form has its proof."""
    with ActingGmail() as service:
        for request in range(6):
            service.arm("html", after=request)
        person = Person(kind, service, tmp_path.resolve(), "token-1")
        answer = person.tries(name, _placed(args, service))
        if kind == "web":
            assert answer.outcome == "ok"
            seen = asyncio.run(person.tools[name].verify(args, KEY, answer.out))
            assert (seen is None) is (name == "web.submit")
            return
    assert answer.outcome == ("unknown" if kind == "google_calendar" else "not_sent")
