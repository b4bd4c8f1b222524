"""A person's own goal through the real service: with a model on the loopback, without one, and over a kill."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from actions.testing.canary import step
from actions.testing.modelscript import Body, Hang, Said, Script, Status, Text
from actions.testing.modelserver import ModelServer, model_server
from tests import forks

COMMAND = [sys.executable, "-c", "from forewatch.cli.main import main; main()"]
PLAN = json.dumps({"steps": [step("s1", "notify", {"text": "Water the plants"})], "questions": []})


@contextmanager
def model(script: Script) -> Iterator[ModelServer]:
    """A model's server in a thread of its own."""
    loop, ready, stop = asyncio.new_event_loop(), threading.Event(), asyncio.Event()
    found: list[ModelServer] = []

    async def serve() -> None:
        async with model_server(script) as server:
            found.append(server)
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(60)
        yield found[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(60)
        loop.close()


class Home:
    """One home folder, its service and its command line."""

    def __init__(self, folder: Path, **settings: str) -> None:
        self.folder = folder
        given = {f"FOREWATCH_{name.upper()}": value for name, value in settings.items()}
        self.environment = {**os.environ, "FOREWATCH_HOME": str(folder), "FOREWATCH_TIMEZONE": "Europe/Berlin", **given}

    def call(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [*COMMAND, *arguments]
        return forks.run(
            command, env=self.environment, input=stdin, capture_output=True, text=True, timeout=120, check=False
        )

    def json(self, *arguments: str) -> Any:
        done = self.call(*arguments, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    @contextmanager
    def serving(self) -> Iterator[subprocess.Popen[str]]:
        with forks.Popen([*COMMAND, "serve"], env=self.environment, stderr=subprocess.PIPE, text=True) as process:
            try:
                until(lambda: self.call("status").returncode == 0 or process.poll() is not None)
                assert process.poll() is None, process.communicate()[1]
                yield process
            finally:
                process.kill()

    def do(self, *goal: str) -> str:
        """The proposal that a goal becomes."""
        answer = self.json("do", *goal)
        return str(answer["entries"][0]["stream"])

    def offered(self, proposal: str) -> dict[str, Any]:
        """Its card, once there is something to answer."""
        found: dict[str, Any] = until(lambda: self._if_offered(proposal))
        return found

    def _if_offered(self, proposal: str) -> dict[str, Any] | None:
        card = self.json("proposals", "show", proposal)
        return card if card["phase"] == "offered" else None


def until(happens: Callable[[], Any], seconds: float = 120) -> Any:
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if found := happens():
            return found
        time.sleep(0.1)
    raise AssertionError(f"did not happen within {seconds} s")


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("h")  # short: the path of a socket has a limit


def test_a_goal_is_planned_by_the_model_and_the_ledger_has_each_byte(folder: Path) -> None:
    with model(lambda body: Text(PLAN)) as server:
        home = Home(folder, planner_url=server.base_url, planner_model="small")
        assert home.call("model", "key", stdin="sk-secret\n").returncode == 0
        with home.serving():
            card = home.offered(home.do("Water the plants"))
            assert card["planner"] == "model:small@2"
            assert card["effects"] == ["s1 tells you: Tell you: Water the plants"]
            (row,) = home.json("egress", "list")
            query = "SELECT sent_bytes, outcome, host, withheld_values FROM egress"
            (seen,) = until(lambda: home.json("history", "query", query)["rows"])
    assert len(server.raw[0]) == row["sent_bytes"] == seen[0]
    assert json.loads(server.raw[0]) == row["request"]
    assert server.headers[0]["authorization"] == "Bearer sk-secret"
    assert (row["outcome"], row["host"]) == ("answer", server.base_url.split("/")[2])
    assert "Goal: Water the plants" in home.call("egress", "show", row["id"]).stdout
    assert home.call("audit", "verify").returncode == 0


def test_a_kill_while_the_model_thinks_loses_nothing_and_is_counted(folder: Path) -> None:
    said: list[Said] = [Hang(), Text(PLAN)]

    def in_turn(body: Body) -> Said:
        return said.pop(0)

    with model(in_turn) as server:
        home = Home(folder, planner_url=server.base_url, planner_model="small")
        with home.serving() as process:
            proposal = home.do("Water the plants")
            until(lambda: server.requests)
            process.send_signal(signal.SIGKILL)
            process.wait()
        with home.serving():
            assert home.offered(proposal)["planner"] == "model:small@2"
            lost, answered = home.json("egress", "list")
    assert (lost["outcome"], answered["outcome"]) == ("unknown", "answer")
    assert len(server.requests) == 2


def test_the_stop_of_everything_hangs_up_on_the_model_which_is_asked_again_when_acting_goes_on(folder: Path) -> None:
    said: list[Said] = [Hang(), Text(PLAN)]

    def in_turn(body: Body) -> Said:
        return said.pop(0)

    with model(in_turn) as server:
        home = Home(folder, planner_url=server.base_url, planner_model="small")
        with home.serving():
            proposal = home.do("Water the plants")
            until(lambda: server.requests)
            assert home.call("stop-everything").returncode == 0
            until(lambda: not server.writers)  # the client has closed the connection, and has opened no other one
            assert home.json("proposals", "show", proposal)["phase"] == "drafted"
            assert len(server.requests) == 1
            assert home.call("resume-everything").returncode == 0
            assert home.offered(proposal)["planner"].startswith("model:small@")
            lost, answered = home.json("egress", "list")
    assert (lost["outcome"], answered["outcome"], len(server.requests)) == ("unknown", "answer", 2)


def test_a_service_stops_at_once_while_a_model_thinks(folder: Path) -> None:
    with model(lambda body: Hang()) as server:
        home = Home(folder, planner_url=server.base_url, planner_model="small")
        with home.serving() as process:
            home.do("Water the plants")
            until(lambda: server.requests)
            process.send_signal(signal.SIGTERM)
            assert process.wait(60) == 0, process.communicate()[1]


def test_without_a_model_a_goal_takes_its_playbook_or_asks_or_reminds(folder: Path) -> None:
    home = Home(folder)
    with home.serving():
        passport = home.offered(home.do("renew my passport"))
        assert passport["planner"].startswith("playbook:renew-document")
        plants = home.offered(home.do("water the plants"))
        assert plants["planner"] == "reminder"
        bill = home.do("pay the plumber's bill")
        card = home.json("proposals", "show", bill)
        assert (card["phase"], card["questions"][0]["text"]) == ("needs_input", "Who is to be paid?")
        answered = home.call("proposals", "answer", bill, "payee=Plumber Ltd")
        assert answered.returncode == 0, answered.stderr
        assert home.offered(bill)["planner"].startswith("playbook:pay-invoice")
        assert home.json("egress", "list") == []


def test_of_two_who_say_the_same_at_once_one_is_told_of_the_other_ones_proposal(folder: Path) -> None:
    home = Home(folder)
    with home.serving(), ThreadPoolExecutor(2) as both:
        done = list(both.map(lambda _: home.call("do", "water the plants"), range(2)))
        (card,) = home.json("proposals", "list")
        made, told = sorted(done, key=lambda answer: answer.returncode)
        assert (made.returncode, told.returncode) == (0, 7)
        assert f"proposal {card['id'][:8]} is for that already: it is offered" in told.stderr
        assert home.do("water the plants", "--another") != card["id"]


def test_half_a_setup_of_the_model_is_refused_with_the_remedy(folder: Path) -> None:
    done = Home(folder, planner_model="small").call("serve")
    assert done.returncode == 2
    assert "planner_url is not set" in done.stderr


def test_the_model_can_be_tried_before_it_plans(folder: Path) -> None:
    with model(lambda body: Text('{"word": "ready"}')) as server:
        home = Home(folder, planner_url=server.base_url, planner_model="small")
        found = home.json("model", "test")
        assert (found["outcome"], found["way"]) == ("answer", "asked by strict")
    with model(lambda body: Status(401)) as server:
        done = Home(folder, planner_url=server.base_url, planner_model="small").call("model", "test")
        assert done.returncode == 1
        assert "denied" in done.stderr + done.stdout
