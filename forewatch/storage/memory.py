"""Full text over what is remembered: an FTS5 index in the home, made from the fold at will and never truth."""

from __future__ import annotations

import os
import re
import sqlite3
import unicodedata
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from schemas.errors import TransientError

NAME = "memory.db"

_VERSION = 2  # of the tables below; another one found on disk means: make the index again
_TABLES = f"""
CREATE TABLE memory (id TEXT PRIMARY KEY, text TEXT NOT NULL, plain TEXT NOT NULL);
CREATE VIRTUAL TABLE words USING fts5 (id UNINDEXED, text, tokenize = 'porter unicode61 remove_diacritics 2');
CREATE VIRTUAL TABLE parts USING fts5 (id UNINDEXED, text, tokenize = 'trigram');
CREATE TABLE vector (id TEXT, model TEXT, numbers BLOB, PRIMARY KEY (id, model));
CREATE TABLE kept (key TEXT PRIMARY KEY, memory TEXT NOT NULL, text TEXT NOT NULL);
PRAGMA user_version = {_VERSION};
"""
_WAIT_S = 10.0
_SHORTEST_PART = 4
"""Letters from which on a word is also looked for inside of other words: German glues them together."""
_STEMMED_FROM = 6
"""Letters from which on an ending may differ; the Porter stemmer knows English endings only."""
_COMMON = """
    a an and are as at be by did do does for from has have how i if in is it me my of on or that the their there they
    this to was we were what when where which who why will with you your
    aber als am an auch auf aus bei bin bis da das dass dein dem den der des die dir du ein eine einem einen einer er es
    für hat habe ich ihr im in ist ja kann mein meine mich mir mit nach nicht noch nur oder sich sie sind so um und uns
    von vor wann war was wie wer wir wird wo zu zum zur
    au aux avec ce ces cette dans de des du elle en est et il ils je la le les leur ma mes mon nos notre nous on ou où
    par pas pour que quel quelle qui quoi sa se ses son sur ta te tu un une vos votre vous
    al con cual cuál cuando cuándo de del donde dónde el ella en es esta este la las lo los me mi mis nos para pero por
    porque que qué quien quién se sin sobre su sus te un una uno y yo
"""


class MemoryIndex:
    """One file. Every call opens it anew, so that the service and the command line may use it at once."""

    def __init__(self, home: Path) -> None:
        self._path = home / NAME

    def sync(self, texts: Mapping[str, str], plain: Mapping[str, str] | None = None) -> None:
        """Make the index say exactly this, by id. What went is scrubbed from the file before this returns.

        ``plain``: the same for a model, without a word from outside; it is not searched.
        """
        wanted = {id_: (text, (plain or texts)[id_]) for id_, text in texts.items()}
        with self._open() as db, _transaction(db):
            known = {id_: (text, line) for id_, text, line in db.execute("SELECT id, text, plain FROM memory")}
            gone = [id_ for id_, said in known.items() if wanted.get(id_) != said]
            for id_ in gone:
                _remove(db, id_)
            db.executemany("DELETE FROM kept WHERE memory = ?", [(id_,) for id_ in gone if id_ not in texts])
            for id_, said in wanted.items():
                if known.get(id_) != said:
                    _add(db, id_, *said)
            if gone:
                for table in ("words", "parts"):
                    db.execute(f"INSERT INTO {table} ({table}) VALUES ('rebuild')")

    def search(self, query: str, limit: int = 20) -> list[str]:
        """Ids, the best first: by whole words and endings, then by words inside of others. Empty before any sync."""
        words = [word for word in _folded(query) if word not in _FOLDED_COMMON]
        if not words or not self._path.exists():
            return []
        with self._open() as db:
            found = _hits(db, "words", _any(words), limit)
            longer = [f'"{word}"' for word in words if len(word) >= _SHORTEST_PART]
            if longer:
                found += _hits(db, "parts", " OR ".join(longer), limit)
        return list(dict.fromkeys(found))[:limit]

    def lines(self, ids: Sequence[str]) -> list[str]:
        """What a model may read of these, in their order."""
        if not self._path.exists():
            return []
        with self._open() as db:
            found = dict(db.execute("SELECT id, plain FROM memory"))
        return [found[id_] for id_ in ids if id_ in found]

    # -- vectors, where a server gives them

    def vectors(self, model: str) -> dict[str, array[float]]:
        if not self._path.exists():
            return {}
        with self._open() as db:
            rows = db.execute("SELECT id, numbers FROM vector WHERE model = ?", (model,)).fetchall()
        return {id_: array("f", numbers) for id_, numbers in rows}

    def keep_vectors(self, model: str, vectors: Mapping[str, Sequence[float]]) -> None:
        """Of memories that are in the index; others are passed over."""
        with self._open() as db, _transaction(db):
            db.executemany(
                "INSERT OR REPLACE INTO vector SELECT id, ?, ? FROM memory WHERE id = ?",
                [(model, array("f", numbers).tobytes(), id_) for id_, numbers in vectors.items()],
            )

    # -- what a step of a plan has just put here, until the fold tells it

    def keep(self, key: str, memory: str, text: str) -> None:
        """Once a key, for ever; until the memory is forgotten."""
        with self._open() as db, _transaction(db):
            db.execute("INSERT OR IGNORE INTO kept VALUES (?, ?, ?)", (key, memory, text))

    def kept(self, key: str) -> str | None:
        if not self._path.exists():
            return None
        with self._open() as db:
            row = db.execute("SELECT text FROM kept WHERE key = ?", (key,)).fetchone()
        return str(row[0]) if row else None

    def reset(self) -> None:
        """Made again from the fold when it is next asked."""
        self._path.unlink(missing_ok=True)

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """No write-ahead log, and freed pages are zeroed: what went is in no file."""
        try:
            db = self._prepared()
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                raise TransientError(f"{self._path} cannot be used: {error}", remedy="try again") from error
            self._path.unlink()  # damaged: it holds nothing that the log does not
            db = self._prepared()
        with closing(db):
            yield db

    def _prepared(self) -> sqlite3.Connection:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, 0o600))
        db = sqlite3.connect(self._path, isolation_level=None, timeout=_WAIT_S)
        try:
            db.execute("PRAGMA secure_delete = ON")
            _prepare(db)
        except BaseException:
            db.close()
            raise
        return db


