"""The vault: what is sealed opens for the right key and account alone, and what is shredded is gone."""

from __future__ import annotations

import asyncio
import base64
import fcntl
import os
import pickle
import sqlite3
import subprocess
import sys
import threading
import time
import types
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractors.connector import Quota
from extractors.vault import GivenKeys, KeyFile, KeyringKeys, Secrets, Vault, account_lock
from extractors.vault.keys import parse_keys
from extractors.vault.lock import remove_lock
from extractors.vault.sealing import Key
from schemas.errors import AuthError, ConfigError, ForewatchError, RateLimited, TransientError

MARK = "marker-7f3a9c"
NOW = datetime(2026, 3, 2, 8, tzinfo=UTC)


def opened(home: Path) -> Vault:
    return Vault.open(home / "vault.db", KeyFile(home / "vault.key"))


def everything(home: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(home.rglob("*")) if path.is_file())


def test_secrets_come_back_in_another_process_and_are_nowhere_in_the_files(tmp_path: Path) -> None:
    vault = opened(tmp_path)
    vault.update("nora", {"password": MARK, "user": "nora"})
    vault.update("nora", {"user": None, "key": "second"})
    code = (
        "import sys; from pathlib import Path; from extractors.vault import *; home = Path(sys.argv[1]);"
        "print(dict(Vault.open(home / 'vault.db', KeyFile(home / 'vault.key')).secrets('nora')))"
    )
    found = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == str({"password": MARK, "key": "second"})
    assert vault.secrets("otto") == {}
    assert vault.accounts() == ["nora"]
    assert MARK.encode() not in everything(tmp_path)
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    vault.close()


def test_nothing_that_holds_a_secret_shows_it(tmp_path: Path) -> None:
    vault = opened(tmp_path)
    vault.update("nora", {"password": MARK})
    secrets, key = vault.secrets("nora"), Key.fresh()
    given = GivenKeys("FOREWATCH_VAULT_KEY", key.text)
    for holder in (vault, secrets, key, given):
        for text in (repr(holder), str(holder), f"{holder}", f"{[holder]}"):
            assert MARK not in text
            assert key.text not in text
    assert repr(secrets) == "Secrets(password)"
    with pytest.raises(TypeError):
        pickle.dumps(key)
    vault.close()


@settings(max_examples=50, deadline=None)
@given(st.dictionaries(st.text(min_size=1, max_size=20), st.text(max_size=200), max_size=8), st.text(max_size=30))
def test_what_is_sealed_opens_only_as_it_was_sealed(values: dict[str, str], account: str) -> None:
    key = Key.fresh()
    sealed = key.seal(repr(values).encode(), "secrets", account)
    assert key.open(sealed, "secrets", account) == repr(values).encode()
    assert key.open(sealed, "secrets", account + "x") is None
    assert key.open(sealed, "data key", account) is None
    assert Key.fresh().open(sealed, "secrets", account) is None


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_a_changed_or_shortened_seal_does_not_open(data: st.DataObject) -> None:
    key = Key.fresh()
    sealed = bytearray(key.seal(b"secret", "secrets", "a"))
    if data.draw(st.booleans()):
        sealed[data.draw(st.integers(0, len(sealed) - 1))] ^= data.draw(st.integers(1, 255))
    else:
        sealed = sealed[: data.draw(st.integers(0, len(sealed) - 1))]
    assert key.open(bytes(sealed), "secrets", "a") is None


def tamper(home: Path, statement: str) -> None:
    with sqlite3.connect(home / "vault.db") as database:
        database.execute(statement)
    database.close()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts SET sealed = x'00' WHERE account = 'nora'",
        "UPDATE accounts SET sealed = substr(sealed, 1, length(sealed) - 1) WHERE account = 'nora'",
        "UPDATE accounts SET wrapped = (SELECT wrapped FROM accounts WHERE account = 'otto') WHERE account = 'nora'",
        "UPDATE accounts SET (wrapped, sealed) = (SELECT wrapped, sealed FROM accounts WHERE account = 'otto')",
    ],
)
def test_a_row_changed_from_outside_is_told_without_its_bytes(tmp_path: Path, statement: str) -> None:
    vault = opened(tmp_path)
    vault.update("nora", {"password": MARK})
    vault.update("otto", {"password": "other"})
    tamper(tmp_path, statement)
    with pytest.raises(AuthError, match=r"account nora were damaged .* forewatch accounts auth nora") as caught:
        vault.secrets("nora")
    assert caught.value.__cause__ is None
    assert vault.secrets("otto")["password"] == "other"
    vault.close()


