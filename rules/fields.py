"""The fields of an event that rules may read, derived from the schema, with the code that reads each of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from functools import cache, lru_cache, partial
from types import MappingProxyType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin
from zoneinfo import ZoneInfo

from pydantic import AwareDatetime, BaseModel

from rules.cel.types import Field, Type
from schemas import clock, fact, payloads
from schemas.event import KINDS, Event
from schemas.fact import MAIN
from schemas.money import Money
from schemas.quiet import WEEKDAYS

TRIGGER = "trigger."
"""Prefix of what the case read from its own event, inside ``unless`` and ``absence.of``."""

ROLES = ("from", "to", "cc", "organizer", "attendee", "payee", "payer", "issuer")
_PARTY_FIELDS = ("name", "address", "domain")

_HIDDEN = frozenset(("parties", "facts", "payload", "owner", "kind", "type", "span", "warnings"))
_NOMINAL = {
    "account": "AccountId", "id": "EventId", "uid": "EventId", "message_id": "MessageId", "iban": "Iban", "url": "Url",
    "counterparty_iban": "Iban", "bank_account": "Iban", "organizer": "Email",
}  # fmt: skip
_WEIGHTS = {
    "subject": 9, "matter": 9, "thread": 9, "message_id": 9, "uid": 9, "address": 8, "domain": 7, "merchant": 7,
    "counterparty": 7, "counterparty_iban": 8, "account": 3, "source": 2, "title": 6, "purpose": 6, "list_id": 6,
}  # fmt: skip


class Missing:
    """Stands for a payload, fact or party that is not there: all of its attributes are None."""

    def __getattr__(self, name: str) -> None:
        return None


NOTHING = Missing()


def family(kind: str) -> str:
    """The tag of the payload that events of this kind have."""
    if kind == "bank.balance":
        return "balance"
    return kind.partition(".")[0]


PAYLOADS: dict[str, type[BaseModel]] = {
    model.model_fields["type"].default: model
    for model in (
        payloads.MailPayload, payloads.CalendarPayload, payloads.BankPayload, payloads.BalancePayload,
        payloads.RowPayload, payloads.AccountPayload, payloads.RunPayload, payloads.ServicePayload,
        payloads.ClockPayload, payloads.RulesPayload, payloads.MatterPayload,
    )
}  # fmt: skip
_FACTS: dict[str, type[BaseModel]] = {
    model.model_fields["kind"].default: model for model in get_args(get_args(fact.Fact)[0])
}


def is_kind(kind: str) -> bool:
    return kind in KINDS or (kind.startswith("record.") and len(kind) > len("record."))


# --- reading an event --------------------------------------------------------------------------------------------

_RANK = {"from": 0, "organizer": 1, "payee": 1, "payer": 1, "issuer": 2, "to": 3, "attendee": 4, "cc": 5}


def main_party(event: Any) -> Any:
    """Whom the event is with: the sender, of a sent mail the first recipient, the organizer, the payee or payer."""
    parties = event.parties
    if not parties:
        return NOTHING
    if event.kind == "mail.sent":
        return next((party for party in parties if party.role == "to"), parties[0])
    return parties[0] if parties[0].role == "from" else min(parties, key=_rank)


def _rank(party: Any) -> int:
    return _RANK.get(party.role, 9)


def party_of_role(event: Any, role: str) -> Any:
    return next((party for party in event.parties if party.role == role), NOTHING)


def first_facts(event: Any) -> Mapping[str, Any]:
    """The first fact of each kind."""
    found: dict[str, Any] = {}
    for item in event.facts:
        found.setdefault(item.kind, item)
    return found


def payload_of(event: Any) -> Any:
    """The payload, if it is the one that the event's kind has."""
    payload = event.payload
    return payload if payload is not None and payload.type == family(event.kind) else NOTHING


def day_reader(zone: ZoneInfo) -> Callable[[date | None], datetime | None]:
    """Local days as their first instants, for comparison with instants; none for a day that is no plausible one."""

    @lru_cache(maxsize=4096)
    def start(day: date) -> datetime | None:
        return clock.start_of_day(day, zone) if clock.is_plausible(day) else None

    return lambda day: None if day is None else start(day)


def plausible(instant: datetime | None) -> datetime | None:
    """A text from outside may speak of the year 9999."""
    return instant if instant is not None and clock.is_plausible(instant) else None


def _weekday(zone: ZoneInfo, instant: Any) -> str | None:
    return WEEKDAYS[instant.astimezone(zone).weekday()] if isinstance(instant, datetime) else None


def _hour(zone: ZoneInfo, instant: Any) -> int | None:
    return instant.astimezone(zone).hour if isinstance(instant, datetime) else None


PARAMETERS = "e, p, F, t"
"""What generated code reads: the event, its payload, its first facts, the values of a case (``trigger.*``)."""


