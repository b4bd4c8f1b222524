"""The index of what is remembered: found in four languages, made again at will, and clean of what was forgotten."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from benchmarks.memory import cases, full_text, score
from forewatch.storage.memory import NAME, MemoryIndex

SOME = {"a": "Pay the electricity bill from the joint account.", "b": "Der Ersatzschlüssel liegt bei Frau Lindqvist."}


def indexed(home: Path, texts: Mapping[str, str] = SOME) -> MemoryIndex:
    index = MemoryIndex(home)
    index.sync(texts)
    return index


def test_recall_finds_what_is_meant_in_four_languages(tmp_path: Path) -> None:
    """The floor under `python -m benchmarks memory`: 58 questions over 120 memories, most of them there to confuse."""
    questions = cases()
    search = full_text(tmp_path).search
    assert len(questions) >= 40
    found = score(search, questions)
    assert (found.hit_1 >= 0.93, found.hit_3 >= 0.96) == (True, True), found
    for letter in "edfs":
        assert score(search, [case for case in questions if case[1][0] == letter]).hit_3 >= 0.9


@pytest.mark.parametrize("query", ["ersatzschlussel", "Ersatzschlüssels", "SCHLÜSSEL", "Schluessel bei Lindqvist?"])
def test_accents_endings_case_and_glued_words_do_not_matter(tmp_path: Path, query: str) -> None:
    assert indexed(tmp_path).search(query)[0] == "b"


@pytest.mark.parametrize("query", ["", "the of and", '"*) OR NEAR(', "-", "'; DROP TABLE memory; --", "\x00"])
def test_a_query_is_words_and_nothing_else(tmp_path: Path, query: str) -> None:
    index = indexed(tmp_path)
    assert index.search(query) == []
    assert index.search("electricity") == ["a"]


def test_it_says_what_the_fold_says_whatever_it_said_before(tmp_path: Path) -> None:
    index = indexed(tmp_path)
    index.sync({"a": "Pay the water bill.", "c": "electricity"})
    assert (index.search("electricity"), index.search("water"), index.search("Lindqvist")) == (["c"], ["a"], [])
    fresh = indexed(tmp_path / "other", {"a": "Pay the water bill.", "c": "electricity"})
    for query in ("electricity", "water", "pay bill"):
        assert fresh.search(query) == index.search(query)


def test_what_was_forgotten_is_in_no_file(tmp_path: Path) -> None:
    index = indexed(tmp_path, {f"m{n}": f"Zaunkoenig-{n} sings at dawn" for n in range(200)})
    index.keep_vectors("m", {"m7": [1.0, 2.0]})
    index.keep("key", "m7", "Zaunkoenig-7 sings at dawn")
    index.sync({f"m{n}": f"Zaunkoenig-{n} sings at dawn" for n in range(200) if n != 7})
    data = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"Zaunkoenig-8 " in data
    assert b"Zaunkoenig-7 " not in data
    assert b"zaunkoenig 7 " not in data
    assert (index.vectors("m"), index.kept("key")) == ({}, None)


@pytest.mark.parametrize("spoil", ["garbage", "other version", "gone"])
def test_a_file_that_cannot_be_used_is_made_anew(tmp_path: Path, spoil: str) -> None:
    index = indexed(tmp_path)
    path = tmp_path / NAME
    if spoil == "gone":
        path.unlink()
        assert index.search("electricity") == []
    elif spoil == "garbage":
        path.write_bytes(b"no database " * 1000)
    else:
        db = sqlite3.connect(path)
        db.executescript("PRAGMA user_version = 99; DROP TABLE kept;")
        db.close()
    index.sync(SOME)
    assert index.search("electricity") == ["a"]


def test_two_at_once_leave_it_whole(tmp_path: Path) -> None:
    texts = [{f"{n}-{m}": f"word{n} number{m}" for m in range(50)} for n in range(4)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda some: MemoryIndex(tmp_path).sync(some), texts))
    index = MemoryIndex(tmp_path)
    index.sync(texts[0])
    assert index.search("word0 number7")[0] == "0-7"
    assert index.search("word3") == []
