"""The clock is durable and the owner's: a stop misses what its rule says, and DST moves no local day."""

import asyncio
from collections import Counter
from datetime import date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from schemas.clock import at_local
from schemas.event import Event
from streams import topics
from streams.codec import decode

RULE = """
  - id: missed-{name}
    title: What is done about a missed timer
    when: {{kind: mail.received, match: {{fact.invoice.paid: false}}}}
    deadline: {{at: fact.due, lead: [4d, 3d, 2d], on_missed: {mode}}}
    key: subject
    propose: {{title: "{mode} {{{{ fact.invoice.number }}}}", goal: "Pay it."}}
    examples:
      fires:
        - until: +40d
          events: [{{kind: mail.received, facts: {{invoice: {{number: "1", paid: false}}, due: +30d}}}}]
      silent: [{{events: [{{kind: mail.received}}]}}]
"""


def write_rules(house: Any) -> None:
    folder = house.root / "home" / "rules"
    folder.mkdir(parents=True)
    text = "rules:" + "".join(
        RULE.format(mode=mode, name=mode.replace("_", "-")) for mode in ("fire_once", "fire_each", "skip")
    )
    (folder / "missed.yaml").write_text(text)


async def events(house: Any) -> list[Event]:
    found = await house.service.log.read(topics.EVENTS, 0, 0, 100_000)
    return [decode(Event, entry.value) for entry in found]


def test_after_a_stop_of_three_days_every_missed_timer_does_what_its_rule_says(house: Any) -> None:
    due = date(2026, 3, 16)  # the three leads are on the 12th, 13th and 14th, at nine

    async def scenario() -> None:
        write_rules(house)
        async with house.open():
            house.receive_invoice("4711", due)
            await house.pass_time(house.at(9, 18))
            assert not any(state.trigger.rule.startswith("missed") for state in house.proposals())
        async with house.open():
            house.clock.advance_to(house.at(12, 18))
            await house.pass_time(house.clock.now())
            fired = Counter(
                state.trigger.rule for state in house.proposals() if state.trigger.rule.startswith("missed")
            )
            triggers = [entry.value for entry in await house.service.log.read(topics.TRIGGERS, 0, 0, 1000)]
            each = [t for t in triggers if b'"type":"trigger"' in t and b'"rule":"missed-fire-each"' in t]
            once = [t for t in triggers if b'"type":"trigger"' in t and b'"rule":"missed-fire-once"' in t]
            skipped = [t for t in triggers if b'"reason":"missed_skip"' in t and b'"rule":"missed-skip"' in t]
            assert (len(each), len(once), len(skipped)) == (3, 1, 3)
            assert all(b'"late":true' in trigger for trigger in [*each, *once])
            assert fired["missed-skip"] == 0
            days = [e.version for e in await events(house) if e.kind == "clock.day"]
            assert days == [str(date(2026, 3, 2) + timedelta(days=n)) for n in range(13)]

    asyncio.run(scenario())


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe"])
@pytest.mark.parametrize("change", [date(2026, 3, 8), date(2026, 3, 29), date(2026, 4, 5)])
def test_reminders_come_on_the_right_local_day_at_nine_over_dst(house: Any, zone: str, change: date) -> None:
    """The due day is the day after a DST change somewhere: the leads fall on both sides of it."""
    house.zone = zone
    due = change + timedelta(days=1)

    async def scenario() -> None:
        async with house.open():
            first = change - timedelta(days=6)
            house.clock.advance_to(at_local(first, datetime.min.time().replace(hour=7), ZoneInfo(zone)))
            house.receive_invoice("4711", due)
            await house.pass_time(at_local(due, datetime.min.time().replace(hour=12), ZoneInfo(zone)))
            (state,) = [s for s in house.proposals() if s.trigger.rule == "invoice-unpaid"]
            offered = state.created_at.astimezone(ZoneInfo(zone))
            assert (offered.date(), offered.hour, offered.minute) == (due - timedelta(days=5), 9, 0)
            latest = state.trigger.fired_at.astimezone(ZoneInfo(zone))
            assert (latest.date(), latest.hour, latest.minute) == (due - timedelta(days=1), 9, 0)
            midnights = [e.observed_at.astimezone(ZoneInfo(zone)) for e in await events(house) if e.kind == "clock.day"]
            assert all((m.hour, m.minute) == (0, 0) for m in midnights[1:])
            assert len({m.date() for m in midnights}) == len(midnights)

    asyncio.run(scenario())
