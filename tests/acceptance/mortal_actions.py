"""A run in processes that die by kill -9 between an intent and its result; prints what the bank says of it, as JSON.

    python mortal_actions.py FOLDER keyed|reconcile|at_most_once KILLS [MUTANT]

One process is the bank; it can kill the process that calls it, before or after it has paid. Each case is a journal of
its own, a life that is killed, and as many lives as it takes until the run has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socketserver
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from random import Random
from typing import Any

from actions.journal import Draft
from actions.planning.playbook import Playbook
from actions.policy import audit
from actions.proposal.propose import Input, decide
from actions.proposal.state import ProposalState
from actions.run.executor import Executor
from actions.run.move import Send
from actions.setup import Setup
from actions.testing.bank import manifest
from actions.testing.household import OWNER, playbook, trigger
from actions.testing.sqlite import SqliteJournal
from actions.tools.tool import Args, Manifest, Receipt, Registry
from schemas import ids
from schemas.clock import SystemClock
from schemas.command import Command, Verb
from schemas.errors import NotSent, OutcomeUnknown
from schemas.model import Json
from schemas.plan import EffectClass, Retry

KINDS = ("after intent", "before call", "on arrival", "after payment", "before result")
"""Where the first life ends: all of them lie between the intent and the result."""
TRAVEL_S, TIMEOUT_S, SETTLE_S = 0.05, 0.4, 0.5


class Teller(socketserver.StreamRequestHandler):
    """One request to the bank. Its rows outlive everybody who asks."""

    rows: list[dict[str, Any]] = []

    def handle(self) -> None:
        asked = json.loads(self.rfile.readline())
        if asked["ask"] == "find":
            found = [row for row in self.rows if row["key"].startswith(asked["key"])]
            self.wfile.write(json.dumps(found).encode() + b"\n")
            return
        if asked["kill"] == "on arrival":
            os.kill(asked["pid"], signal.SIGKILL)
            time.sleep(TRAVEL_S)  # the request lands when its sender is dead and its successor perhaps alive
        if not (asked["keyed"] and any(row["key"] == asked["key"] for row in self.rows)):
            self.rows.append({"key": asked["key"], "args": asked["args"]})
        if asked["kill"] == "after payment":
            os.kill(asked["pid"], signal.SIGKILL)
        else:
            with contextlib.suppress(BrokenPipeError):
                self.wfile.write(b"{}\n")


class Server(socketserver.ThreadingUnixStreamServer):
    daemon_threads = True


class DistantBank:
    """The payment tool, over a socket; ``kill`` is where this life ends."""

    def __init__(self, made: Manifest, place: str, kill: str) -> None:
        self.manifest = made
        self._place = place
        self._kill = kill

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        if self._kill == "before call":
            die()
        keyed = self.manifest.effect_class == "keyed"
        await self.ask({"ask": "pay", "key": key, "args": args, "keyed": keyed, "kill": self._kill, "pid": os.getpid()})
        if self._kill == "before result":
            die()
        return {"payment_id": key}

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        return {"payment_id": key} if await self.found(key) else None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        return Receipt(what="seen by the bank") if await self.found(key) else None

    async def found(self, key: str) -> list[Any]:
        return list(await self.ask({"ask": "find", "key": key}))

    async def ask(self, question: dict[str, Any]) -> Any:
        try:
            reader, writer = await asyncio.open_unix_connection(self._place)
        except OSError as error:
            raise NotSent("no bank") from error
        try:
            writer.write(json.dumps(question).encode() + b"\n")
            answer = await reader.readline()
        except OSError as error:
            raise OutcomeUnknown("connection lost") from error
        finally:
            writer.close()
        if not answer:
            raise OutcomeUnknown("connection lost")
        return json.loads(answer)


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class NoIntent(Executor):
    """A mutant that writes down only what it did."""

    async def _send(self, state: ProposalState, send: Send) -> None:
        live, tool = state.steps[send.step.uid], self._setup.tools.tool(send.step.tool)
        assert tool is not None
        live.key, live.args, live.attempts = str(self._intent(state, send).body["key"]), send.args, send.attempt
        answer = await self._call(tool, send, live)
        await self._port.append([self._result(state, send, answer)])


class KeyPerAttempt(Executor):
    """A mutant that makes a new key for each attempt."""

    def _intent(self, state: ProposalState, send: Send) -> Draft:
        draft = super()._intent(state, send)
        draft.body["key"] = f"{draft.body['key']}/{send.attempt}"
        return draft


MUTANTS: dict[str, type[Executor]] = {"no_intent": NoIntent, "key_per_attempt": KeyPerAttempt, "": Executor}


class Life:
    """One process: opens the journal, goes on where it ends, until the run has ended or it is killed."""

    def __init__(self, file: Path, number: int, place: str, made: Manifest, kill: str, mutant: str) -> None:
        def point(name: str) -> None:
            if kill == "after intent" and name == "after append step.intent":
                die()

        self.journal = SqliteJournal(file, OWNER, point)
        self.fired = trigger(number, fired_at=datetime.now(UTC), deadline_at=None)
        self.bank = DistantBank(made, place, kill)
        books: dict[str, Playbook] = {"pay": playbook("small")}
        self.setup = Setup(books, Registry([self.bank]))
        self.clock = SystemClock()
        self.executor = MUTANTS[mutant](self.journal, self.journal.book, self.setup, self.clock, Random(os.getpid()))

    async def live(self) -> None:
        await self.say(self.fired)
        (state,) = self.journal.book.proposals.values()
        while state.phase not in ("done", "failed", "stopped"):
            command = await self.answer(state)
            if command:
                await self.say(command)
            when = await self.executor.advance(state.id)
            await asyncio.sleep(max(0.0, (when - self.clock.now()).total_seconds()) if when else 0)

    async def say(self, said: Input) -> None:
        drafts = decide(self.journal.book, said, self.clock.now(), self.setup)
        if drafts:
            await self.journal.append(drafts)

    async def answer(self, state: ProposalState) -> Command | None:
        """Approves, confirms, and tells what the bank says when asked."""
        if state.phase == "offered":
            return self.command(state, "approve", state.digest, {})
        for uid, live in state.steps.items():
            if live.gate:
                return self.command(state, "confirm", live.gate.digest, {"step": uid})
            if live.question:
                happened = bool(await self.bank.found(live.key))
                return self.command(state, "answer", live.question, {"step": uid, "happened": happened})
        return None

    def command(self, state: ProposalState, verb: Verb, digest: str, args: dict[str, Json]) -> Command:
        return Command(
            id=ids.command_id(state.id, verb, f"{digest}{time.monotonic_ns()}"), owner=OWNER, who=OWNER,
            channel="cli", verb=verb, proposal=state.id, digest=digest, args=args, at=self.clock.now(),
        )  # fmt: skip


def in_a_process(work: Callable[[], None]) -> int:
    """Run it in a child; the signal that killed it, or 0."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException as error:
            sys.stderr.write(repr(error))
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit(f"a life ended with {os.WEXITSTATUS(status)}")
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def case(folder: Path, number: int, made: Manifest, place: str, mutant: str) -> dict[str, Any]:
    kill = KINDS[number % len(KINDS)]
    file = folder / f"{number}.db"

    def life(ends: str) -> Callable[[], None]:
        return lambda: asyncio.run(Life(file, number, place, made, ends, mutant).live())

    killed = in_a_process(life(kill)) == signal.SIGKILL
    in_a_process(life(""))
    journal = SqliteJournal(file, OWNER)
    (state,) = journal.book.proposals.values()
    (step,) = state.steps.values()
    assert state.plan is not None
    key = ids.idempotency_key(state.plan.run, state.plan.steps[0].uid)
    rows = asyncio.run(DistantBank(made, place, "").found(key))
    entries = journal.entries()
    journal.close()
    return {
        "kill": kill,
        "killed": killed,
        "phase": state.phase,
        "step": step.phase,
        "effects": len(rows),
        "asked": sum(entry.type == "human.asked" for entry in entries),
        "faults": [str(fault) for fault in audit.verify(entries)] if not mutant else [],
    }


def main(folder: Path, effect_class: EffectClass, kills: int, mutant: str) -> None:
    made = manifest("bank.pay", effect_class, timeout_s=TIMEOUT_S, settle_s=SETTLE_S, retry=Retry(base_s=0.01))
    place = str(folder / "bank")
    server = Server(place, Teller)
    bank = os.fork()
    if bank == 0:
        server.serve_forever()
    server.socket.close()
    try:
        cases = [case(folder, number, made, place, mutant) for number in range(kills)]
    finally:
        os.kill(bank, signal.SIGKILL)
        os.waitpid(bank, 0)
    sys.stdout.write(json.dumps(cases))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else "")  # type: ignore[arg-type]  # one of the classes