def test_another_key_is_told_and_changes_nothing(tmp_path: Path) -> None:
    opened(tmp_path).close()
    (tmp_path / "vault.key").rename(tmp_path / "kept")
    with pytest.raises(AuthError, match=r"vault.key is gone, .* put the right key back"):
        opened(tmp_path)
    other = GivenKeys("FOREWATCH_VAULT_KEY", Key.fresh().text)
    with pytest.raises(AuthError, match=r"the key in FOREWATCH_VAULT_KEY does not open .*vault.db"):
        Vault.open(tmp_path / "vault.db", other)
    (tmp_path / "kept").rename(tmp_path / "vault.key")
    opened(tmp_path).close()


def test_a_key_file_that_others_can_read_is_refused(tmp_path: Path) -> None:
    opened(tmp_path).close()
    (tmp_path / "vault.key").chmod(0o640)
    with pytest.raises(ConfigError, match=r"others on this machine may read .*vault.key.* chmod 600"):
        opened(tmp_path)


@pytest.mark.parametrize("text", ["", "  ", "c2hvcnQ=", "no base64 at all!", "A" * 43 + "B", MARK])
def test_a_key_that_is_none_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(ConfigError, match="head -c 32 /dev/urandom") as caught:
        GivenKeys("FOREWATCH_VAULT_KEY", text).read()
    assert MARK not in str(caught.value)
    assert caught.value.__cause__ is None


def test_keys_are_read_in_either_alphabet_with_or_without_padding() -> None:
    material = bytes(range(224, 256))
    texts = [base64.b64encode(material).decode(), base64.urlsafe_b64encode(material).decode()]
    texts += [text.rstrip("=") for text in texts]
    assert set(parse_keys("\n".join(texts), "here")) == {Key(material)}
    assert parse_keys(",".join(texts), "here")[0].text == texts[0]


def test_many_processes_that_begin_at_once_make_one_key(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from extractors.vault import *; home = Path(sys.argv[1]);"
        "sys.stdin.readline(); vault = Vault.open(home / 'vault.db', KeyFile(home / 'vault.key'));"
        "vault.update(sys.argv[2], {'n': sys.argv[2]})"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), f"a{n}"], stdin=subprocess.PIPE) for n in range(4)
    ]
    for process in processes:
        process.communicate(b"\n", timeout=150)
    assert [process.returncode for process in processes] == [0] * 4
    vault = opened(tmp_path)
    assert {name: vault.secrets(name)["n"] for name in vault.accounts()} == {f"a{n}": f"a{n}" for n in range(4)}
    vault.close()


def test_a_new_key_opens_everything_and_the_old_one_nothing(tmp_path: Path) -> None:
    vault, other = opened(tmp_path), opened(tmp_path)
    vault.update("nora", {"password": MARK})
    wrapped = wrapped_of(tmp_path)
    old = (tmp_path / "vault.key").read_text()
    vault.rekey()
    assert (tmp_path / "vault.key").read_text() != old
    assert len(parse_keys((tmp_path / "vault.key").read_text(), "file")) == 1
    assert wrapped not in everything(tmp_path), "the old key finds nothing to open"
    assert other.secrets("nora")["password"] == MARK, "a running service reads the new key by itself"
    other.update("nora", {"more": "1"})
    for each in (vault, other):
        each.close()
    again = opened(tmp_path)
    assert dict(again.secrets("nora")) == {"password": MARK, "more": "1"}
    again.close()
    with pytest.raises(AuthError, match="does not open"):
        Vault.open(tmp_path / "vault.db", GivenKeys("the old key", old))


def wrapped_of(home: Path) -> bytes:
    with sqlite3.connect(home / "vault.db") as database:
        (wrapped,) = database.execute("SELECT wrapped FROM accounts WHERE account = 'nora'").fetchone()
    database.close()
    assert isinstance(wrapped, bytes)
    return wrapped


class Killed(BaseException):
    pass


