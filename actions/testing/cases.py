"""A case of each tool that ships: what the laws (``actions/testing/laws.py``) call it with."""

from __future__ import annotations

import email.policy
import io
import shutil
from collections.abc import Mapping
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path
from typing import Any

from actions.testing.desk import Desk
from actions.testing.laws import KEY, OTHER, Case, nothing
from actions.testing.mailbox import Mail
from actions.testing.web import page
from actions.tools.agenda import Meeting, Task
from actions.tools.fields import FIELDS
from actions.tools.placed import Placed
from schemas import ids

CALENDAR = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Ann//Handmade//EN\r\nX-WR-CALNAME:Ann\\, private\r\n"
    "BEGIN:VTIMEZONE\r\nTZID:Europe/Berlin\r\nBEGIN:STANDARD\r\nDTSTART:19961027T030000\r\nTZOFFSETFROM:+0200\r\n"
    "TZOFFSETTO:+0100\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n"
    "BEGIN:VEVENT\r\nUID:dentist\r\nDTSTAMP:20250101T000000Z\r\nDTSTART;TZID=Europe/Berlin:20250328T100000\r\n"
    "DTEND;TZID=Europe/Berlin:20250328T103000\r\nSUMMARY:Dentist\r\nSEQUENCE:2\r\n"
    "DESCRIPTION:A long text that a calendar program has folded in the middle of the \r\n word\\, as they do\r\n"
    "BEGIN:VALARM\r\nACTION:DISPLAY\r\nTRIGGER:-PT1H\r\nDESCRIPTION:Dentist\r\nEND:VALARM\r\nEND:VEVENT\r\n"
    "BEGIN:VEVENT\r\nUID:fair\r\nDTSTAMP:20250101T000000Z\r\nDTSTART;VALUE=DATE:20250328\r\n"
    "DTEND;VALUE=DATE:20250331\r\nSUMMARY:Fair\r\nEND:VEVENT\r\n"
    "BEGIN:VEVENT\r\nUID:club\r\nDTSTAMP:20250101T000000Z\r\nDTSTART:20250301T170000Z\r\nRRULE:FREQ=WEEKLY\r\n"
    "SUMMARY:Club\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)


LETTER = (
    "Your reference 4711\nplease pay 82,50 € by 5 December 2025 to DE89 3704 0044 0532 0130 00, write to "
    "office@example.org or see https://office.example.org/pay for more."
)


def _has_calendar(desk: Desk) -> None:
    desk.calendar.write_bytes(CALENDAR.encode())


def _has_form(desk: Desk) -> None:
    desk.papers.mkdir(exist_ok=True)
    (desk.papers / "renewal.pdf").write_bytes(form_pdf())


def _has_letter(desk: Desk) -> None:
    desk.papers.mkdir(exist_ok=True)
    (desk.papers / "licence renewal.txt").write_text("How to renew a licence", "utf-8")


def _has_written(desk: Desk) -> None:
    Placed(desk.documents).put("old.txt", lambda: b"old\n", OTHER)


def _spoiled(name: str) -> Any:
    return lambda desk: (desk.documents / name).write_bytes(b"something else")


def form_pdf(*names: str) -> bytes:
    """A PDF of one page with text fields and a check box, as an office offers it."""
    from pypdf import PdfWriter
    from pypdf.generic import ArrayObject, DictionaryObject, FloatObject, NameObject, NumberObject, TextStringObject

    writer = PdfWriter()
    page = writer.add_blank_page(595, 842)
    font = DictionaryObject({NameObject("/Type"): NameObject("/Font"), NameObject("/Subtype"): NameObject("/Type1"),
                             NameObject("/BaseFont"): NameObject("/Helvetica")})  # fmt: skip
    fields = ArrayObject()
    for index, name in enumerate(names or ("name", "number", "agree")):
        y = 800 - 40 * index
        field = DictionaryObject(
            {
                NameObject("/Type"): NameObject("/Annot"),
                NameObject("/Subtype"): NameObject("/Widget"),
                NameObject("/FT"): NameObject("/Tx"),
                NameObject("/T"): TextStringObject(name),
                NameObject("/V"): TextStringObject(""),
                NameObject("/DA"): TextStringObject("/Helv 12 Tf 0 g"),
                NameObject("/F"): NumberObject(4),
                NameObject("/Rect"): ArrayObject(FloatObject(n) for n in (50, y, 400, y + 20)),
            }
        )
        if name == "agree":
            empty = DictionaryObject({NameObject("/On"): DictionaryObject(), NameObject("/Off"): DictionaryObject()})
            field[NameObject("/FT")] = NameObject("/Btn")
            field[NameObject("/V")] = field[NameObject("/AS")] = NameObject("/Off")
            field[NameObject("/AP")] = DictionaryObject({NameObject("/N"): empty})
        fields.append(writer._add_object(field))
    page[NameObject("/Annots")] = fields
    resources = DictionaryObject({NameObject("/Font"): DictionaryObject({NameObject("/Helv"): font})})
    form = DictionaryObject({NameObject("/Fields"): fields, NameObject("/DR"): resources,
                             NameObject("/DA"): TextStringObject("/Helv 12 Tf 0 g")})  # fmt: skip
    writer.root_object[NameObject("/AcroForm")] = form
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


