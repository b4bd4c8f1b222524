"""The vault's file: each account's secrets as JSON under a data key of its own, that key under the master key.

An account is shredded by losing its data key; a new master key wraps the data keys again and touches no secret.
Everything here blocks for a few milliseconds: call it in a thread.
"""

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Self

from extractors.connector import Quota
from extractors.vault import calls
from extractors.vault.keys import KeySource
from extractors.vault.sealing import Key
from extractors.vault.secrets import Secrets
from schemas.errors import AuthError, ConfigError, TransientError

_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS proof (id INTEGER PRIMARY KEY CHECK (id = 1), sealed BLOB NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS accounts (account TEXT PRIMARY KEY, wrapped BLOB NOT NULL, sealed BLOB NOT NULL) STRICT;
"""
_CAP = 262_144
_BUSY_S = 20.0
"""How long others may keep the file busy before we give up."""


class Vault:
    """Open in any number of processes; safe to call from any thread."""

    def __init__(self, path: Path, source: KeySource, database: sqlite3.Connection) -> None:
        self._path = path
        self._source = source
        self._database = database
        self._mutex = threading.RLock()
        self._master: Key | None = None

    @classmethod
    def open(cls, path: Path, source: KeySource) -> Self:
        """Made with its key on first use. AuthError or ConfigError when it cannot be opened with this key."""
        with _translated(path):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            if path.stat().st_mode & 0o077:
                path.chmod(0o600)
            database = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
            vault = cls(path, source, database)
            try:
                vault._prepare()
            except BaseException:
                database.close()
                raise
        return vault

    def close(self) -> None:
        self._database.close()

    def accounts(self) -> list[str]:
        with self._reading():
            return [account for (account,) in self._database.execute("SELECT account FROM accounts ORDER BY account")]

    def secrets(self, account: str) -> Secrets:
        """Empty where nothing is kept."""
        with self._reading():
            return self._open(account)[1]

    def update(
        self, account: str, changes: Mapping[str, str | None], *, only_if: Callable[[Secrets], bool] | None = None
    ) -> bool:
        """Durable on return; None takes a secret away. False, and nothing done, unless ``only_if`` of what is there."""
        with self._writing():
            data_key, secrets = self._open(account)
            if only_if is not None and not only_if(secrets):
                return False
            plain = json.dumps(dict(secrets.changed(changes))).encode()
            if len(plain) > _CAP:
                raise ConfigError(f"account {account}: more than {_CAP // 1024} kB of secrets")
            self._database.execute(
                "INSERT INTO accounts VALUES (?, ?, ?)"
                " ON CONFLICT (account) DO UPDATE SET wrapped = excluded.wrapped, sealed = excluded.sealed",
                (account, self._key().wrap(data_key, account), data_key.seal(plain, "secrets", account)),
            )
        return True

    def shred(self, account: str) -> None:
        """Key, secrets and counts are gone from the file and from its log. May be repeated."""
        with self._writing():
            self._database.execute("DELETE FROM accounts WHERE account = ?", (account,))
            self._database.execute("DELETE FROM calls WHERE account = ?", (account,))
        self._forget_log()

    def rekey(self) -> None:
        """A new master key. Killed at any point, the vault opens with what the key's source then holds."""
        fresh = Key.fresh()
        with self._writing():
            old = self._key()
            self._source.write((fresh, old))
            self._wrap_again(old, fresh)
        self._settle()
        self._forget_log()

    def spend(self, account: str, quota: Quota, now: datetime, *, asked: bool) -> None:
        """Count one call. RateLimited when none is left; ``asked``: a person may spend the last ones."""
        with self._writing():
            calls.spend(self._database, account, quota, now, asked=asked)

    def _prepare(self) -> None:
        run = self._database.execute
        for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON", "temp_store = MEMORY"):
            run(f"PRAGMA {pragma}")
        with self._transaction():
            (version,) = run("PRAGMA user_version").fetchone()
            if version > _VERSION:
                raise ConfigError(f"{self._path} was made by a newer Forewatch", remedy="install that one")
            for statement in (_SCHEMA + calls.SCHEMA).split(";"):
                run(statement)
            run(f"PRAGMA user_version = {_VERSION}")
            self._unlock()
        if len(self._source.read()) > 1:
            self._settle()
            self._forget_log()

    def _unlock(self) -> None:
        """Within a transaction that writes: two processes do not make two keys."""
        proof = self._database.execute("SELECT sealed FROM proof").fetchone()
        keys = self._source.read()
        if proof is None:
            if not keys:
                keys = (Key.fresh(),)
                self._source.write(keys)
            self._database.execute("INSERT INTO proof VALUES (1, ?)", (keys[0].seal(b"forewatch", "proof"),))
            self._master = keys[0]
            return
        if not keys:
            raise AuthError(f"{self._source.where} is gone, and {self._path} opens with no other key", remedy=_RESTORE)
        found = next((key for key in keys if key.open(proof[0], "proof") is not None), None)
        if found is None:
            raise AuthError(f"the key in {self._source.where} does not open {self._path}", remedy=_RESTORE)
        self._master = found
        if found != keys[0]:
            self._wrap_again(found, keys[0])

    def _wrap_again(self, old: Key, fresh: Key) -> None:
        """Within a transaction. A row that does not open stays as it is: it is no worse than before."""
        rows = self._database.execute("SELECT account, wrapped FROM accounts").fetchall()
        for account, wrapped in rows:
            if (data_key := old.unwrap(wrapped, account)) is not None:
                self._database.execute(
                    "UPDATE accounts SET wrapped = ? WHERE account = ?", (fresh.wrap(data_key, account), account)
                )
        self._database.execute("UPDATE proof SET sealed = ?", (fresh.seal(b"forewatch", "proof"),))
        self._master = fresh

    def _settle(self) -> None:
        """Once everything is under the first key, its source needs no other."""
        with self._transaction():
            self._unlock()
            keys = self._source.read()
            if len(keys) > 1 and self._master == keys[0]:
                try:
                    self._source.write(keys[:1])
                except ConfigError:
                    return  # given from outside: the person takes the old key away

    def _open(self, account: str) -> tuple[Key, Secrets]:
        """The account's data key (a new one where it has none) and its secrets, within a transaction."""
        row = self._database.execute("SELECT wrapped, sealed FROM accounts WHERE account = ?", (account,)).fetchone()
        if row is None:
            return Key.fresh(), Secrets()
        data_key = self._key().unwrap(row[0], account)
        plain = data_key.open(row[1], "secrets", account) if data_key else None
        if data_key is None or plain is None:
            raise AuthError(
                f"the secrets of account {account} were damaged or changed from outside",
                remedy=f"connect it again: forewatch accounts auth {account}",
            )
        return data_key, Secrets(json.loads(plain))

    def _key(self) -> Key:
        """The master key; read again when another process has replaced it. Within a transaction."""
        (sealed,) = self._database.execute("SELECT sealed FROM proof").fetchone()
        if self._master is None or self._master.open(sealed, "proof") is None:
            key = next((key for key in self._source.read() if key.open(sealed, "proof") is not None), None)
            if key is None:
                raise AuthError(
                    f"the key of {self._path} was replaced", remedy=f"give the new one in {self._source.where}"
                )
            self._master = key
        return self._master

    def _forget_log(self) -> None:
        """Old pages must not live on in the write-ahead log. TransientError when others read for too long."""
        with self._mutex, _translated(self._path):
            (busy, _, _) = self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise TransientError(f"{self._path} is in use: its log still holds what was removed", remedy="say it again")

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with _translated(self._path), self._mutex:
            self._database.execute("BEGIN")
            try:
                yield
            finally:
                self._database.execute("COMMIT")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with _translated(self._path), self._transaction():
            yield

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._mutex:
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise


_RESTORE = "put the right key back; without it every account must be connected again"


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Errors of SQLite and of the file system, in one place."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise TransientError(f"{path} cannot be used now: {error}") from error
    except sqlite3.DatabaseError as error:
        raise AuthError(f"{path} is damaged: {error}", remedy="restore it, or connect every account again") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be opened: {error.strerror}", remedy="check its permissions") from error
