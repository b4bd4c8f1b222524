"""What a person tells the memory itself: remember, keep, correct, forget; each one entry, or a refusal."""

from __future__ import annotations

from datetime import datetime

from actions import nominal
from actions.journal import Draft
from actions.memory.lessons import note_text
from actions.memory.remembering import STREAM, memory_id
from actions.proposal.book import Book
from schemas.command import Command
from schemas.errors import Refused
from schemas.journal import EntryType
from schemas.memory import Memory, Scope
from schemas.model import Json
from schemas.value import Integrity, Value


def obey(book: Book, command: Command, now: datetime) -> Draft:
    """Refused for what cannot be: an unknown memory, a value of another type, nothing said."""
    match command.verb:
        case "remember":
            return _draft("memory.noted", command, now, _noted(book, command))
        case "keep":
            known = _known(book, command)
            if known.code != "default":
                raise Refused("only a preference can be kept", code="bad_argument", remedy="a note holds already")
            return _draft("memory.kept", command, now, {"memory": known.id})
        case "correct":
            known = _known(book, command)
            return _draft("memory.corrected", command, now, {"memory": known.id, **_correction(known, command)})
        case "forget":
            return _draft("memory.forgotten", command, now, {"memory": _known(book, command).id})
    raise Refused(
        f"the memory knows no {command.verb!r}", code="bad_argument", remedy="say remember, keep, correct or forget"
    )


def _draft(type_: EntryType, command: Command, now: datetime, body: dict[str, Json]) -> Draft:
    return Draft(STREAM, type_, now, f"person:{command.who}", command.id, {**body, "channel": command.channel})


def _noted(book: Book, command: Command) -> dict[str, Json]:
    entity = str(command.args.get("entity") or "").strip().casefold()
    if len(entity) > 320:
        raise Refused("that is no other side", code="bad_argument", remedy="give an address, a merchant or a name")
    scope = Scope(rule=str(command.args.get("rule") or ""), entity=entity)
    events = command.args.get("events")
    return {
        "memory": memory_id(book.owner, "note", Scope(), command.id),
        "text": _text(command),
        "scope": scope.model_dump(mode="json"),
        "events": [str(event) for event in events] if isinstance(events, list) else [],
    }


def _text(command: Command) -> str:
    text = note_text(str(command.args.get("text") or ""))
    if not text:
        raise Refused("nothing was said", code="bad_argument", remedy="say what to remember, in words")
    return text


def _known(book: Book, command: Command) -> Memory:
    wanted = str(command.args.get("memory") or "")
    known = book.memory.get(wanted)
    if known is None:
        raise Refused(f"there is no memory {wanted!r}", code="unknown_memory", remedy="see 'forewatch memory list'")
    return known


def _correction(known: Memory, command: Command) -> dict[str, Json]:
    if known.code == "note":
        return {"text": _text(command)}
    if known.code != "default" or known.value is None:
        raise Refused(
            "what you did cannot be corrected, only forgotten",
            code="bad_argument",
            remedy="use 'forewatch memory forget'",
        )
    given = command.args.get("value")
    wrong = nominal.fault(known.value.type, given)
    if wrong:
        raise Refused(f"the value {wrong}", code="bad_value", remedy="correct it")
    value = Value(v=given, type=known.value.type, integrity=Integrity.USER, how="user")
    return {"value": value.model_dump(mode="json")}
