"""RuleBook: every revision of every rule that was ever in use, and the sets of them, in the log (topic ``rules``).

What rules were in use at an event is part of the log: a set is known by its digest, and the event ``rules.changed``
names the one that is in use from there on. So a replay, or a start after a crash, evaluates with the rules of then.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from rules.changeover import Difference, difference
from rules.language import ConditionErrors
from rules.prepared import PreparedRule, Shared
from rules.ruleset import RuleSet
from schemas import ids
from schemas.event import Event
from schemas.model import Instant, Json, Model
from schemas.payloads import RulesPayload
from schemas.rule import Rule
from streams import topics
from streams.codec import decode, encode
from streams.work import Log, Output

logger = logging.getLogger(__name__)

CHANGED = "rules.changed"
_ACCOUNT = "rules"
_READ_AT_ONCE = 1000
_MOST_NAMES = 50


class Revision(Model):
    """One revision of a rule, as the log keeps it: without examples and description. ``at``: when it came into use."""

    rule: str
    revision: str
    at: Instant
    model: dict[str, Json]


class _Set(Model):
    """``rule/revision`` of the rules in use, in order."""

    rules: tuple[str, ...] = ()


class _Used(Model):
    digest: str


class RuleBook:
    def __init__(self, log: Log) -> None:
        self._log = log
        self._next: dict[int, int] = {}
        self._revisions: dict[str, Revision] = {}
        self._sets: dict[str, _Set] = {}
        self._used: dict[str, str] = {}

    async def refresh(self) -> None:
        """Read the topic to its end as of now."""
        for partition in range(self._log.partitions(topics.RULES)):
            while entries := await self._log.read(topics.RULES, partition, self._next.get(partition, 0), _READ_AT_ONCE):
                for entry in entries:
                    if entry.value is not None:
                        self._apply((entry.key or b"").decode(), entry.value)
                self._next[partition] = entries[-1].offset + 1

    def _apply(self, key: str, value: bytes) -> None:
        family, _, name = key.partition("/")
        match family:
            case "rule":
                self._revisions[name] = decode(Revision, value)
            case "set":
                self._sets[name] = decode(_Set, value)
            case "used":
                self._used[name] = decode(_Used, value).digest

    def revisions(self, rule: str) -> list[Revision]:
        """All revisions of a rule, in the order in which they first came into use; as of the last ``refresh``."""
        return sorted((one for one in self._revisions.values() if one.rule == rule), key=lambda one: one.at)

    def used(self, owner: str) -> str | None:
        """The digest of the rules that were last brought into use; as of the last ``refresh``."""
        return self._used.get(owner)

    async def last_used(self, owner: str, zone: ZoneInfo) -> RuleSet | None:
        """The rules that were last brought into use; None if there were none yet."""
        await self.refresh()
        digest = self.used(owner)
        return None if digest is None else await self.rules(digest, zone)

    async def rules(self, digest: str, zone: ZoneInfo, compiled: Iterable[PreparedRule] = ()) -> RuleSet:
        """The rules of a set. One that this version of Forewatch cannot read is left out, with a line in the log.

        ``compiled``: rules of that zone, of which the same revisions need not be compiled again.
        """
        if digest not in self._sets:
            await self.refresh()
        shared = Shared(zone)
        ready = {_name(rule): rule for rule in compiled if rule.model.enabled}  # all rules of a set are on
        found = (ready.get(name) or self._rule(name, shared) for name in self._sets.get(digest, _Set()).rules)
        return RuleSet([rule for rule in found if rule is not None], zone)

    def _rule(self, name: str, shared: Shared) -> PreparedRule | None:
        try:
            return PreparedRule(Rule.model_validate(self._revisions[name].model), shared)
        except (KeyError, ValidationError, ConditionErrors) as error:
            logger.warning("the rule %s of the log cannot be used: %s", name, error)
            return None

    async def bring_into_use(self, rules: RuleSet, owners: Iterable[str], now: datetime) -> Difference:
        """Say in the log that these rules are in use from here on, unless they are already.

        After a crash at any point, the same call completes it: what a set stands for is durable before the event that
        names it, and that before the note that it is in use.
        """
        await self.refresh()
        on = [rule for rule in rules if rules.is_on(rule.id)]
        names = tuple(map(_name, on))
        digest = ids.digest(list(names))[:16]
        todo = [owner for owner in owners if self._used.get(owner) != digest]
        if not todo:
            return Difference()
        before = await self.rules(self._used.get(todo[0], ""), rules.zone, rules)
        found = difference(before, rules)
        contents = [
            _output(f"rule/{name}", _revision(rule, now))
            for name, rule in zip(names, on, strict=True)
            if name not in self._revisions
        ]
        events = [_event(owner, digest, len(names), found, now) for owner in todo]
        await self._log.append([*contents, _output(f"set/{digest}", _Set(rules=names))], then=events)
        await self._log.append([_output(f"used/{owner}", _Used(digest=digest)) for owner in todo])
        return found


def model_of(rule: Rule) -> dict[str, Json]:
    """What the revision of a rule depends on, as ``Rule`` reads it."""
    left_out = {"examples", "description", "enabled"}
    found: dict[str, Json] = rule.model_dump(mode="json", by_alias=True, exclude=left_out, exclude_defaults=True)
    return found


def _name(rule: PreparedRule) -> str:
    """Of a revision, in a set."""
    return f"{rule.id}/{rule.revision}"


def _revision(rule: PreparedRule, now: datetime) -> Revision:
    return Revision(rule=rule.id, revision=rule.revision, at=now, model=model_of(rule.model))


def _output(key: str, value: Model) -> Output:
    return Output(topics.RULES, key.encode(), encode(value))


def _event(owner: str, digest: str, count: int, found: Difference, now: datetime) -> Output:
    version = f"{digest}/{now.isoformat()}"
    names = {"added": found.added, "changed": found.changed, "removed": found.removed}
    event = Event(
        id=ids.event_id(owner, CHANGED, _ACCOUNT, version),
        owner=owner,
        account=_ACCOUNT,
        source=_ACCOUNT,
        kind=CHANGED,
        subject="rules",
        version=version,
        occurred_at=now,
        observed_at=now,
        title=f"Rules: {found}",
        trust="self",
        payload=RulesPayload(digest=digest, count=count, **{word: some[:_MOST_NAMES] for word, some in names.items()}),
    )
    return Output(topics.EVENTS, owner.encode(), encode(event))
