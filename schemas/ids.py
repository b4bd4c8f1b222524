"""Deterministic ids: the same source always gives the same id, so a replay adds nothing (law L2)."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable
from functools import cache
from typing import Any

_NAMESPACE = uuid.UUID("6f0f3c1e-6a4c-5b5e-9d0a-f03e3a7c4b11").bytes
_SEPARATOR = "\x1f"  # cannot be typed by accident, so ("a", "bc") and ("ab", "c") differ


def _uuid(*parts: str) -> str:
    """``uuid.uuid5`` of the joined parts, written out: every entry of the journal has one, at a third of the time."""
    name = _NAMESPACE + _SEPARATOR.join(parts).encode()
    raw = bytearray(hashlib.sha1(name, usedforsecurity=False).digest()[:16])
    raw[6] = raw[6] & 0x0F | 0x50  # version 5
    raw[8] = raw[8] & 0x3F | 0x80  # of RFC 9562
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


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
    return hashlib.sha256(_CANONICAL.encode(value).encode()).hexdigest()


def digest_of_json(text: bytes) -> str:
    """The ``digest`` of the value that this JSON tells, many times as fast: what is hashed is the same to the byte."""
    read, write = _canonical_json()
    try:
        return hashlib.sha256(write(read(text))).hexdigest()
    except OverflowError:  # an integer beyond 64 bits
        return digest(json.loads(text))


_CANONICAL = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False)


@cache
def _canonical_json() -> tuple[Callable[[bytes], Any], Callable[[Any], bytes]]:
    """Python and msgspec write some floats differently (1e+16, 1e16), so each goes through as Python writes it."""
    import msgspec

    as_python = lambda text: msgspec.Raw(repr(float(text)).encode())  # noqa: E731
    return msgspec.json.Decoder(float_hook=as_python).decode, msgspec.json.Encoder(order="sorted").encode