def scope(zone: ZoneInfo) -> dict[str, Any]:
    """The globals that the ``code`` of fields needs."""
    return {"NO": NOTHING, "EMPTY": MappingProxyType({}), "party": main_party, "role": party_of_role,
            "day": day_reader(zone), "instant": plausible,
            "weekday": partial(_weekday, zone), "hour": partial(_hour, zone)}  # fmt: skip


# --- deriving fields from the models -----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Shape:
    type: Type
    optional: bool = False
    choices: tuple[str, ...] = ()
    nominal: str = "Text"
    is_day: bool = False


_SHAPES: dict[Any, _Shape] = {
    str: _Shape("string"),
    bool: _Shape("bool", nominal="Bool"),
    int: _Shape("int", nominal="Number"),
    float: _Shape("double", nominal="Number"),
    Decimal: _Shape("double", nominal="Number"),
    Money: _Shape("money", nominal="Money"),
    datetime: _Shape("timestamp", nominal="DateTime"),
    AwareDatetime: _Shape("timestamp", nominal="DateTime"),
    date: _Shape("timestamp", nominal="Date", is_day=True),
}


def _shape(annotation: Any) -> _Shape:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _shape(get_args(annotation)[0])
    if origin in (Union, UnionType):
        inner = [arg for arg in get_args(annotation) if arg is not type(None)]
        return replace(_shape(inner[0]), optional=True) if len(inner) == 1 else _Shape("dyn", optional=True)
    if origin is Literal:
        return _Shape("string", choices=tuple(map(str, get_args(annotation))))
    if origin is tuple:
        return _Shape("list")
    return _SHAPES.get(annotation, _Shape("dyn", optional=True))


def _field(name: str, leaf: str, holder: str, shape: _Shape, *, optional: bool, of_fact: str = "") -> Field:
    """``holder`` is the code of the object that has the attribute ``leaf``."""
    code = f"{holder}.{leaf}"
    is_checked = shape.type != "timestamp" or leaf in ("occurred_at", "observed_at")
    shown = code if is_checked else f"day({code})" if shape.is_day else f"instant({code})"
    by_size = shape.type in ("string", "list")
    weight = 0 if shape.type == "bool" else 1 if shape.choices else _WEIGHTS.get(leaf, 4)
    return Field(
        name,
        shape.type,
        shown,
        code if by_size else f"{code} is not None",
        optional or shape.optional,
        shape.choices,
        _NOMINAL.get(leaf, shape.nominal) if shape.type == "string" else shape.nominal,
        weight,
        of_fact,
    )


def _model_fields(
    model: type[BaseModel], prefix: str, holder: str, *, optional: bool, of_fact: str = ""
) -> Iterator[Field]:
    for leaf, info in model.model_fields.items():
        if leaf not in _HIDDEN:
            shape = _shape(info.annotation)
            yield _field(f"{prefix}{leaf}", leaf, holder, shape, optional=optional, of_fact=of_fact)


def _party_fields() -> Iterator[Field]:
    for prefix, holder in (("party", "party(e)"), *((f"party.{role}", f'role(e, "{role}")') for role in ROLES)):
        for leaf in _PARTY_FIELDS:
            shape = _Shape("string", nominal="Email" if leaf == "address" else "Text")
            yield _field(f"{prefix}.{leaf}", leaf, holder, shape, optional=True)
        bare = f"({holder}.address or {holder}.name)"
        yield Field(prefix, "string", bare, bare, nominal="Text", weight=8)


def _fact_fields() -> Iterator[Field]:
    for kind, model in _FACTS.items():
        fields = list(_model_fields(model, f"fact.{kind}.", f'F.get("{kind}", NO)', optional=True, of_fact=kind))
        yield from fields
        main = next(field for field in fields if field.name == f"fact.{kind}.{MAIN[kind]}")
        yield replace(main, name=f"fact.{kind}", presence=f'"{kind}" in F')


@cache
def _common() -> dict[str, Field]:
    own = list(_model_fields(Event, "", "e", optional=False))
    kind = Field("kind", "string", "e.kind", "True", optional=False, weight=1)
    return {field.name: field for field in (*own, kind, *_party_fields(), *_fact_fields())}


@cache
def fields_of(kind_family: str) -> Mapping[str, Field]:
    """All fields by name; those of the payload also without ``payload.`` where no other field has that name."""
    fields = dict(_common())
    model = PAYLOADS.get(kind_family)
    for field in _model_fields(model, "payload.", "p", optional=True) if model else ():
        fields[field.name] = field
        fields.setdefault(field.name.removeprefix("payload."), field)
    return MappingProxyType(fields)


