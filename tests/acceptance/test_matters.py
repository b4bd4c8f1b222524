"""One matter through the whole pipeline: a bill, its reminder, an entry in the calendar, the debit; one proposal."""

import asyncio
from datetime import date
from typing import Any

from actions.proposal import render
from forewatch.matters import known, output, told
from schemas.account import AccountState

DUE = date(2026, 3, 16)
REMINDER = """\
From: ACME Energy Care <care@acme.example>
To: nora@household.example
Date: Wed, 11 Mar 2026 06:00:00 +0100
Message-ID: <reminder@acme.example>
References: <invoice-4711@acme.example>
In-Reply-To: <invoice-4711@acme.example>
Subject: A friendly reminder
Content-Type: text/plain; charset=utf-8

Dear customer,

we have not heard from you yet. Please pay by 16 March 2026.

ACME Energy
"""
CALENDAR = """\
BEGIN:VCALENDAR
VERSION:2.0
PRODID:-//test//EN
BEGIN:VEVENT
UID:pay-acme@home
DTSTAMP:20260311T060000Z
DTSTART;VALUE=DATE:20260316
SUMMARY:Transfer to ACME 4711
END:VEVENT
END:VCALENDAR
"""
ENTRY_RULE = """\
rules:
  - id: entry-to-pay
    title: An entry to pay
    when: {kind: calendar.scheduled, match: {title: {words: [transfer]}}}
    unless: {kind: bank.posted, where: matter == trigger.matter, within: 60d}
    propose: {title: "{{ title }}", playbook: prepare-deadline}
"""


async def add_calendar(house: Any) -> None:
    file = house.root / "home.ics"
    file.write_text(CALENDAR)
    account = AccountState(
        id="diary", owner="me", connector="ics", config={"path": str(file)}, created_at=house.clock.now()
    )
    await house.service.log.append([house.service.accounts.output(account)])


def a_rule_for_entries(house: Any) -> None:
    place = house.root / "home" / "rules"
    place.mkdir(parents=True)
    (place / "entries.yaml").write_text(ENTRY_RULE)


async def open_matter(house: Any) -> Any:
    """Bill, reminder and entry are there, and each has its rule."""
    house.receive_invoice("4711", DUE)
    await house.pass_time(house.at(9))
    (house.root / "mail" / "new" / "reminder.host").write_text(REMINDER)
    await add_calendar(house)
    await house.pass_time(house.at(12))
    return house.the_proposal()


def test_everything_about_one_bill_is_one_proposal_that_the_payment_closes(house: Any) -> None:
    async def scenario() -> None:
        a_rule_for_entries(house)
        async with house.open():
            state = await open_matter(house)
            view = render.proposal(state, house.service.setup)
            assert view.rule == "invoice-unpaid"
            assert {other.rule for other in view.also} == {"due-soon", "entry-to-pay"}
            assert {item.kind for item in view.evidence} == {"mail.received", "calendar.scheduled"}
        async with house.open():  # a restart changes nothing
            house.receive_statement("4711", date(2026, 3, 14))
            await house.pass_time(house.at(13))
            state = house.the_proposal()
            assert (state.phase, state.says) == ("retracted", "Paid: ACME Energy.")
            assert {reason.code for reason in state.reasons.values()} == {"unless", "paid"}
            await house.pass_time(house.at(40))
            assert len(house.proposals()) == 1
            assert house.effects() == {}

    asyncio.run(scenario())


def test_what_the_person_parts_is_two_proposals_and_the_payment_closes_its_own(house: Any) -> None:
    async def scenario() -> None:
        a_rule_for_entries(house)
        async with house.open():
            await open_matter(house)
            ((matter,), _) = await known(house.service.log, "me")
            bill, entry = (
                next(thing.event for thing in matter.things if thing.kind == kind)
                for kind in ("mail.received", "calendar.scheduled")
            )
            word = await told(house.service.log, "me", (bill, entry), "matter.split", house.clock.now())
            await house.service.log.append([output(word)])
            house.receive_statement("4711", date(2026, 3, 14))
            await house.pass_time(house.at(14))
            found = {matter.name for matter in (await known(house.service.log, "me"))[0]}
            assert found == {"invoice:acme.example:4711"}
            assert len((await known(house.service.log, "me"))[1].things("calendar:pay-acme@home")) == 1

    asyncio.run(scenario())
