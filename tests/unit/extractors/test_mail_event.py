"""Mail events: kinds, trust, matter, and the typed values that rules read."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

import pytest

from extractors.connector import Context
from extractors.maildir import normalize
from schemas import matter
from schemas.event import Event
from schemas.ids import event_id
from schemas.model import Json
from schemas.record import Record

NOW = datetime(2026, 3, 3, tzinfo=UTC)
RECORD = Record(id="r", account="home", owner="nora", source="maildir", native_id="n", version="0", fetched_at=NOW)
CONTEXT = Context("nora", "home", ZoneInfo("Europe/Berlin"), NOW)


def event(
    body: str,
    *headers: str,
    role: str = "inbox",
    sender: str = "Hillside Water <billing@mail.hillside.example>",
    delivered: bool = True,
    is_new: bool = True,
    zone: str = "Europe/Berlin",
) -> Event:
    trace = "Received: from a by b; Mon, 2 Mar 2026 09:15:01 +0000\n" if delivered else ""
    raw = f"{trace}From: {sender}\nTo: Nora Brandt <nora@example.net>\nDate: Mon, 02 Mar 2026 10:15:00 +0100\n"
    raw += "".join(f"{header}\n" for header in headers) + f"Content-Type: text/plain; charset=utf-8\n\n{body}"
    meta: dict[str, Json] = {"role": role, "owners": ["nora@example.net"], "folder": "", "flags": ["seen"]}
    record = RECORD.model_copy(update={"raw": raw.encode(), "is_new": is_new, "meta": meta})
    context = Context("nora", "home", ZoneInfo(zone), NOW)
    (found,) = normalize.normalise(record, context)
    return found


def test_an_invoice_is_an_outflow_that_is_due_at_the_end_of_the_owners_day() -> None:
    found = event("Invoice no. A-77\nTotal: 300.00 EUR\nPlease pay by 29 March 2026.", "Subject: Your bill")
    assert found.amount is not None
    assert found.amount.amount == Decimal("-300.00")
    assert found.due_at == datetime(2026, 3, 29, 22, tzinfo=UTC)  # the clocks went forward that night
    assert found.matter == "invoice:hillside.example:A-77"


def test_the_owners_zone_decides_where_the_day_ends() -> None:
    found = event("Invoice no. A-77, please pay 300.00 EUR by 29 March 2026.", zone="America/Los_Angeles")
    assert found.due_at == datetime(2026, 3, 30, 7, tzinfo=UTC)


def test_the_issues_of_a_newsletter_are_no_conversation() -> None:
    issue = "References: <first@x>\nMessage-ID: <second@x>\nList-Id: <news.x>\nList-Unsubscribe: <https://x/u>"
    assert event("News", issue).matter == "thread:<second@x>"
    assert event("Re: News", f"{issue}\nIn-Reply-To: <first@x>").matter == "thread:<first@x>"


def test_a_booking_is_the_matter_of_its_code() -> None:
    found = event("Your booking QX7RTZ is confirmed: 28 March 2026, 19:30.", "Subject: Booking")
    assert found.matter == "booking:QX7RTZ"
    assert found.starts_at == datetime(2026, 3, 28, 18, 30, tzinfo=UTC)


def test_any_other_mail_belongs_to_its_conversation() -> None:
    assert event("Hello", "References: <root@x> <b@x>").matter == "thread:<root@x>"


@pytest.mark.parametrize(
    ("sender", "role", "delivered", "kind", "trust"),
    [
        ("Ada <ada@example.org>", "inbox", True, "mail.received", "outside"),
        ("Nora <nora@example.net>", "sent", False, "mail.sent", "self"),
        ("Nora <nora@example.net>", "inbox", False, "mail.sent", "self"),
        ("Nora <nora@example.net>", "inbox", True, "mail.received", "outside"),
        ("Ada <ada@example.org>", "sent", True, "mail.received", "outside"),
    ],
)
def test_only_what_the_owner_really_sent_is_their_own(
    sender: str, role: str, delivered: bool, kind: str, trust: str
) -> None:
    found = event("x", sender=sender, role=role, delivered=delivered)
    assert (found.kind, found.trust) == (kind, trust)


def test_a_later_version_is_flagged_and_keeps_its_subject() -> None:
    first, later = event("x"), event("x", is_new=False)
    assert later.kind == "mail.flagged"
    assert later.subject == first.subject
    assert later.id != first.id


def test_ids_come_from_account_kind_native_id_and_version() -> None:
    assert event("x").id == event_id("home", "mail.received", "n", "0")


def test_the_subject_of_an_answer_is_old() -> None:
    found = event("Done.", "Subject: Re: please pay by 20 March 2026")
    assert found.due_at is None


def test_a_mail_without_a_date_happened_when_it_was_found() -> None:
    (found,) = normalize.normalise(RECORD.model_copy(update={"raw": b"From: a\n\nx"}), CONTEXT)
    assert found.occurred_at == NOW
    assert found.payload is not None
    assert getattr(found.payload, "date_source", None) == "none"


def test_a_delete_takes_the_mail_back() -> None:
    record = RECORD.model_copy(update={"op": "delete", "version": "1.gone"})
    (found,) = normalize.normalise(record, CONTEXT)
    assert (found.kind, found.op, found.subject) == ("mail.removed", "retract", event("x").subject)


@pytest.mark.parametrize(
    ("domain", "issuer", "expected"),
    [
        ("mail.hillside.example", "", "invoice:hillside.example:A1"),
        ("billing.shop.co.uk", "", "invoice:shop.co.uk:A1"),
        ("gmail.com", "Tom's Garage & Sons", "invoice:tom-s-garage-sons:A1"),
        ("gmail.com", "", "invoice:gmail.com:A1"),
        ("", "", "invoice:unknown:A1"),
    ],
)
def test_an_invoice_belongs_to_the_organisation_that_sent_it(domain: str, issuer: str, expected: str) -> None:
    assert matter.invoice("a 1", domain=domain, issuer=issuer) == expected