class DyingKeys:
    """A key file whose owner dies before or after the n-th time that it is written."""

    def __init__(self, path: Path, n: int, *, after: bool) -> None:
        self._file = KeyFile(path)
        self._left = n
        self._after = after
        self.where = str(path)

    def read(self) -> tuple[Key, ...]:
        return self._file.read()

    def write(self, keys: Sequence[Key]) -> None:
        self._left -= 1
        if self._left == 0 and not self._after:
            raise Killed
        self._file.write(keys)
        if self._left == 0:
            raise Killed


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("n", [1, 2])
def test_a_rekey_killed_at_any_point_leaves_a_vault_that_opens(tmp_path: Path, n: int, after: bool) -> None:
    vault = opened(tmp_path)
    vault.update("nora", {"password": MARK})
    vault.close()
    dying = Vault.open(tmp_path / "vault.db", DyingKeys(tmp_path / "vault.key", n, after=after))
    with pytest.raises(Killed):
        dying.rekey()
    dying.close()
    survivor = opened(tmp_path)
    assert survivor.secrets("nora")["password"] == MARK
    assert len(KeyFile(tmp_path / "vault.key").read()) == 1
    survivor.rekey()
    assert survivor.secrets("nora")["password"] == MARK
    survivor.close()


def test_a_key_from_the_environment_is_replaced_by_putting_the_new_one_in_front(tmp_path: Path) -> None:
    old, new = Key.fresh(), Key.fresh()
    vault = Vault.open(tmp_path / "vault.db", GivenKeys("FOREWATCH_VAULT_KEY", old.text))
    vault.update("nora", {"password": MARK})
    with pytest.raises(ConfigError, match="put a new key in front of the old one"):
        vault.rekey()
    assert vault.secrets("nora")["password"] == MARK
    vault.close()
    Vault.open(tmp_path / "vault.db", GivenKeys("FOREWATCH_VAULT_KEY", f"{new.text},{old.text}")).close()
    again = Vault.open(tmp_path / "vault.db", GivenKeys("FOREWATCH_VAULT_KEY", new.text))
    assert again.secrets("nora")["password"] == MARK
    again.close()


def test_a_keyring_keeps_the_key_where_the_desktop_keeps_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept: dict[tuple[str, str], str] = {}
    fake = types.ModuleType("keyring")
    fake.get_password = lambda service, name: kept.get((service, name))  # type: ignore[attr-defined]
    fake.set_password = lambda service, name, value: kept.update({(service, name): value})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "keyring", fake)
    source = KeyringKeys("here")
    vault = Vault.open(tmp_path / "vault.db", source)
    vault.update("nora", {"password": MARK})
    vault.rekey()
    vault.close()
    again = Vault.open(tmp_path / "vault.db", source)
    assert again.secrets("nora")["password"] == MARK
    again.close()
    assert len(source.read()) == 1

    def locked(service: str, name: str) -> str:
        raise RuntimeError(MARK)

    fake.get_password = locked  # type: ignore[attr-defined]
    with pytest.raises(ConfigError, match="cannot be read: RuntimeError") as caught:
        source.read()
    assert MARK not in str(caught.value)
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(ConfigError, match=r"install forewatch\[keyring\]"):
        source.read()


def test_a_shredded_account_has_left_no_byte_that_its_key_could_open(tmp_path: Path) -> None:
    vault = opened(tmp_path)
    vault.update("nora", {"password": MARK})
    vault.update("otto", {"password": "stays"})
    vault.spend("nora", Quota("calls-of-nora", 4), NOW, asked=False)
    traces = [wrapped_of(tmp_path)]
    vault.update("nora", {"password": f"{MARK}2"})
    traces.append(wrapped_of(tmp_path))
    vault.shred("nora")
    left = everything(tmp_path)
    assert not any(trace in left for trace in traces)
    assert b"nora" not in left
    assert vault.secrets("nora") == {}
    assert vault.accounts() == ["otto"]
    vault.shred("nora")
    assert vault.secrets("otto")["password"] == "stays"
    vault.close()


