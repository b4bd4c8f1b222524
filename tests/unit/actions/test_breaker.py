"""A destination that does not answer is left alone by all runs, tried again by one; a run's own tries are bounded."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from zoneinfo import ZoneInfo

from actions.policy import audit
from actions.proposal.state import ProposalState
from actions.run import breaker
from actions.settings import ActSettings
from actions.testing.bank import BankTool, Behaviour
from actions.testing.household import OWNER, START, Household, plain_executor, trigger
from forewatch.cards import entry_line
from schemas.journal import JournalEntry
from schemas.value import Value

PAY = {"payee": {"slot": "payee"}, "amount": {"slot": "amount"}}
BERLIN = ZoneInfo("Europe/Berlin")
ONE_STEP = [{"id": "s1", "tool": "post.send", "args": PAY}]


class Town(Household):
    """Several runs of one owner over one journal; each look at it is by a process that has just started."""

    runs = 3

    async def pass_time(self, until: timedelta) -> None:
        """Whatever is due by then happens, run by run, and the person answers everything."""
        end = START + until
        while True:
            journal = self.log.open(OWNER)
            if not journal.book.proposals:
                for number in range(self.runs):
                    await self.say(journal, trigger(number, id=f"t{number}", key=f"acme-{number}"))
            whens = []
            for state in list(journal.book.proposals.values()):
                self.proposal = state.id
                while command := self.answer(state):
                    await self.say(journal, command)
                whens.append(await plain_executor(journal, self.setup, self.clock).advance(state.id))
            due = [when for when in whens if when is not None]
            if any(self.answer(state) for state in journal.book.proposals.values()):
                continue
            if not due or min(due) > end:
                self.clock.advance_to(end)
                return
            self.clock.advance_to(min(due))

    def states(self) -> list[ProposalState]:
        return list(self.log.open(OWNER).book.proposals.values())

    def entries(self, type_: str) -> list[JournalEntry]:
        return [entry for entry in self.log.entries if entry.type == type_]


def town(*script: Behaviour) -> tuple[Town, BankTool]:
    house = Town("reconcile", "small", {"post.send": script}, steps=ONE_STEP)
    return house, house.tools["post.send"]


def test_after_five_calls_in_vain_every_run_waits_and_says_why() -> None:
    house, post = town(*["not_sent"] * 50)
    asyncio.run(house.pass_time(timedelta(seconds=50)))
    assert len(post.calls) == 5
    told = breaker.told(house.states(), BERLIN)
    assert len(told) == 3
    (says,) = set(told.values())
    assert says == "post.send: no answer since 2025-03-03 10:00, tried 5 times; 3 runs wait for it"
    waits = [breaker.says(entry, BERLIN) for entry in house.entries("step.deferred")]
    assert len(waits) == 3, "each run says it once"
    (opened,) = (breaker.says(entry, BERLIN) for entry in house.entries("breaker.opened"))
    for line in (waits[0], opened):
        assert line.startswith("post.send: no answer since 2025-03-03 10:00, tried 5 times; waits until 2025-03-03 10:")


def test_an_entry_of_before_says_what_it_said() -> None:
    house, _ = town(*["not_sent"] * 50)
    asyncio.run(house.pass_time(timedelta(seconds=50)))
    entry = house.entries("step.deferred")[0]
    says = "post.send: no answer since 2025-03-03 09:00 UTC, tried 5 times; waits until 2025-03-03 09:01 UTC"
    assert entry_line(entry.model_copy(update={"body": {**entry.body, "says": says}}), BERLIN) == says
    assert entry_line(entry, BERLIN) == breaker.says(entry, BERLIN) != ""


def test_one_call_tries_again_after_pauses_that_double_and_an_answer_lets_all_go_on() -> None:
    house, post = town(*["not_sent"] * 7)
    asyncio.run(house.pass_time(timedelta(hours=2)))
    assert [state.phase for state in house.states()] == ["done"] * 3
    assert len(post.calls) == 7 + 3
    opened = house.entries("breaker.opened")
    assert [entry.body["failures"] for entry in opened] == [5, 6, 7]
    untils = [START.fromisoformat(str(entry.body["until"])) for entry in opened]
    pauses = [until - entry.at for until, entry in zip(untils, opened, strict=True)]
    assert pauses == [timedelta(minutes=1), timedelta(minutes=2), timedelta(minutes=4)]
    sent = [entry.at for entry in house.entries("step.intent")]
    for entry, until in zip(opened, untils, strict=True):
        assert not [at for at in sent if entry.at < at < until]
    (closed,) = house.entries("breaker.closed")
    assert closed.body["says"] == "post.send: it answers again"
    assert breaker.told(house.states(), BERLIN) == {}
    assert audit.verify(house.log.entries) == []


def test_a_server_that_says_no_does_answer() -> None:
    house, post = town("not_sent", "not_sent", "no", "not_sent", "not_sent", "not_sent", "not_sent")
    asyncio.run(house.pass_time(timedelta(hours=2)))
    assert house.entries("breaker.opened") == []
    assert sorted(state.phase for state in house.states()) == ["done", "done", "failed"]
    assert len(post.calls) == 9


def test_one_that_says_when_to_come_back_is_left_alone_until_then() -> None:
    house, post = town(*["rate"] * 5)
    asyncio.run(house.pass_time(timedelta(hours=2)))
    assert len(house.entries("breaker.opened")) == 1
    assert len(post.calls) == 5 + 3


def test_an_outage_of_one_destination_holds_up_no_other() -> None:
    def to(host: str) -> dict[str, Value]:
        return {"url": Value(v=f"https://{host}/form", type="Url"), "account": Value(v="mail-1", type="AccountId")}

    assert breaker.place("web.submit", to("a.example")) == "web.submit a.example mail-1"
    assert breaker.place("web.submit", to("a.example")) != breaker.place("web.submit", to("b.example"))
    assert breaker.place("mail.send", {"to": Value(v="ann@a.example", type="Email")}) == "mail.send"


def steps_side_by_side() -> list[dict[str, object]]:
    return [
        {"id": f"s{n}", "tool": tool, "args": PAY} for n, tool in enumerate(("bank.pay", "post.send", "desk.file"), 1)
    ]


def test_a_run_does_not_try_for_ever_though_each_of_its_steps_might() -> None:
    down: dict[str, list[Behaviour]] = {tool: ["not_sent"] * 4 for tool in ("bank.pay", "post.send", "desk.file")}
    settings = ActSettings(retries_per_run=4)
    house = Household("keyed", "small", down, steps=steps_side_by_side(), settings=settings)
    asyncio.run(house.live())
    assert (house.state.phase, house.state.reason) == ("failed", "retries")
    assert "the run has tried again 4 times in all; at last: connection refused" in house.state.says
    assert sum(len(tool.calls) for tool in house.tools.values()) == 3 + 4


def test_what_goes_well_gives_a_try_back() -> None:
    down: dict[str, list[Behaviour]] = {tool: ["not_sent"] for tool in ("bank.pay", "post.send", "desk.file")}
    steps = [step | {"after": [f"s{n}"] if n else []} for n, step in enumerate(steps_side_by_side())]
    house = Household("keyed", "small", down, steps=steps, settings=ActSettings(retries_per_run=1))
    asyncio.run(house.live())
    assert (house.state.phase, house.state.retries) == ("done", 0)
