"""Connecting an account from the command line, against a mail service on this machine."""

from __future__ import annotations

import io
import signal
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tests import forks
from tests.peers.dovecot import PASSWORD, Dovecot
from tests.peers.smtp import submission
from tests.standins.jmap import FakeJmap

Forewatch = Callable[..., Any]
LETTER = b"From: Ada <ada@example.org>\r\nSubject: Hello\r\nDate: Mon, 02 Mar 2026 08:00:00 +0100\r\n\r\nHello Nora\r\n"
SECRET = "s3cret-Zaunkoenig"


@pytest.fixture
def mail() -> Iterator[FakeJmap]:
    with FakeJmap() as service:
        service.passwords = {f"Bearer {SECRET}"}
        service.deliver(LETTER, datetime(2026, 3, 2, 7, tzinfo=UTC))
        yield service


@pytest.fixture
def type_in(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """What the person types, line by line."""
    return lambda *lines: monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))


def add(forewatch: Forewatch, mail: FakeJmap, *more: object) -> Any:
    return forewatch("accounts", "add", "jmap", mail.url, "--name", "post", "--set", "allow_private=true", *more)


def files_with(home: Path, text: str) -> list[str]:
    return [path.name for path in home.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


def test_a_person_is_told_what_is_read_asked_for_the_secret_and_shown_what_is_there(
    forewatch: Forewatch, mail: FakeJmap, type_in: Callable[..., None], home: Path
) -> None:
    type_in(SECRET)
    said = add(forewatch, mail)
    assert said.code == 0, said.err
    assert "Forewatch will read your mails" in said.err
    assert "nothing is changed or marked" in said.err
    assert "1 " in said.err
    (row,) = forewatch("accounts", "list", "--json").json
    assert (row["id"], row["connector"], row["status"]) == ("post", "jmap", "active")
    assert SECRET not in said.err + said.out
    assert files_with(home, SECRET) == []


def test_a_source_that_does_not_let_us_in_leaves_nothing_behind(
    forewatch: Forewatch, mail: FakeJmap, type_in: Callable[..., None], home: Path
) -> None:
    type_in("wrong")
    said = add(forewatch, mail)
    assert said.code == 5
    assert "wrong" not in said.err
    assert forewatch("accounts", "list", "--json").json == []
    assert not (home / "vault.db").exists()


def test_a_secret_may_come_from_a_file_and_never_from_the_command_line(
    forewatch: Forewatch, mail: FakeJmap, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    file.write_text(f"{SECRET}\n")
    assert add(forewatch, mail, "--secret", f"token=@{file}").code == 0
    refused = add(forewatch, mail, "--secret", f"token={SECRET}")
    assert refused.code == 2
    assert SECRET not in refused.err
    missing = add(forewatch, mail, "--secret", f"token=@{tmp_path}/nowhere")
    assert missing.code == 2
    assert "nowhere cannot be read" in missing.err


def test_what_is_typed_may_begin_like_a_file_or_name_one(
    forewatch: Forewatch, mail: FakeJmap, type_in: Callable[..., None], tmp_path: Path
) -> None:
    mail.passwords = {"Bearer @home", f"Bearer {SECRET}"}
    type_in("@home")
    assert add(forewatch, mail).code == 0
    (tmp_path / "token").write_text(f"{SECRET}\n")
    type_in(f"@{tmp_path}/token")
    assert forewatch("accounts", "auth", "post").code == 0


def test_a_name_that_is_taken_is_refused_before_anything_is_asked(
    forewatch: Forewatch, mail: FakeJmap, type_in: Callable[..., None]
) -> None:
    type_in(SECRET)
    assert add(forewatch, mail).code == 0
    type_in()
    again = add(forewatch, mail)
    assert again.code == 2
    assert "already an account 'post'" in again.err


def test_nobody_at_the_keyboard_is_told_what_to_do(
    forewatch: Forewatch, mail: FakeJmap, type_in: Callable[..., None]
) -> None:
    type_in()
    said = add(forewatch, mail)
    assert said.code == 5
    assert "--secret" in said.err


def test_a_connection_is_tested_and_mended_when_the_secret_changes(
    forewatch: Forewatch, mail: FakeJmap, type_in: Callable[..., None]
) -> None:
    type_in(SECRET)
    add(forewatch, mail)
    assert forewatch("accounts", "test", "post").code == 0
    mail.passwords = {"Bearer another"}
    assert forewatch("accounts", "test", "post").code == 5
    type_in("another")
    assert forewatch("accounts", "auth", "post").code == 0
    assert forewatch("accounts", "test", "post").code == 0


def test_a_kill_between_vault_and_log_is_nothing_that_a_second_try_trips_over(
    forewatch: Forewatch, mail: FakeJmap, type_in: Callable[..., None], home: Path
) -> None:
    """The secret is sealed, but no account is there that could be polled with it."""
    dies = (
        "import os, signal\n"
        "from forewatch.cli import accounts\n"
        "accounts._append = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "from forewatch.cli.main import main\n"
        "main()\n"
    )
    command = ["accounts", "add", "jmap", mail.url, "--name", "post", "--set", "allow_private=true"]
    died = forks.run(
        [sys.executable, "-c", dies, *command], input=f"{SECRET}\n", text=True, capture_output=True, check=False
    )
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert (home / "vault.db").exists()
    assert files_with(home, SECRET) == []
    assert forewatch("accounts", "list", "--json").json == []
    assert forewatch("accounts", "test", "post").code == 3
    type_in(SECRET)
    assert add(forewatch, mail).code == 0
    assert forewatch("accounts", "test", "post").code == 0
    assert forewatch("accounts", "remove", "post", "--erase").code == 0
    assert forewatch("accounts", "list", "--json").json == []


def test_parting_destroys_the_secret(
    forewatch: Forewatch, mail: FakeJmap, type_in: Callable[..., None], home: Path
) -> None:
    type_in(SECRET)
    add(forewatch, mail)
    assert forewatch("accounts", "rekey").code == 0
    assert forewatch("accounts", "test", "post").code == 0
    assert forewatch("accounts", "remove", "post").code == 0
    assert forewatch("accounts", "list", "--json").json == []
    assert forewatch("accounts", "test", "post").code == 5


def test_a_file_needs_no_sign_in(forewatch: Forewatch, tmp_path: Path) -> None:
    for part in ("cur", "new", "tmp"):
        (tmp_path / "Mail" / part).mkdir(parents=True)
    forewatch("accounts", "add", "maildir", tmp_path / "Mail", "--name", "files")
    said = forewatch("accounts", "test", "files")
    assert (said.code, "needs no sign-in" in said.err) == (0, True)
    assert forewatch("accounts", "auth", "files").code == 2


def test_every_kind_says_what_it_reads(forewatch: Forewatch) -> None:
    rows = {row["kind"]: row["reads"] for row in forewatch("accounts", "kinds", "--json").json}
    assert {"maildir", "imap", "caldav"} <= set(rows)
    assert all(len(reads) > 20 for reads in rows.values())


def test_tools_are_granted_more_than_reading_and_lose_it_again(
    forewatch: Forewatch, dovecot_server: Dovecot, tmp_path: Path
) -> None:
    with submission(dovecot_server) as smtp:
        (tmp_path / "password").write_text(PASSWORD)
        options = [f"username={dovecot_server.user()}", f"ca_file={dovecot_server.ca}", "allow_private=true"]
        settings = [word for option in options for word in ("--set", option)]
        place = f"localhost:{dovecot_server.imaps}"
        given = ("--name", "post", *settings, "--secret", f"password=@{tmp_path / 'password'}")
        assert forewatch("accounts", "add", "imap", place, *given).code == 0
        assert forewatch("accounts", "list", "--json").json[0]["allow"] == []
        smtp.fault = "auth"
        where = ("--set", "smtp_host=localhost", "--set", f"smtp_port={smtp.port}")
        refused = forewatch("accounts", "auth", "post", "--allow", "send", *where)
        assert (refused.code, "does not let" in refused.err) == (5, True)
        assert forewatch("accounts", "list", "--json").json[0]["allow"] == []
        smtp.fault = ""
        said = forewatch("accounts", "auth", "post", "--allow", "write", "--allow", "send", *where)
        assert (said.code, "tools may send, write" in said.err) == (0, True)
        assert forewatch("accounts", "list", "--json").json[0]["allow"] == ["send", "write"]
        assert forewatch("accounts", "auth", "post", "--allow", "nothing").code == 0
        assert forewatch("accounts", "list", "--json").json[0]["allow"] == []


def test_what_an_account_cannot_give_is_refused(forewatch: Forewatch, tmp_path: Path) -> None:
    for name in ("cur", "new", "tmp"):
        (tmp_path / "Mail" / name).mkdir(parents=True)
    forewatch("accounts", "add", "maildir", tmp_path / "Mail", "--name", "files")
    said = forewatch("accounts", "auth", "files", "--allow", "send")
    assert (said.code, "tools can only read it" in said.err) == (2, True)
