"""The service as a process: started, asked, stopped, and what it says when it cannot work."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from forewatch.client import Client
from schemas import ids
from tests import forks

COMMAND = [sys.executable, "-c", "from forewatch.cli.main import main; main()"]
ATTACHED = (
    "From: a@b.example\nTo: me@c.example\nSubject: Scan {n}\nMessage-ID: <s{n}@b.example>\nMIME-Version: 1.0\n"
    "Content-Type: application/pdf; name=scan.pdf\nContent-Transfer-Encoding: base64\n\n{data}\n"
)
MAIL = "From: a@b.example\nTo: me@c.example\nSubject: Hello {n}\nMessage-ID: <{n}@b.example>\n\nHello.\n"


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("h")  # short: the path of a socket has a limit


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    return {**os.environ, "FOREWATCH_HOME": str(home), "FOREWATCH_TIMEZONE": "Europe/Berlin"}


@pytest.fixture
def forewatch(environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    def call(*arguments: object) -> subprocess.CompletedProcess[str]:
        command = [*COMMAND, *map(str, arguments)]
        return forks.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)

    return call


def until(happens: Callable[[], Any], seconds: float = 60) -> Any:
    """Waits for something another process does; its value."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        if found := happens():
            return found
        time.sleep(0.1)
    raise AssertionError(f"did not happen within {seconds} s")


