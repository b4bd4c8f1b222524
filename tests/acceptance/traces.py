"""What the erasure tests look for: the words of one account, in every form and file; and what must still be there."""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Iterable, Iterator
from pathlib import Path

from forewatch.demo import Play, settings_of
from forewatch.storage.query import HistoryQuery
from forewatch.wiring import build, open_settings_log
from schemas.clock import SystemClock
from schemas.journal import JournalEntry
from streams.journal import valid_entries

THE_PERSONS_OWN = ("drafts", "documents", "calendar.ics")


def rows(play: Play, sql: str) -> list[list[object]]:
    settings = settings_of(play)
    return HistoryQuery(settings.history, settings.timezone).page(sql).rows


def markers(play: Play, account: str) -> list[str]:
    """Ids and titles that only this account's events have."""
    said = rows(play, f"SELECT concat_ws(' ', title, text, party_name) FROM events WHERE account <> '{account}'")
    others = "\n".join(str(row[0]) for row in said)
    own = rows(play, f"SELECT DISTINCT title, id FROM events WHERE account = '{account}' AND length(title) > 9")
    return [*(str(title) for title, _ in own if str(title) not in others), *(str(id_) for _, id_ in own)]


def forms_of(word: str) -> Iterator[bytes]:
    """As text, as it is written in JSON, and as the middle of a base64 text, wherever in it the word begins."""
    yield word.encode()
    yield json.dumps(word)[1:-1].encode()
    for before, skipped in ((0, 0), (1, 2), (2, 3)):
        yield base64.b64encode(b"x" * before + word.encode())[skipped:-4]


def all_forms(words: Iterable[str]) -> set[bytes]:
    return {form for word in words for form in forms_of(word) if len(form) > 6}


def traces(home: Path, words: list[str]) -> list[str]:
    """Files below the home folder that hold one of the words in any of its forms."""
    forms = all_forms(words)
    found = []
    for path in home.rglob("*"):
        if path.is_file() and path.relative_to(home).parts[0] not in THE_PERSONS_OWN:
            data = path.read_bytes()
            found += [f"{path.name}: {form.decode()}" for form in forms if form in data]
    return found


async def started_once(play: Play) -> None:
    """Without a ticker nothing is polled: what the log holds is carried to its end."""
    service = await build(settings_of(play), SystemClock(), random.Random(1))
    try:
        await service.start()
        await service.worker.drained()
    finally:
        await service.stop()


async def journal(play: Play) -> list[JournalEntry]:
    log = await open_settings_log(settings_of(play))
    try:
        return [entry async for entry in valid_entries(log)]
    finally:
        await log.close()
