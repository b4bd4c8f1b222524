"""The stop of everything: at once, from any process, over restarts, with or without a running service."""

import asyncio
import os
import subprocess
import sys
from datetime import date
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from forewatch.wiring import open_settings_log
from schemas import ids
from schemas.command import Command
from streams import topics
from streams.codec import encode
from streams.journal import valid_entries
from streams.work import Output
from tests import forks

DUE = date(2026, 3, 16)
COMMAND = [sys.executable, "-c", "from forewatch.cli.main import main; main()"]


async def approved(house: Any) -> Any:
    house.receive_invoice("4711", DUE)
    await house.pass_time(house.at(10))
    state = house.the_proposal()
    await house.say("approve", state.id, state.digest)
    return state


async def written(house: Any, verb: str) -> None:
    """By a process that only knows the log."""
    command = Command.model_validate(
        {"id": ids.command_id("standing", verb, "other process"), "owner": "me", "who": "nora", "channel": "cli"}
        | {"verb": verb, "proposal": "standing", "at": house.at(10)}
    )
    log = await open_settings_log(house.settings)
    await log.append([Output(topics.COMMANDS, b"me", encode(command))])
    await log.close()


async def intents(house: Any) -> int:
    return len([entry async for entry in valid_entries(house.service.log) if entry.type == "step.intent"])


def test_what_another_process_stopped_stays_stopped_over_a_restart_and_goes_on_when_it_is_said(house: Any) -> None:
    async def scenario() -> None:
        async with house.open():
            await written(house, "stop_everything")
            state = await approved(house)
            await house.approve(state)
            await house.pass_time(house.at(11))
            assert (state.phase, house.effects(), await intents(house)) == ("running", {}, 0)
        async with house.open():
            await house.pass_time(house.at(12))
            assert (house.effects(), await intents(house)) == ({}, 0)
            await written(house, "resume_everything")
            await house.pass_time(house.at(13))
            await house.approve(house.the_proposal())
            await house.pass_time(house.at(14))
            assert house.effects() != {}

    asyncio.run(scenario())


def test_a_stop_that_was_said_while_no_service_ran_holds_before_any_run_goes_on(house: Any) -> None:
    async def scenario() -> None:
        async with house.open():
            state = await approved(house)
            for step in list(state.steps.values()):
                if step.gate is not None:
                    await house.say("confirm", state.id, step.gate.digest, nonce=step.uid, step=step.uid)
            before, sent = house.effects(), await intents(house)
        await written(house, "stop_everything")
        async with house.open():
            await house.pass_time(house.at(14))
            (stopped,) = {book.experience.stopped for book in house.service.act.books() if book.owner == "me"}
            assert stopped is not None
            assert stopped.says(ZoneInfo("Europe/Berlin")) == "nora at 2026-03-12 12:00"
            assert (house.effects(), await intents(house)) == (before, sent)

    asyncio.run(scenario())


def test_the_command_line_stops_a_home_without_a_service(tmp_path: Path) -> None:
    environment = {**os.environ, "FOREWATCH_HOME": str(tmp_path / "home")}

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return forks.run(
            [*COMMAND, *arguments], env=environment, capture_output=True, text=True, timeout=60, check=False
        )

    said = call("stop-everything", "--reason", "lost my phone")
    assert (said.returncode, said.stderr) == (
        0, "stopped: no service is running, and the next one will begin nothing\n",
    )  # fmt: skip
    assert call("permissions", "list", "--json").stdout == "[]\n"