@contextmanager
def serving(home: Path, environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    with forks.Popen([*COMMAND, "serve"], env=environment, stderr=subprocess.PIPE, text=True) as process:
        try:
            until(lambda: (home / "forewatch.sock").exists() or process.poll() is not None)
            yield process
        finally:
            process.kill()


def maildir(root: Path) -> Path:
    for part in ("cur", "new", "tmp"):
        (root / "Mail" / part).mkdir(parents=True)
    return root / "Mail"


def test_a_mail_becomes_an_event_that_sql_can_see_and_a_signal_stops_the_service(
    home: Path, environment: dict[str, str], forewatch: Any, tmp_path: Path
) -> None:
    mail = maildir(tmp_path)
    forewatch("accounts", "add", "maildir", mail, "--name", "post")
    with serving(home, environment) as process:
        (mail / "new" / "1.host").write_text(MAIL.format(n=1))
        assert forewatch("accounts", "sync", "post").returncode == 0
        query = "SELECT title FROM mail WHERE kind = 'mail.received'"
        found = until(
            lambda: json.loads(forewatch("history", "query", query, "--json").stdout or '{"rows": []}')["rows"]
        )
        assert found == [["Hello 1"]]
        status = json.loads(forewatch("status", "--json").stdout)
        assert status["accounts"] == 1
        assert (home / "forewatch.sock").stat().st_mode & 0o777 == 0o600
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0
        assert not (home / "forewatch.sock").exists()


def test_an_account_that_is_added_while_the_service_runs_is_read_before_the_command_ends(
    home: Path, environment: dict[str, str], forewatch: Any, tmp_path: Path
) -> None:
    mail = maildir(tmp_path)
    for n in range(20):
        (mail / "new" / f"{n}.host").write_text(MAIL.format(n=n))
    with serving(home, environment):
        said = forewatch("accounts", "add", "maildir", mail, "--name", "post")
        assert said.returncode == 0
        assert "20 came" in said.stderr
        assert "nothing new" in forewatch("accounts", "sync", "post").stderr


def test_what_was_under_way_at_a_kill_is_there_after_the_next_start(
    home: Path, environment: dict[str, str], forewatch: Any, tmp_path: Path
) -> None:
    mail = maildir(tmp_path)
    for n in range(300):
        (mail / "new" / f"{n}.host").write_text(MAIL.format(n=n))
    forewatch("accounts", "add", "maildir", mail, "--name", "post")
    for _ in range(3):
        with serving(home, environment) as process:
            process.send_signal(signal.SIGKILL)
            process.wait()
    query = "SELECT count(*), count(DISTINCT id) FROM mail"
    with serving(home, environment):
        until(lambda: '"rows": [[300, 300]]' in forewatch("history", "query", query, "--json").stdout)


def test_a_second_serve_on_the_same_data_says_who_is_there(
    home: Path, environment: dict[str, str], forewatch: Any
) -> None:
    with serving(home, environment) as process:
        second = forewatch("serve")
        assert second.returncode == 2
        assert str(process.pid) in second.stderr
        assert "FOREWATCH_HOME" in second.stderr
        assert process.poll() is None


def test_a_rule_with_a_typo_stops_the_start_with_its_place_and_a_suggestion(home: Path, forewatch: Any) -> None:
    (home / "rules").mkdir()
    rule = home / "rules" / "mine.yaml"
    rule.write_text("rules:\n  - id: mine\n    title: Mine\n    when: {kind: bank.psoted}\n    propose: {title: x}\n")
    said = forewatch("serve")
    assert said.returncode == 2
    assert f"{rule}:4:18: " in said.stderr
    assert "did you mean 'bank.posted'?" in said.stderr
    assert "Traceback" not in said.stderr


def test_a_wrong_setting_stops_the_start_with_its_name(home: Path, forewatch: Any) -> None:
    (home / "config.toml").write_text('timezone = "Mars/Olympus"\n')
    environment_wins = forewatch("doctor", "--json")
    assert environment_wins.returncode in (0, 4)
    (home / "config.toml").write_text("interruptions_per_day = -1\n")
    said = forewatch("serve")
    assert said.returncode == 2
    assert "interruptions_per_day" in said.stderr


def test_a_source_that_goes_away_is_named_and_comes_back_by_itself(
    home: Path, environment: dict[str, str], forewatch: Any, tmp_path: Path
) -> None:
    mail = maildir(tmp_path)
    (mail / "new" / "1.host").write_text(MAIL.format(n=1))
    forewatch("accounts", "add", "maildir", mail, "--name", "post")

    def account() -> dict[str, Any]:
        return json.loads(forewatch("accounts", "list", "--json").stdout)[0]  # type: ignore[no-any-return]

    with serving(home, environment):
        until(lambda: account()["polled_at"])
        away = mail.rename(tmp_path / "away")
        forewatch("accounts", "sync", "post")
        error = until(lambda: account()["error"])
        assert str(mail) in error
        away.rename(mail)
        forewatch("accounts", "sync", "post")
        until(lambda: not account()["error"] and account()["status"] == "active")
        removed = json.loads(
            forewatch("history", "query", "SELECT count(*) FROM mail WHERE kind = 'mail.removed'", "--json").stdout
        )
        assert removed["rows"] == [[0]]


def test_a_full_disk_stops_the_service_with_a_clear_message_and_loses_nothing(
    environment: dict[str, str], tmp_path: Path
) -> None:
    mail = maildir(tmp_path)
    disk = tmp_path / "d"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", disk], capture_output=True, check=False
    ).returncode:
        if os.environ.get("FOREWATCH_REQUIRE") == "all":
            pytest.fail("a small disk cannot be mounted here")
        pytest.skip("a small disk cannot be mounted here: needs root")
    environment = {**environment, "FOREWATCH_HOME": str(disk)}
    try:
        for n in range(100):
            (mail / "new" / f"{n}.host").write_text(ATTACHED.format(n=n, data="QUJD" * 18_000))
        call = [*COMMAND, "accounts", "add", "maildir", str(mail), "--name", "post"]
        forks.run(call, env=environment, check=True, capture_output=True)
        with serving(disk, environment) as process:
            _, said = process.communicate(timeout=90)
            assert process.returncode == 1
        assert "disk is full" in said.lower() or "no space left" in said.lower()
        assert "error: " in said
        subprocess.run(["mount", "-o", "remount,size=200m", disk], check=True)
        with serving(disk, environment):
            query = [*COMMAND, "history", "query", "SELECT count(*), count(DISTINCT id) FROM mail", "--json"]
            run = lambda: forks.run(query, env=environment, capture_output=True, text=True, check=False)  # noqa: E731
            until(lambda: '"rows": [[100, 100]]' in run().stdout, 120)
    finally:
        subprocess.run(["umount", "-l", disk], check=False)


RULE = """\
rules:
  - id: hello
    title: Somebody says hello
    when: {{kind: mail.received, where: "title.contains('{word}')"}}
    propose: {{title: "{{{{ title }}}}"}}
"""


