"""Memory as a planner sees it: what one run has done so far, and what is known of the person, under a budget of tokens.

Working memory, for whoever plans again in the middle of a run::

    working(entries, budget, *, window=12, cost=tokens) -> Working

    at_hand(state, budget, *, window=12, cost=tokens) -> Working      # of a run that is folded already

``entries`` are the journal of one proposal, in order; ``Working.text`` is what a prompt may hold, and never more than
``budget`` by ``cost``. Long-term memory is ``actions.memory.recall.recall``, with the same ``budget`` and ``cost``.

No word from outside gets in (law L4): a value is written out only if the person or Forewatch said it, or if a source
with an account of its own did and its type leaves no room for words. Any other value is named by its place, as
``<s1.payee: Text>``, which a plan may refer to all the same. What went wrong is one of ``CODES``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from actions import nominal
from actions.plain import clean
from actions.proposal.state import ProposalState
from schemas.journal import JournalEntry
from schemas.model import Json
from schemas.value import Integrity, Value

CODES = frozenset({
    "not_found", "denied", "timeout", "rate", "invalid", "conflict", "bad_argument", "retries", "schema", "tool_error",
    "not_sent", "stale", "not_permitted", "stopped", "guard", "missing_input", "unverified", "unknown",
})  # fmt: skip
"""What may be said of a failure; any other word of a tool's counts as ``unknown``."""
_WORDLESS = frozenset({"Money", "Date", "DateTime", "Days", "Number", "Bool", "Iban"})
"""Types whose grammar cannot carry a sentence."""
_LONGEST = 120
"""Characters of one value."""
_PHASES: dict[str, str] = {"gated": "asks for a confirmation", "asked": "outcome asked of the person"}
_OVER = frozenset({"ok", "failed", "skipped", "unverified"})

Cost = Callable[[str], int]


