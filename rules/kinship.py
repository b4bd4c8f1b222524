"""Kinship: whether two things belong to one matter, by what, and how sure that is (pure)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Literal, NamedTuple

from rules.cel.names import resembles, telling_words
from rules.thing import Thing

How = Literal["told", "name", "number", "reference", "iban", "thread", "similar"]
"""What ties two names: the person's word, a shared name (UID, booking code, tracking number), an invoice number with
its amount or its biller, a payment reference, an account with an amount, a conversation; or likeness."""

RANKS: dict[How, int] = {"told": 0, "name": 1, "number": 2, "reference": 3, "iban": 4, "thread": 5, "similar": 6}
"""Which tie counts first, where not all can."""
_FREE = frozenset(("told", "name", "number"))
"""Ties that hold whatever else the two matters contain."""

NUMBER_DAYS = 120
REFERENCE_DAYS = 30
EARLY_DAYS, LATE_DAYS = 3, 21
"""How long before a bill came, and after it is due, a payment to its account may be for it."""
SIMILAR_DAYS = 14
THRESHOLD = 0.75
WEIGHTS = {"number": 0.4, "party": 0.3, "amount": 0.3, "date": 0.2, "words": 0.2}
"""What each likeness adds; no two of them without a near date reach the threshold, nor a date with words alone."""
_DAY = 3
"""Days that two demands for the same money may lie apart, if no number tells them apart."""


class Part(NamedTuple):
    """One likeness: its name (of a guess with what it adds to the score), what both share, whether they do."""

    name: str
    shared: str
    holds: bool = True


class Tie(NamedTuple):
    """``score`` is 1 for what is no guess. ``parts``: each likeness with its weight, for the account of it."""

    how: How
    score: float
    distance: int
    parts: tuple[Part, ...]


def tie_of(a: Thing, b: Thing) -> Tie | None:
    """Symmetric. Things of one name need none."""
    a, b = (a, b) if (a.name, a.subject) <= (b.name, b.subject) else (b, a)
    if a.name == b.name or (a.family == b.family == "calendar"):
        return None
    distance = min(abs(x - y) for x in a.days for y in b.days)
    number = _bill_number(a, b)
    amount = next((amount for amount in a.amounts if amount in b.amounts), "")
    if a.family == b.family == "bank":
        return _returned(a, b, distance, amount)
    alike = resembles(a.party, b.party)
    if number and distance <= NUMBER_DAYS and (amount or alike):
        other = Part("amount", amount) if amount else Part("party", _shared_party(a, b))
        return Tie("number", 1.0, distance, (Part("number", number), other))
    if amount and distance <= REFERENCE_DAYS and (reference := _shared(a.references, b.references)):
        return Tie("reference", 1.0, distance, (Part("reference", reference), Part("amount", amount)))
    if amount and a.iban and a.iban == b.iban and _pays_in_time(a, b):
        return Tie("iban", 1.0, distance, (Part("iban", a.iban), Part("amount", amount)))
    return _similar(a, b, distance, amount, alike)


def _returned(a: Thing, b: Thing, distance: int, amount: str) -> Tie | None:
    """Two rows are one matter only if one takes the other back."""
    reference = _shared(a.references, b.references)
    if not reference or not amount or distance > REFERENCE_DAYS or a.outflow == b.outflow:
        return None
    return Tie("reference", 1.0, distance, (Part("reference", reference), Part("amount", amount)))


def _pays_in_time(a: Thing, b: Thing) -> bool:
    bill, row = (a, b) if b.family == "bank" else (b, a)
    if row.family != "bank":
        return a.due is not None and b.due is not None and abs(a.due - b.due) <= _DAY
    return bill.day - EARLY_DAYS <= row.day <= max(bill.day, bill.due or bill.day) + LATE_DAYS


def _similar(a: Thing, b: Thing, distance: int, amount: str, alike: bool) -> Tie | None:
    """Two mails are similar only if both name the same day to pay by: receipts of one shop are not one matter."""
    if distance > SIMILAR_DAYS:
        return None
    if a.family == b.family and (a.due is None or a.due != b.due):
        return None
    words = _shared_words(a, b)
    found = {
        "number": (float(bool(_shared(a.numbers, b.numbers))), _shared(a.numbers, b.numbers)),
        "party": (float(alike), _shared_party(a, b) if alike else ""),
        "amount": (float(bool(amount)), amount),
        "date": (1 - distance / (SIMILAR_DAYS + 1), f"{distance} days apart"),
        "words": (min(1.0, len(words) / 2), " ".join(sorted(words))),
    }
    score = round(min(1.0, sum(WEIGHTS[name] * value for name, (value, _) in found.items())), 4)
    if score < THRESHOLD or not (alike or found["number"][0]):
        return None
    parts = tuple(
        Part(f"{name} (adds {round(WEIGHTS[name] * value, 4):g} of {WEIGHTS[name]:g})", shown, value > 0)
        for name, (value, shown) in found.items()
    )
    return Tie("similar", score, distance, parts)


def _shared(ours: Iterable[str], theirs: Iterable[str]) -> str:
    return next((each for each in ours if each in theirs), "")


def _bill_number(a: Thing, b: Thing) -> str:
    """The number of the bill of one of them, which the other one names."""
    return (a.bill if a.bill and a.bill in b.numbers else "") or (b.bill if b.bill and b.bill in a.numbers else "")


def _shared_party(a: Thing, b: Thing) -> str:
    shared = telling_words(a.party) & telling_words(b.party)
    return " ".join(sorted(shared)) or f"{a.party[:60]} / {b.party[:60]}"


def _shared_words(a: Thing, b: Thing) -> frozenset[str]:
    """Of the titles, beside the names of the parties."""
    names = " ".join(thing.party for thing in (a, b) if thing.family != "calendar")
    return (telling_words(a.title) & telling_words(b.title)) - telling_words(names)


# --- what one matter may hold --------------------------------------------------------------------------------------


def may_join(how: How, ours: Iterable[Thing], theirs: Iterable[Thing]) -> bool:
    """Whether a tie of this kind may make one matter of both: one bill, one payment."""
    if how in _FREE:
        return True
    ours, theirs = list(ours), list(theirs)
    if how == "thread":
        return not any(a.bill and b.bill and a.bill != b.bill for a in ours for b in theirs)
    if any(map(_pays, ours)) and any(map(_pays, theirs)):
        return any(a.family == "bank" and b.family == "bank" and a.outflow != b.outflow for a in ours for b in theirs)
    return all(_one_demand(a, b) for a in filter(_demands, ours) for b in filter(_demands, theirs))


def _pays(thing: Thing) -> bool:
    return thing.family == "bank" and not thing.reversal


def _demands(thing: Thing) -> bool:
    return thing.family in ("mail", "record") and (thing.bill is not None or bool(thing.amounts))


def _one_demand(a: Thing, b: Thing) -> bool:
    if a.bill and b.bill:
        return a.bill == b.bill
    if a.due is not None and b.due is not None:
        return abs(a.due - b.due) <= _DAY
    return abs(a.day - b.day) <= _DAY


def paid_amounts(things: Iterable[Thing], since: int) -> Iterator[Decimal]:
    """What left an account for this matter from that day on, and was not taken back."""
    rows = [thing for thing in things if thing.family == "bank" and thing.amounts]
    back = {thing.amounts[0] for thing in rows if thing.reversal or not thing.outflow}
    for row in rows:
        if row.outflow and row.kind == "bank.posted" and row.day >= since and row.amounts[0] not in back:
            yield Decimal(row.amounts[0].partition(" ")[0])