def test_a_reader_that_stays_makes_shredding_say_that_it_is_not_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("extractors.vault.store._BUSY_S", 0.1)
    vault = opened(tmp_path)
    vault.update("nora", {"password": MARK})
    reader = sqlite3.connect(tmp_path / "vault.db", isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM accounts").fetchall()
    with pytest.raises(TransientError, match="say it again"):
        vault.shred("nora")
    reader.execute("COMMIT")
    reader.close()
    vault.shred("nora")
    assert b"nora" not in everything(tmp_path)
    vault.close()


def test_an_update_that_expects_something_else_does_nothing(tmp_path: Path) -> None:
    vault = opened(tmp_path)
    assert vault.update("nora", {"n": "1"}, only_if=lambda secrets: "n" not in secrets)
    assert not vault.update("nora", {"n": "2"}, only_if=lambda secrets: "n" not in secrets)
    assert vault.secrets("nora")["n"] == "1"
    with pytest.raises(ConfigError, match="more than 256 kB"):
        vault.update("nora", {"n": "x" * 300_000})
    assert vault.secrets("nora")["n"] == "1"
    vault.close()


def test_many_threads_and_processes_lose_no_update(tmp_path: Path) -> None:
    vaults = [opened(tmp_path), opened(tmp_path)]
    threads = [
        threading.Thread(target=vaults[n % 2].update, args=("nora", {f"n{n}": str(n)}), daemon=True) for n in range(12)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert dict(vaults[0].secrets("nora")) == {f"n{n}": str(n) for n in range(12)}
    for vault in vaults:
        vault.close()


@pytest.mark.parametrize(
    "content", [b"no database, but long enough to be looked at" * 40, b"SQLite format 3\0" + b"\xff" * 4096]
)
def test_a_file_that_is_no_vault_is_told(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "vault.db").write_bytes(content)
    with pytest.raises(AuthError, match="damaged"):
        opened(tmp_path)


def test_a_vault_of_a_newer_forewatch_is_left_alone(tmp_path: Path) -> None:
    opened(tmp_path).close()
    tamper(tmp_path, "PRAGMA user_version = 9")
    with pytest.raises(ConfigError, match="made by a newer Forewatch"):
        opened(tmp_path)


def test_a_vault_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    opened(tmp_path).close()
    (tmp_path / "vault.db").chmod(0o644)
    opened(tmp_path).close()
    assert (tmp_path / "vault.db").stat().st_mode & 0o777 == 0o600


# quotas


def spent(vault: Vault, quota: Quota, now: datetime, *, asked: bool = False) -> str:
    try:
        vault.spend("nora", quota, now, asked=asked)
    except RateLimited as error:
        return f"{((error.retry_at or NOW) - NOW) / timedelta(hours=1):g}"
    return "ok"


def test_polls_leave_the_last_call_to_the_person(tmp_path: Path) -> None:
    vault, quota = opened(tmp_path), Quota("transactions", 4)
    for hour in range(3):
        assert spent(vault, quota, NOW + timedelta(hours=hour)) == "ok"
    at = NOW + timedelta(hours=3)
    assert spent(vault, quota, at) == "24", "when the first of three is a day old"
    assert spent(vault, quota, at, asked=True) == "ok"
    assert spent(vault, quota, at, asked=True) == "24"
    assert spent(vault, Quota("balances", 4), at) == "ok", "each quota is counted by itself"
    vault.close()
    again = opened(tmp_path)
    assert spent(again, quota, at + timedelta(hours=20)) == "25", "two must be gone: four are spent of three"
    assert spent(again, quota, NOW + timedelta(hours=25)) == "ok"
    again.close()


def test_a_quota_that_is_all_for_the_person_is_never_spent_by_polls(tmp_path: Path) -> None:
    vault, quota = opened(tmp_path), Quota("one", 1, reserve=1)
    assert spent(vault, quota, NOW) == "24"
    assert spent(vault, quota, NOW, asked=True) == "ok"
    vault.close()


def test_calls_counted_while_the_clock_was_wrong_are_forgotten(tmp_path: Path) -> None:
    vault, quota = opened(tmp_path), Quota("one", 1, reserve=0)
    assert spent(vault, quota, NOW + timedelta(days=4000)) == "ok"
    assert spent(vault, quota, NOW) == "ok"
    vault.close()


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 600), st.booleans()), max_size=30), st.integers(1, 5), st.integers(0, 2))
def test_no_window_ever_holds_more_calls_than_the_source_allows(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, bool]], calls: int, reserve: int
) -> None:
    vault = opened(tmp_path_factory.mktemp("quota"))
    quota = Quota("q", calls, timedelta(minutes=60), reserve)
    now, made, limits = NOW, list[datetime](), list[tuple[datetime, RateLimited]]()
    for minutes, asked in steps:
        now += timedelta(minutes=minutes / 10)
        try:
            vault.spend("nora", quota, now, asked=asked)
        except RateLimited as error:
            limits.append((now, error))
            continue
        made.append(now)
        window = [at for at in made if at > now - quota.per]
        assert len(window) <= calls
        assert asked or len(window) <= calls - reserve
    assert all(error.retry_at and at < error.retry_at <= at + quota.per for at, error in limits)
    vault.close()


# the lock


