"""Brief: all that a planner's model may know of a task, and nothing else (law L4).

Facts are handles with a type. What a value says is told only where the person or the rule's author said it, and for
days, which are written anew from their parsed form. No byte of outside text is in a brief.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Literal
from zoneinfo import ZoneInfo

from actions import nominal
from actions.memory.recall import Recalled, by_words, recall
from actions.planning import goals, matching, slots
from actions.planning.playbook import Playbook
from actions.planning.steps import PERSONAL, Occasion
from actions.planning.validate import MAX_STEPS
from actions.setup import Setup
from actions.tools.tool import Manifest
from schemas import clock
from schemas.goal import Goal
from schemas.value import Integrity, Value, least

IDS = tuple(f"s{number}" for number in range(1, MAX_STEPS + 1))
MAX_TOOLS = 12
MAX_FACTS = 40
MAX_EVIDENCE = 8
MAX_REMEMBERED = 400
"""Tokens of what is remembered."""
_ALWAYS = ("notify", "wait.until")
_NAME = re.compile(r"[a-z][a-z0-9_]{0,40}(\.[a-z][a-z0-9_]{0,40}){0,4}")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,40}")
_UNWRITABLE: frozenset[str] = frozenset({"command", "identity"})
"""Roles of which a model's own words may never be a value: what is run, and as whom."""
WRITABLE = frozenset(
    {"Text", "Query", "Email", "Url", "FileName", "Date", "DateTime", "Days", "Minutes", "Number", "Bool", "Money"}
)
"""Types of which a model may write a value itself. Ids, paths and account numbers are never made up."""
Why = Literal["outside_text", "odd_name", "too_many"]


@dataclass(frozen=True, slots=True)
class Withheld:
    """A value that the model is not told. ``chars`` is its length."""

    name: str
    type: str
    why: Why
    chars: int


@dataclass(frozen=True, slots=True)
class Running:
    """Where the run of a plan stands that needs another rest: display ids and tools, and our own word for what went
    wrong. ``ids`` are those that new steps may have; ``so_far`` is what its steps gave, unfinished ones first."""

    done: Mapping[str, str]
    ended: tuple[str, str] | None
    cause: str
    open: Mapping[str, str]
    ids: tuple[str, ...]
    so_far: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Brief:
    """``goal`` is the person's or the rule author's own text; ``facts`` are the values behind the handles, ``told`` the
    ones among them whose value is said; ``evidence`` maps ev1, ev2, ... to event ids."""

    occasion: Occasion
    goal: str
    facts: Mapping[str, Value]
    told: Mapping[str, str]
    tools: tuple[Manifest, ...]
    examples: tuple[Playbook, ...]
    evidence: Mapping[str, str]
    kinds: Mapping[str, str]
    """Evidence handle -> kind of event."""
    today: date
    is_personal: bool = False
    """The goal is the person's own, so what it says is theirs."""
    may_ask: bool = True
    withheld: tuple[Withheld, ...] = field(default=())
    remembered: Recalled = field(default_factory=Recalled)
    """What fits of the owner's memory; not a word of it came from outside."""
    aim: Goal | None = None
    """What must be seen at the end, where the rule or its playbook names it."""
    running: Running | None = None
    givers: tuple[Manifest, ...] = ()
    """Tools whose results are there already, beside those that may be called."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Names that the steps of an answer may have."""
        return self.running.ids if self.running else IDS

    @property
    def returns(self) -> Iterator[tuple[str, str]]:
        """Fields and their types, of every result that a step may refer to."""
        return (pair for manifest in (*self.tools, *self.givers) for pair in manifest.returns.items())

    def manifest(self, tool: str) -> Manifest | None:
        return next((m for m in self.tools if m.name == tool), None)


