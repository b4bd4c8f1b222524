"""The rules of the policy, each a question to one step's resolved, labelled values (acting.md 2.2, decision 0020).

 0 the tool is there and switched on (``Policy.judge``); nothing is stopped (``actions/policy/permit.py``)
 1 the grant's binding equals the arguments (``actions/policy/permit.py``, which asks again with the difference)
 2 a command, a path with folders or an identity from outside text: never
 3 a destination, amount, URL, target or file name from outside text: confirm, with where it came from
 4 an opaque id goes back to whoever minted it, to read or to reply in its thread: allowed
 5 outside text sent to somebody else: confirm; what it names to go to, call or pay was taken out before
 6 text that its readers may not share: confirm; secrets: never
 7 a read that leaves the house and carries outside or private words: confirm
 8 payment, deletion, sending, sharing, credentials: a second confirmation, unless a standing permission covers it
 9 a plan that joins private data, outside text and a way out: each step that leaves is confirmed by itself
10 more in a day than usual: confirm; far more: never; the first payment to somebody: confirm
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal
from urllib.parse import urlsplit

from actions.nominal import Sink
from actions.plain import clean
from actions.policy import provenance
from actions.policy.circumstances import Circumstances, family
from actions.policy.destination import canonical, is_destination, money_in
from actions.policy.identifiers import find
from actions.tools.tool import SELF_EFFECTS, Manifest
from schemas.plan import Effect
from schemas.value import Value

LEAVES: frozenset[Effect] = frozenset({"outbound", "payment", "delete", "share", "credential"})
"""Effects that reach somebody else or cannot be taken back: all of their arguments are judged strictly."""
_STEP_UP: frozenset[Sink] = frozenset({"destination", "amount", "url", "target", "path"})
_OPAQUE = frozenset({"MessageId", "EventId"})


@dataclass(frozen=True, slots=True)
class Limits:
    """What a day may hold; ``ceiling`` times as much is never allowed. ``spend`` is a number in any currency."""

    sent: int = 20
    spend: Decimal = Decimal(2000)
    ceiling: int = 5


@dataclass(frozen=True, slots=True)
class Case:
    manifest: Manifest
    args: Mapping[str, Value]
    scene: Circumstances
    limits: Limits

    def of(self, *roles: Sink) -> Iterator[tuple[str, Value]]:
        return ((n, v) for n, v in self.args.items() if self.manifest.role(n, v) in roles)

    @property
    def leaves(self) -> bool:
        return self.manifest.effect in LEAVES

    @property
    def host(self) -> str:
        """Where a read asks, if that is beyond this machine."""
        hosts = self.manifest.permissions.get("hosts")
        return hosts[0] if hosts and not self.leaves else ""


@dataclass(frozen=True, slots=True)
class Finding:
    """``number`` of the rule; ``reason`` is a line for the person."""

    number: int
    kind: Literal["confirm", "deny"]
    reason: str


def _never(case: Case) -> Iterator[Finding]:
    """2."""
    for name, value in case.of("command", "identity", "path"):
        is_bare = case.manifest.role(name, value) == "path" and value.type == "FileName"
        if provenance.is_outside(value) and not is_bare:
            reason = f"{name} decides what is run or touched, and {provenance.origin(value)}"
            yield Finding(2, "deny", reason)


def _step_up(case: Case) -> Iterator[Finding]:
    """3, with 4 as its exception; what a permission names was chosen by the person."""
    for name, value in case.of(*_STEP_UP):
        if provenance.is_outside(value) and not _goes_back(case, name, value) and not _is_allowed(case, name, value):
            yield Finding(3, "confirm", provenance.says(name, value, case.scene))


def _goes_back(case: Case, name: str, value: Value) -> bool:
    """4: an id without words around it (nobody wrote it in a text), minted by the connector that it returns to."""
    if value.type not in _OPAQUE or value.span is not None or not value.sources:
        return False
    home = family(case.manifest.name)
    if any(case.scene.origins.get(source) != home for source in value.sources):
        return False
    return case.manifest.effect == "read" or case.manifest.role(name, value) == "content"


def _is_allowed(case: Case, name: str, value: Value) -> bool:
    """A permission matches the destination exactly and has bounded the amount."""
    return case.scene.permission is not None and case.manifest.role(name, value) in ("destination", "amount")


def _content(case: Case) -> Iterator[Finding]:
    """5."""
    if not case.leaves:
        return
    for name, value in case.of("content"):
        if provenance.is_outside(value) and not _goes_back(case, name, value):
            yield Finding(5, "confirm", f"{name} contains text from outside and would leave this machine")
            yield from _left_in(case, name, value)
    for name, one in case.scene.removed:
        yield Finding(5, "confirm", f"taken out of {name}, as it came from outside: {one.kind} “{clean(one.text, 80)}”")


def _left_in(case: Case, name: str, value: Value) -> Iterator[Finding]:
    """What the person chose to leave in is shown once more, with its neighbours in the finished text."""
    for one in find(value.v) if isinstance(value.v, str) and case.scene.kept else ():
        if one.canonical in case.scene.kept:
            yield Finding(5, "confirm", f"left in {name}, as you said: {one.kind} “{clean(one.text, 80)}”")


def _readers(case: Case) -> Iterator[Finding]:
    """6: confidentiality."""
    if case.manifest.effect in SELF_EFFECTS and not case.host:
        return
    to = {str(v.v) for _, v in case.of("destination")} | {urlsplit(str(v.v)).hostname or "" for _, v in case.of("url")}
    for name, value in case.args.items():
        if value.readers == ():
            yield Finding(6, "deny", f"{name} is a secret and would leave this machine")
        elif value.readers is not None and not (to and to <= set(value.readers)):
            others = ", ".join(sorted(clean(one, 80) for one in to)) or case.host or "others"
            yield Finding(6, "confirm", f"{name} was not meant for {others}")


def _asks_outside(case: Case) -> Iterator[Finding]:
    """7: a question can carry words out just as a letter can."""
    if not case.host:
        return
    for name, value in case.of("query", "content", "url"):
        if provenance.is_outside(value) and case.manifest.role(name, value) != "url":
            yield Finding(7, "confirm", f"{name} contains text from outside and would be sent to {case.host}")


def _second(case: Case) -> Iterator[Finding]:
    """8."""
    if case.leaves and case.scene.permission is None:
        yield Finding(8, "confirm", f"this is a {case.manifest.effect} and needs its own confirmation")


def _trifecta(case: Case) -> Iterator[Finding]:
    """9."""
    if case.scene.trifecta and (case.leaves or case.host):
        yield Finding(9, "confirm", "the plan joins private data, outside text and a way out")


def _rates(case: Case) -> Iterator[Finding]:
    """10."""
    today, limits, effect = case.scene.today, case.limits, case.manifest.effect
    if effect in ("outbound", "share"):
        yield from _rate(today.sent + 1, limits.sent, limits, f"it would be number {today.sent + 1} to leave today")
    if effect != "payment":
        return
    for _, value in case.of("amount"):
        if money := money_in(value):
            total = today.paid.get(money.currency, Decimal()) + money.amount
            says = f"it would bring what is paid today to {total:f} {money.currency}"
            yield from _rate(total, limits.spend, limits, says)
    for _, value in case.of("destination"):
        yield from _first_use(case, value)


def _rate(found: Decimal | int, limit: Decimal | int, limits: Limits, says: str) -> Iterator[Finding]:
    if found > limit * limits.ceiling:
        yield Finding(10, "deny", f"{says}, more than {limits.ceiling} times the limit of {limit}")
    elif found > limit:
        yield Finding(10, "confirm", f"{says}; the limit is {limit}")


def _first_use(case: Case, value: Value) -> Iterator[Finding]:
    known, is_named = case.scene.known, case.scene.permission is not None
    if known is None or is_named or not is_destination(value) or (value.type, canonical(value)) in known:
        return
    yield Finding(10, "confirm", f"you have never paid {provenance.quoted(value)} before")


RULES: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    _never, _step_up, _content, _readers, _asks_outside, _second, _trifecta, _rates,
)  # fmt: skip
"""In the order of their numbers; 4 stands within 3, 5 and 7."""


def findings(case: Case) -> list[Finding]:
    return [finding for rule in RULES for finding in rule(case)]
