"""Memory: what was concluded from a person's own acts, with everything that it rests on."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from schemas.model import Instant, Model
from schemas.value import Integrity, Value

Kind = Literal["preference", "decision", "conclusion", "note"]
Code = Literal["default", "approved", "rejected", "snoozed", "never", "unchanged", "ignored", "note"]
"""default: a value that the person gave for a slot or an argument; approved, rejected, snoozed, never: how they
answered; unchanged: approvals in a row of plans as they were; ignored: interruptions in a row without an answer."""
Standing = Literal["noted", "suggested", "confirmed"]
"""noted: kept and used for nothing; suggested: shown where it fits; confirmed: the person said that it holds."""


class Scope(Model):
    """What a memory is about; empty means any. ``entity`` is the other side: an address, a merchant, a name."""

    rule: str = ""
    entity: str = Field(default="", max_length=320)
    tool: str = ""
    """Empty where ``arg`` is a slot of a playbook."""
    arg: str = ""
    key: str = ""


class Basis(Model):
    """One act that a memory rests on: the journal's entry, the proposal that it was about, and when."""

    entry: str
    stream: str
    at: Instant


class Memory(Model):
    """``support``: how often; for unchanged and ignored: how often in a row. ``text`` is a note's.

    ``integrity`` is the person's own for what they said. ``entity_integrity`` says how far the name of the other side
    may be trusted: it is mostly an outsider's own word, so it finds a memory and is never shown to a model.
    """

    id: str
    kind: Kind
    code: Code
    scope: Scope = Scope()
    value: Value | None = None
    text: str = Field(default="", max_length=500)
    support: int = 1
    first: Instant
    last: Instant
    basis: tuple[Basis, ...] = ()
    """The newest ones, oldest first."""
    events: tuple[str, ...] = ()
    """The sources' events behind the proposals, or those that a note is about."""
    by: Literal["person", "forewatch"] = "person"
    integrity: Integrity = Integrity.USER
    entity_integrity: Integrity = Integrity.UNTRUSTED
    standing: Standing = "noted"
    told: bool = False
    """The person was told what follows from it."""
