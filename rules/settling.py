"""Settling: what an ``unless`` or an arrival does to the cases of its rule, and what a case finds already settled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rules import joining
from rules.case import CLOSE, Case
from rules.guard import Guard
from rules.moment import Moment
from rules.template import plain

if TYPE_CHECKING:
    from rules.prepared import PreparedRule


def settle_open(moment: Moment, rule: PreparedRule, guard: Guard) -> None:
    """The event satisfied the guard's own part: settle the open cases it fits, and remember it for later ones."""
    settled = False
    for case in moment.memory.cases.open_of(rule.id):
        if guard.settles(moment.event, case, rule.decoded(moment, case)):
            settle(moment, rule, case, guard, moment.event)
            settled = True
            if guard.consumes:
                break
    if not (settled and guard.consumes):
        before = guard.before.timedelta()
        moment.memory.recents.add(guard.name, moment.event, before=before, now=moment.now)


def settled_already(moment: Moment, rule: PreparedRule, case: Case) -> bool:
    """Whether an event seen before settles the new case; then it is suppressed and saved. No event settles itself."""
    matters = moment.memory.matters
    for guard in rule.guards:
        for kept in moment.memory.recents.of(guard.name):
            event = joining.as_now(kept, matters)
            if event.id != case.event and guard.settles(event, case, rule.decoded(moment, case)):
                settle(moment, rule, case, guard, event)
                if guard.consumes:
                    moment.memory.recents.remove(guard.name, event.id)
                return True
    return joining.close_if_paid(moment, rule, case)


def settle(moment: Moment, rule: PreparedRule, case: Case, guard: Guard, event: Any) -> None:
    """Nothing more will be said of this case; what was said is withdrawn."""
    says = f"Settled by {_naming(event)}."
    if case.fired:
        moment.retract(rule, case, guard.reason, says=says)
    else:
        moment.suppress(rule, case.key, case.event, "unless", nearest=says)
    case.status = "settled"
    case.ended = event.occurred_at
    moment.memory.cases.cancel_timers(case, keep=CLOSE)
    moment.save(case)


def _naming(event: Any) -> str:
    kind = str(event.kind).replace(".", " ")
    return f"{kind}: {plain(event.title, 200)}" if event.title else kind