_PAYMENT: dict[str, Any] = {
    "payee": "Müller & Söhne",
    "iban": "DE89 3704 0044 0532 0130 00",
    "amount": {"amount": "82.50", "currency": "EUR"},
    "purpose": "Invoice 17",
}


def incoming(name: str = "news", **headers: str) -> bytes:
    """A mail that the owner received; a newsletter with a way out, unless the headers say otherwise."""
    given = {
        "From": "Ada <ada@example.org>",
        "To": "ann@example.org",
        "Subject": f"Letter {name}",
        "Message-ID": f"<{name}@example.org>",
        "List-Unsubscribe": "<mailto:leave@example.org>, <https://lists.example.org/leave?u=17>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        "DKIM-Signature": "v=1; a=rsa-sha256; d=example.org; s=k; b=x;\r\n h=From:Subject:List-Unsubscribe:"
        "List-Unsubscribe-Post; bh=y",
    } | {name.replace("_", "-"): value for name, value in headers.items()}
    return "".join(f"{name}: {value}\r\n" for name, value in given.items() if value).encode() + b"\r\nHello.\r\n"


def _has_mail(desk: Desk) -> None:
    desk.mail.box.mails = [Mail(incoming())]
    desk.web.pages["https://lists.example.org/leave?u=17"] = page("You have left.")


