"""Thing: what a matter remembers of one mail, entry or bank row, so that another event can be found to belong to it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Any, Literal

import msgspec

from rules.fields import family, main_party
from schemas import matter
from schemas.event import Trust

Family = Literal["mail", "calendar", "bank", "record"]
_FAMILIES = frozenset(("mail", "calendar", "bank", "record"))
_MOST = 12
"""Numbers, words and amounts that are kept of one thing."""
_DAYS_KEPT = 200
_NUMBER = re.compile(r"[A-Za-z0-9][A-Za-z0-9./_-]*\d[A-Za-z0-9./_-]*[A-Za-z0-9]")
_YEARS = re.compile(r"(?:19|20)\d\d|\d{1,4}[./-]\d{1,2}[./-]\d{1,4}")
_PARCEL_WORDS = ("racking", "endung", "aketn", "uivi", "eguimiento")
"""Without their first letters, which may be large."""
_PARCEL = re.compile(
    r"(?:tracking\s+(?:number|no|id|code)|sendungs(?:verfolgungs)?(?:nummer|-?nr)|paket(?:nummer|-?nr)"
    r"|(?:num[ée]ro|n[°º]) de suivi|(?:n[úu]mero|n[°º]|c[óo]digo) de seguimiento)"
    r"(?:\s+(?:lautet|ist|is|est|es))?[^A-Za-z0-9]{1,20}([A-Z0-9]{8,35})\b",
    re.IGNORECASE,
)
_PARCEL_WITHIN = 4000
"""Characters of a text in which a tracking number is looked for."""
_NO_REFERENCE = frozenset(("", "NOTPROVIDED", "NOTAVAILABLE", "NONREF", "NULL", "0"))


class Thing(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    """``name``: the matter that its event named. ``names``: further names of the same matter (a thread, a UID).

    ``day`` and ``days`` are ordinals of UTC days: when it occurred; and with it when it is due, begins, takes effect.
    ``amounts`` are without a sign, the main one first; ``bill`` is the number of a demand for money, "" for one that
    has none, None for what demands nothing. ``order`` counts what was seen.
    """

    subject: str
    event: str
    account: str
    family: Family
    kind: str
    title: str
    trust: Trust
    at: datetime
    order: int
    name: str
    names: list[str]
    day: int
    days: list[int]
    amounts: list[str] = []
    bill: str | None = None
    due: int | None = None
    iban: str = ""
    references: list[str] = []
    numbers: list[str] = []
    party: str = ""
    outflow: bool = False
    reversal: bool = False

    @property
    def until(self) -> int:
        """The day after which it is forgotten."""
        return max(self.days) + _DAYS_KEPT


def thing_of(event: Any, order: int) -> Thing | None:
    """None for an event that has nothing by which another one could be found to belong to it."""
    tag = family(event.kind)
    if tag not in _FAMILIES or event.matter is None or event.kind.endswith(".removed"):
        return None
    payload, facts = event.payload, event.facts
    if tag == "mail" and not facts and not _has_parcel_word(event):
        return None
    bill = next((fact for fact in facts if fact.kind == "invoice" and tag != "bank"), None)
    amounts = list(dict.fromkeys(_amounts(event, tag)))[:4]
    names = list(dict.fromkeys(name for name in _names(event, tag, payload) if name != event.matter))
    is_list = tag == "mail" and payload is not None and bool(payload.list_id or payload.unsubscribe)
    if is_list and not any(fact.kind in ("invoice", "reservation", "change", "invitation") for fact in facts):
        return None  # a newsletter: its prices are nobody's bill
    numbers = list(dict.fromkeys(_numbers(event, tag, payload)))[:_MOST]
    if not (amounts or numbers or names):
        return None
    days = sorted({at.toordinal() for at in _days(event)})
    due = (bill.due if bill is not None and bill.due else None) or (event.due_at.date() if event.due_at else None)
    return Thing(
        subject=event.subject,
        event=event.id,
        account=event.account,
        family=tag,  # type: ignore[arg-type]  # one of _FAMILIES
        kind=event.kind,
        title=event.title[:120],
        trust=event.trust,
        at=event.occurred_at,
        order=order,
        name=event.matter,
        names=names,
        day=event.occurred_at.date().toordinal(),
        days=days,
        amounts=amounts,
        bill=None if bill is None else matter.code(bill.number or ""),
        due=due.toordinal() if due else None,
        iban=_iban(bill, payload, tag),
        references=list(dict.fromkeys(_references(bill, payload, tag))),
        numbers=numbers,
        party=" ".join(dict.fromkeys(_party(event, tag, bill, payload)))[:200],
        outflow=tag == "bank" and event.amount is not None and event.amount.amount < 0,
        reversal=tag == "bank" and payload is not None and payload.reversal,
    )


def names_of(event: Any) -> set[str]:
    """Every name of a matter that the event may have brought."""
    thing = thing_of(event, 0)
    return {name for name in (event.matter, *(thing.names if thing is not None else ())) if name is not None}


def parcels(event: Any) -> Iterator[str]:
    """Tracking numbers that the words of a mail name."""
    if _has_parcel_word(event):
        for found in _PARCEL.finditer(f"{event.title}\n{event.text[:_PARCEL_WITHIN]}"):
            if sum(letter.isdigit() for letter in found[1]) >= 4:
                yield found[1]


def _has_parcel_word(event: Any) -> bool:
    title, text = event.title, event.text
    return any(word in title or text.find(word, 0, _PARCEL_WITHIN) >= 0 for word in _PARCEL_WORDS)


def _names(event: Any, tag: str, payload: Any) -> Iterator[str]:
    if tag == "mail":
        yield from (matter.parcel(number) for number in parcels(event))
        if payload is not None and payload.thread and not payload.list_id:
            yield matter.thread(payload.thread)
    yield from (matter.calendar(fact.uid) for fact in event.facts if fact.kind == "invitation")
    codes = {fact.code for fact in event.facts if fact.kind == "reservation" and fact.code}
    if len(codes) == 1:
        yield matter.booking(codes.pop())


def _amounts(event: Any, tag: str) -> Iterator[str]:
    if event.amount is not None and tag != "record":
        yield _plain(event.amount)
    for fact in event.facts:
        money = getattr(fact, "amount", None) or (fact.new if fact.kind == "change" else None)
        if money is not None and getattr(fact, "role", "") != "mention":
            yield _plain(money)
    if event.amount is not None and tag == "record":
        yield _plain(event.amount)


def _plain(money: Any) -> str:
    """Equal money has equal text (schemas.money)."""
    return f"{money.amount:f} {money.currency}".removeprefix("-")


def _numbers(event: Any, tag: str, payload: Any) -> Iterator[str]:
    """Of facts as they are; of titles and purposes what looks like a number of something, and not like a day."""
    for fact in event.facts:
        number = fact.number if fact.kind in ("invoice", "resolution") else None
        if number and len(number) >= 4:
            yield matter.code(number)
    words = f"{event.title} {payload.purpose}" if tag == "bank" and payload is not None else event.title
    for found in _NUMBER.findall(words):
        if len(found) >= 4 and not _YEARS.fullmatch(found) and sum(letter.isdigit() for letter in found) >= 3:
            yield matter.code(found)


def _days(event: Any) -> Iterator[Any]:
    yield event.occurred_at.date()
    if event.due_at is not None:
        yield event.due_at.date()
    if event.starts_at is not None:
        yield event.starts_at.date()
    for fact in event.facts:
        day = fact.due if fact.kind == "invoice" else fact.on if fact.kind in ("change", "due", "expiry") else None
        if day is not None:
            yield day


def _iban(bill: Any, payload: Any, tag: str) -> str:
    found = payload.counterparty_iban if tag == "bank" and payload is not None else bill.iban if bill else None
    return (found or "").replace(" ", "").upper()


def _references(bill: Any, payload: Any, tag: str) -> Iterator[str]:
    found = (payload.end_to_end_id, payload.mandate_id) if tag == "bank" and payload is not None else ()
    for text in (*found, bill.reference if bill else None):
        reference = matter.code(text or "")
        if reference not in _NO_REFERENCE and len(reference) >= 4:
            yield reference


def _party(event: Any, tag: str, bill: Any, payload: Any) -> Iterator[str]:
    """Names by which the other side is known; a calendar entry knows it by its title alone."""
    if tag == "calendar":
        yield event.title
        return
    party = main_party(event)
    yield from (name for name in (party.name, matter.speaking(party.domain or "").partition(".")[0]) if name)
    if tag == "bank" and payload is not None:
        yield from (name for name in (payload.counterparty, payload.merchant) if name)
    if bill is not None and bill.issuer:
        yield bill.issuer
