"""The tools that ship: the laws that all of them keep, and what is special about each."""

from __future__ import annotations

import asyncio
import email
import email.policy
import errno
import json
import mailbox
import os
import signal
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import icalendar
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from actions.testing import laws
from actions.testing.cases import CALENDAR, CASES
from actions.testing.desk import Desk
from actions.testing.laws import AT, KEY, OTHER, contents
from actions.tools import ics
from actions.tools.document import fill
from actions.tools.folder import Folder
from actions.tools.history import bound
from actions.tools.tool import Args, Registry
from schemas.clock import ManualClock
from schemas.errors import ConfigError, NotSent, StepFailed
from schemas.model import Json


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path.resolve(), ManualClock(AT))


def call(desk: Desk, called: str, key: str = KEY, /, **args: Json) -> dict[str, Json]:
    tool = desk.registry().tool(called)
    assert tool is not None
    return asyncio.run(tool.call({k.replace("__", "."): v for k, v in args.items()}, key))


REGISTERED = Desk(Path("/nonesuch"), ManualClock(AT)).registry()


@pytest.mark.parametrize("name", REGISTERED.names())
def test_every_tool_has_a_case_for_the_laws(name: str) -> None:
    assert name in CASES, f"{name}: describe a call of it in actions/testing/cases.py"


def _held() -> list[tuple[str, laws.Law]]:
    tools = [(name, REGISTERED.manifest(name)) for name in REGISTERED.names() if not name.startswith("wait.")]
    return [(name, law) for name, manifest in tools if manifest for law in laws.laws_of(manifest, CASES.get(name))]


@pytest.mark.parametrize(("name", "law"), [pytest.param(n, law, id=f"{n}-{law.__name__}") for n, law in _held()])
def test_every_tool_keeps_the_laws(name: str, law: laws.Law) -> None:
    laws.check(law, name, CASES[name])


class TestNotices:
    def test_a_notice_that_a_channel_has_delivered_is_still_found(self, desk: Desk) -> None:
        out = call(desk, "notify", text="hello")
        (desk.outbox / "sent").mkdir()
        (desk.outbox / f"{KEY}.json").rename(desk.outbox / "sent" / f"{KEY}.json")
        assert call(desk, "notify", text="hello") == out
        assert list(contents(desk.outbox)) == [f"sent/{KEY}.json"]

    def test_a_notice_says_what_and_when_in_plain_characters(self, desk: Desk) -> None:
        call(desk, "notify", text="line\u202e one\nline two")
        notice = json.loads((desk.outbox / f"{KEY}.json").read_text())
        assert notice == {"key": KEY, "text": "line one\nline two", "at": "2025-03-03T09:00:00+00:00"}


class TestDrafts:
    def test_any_mail_program_reads_the_draft(self, desk: Desk) -> None:
        call(
            desk,
            "mail.draft",
            to="office@example.org",
            subject="Kündigung",
            body="Größe: 5 €\n.\nFrom here",
            in_reply_to="<a@b>",
        )
        (message,) = mailbox.Maildir(str(desk.drafts), create=False)
        assert sorted(message.get_flags()) == ["D", "S"]
        parsed = email.message_from_bytes(message.as_bytes(), policy=email.policy.default)
        assert (parsed["To"], parsed["From"], parsed["Subject"]) == (
            "office@example.org",
            "ann@example.org",
            "Kündigung",
        )
        assert (parsed["In-Reply-To"], parsed["References"]) == ("<a@b>", "<a@b>")
        assert parsed["Message-ID"] == f"<{KEY}@drafts.forewatch>"
        assert parsed.get_content() == "Größe: 5 €\n.\nFrom here\n"

    def test_a_draft_is_found_again_after_a_mail_program_renamed_it(self, desk: Desk) -> None:
        call(desk, "mail.draft", to="a@example.org", subject="s", body="b")
        (file,) = (desk.drafts / "cur").iterdir()
        file.rename(desk.drafts / "cur" / "1741.M1P2.host:2,DFS")
        call(desk, "mail.draft", to="a@example.org", subject="s", body="b")
        assert len(list((desk.drafts / "cur").iterdir())) == 1

    def test_a_subject_cannot_smuggle_a_header(self, desk: Desk) -> None:
        call(desk, "mail.draft", to="a@example.org", subject="hi\r\nBcc: b@evil.example", body="b")
        (message,) = mailbox.Maildir(str(desk.drafts), create=False)
        assert message["Bcc"] is None

    def test_a_draft_that_was_edited_is_not_what_was_asked_for(self, desk: Desk) -> None:
        args: Args = {"to": "a@example.org", "subject": "s", "body": "b"}
        out = call(desk, "mail.draft", **args)
        (file,) = (desk.drafts / "cur").iterdir()
        file.write_bytes(file.read_bytes().replace(b"a@example.org", b"x@evil.example"))
        tool = desk.registry().tool("mail.draft")
        assert tool is not None
        assert asyncio.run(tool.verify(args, KEY, out)) is None


