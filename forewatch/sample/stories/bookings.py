"""Bookings that the company moves or cancels, and bookings about which nothing changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from typing import Any, Literal

from forewatch.sample import schema_org
from forewatch.sample.cast import Company
from forewatch.sample.dice import Dice
from forewatch.sample.letter import Letter
from forewatch.sample.marking import notice, silence
from forewatch.sample.post import from_company, newsletter
from forewatch.sample.scene import Scene
from forewatch.sample.speech import Value
from forewatch.sample.stage import Stage, days
from forewatch.sample.telling import Story, told

RULES = ("booking-changed",)
TRADES = {"flight": "travel", "train": "rail", "hotel": "lodging", "restaurant": "table"}
_FARTHEST = 36
"""Days from a confirmation to the beginning, at most."""
TOWNS = ("Graubrunn", "Port Ellery", "Valdemora", "Saint-Aubet", "Nordhaven", "Quintara", "Lakesend", "Brückstadt")


@dataclass(frozen=True, slots=True)
class Booking:
    category: str
    company: Company
    slots: dict[str, Value]
    starts_at: datetime
    person: str
    places: tuple[str, str]

    def data(self, starts_at: datetime, status: Literal["Confirmed", "Cancelled"] = "Confirmed") -> dict[str, Any]:
        length = timedelta(days=2) if self.category == "hotel" else timedelta(hours=2, minutes=10)
        return schema_org.reservation(
            self.category, str(self.slots["code"]), self.person, self.company.name, starts_at, starts_at + length,
            self.places, str(self.slots["number"]), status,
        )  # fmt: skip


def stories(stage: Stage) -> Iterator[Scene]:
    dice = stage.dice["bookings"]
    true: Sequence[Story] = [_moved] * (2 + dice.below(2)) + [_cancelled] * 2 + [_restored] * 2
    quiet: Sequence[Story] = [_reminded] * 3 + [_advertised]
    yield from told(stage, dice, true, quiet, 8, 318)
    for index, stretch in enumerate(stage.stretches(8, 5, 320)):
        yield Scene((_booked(stage, dice["ordinary", index], stretch, (0,))[1],))


def _booked(stage: Stage, dice: Dice, stretch: tuple[int, int], needs: tuple[int, ...]) -> tuple[Booking, Letter]:
    """A booking that begins three to five weeks after its confirmation."""
    category = dice["category"].pick(tuple(TRADES))
    day = stage.place(dice["day"], stretch, {"mail": needs})
    if category == "flight" and stage.is_grounded(day, day + days(_FARTHEST)):
        category = "train"
    ahead = dice["ahead"].between(22, _FARTHEST)
    return booked(stage, dice, category, day, ahead)


def booked(stage: Stage, dice: Dice, category: str, day: date, ahead: int) -> tuple[Booking, Letter]:
    """A booking that is confirmed on ``day`` and begins ``ahead`` days later."""
    company = stage.company("bookings", TRADES[category])
    towns = dice["towns"].shuffled(TOWNS)
    starts_at = stage.at(day + days(ahead), dice["hour"].between(9, 20), dice["minute"].pick((0, 15, 30, 45)))
    slots: dict[str, Value] = {
        "code": stage.number(dice["code"], "@@#@##"),
        "number": f"{company.name[:1].upper()}X{dice['number'].digits(4)}",
        "from": towns[0],
        "to": towns[1],
        "date": starts_at.date(),
        "time": starts_at.time(),
    }
    owner = stage.family.owner
    booking = Booking(category, company, slots, starts_at, f"{owner.first} {owner.surname}", (towns[0], towns[1]))
    jsonld = booking.data(starts_at) if dice["jsonld"].chance(60) else None
    at = stage.moment(day, dice["time"])
    return booking, from_company(stage, dice["confirm"], company, f"booking.{category}", at, slots, jsonld=jsonld)


def _moved(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    wait = dice.between(3, 12)
    booking, confirmed = _booked(stage, dice, stretch, (0, wait))
    day = stage.day_of(confirmed.at) + days(wait)
    new = booking.starts_at + timedelta(minutes=dice.pick((-75, -40, 45, 90, 150)))
    slots = {**booking.slots, "date": new.date(), "time": new.time(), "old_time": booking.starts_at.time()}
    jsonld = booking.data(new) if dice["data"].chance(40) else None
    at = stage.moment(day, dice["later"], (7, 18))
    change = from_company(stage, dice["change"], booking.company, "booking_changed", at, slots, jsonld=jsonld)
    label = notice(name, RULES, (change.message_id,), (day, day + days(4)), booking.company.lang, "a booking is moved")
    return Scene((confirmed, change), labels=(label,))


def _withdrawal(stage: Stage, dice: Dice, booking: Booking, confirmed: Letter, wait: int) -> Letter:
    day = stage.day_of(confirmed.at) + days(wait)
    jsonld = booking.data(booking.starts_at, "Cancelled") if dice["data"].chance(50) else None
    at = stage.moment(day, dice["later"], (7, 18))
    return from_company(stage, dice["cancel"], booking.company, "booking_cancelled", at, booking.slots, jsonld=jsonld)


def _cancelled(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    wait = dice.between(3, 12)
    booking, confirmed = _booked(stage, dice, stretch, (0, wait))
    letter = _withdrawal(stage, dice, booking, confirmed, wait)
    day = stage.day_of(letter.at)
    label = notice(
        name, RULES, (letter.message_id,), (day, day + days(4)), booking.company.lang, "a booking is cancelled"
    )
    return Scene((confirmed, letter), labels=(label,))


def _restored(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    """Cancelled, and confirmed again some days later."""
    wait, again = dice.between(3, 10), dice.between(2, 4)
    booking, confirmed = _booked(stage, dice, stretch, (0, wait, wait + again))
    letter = _withdrawal(stage, dice, booking, confirmed, wait)
    day = stage.day_of(letter.at)
    over = day + days(again)
    jsonld = booking.data(booking.starts_at) if dice["data again"].chance(50) else None
    at = stage.moment(over, dice["again"], (8, 18))
    restored = from_company(stage, dice["restore"], booking.company, "booking_again", at, booking.slots, jsonld=jsonld)
    why = "a booking is cancelled, and confirmed again"
    label = notice(name, RULES, (letter.message_id,), (day, over), booking.company.lang, why, over)
    return Scene((confirmed, letter, restored), labels=(label,))


def _reminded(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    wait = dice.between(12, 20)
    booking, confirmed = _booked(stage, dice, stretch, (0, wait))
    day = stage.day_of(confirmed.at) + days(wait)
    at = stage.moment(day, dice["later"])
    reminder = from_company(stage, dice["remind"], booking.company, "booking_quiet", at, booking.slots)
    items = (confirmed.message_id, reminder.message_id)
    window = (stage.day_of(confirmed.at), day + days(20))
    label = silence(
        name, (*RULES, "due-soon"), items, window, booking.company.lang, "a booking about which nothing changed"
    )
    return Scene((confirmed, reminder), labels=(label,))


def _advertised(stage: Stage, dice: Dice, name: str, stretch: tuple[int, int]) -> Scene:
    company = stage.company("bookings", "travel")
    day = stage.place(dice["day"], stretch, {"mail": (0,)})
    slots: dict[str, Value] = {"soon": day + days(12), "time": time(9)}
    letter = newsletter(from_company(stage, dice, company, "newsletter_offer", stage.moment(day, dice["time"]), slots))
    label = silence(
        name, (*RULES, "due-soon"), (letter.message_id,), (day, day + days(20)), company.lang, "travel on offer"
    )
    return Scene((letter,), labels=(label,))
