"""Threshold of a projection: a balance that will fall below the bound when its account's recurring rows come."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

import msgspec

from rules.language import ConditionError
from rules.match import is_history
from rules.measure import Reading
from rules.moment import Moment
from rules.occasion import Occasion
from rules.projection import Flow, Row, flows, in_order, lowest
from rules.rhythm import KEPT
from rules.template import parse_key
from rules.threshold import Known, ThresholdDetector
from rules.values import derived
from schemas import clock
from schemas.rule import Project, Threshold
from schemas.trigger import ConditionValue
from schemas.value import Integrity

if TYPE_CHECKING:
    from rules.prepared import PreparedRule

VALUES = ("projection.on", "projection.lowest", "projection.next")
_BALANCE = "bank.balance"
_MOST_PARTIES = 60
"""Recurring parties of one account; the one that came longest ago is forgotten first."""
_MOST_LATER = 100
_LONGEST_DAYS = 92
_SHOWN = 12
"""Expected rows that an explanation names."""


class _Booked(msgspec.Struct, frozen=True, array_like=True):
    """A row; its thing tells its versions apart."""

    subject: str
    day: date
    amount: Decimal


class _Account(msgspec.Struct, frozen=True, array_like=True):
    """The newest balance, rows booked on a later day, and who has come often enough for a rhythm, newest last.

    ``matter`` is the balance's: whatever is too low is said of it, by whichever rule, in one proposal.
    """

    balance: Decimal | None = None
    at: datetime | None = None
    later: list[_Booked] = []
    parties: list[str] = []
    judged: Known | None = None
    matter: str = ""


class ProjectedThreshold(ThresholdDetector):
    def __init__(self, model: Threshold, project: Project, rule: PreparedRule) -> None:
        super().__init__(model, rule)
        self._project = project
        if model.above is not None:
            raise ConditionError("a projection is about 'below'", ("threshold", "above"), remedy="give 'below'")
        if _BALANCE not in rule.kinds or len(rule.kinds) < 2:
            message = "a projection needs the balances of an account and its rows"
            raise ConditionError(message, ("when", "kind"), remedy="match bank.balance and bank.posted")
        if self._measure.types != {"money"}:
            raise ConditionError("a projection is about money", ("threshold", "value"), remedy="give amount")
        if not 1 <= project.over.days <= _LONGEST_DAYS:
            path = ("threshold", "project", "over")
            raise ConditionError(f"a projection is for 1 to {_LONGEST_DAYS} days", path, remedy="give 14d")
        try:
            self._party = parse_key(project.by, rule.canonical)
        except ConditionError as error:
            raise error.under("threshold", "project", "by") from error

    def matched(self, moment: Moment, occasion: Occasion) -> None:
        rule, event = occasion.rule, occasion.event
        found = self._read(moment, occasion)
        if found is None:
            return
        assert found.number is not None
        key = self._key(occasion, found)
        entry = moment.memory.baselines.recall(rule.id, key)
        account = msgspec.convert(list(entry), _Account) if entry else _Account()
        is_balance = event.kind == _BALANCE
        if is_balance and account.at is not None and event.occurred_at < account.at:
            self._skip(moment, occasion, "outdated", found)
            return
        day = clock.local_day(event.occurred_at, moment.zone)
        if is_balance:
            at = event.occurred_at.astimezone(UTC)
            later = [row for row in account.later if row.day > day]
            matter = event.matter or event.subject
            account = msgspec.structs.replace(account, balance=found.number, at=at, later=later, matter=matter)
        else:
            account = self._booked(moment, occasion, account, key, _Booked(event.subject, day, found.number))
        if is_history(moment, occasion):
            self._skip(moment, occasion, "stale", found)
        else:
            account = self._foresee(moment, occasion, account, key, found)
        moment.memory.baselines.keep(rule.id, key, day, msgspec.to_builtins(account))

    def _booked(self, moment: Moment, occasion: Occasion, account: _Account, key: str, row: _Booked) -> _Account:
        """Learn the row."""
        later = [known for known in account.later if known.subject != row.subject]
        if account.at is not None and row.day > clock.local_day(account.at, moment.zone):
            later = [*later, row][-_MOST_LATER:]
        account = msgspec.structs.replace(account, later=later)
        party = self._party.of(occasion.read, "", moment.zone)
        if not party.strip("|") or not row.amount:
            return account
        party = f"{'-' if row.amount < 0 else '+'}{party}"
        rows = [known for known in self._series(moment, occasion, key, party) if known.subject != row.subject]
        rows = sorted([*rows, row], key=lambda known: (known.day, known.subject))[-KEPT:]
        moment.memory.baselines.keep(occasion.rule.id, f"{key}|{party}", row.day, [msgspec.to_builtins(rows)])
        if len(rows) < self._project.min_history:
            return account
        parties = [*(known for known in account.parties if known != party), party][-_MOST_PARTIES:]
        return msgspec.structs.replace(account, parties=parties)

    def _series(self, moment: Moment, occasion: Occasion, key: str, party: str) -> list[_Booked]:
        entry = moment.memory.baselines.recall(occasion.rule.id, f"{key}|{party}")
        return msgspec.convert(entry[0], list[_Booked]) if entry else []

    def _foresee(self, moment: Moment, occasion: Occasion, account: _Account, key: str, found: Reading) -> _Account:
        if account.balance is None or not account.parties:
            what = "no balance in this currency" if account.balance is None else "nobody came often enough"
            condition = ConditionValue(condition=what, value=str(found), wanted="a balance and a rhythm", holds=False)
            moment.note(
                occasion.rule, occasion.key, "skipped", "no_history", occasion=occasion, conditions=(condition,)
            )
            return account
        today = clock.local_day(moment.now, moment.zone)
        balance = account.balance + sum((row.amount for row in account.later), Decimal(0))
        expected = self._expected(moment, occasion, account, key, today)
        low = lowest(balance, expected, today)
        is_above = not self._is_beyond(balance, self._bound)
        now, event = _money(balance, found.unit), occasion.event
        more = {
            "threshold.value": now.labelled(event),
            "projection.on": derived(low.on.isoformat(), "Date", (event.id,), Integrity.SYSTEM),
            "projection.lowest": _money(low.lowest, found.unit).labelled(event),
        }
        if low.largest is not None:
            more["projection.next"] = _money(low.largest.amount, found.unit).labelled(event)
        parts = [ConditionValue(condition="balance", value=str(now), wanted="not below the bound", holds=is_above)]
        parts += [_part(flow, found.unit) for flow in expected[:_SHOWN]]
        occasion.about = account.matter
        known = account.judged or Known(datetime.min.replace(tzinfo=UTC), False)
        reading = _money(low.lowest, found.unit)
        judged = self._judge(moment, occasion, known, reading, more=more, parts=tuple(parts), may_fire=is_above)
        return msgspec.structs.replace(account, judged=judged)

    def _expected(self, moment: Moment, occasion: Occasion, account: _Account, key: str, today: date) -> list[Flow]:
        project = self._project
        until, found = today + timedelta(days=project.over.days), []
        for party in account.parties:
            rows = [Row(row.day, row.amount) for row in self._series(moment, occasion, key, party)]
            found += flows(party[1:], rows, today, until, min_history=project.min_history, longest=project.longest.days)
        return in_order(found)


def _money(amount: Decimal, unit: str) -> Reading:
    return Reading(f"{amount:f}", "Money", amount, unit)


def _part(flow: Flow, unit: str) -> ConditionValue:
    on = flow.on.isoformat()
    return ConditionValue(condition=f"expected: {flow.party}", value=f"{flow.amount:f} {unit}", wanted=on, holds=True)
