"""Joining: what a change of matters does to the cases, and how "paid already" closes a matter (law L7)."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from msgspec import structs
from pydantic import BaseModel

from rules.case import CLOSE, Case
from rules.kinship import paid_amounts
from rules.matter import Change, Matters, Turn
from rules.template import plain
from schemas import ids
from schemas.trigger import ConditionValue, Explanation, Merge, Reason

if TYPE_CHECKING:
    from rules.moment import Moment
    from rules.prepared import PreparedRule

Rules = Mapping[str, "PreparedRule"]

NAME = "matter"
"""Stands for the rule in the account of merges."""
_EARLY_DAYS = 7
"""A payment so long before the demand came may be for it: letters cross."""
_PAID = "paid"
"""In the data of a case that a payment closed."""
_DETECTORS = frozenset(("match", "deadline", "absence"))
_OTHER_BUSINESS = ("fact.expiry", "fact.reservation", "fact.question", "fact.change", "fact.invitation")


def relink(moment: Moment, rules: Rules) -> None:
    """Take the event into the matters. It is read from here on with the matter that it belongs to."""
    event, matters = moment.event, moment.memory.matters
    if event.kind.startswith("matter."):
        if event.payload is not None:
            first, second = event.payload.first, event.payload.second
            told = matters.tell(first, second, event.id, same=event.kind == "matter.joined")
            follow(moment, rules, told)
        return
    change = matters.take(event)
    moment.event = as_now(event, matters)
    if change is not None:
        follow(moment, rules, change)


def as_now(event: Any, matters: Matters) -> Any:
    """An event that was kept, with the matter that it belongs to by now."""
    matter = matters.of(event.matter) if event.matter is not None else None
    return event if matter == event.matter or matter is None else with_matter(event, matter)


def with_matter(event: Any, matter: str) -> Any:
    if isinstance(event, BaseModel):
        return event.model_copy(update={"matter": matter})
    return structs.replace(event, matter=matter)


def follow(moment: Moment, rules: Rules, change: Change) -> None:
    """Cases go with their matter; what joined and what parted is told."""
    cases, matters = moment.memory.cases, moment.memory.matters
    for turns, undone in ((change.joined, False), (change.parted, True)):
        for turn in turns:
            if turn.is_known or any(cases.of_matter(member) for member in turn.members):
                merge = _merge(moment, turn, undone=undone)
                moment.out.merges.append(merge)
                moment.out.explanations.append(merge.explanation)
    for old in sorted(change.moved):
        for case in cases.of_matter(old):
            matter = matters.of(case.named or old)
            if matter != case.matter and cases.get(case.rule, case.key) is case:
                _move(moment, rules.get(case.rule), case, matter)


def _merge(moment: Moment, turn: Turn, *, undone: bool) -> Merge:
    tie = turn.edge.tie
    explanation = Explanation(
        rule=NAME,
        revision="",
        event=moment.event.id,
        key=turn.matter,
        outcome="parted" if undone else "merged",
        reason=_reason(moment, turn, undone),
        values=tuple(
            ConditionValue(condition=part.name, value=part.shared, wanted="shared", holds=part.holds)
            for part in tie.parts
        ),
        at=moment.now,
    )
    place = "parted" if undone else "joined"
    return Merge(
        id=ids.trigger_id(NAME, place, f"{moment.owner}/{turn.matter} {turn.other}", moment.event.id),
        owner=moment.owner,
        matter=turn.matter,
        other=turn.other,
        members=turn.members,
        undone=undone,
        score=tie.score,
        at=moment.now,
        events=turn.edge.events,
        explanation=explanation,
    )


def _reason(moment: Moment, turn: Turn, undone: bool) -> Reason:
    if moment.event.kind.startswith("matter."):
        return "told"
    if undone:
        return "regrouped"
    return "similar" if turn.edge.tie.how == "similar" else "same_matter"


def _move(moment: Moment, rule: PreparedRule | None, case: Case, matter: str) -> None:
    """The case is one of that matter now, under the key that its event would have there."""
    cases = moment.memory.cases
    before = rule.key.of(rule.decoded(moment, case), case.subject, rule.zone) if rule is not None else ""
    case.matter = matter
    if "matter" in case.values:
        case.values = {**case.values, "matter": {**case.values["matter"], "v": matter}}
    key = rule.key.of(rule.decoded(moment, case), case.subject, rule.zone) if rule is not None else ""
    if rule is None or key == before or before != case.key:
        cases.save(case)
        return
    other = cases.get(case.rule, key)
    if other is None:
        cases.rename(case, key)
        return
    stays, goes = (other, case) if (other.opened, other.key) >= (case.opened, case.key) else (case, other)
    _join(moment, rule, stays, goes)
    cases.drop(goes)
    if stays is case:
        cases.rename(case, key)


def _join(moment: Moment, rule: PreparedRule, stays: Case, goes: Case) -> None:
    """Two cases of one rule become the later one: it knows the newest word, and tells what both had to tell.

    What was settled after the later one began is settled for both.
    """
    moment.retract(rule, goes, "joined", says=f"Goes on with {_title(stays)}.")
    settled_at = goes.ended if goes.status == "settled" else None
    if settled_at is not None and stays.status == "open" and settled_at >= stays.opened:
        _close(moment, rule, stays, "joined", f"Goes on with {_title(goes)}, which is settled.")
        stays.ended = settled_at


def _title(case: Case) -> str:
    found = next((item.get("title") for item in case.evidence if item.get("title")), "")
    return plain(str(found), 200) or case.key


# --- paid already ----------------------------------------------------------------------------------------------------


def close_paid(moment: Moment, rules: Rules) -> None:
    """A payment closes what every rule has said, or would say, about paying for this matter.

    One that comes back opens nothing by itself; but the next demand is heard again.
    """
    event, cases = moment.event, moment.memory.cases
    if not event.kind.startswith("bank.") or event.matter is None or event.amount is None:
        return
    for case in cases.of_matter(event.matter):
        rule = rules.get(case.rule)
        if rule is None:
            continue
        if case.status == "open" and event.kind == "bank.posted" and is_paid(moment, rule, case):
            _close(moment, rule, case, "paid", f"Paid: {plain(event.title, 200) or 'a bank row'}.")
        elif _PAID in case.data and not is_paid(moment, rule, case):
            cases.drop(case)


def close_if_paid(moment: Moment, rule: PreparedRule, case: Case) -> bool:
    """Whether a payment seen before closes the new case; it is saved then."""
    paid = is_paid(moment, rule, case)
    if paid:
        _close(moment, rule, case, "paid", "Paid already.")
    return paid


def is_paid(moment: Moment, rule: PreparedRule, case: Case) -> bool:
    """Whether the case asks for money, and at least so much left an account for its matter since it was asked for."""
    if case.matter is None or rule.detector not in _DETECTORS or not _asks_for_money(rule, case):
        return False
    things = moment.memory.matters.things(case.matter)
    since = case.opened.date().toordinal() - _EARLY_DAYS
    paid = max(paid_amounts(things, since), default=None)
    if paid is None:
        return False
    billed = (thing.amounts[0] for thing in things if thing.bill is not None and thing.amounts)
    demand = _demand(case) or next(billed, "")
    return bool(demand) and paid >= Decimal(demand.partition(" ")[0])


def _asks_for_money(rule: PreparedRule, case: Case) -> bool:
    if any(kind.startswith("bank.") for kind in rule.kinds) or any(name in case.values for name in _OTHER_BUSINESS):
        return False
    what = case.values.get("fact.due.what", {}).get("v")
    is_bill = rule.detector == "deadline" and any(name.startswith("fact.invoice") for name in case.values)
    return what in ("pay", "debit") or (what is None and is_bill)


def _demand(case: Case) -> str:
    for name in ("fact.invoice.amount", "amount"):
        found = case.values.get(name, {}).get("v")
        if isinstance(found, dict):
            return str(found["amount"]).removeprefix("-")
    return ""


def _close(moment: Moment, rule: PreparedRule, case: Case, reason: Reason, says: str) -> None:
    if case.fired:
        moment.retract(rule, case, reason, says=says)
    else:
        moment.suppress(rule, case.key, case.event, reason, nearest=says)
    case.status, case.ended = "settled", moment.event.occurred_at
    if reason == "paid":
        case.data = {**case.data, _PAID: True}
    moment.memory.cases.cancel_timers(case, keep=CLOSE)
    moment.save(case)