def test_the_lock_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    inside, most = 0, 0

    async def work(name: str) -> None:
        nonlocal inside, most
        async with account_lock(tmp_path, name):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    async def scenario() -> None:
        await asyncio.gather(*(work("nora") for _ in range(8)))

    asyncio.run(scenario())
    assert most == 1


def test_who_waits_too_long_for_the_lock_is_told_and_the_loop_goes_on(tmp_path: Path) -> None:
    async def scenario() -> int:
        turns = 0

        async def tick() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0.005)

        ticking = asyncio.create_task(tick())
        async with account_lock(tmp_path, "nora"), account_lock(tmp_path, "otto"):
            with pytest.raises(TransientError, match=r"its lock is held for more than 0.1 s"):
                async with account_lock(tmp_path, "nora", deadline_s=0.1):
                    raise AssertionError("two hold it")
        async with account_lock(tmp_path, "nora", deadline_s=0.1):
            pass
        ticking.cancel()
        return turns

    assert asyncio.run(scenario()) > 3


def test_a_cancelled_waiter_does_not_keep_the_lock(tmp_path: Path) -> None:
    async def scenario() -> None:
        for _ in range(20):
            waiter = asyncio.create_task(account_lock(tmp_path, "nora").__aenter__())
            await asyncio.sleep(0)
            waiter.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiter
        async with account_lock(tmp_path, "nora", deadline_s=20):
            pass

    asyncio.run(scenario())


def test_a_lock_of_an_account_that_is_gone_is_removed_and_nobody_shares_the_next(tmp_path: Path) -> None:
    async def scenario() -> None:
        async with account_lock(tmp_path, "nora"):
            remove_lock(tmp_path, "nora")
            assert (tmp_path / "nora.lock").exists(), "it is held"
        remove_lock(tmp_path, "nora")
        assert list(tmp_path.iterdir()) == []
        async with account_lock(tmp_path, "nora"):
            (tmp_path / "nora.lock").unlink()
            async with account_lock(tmp_path, "nora", deadline_s=5):
                assert (tmp_path / "nora.lock").exists()

    asyncio.run(scenario())


def test_a_lock_file_that_is_removed_while_it_is_being_locked_is_not_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    removals = [tmp_path / "nora.lock"]
    real = fcntl.flock

    def flock(descriptor: int, operation: int) -> None:
        real(descriptor, operation)
        if removals:
            removals.pop().unlink()

    monkeypatch.setattr(fcntl, "flock", flock)

    async def scenario() -> None:
        async with account_lock(tmp_path, "nora"):
            assert (tmp_path / "nora.lock").exists()

    asyncio.run(scenario())


def test_a_lock_dies_with_the_process_that_holds_it(tmp_path: Path) -> None:
    code = (
        "import asyncio, sys; from pathlib import Path; from extractors.vault import account_lock\n"
        "async def main():\n"
        "    async with account_lock(Path(sys.argv[1]), 'nora'):\n"
        "        print('held', flush=True); await asyncio.sleep(60)\n"
        "asyncio.run(main())"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"

    async def scenario() -> float:
        with pytest.raises(TransientError):
            async with account_lock(tmp_path, "nora", deadline_s=0.05):
                raise AssertionError("two hold it")
        holder.kill()
        holder.communicate()
        before = time.monotonic()
        async with account_lock(tmp_path, "nora", deadline_s=20):
            return time.monotonic() - before

    assert asyncio.run(scenario()) < 10


def test_folders_that_cannot_be_used_are_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="cannot be opened"):
        Vault.open(tmp_path / "file" / "vault.db", KeyFile(tmp_path / "vault.key"))

    async def scenario() -> None:
        async with account_lock(tmp_path / "file", "nora"):
            raise AssertionError("locked a file in a file")

    with pytest.raises(ConfigError, match="cannot be opened"):
        asyncio.run(scenario())
    (tmp_path / "folder").mkdir()
    for source in (KeyFile(tmp_path / "folder"), KeyFile(tmp_path / "file" / "key")):
        with pytest.raises(ForewatchError):
            Vault.open(tmp_path / "vault.db", source)
    assert os.listdir(tmp_path / "folder") == []


def test_secrets_are_a_mapping_that_does_not_change() -> None:
    secrets = Secrets({"a": "1"})
    assert dict(secrets.changed({"a": None, "b": "2"})) == {"b": "2"}
    assert dict(secrets) == {"a": "1"}
    with pytest.raises(KeyError):
        secrets["b"]
