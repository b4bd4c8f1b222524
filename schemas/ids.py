"""Deterministic ids: the same source always gives the same id, so a replay adds nothing (law L2)."""

from __future__ import annotations

import hashlib
import json
import uuid
from typing import Any

_NAMESPACE = uuid.UUID("6f0f3c1e-6a4c-5b5e-9d0a-f03e3a7c4b11")
_SEPARATOR = "\x1f"  # cannot be typed by accident, so ("a", "bc") and ("ab", "c") differ


def _uuid(*parts: str) -> str:
    return str(uuid.uuid5(_NAMESPACE, _SEPARATOR.join(parts)))


def record_id(account: str, native_id: str, version: str) -> str:
    """Id of one version of one thing in one account."""
    return _uuid("record", account, native_id, version)


def event_id(account: str, kind: str, native_id: str, version: str) -> str:
    """Id of the event that one version of a source thing becomes."""
    return _uuid("event", account, kind, native_id, version)


def trigger_id(rule: str, revision: str, key: str, occurrence: str) -> str:
    """Id of one firing. ``occurrence`` tells firings for the same key apart (a due date, a lead time)."""
    return _uuid("trigger", rule, revision, key, occurrence)


def proposal_id(owner: str, trigger: str) -> str:
    """Same trigger, same proposal."""
    return _uuid("proposal", owner, trigger)


def run_id(proposal: str, plan_version: int) -> str:
    return _uuid("run", proposal, str(plan_version))


def step_uid(proposal: str, plan_version: int, step: str) -> str:
    """Stable for the life of a step; a replan keeps the uid of each step that it keeps."""
    return _uuid("step", proposal, str(plan_version), step)


def idempotency_key(run: str, step: str) -> str:
    """Never per attempt, never from model text; survives restarts. 32 hex digits."""
    return hashlib.sha256(f"{run}{_SEPARATOR}{step}".encode()).hexdigest()[:32]


def command_id(proposal: str, verb: str, nonce: str) -> str:
    return _uuid("command", proposal, verb, nonce)


def entry_id(stream: str, seq: int) -> str:
    """Id of a journal entry: its place in its stream."""
    return _uuid("entry", stream, str(seq))


def memory_id(owner: str, *parts: str) -> str:
    """Id of what is remembered about one scope; a note has the id of the command that told it among its parts."""
    return _uuid("memory", owner, *parts)


def dead_letter_id(source: str, place: str, content: str) -> str:
    return _uuid("dead", source, place, content)


def content_hash(*parts: bytes | str) -> str:
    """sha256 over length-prefixed parts, 64 hex digits."""
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        digest.update(len(raw).to_bytes(8, "big"))
        digest.update(raw)
    return digest.hexdigest()


def digest(value: Any) -> str:
    """sha256 of the canonical JSON (sorted keys, no spaces) of a JSON-able value."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()