def brief(occasion: Occasion, given: Mapping[str, Value], built_in: Mapping[str, Value], setup: Setup) -> Brief:
    """``given`` are the person's own answers; they go before the trigger's values of the same name."""
    trigger, zone = occasion.trigger, setup.settings.zone
    goal = trigger.asks or trigger.rule.replace("-", " ")
    values = {**trigger.values, **built_in, **given}
    facts, withheld = _facts(values, zone)
    playbooks = [playbook for _, playbook in matching.ranked(goal, setup.playbooks.values())]
    every = [m for name in setup.tools.names() if (m := setup.tools.manifest(name))]
    given_types = {value.type for value in facts.values()} | {t for m in every for t in m.returns.values()}
    manifests = [m for m in every if is_plannable(m, given_types)]
    aim = goals.of(trigger, setup.playbooks)
    shows = [tool for proof in aim.proofs for tool in proof.tools] if aim else []
    shown = [step.tool for playbook in playbooks[:2] for step in playbook.steps]
    usual = Counter(step.tool for playbook in setup.playbooks.values() for step in playbook.steps)
    tools = matching.shortlist(goal, manifests, {*_ALWAYS, *shown, *shows}, usual, MAX_TOOLS)
    told = {name: text for name, value in facts.items() if (text := _told(value, zone))}
    evidence = {f"ev{at}": found for at, found in enumerate(trigger.evidence[:MAX_EVIDENCE], 1)}
    return Brief(
        occasion=occasion,
        goal=goal,
        facts=facts,
        told=told,
        tools=tools,
        examples=tuple(p for p in playbooks if {s.tool for s in p.steps} <= {t.name for t in tools})[:2],
        evidence={handle: found.event for handle, found in evidence.items()},
        kinds={handle: found.kind for handle, found in evidence.items()},
        today=clock.local_day(occasion.now, zone),
        is_personal=trigger.rule == PERSONAL,
        may_ask=not given,
        withheld=tuple(withheld) + _untold(facts, told),
        remembered=_remembered(occasion, goal),
        aim=aim,
    )


def _remembered(occasion: Occasion, goal: str) -> Recalled:
    known = occasion.memory
    return (
        recall(known, goal, MAX_REMEMBERED, trigger=occasion.trigger, search=by_words(known)) if known else Recalled()
    )


def is_plannable(manifest: Manifest, given: Collection[str]) -> bool:
    """Can a model fill what the tool needs? A command or an identity is for playbooks alone; an account number or an id
    that neither a fact nor a result of these types gives cannot be had."""
    if is_foreign(manifest) and not all(_PLAIN.fullmatch(n) for n in (*manifest.args, *manifest.returns)):
        return False
    needed = [arg for arg in manifest.args.values() if arg.required]
    if any(arg.role in _UNWRITABLE for arg in needed):
        return False
    return all(arg.type in WRITABLE or any(nominal.fits(type_, arg.type) for type_ in given) for arg in needed)


def is_foreign(manifest: Manifest) -> bool:
    """A tool of somebody else's server: its description is the person's (``PluginTool``), but the names of what it
    takes and gives are the server's, so only plain ones are told. What the server says of itself is in no manifest."""
    return manifest.name.startswith("mcp.")


def _facts(values: Mapping[str, Value], zone: ZoneInfo) -> tuple[dict[str, Value], list[Withheld]]:
    """Valid values with plain names, in the order of their names."""
    facts: dict[str, Value] = {}
    withheld: list[Withheld] = []
    for name in sorted(values):
        value = slots.as_type(values[name].type, values[name], zone)
        if value is None:
            continue
        if not _NAME.fullmatch(name):
            withheld.append(_withheld(f"(name {len(withheld) + 1})", value, "odd_name"))
        elif len(facts) == MAX_FACTS:
            withheld.append(_withheld(name, value, "too_many"))
        else:
            facts[name] = value
    return facts, withheld


def _untold(facts: Mapping[str, Value], told: Mapping[str, str]) -> tuple[Withheld, ...]:
    return tuple(_withheld(name, value, "outside_text") for name, value in facts.items() if name not in told)


def _withheld(name: str, value: Value, why: Why) -> Withheld:
    return Withheld(name, value.type, why, len(nominal.display(value.type, value.v)))


def _told(value: Value, zone: ZoneInfo) -> str:
    """The value in words that no outsider chose; "" if it stays a handle."""
    if value.type in ("Date", "DateTime"):
        return slots.day_of(value, zone).isoformat()
    if least(value.integrity, Integrity.SYSTEM) == Integrity.SYSTEM:
        return nominal.display(value.type, value.v)[:300]
    return ""
