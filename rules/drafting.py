"""Drafting: a rule file, with comments, whose rule would have fired on an event; a beginning for whoever writes rules.

The draft is tried before it is given: it loads, nothing warns of it, its own examples hold, and it fires on the event.
Of what the event says it contains only what the rule looks at.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

from rules.checking import FileChecker
from rules.fields import family, main_party
from rules.lint import lint
from rules.ruleset import RuleSet
from rules.template import plain
from rules.testing import Player, run_examples
from schemas.clock import local_day
from schemas.errors import ConfigError
from schemas.model import Json
from schemas.yaml_text import read

_MOST_DAYS = 390
"""A date further away is not drafted as a deadline."""
_WORDS = re.compile(r"\w+")
_BARE = re.compile(r"\+\d+d|[a-z][a-z0-9@.-]*[a-z0-9]")
_RESERVED = frozenset(("true", "false", "null"))


@dataclass(frozen=True, slots=True)
class Draft:
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class _Plan:
    """What the rule is about, when it speaks, and the events of its examples."""

    about: str
    """Names it, in words that an id and a title are made of."""
    says: str
    match: dict[str, Json] = field(default_factory=dict)
    where: str = ""
    at: str = ""
    """The path of a date; empty: it fires at once."""
    leads: str = ""
    days: int = 0
    """From the event to that date."""
    playbook: str = ""
    example: dict[str, Json] = field(default_factory=dict)
    other: dict[str, Json] | None = None
    """What differs in an event on which it must stay silent; None: another kind of event."""


def draft(event: Any, *, zone: ZoneInfo, name: str = "", taken: Collection[str] = ()) -> Draft:
    """A rule for events like this one. ``name`` is its id, by default made from the event and none of ``taken``.

    ConfigError for an event on which no rule can fire, or an id that cannot be one.
    """
    if event.source == "clock":
        raise ConfigError("a rule is about what happens, not about the clock", remedy="choose another event")
    if event.op == "retract" and not event.kind.endswith((".cancelled", ".removed")):
        raise ConfigError("the source has withdrawn this event", remedy="choose the version before it")
    if name in taken:
        raise ConfigError(f"there is a rule {name!r} already", remedy="choose another --id")
    problem = ""
    for plan in _plans(event, zone):
        made = Draft(name or _id(plan, taken), "")
        made = Draft(made.id, _text(made.id, plan, event, zone))
        problem = _problem(made, event, zone)
        if not problem:
            return made
    raise ConfigError(f"no rule could be drafted: {problem}", remedy="write one by hand: docs/howto/write-a-rule.md")


def _problem(made: Draft, event: Any, zone: ZoneInfo) -> str:
    """Why this draft must not be given; empty: it is good."""
    checker = FileChecker(zone)
    checker.add(read(made.text, "draft"))
    checker.check()
    if checker.errors:
        return checker.errors[0].message
    rules = RuleSet(checker.rules, zone)
    if warnings := lint(rules):
        return warnings[0].message
    for result in run_examples(checker.rules[0]):
        if not result.passed:
            return f"{result.name}: {result.why}"
    player = Player(rules, zone, owner=event.owner)
    player.play([event], until=event.observed_at + timedelta(days=_MOST_DAYS + 2))
    return "" if player.triggers() else "it would not fire on the event"


# --- what the rule is about ------------------------------------------------------------------------------------------


def _plans(event: Any, zone: ZoneInfo) -> Iterator[_Plan]:
    """The best first."""
    match family(event.kind):
        case "mail":
            yield from _mail(event, zone)
        case "bank":
            yield _bank(event)
        case "balance":
            yield _balance(event)
        case "calendar":
            yield from _calendar(event, zone)
        case "account":
            about, match = f"{event.kind} {event.account}", {"account": event.account}
            says = "{{ account }}: " + event.kind.partition(".")[2].replace("_", " ")
            yield _Plan(
                about, says, match, example=dict(match), other={"account": _unlike(event.account, "another-account")}
            )
        case "record" if event.payload is not None and event.payload.status:
            status = {"status": event.payload.status}
            yield _Plan(
                f"{event.kind} {event.payload.status}",
                "{{ title | truncate(80) }}: {{ status }}",
                {**status},
                example={"payload": {**status}},
                other={"payload": {"status": _unlike(event.payload.status, "another-status")}},
            )
        case _:
            yield _Plan(event.kind, "{{ title | truncate(80) }} (" + event.kind + ")")


def _mail(event: Any, zone: ZoneInfo) -> Iterator[_Plan]:
    domain = main_party(event).domain
    role = "to" if event.kind == "mail.sent" else "from"
    about = domain or event.kind
    who = "{{ party.name or party.domain }}: {{ title | truncate(80) }}" if domain else "{{ title | truncate(80) }}"
    match: dict[str, Json] = {"party.domain": domain} if domain else {}
    sender: dict[str, Json] = {role: f"someone@{domain}"} if domain else {}
    other: dict[str, Json] | None = {role: f"someone@{_unlike(domain, 'elsewhere.example')}"} if domain else None
    today = local_day(event.observed_at, zone)
    for path, fact, leads in _dates(event):
        day: date = fact.due if path == "fact.invoice.due" else fact.on
        days = (day - today).days
        if 0 <= days <= _MOST_DAYS:
            yield _Plan(
                f"{about} {fact.kind}",
                who + " ({{ deadline.on | date }})",
                match,
                f"has({path})",
                path,
                leads,
                days,
                "prepare-deadline",
                {**sender, "facts": {fact.kind: _short(fact, max(days, 4))}},
                {**other, "facts": {fact.kind: _short(fact, max(days, 4))}} if other else None,
            )
    for fact in event.facts:
        if fact.kind in ("question", "resolution", "change", "reservation", "invoice", "refund"):
            facts: dict[str, Json] = {"facts": {fact.kind: _short(fact, 4)}}
            where = f"has(fact.{fact.kind})"
            silent = {**other, **facts} if other else dict(sender)
            yield _Plan(f"{about} {fact.kind}", who, match, where, example={**sender, **facts}, other=silent)
    yield _Plan(about, who, match, example=sender, other=other)


def _dates(event: Any) -> Iterator[tuple[str, Any, str]]:
    """The path of a date, the fact that has it, and how long before one wants to know."""
    for fact in event.facts:
        if fact.kind == "invoice" and fact.due is not None:
            yield "fact.invoice.due", fact, "3d, 1d"
        elif fact.kind == "due":
            yield "fact.due", fact, "3d, 1d"
        elif fact.kind == "expiry":
            yield "fact.expiry", fact, "14d, 3d"


def _short(fact: Any, days: int) -> Json:
    """The fact in the short form of examples, its date so many days ahead; no words of the source."""
    match fact.kind:
        case "due":
            return {"on": f"+{days}d", "what": fact.what}
        case "expiry":
            return {"on": f"+{days}d", "category": fact.category}
        case "invoice":
            return {"due": f"+{days}d"}
        case "resolution":
            return {"outcome": fact.outcome}
        case "refund":
            return {"amount": "49.90 EUR"}
    return True


def _bank(event: Any) -> _Plan:
    merchant = event.payload.merchant if event.payload is not None else ""
    match: dict[str, Json] = {"merchant": merchant} if merchant else {}
    example: dict[str, Json] = {"payload": {"merchant": merchant}} if merchant else {}
    silent: dict[str, Json] = {"payload": {"merchant": _unlike(merchant, "another merchant")}}
    spent = False
    if event.amount is not None:
        spent = event.amount.amount < 0
        match["amount"] = {"at_most" if spent else "at_least": _number(event.amount.amount)}
        example["amount"] = silent["amount"] = f"{event.amount.amount:f} {event.amount.currency}"
    says = "{{ merchant or payload.counterparty or title | truncate(60) }}: {{ amount | money }}"
    about = f"{merchant or event.kind} {'charge' if spent else 'payment'}"
    playbook = "review-charge" if spent else ""
    return _Plan(about, says, match, playbook=playbook, example=example, other=silent if merchant else None)


def _balance(event: Any) -> _Plan:
    match: dict[str, Json] = {"account": event.account}
    example: dict[str, Json] = {"account": event.account}
    if event.amount is not None:
        match["amount"] = {"at_most": _number(event.amount.amount)}
        example["amount"] = f"{event.amount.amount:f} {event.amount.currency}"
    other: dict[str, Json] = {**example, "account": _unlike(event.account, "another-account")}
    return _Plan(f"{event.account} balance", "{{ account }}: {{ amount | money }}", match, example=example, other=other)


def _calendar(event: Any, zone: ZoneInfo) -> Iterator[_Plan]:
    words = " ".join(_WORDS.findall(event.title.lower())[:4])
    match: dict[str, Json] = {"title": {"words": words}} if words else {}
    title: dict[str, Json] = {"title": words} if words else {}
    other: dict[str, Json] | None = {"title": _unlike(words, "something else")} if words else None
    says = "{{ title | truncate(80) }}"
    if event.starts_at is not None and event.kind != "calendar.cancelled":
        days = (local_day(event.starts_at, zone) - local_day(event.observed_at, zone)).days
        if 0 <= days <= _MOST_DAYS:
            starts: dict[str, Json] = {"starts": f"+{max(days, 4)}d"}
            silent = {**other, **starts} if other else None
            example = {**title, **starts}
            says_when = says + " ({{ deadline.on | date }})"
            about = words or event.kind
            yield _Plan(about, says_when, match, "", "starts_at", "1d", days, "prepare-deadline", example, silent)
    yield _Plan(words or event.kind, says, match, example=title, other=other)


def _unlike(said: str, other: str) -> str:
    """A value of an example on which the rule stays silent: not what the event says, nor does it contain it."""
    return "0" if said and said in other else other


def _number(amount: Decimal) -> Json:
    return int(amount) if amount == amount.to_integral_value() else float(amount)


# --- how it is written -----------------------------------------------------------------------------------------------


def _id(plan: _Plan, taken: Collection[str]) -> str:
    """Letters and digits of what it is about; numbered if there is such a rule."""
    words = re.findall(r"[a-z0-9]+", plan.about.lower())
    stem = "-".join(words)[:50].strip("-") or "event"
    stem = stem if stem[0].isalpha() else f"on-{stem}"
    names = (stem, *(f"{stem}-{number}" for number in range(2, len(taken) + 3)))
    return next(name for name in names if name not in taken)


def _text(name: str, plan: _Plan, event: Any, zone: ZoneInfo) -> str:
    return "\n".join(_lines(name, plan, event, zone)) + "\n"


def _lines(name: str, plan: _Plan, event: Any, zone: ZoneInfo) -> Iterator[str]:
    short = event.id[:8] if re.fullmatch(r"[\w-]+", event.id) else ""
    yield f"# Made from an event of kind {event.kind}, seen on {local_day(event.observed_at, zone)}."
    yield "# Every line is yours to change."
    yield "rules:"
    yield f"  - id: {_flow(name)}"
    yield f"    title: {_flow(plain(plan.about, 100))}"
    yield "    # Which events it is about: a line less catches more. What there is to look at:"
    yield f"    # forewatch events show {short}"
    yield "    when:"
    yield f"      kind: {event.kind}"
    if plan.match:
        yield "      match:"
        yield from (f"        {path}: {_flow(value)}" for path, value in plan.match.items())
    if plan.where:
        yield f"      where: {json.dumps(plan.where)}"
    if plan.at:
        yield "    # When it speaks: so long before the date. Without this line it speaks at once."
        yield f"    deadline: {{at: {plan.at}, lead: [{plan.leads}]}}"
    if late := _late(event):
        yield "    # The event was old when it was first seen; what is older than this is history and does not fire."
        yield f"    max_age: {late}d"
    yield "    # What you will read. {{ path }} is filled in from the event."
    yield "    propose:"
    yield f"      title: {json.dumps(plan.says)}"
    yield "      urgency: normal"
    if plan.playbook:
        yield f"      playbook: {plan.playbook}"
    yield "    # What must fire it and what must not; 'forewatch rules test' plays both."
    yield from _examples(plan, event)


def _examples(plan: _Plan, event: Any) -> Iterator[str]:
    yield "    examples:"
    yield "      fires:"
    yield "        - events:"
    yield f"            - {_flow({'kind': event.kind, **plan.example})}"
    if plan.at:
        yield f"          until: +{max(plan.days, 4)}d"
    yield "      silent:"
    yield "        - events:"
    kind = "account.connected" if not event.kind.startswith("account.") else "run.done"
    silent = {"kind": kind} if plan.other is None else {"kind": event.kind, **plan.other}
    yield f"            - {_flow(silent)}"
    if plan.at:
        yield f"          until: +{max(plan.days, 4)}d"


def _late(event: Any) -> int:
    """Days that ``max_age`` must allow; 0: the usual will do."""
    age = (event.observed_at - event.occurred_at).days
    return age + 2 if age >= 13 else 0


def _flow(value: Any) -> str:
    """A value as YAML on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, str):
        return value if _BARE.fullmatch(value) and value not in _RESERVED else _quoted(value)
    return json.dumps(value)


def _quoted(text: str) -> str:
    """In double quotes; what is not seen as an escape, where one code unit is one character."""
    if text.isprintable():
        return json.dumps(text, ensure_ascii=False)
    return '"' + "".join(_escaped(char) for char in text) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    return char if char.isprintable() else f"\\U{ord(char):08x}"
