"""The stop of everything while a plugin is being called: it ends, nothing more leaves, its outcome is asked about."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from actions.isolation.sandbox import Mode
from actions.policy import audit
from streams.journal import valid_entries
from tests.acceptance.conftest import House

ROOT = Path(__file__).parents[2]
HOSTILE = Path(__file__).parents[1] / "standins" / "hostile_mcp.py"
PLAYBOOK = """\
id: order-owl
version: 1
title: Order an owl
words: [owl]
slots:
  goal: {type: Text, from: [goal], required: true}
steps:
  - {id: s1, tool: mcp.words.look_up, args: {word: owl}}
  - {id: s2, tool: notify, args: {text: An owl was ordered.}, after: [s1]}
"""


def manifest(way: str, folder: Path, effect: str) -> str:
    command = json.dumps([os.path.realpath(sys.executable), str(HOSTILE), way, str(folder)])
    return f"""\
plugin: words
version: "1"
command: {command}
parts: [{HOSTILE.parent}]
permissions:
  hosts: [{{host: good.example}}]
  files: {{write: [{folder}]}}
tools:
  look_up: {{description: Orders., says: "Order {{word}}"{", " * bool(effect)}{effect}}}
"""


def has_plugin(house: Any, way: str, effect: str) -> Path:
    """Let in by the command that a person uses; the folder that the plugin may write."""
    home, folder = house.root / "home", house.root / "words"
    (home / "playbooks").mkdir(parents=True)
    (home / "playbooks" / "owl.yaml").write_text(PLAYBOOK)
    folder.mkdir()
    file = house.root / "words.yaml"
    file.write_text(manifest(way, folder, effect))
    told = subprocess.run(
        [sys.executable, "-c", "from forewatch.cli.main import main; main()", "plugins", "add", str(file), "--yes"],
        env={**os.environ, "PYTHONPATH": str(ROOT), "FOREWATCH_HOME": str(home)}, cwd=ROOT,
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stdout + told.stderr
    return folder


async def until(happens: Callable[[], Any]) -> None:
    """The time limit of the test is the only one."""
    while not happens():
        await asyncio.sleep(0.02)


def processes(folder: Path) -> list[str]:
    """Of the sandbox: those that were told of the plugin's folder."""
    told = str(folder).encode()
    return [place.parent.name for place in Path("/proc").glob("[0-9]*/cmdline") if told in _read(place)]


def _read(place: Path) -> bytes:
    try:
        return place.read_bytes()
    except OSError:  # it has just ended
        return b""


async def under_way(house: Any, folder: Path) -> asyncio.Task[None]:
    """The person has asked for an owl, and the plugin is at it. What is given ends when the run rests."""
    await house.say("do", "", goal="Order an owl")
    await house.player().pass_time(house.clock.now())
    state = house.the_proposal()
    await house.say("approve", state.id, state.digest)
    going = asyncio.create_task(house.player().pass_time(house.clock.now()))
    await until(lambda: state.steps and (state.step("s1").gate or state.step("s1").phase == "sent"))
    if gate := state.step("s1").gate:
        await going
        await house.say("confirm", state.id, gate.digest, step=state.step("s1").uid)
        going = asyncio.create_task(house.player().pass_time(house.clock.now()))
    await until(lambda: (folder / "called").exists())
    return going


@pytest.mark.parametrize("effect", ["effect: read, class: pure", ""], ids=["read", "outbound"])
def test_a_plugin_that_hangs_is_ended_and_its_outcome_is_not_made_up(
    bwrap_mode: Mode, tmp_path: Path, effect: str
) -> None:
    """A question is asked again when acting goes on; what may have had an effect is asked of the person."""
    house = House(tmp_path.resolve(), "", f"a{uuid.uuid4().hex[:10]}")
    folder = has_plugin(house, "hang_first", effect)

    async def scenario() -> None:
        async with house.open():
            going = await under_way(house, folder)
            state = house.the_proposal()
            assert processes(folder)
            await house.say("stop_everything", "standing")
            await going
            await until(lambda: not processes(folder))
            assert (state.phase, state.step("s1").phase in ("sent", "unknown")) == ("running", True)
            await house.pass_time(house.at(0, 9))
            calls = (folder / "called").read_text()
            await house.say("resume_everything", "standing")
            await house.pass_time(house.at(0, 12))
            if effect:
                assert (state.phase, state.step("s1").attempts, house.effects() != {}) == ("done", 2, True)
            else:
                assert state.step("s1").asked.endswith("got no clear answer: Order owl. Did it happen?")
                assert (calls, (folder / "called").read_text()) == ("1", "1")
            assert audit.verify([entry async for entry in valid_entries(house.service.log)]) == []

    asyncio.run(scenario())
