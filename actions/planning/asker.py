"""Asker: asks the model for the proposals that wait for a plan, each request between its durable reservation and its
durable end. It keeps nothing: a new one goes on where the old one died."""

from __future__ import annotations

import logging
from dataclasses import asdict
from datetime import datetime

from actions.journal import Draft, JournalPort
from actions.planning.ask import Answer, Failure, Model, Outcome, Request
from actions.planning.brief import Brief
from actions.planning.ledger import LedgerMeter
from actions.planning.process import Asking, Later, next_move
from actions.planning.steps import Occasion
from actions.proposal.book import Book
from actions.proposal.state import ProposalState
from actions.setup import Setup
from schemas.clock import Clock
from schemas.errors import Fenced
from schemas.model import Json

log = logging.getLogger(__name__)

PLANNER = "planner"


class Asker:
    """Of one owner. ``advance`` may take minutes; cancelled, it leaves a reservation that counts as spent."""

    def __init__(self, port: JournalPort, book: Book, setup: Setup, model: Model, clock: Clock) -> None:
        self._port = port
        self._book = book
        self._setup = setup
        self._model = model
        self._clock = clock

    async def advance(self, proposal: str) -> datetime | None:
        """Ask until there is something to offer, or nothing to be had before some instant, which is returned. What is
        offered is for ``decide`` to say."""
        while (state := self._book.proposals.get(proposal)) is not None and state.planning is not None:
            if self._book.experience.stopped:
                return None
            move = next_move(state.planning, occasion(state, self._book), state.slots, self._clock.now(), self._setup)
            if isinstance(move, Later):
                return move.until
            if not isinstance(move, Asking):
                return None
            await self._ask(state, state.planning.id, move)
        return None

    async def _ask(self, state: ProposalState, planning: str, asking: Asking) -> None:
        meter = JournalMeter(self._port, self._book, self._setup, self._clock, state.id, planning, asking.brief)
        outcome = await self._outcome(asking, meter)
        if isinstance(outcome, Failure) and outcome.code != "stopped":
            retry_at = outcome.retry_at.isoformat() if outcome.retry_at else None
            body: dict[str, Json] = {"planning": planning, "code": outcome.code, "status": outcome.status}
            body |= {"round": asking.round, "retry_at": retry_at}
            await self._port.append([Draft(state.id, "model.failed", self._clock.now(), PLANNER, planning, body)])

    async def _outcome(self, asking: Asking, meter: JournalMeter) -> Outcome:
        try:
            return await self._model.ask(asking.messages, asking.form, asking.limits, meter)
        except Fenced:
            raise
        except Exception:  # the border to a model: its bugs must not stop what works without it (law L1)
            log.exception("asking the model broke")
            return Failure("broken")


def occasion(state: ProposalState, book: Book) -> Occasion:
    """What the plan is made for, at the instant when its planning began."""
    assert state.planning is not None
    return Occasion(state.trigger, state.id, state.version + 1, state.planning.since, book.memory)


class JournalMeter(LedgerMeter):
    """Of one planning of a proposal; the brief says what was withheld and what was recalled."""

    def __init__(
        self, port: JournalPort, book: Book, setup: Setup, clock: Clock, proposal: str, planning: str, brief: Brief
    ) -> None:
        super().__init__(port, book, setup, clock, proposal, PLANNER, planning)
        self._brief = brief

    def told(self, request: Request) -> dict[str, Json]:
        return {
            "withheld": [dict(asdict(item)) for item in self._brief.withheld],
            "memories": [memory.id for memory in self._brief.remembered.memories],
        }

    def kept(self, answer: Answer) -> Json:
        return answer.json
