"""The definitions that ship, each played end to end against a system that is what the definition says."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from extractors.rest import Rest
from extractors.rest.config import RestConfig
from extractors.rest.loader import load
from extractors.testing import START, context_for
from schemas.errors import AuthError, ConfigError
from schemas.event import Event
from schemas.fact import DueFact, InvoiceFact, ResolutionFact
from schemas.payloads import RowPayload
from tests.standins.rest import Account, account

BERLIN = ZoneInfo("Europe/Berlin")
SETTINGS = {"crm": {"tenant": "acme"}, "hr": {"company": "17"}, "issues": {"project": "APP"}, "erp": {}}


def stamp(number: int, precise: str = "") -> str:
    return f"2026-03-01T08:{number:02}:00{precise}Z"


def crm(shop: Account) -> None:
    for number in range(1, 6):
        shop.system.put(
            "deals",
            {
                "id": f"d{number}",
                "name": f"Deal {number}",
                "description": "<p>They want an offer.</p>",
                "amount": 1_000.5 * number,
                "currency": "EUR",
                "close_date": "2026-04-01",
                "updated_at": stamp(number, ".000"),
                "archived": False,
                "stage": "open",
                "company": {"name": "Nordlicht"},
                "contact": {"email": "Ida@Nordlicht.example"},
                "links": {"web": f"https://acme.crm.example/d/{number}"},
            },
        )
        shop.system.put(
            "tasks",
            {
                "id": number,
                "subject": f"Call {number}",
                "due_at": "2026-03-10T09:00:00+01:00",
                "updated_at": stamp(number, ".000"),
                "status": "open",
                "deal_id": "d1",
            },
        )
    shop.system.put(
        "contracts",
        {
            "id": 1,
            "title": "Support",
            "yearly_value": 1200,
            "currency": "EUR",
            "notice_by": "2026-06-30",
            "ends_on": "2026-09-30",
            "state": "active",
        },
    )


def erp(shop: Account) -> None:
    for number in range(1, 6):
        shop.system.put(
            "invoices",
            {
                "id": number,
                "number": f"R-{number}",
                "total": 11_900 * number,
                "currency": "EUR",
                "due_on": "2026-03-20",
                "updated_at": stamp(number),
                "status": "pending" if number < 3 else "open",
                "supplier": {"name": "Stadtwerke", "email": "rechnung@stadtwerke.example"},
                "links": {"html": f"https://erp.example.org/i/{number}"},
            },
        )
        shop.system.put(
            "approvals",
            {
                "id": 1,
                "invoice_number": f"R-{number}",
                "state": "pending",
                "due_on": "2026-03-15",
                "approver": {"name": "Nora", "email": "nora@example.org"},
            },
            invoice=str(number),
        )
        shop.system.put(
            "payments",
            {
                "id": number,
                "reference": f"Payment {number}",
                "amount": 11_900,
                "currency": "EUR",
                "paid_on": "2026-02-27",
                "status": "executed",
                "invoice_number": f"R-{number}",
                "supplier": {"name": "Stadtwerke"},
                "iban": "DE02 1203 0000 0000 2020 51",
            },
        )


def hr(shop: Account) -> None:
    for number in range(1, 6):
        person = {"name": f"Person {number}", "email": f"p{number}@example.net"}
        shop.system.put(
            "leave",
            {
                "number": number,
                "type": "Holiday",
                "note": "",
                "decide_by": "2026-03-12",
                "first_day": "2026-04-01",
                "last_day": "2026-04-05",
                "state": "requested",
                "withdrawn": False,
                "changed": f"2026-03-01 09:{number:02}:00",
                "employee": person,
            },
        )
        shop.system.put(
            "payroll",
            {
                "year": 2026,
                "month": number,
                "label": f"Payroll {number}/2026",
                "total": "52300.40",
                "approve_until": f"2{number}.03.2026",
                "state": "open",
            },
        )
        shop.system.put(
            "documents",
            {
                "uuid": f"u{number}",
                "title": "Passport",
                "valid_until": "2027-01-31",
                "employee": person,
                "last_viewed": number,
            },
        )


def issues(shop: Account) -> None:
    for number in range(1, 6):
        shop.system.put(
            "issues",
            {
                "id": f"i{number}",
                "key": f"APP-{number}",
                "title": "Crash",
                "body": "It crashes.",
                "state": "OPEN",
                "dueOn": "2026-03-30",
                "updatedAt": stamp(number, ".000000"),
                "url": f"https://issues.example.com/APP-{number}",
                "milestone": {"id": "m1"},
                "assignee": {"name": "Nora", "email": "nora@example.org"},
            },
        )
    shop.system.put("milestones", {"id": "m1", "title": "Version 2", "dueOn": "2026-04-30", "closedAt": None})


FILL = {"crm": crm, "erp": erp, "hr": hr, "issues": issues}
COUNTS = {
    "crm": {"record.deal": 5, "record.contract": 1, "record.task": 5},
    "erp": {"record.invoice": 5, "record.approval": 2, "record.payment": 5},
    "hr": {"record.leave": 5, "record.payroll": 5, "record.document": 5},
    "issues": {"record.issue": 5, "record.milestone": 1},
}


def count(events: Sequence[Event]) -> dict[str, int]:
    kinds = [event.kind for event in events]
    return {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)}


@pytest.mark.parametrize("name", FILL)
def test_a_definition_that_ships_reads_its_system_once_and_then_what_changes(name: str, tmp_path: Path) -> None:
    with account(name, tmp_path, **SETTINGS[name]) as shop:
        FILL[name](shop)
        first = shop.poll()
        assert (first.error, first.rejected, first.warnings) == (None, [], [])
        assert count(shop.events(first)) == COUNTS[name]
        for event in shop.events(first):
            assert Event.model_validate_json(event.model_dump_json()) == event
            assert isinstance(event.payload, RowPayload)
            assert event.title
        for days in (1, 2):
            again = shop.poll(days)
            assert (again.error, again.upserts, again.deletes) == (None, [], [])
        stream = load(name).streams[0]
        shop.system.rows(stream.name)[0].update({"title": "Other", "name": "Other", "number": "R-1x", "state": "OTHER"})
        if name == "hr":
            shop.system.rows("leave")[0].update(number=1)
        assert len(shop.poll(3).upserts) >= 1


@pytest.mark.parametrize("name", FILL)
def test_each_definition_that_ships_can_be_checked_before_it_is_used(name: str, tmp_path: Path) -> None:
    with account(name, tmp_path, **SETTINGS[name]) as shop:
        FILL[name](shop)

        async def check() -> Sequence[str]:
            async with shop.key.open(START) as access:
                return await shop.connector.check(shop.config, replace(context_for(), access=access))

        lines = asyncio.run(check())
        assert len(lines) == len(load(name).streams)
        login = shop.connector.login_for(shop.config)
        assert bool(login.secrets) != bool(login.scopes)


def only(events: Sequence[Event], kind: str) -> Event:
    return next(event for event in events if event.kind == kind)


def test_an_invoice_of_the_erp_meets_mails_and_payments_about_it(tmp_path: Path) -> None:
    with account("erp", tmp_path) as shop:
        erp(shop)
        events = shop.events(shop.poll())
        bill, paid = only(events, "record.invoice"), only(events, "record.payment")
        assert (bill.title, str(bill.amount), bill.matter) == ("R-1", "-119.00 EUR", "invoice:stadtwerke:R-1")
        assert paid.matter == bill.matter
        assert bill.due_at == datetime(2026, 3, 20, 23, 59, 59, tzinfo=BERLIN)
        due, fact = bill.facts
        assert isinstance(due, DueFact)
        assert (due.on, due.what) == (date(2026, 3, 20), "pay")
        assert isinstance(fact, InvoiceFact)
        assert (fact.number, str(fact.amount), fact.issuer) == ("R-1", "119.00 EUR", "Stadtwerke")
        assert [fact.outcome for fact in paid.facts if isinstance(fact, ResolutionFact)] == ["paid"]
        assert paid.parties[0].address == "DE02120300000000202051"
        assert (bill.trust, bill.parties[0].domain) == ("outside", "stadtwerke.example")


def test_an_approval_of_the_erp_ends_with_its_invoice(tmp_path: Path) -> None:
    with account("erp", tmp_path) as shop:
        erp(shop)
        shop.poll()
        shop.system.rows("invoices")[0].update(status="deleted", updated_at=stamp(30))
        events = shop.events(shop.poll(1))
        assert sorted((event.kind, event.op) for event in events) == [
            ("record.approval", "retract"),
            ("record.invoice", "retract"),
        ]
        assert only(events, "record.invoice").title == "R-1"


def test_a_deal_that_is_won_is_resolved_and_an_archived_one_withdrawn(tmp_path: Path) -> None:
    with account("crm", tmp_path, tenant="acme") as shop:
        crm(shop)
        event = only(shop.events(shop.poll()), "record.deal")
        assert (event.text, event.parties[0].address) == ("They want an offer.", "ida@nordlicht.example")
        shop.system.rows("deals")[0].update(stage="won", updated_at=stamp(30, ".000"))
        shop.system.rows("deals")[1].update(archived=True, updated_at=stamp(31, ".000"))
        won, gone = shop.events(shop.poll(1))
        assert [type(fact) for fact in won.facts] == [ResolutionFact]
        assert (gone.op, gone.title) == ("retract", "Deal 2")


def test_the_times_of_the_hr_system_are_those_of_its_office(tmp_path: Path) -> None:
    with account("hr", tmp_path, company="17") as shop:
        hr(shop)
        events = shop.events(shop.poll())
        leave = only(events, "record.leave")
        assert leave.all_day
        assert leave.starts_at == datetime(2026, 3, 31, 22, tzinfo=UTC)
        assert (leave.wall_start, leave.zone) == ("2026-04-01", "Europe/Berlin")
        payroll = only(events, "record.payroll")
        assert (str(payroll.amount), payroll.due_at) == ("-52300.40 EUR", datetime(2026, 3, 21, 22, 59, 59, tzinfo=UTC))
        assert shop.system.asked[0].headers["x-api-key"] == "k3y"


def test_a_document_that_was_only_looked_at_has_not_changed(tmp_path: Path) -> None:
    with account("hr", tmp_path, company="17") as shop:
        hr(shop)
        shop.poll()
        for row in shop.system.rows("documents"):
            row["last_viewed"] += 1
        assert shop.poll(1).upserts == []


def test_settings_that_are_missing_or_unknown_are_told(tmp_path: Path) -> None:
    with account("hr", tmp_path, company="17") as shop:
        shop.config = RestConfig(definition="hr", base_url=shop.system.url, allow_private=True)
        with pytest.raises(ConfigError, match="the setting 'company' is missing"):
            shop.poll()
        shop.config = RestConfig(definition="hr", settings={"company": "1", "compnay": "1"})
        with pytest.raises(ConfigError, match="no setting 'compnay'"):
            shop.poll()


@pytest.mark.parametrize("tenant", ["", "evil.example/", "a@b", "a.b", "a:b", "a?b", "é"])
def test_a_setting_cannot_make_the_address_another_hosts(tenant: str, tmp_path: Path) -> None:
    with account("crm", tmp_path, tenant="acme") as shop:
        shop.config = RestConfig(definition="crm", settings={"tenant": tenant})
        with pytest.raises(ConfigError, match="cannot stand in an address"):
            shop.poll()


def test_a_definition_is_found_by_its_name_or_its_path(tmp_path: Path) -> None:
    def discover(hint: str) -> dict[str, Any]:
        return asyncio.run(Rest().discover(hint, context_for()))

    assert discover("erp") == {"definition": "erp"}
    path = tmp_path / "mine.yaml"
    path.write_text(
        "kind: rest\nname: x\nbase_url: https://x.example\nstreams: [{name: s, path: /s, records: r, id: id}]\n"
    )
    assert discover(f" {path} ") == {"definition": str(path)}
    with pytest.raises(AuthError, match="crm"):
        discover("crn")
    path.write_text("kind: rest\n")
    with pytest.raises(ConfigError, match=r"mine\.yaml:1:1: 'name' is missing"):
        discover(str(path))