class TestCalendars:
    def test_an_entry_is_added_and_every_other_byte_stays(self, desk: Desk) -> None:
        desk.calendar.write_bytes(CALENDAR.encode())
        desk.calendar.chmod(0o640)
        call(desk, "calendar.add", title="Pay Acme; soon, please", start="2025-03-20T09:00:00+01:00", minutes=45)
        text = desk.calendar.read_bytes().decode()
        (block,) = ics.with_value(text, "UID", f"{KEY}@forewatch")
        assert text[: block.start] + text[block.end :] == CALENDAR
        (event,) = [e for e in icalendar.Calendar.from_ical(text).walk("VEVENT") if e["UID"] == f"{KEY}@forewatch"]
        assert str(event["SUMMARY"]) == "Pay Acme; soon, please"
        assert event["DTSTART"].dt == datetime(2025, 3, 20, 8, tzinfo=UTC)
        assert (event["DTEND"].dt - event["DTSTART"].dt).total_seconds() == 45 * 60
        assert desk.calendar.stat().st_mode & 0o777 == 0o640

    def test_a_calendar_that_is_not_there_yet_is_made(self, desk: Desk) -> None:
        call(desk, "calendar.add", title="Trial ends", day="2025-03-20")
        (event,) = icalendar.Calendar.from_ical(desk.calendar.read_bytes()).walk("VEVENT")
        assert str(event["DTSTART"].dt) == "2025-03-20"
        assert str(event["DTEND"].dt) == "2025-03-21"

    def test_a_file_that_is_no_calendar_is_left_alone(self, desk: Desk) -> None:
        desk.calendar.write_text("dear diary")
        with pytest.raises(StepFailed, match="not an iCalendar file"):
            call(desk, "calendar.add", title="x", day="2025-03-20")
        assert desk.calendar.read_text() == "dear diary"

    def test_an_entry_without_a_time_is_refused(self, desk: Desk) -> None:
        with pytest.raises(StepFailed, match="a day or a start"):
            call(desk, "calendar.add", title="x")

    def test_a_moved_entry_keeps_its_zone_its_length_and_everything_else(self, desk: Desk) -> None:
        desk.calendar.write_bytes(CALENDAR.encode())
        out = call(desk, "calendar.move", event_id="dentist", start="2025-04-02T08:00:00+00:00")
        assert out == {"event_id": "dentist", "previous_start": "2025-03-28T09:00:00+00:00"}
        text = desk.calendar.read_bytes().decode()
        assert "DTSTART;TZID=Europe/Berlin:20250402T100000\r\nDTEND;TZID=Europe/Berlin:20250402T103000\r\n" in text
        assert "SEQUENCE:3\r\n" in text
        assert "middle of the \r\n word" in text
        assert "TRIGGER:-PT1H\r\nDESCRIPTION:Dentist\r\nEND:VALARM\r\n" in text
        before, after = (icalendar.Calendar.from_ical(t).walk("VEVENT") for t in (CALENDAR, text))
        assert before[1:] == after[1:]

    def test_moving_back_is_the_undo(self, desk: Desk) -> None:
        desk.calendar.write_bytes(CALENDAR.encode())
        out = call(desk, "calendar.move", event_id="dentist", start="2025-04-02T08:00:00+00:00")
        call(desk, "calendar.move", OTHER, event_id="dentist", start=str(out["previous_start"]))
        (event, *_) = icalendar.Calendar.from_ical(desk.calendar.read_bytes()).walk("VEVENT")
        assert event["DTSTART"].dt == datetime(2025, 3, 28, 10, tzinfo=ZoneInfo("Europe/Berlin"))

    def test_a_day_moves_by_days_across_the_change_of_the_clocks(self, desk: Desk) -> None:
        desk.calendar.write_bytes(CALENDAR.encode())
        call(desk, "calendar.move", event_id="fair", start="2025-04-04T22:00:00+00:00")
        text = desk.calendar.read_bytes().decode()
        assert "DTSTART;VALUE=DATE:20250405\r\nDTEND;VALUE=DATE:20250408\r\n" in text

    def test_a_series_and_an_unknown_entry_are_refused(self, desk: Desk) -> None:
        desk.calendar.write_bytes(CALENDAR.encode())
        with pytest.raises(StepFailed, match="is a series"):
            call(desk, "calendar.move", event_id="club", start="2025-04-02T08:00:00+00:00")
        with pytest.raises(StepFailed, match="has no entry nonesuch"):
            call(desk, "calendar.move", event_id="nonesuch", start="2025-04-02T08:00:00+00:00")
        assert desk.calendar.read_bytes().decode() == CALENDAR

    @settings(max_examples=80, deadline=None)
    @given(st.text(st.characters(exclude_categories=("Cc", "Cs")), min_size=1, max_size=120))
    def test_any_title_is_read_back_by_another_program(self, title: str) -> None:
        text = ics.inserted(ics.EMPTY, ["UID:x", "DTSTART:20250301T000000Z", f"SUMMARY:{ics.escaped(title)}"])
        assert all(len(line.encode()) <= 75 for line in text.split("\r\n"))
        (event,) = icalendar.Calendar.from_ical(text.encode()).walk("VEVENT")
        assert str(event["SUMMARY"]) == title
        assert ics.blocks(text)[0].value("SUMMARY") == ics.escaped(title)

    @pytest.mark.parametrize(
        ("line", "after"),
        [
            ("DTSTART:20250328T100000Z", "DTSTART:20250402T080000Z"),
            ("DTSTART:20250328T100000", "DTSTART:20250402T100000"),
            ("DTSTART;TZID=Nowhere/Place:20250328T100000", "DTSTART:20250402T080000Z"),
            ('DTSTART;TZID="Asia/Kolkata":20250328T100000', 'DTSTART;TZID="Asia/Kolkata":20250402T133000'),
        ],
    )
    def test_a_time_keeps_its_form(self, line: str, after: str) -> None:
        block = ics.blocks(f"BEGIN:VEVENT\n{line}\nEND:VEVENT\n")[0]
        moved = ics.moved(block, datetime(2025, 4, 2, 8, tzinfo=UTC), ZoneInfo("Europe/Berlin"))
        assert moved == {"DTSTART": after}


