"""Breaker: a destination that does not answer is left alone for a while, by all runs of its owner.

After ``TRIES`` calls in a row that did not get through, whoever made them, nothing is sent there for ``FIRST``, then
one call tries it again; each time in vain the pause doubles, up to ``LONGEST``. A call that is answered, be it with a
no, ends it. Waiting costs a step none of its tries. All of it follows from the journal; a pause begins and ends by an
entry. What is in doubt is cleared up all the same (``actions/run/doubt.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from actions.journal import EXECUTOR, STANDING, Draft
from schemas.clock import to_the_minute
from schemas.journal import JournalEntry
from schemas.model import Json
from schemas.plan import Step
from schemas.value import Value

if TYPE_CHECKING:
    from actions.proposal.state import ProposalState
    from actions.run.attempt import Answer

TRIES = 5
FIRST = timedelta(minutes=1)
LONGEST = timedelta(hours=1)
_UNREACHED = frozenset({("not_sent", "not_sent"), ("not_sent", "rate"), ("unknown", "timeout"), ("unknown", "unknown")})
"""Outcomes with their codes that say that nobody answered. ``not_sent`` by our own decision has other codes."""
_TAIL = timedelta(seconds=10)
"""How long after its time-out the one call that tries again may still write its result."""


@dataclass(slots=True)
class Breaker:
    """Of one destination. ``failures`` in a row, from ``since`` on; it is left alone ``until``. ``prober``: the uid of
    the step that tries it again, which has till ``probed_until`` to say how it went."""

    failures: int = 0
    since: datetime | None = None
    pauses: int = 0
    until: datetime | None = None
    prober: str = ""
    probed_until: datetime | None = None

    def heard(self, reached: bool, at: datetime) -> None:
        """A call has ended."""
        self.prober, self.probed_until = "", None
        self.failures = 0 if reached else self.failures + 1
        self.since = None if reached else self.since or at

    def pause(self, until: datetime) -> None:
        self.until, self.pauses = until, self.pauses + 1

    def probes(self, step: Step, at: datetime) -> None:
        """A step is sent although others wait."""
        self.prober, self.probed_until = step.uid, at + timedelta(seconds=step.timeout_s) + _TAIL


def place(tool: str, args: Mapping[str, Value]) -> str:
    """The destination of a call: the tool, with the account and the host that its arguments name."""
    named = {str(value.v) for value in args.values() if value.type == "AccountId"}
    named |= {urlsplit(str(value.v)).hostname or "" for value in args.values() if value.type == "Url"}
    return " ".join([tool, *sorted(named - {""})])


def is_reached(outcome: str, code: str) -> bool | None:
    """Did the other side answer? None where the outcome says nothing about it."""
    if (outcome, code) in _UNREACHED:
        return False
    return True if outcome in ("ok", "failed") else None


def left_alone(known: Breaker | None, step: Step, now: datetime) -> datetime | None:
    """Until when this step may not be sent; None: it may, perhaps as the one that tries again."""
    if known is None or known.until is None:
        return None
    if now < known.until:
        return known.until
    if known.prober not in ("", step.uid) and known.probed_until is not None and now < known.probed_until:
        return known.probed_until
    return None


def after(state: ProposalState, step: Step, args: Mapping[str, Value], answer: Answer, now: datetime) -> list[Draft]:
    """What goes into the journal beside the result of a call: the beginning of a pause, or its end."""
    where = place(step.tool, args)
    known, reached = state.experience.breakers.get(where), is_reached(answer.outcome, answer.code)
    if reached and known is not None and known.until is not None:
        return [_entry("breaker.closed", now, {"place": where, "says": f"{where}: it answers again"})]
    if reached is not False or known is None or known.failures + 1 < TRIES:
        return []
    if known.until is not None and now < known.until:  # of calls that were under way side by side the first one counts
        return []
    pause = now + min(LONGEST, FIRST * 2 ** min(known.pauses, 10))
    until = max(pause, answer.retry_at) if answer.code == "rate" and answer.retry_at else pause
    since, failures = known.since or now, known.failures + 1
    body: dict[str, Json] = {"place": where, "since": since.isoformat(), "failures": failures}
    return [_entry("breaker.opened", now, body | {"until": until.isoformat()})]


def deferred(state: ProposalState, step: Step, args: Mapping[str, Value], until: datetime, now: datetime) -> Draft:
    """That a run waits, and why."""
    where = place(step.tool, args)
    known = state.experience.breakers[where]
    since = (known.since or now).isoformat()
    body: dict[str, Json] = {"step": step.uid, "until": until.isoformat(), "place": where}
    return Draft(state.id, "step.deferred", now, EXECUTOR, "", body | {"since": since, "failures": known.failures})


def says(entry: JournalEntry, zone: ZoneInfo) -> str:
    """What an entry tells of a pause, by the owner's clock; empty for all others, and where an old
    one says it itself."""
    body = entry.body
    if entry.type not in ("breaker.opened", "step.deferred") or "says" in body:
        return ""
    since, until = (to_the_minute(datetime.fromisoformat(str(body[name])), zone) for name in ("since", "until"))
    return f"{body['place']}: no answer since {since}, tried {body['failures']} times; waits until {until}"


def told(states: Iterable[ProposalState], zone: ZoneInfo) -> dict[str, str]:
    """By proposal: what its run waits for, in words for the person, by whose clock ``zone`` is."""
    waiting: dict[str, list[ProposalState]] = {}
    for state in states:
        for where in {live.place for live in state.steps.values() if live.deferred is not None}:
            waiting.setdefault(where, []).append(state)
    found: dict[str, str] = {}
    for where, those in waiting.items():
        known = those[0].experience.breakers.get(where)
        if known is None or known.since is None or known.until is None:
            continue
        runs = "1 run waits" if len(those) == 1 else f"{len(those)} runs wait"
        since = to_the_minute(known.since, zone)
        line = f"{where}: no answer since {since}, tried {known.failures} times; {runs} for it"
        found |= {state.id: line for state in those}
    return found


def _entry(type_: Literal["breaker.opened", "breaker.closed"], now: datetime, body: dict[str, Json]) -> Draft:
    return Draft(STANDING, type_, now, EXECUTOR, "", body)
