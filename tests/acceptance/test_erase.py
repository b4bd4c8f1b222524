"""Law L10: after an erasure a word that came from the account is found nowhere, and everything else still works."""

from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from actions.policy.audit import verify
from forewatch import erase as erasing
from forewatch.demo import Play, run, settings_of
from forewatch.erase import erase, finish, pending
from forewatch.settings import Settings
from forewatch.testing import approve_all
from forewatch.wiring import build, open_settings_log
from schemas.clock import ManualClock, SystemClock
from schemas.errors import ConfigError
from streams import topics
from streams.accounts import accounts
from streams.embedded.lock import GroupLock
from streams.journal import read_books
from tests import forks
from tests.acceptance.traces import journal, markers, rows, started_once, traces
from tests.standins.jmap import FakeJmap

START, DAYS = date(2026, 1, 1), 35


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Play:
    """Five weeks with every plan approved and carried out."""
    play = Play(tmp_path_factory.mktemp("erase") / "home", seed=1, start=START, days=DAYS, answer=approve_all)
    asyncio.run(run(play))
    return play


@pytest.fixture
def play(lived: Play, tmp_path: Path) -> Play:
    """A copy of it to erase from."""
    subprocess.run(["cp", "-a", str(lived.home), str(tmp_path / "home")], check=True)
    return Play(tmp_path / "home", seed=1, start=START, days=DAYS, answer=approve_all)


@pytest.mark.parametrize("account", ["mail", "bank-a"])
def test_no_word_of_an_erased_account_is_left(play: Play, account: str) -> None:
    home, words = settings_of(play).home, markers(play, account)
    assert len(words) > 20
    assert traces(home, words), "the search finds nothing where there must be something"
    gone = erase(settings_of(play), account, SystemClock())
    assert gone.ids > 10
    assert traces(home, words) == []
    assert pending(home) == []


def test_what_other_accounts_said_is_there_again_after_the_next_start(play: Play) -> None:
    sql = "SELECT id FROM events WHERE account NOT IN ('mail', 'forewatch') ORDER BY id"
    kept = rows(play, sql)
    assert len(kept) > 30
    erase(settings_of(play), "mail", SystemClock())
    asyncio.run(started_once(play))
    again = rows(play, sql)
    assert [row for row in kept if row not in again] == []


def test_the_journal_is_still_whole_and_shows_where_something_was(play: Play) -> None:
    before = asyncio.run(journal(play))
    erase(settings_of(play), "mail", SystemClock())
    after = asyncio.run(journal(play))
    assert verify(after) == []
    assert [(entry.stream, entry.seq, entry.at) for entry in after] == [(e.stream, e.seq, e.at) for e in before]
    kinds = [entry.type for entry in after]
    assert kinds.count("erased") > 5


def test_a_second_erasure_finds_nothing_more(play: Play) -> None:
    erase(settings_of(play), "mail", SystemClock())
    before = (settings_of(play).home / "log.db").read_bytes()
    assert erase(settings_of(play), "mail", SystemClock()).ids == 0
    assert len((settings_of(play).home / "log.db").read_bytes()) <= len(before) + 65_536


