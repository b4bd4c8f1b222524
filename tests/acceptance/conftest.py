"""A household of one invoice on a simulated clock, on each broker."""

import random
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from actions.proposal.state import ProposalState
from forewatch.play import Player, Span, last_instant
from forewatch.settings import Settings
from forewatch.testing import effects
from forewatch.wiring import Service, build, open_settings_log
from schemas import ids
from schemas.account import AccountState
from schemas.clock import ManualClock, at_local
from schemas.command import Command
from schemas.journal import JournalEntry
from streams import topics
from streams.codec import encode
from streams.work import Output
from tests.peers.brokers import own_prefix

START = date(2026, 3, 2)

INVOICE = """\
From: ACME Energy <billing@acme.example>
To: nora@household.example
Date: Mon, 02 Mar 2026 06:00:00 +0100
Message-ID: <invoice-{number}@acme.example>
Subject: Invoice {number}
Content-Type: text/plain; charset=utf-8

Dear customer,

please find below your invoice no. {number}.
Amount due: 49.90 EUR
Please pay by {due}.

ACME Energy
"""

STATEMENT = """\
OFXHEADER:100
DATA:OFXSGML
VERSION:102
SECURITY:NONE
ENCODING:UTF-8
CHARSET:NONE
COMPRESSION:NONE
OLDFILEUID:NONE
NEWFILEUID:NONE

<OFX><BANKMSGSRSV1><STMTTRNRS><TRNUID>1<STATUS><CODE>0<SEVERITY>INFO</STATUS><STMTRS><CURDEF>EUR
<BANKACCTFROM><BANKID>1<ACCTID>DE02120300000000202051<ACCTTYPE>CHECKING</BANKACCTFROM>
<BANKTRANLIST><DTSTART>{day}<DTEND>{day}
<STMTTRN><TRNTYPE>DEBIT<DTPOSTED>{day}<TRNAMT>-49.90<FITID>{fitid}<NAME>ACME Energy<MEMO>Invoice {number}</STMTTRN>
</BANKTRANLIST><LEDGERBAL><BALAMT>100.00<DTASOF>{day}</LEDGERBAL></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>
"""


@dataclass
class House:
    """What is on disk, and the service that watches it. ``open`` starts the service where the log stands."""

    root: Path
    broker: str
    prefix: str
    zone: str = "Europe/Berlin"
    clock: ManualClock = field(init=False)
    service: Service = field(init=False)

    def __post_init__(self) -> None:
        for part in ("mail/cur", "mail/new", "mail/tmp", "bank"):
            (self.root / part).mkdir(parents=True, exist_ok=True)

    @property
    def settings(self) -> Settings:
        return Settings(
            home=self.root / "home",
            timezone=self.zone,
            broker=self.broker,
            topic_prefix=self.prefix,
            poll_concurrency=1,
            interruptions_per_day=10,
        )

    def at(self, day: int, hour: int = 12) -> datetime:
        """Noon, by default, of the n-th local day."""
        return at_local(START + timedelta(days=day), datetime.min.time().replace(hour=hour), ZoneInfo(self.zone))

    def receive_invoice(self, number: str, due: date) -> None:
        text = INVOICE.format(number=number, due=f"{due:%-d %B %Y}")
        (self.root / "mail" / "new" / f"{number}.host").write_text(text)

    def receive_statement(self, number: str, day: date) -> None:
        text = STATEMENT.format(day=f"{day:%Y%m%d}", number=number, fitid=f"F{number}")
        (self.root / "bank" / f"{day}.ofx").write_text(text)

    @asynccontextmanager
    async def open(self) -> AsyncIterator["House"]:
        log = await open_settings_log(self.settings)
        self.clock = ManualClock(max(filter(None, (await last_instant(log), self.at(0, 7)))))
        await log.close()
        self.service = await build(self.settings, self.clock, random.Random(1))
        try:
            await self.service.start()
            await self._connect()
            yield self
        finally:
            await self.service.stop()

    async def _connect(self) -> None:
        await self.service.accounts.refresh()
        for name, connector in (("mail", "maildir"), ("bank", "bankfile")):
            if self.service.accounts.get(name) is None:
                account = AccountState(
                    id=name, owner="me", connector=connector, config={"path": str(self.root / name)},
                    created_at=self.at(0, 7),
                )  # fmt: skip
                await self.service.log.append([self.service.accounts.output(account)])

    def player(self) -> Player:
        span = Span(START, START + timedelta(days=60), ZoneInfo(self.zone))
        return Player(self.service, self.clock, span, arrive=lambda until: None)

    async def pass_time(self, until: datetime) -> None:
        """Poll, then let everything happen that is due by then."""
        player = self.player()
        await player.poll()
        await player.pass_time(until)

    async def say(self, verb: str, proposal: str, digest: str = "", nonce: str = "", **args: Any) -> list[JournalEntry]:
        """A person's command, and what it led to."""
        command = Command.model_validate(
            {"id": ids.command_id(proposal, verb, f"{self.clock.now()}{nonce}"), "owner": "me", "who": "nora"}
            | {"channel": "test", "verb": verb, "proposal": proposal, "digest": digest, "args": args}
            | {"at": self.clock.now()}
        )
        answer = self.service.act.answered(command.id)
        await self.service.log.append([Output(topics.COMMANDS, b"me", encode(command))])
        return await answer

    async def approve(self, state: ProposalState) -> None:
        """Approve the plan, and confirm each step that asks by itself, with what it shows."""
        await self.say("approve", state.id, state.digest)
        await self.player().pass_time(self.clock.now())
        for step in list(state.steps.values()):
            if step.gate is not None:
                await self.say("confirm", state.id, step.gate.digest, nonce=step.uid, step=step.uid)

    def proposals(self) -> list[ProposalState]:
        return [state for book in self.service.act.books() for state in book.proposals.values()]

    def the_proposal(self) -> ProposalState:
        (state,) = self.proposals()
        return state

    def effects(self) -> dict[str, str]:
        return effects(self.settings.home)


@pytest.fixture(params=["embedded", pytest.param("kafka", marks=pytest.mark.kafka)])
def house(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[House]:
    if request.param == "embedded":
        yield House(tmp_path, "", "fw")
        return
    server = request.getfixturevalue("kafka_server")
    with own_prefix(server) as prefix:
        yield House(tmp_path, f"kafka://{server}?session_timeout_s=10", prefix)
