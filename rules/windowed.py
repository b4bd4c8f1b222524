"""Windowed: counts, sums and rates over windows of event time, and windows unlike the ones before them.

One case per key keeps the ledger; it says nothing itself. Each window that the rule finds has a case of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import msgspec

from rules.case import CLOSE, Case
from rules.judges import Finding, Found, Window, make_judge, mean
from rules.language import ConditionError
from rules.ledger import LEDGER, MOST, MOST_CASES, Item, Ledger
from rules.measure import Measure
from rules.moment import MEMORY_AFTER_END, Moment
from rules.occasion import Occasion
from rules.quantity import Quantity
from rules.settling import settled_already
from rules.tally import KEPT, REMEMBERED, Tally
from rules.template import parse_key, plain
from rules.timers import Timer
from rules.values import derived
from rules.windows import last_end
from schemas.rule import Count, Mean, Rate, Spike, Sum
from schemas.trigger import Reason
from schemas.value import Integrity, Value

if TYPE_CHECKING:
    from rules.prepared import PreparedRule

VALUES = ("window.count", "window.total", "window.start", "window.end")
AVERAGED = (*VALUES, "window.mean")
COMPARED = (*VALUES, "window.times", "window.median", "window.history")
_CLOSE_WINDOW = "window"
_PROMPT = timedelta(hours=2)
"""A window that is closed later than this was not closed in time because we were stopped."""
_CATCHING_UP = timedelta(hours=1)
_QUIET = "quiet"
"""A window that was suppressed is not tried again before something more happens in it."""
_MOST_EVIDENCE = 6
_TITLE = 80


class WindowDetector:
    """``name`` is the key of the rule that the model comes from."""

    def __init__(self, name: str, model: Count | Sum | Mean | Rate | Spike, rule: PreparedRule) -> None:
        self._model = model
        try:
            self._by = parse_key(model.by, rule.canonical)
        except ConditionError as error:
            raise error.under(name, "by") from error
        value = getattr(model, "value", "")
        self._value = Quantity(value, rule, name) if value else None
        self._judge = make_judge(name, model)
        distinct = model.distinct if isinstance(model, Count) else ""
        self._tag = Measure(distinct, (), rule, name, field="distinct") if distinct else None
        self._tally = Tally(model.over, model.lateness.timedelta(), self._judge, rule.zone, bool(distinct))

    # --- what the engine calls ---------------------------------------------------------------------------------------

    def matched(self, moment: Moment, occasion: Occasion) -> None:
        rule, event = occasion.rule, occasion.event
        found = (Decimal(1), "") if self._value is None else self._value.of(event)
        key = None if found is None else self._key(moment, occasion, found[1])
        for case in moment.memory.cases.of_subject(event.subject):
            if case.rule == rule.id and case.key != key and _has_ledger(case, event.subject):
                self.withdrawn(moment, rule, case, "resolved")
        tag = self._tag.of(occasion) if self._tag is not None else None
        if found is None or key is None or (self._tag is not None and tag is None):
            moment.note(rule, occasion.key, "skipped", "no_value", occasion=occasion)
            return
        watch, ledger = self._ledger(moment, occasion, key, found[1])
        if self._is_too_late(ledger, event.occurred_at, moment.now):
            moment.note(rule, key, "skipped", "too_late", occasion=occasion)
            return
        ledger.put(_item(event, found[0], str(tag or "")))
        if self._tally.over.is_aligned:
            start = self._tally.start_of(event.occurred_at)
            ledger.first = start if ledger.first is None else min(ledger.first, start)
        self._tidy(ledger, moment.now)
        holding = self._tally.find(ledger, moment.now)
        if (holding or self._judge.at_close) and event.occurred_at >= watch.opened:
            moment.describe(watch, occasion)
        self._say_all(moment, rule, watch, ledger, holding, "resolved")
        if not any(self._is_in(event, window) for window, _ in holding):
            self._account(moment, occasion, ledger, key)
        self._keep(moment, rule, watch, ledger)

    def due(self, moment: Moment, rule: PreparedRule, case: Case, timers: Iterable[Timer]) -> None:
        """A window closed. After a stop, what came meanwhile is read first."""
        if LEDGER not in case.data:  # of another detector, before the rule was changed
            moment.memory.cases.cancel_timers(case, keep=CLOSE)
            moment.save(case)
            return
        moment.memory.cases.cancel_timer(case, _CLOSE_WINDOW)
        ledger = Ledger.of(case)
        if not ledger.late and moment.now - min(timer.due for timer in timers) > _PROMPT:
            ledger.late = True
            moment.memory.cases.set_timer(case, _CLOSE_WINDOW, moment.now + _CATCHING_UP)
            ledger.keep_in(case)
            moment.save(case)
            return
        late, ledger.late = ledger.late, False
        ledger.closed = moment.now
        self._tidy(ledger, moment.now)
        self._say_all(moment, rule, case, ledger, self._tally.find(ledger, moment.now), "resolved", late=late)
        self._keep(moment, rule, case, ledger)

    def withdrawn(self, moment: Moment, rule: PreparedRule, case: Case, reason: Reason | None) -> None:
        """The source took back, or changed, a thing that counts here."""
        if reason is None or not _has_ledger(case, moment.event.subject):
            return
        ledger = Ledger.of(case)
        ledger.remove(moment.event.subject)
        self._say_all(moment, rule, case, ledger, self._tally.find(ledger, moment.now), reason)
        self._keep(moment, rule, case, ledger)

    # --- the ledger --------------------------------------------------------------------------------------------------

    def _key(self, moment: Moment, occasion: Occasion, unit: str) -> str:
        by = self._by.of(occasion.read, occasion.event.subject, moment.zone) if self._model.by else "all"
        return f"{by}|{unit}" if unit else by

    def _ledger(self, moment: Moment, occasion: Occasion, key: str, unit: str) -> tuple[Case, Ledger]:
        watch = moment.memory.cases.get(occasion.rule.id, key)
        if watch is not None and LEDGER in watch.data:
            return watch, Ledger.of(watch)
        if watch is not None:  # of another detector, before the rule was changed
            moment.memory.cases.drop(watch)
        # of a status that nothing settles or withdraws: it is no firing
        watch = Case(rule=occasion.rule.id, key=key, event="", subject="", opened=moment.now, status="withdrawn")
        moment.describe(watch, occasion)
        return watch, Ledger(unit, moment.now, moment.now)

    def _is_too_late(self, ledger: Ledger, at: datetime, now: datetime) -> bool:
        """What is compared with earlier windows learns from late things, too."""
        return not self._judge.learns and self._tally.closes(at) <= (ledger.closed if ledger.late else now)

    def _tidy(self, ledger: Ledger, now: datetime) -> None:
        for item in self._tally.outlived(ledger, now):
            self._forget(ledger, item, keeps=self._judge.learns)
        if self._tally.distinct and self._tally.over.is_aligned:
            for item in self._tally.repeats(ledger, len(ledger.items) - MOST):
                ledger.items.remove(item)
        for item in ledger.surplus():
            self._forget(ledger, item, keeps=True)
        if not self._judge.learns:
            tally = self._tally
            ledger.folded = [old for old in ledger.folded if tally.closes(old.start) + REMEMBERED > now]
        if self._judge.at_close and not ledger.late:
            ledger.closed = now

    def _forget(self, ledger: Ledger, item: Item, *, keeps: bool) -> None:
        if self._tally.over.is_aligned and keeps:
            ledger.fold(self._tally.start_of(item.at), item)
        elif keeps:
            ledger.drop(item)
        else:
            ledger.items.remove(item)

    def _keep(self, moment: Moment, rule: PreparedRule, watch: Case, ledger: Ledger) -> None:
        tally = self._tally
        if self._judge.at_close and not ledger.late:
            close = tally.next_close(ledger, moment.now)
            if close is not None:
                moment.memory.cases.set_timer(watch, _CLOSE_WINDOW, close)
            elif _CLOSE_WINDOW in watch.timers:
                moment.memory.cases.cancel_timer(watch, _CLOSE_WINDOW)
        newest = max((item.at for item in ledger.items), default=moment.now)
        length = last_length(tally, max(newest, moment.now))
        ends = tally.closes(max(newest, moment.now)) + length + MEMORY_AFTER_END
        watch.closes = ends + KEPT * length if self._judge.learns else ends
        moment.memory.cases.set_timer(watch, CLOSE, watch.closes)
        ledger.keep_in(watch)
        moment.save(watch)

    # --- saying it ---------------------------------------------------------------------------------------------------

    def _say_all(
        self,
        moment: Moment,
        rule: PreparedRule,
        watch: Case,
        ledger: Ledger,
        holding: Iterable[Found],
        reason: Reason,
        *,
        late: bool = False,
    ) -> None:
        """Every window that holds has a trigger that stands, and no other has."""
        open_cases = [case for name in ledger.said if (case := moment.memory.cases.get(rule.id, name)) is not None]
        told: list[str] = []
        for found in holding:
            case = next((case for case in open_cases if case.key not in told and self._is_of(case, found[0])), None)
            told.append(self._say(moment, rule, watch, ledger, found, case, late))
        for case in open_cases:
            if case.key not in told and self._tally.is_remembered(_instant(case, "end"), moment.now):
                self._unsay(moment, rule, case, reason)
                standing = [fired.at for other in open_cases for fired in other.fired]
                watch.last_fired = max(standing, default=None)
        ledger.said = list(dict.fromkeys([*(case.key for case in open_cases), *told]))[-MOST_CASES:]

    def _is_in(self, event: Any, window: Window) -> bool:
        return any(item.event == event.id for item in window.items)

    def _is_of(self, case: Case, window: Window) -> bool:
        """Sessions and sliding windows grow in both directions; a case is about the one that it overlaps."""
        start, end = _instant(case, "start"), _instant(case, "end")
        over, zone = self._tally.over, self._tally.zone
        if over.is_aligned:
            return start == window.start
        return start < last_end(over, window.end, zone) and window.start < last_end(over, end, zone)

    def _say(
        self,
        moment: Moment,
        rule: PreparedRule,
        watch: Case,
        ledger: Ledger,
        found: Found,
        case: Case | None,
        late: bool,
    ) -> str:
        window, _ = found
        if case is None:
            key = f"{watch.key}|{window.start.isoformat()}"
            case = moment.memory.cases.get(rule.id, key)
        if case is None:
            case = msgspec.structs.replace(watch, key=key, status="open", timers=[], fired=[])
            case.data = _data(window)
            if settled_already(moment, rule, case):
                self._close_later(moment, rule, case, window)
                return case.key
        elif (_instant(case, "start"), _instant(case, "end")) != (window.start, window.end):
            case.data = {**case.data, **_data(window)}
            self._close_later(moment, rule, case, window)
        was_told = case.fired or (_QUIET in case.data and not self._is_in(moment.event, window))
        if case.status == "open" and not was_told:
            self._fire(moment, rule, watch, ledger, case, found, late)
        return case.key

    def _fire(
        self, moment: Moment, rule: PreparedRule, watch: Case, ledger: Ledger, case: Case, found: Found, late: bool
    ) -> None:
        window, finding = found
        for name in ("event", "subject", "opened", "matter", "certainty", "values", "why", "last_fired"):
            setattr(case, name, getattr(watch, name))
        shown = {watch.event: watch.evidence[0]} if watch.evidence else {}
        own = [item.evidence().model_dump(mode="json", exclude_defaults=True) for item in window.items]
        case.evidence = [shown.get(item["event"], item) for item in own[-_MOST_EVIDENCE:]] or list(watch.evidence)
        self._close_later(moment, rule, case, window)
        start, conditions = str(case.data["start"]), (finding.condition,)
        newest = window.end if self._judge.at_close else max((item.at for item in window.items), default=window.end)
        if rule.model.max_age.after(newest, moment.zone) < moment.now:
            moment.suppress(rule, case.key, start, "stale", conditions=conditions)
        else:
            values = self._values(ledger, window, finding)
            moment.fire(rule, case, start, finding.reason, late=late, values=values, conditions=conditions)
        if case.fired:
            watch.last_fired = moment.now
        else:
            case.data = {**case.data, _QUIET: True}
            moment.save(case)

    def _close_later(self, moment: Moment, rule: PreparedRule, case: Case, window: Window) -> None:
        ends = [guard.within.after(case.opened, moment.zone) for guard in rule.guards]
        closed = self._tally.closes(window.end)
        moment.close_at(rule, case, max([closed + REMEMBERED + MEMORY_AFTER_END, *ends]))
        moment.save(case)

    def _unsay(self, moment: Moment, rule: PreparedRule, case: Case, reason: Reason) -> None:
        if case.status != "open" or not case.fired:
            return
        name = plain(moment.event.title, 200) or "what counted"
        moment.retract(rule, case, reason, says=f"No longer so, since {name} was withdrawn or changed.")
        case.n += 1
        moment.save(case)

    def _values(self, ledger: Ledger, window: Window, finding: Finding) -> dict[str, Value]:
        sources = tuple(item.event for item in window.items[-_MOST_EVIDENCE:])
        level = Integrity.KNOWN if all(item.trust != "outside" for item in window.items) else Integrity.UNTRUSTED

        def amount(number: Decimal) -> Value:
            if not ledger.unit:
                return derived(_plain_number(number), "Number", sources, level)
            return derived({"amount": f"{number:f}", "currency": ledger.unit}, "Money", sources, level)

        values = {
            "window.count": derived(window.count, "Number", sources, level),
            "window.total": amount(window.total),
            "window.start": derived(window.begins.isoformat(), "DateTime", sources, Integrity.SYSTEM),
            "window.end": derived(window.end.isoformat(), "DateTime", sources, Integrity.SYSTEM),
        }
        if isinstance(self._model, Mean):
            values["window.mean"] = amount(round(mean(window.count, window.total), 2))
        if finding.times is not None and finding.median is not None:
            values["window.times"] = derived(finding.times, "Number", sources, level)
            values["window.median"] = amount(round(finding.median, 2) if ledger.unit else finding.median)
            values["window.history"] = derived(finding.history, "Number", sources, level)
        return values

    def _account(self, moment: Moment, occasion: Occasion, ledger: Ledger, key: str) -> None:
        finding = self._tally.newest(ledger, occasion.event.occurred_at) if moment.explains else None
        if finding is not None:
            waits = self._judge.at_close and finding.holds
            reason: Reason = "scheduled" if waits else finding.reason
            outcome: Any = "scheduled" if waits else "skipped"
            conditions = (finding.condition,)
            moment.note(
                occasion.rule, key, outcome, reason, occasion=occasion, conditions=conditions, nearest=finding.nearest
            )


def last_length(tally: Tally, at: datetime) -> timedelta:
    return tally.closes(at) - tally.lateness - (tally.start_of(at) if tally.over.is_aligned else at)


def _has_ledger(case: Case, subject: str) -> bool:
    return LEDGER in case.data and Ledger.of(case).has(subject)


def _data(window: Window) -> dict[str, Any]:
    return {"start": window.start.isoformat(), "end": window.end.isoformat()}


def _instant(case: Case, name: str) -> datetime:
    return datetime.fromisoformat(str(case.data[name]))


def _item(event: Any, value: Decimal, tag: str) -> Item:
    return Item(
        event.occurred_at, event.subject, event.id, f"{value:f}", event.kind, plain(event.title, _TITLE),
        event.account, event.trust, tag,
    )  # fmt: skip


def _plain_number(number: Decimal) -> int | float:
    return int(number) if number == int(number) else float(number)