@pytest.mark.kill
@pytest.mark.parametrize("point", ["erase_from_log", "announce", "follow", "_rebuild_state"])
def test_a_kill_at_any_step_leaves_it_to_be_finished(play: Play, point: str) -> None:
    """The child dies right before, the next start finishes."""
    words = markers(play, "mail")
    outbox = settings_of(play).place("outbox")
    others = asyncio.run(_told_without(play, "mail"))
    assert {path.stem for path in outbox.iterdir()} > others
    code = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from forewatch import erase\n"
        "from forewatch.demo import Play, settings_of\n"
        "from schemas.clock import SystemClock\n"
        "def die(*_, **__): os.kill(os.getpid(), signal.SIGKILL)\n"
        f"setattr(erase, {point!r}, die)\n"
        "erase.erase(settings_of(Play(Path(sys.argv[1]))), 'mail', SystemClock())\n"
    )
    done = forks.run([sys.executable, "-c", code, str(play.home)], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert pending(settings_of(play).home) == ["mail"]
    assert [gone.account for gone in finish(settings_of(play), SystemClock())] == ["mail"]
    assert traces(settings_of(play).home, words) == []
    assert {path.stem for path in outbox.iterdir()} == others, "what erased runs left is in the log no more"
    asyncio.run(_state_is_there(play))


async def _told_without(play: Play, account: str) -> set[str]:
    """The keys of what runs have sent that rest on other accounts alone."""
    log = await open_settings_log(settings_of(play))
    try:
        books = await read_books(log)
    finally:
        await log.close()
    states = [state for book in books.values() for state in book.proposals.values()]
    apart = [state for state in states if account not in {item.account for item in state.trigger.evidence}]
    return {
        state.steps[step.uid].key
        for state in apart if state.plan
        for step in state.plan.steps if step.tool == "notify"
    } - {""}  # fmt: skip


async def _state_is_there(play: Play) -> None:
    log = await open_settings_log(settings_of(play))
    try:
        assert await log.read(topics.RULE_STATE, 0, 0, 10)
        fold = accounts(log)
        await fold.refresh()
        assert fold.get("mail") is None
        assert len(await read_books(log)) == 1
    finally:
        await log.close()


def test_a_running_service_is_not_pulled_the_log_from_under_its_feet(play: Play) -> None:
    settings = settings_of(play)
    lock = GroupLock(settings.home / "log.db", settings.topic_prefix)
    try:
        with pytest.raises(ConfigError, match="already runs"):
            erase(settings, "mail", SystemClock())
    finally:
        lock.release()
    assert erasing.pending(settings.home) == ["mail"], "it is done at the next start"
    assert os.listdir(settings.home / "history")


def test_a_service_behind_a_sign_in_leaves_neither_mail_nor_secret(tmp_path: Path) -> None:
    """The whole way: signed in, polled, judged, erased; searched in the log, the history, the vault and what is beside
    them."""
    home = tmp_path / "home"
    environment = {**os.environ, "FOREWATCH_HOME": str(home), "FOREWATCH_TIMEZONE": "Europe/Berlin"}
    words = ["Zaunkoenig-Subject-7741", "Zaunkoenig-Body-7741", "Zaunkoenig-Secret-7741"]
    letter = (
        f"From: Ada <ada@example.org>\r\nSubject: Invoice {words[0]}\r\nDate: Mon, 02 Mar 2026 08:00:00 +0100\r\n\r\n"
        f"{words[1]}: 120.00 EUR, please pay by 16 March 2026.\r\n"
    )

    def forewatch(*arguments: str, typed: str = "") -> subprocess.CompletedProcess[str]:
        code = "from forewatch.cli.main import main; main()"
        command = [sys.executable, "-c", code, *arguments]
        return forks.run(command, env=environment, input=typed, capture_output=True, text=True, check=False)

    with FakeJmap() as mail:
        mail.passwords = {f"Bearer {words[2]}"}
        mail.deliver(letter.encode(), datetime(2026, 3, 2, 7, tzinfo=UTC))
        added = forewatch(
            "accounts", "add", "jmap", mail.url, "--name", "post", "--set", "allow_private=true", typed=f"{words[2]}\n"
        )
        assert added.returncode == 0, added.stderr
        asyncio.run(polled_once(Settings.load(home)))
    assert traces(home, words[:2]), "nothing of the mail was kept: the search proves nothing"
    assert traces(home, words[2:]) == []
    erased = forewatch("accounts", "remove", "post", "--erase")
    assert erased.returncode == 0, erased.stderr
    assert traces(home, words) == []
    assert forewatch("accounts", "list", "--json").stdout.strip() == "[]"
    assert forewatch("audit", "verify").returncode == 0


async def polled_once(settings: Settings) -> None:
    service = await build(settings, ManualClock(datetime(2026, 3, 3, 9, tzinfo=UTC)), random.Random(1))
    try:
        await service.start()
        await service.poll.poll("post")
        await service.worker.drained()
        await asyncio.to_thread(service.history.maintain)
    finally:
        await service.stop()