_LEFT_OUT = frozenset((
    "observed_at", "all_day", "record", "text", "version", "op", "source", "zone", "wall_start", "wall_end", "kind",
    "party",
    "payload.references", "payload.attachments", "payload.flags", "payload.content_key", "payload.date_source",
    "payload.description", "payload.folder", "payload.unsubscribe", "payload.in_reply_to", "payload.fields",
))  # fmt: skip


def _is_kept(field: Field) -> bool:
    leaf = field.name.rpartition(".")[2]
    bare_role = (
        field.name.startswith("party.") and field.name.count(".") == 1 and leaf not in ("name", "address", "domain")
    )
    return field.name not in _LEFT_OUT and leaf not in ("origin", "certainty") and not bare_role


@cache
def kept_fields(kind_family: str) -> tuple[Field, ...]:
    """The fields whose values go with a trigger, and that ``trigger.*`` can read."""
    fields = fields_of(kind_family)
    return tuple(field for name, field in fields.items() if name == field.name and _is_kept(field))


class EventFields:
    """The environment of an expression over events of some kinds.

    A field that only other kinds of the rule have is missing on the kind at hand. ``payload.fields.x`` of a record is
    known only when it is read.
    """

    def __init__(
        self,
        kinds: Iterable[str],
        case_kinds: Iterable[str] = (),
        *,
        here: str = "",
        later: Sequence[Iterable[str]] = (),
    ) -> None:
        """``here``: the family of the kind at hand; by default that of the first kind. ``later``: the kinds of each
        step after the first, where the case is about a sequence."""
        self._families = list(dict.fromkeys(map(family, kinds)))
        self._here = here or self._families[0]
        self._case_families = list(dict.fromkeys(map(family, case_kinds)))
        self._later = [list(dict.fromkeys(map(family, kinds))) for kinds in later]

    def field(self, name: str) -> Field | None:
        if name.startswith(TRIGGER) and self._case_families:
            return self._of_case(name)
        found = _find(name, self._here)
        if found is not None:
            return found
        for other in self._families:
            elsewhere = _find(name, other)
            if elsewhere is not None:
                return replace(elsewhere, code="None", presence="False", optional=True)
        return None

    def _of_case(self, name: str) -> Field | None:
        """``trigger.amount`` of the event that opened the case, ``trigger.step2.amount`` of a later step."""
        path, prefix, families = name.removeprefix(TRIGGER), "", self._case_families
        step = re.match(r"step([2-9])\.", path)
        if step is not None:
            number = int(step[1]) - 2
            path, prefix = path[step.end() :], step[0]
            families = self._later[number] if number < len(self._later) else []
        return next((found for one in families if (found := _kept(path, one, prefix)) is not None), None)

    def names(self) -> Iterable[str]:
        yield from (name for one in self._families for name in fields_of(one))
        yield from (TRIGGER + field.name for one in self._case_families for field in kept_fields(one))
        for number, families in enumerate(self._later, 2):
            yield from (f"{TRIGGER}step{number}.{field.name}" for one in families for field in kept_fields(one))


class StepFields(EventFields):
    """The environment of a step of a sequence: it may read the steps before it, the first as ``first.*`` too."""

    def __init__(self, kinds: Iterable[str], earlier: Sequence[Iterable[str]], *, here: str) -> None:
        """``earlier``: the kinds of each step before this one."""
        super().__init__(kinds, here=here)
        self._earlier = [list(dict.fromkeys(map(family, kinds))) for kinds in earlier]

    def field(self, name: str) -> Field | None:
        head, _, rest = name.partition(".")
        number = 1 if head == "first" else int(head[4:]) if re.fullmatch(r"step[1-9]", head) else 0
        if not number or not rest:
            return super().field(name)
        families = self._earlier[number - 1] if number <= len(self._earlier) else ()
        prefix = "" if number == 1 else f"step{number}."
        return next((found for one in families if (found := _kept(rest, one, prefix)) is not None), None)

    def names(self) -> Iterable[str]:
        yield from super().names()
        for number, families in enumerate(self._earlier, 1):
            prefix = "first" if number == 1 else f"step{number}"
            yield from (f"{prefix}.{field.name}" for one in families for field in kept_fields(one))


def _kept(name: str, kind_family: str, prefix: str) -> Field | None:
    """The field as the values of a case have it, under ``prefix``."""
    found = _find(name, kind_family)
    if found is None or not _is_kept(found):
        return None
    code = f't.get("{prefix}{found.name}")'
    return replace(
        found, name=f"{TRIGGER}{prefix}{found.name}", code=code, presence=f"{code} is not None", optional=True
    )


def _find(name: str, kind_family: str) -> Field | None:
    found = fields_of(kind_family).get(name)
    prefix = "payload.fields."
    if found is None and kind_family == "record" and name.startswith(prefix) and "." not in name[len(prefix) :]:
        code = f'(p.fields or EMPTY).get("{name[len(prefix) :]}")'
        return Field(name, "dyn", code, f"{code} is not None", weight=5)
    return found