def rules_in_use(home: Path) -> dict[str, Any]:
    """As ``forewatch status`` asks for it, without a new process each time that somebody waits for a change."""
    service = Client(home / "forewatch.sock")
    until(lambda: service.is_up)  # the socket is there a moment before somebody answers
    found: dict[str, Any] = service.get("/status")
    return {name: found[name] for name in ("rules", "rules_problem", "proposals_open")}


def test_rules_that_change_while_the_service_runs_are_taken_up_and_wrong_ones_change_nothing(
    home: Path, environment: dict[str, str], forewatch: Any, tmp_path: Path
) -> None:
    mail = maildir(tmp_path)
    (mail / "new" / "1.host").write_text(MAIL.format(n=1))
    environment["FOREWATCH_LIBRARY"] = "false"
    file = tmp_path / "mine.yaml"
    file.write_text(RULE.format(word="Hello 2"))
    with serving(home, environment):
        forewatch("accounts", "add", "maildir", mail, "--name", "post")
        assert "from now on" in forewatch("rules", "add", file).stderr
        (mail / "new" / "2.host").write_text(MAIL.format(n=2))
        forewatch("accounts", "sync", "post")
        until(lambda: rules_in_use(home)["proposals_open"] == 1)
        used = home / "rules" / "mine.yaml"
        used.write_text("rules:\n  - id: hello\n    titel: x\n")
        until(lambda: "unknown key 'titel'" in rules_in_use(home)["rules_problem"])
        assert rules_in_use(home) | {"rules_problem": ""} == {
            "rules": 1, "rules_problem": "", "proposals_open": 1,
        }  # fmt: skip
        assert "goes on with the rules of before" in forewatch("doctor").stdout
        used.write_text(RULE.format(word="Hello 3"))
        until(lambda: rules_in_use(home) == {"rules": 1, "rules_problem": "", "proposals_open": 0})
        assert forewatch("rules", "show", "hello").stderr.count("in use since") == 2
        assert "hello is off from now on" in forewatch("rules", "disable", "hello").stderr
        assert rules_in_use(home)["rules"] == 0
    assert "hello\toff" in forewatch("rules", "list").stdout
    assert "hello is on from the next start" in forewatch("rules", "enable", "hello").stderr
    first = json.loads(forewatch("rules", "show", "hello", "--json").stdout)["revisions"][0]["revision"]
    compared = forewatch("rules", "backtest", "hello", "--compare", first[:6])
    assert "both say 0; + only this one, - only the other" in compared.stderr
    assert "Hello 2" in compared.stdout


def test_a_file_that_is_wrong_at_the_next_start_leaves_the_rules_of_before_in_use(
    home: Path, environment: dict[str, str], forewatch: Any
) -> None:
    environment["FOREWATCH_LIBRARY"] = "false"
    (home / "rules").mkdir(parents=True)
    used = home / "rules" / "mine.yaml"
    used.write_text(RULE.format(word="Hello 2"))
    with serving(home, environment):
        assert rules_in_use(home)["rules"] == 1
    used.write_text("rules:\n  - id: hello\n    titel: x\n")
    with serving(home, environment):
        until(lambda: Client(home / "forewatch.sock").is_up)  # the socket of the killed one is there until then
        assert rules_in_use(home)["rules"] == 1
        assert f"{used}:3:5: unknown key 'titel'" in rules_in_use(home)["rules_problem"]
        assert "goes on with the rules of before" in forewatch("doctor").stdout
        used.write_text(RULE.format(word="Hello 3"))
        until(lambda: rules_in_use(home)["rules_problem"] == "")


