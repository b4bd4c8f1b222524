"""What became of each rule's proposals: the figures by which a person, or a watchdog, judges a rule (pure)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from datetime import datetime

from pydantic import Field

from schemas.journal import JournalEntry
from schemas.model import Model
from schemas.trigger import Retraction, Signal, Suppression, Trigger


class RuleFigures(Model):
    """Counts of one rule. Triggers and their withdrawals come from the rule, the rest from the person and the clock.

    ``approved``, ``rejected`` and ``expired`` count proposals by how they ended; ``edited`` and ``snoozed`` count
    proposals that were so at least once; ``open``: those that still wait.
    """

    rule: str
    fired: int = 0
    withdrawn: int = 0
    suppressed: dict[str, int] = Field(default={})
    """By the reason code."""
    proposals: int = 0
    interrupted: int = 0
    """Times that something was surfaced ``now``."""
    approved: int = 0
    edited: int = 0
    rejected: int = 0
    """``never`` included."""
    never: int = 0
    snoozed: int = 0
    expired: int = 0
    open: int = 0

    @property
    def false_alarm_rate(self) -> float | None:
        """The share of rejected among answered proposals; None while none was answered."""
        answered = self.approved + self.rejected
        return self.rejected / answered if answered else None


def figures(
    signals: Iterable[Signal],
    entries: Iterable[JournalEntry],
    since: datetime | None = None,
) -> list[RuleFigures]:
    """One for each rule that did anything, by name. ``since``: what happened before does not count.

    A proposal counts when it was drafted since then, however long after that it was answered.
    """
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    suppressed: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for signal in signals:
        at = signal.fired_at if isinstance(signal, Trigger) else signal.at
        if since is not None and at < since:
            continue
        match signal:
            case Trigger():
                counts[signal.rule]["fired"] += 1
            case Retraction():
                counts[signal.rule]["withdrawn"] += 1
            case Suppression():
                suppressed[signal.rule][signal.explanation.reason] += 1
    for proposal in _proposals(entries, since):
        counts[proposal.rule].update(proposal.counts())
    rules = sorted(counts.keys() | suppressed.keys())
    return [RuleFigures(rule=rule, suppressed=dict(suppressed[rule]), **counts[rule]) for rule in rules]


class _Proposal:
    """One stream of the journal, as far as it matters here."""

    def __init__(self, rule: str) -> None:
        self.rule = rule
        self.interrupted = 0
        self.seen: set[str] = set()
        self.end = "open"

    def take(self, entry: JournalEntry) -> None:
        self.interrupted += entry.body.get("surface") == "now"
        match entry.type:
            case "proposal.edited" | "proposal.snoozed":
                self.seen.add(entry.type.removeprefix("proposal."))
            case "proposal.rejected":
                self.end = "never" if entry.body.get("verb") == "never" else "rejected"
            case "run.started":
                self.end = "approved"
            case "proposal.expired":
                self.end = "expired"
            case "proposal.retracted":
                self.end = "gone"
            case "proposal.offered" | "proposal.needs_input":
                self.end = "open"  # also after it had expired: it was asked once more

    def counts(self) -> Counter[str]:
        found = Counter({"proposals": 1, "interrupted": self.interrupted, **dict.fromkeys(self.seen, 1)})
        if self.end == "never":
            found["rejected"] += 1
        if self.end != "gone":
            found[self.end] += 1
        return found


def _proposals(entries: Iterable[JournalEntry], since: datetime | None) -> Iterable[_Proposal]:
    found: dict[str, _Proposal] = {}
    for entry in entries:
        if entry.type == "proposal.drafted" and (since is None or entry.at >= since):
            trigger = entry.body["trigger"]
            assert isinstance(trigger, dict)
            found[entry.stream] = _Proposal(str(trigger["rule"]))
        elif entry.stream in found:
            found[entry.stream].take(entry)
    return found.values()