INVITATION = (
    "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Town//EN\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nUID:townhall\r\n"
    "DTSTAMP:20250301T000000Z\r\nSEQUENCE:3\r\nDTSTART;TZID=Europe/Berlin:20250320T100000\r\nDURATION:PT1H\r\n"
    "SUMMARY:Town hall\\, in the square\r\nORGANIZER;CN=Ada:mailto:ada@example.org\r\n"
    "ATTENDEE;CN=Ann;PARTSTAT=NEEDS-ACTION;RSVP=TRUE:mailto:Ann@example.org\r\n"
    "ATTENDEE;PARTSTAT=ACCEPTED:mailto:bo@example.org\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)


def invitation(**changes: str) -> bytes:
    """A mail that invites; ``changes`` replace words of its calendar."""
    text = INVITATION
    for old, new in changes.items():
        text = text.replace(old, new)
    mail = EmailMessage(policy=email.policy.SMTP)
    mail["From"], mail["To"], mail["Message-ID"] = "ada@example.org", "ann@example.org", "<town@example.org>"
    mail["Subject"] = "Invitation: Town hall"
    mail.set_content("You are invited.")
    mail.add_alternative(text, subtype="calendar", params={"method": "REQUEST"})
    mail.set_boundary("=_town")
    return mail.as_bytes()


def _has_invitation(desk: Desk) -> None:
    desk.mail.box.mails = [Mail(invitation())]


def _nothing_sent(desk: Desk) -> None:
    desk.mail.box.mails = [mail for mail in desk.mail.box.mails if mail.folder != "Sent"]


def _has_form_page(desk: Desk) -> None:
    desk.web.pages["https://office.example.org/form"] = page("<p>Thank you,<br>we have <b>received</b> it.</p>")


def _at(hour: int) -> datetime:
    return datetime(2025, 3, 20, hour, tzinfo=UTC)


def _has_meetings(desk: Desk) -> None:
    """One of the owner's own, one with a guest, and one that somebody else called."""
    desk.agendas.calendar.meetings = {
        "own": Meeting("own", "Dentist", _at(9), _at(10)),
        "ours": Meeting("ours", "Review", _at(11), _at(12), ("ada@example.org",)),
        "theirs": Meeting("theirs", "Town hall", _at(13), _at(14), (), "tentative", False),
    }


def _no_meetings(desk: Desk) -> None:
    desk.agendas.calendar.meetings = {}


def _has_task(desk: Desk) -> None:
    desk.agendas.list.held = {"bins": Task("bins", "Put the bins out", "needs-action")}


def _no_tasks(desk: Desk) -> None:
    desk.agendas.list.held = {}


CASES: Mapping[str, Case] = {
    "meeting.create": Case.of(
        _has_meetings, _no_meetings, title="Renew the licence", start="2025-03-20T15:00:00+01:00"
    ),
    "meeting.invite": Case.of(
        _has_meetings,
        _no_meetings,
        title="Review",
        start="2025-03-20T15:00:00+01:00",
        minutes=45,
        guest="ada@example.org",
        guest__second="bo@example.org",
    ),
    "meeting.move": Case.of(_has_meetings, _has_meetings, event_id="own", start="2025-03-21T08:00:00+00:00"),
    "meeting.reschedule": Case.of(_has_meetings, _has_meetings, event_id="ours", start="2025-03-21T08:00:00+00:00"),
    "meeting.cancel": Case.of(_has_meetings, _has_meetings, event_id="ours"),
    "meeting.answer": Case.of(_has_meetings, _has_meetings, event_id="theirs", answer="accepted"),
    "meeting.times": Case.of(
        _has_meetings, minutes=60, earliest="2025-03-20T08:00:00+00:00", latest="2025-03-22T08:00:00+00:00"
    ),
    "task.create": Case.of(_has_task, _no_tasks, title="Call the office", due="2025-03-20", note="before noon"),
    "task.mark": Case.of(_has_task, _has_task, task_id="bins", status="completed"),
    "mail.send": Case(
        lambda desk: {
            "to": "office@example.org",
            "subject": "Kündigung",
            "body": "Guten Tag,\n\nhiermit kündige ich.",
            "attachment": str(desk.papers / "licence renewal.txt"),
        },
        _has_letter,
        _nothing_sent,
    ),
    "mail.reply": Case.of(
        _has_mail, _nothing_sent, message_id="<news@example.org>", to="ada@example.org", body="Thank you."
    ),
    "mail.answer_invitation": Case.of(
        _has_invitation, _nothing_sent, message_id="<town@example.org>", to="ada@example.org", answer="accepted"
    ),
    "mail.label": Case.of(_has_mail, _has_mail, message_id="<news@example.org>", label="Due soon", on=True),
    "mail.move": Case.of(_has_mail, _has_mail, message_id="<news@example.org>", folder="archive"),
    "mail.unsubscribe": Case.of(_has_mail, None, message_id="<news@example.org>"),
    "web.get": Case.of(_has_form_page, url="https://office.example.org/form"),
    "web.submit": Case.of(
        _has_form_page, None, url="https://office.example.org/form", proof="we have received it", field__name="Nora"
    ),
    "notify": Case.of(
        lambda desk: None, lambda desk: (desk.outbox / f"{KEY}.json").unlink(), text="Due tomorrow: Acme"
    ),
    "wait.until": Case.of(until="2025-03-04T09:00:00+00:00"),
    "wait.event": Case.of(kind="bank.posted", days=3, **{"match.title": "Acme"}),
    "wait.reply": Case.of(message_id="<m1@example.org>"),
    "history.query": Case.of(sql="SELECT 1"),
    **{f"extract.{name}": Case.of(text=LETTER, what="what it is about") for name in FIELDS if name != "number"},
    "extract.number": Case.of(text="There are 12 of them.", what="how many"),
    "memory.recall": Case.of(query="dentist"),
    "memory.remember": Case.of(nothing, lambda desk: desk.notes.notes.clear(), text="Never call before nine."),
    "mail.draft": Case.of(
        lambda desk: None,
        lambda desk: shutil.rmtree(desk.drafts / "cur"),
        to="office@example.org",
        subject="Kündigung",
        body="Guten Tag,\n\nhiermit kündige ich.",
    ),
    "calendar.add": Case.of(
        _has_calendar, _has_calendar, title="Pay Acme; soon, please", day="2025-03-20", note="invoice 17"
    ),
    "calendar.move": Case.of(_has_calendar, _has_calendar, event_id="dentist", start="2025-04-02T08:00:00+00:00"),
    "document.write": Case.of(
        lambda desk: None,
        _spoiled("payment-K7QF.txt"),
        template="payment.txt",
        name="payment-K7QF.txt",
        field__payee="Acme",
        field__today="2025-03-03",
    ),
    "file.find": Case.of(_has_letter, words="renewal of my licence"),
    "file.read": Case(lambda desk: {"path": str(desk.papers / "licence renewal.txt")}, _has_letter),
    "file.write": Case.of(lambda desk: None, _spoiled("list.txt"), name="list.txt", text="bread\nmilk"),
    "file.fill": Case(
        lambda desk: {
            "template": str(desk.papers / "renewal.pdf"),
            "name": "renewal-nora.pdf",
            "field.name": "Nora Größe",
            "field.agree": "yes",
        },
        _has_form,
        _spoiled("renewal-nora.pdf"),
    ),
    "file.discard": Case(
        lambda desk: {"path": str(desk.documents / "old.txt"), "sha256": ids.content_hash(b"old\n")},
        _has_written,
        lambda desk: _restored(desk.documents / "old.txt"),
    ),
    "payment.qr": Case.of(lambda desk: None, _spoiled("acme.png"), name="acme.png", **_PAYMENT),
    "payment.file": Case.of(lambda desk: None, _spoiled("acme.xml"), name="acme.xml", day="2025-03-10", **_PAYMENT),
}


def _restored(path: Path) -> None:
    path.write_bytes(b"old\n")
