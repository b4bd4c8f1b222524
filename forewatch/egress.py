"""The egress ledger: each request that left for a model and its end, as the journal holds them (pure)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from schemas.journal import JournalEntry


def rows(entries: Iterable[JournalEntry]) -> list[dict[str, Any]]:
    """In the order in which they left. A request without an end was under way when the process died; it counts with
    all that was reserved for it. What was erased is left out."""
    found: dict[str, dict[str, Any]] = {}
    for entry in entries:
        if entry.type == "model.asked":
            found[entry.id] = _asked(entry)
        elif entry.type == "model.answered" and str(entry.body["asked"]) in found:
            found[str(entry.body["asked"])] |= _answered(entry)
    return list(found.values())


def _asked(entry: JournalEntry) -> dict[str, Any]:
    body: dict[str, Any] = entry.body
    return {
        "id": entry.id,
        "proposal": entry.stream,
        "at": entry.at.isoformat(),
        "host": body["host"],
        "model": body["model"],
        "rung": body["rung"],
        "sent_bytes": body["bytes"],
        "sha256": body["sha256"],
        "withheld": body["withheld"],
        "request": body["request"],
        "received_bytes": 0,
        "tokens": body["prompt_tokens"] + body["max_tokens"],
        "cost": body["cost"],
        "currency": body["currency"],
        "outcome": "unknown",
    }


def _answered(entry: JournalEntry) -> dict[str, Any]:
    body: dict[str, Any] = entry.body
    tokens = body["prompt_tokens"] + body["completion_tokens"]
    return {"received_bytes": body["bytes"], "tokens": tokens, "cost": body["cost"], "outcome": body["outcome"]}