class TestDocuments:
    def test_a_template_is_filled_and_lines_without_a_value_are_left_out(self, desk: Desk) -> None:
        money: Json = {"amount": "82.50", "currency": "EUR"}
        call(desk, "document.write", template="payment.txt", name="p.txt", field__payee="Acme", field__amount=money)
        text = (desk.documents / "p.txt").read_text()
        assert "Payee:      Acme\nAmount:     82.50 EUR\n\nPrepared" not in text
        assert "Payee:      Acme\nAmount:     82.50 EUR\n" in text
        assert "Account:" not in text

    def test_a_file_that_is_there_is_never_overwritten(self, desk: Desk) -> None:
        desk.documents.mkdir()
        (desk.documents / "p.txt").write_text("mine")
        with pytest.raises(StepFailed, match=r"p\.txt is there already; choose another file name"):
            call(desk, "document.write", template="payment.txt", name="p.txt", field__payee="Acme")
        assert (desk.documents / "p.txt").read_text() == "mine"

    @pytest.mark.parametrize("name", ["../p.txt", "a/b.txt", "/etc/passwd", "..", ".hidden", "a\x00b"])
    @pytest.mark.parametrize("which", ["name", "template"])
    def test_names_that_lead_elsewhere_are_refused(self, desk: Desk, which: str, name: str) -> None:
        args: dict[str, Json] = {"template": "payment.txt", "name": "p.txt", which: name}
        with pytest.raises(StepFailed, match="bare file name"):
            call(desk, "document.write", **args)
        assert not (desk.root / "p.txt").exists()

    def test_links_are_refused(self, desk: Desk) -> None:
        desk.documents.mkdir()
        (desk.root / "outside.txt").write_text("outside")
        os.symlink(desk.root / "outside.txt", desk.documents / "p.txt")
        with pytest.raises(StepFailed, match="is a link"):
            call(desk, "document.write", template="payment.txt", name="p.txt", field__payee="Acme")
        assert (desk.root / "outside.txt").read_text() == "outside"

    def test_an_unknown_template_says_what_to_do(self, desk: Desk) -> None:
        with pytest.raises(StepFailed, match="put it into the template folder"):
            call(desk, "document.write", template="nonesuch.txt", name="p.txt")

    def test_html_is_escaped_and_a_value_is_no_template(self) -> None:
        fields: Args = {"name": "<script>{{ other }}</script>", "other": "x"}
        assert fill("<p>{{ name }}</p>", fields, escape=True) == "<p>&lt;script&gt;{{ other }}&lt;/script&gt;</p>"
        assert fill("{{ name }}", fields, escape=False) == "<script>{{ other }}</script>"

    def test_a_folder_that_cannot_be_written_is_safe_to_try_again(self, desk: Desk) -> None:
        desk.documents.write_text("a file where the folder should be")
        with pytest.raises(NotSent, match="cannot write into"):
            call(desk, "document.write", template="payment.txt", name="p.txt", field__payee="Acme")

    def test_a_full_disk_leaves_nothing_behind_and_is_safe_to_try_again(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(descriptor: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", full)
            with pytest.raises(NotSent, match=r"No space left on device.*; free some space"):
                call(desk, "document.write", template="payment.txt", name="p.txt", field__payee="Acme")
        assert contents(desk.root) == {}
        call(desk, "document.write", template="payment.txt", name="p.txt", field__payee="Acme")
        assert (desk.documents / "p.txt").exists()


class TestHistory:
    def test_values_stand_as_literals_that_they_cannot_end(self) -> None:
        sql = "SELECT * FROM bank WHERE merchant = $merchant AND amount < $limit AND currency = $currency"
        args: Args = {
            "sql": sql,
            "param.merchant": "o'hara'; DROP TABLE events; --",
            "param.limit": {"amount": "-5.00", "currency": "EUR"},
            "param.currency": "$merchant",
        }
        assert bound(args) == (
            "SELECT * FROM bank WHERE merchant = 'o''hara''; DROP TABLE events; --' AND amount < -5.00"
            " AND currency = '$merchant'"
        )

    @pytest.mark.parametrize("value", [None, [1], {"amount": "1; DROP", "currency": "EUR"}])
    def test_what_is_no_plain_value_is_refused(self, value: Json) -> None:
        with pytest.raises(StepFailed):
            bound({"sql": "SELECT $x", "param.x": value})
        with pytest.raises(StepFailed, match=r"no value for \$y"):
            bound({"sql": "SELECT $y"})

    def test_rows_become_lines(self, desk: Desk) -> None:
        desk.history.answer = [["2025-02-01", "12.00", None], ["2025-01-01", "11.00", "x\u202ey"]]
        out = call(desk, "history.query", sql="SELECT 1")
        assert out == {"count": 2, "text": "2025-02-01 · 12.00\n2025-01-01 · 11.00 · xy"}


class TestFolders:
    def test_a_relative_root_is_refused(self) -> None:
        with pytest.raises(ConfigError, match="not absolute"):
            Folder(Path("documents"))

    def test_a_replaced_file_is_whole_and_a_created_one_is_new(self, tmp_path: Path) -> None:
        folder = Folder(tmp_path / "a" / "b")
        assert folder.create("x.txt", b"one") is True
        assert folder.create("x.txt", b"two") is False
        folder.replace("x.txt", b"three")
        assert contents(tmp_path) == {"a/b/x.txt": b"three"}

    @pytest.mark.parametrize("deed", ["create", "replace", "deliver"])
    def test_a_process_that_is_killed_while_it_writes_leaves_no_unfinished_file(
        self, tmp_path: Path, deed: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Killed at what is slow: when the content goes to the disk."""
        folder = Folder(tmp_path / "a")
        folder.ensure()
        monkeypatch.setattr(os, "fsync", lambda descriptor: os.kill(os.getpid(), signal.SIGKILL))
        if not (pid := os.fork()):
            folder.deliver(folder, "x.txt", b"x") if deed == "deliver" else getattr(folder, deed)("x.txt", b"x")
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGKILL
        assert contents(tmp_path) == {}

    def test_where_every_file_has_a_name_from_the_start_nothing_is_left_behind_either(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delattr(os, "O_TMPFILE")
        folder = Folder(tmp_path / "a" / "b")
        assert folder.create("x.txt", b"one") is True
        assert folder.create("x.txt", b"two") is False
        folder.replace("x.txt", b"three")
        assert contents(tmp_path) == {"a/b/x.txt": b"three"}

    def test_a_file_is_replaced_where_no_file_can_have_two_names(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As on FAT and on many shares."""

        def refuse(*_: object, **__: object) -> None:
            raise OSError(errno.EPERM, "Operation not permitted")

        monkeypatch.delattr(os, "O_TMPFILE")
        monkeypatch.setattr(os, "link", refuse)
        folder = Folder(tmp_path)
        folder.replace("x.txt", b"one")
        folder.replace("x.txt", b"two")
        assert contents(tmp_path) == {"x.txt": b"two"}
        with pytest.raises(NotSent, match="cannot make"):
            folder.create("y.txt", b"three")
        assert contents(tmp_path) == {"x.txt": b"two"}

    def test_reading_refuses_links_and_what_is_no_file(self, tmp_path: Path) -> None:
        folder = Folder(tmp_path)
        (tmp_path / "sub").mkdir()
        os.symlink("/etc/hostname", tmp_path / "link")
        assert folder.read("nonesuch") is None
        with pytest.raises(StepFailed):
            folder.read("link")
        with pytest.raises((StepFailed, IsADirectoryError)):
            folder.read("sub")


class TestRegistry:
    def test_two_tools_of_one_name_are_refused(self, desk: Desk) -> None:
        tool = desk.registry().tool("notify")
        assert tool is not None
        with pytest.raises(ConfigError, match="two tools are named 'notify'"):
            Registry([tool, tool])

    def test_a_tool_that_is_switched_off_is_not_there(self, desk: Desk) -> None:
        tool = desk.registry().tool("notify")
        assert tool is not None
        registry = Registry([tool], disabled=["notify"])
        assert (registry.names(), registry.manifest("notify"), registry.tool("notify")) == ([], None, None)

    def test_every_tool_says_what_it_may_touch_and_what_a_person_reads(self, desk: Desk) -> None:
        registry = desk.registry()
        for name in registry.names():
            manifest = registry.manifest(name)
            assert manifest is not None
            assert manifest.says
            assert manifest.permissions or manifest.effect in ("read", "wait")
