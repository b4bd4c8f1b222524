"""Standing permissions: what the person allows ahead of time, for one tool and one destination, up to a cap, until a
day. Only a person makes one, and one bad outcome loses it (law L3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Literal
from zoneinfo import ZoneInfo

from pydantic import Field

from actions.nominal import display
from actions.policy.acts import Act, Acts
from schemas.clock import local_day
from schemas.model import Instant, Model
from schemas.money import Money

Period = Literal["day", "week", "month"]
SPANS: Mapping[Period, timedelta] = {"day": timedelta(days=1), "week": timedelta(days=7), "month": timedelta(days=31)}
"""The span that ends now; a calendar's month would let two months' sums meet on its last and first day."""
LONGEST = timedelta(days=366)
"""A permission ends within a year: what nobody looks at again must not stand for ever."""


class Permission(Model):
    """``cap`` bounds one act, ``cap_period`` and ``times`` all acts within ``period``."""

    id: str
    tool: str
    type: str
    """Nominal type of the destination: Email, Iban or Url."""
    to: str
    """The destination, in canonical spelling."""
    cap: Money | None = None
    cap_period: Money | None = None
    times: int = Field(default=1, ge=1, le=100)
    period: Period = "month"
    expires_at: Instant
    by: str
    channel: str = ""
    made_at: Instant

    def says(self, zone: ZoneInfo) -> str:
        """In plain words, for the person, by whose clock ``zone`` is."""
        sums = [f"up to {_money(self.cap)} each"] * bool(self.cap)
        sums += [f"{_money(self.cap_period)} a {self.period}"] * bool(self.cap_period)
        much = ", ".join([*sums, f"{self.times} time{'s' * (self.times > 1)} a {self.period}"])
        return f"{self.tool} to {display(self.type, self.to)}, {much}, until {local_day(self.expires_at, zone)}"


@dataclass(slots=True)
class Standing:
    """A permission as it stands. ``lost``: why it does no longer; the first reason stays."""

    permission: Permission
    lost: str = ""
    lost_at: datetime | None = None

    def lose(self, at: datetime, reason: str) -> None:
        if not self.lost:
            self.lost, self.lost_at = reason, at

    def stands(self, now: datetime) -> bool:
        return not self.lost and now < self.permission.expires_at


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a step is about to do: each destination as (type, canonical), and the sum of money, if any."""

    step: str
    tool: str
    destinations: frozenset[tuple[str, str]]
    amount: Money | None


def covering(standing: Iterable[Standing], acts: Acts, wanted: Wanted, now: datetime) -> Permission | None:
    """The first permission that covers this act; None if none does, or for an act without a destination."""
    found = (one.permission for one in standing if one.stands(now))
    return next((one for one in found if _covers(one, acts, wanted, now)), None)


def _covers(permission: Permission, acts: Acts, wanted: Wanted, now: datetime) -> bool:
    if wanted.tool != permission.tool or wanted.destinations != {(permission.type, permission.to)}:
        return False
    lately = acts.since(now - SPANS[permission.period])
    before = [act for act in lately if _counts(permission, act, wanted, now)]
    if len(before) >= permission.times:
        return False
    if wanted.amount is None:
        return permission.cap is None
    if permission.cap is None or not _within(permission.cap, wanted.amount.amount, wanted.amount.currency):
        return False
    if permission.cap_period is None:
        return True
    spent = sum((act.amount.amount for act in before if act.amount), Decimal())
    return _within(permission.cap_period, spent + wanted.amount.amount, wanted.amount.currency)


def _counts(permission: Permission, act: Act, wanted: Wanted, now: datetime) -> bool:
    """An act of the same kind within the period, under whatever approval, but this step's own earlier attempts."""
    is_alike = act.tool == permission.tool and permission.to in act.destinations and act.step != wanted.step
    return is_alike and now - act.at < SPANS[permission.period]


def _within(cap: Money, amount: Decimal, currency: str) -> bool:
    return cap.currency == currency and amount <= cap.amount


def _money(money: Money | None) -> str:
    return f"{money.amount:f} {money.currency}" if money else ""
