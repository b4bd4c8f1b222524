"""An approval is bound to what was seen, counts once and in time, and ends when the source withdraws the matter."""

import asyncio
from datetime import date, timedelta
from typing import Any

DUE = date(2026, 3, 16)
"""The invoice's day; the first reminder comes five days before, at nine."""


async def offered(house: Any) -> Any:
    house.receive_invoice("4711", DUE)
    await house.pass_time(house.at(10))
    state = house.the_proposal()
    assert state.phase == "offered"
    assert state.trigger.rule == "invoice-unpaid"
    return state


def refusal(entries: list[Any]) -> str:
    (entry,) = [entry for entry in entries if entry.type == "command.refused"]
    return str(entry.body["code"])


def test_an_approved_plan_is_carried_out_and_seen(house: Any) -> None:
    async def scenario() -> None:
        async with house.open():
            state = await offered(house)
            await house.approve(state)
            await house.pass_time(house.at(14))
            assert state.phase == "done"
            assert {step.phase for step in state.steps.values()} == {"ok"}
            assert all(step.receipt for step in state.steps.values() if step.uid != state.plan.step("s3").uid)
            kinds = sorted({name.split("/")[0] for name in house.effects()})
            assert kinds == ["calendar.ics", "documents", "outbox"]

    asyncio.run(scenario())


def test_an_amount_from_outside_text_asks_once_more_with_its_source(house: Any) -> None:
    async def scenario() -> None:
        async with house.open():
            state = await offered(house)
            await house.say("approve", state.id, state.digest)
            await house.pass_time(house.at(14))
            gate = state.step("s1").gate
            assert "comes from outside text" in gate.reasons[0]
            assert house.effects() == {}
            assert refusal(await house.say("confirm", state.id, state.digest, step="s1"))
            assert house.effects() == {}

    asyncio.run(scenario())


def test_nothing_is_done_without_an_answer(house: Any) -> None:
    async def scenario() -> None:
        async with house.open():
            await offered(house)
            await house.pass_time(house.at(20))
            assert house.effects() == {}
            assert all(state.phase in ("expired", "offered") for state in house.proposals())

    asyncio.run(scenario())


def test_an_approval_of_what_was_changed_since_is_refused(house: Any) -> None:
    async def scenario() -> None:
        async with house.open():
            state = await offered(house)
            seen = state.digest
            await house.say("edit", state.id, seen, step="s2", args={"day": "2026-03-12"})
            assert state.digest != seen
            assert refusal(await house.say("approve", state.id, seen)) == "stale"
            await house.pass_time(house.at(14))
            assert house.effects() == {}

    asyncio.run(scenario())


def test_a_second_answer_is_refused(house: Any) -> None:
    async def scenario() -> None:
        async with house.open():
            state = await offered(house)
            await house.say("approve", state.id, state.digest)
            assert refusal(await house.say("approve", state.id, state.digest, nonce="2"))
            assert refusal(await house.say("reject", state.id, nonce="3"))
            grants = [grant.grant.id for grant in state.grants.values()]
            assert len(grants) == len(set(grants))

    asyncio.run(scenario())


def test_two_channels_at_once_have_one_winner(house: Any) -> None:
    async def scenario() -> None:
        async with house.open():
            state = await offered(house)
            answers = await asyncio.gather(
                house.say("approve", state.id, state.digest), house.say("reject", state.id, nonce="other")
            )
            refused = [entries for entries in answers if entries[0].type == "command.refused"]
            assert len(refused) == 1

    asyncio.run(scenario())


def test_an_answer_that_comes_too_late_asks_again(house: Any) -> None:
    async def scenario() -> None:
        async with house.open():
            state = await offered(house)
            seen = state.digest
            await house.pass_time(house.at(50))
            assert state.phase == "expired"
            entries = await house.say("approve", state.id, seen)
            assert refusal(entries) == "expired"
            assert house.effects() == {}
            assert state.phase in ("offered", "expired")

    asyncio.run(scenario())


def test_a_grant_that_expired_before_it_was_used_asks_again(house: Any) -> None:
    """Approved, then the machine was off for three days."""

    async def scenario() -> None:
        async with house.open():
            state = await offered(house)
            command = asyncio.ensure_future(house.say("approve", state.id, state.digest))
            await command
        async with house.open():
            house.clock.advance_to(house.clock.now() + timedelta(days=3))
            await house.pass_time(house.clock.now() + timedelta(hours=1))
            (state,) = [s for s in house.proposals() if s.approval]
            assert house.effects() == {}
            assert [step.gate.reasons for step in state.steps.values() if step.gate]

    asyncio.run(scenario())


def test_a_payment_that_is_seen_stops_the_run_before_its_next_effect(house: Any) -> None:
    async def scenario() -> None:
        async with house.open():
            state = await offered(house)
            await house.approve(state)
            await house.pass_time(house.at(11))
            assert state.phase == "running"
            before = house.effects()
            house.receive_statement("4711", date(2026, 3, 12))
            await house.pass_time(house.at(30))
            assert state.phase == "stopped"
            assert before
            assert not any(name.startswith("outbox") for name in house.effects())
            assert house.effects() == before

    asyncio.run(scenario())


def test_a_run_that_is_paused_does_nothing_over_a_restart_until_it_is_resumed(house: Any) -> None:
    async def scenario() -> None:
        async with house.open():
            state = await offered(house)
            await house.approve(state)
            await house.pass_time(house.clock.now() + timedelta(minutes=1))
            before = house.effects()
            assert before
            await house.say("pause", state.id, state.digest)
        async with house.open():
            await house.pass_time(house.at(30))
            (state,) = [s for s in house.proposals() if s.paused_at]
            assert state.phase == "running"
            assert house.effects() == before
            await house.say("resume", state.id, state.digest)
            assert state.paused_at is None

    asyncio.run(scenario())


def test_a_payment_that_is_seen_closes_an_open_proposal(house: Any) -> None:
    async def scenario() -> None:
        async with house.open():
            state = await offered(house)
            house.receive_statement("4711", date(2026, 3, 12))
            await house.pass_time(house.at(13))
            assert state.phase == "retracted"
            assert refusal(await house.say("approve", state.id, state.digest))
            assert house.effects() == {}

    asyncio.run(scenario())


def test_an_overdue_bill_stays_open_until_it_is_paid(house: Any) -> None:
    async def scenario() -> None:
        async with house.open():
            state = await offered(house)
            await house.pass_time(house.at(20))
            assert state.phase == "offered"
            house.receive_statement("4711", date(2026, 3, 23))
            await house.pass_time(house.at(22))
            assert state.phase == "retracted"

    asyncio.run(scenario())


def test_a_restart_in_the_middle_of_a_run_does_nothing_twice(house: Any) -> None:
    async def scenario() -> None:
        async with house.open():
            state = await offered(house)
            await house.approve(state)
            await house.pass_time(house.at(11))
            before = house.effects()
            assert before
        async with house.open():
            await house.pass_time(house.at(11, 13))
            assert house.effects() == before
            await house.pass_time(house.at(14))
            assert house.the_proposal().phase == "done"

    asyncio.run(scenario())