def _prepare(db: sqlite3.Connection) -> None:
    """Two processes may do so at once: the second one finds it done."""
    if _version(db) == _VERSION:
        return
    with _transaction(db):
        if _version(db) == _VERSION:
            return
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE sql LIKE 'CREATE%TABLE%'").fetchall():
            if "_" not in name:  # the shadow tables of an index go with it
                db.execute(f"DROP TABLE IF EXISTS {name}")
        for statement in filter(str.strip, _TABLES.split(";")):
            db.execute(statement)


def _version(db: sqlite3.Connection) -> int:
    return int(db.execute("PRAGMA user_version").fetchone()[0])


@contextmanager
def _transaction(db: sqlite3.Connection) -> Iterator[None]:
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _add(db: sqlite3.Connection, id_: str, text: str, plain: str) -> None:
    db.execute("INSERT OR REPLACE INTO memory VALUES (?, ?, ?)", (id_, text, plain))
    db.execute("INSERT INTO words VALUES (?, ?)", (id_, text))
    db.execute("INSERT INTO parts VALUES (?, ?)", (id_, " ".join(_folded(text))))


def _remove(db: sqlite3.Connection, id_: str) -> None:
    for table in ("memory", "words", "parts", "vector"):
        db.execute(f"DELETE FROM {table} WHERE id = ?", (id_,))


def _folded(text: str) -> list[str]:
    """Words in lower case without their accents; ß as ss."""
    plain = unicodedata.normalize("NFKD", text.casefold())
    return re.findall(r"\w+", "".join(letter for letter in plain if not unicodedata.combining(letter)))


_FOLDED_COMMON = frozenset(_folded(_COMMON))


def _any(words: Sequence[str]) -> str:
    """Any of the words; a long one also with another ending."""
    stems = [f'"{word[:-2]}"*' for word in words if len(word) >= _STEMMED_FROM]
    return " OR ".join([*(f'"{word}"' for word in words), *stems])


def _hits(db: sqlite3.Connection, table: str, match: str, limit: int) -> list[str]:
    rows = db.execute(f"SELECT id FROM {table} WHERE {table} MATCH ? ORDER BY rank, id LIMIT ?", (match, limit))
    return [str(row[0]) for row in rows]