def test_a_kill_while_rules_change_leaves_the_old_ones_or_the_new_ones_in_use(
    home: Path, environment: dict[str, str], forewatch: Any, tmp_path: Path
) -> None:
    (home / "rules").mkdir()
    file = home / "rules" / "mine.yaml"
    environment["FOREWATCH_LIBRARY"] = "false"
    for number in range(4):
        (home / "forewatch.sock").unlink(missing_ok=True)
        with serving(home, environment) as process:
            file.write_text(RULE.format(word=f"word {number}"))
            with forks.Popen([*COMMAND, "rules", "reload"], env=environment, stderr=subprocess.PIPE) as reload:
                time.sleep(0.2 * number)
                process.kill()
                reload.communicate(timeout=60)
    (home / "forewatch.sock").unlink()
    with serving(home, environment):
        file.write_text(RULE.format(word="end"))
        assert forewatch("rules", "reload").returncode == 0
        shown = json.loads(forewatch("rules", "show", "hello", "--json").stdout)
        assert shown["revisions"][-1]["revision"] == shown["revision"]
    events = forewatch("events", "tail", "--kind", "rules.changed", "--json").stdout.splitlines()
    digests = [json.loads(event)["payload"]["digest"] for event in events]
    sets = [[], *([f"hello/{one['revision']}"] for one in shown["revisions"])]  # before the first file there was none
    known = [ids.digest(names)[:16] for names in sets]
    assert set(digests) <= set(known), "what a set stands for is durable before the event that names it"
    assert digests[-1] == known[-1]
    order = [known.index(digest) for digest in digests]
    assert order == sorted(order), "one may be told twice where its telling was cut off, and no old one comes back"


TOLD_IN_THE_MIDDLE = """
import asyncio, os, signal
from {module} import {name}
from forewatch.cli.main import main

go_on = {name}.{method}

async def told(*given, **named):
    os.kill(os.getpid(), signal.{number})
    await ({rest})

{name}.{method} = told
main()
"""
"""``serve`` that gets a signal when it comes to that method; ``rest``: what it does there then."""


@pytest.mark.parametrize("rest", ["go_on(*given, **named)", "asyncio.Event().wait()"])
@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT"])
@pytest.mark.parametrize(
    ("module", "name", "method"),
    [
        ("forewatch.reloading", "Reloader", "start"),
        ("streams.app", "Worker", "start"),
        ("streams.embedded.transport", "EmbeddedTransport", "open"),
        ("streams.act", "ActAgent", "assigned"),
    ],
)
def test_a_service_that_is_told_to_end_while_it_starts_ends_in_order(
    module: str, name: str, method: str, number: str, rest: str, home: Path, environment: dict[str, str]
) -> None:
    """Also where the start would never come to its end, as with a broker that does not answer."""
    code = TOLD_IN_THE_MIDDLE.format(module=module, name=name, method=method, number=number, rest=rest)
    done = forks.run(
        [sys.executable, "-c", code, "serve"], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0), done.stderr
    assert not (home / "forewatch.sock").exists()


def test_a_log_that_nobody_reads_any_more_stops_nothing(home: Path, environment: dict[str, str]) -> None:
    (home / "rules").mkdir()
    file = home / "rules" / "mine.yaml"
    file.write_text(RULE.format(word="Hello"))
    environment["FOREWATCH_LIBRARY"] = "false"
    with serving(home, environment) as process:
        until(lambda: Client(home / "forewatch.sock").is_up)
        assert process.stderr is not None
        process.stderr.close()
        file.write_text("rules:\n  - id: hello\n    titel: x\n")  # is told in the log
        until(lambda: rules_in_use(home)["rules_problem"])
        process.send_signal(signal.SIGTERM)
        assert process.wait(15) == 0


NEVER_ANSWERED = """
import asyncio
from forewatch import api
from forewatch.cli.main import main

async def wake(self, request):
    print("asked", flush=True)
    await asyncio.Event().wait()

api._Api.wake = wake
main()
"""


def test_a_question_that_is_never_answered_holds_no_stop_up(home: Path, environment: dict[str, str]) -> None:
    command = [sys.executable, "-c", NEVER_ANSWERED, "serve"]
    with (
        forks.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process,
        socket.socket(socket.AF_UNIX) as asking,
    ):
        try:
            until(lambda: Client(home / "forewatch.sock").is_up)
            asking.connect(str(home / "forewatch.sock"))
            asking.sendall(b"POST /wake HTTP/1.1\r\nHost: forewatch\r\nContent-Length: 0\r\n\r\n")
            assert process.stdout is not None
            assert process.stdout.readline() == b"asked\n"
            process.send_signal(signal.SIGTERM)
            assert process.wait(15) == 0
        finally:
            process.kill()
