"""The typed columns of history: four streams of rows, one per topic that is kept, and how they are laid out on disk."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from streams import topics

FORMAT = 1
"""Raised when a release cannot read what an older one wrote; columns may be added without it."""


LINE_MAX = 64 << 20
"""Bytes of one hot line that readers accept; a journal entry with a large plan is the longest thing we write."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Rows of one topic. ``columns`` maps names to DuckDB types; ``order`` is what Parquet parts are sorted by.

    ``folder`` is where its parts lie below ``cold/``; None: below the account of each row, so that an account can
    be erased by dropping its folder.
    """

    name: str
    topic: str
    columns: Mapping[str, str]
    order: str
    folder: str | None


PLACE: Mapping[str, str] = {"seq": "BIGINT", "batch": "BIGINT"}
"""``seq`` counts all rows of history from 1. ``batch`` is the ``seq`` of the last row that came in with this one: a
reader that does not see that row does not show this one, so a batch is visible whole or not at all."""

_TEXT = "VARCHAR"
_INSTANT = "TIMESTAMPTZ"

EVENTS = Stream(
    "events",
    topics.EVENTS,
    {
        **dict.fromkeys(("id", "owner", "account", "source", "kind", "op", "subject", "record", "version"), _TEXT),
        "occurred_at": _INSTANT,
        "observed_at": _INSTANT,
        **dict.fromkeys(("title", "party_name", "party_address", "party_domain"), _TEXT),
        "amount": "DECIMAL(18,4)",
        "currency": _TEXT,
        **dict.fromkeys(("due_at", "starts_at", "ends_at"), _INSTANT),
        **dict.fromkeys(("wall_start", "wall_end", "zone"), _TEXT),
        "all_day": "BOOLEAN",
        "starts_on": "DATE",
        "ends_on": "DATE",
        **dict.fromkeys(("text", "matter", "trust"), _TEXT),
        **dict.fromkeys(("thread", "message_id", "uid", "status", "merchant", "row_key"), _TEXT),
        "booked_on": "DATE",
        **dict.fromkeys(("parties", "facts", "payload"), "JSON"),
    },
    order="occurred_at",
    folder=None,
)

SIGNALS = Stream(
    "signals",
    topics.TRIGGERS,
    {
        **dict.fromkeys(("type", "id", "owner", "rule", "revision", "key", "occurrence", "matter", "trigger"), _TEXT),
        "happened_at": _INSTANT,
        **dict.fromkeys(("title", "goal", "urgency"), _TEXT),
        "certainty": "DOUBLE",
        "playbook": _TEXT,
        "deadline_at": _INSTANT,
        "expires_at": _INSTANT,
        "late": "BOOLEAN",
        **dict.fromkeys(("reason", "says"), _TEXT),
        **dict.fromkeys(("evidence", "typed_values", "explanation"), "JSON"),
    },
    order="happened_at",
    folder="_signals",
)

JOURNAL = Stream(
    "journal",
    topics.JOURNAL,
    {
        **dict.fromkeys(("id", "owner", "proposal"), _TEXT),
        "number": "BIGINT",
        "epoch": "BIGINT",
        "type": _TEXT,
        "happened_at": _INSTANT,
        **dict.fromkeys(("actor", "cause"), _TEXT),
        "body": "JSON",
        **dict.fromkeys(("prev_hash", "hash"), _TEXT),
    },
    order="happened_at",
    folder="_journal",
)

DEAD = Stream(
    "dead",
    topics.DEAD,
    {
        **dict.fromkeys(("id", "topic", "key", "code", "reason", "account"), _TEXT),
        "happened_at": _INSTANT,
        "raw": _TEXT,
        "meta": "JSON",
    },
    order="happened_at",
    folder="_dead",
)

STREAMS: tuple[Stream, ...] = (EVENTS, SIGNALS, JOURNAL, DEAD)

BY_TOPIC: Mapping[str, Stream] = {stream.topic: stream for stream in STREAMS}

ACCOUNT = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
"""What may name a folder; the same as ``AccountState.id``, and never one of the folders that start with ``_``."""


def hot_columns() -> dict[str, str]:
    """The columns of a hot line: it may hold a row of any stream, and says of which one and for which folder."""
    columns = {**PLACE, "stream": _TEXT, "folder": _TEXT}
    for stream in STREAMS:
        columns |= stream.columns
    return columns


def stream_of(folder: str) -> Stream:
    """The stream whose parts lie in this folder below ``cold/``."""
    return next((stream for stream in STREAMS if stream.folder == folder), EVENTS)