def tokens(text: str) -> int:
    """An upper estimate for any tokenizer of today: three bytes a token."""
    return -(-len(text.encode()) // 3)


def shown(value: Value, place: str) -> str:
    """The value as a prompt may hold it: written out if its labels allow that, else by its place."""
    may = value.integrity in (Integrity.USER, Integrity.SYSTEM)
    may |= value.integrity == Integrity.KNOWN and value.type in _WORDLESS and not nominal.fault(value.type, value.v)
    return clean(nominal.display(value.type, value.v), _LONGEST) if may else f"<{place}: {value.type}>"


@dataclass(frozen=True, slots=True)
class Working:
    """``lines``, unfinished steps first, then the newest; ``summed``: how many steps the last line stands for."""

    lines: tuple[str, ...]
    summed: int = 0

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass(slots=True)
class _Step:
    """What the journal says of one step; ``seq`` is of the newest entry about it."""

    id: str
    tool: str
    seq: int = 0
    state: str = "pending"
    code: str = ""
    attempts: int = 0
    out: dict[str, Value] = field(default_factory=dict)

    @property
    def is_over(self) -> bool:
        return self.state in _OVER

    def line(self) -> str:
        parts = [self.id, self.tool, self.state, *([self.code] if self.code else [])]
        parts += [f"attempts={self.attempts}"] if self.attempts > 1 else []
        parts += [f"{name}={shown(value, f'{self.id}.{name}')}" for name, value in self.out.items()]
        return " ".join(parts)


def working(entries: Iterable[JournalEntry], budget: int, *, window: int = 12, cost: Cost = tokens) -> Working:
    """Pure and deterministic. The newest ``window`` finished steps have a line each, as far as they fit; what is older
    is summed up in one. Empty when not even that one fits."""
    return _told([step for step in _steps(entries).values() if step.seq], budget, window, cost)


def at_hand(state: ProposalState, budget: int, *, window: int = 12, cost: Cost = tokens) -> Working:
    """The same of a run that is folded already, for who has no entries at hand."""
    begun = [live for live in state.steps.values() if live.attempts or live.phase != "pending"]
    begun.sort(key=lambda live: live.last_sent.timestamp() if live.last_sent else 0.0)
    steps = []
    for place, live in enumerate(begun, 1):
        planned = state.planned(live.uid)
        if planned is not None:
            said, code = _PHASES.get(live.phase, live.phase), _known(live.code)
            steps.append(_Step(planned.id, planned.tool, place, said, code, live.attempts, live.out))
    return _told(steps, budget, window, cost)


def _told(steps: list[_Step], budget: int, window: int, cost: Cost) -> Working:
    steps.sort(key=lambda step: (step.is_over, -step.seq))
    detailed = sum(not step.is_over for step in steps) + window
    for count in range(min(detailed, len(steps)), -1, -1):
        lines = [step.line() for step in steps[:count]]
        older = steps[count:]
        lines += [_sum(older)] if older else []
        if cost("\n".join(lines)) <= budget:
            return Working(tuple(lines), len(older))
    return Working(())


def _sum(steps: Sequence[_Step]) -> str:
    """Counts by state, tool and code, the most frequent first."""
    counts = Counter(" ".join(filter(None, (step.tool, step.state, step.code))) for step in steps)
    told = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return f"earlier, {len(steps)} steps: " + ", ".join(f"{what} x{number}" for what, number in told)


def _steps(entries: Iterable[JournalEntry]) -> dict[str, _Step]:
    """By uid. A plan that is made anew keeps what was said of the steps that it keeps."""
    found: dict[str, _Step] = {}
    for entry in entries:
        if isinstance(plan := entry.body.get("plan"), dict):
            found = _planned(plan, found)
        uid = entry.body.get("step")
        step = found.get(uid) if isinstance(uid, str) else None
        if step is not None and (change := _CHANGES.get(entry.type)):
            change(step, entry.body)
            step.seq = entry.seq
    return found


def _planned(plan: Mapping[str, Any], before: Mapping[str, _Step]) -> dict[str, _Step]:
    """Steps that have begun stay, also those that the new plan names no more."""
    steps = {uid: step for uid, step in before.items() if step.seq}
    for step in plan["steps"]:
        steps.setdefault(step["uid"], _Step(step["id"], step["tool"]))
    return steps


def _code(body: Mapping[str, Any]) -> str:
    return _known(str(body.get("code") or body.get("reason") or ""))


def _known(code: str) -> str:
    return code if code in CODES or not code else "unknown"


def _result(step: _Step, body: Mapping[str, Json]) -> None:
    outcome = str(body.get("outcome"))
    step.state = {"ok": "returned" if body.get("verify") else "ok", "failed": "failed", "not_sent": "pending"}.get(
        outcome, "unknown"
    )
    step.code = "" if outcome == "ok" else _code(body)
    _take_out(step, body)


def _take_out(step: _Step, body: Mapping[str, Json]) -> None:
    out = body.get("out")
    if isinstance(out, dict):
        step.out = {name: Value.model_validate(value) for name, value in out.items()}


def _intent(step: _Step, body: Mapping[str, Json]) -> None:
    step.state, step.code, step.attempts = "sent", "", step.attempts + 1


def _verified(step: _Step, body: Mapping[str, Json]) -> None:
    if body.get("seen"):
        step.state, step.code = "ok", ""
    elif body.get("final"):
        step.state, step.code = "unverified", ""


def _skipped(step: _Step, body: Mapping[str, Json]) -> None:
    step.state, step.code = "skipped", _code(body)


def _answered(step: _Step, body: Mapping[str, Json]) -> None:
    step.state, step.code = ("ok" if body.get("happened") else "pending"), ""
    _take_out(step, body)


def _fired(step: _Step, body: Mapping[str, Json]) -> None:
    step.state = "ok"
    _take_out(step, body)


def _set(state: str) -> Callable[[_Step, Mapping[str, Json]], None]:
    def change(step: _Step, body: Mapping[str, Json]) -> None:
        step.state, step.code = state, ""

    return change


_CHANGES: dict[str, Callable[[_Step, Mapping[str, Json]], None]] = {
    "step.gated": _set(_PHASES["gated"]),
    "step.confirmed": _set("pending"),
    "step.released": _set("pending"),
    "step.held": _set("held"),
    "step.intent": _intent,
    "step.result": _result,
    "step.verified": _verified,
    "step.skipped": _skipped,
    "human.asked": _set(_PHASES["asked"]),
    "human.answered": _answered,
    "wait.started": _set("waiting"),
    "wait.fired": _fired,
}
