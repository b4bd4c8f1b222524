"""Provenance in words: where a value comes from, whether it was used before, and the trusted one beside it."""

from __future__ import annotations

from actions.nominal import display
from actions.plain import clean
from actions.policy.circumstances import Circumstances
from actions.policy.destination import canonical, is_destination
from schemas.value import Integrity, Value

NAMES: dict[str, str] = {
    "Email": "mail address", "Iban": "account number", "Money": "amount", "Url": "web address",
    "FileName": "file name", "FilePath": "file path", "MessageId": "message", "EventId": "appointment",
}  # fmt: skip


def is_outside(value: Value) -> bool:
    """Chosen by somebody else's words, and not taken over by the person."""
    return value.integrity == Integrity.UNTRUSTED and value.how != "endorsed"


def says(name: str, value: Value, scene: Circumstances) -> str:
    """A value from outside as a confirmation shows it: what, from where in which words, and what speaks for another."""
    told = f"the {NAMES.get(value.type, name)} {quoted(value)} {origin(value)}"
    return "; ".join([told, *_history(value, scene)])


def quoted(value: Value) -> str:
    return f"“{clean(display(value.type, value.v), 80)}”" if value.v is not None else "(known only later)"


def origin(value: Value) -> str:
    """Where an untrusted value came from, with the words around it. A model's own word has no source but the model."""
    if value.how == "planner_literal":
        return "is the planning model's own word: neither you nor a rule of yours said it"
    where = f" ({clean(value.sources[0], 60)})" if value.sources else ""
    if value.span:
        return f"comes from outside text{where}: “{clean(value.span.quote, 120)}”"
    return f"comes from outside text{where}"


def _history(value: Value, scene: Circumstances) -> list[str]:
    """What the person's own acts tell of a destination; nothing where nobody has asked the journal."""
    if scene.known is None or value.v is None or not is_destination(value):
        return []
    word = NAMES[value.type]
    before = scene.known.get((value.type, canonical(value)))
    if before is not None:
        return [f"you have used this {word} {before.times} times, last on {before.last:%Y-%m-%d}"]
    usual = scene.usual.get(value.type)
    found = [f"you have never used this {word}"]
    if usual is not None and canonical(value) != canonical(value.model_copy(update={"v": usual})):
        found.append(f"your saved {word} for {clean(scene.about, 60)} is “{clean(display(value.type, usual), 80)}”")
    return found
