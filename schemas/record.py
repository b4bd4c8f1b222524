"""Record: a raw upsert or delete as the source gave it, and the request to poll a source."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.model import Instant, Json, Model

RAW_CAP = 700_000
"""Bytes of ``Record.raw``: a record and its envelope stay below Kafka's default 1 MB message."""


class Record(Model):
    """One version of one native thing. ``meta`` is what the connector knows beside the bytes (JSON)."""

    id: str
    account: str
    owner: str
    source: str
    native_id: str
    version: str
    op: Literal["upsert", "delete"] = "upsert"
    is_new: bool = True
    """False: an earlier version of this thing was sent before."""
    fetched_at: Instant
    content_type: str = "application/octet-stream"
    raw: bytes = Field(default=b"", max_length=RAW_CAP)
    meta: dict[str, Json] = {}


class PollDue(Model):
    """It is time to poll this account. ``reason``: schedule, asked, added."""

    account: str
    due_at: Instant
    reason: str = "schedule"
