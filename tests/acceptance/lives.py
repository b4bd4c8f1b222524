"""The service of one household in one process after another: each is a life, and may be killed in the middle of it.

    python lives.py FOLDER

reads ``FOLDER/place.json`` and then one life per line of its input: a list of what a person says and how far time goes
on. Each life is a process of its own; its process id is in ``FOLDER/pid`` and what it leaves in ``FOLDER/left.json``.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from actions.policy import audit
from actions.proposal.state import ProposalState
from forewatch.play import Player, Span, last_instant
from forewatch.settings import Settings
from forewatch.wiring import Service, build, open_settings_log
from schemas import ids
from schemas.account import AccountState
from schemas.clock import ManualClock, at_local
from schemas.command import Command
from schemas.journal import JournalEntry
from streams import topics
from streams.codec import encode
from streams.journal import valid_entries
from streams.work import Output

ZONE = ZoneInfo("Europe/Berlin")
ROOT = Path(__file__).parents[2]
PATIENCE_S = 300.0


@dataclass
class Life:
    """One process: the service, and a person who speaks to it."""

    place: dict[str, Any]
    clock: ManualClock = field(init=False)
    service: Service = field(init=False)
    refusals: list[str] = field(default_factory=list)

    async def live(self, wishes: list[list[Any]]) -> dict[str, Any]:
        settings = Settings.model_validate(self.place["settings"])
        log = await open_settings_log(settings)
        born = datetime.fromisoformat(self.place["born"])
        self.clock = ManualClock(max(filter(None, (await last_instant(log), born))))
        await log.close()
        self.service = await build(settings, self.clock, random.Random(1))
        try:
            await self.service.start()
            await self._connect(born)
            await self._player().pass_time(self.clock.now())
            for verb, *args in wishes:
                await getattr(self, verb)(*args)
            return await self._left()
        finally:
            await self.service.stop()

    async def _connect(self, born: datetime) -> None:
        await self.service.accounts.refresh()
        for each in self.place["accounts"]:
            if self.service.accounts.get(each["id"]) is None:
                account = AccountState.model_validate({"owner": "me", "created_at": born, **each})
                await self.service.credentials.keep(account.id, {"password": self.place["password"]})
                await self.service.log.append([self.service.accounts.output(account)])
        await self.service.accounts.refresh()

    # -- what a wish may be

    async def until(self, day: str, hour: int = 12) -> None:
        """Time goes on to this hour of a day; the accounts are polled each morning, and at the end."""
        end = at_local(date.fromisoformat(day), time(hour), ZONE)
        player = self._player()
        morning = self.clock.now().astimezone(ZONE).date()
        while (at := at_local(morning, time(7, 30), ZONE)) < end:
            if at > self.clock.now():
                await player.pass_time(at)
                await player.poll()
            morning += timedelta(days=1)
        await player.pass_time(end)
        await player.poll()

    async def minutes(self, count: int) -> None:
        await self._player().pass_time(self.clock.now() + timedelta(minutes=count))

    async def answer(self, slots: dict[str, str]) -> None:
        await self.say("answer", slots=slots)

    async def approve(self) -> None:
        """The plan as it is shown, or its revision."""
        await self.say("approve", self.proposal.digest)

    async def confirm(self) -> None:
        """Whatever asks for itself, with exactly what it shows."""
        asking = [(uid, step.gate.digest) for uid, step in self.proposal.steps.items() if step.gate]
        assert asking, "nothing asks for a confirmation"
        for uid, digest in asking:
            await self.say("confirm", digest, step=uid)

    async def confirm_all(self) -> None:
        """One after another, until nothing asks any more."""
        while any(step.gate for step in self.proposal.steps.values()):
            await self.confirm()
            await self.minutes(5)

    async def abort(self) -> None:
        await self.say("abort", undo=True)

    async def say(self, verb: str, digest: str = "", **args: Any) -> None:
        state = self.proposal
        told = f"{self.clock.now()}{digest}{json.dumps(args, sort_keys=True)}"
        command = Command.model_validate(
            {"id": ids.command_id(state.id, verb, told), "owner": "me", "who": "nora", "channel": "test"}
            | {"verb": verb, "proposal": state.id, "digest": digest, "args": args, "at": self.clock.now()}
        )
        answer = self.service.act.answered(command.id)
        await self.service.log.append([Output(topics.COMMANDS, b"me", encode(command))])
        self.refusals += [str(entry.body) for entry in await answer if entry.type == "command.refused"]
        await self._player().pass_time(self.clock.now())

    # -- what is left

    @property
    def proposal(self) -> ProposalState:
        """The one that this household is about."""
        found = [s for book in self.service.act.books() for s in book.proposals.values()]
        (state,) = [state for state in found if state.trigger.rule == self.place["rule"]]
        return state

    def _player(self) -> Player:
        start = datetime.fromisoformat(self.place["born"]).date()
        span = Span(start, start + timedelta(days=400), ZONE)
        return Player(self.service, self.clock, span, arrive=lambda until: None)

    async def _left(self) -> dict[str, Any]:
        entries = [entry async for entry in valid_entries(self.service.log)]
        found = [s for book in self.service.act.books() for s in book.proposals.values()]
        mine = [state for state in found if state.trigger.rule == self.place["rule"]]
        return {
            "at": self.clock.now().isoformat(),
            "proposals": [_proposal(state, entries) for state in mine],
            "refusals": self.refusals,
            "faults": [str(fault) for fault in audit.verify(entries)],
        }


def _proposal(state: ProposalState, entries: list[JournalEntry]) -> dict[str, Any]:
    steps = {}
    for step in state.plan.steps if state.plan else ():
        live = state.steps.get(step.uid)
        steps[step.id] = {
            "uid": step.uid,
            "tool": step.tool,
            "phase": live.phase if live else "",
            "out": {name: value.v for name, value in live.out.items()} if live else {},
            "receipt": bool(live and live.receipt),
            "message": live.message if live else "",
            "asks": list(live.gate.reasons) if live and live.gate else [],
        }
    mine = [entry for entry in entries if entry.stream == state.id]
    return {
        "id": state.id,
        "title": state.title,
        "phase": state.phase,
        "says": state.says,
        "questions": [question.slot for question in state.questions],
        "revision": list(state.revision.reasons) if state.revision else [],
        "steps": steps,
        "journal": [entry.type for entry in mine],
        "intents": [str(entry.body["step"]) for entry in mine if entry.type == "step.intent"],
    }


# -- the two sides of the pipe


def main(folder: Path) -> None:
    place = json.loads((folder / "place.json").read_text())
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            os._exit(_be(folder, place, json.loads(line)))
        _, status = os.waitpid(child, 0)
        sys.stdout.write(f"{os.waitstatus_to_exitcode(status)}\n")
        sys.stdout.flush()


def _be(folder: Path, place: dict[str, Any], wishes: list[list[Any]]) -> int:
    (folder / "pid").write_text(str(os.getpid()))
    try:
        left = asyncio.run(Life(place).live(wishes))
    except BaseException:
        traceback.print_exc()
        return 1
    (folder / "left.json").write_text(json.dumps(left))
    return 0


@dataclass
class Household:
    """The test's side: ``live`` runs one life and gives what it left, or None if it was killed."""

    folder: Path
    process: subprocess.Popen[str]

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def pid(self) -> int:
        return int((self.folder / "pid").read_text())

    def live(self, *wishes: list[Any]) -> dict[str, Any]:
        left = self.run(*wishes)
        assert left is not None, "this life was killed"
        assert left["refusals"] == []
        assert left["faults"] == []
        return left

    def killed(self, *wishes: list[Any]) -> None:
        assert self.run(*wishes) is None, "this life should have been killed"

    def run(self, *wishes: list[Any]) -> dict[str, Any] | None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        (self.folder / "left.json").unlink(missing_ok=True)
        self.process.stdin.write(f"{json.dumps(wishes)}\n")
        self.process.stdin.flush()
        ended = self.process.stdout.readline().strip()
        if ended == "-9":
            return None
        assert ended == "0", (self.folder / "err").read_text()
        left: dict[str, Any] = json.loads((self.folder / "left.json").read_text())
        return left

    def notices(self) -> list[str]:
        """What the person was told, in order."""
        found = [json.loads(path.read_text()) for path in (self.home / "outbox").rglob("*.json")]
        return [notice["text"] for notice in sorted(found, key=lambda notice: notice["at"])]


@contextmanager
def household(folder: Path, place: dict[str, Any]) -> Iterator[Household]:
    """``place``: settings, accounts, password, born (an instant), and the rule that the household is about."""
    (folder / "home").mkdir(exist_ok=True)
    born = datetime.fromisoformat(place["born"]).astimezone(UTC)
    (folder / "place.json").write_text(json.dumps({**place, "born": born.isoformat()}))
    command = [sys.executable, "-W", "error", str(Path(__file__)), str(folder)]
    with (folder / "err").open("w") as err:
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err,
        )  # fmt: skip
    try:
        yield Household(folder, process)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=PATIENCE_S)
        assert process.stdout is not None
        process.stdout.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
