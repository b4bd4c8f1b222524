"""The Book: one owner's proposals and runs, as the fold of their journal; rebuilt at will, never stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime

from actions.journal import Tip
from actions.memory import lessons
from actions.memory.remembering import Memories
from actions.planning.spending import Spending
from actions.policy.experience import Experience
from actions.proposal import fold
from actions.proposal.priority import Standing
from actions.proposal.state import ACTIVE, OPEN, ProposalState
from actions.run.waits import WaitIndex
from schemas.errors import PoisonError
from schemas.journal import JournalEntry
from schemas.trigger import Trigger


class Book:
    """Apply entries in log order. ``proposals`` keeps insertion order: oldest first."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.proposals: dict[str, ProposalState] = {}
        self.memory = Memories(owner)
        self.experience = Experience()
        self.spending = Spending()
        """What the planner's model has cost."""
        self.pushed: list[datetime] = []
        """When something was surfaced ``now``, for the interruption budget."""
        self.shadows: dict[str, tuple[str, datetime]] = {}
        """rule -> the key for which it last fired on trial, and when."""
        self.waits = WaitIndex()
        """Steps that wait for an event."""
        self._places: dict[str, int] = {}
        self._open: dict[str, None] = {}
        self._active: dict[str, None] = {}
        self._planning: dict[str, None] = {}
        self._useful: Counter[str] = Counter()
        self._useless: Counter[str] = Counter()
        self._tips: dict[str, Tip] = {}
        self._causes: set[str] = set()
        self._triggers: dict[str, str] = {}
        self._newest: dict[tuple[str, str], str] = {}
        self._by_matter: dict[str, dict[str, None]] = {}

    def apply(self, entry: JournalEntry) -> None:
        """Entries seen before, and those of a fenced writer, change nothing; PoisonError for a gap."""
        tip = self.tip(entry.stream)
        if entry.seq <= tip.seq or entry.epoch < tip.epoch:
            return
        if entry.seq != tip.seq + 1:
            raise PoisonError(
                f"journal stream {entry.stream}: entry {entry.seq} follows {tip.seq}",
                code="journal_gap",
                remedy="run `forewatch audit verify` and restore the missing entries",
            )
        self._tips[entry.stream] = Tip(entry.seq, entry.epoch, entry.hash)
        if entry.cause:
            self._causes.add(entry.cause)
        self._fold(entry)
        self.experience.apply(entry, self.proposals.get(entry.stream))
        self.spending.apply(entry)

    def tip(self, stream: str) -> Tip:
        """Where the stream ends: what a port seals the next entry onto."""
        return self._tips.get(stream, Tip())

    def has_seen(self, cause: str) -> bool:
        """Has this trigger, retraction or command led to an entry already? Then it is a redelivery."""
        return cause in self._causes

    def by_trigger(self, trigger: str) -> ProposalState | None:
        proposal = self._triggers.get(trigger)
        return self.proposals.get(proposal) if proposal else None

    def newest(self, trigger: Trigger) -> ProposalState | None:
        """The newest proposal of the same rule for the same key (which is the matter, where the rule says so)."""
        proposal = self._newest.get((trigger.rule, trigger.key))
        return self.proposals.get(proposal) if proposal else None

    def has_told(self, rule: str, key: str) -> bool:
        """Did this rule ever lead to a proposal for this key?"""
        return (rule, key) in self._newest

    def about(self, matter: str) -> list[ProposalState]:
        """The open proposals about a matter, oldest first."""
        found = (self.proposals[name] for name in self._by_matter.get(matter, ()))
        return [state for state in found if state.phase in OPEN and state.matter == matter]

    def standing(self, rule: str) -> Standing:
        """How the proposals of a rule were answered so far."""
        return Standing(self._useful[rule], self._useless[rule])

    def open(self) -> Iterator[ProposalState]:
        """Proposals that wait for the person."""
        return iter([self.proposals[name] for name in sorted(self._open, key=self._places.__getitem__)])

    def planning(self) -> Iterator[ProposalState]:
        """Proposals that a model is asked about."""
        return iter([self.proposals[name] for name in self._planning])

    def active(self) -> Iterator[ProposalState]:
        """Runs that the executor has work with; after a restart, advance each of them."""
        return iter([self.proposals[name] for name in self._active])

    def _fold(self, entry: JournalEntry) -> None:
        if entry.type == "note" and entry.body.get("code") == "shadow":
            self.shadows[str(entry.body["rule"])] = str(entry.body["key"]), entry.at
        if entry.type == "proposal.drafted":
            self.proposals[entry.stream] = fold.start(entry)
            self.proposals[entry.stream].experience = self.experience
        elif entry.stream in self.proposals:
            fold.change(self.proposals[entry.stream], entry)
        state = self.proposals.get(entry.stream)
        lessons.learn(self.memory, entry, state)
        if state is not None:
            self._index(state, entry)

    def _sort(self, state: ProposalState) -> None:
        """Thousands of runs may wait: who asks for the open, the active or the planned ones must not look at all."""
        self._places.setdefault(state.id, len(self._places))
        belongs = (
            (self._open, state.phase in OPEN),
            (self._active, state.phase in ACTIVE),
            (self._planning, state.planning is not None),
        )
        for names, is_one in belongs:
            if is_one:
                names[state.id] = None
            else:
                names.pop(state.id, None)

    def _index(self, state: ProposalState, entry: JournalEntry) -> None:
        self.waits.follow(state)
        self._sort(state)
        if entry.type in ("proposal.drafted", "proposal.refreshed", "proposal.joined"):
            for reason in state.standing():
                self._triggers[reason.trigger.id] = state.id
                self._newest[reason.trigger.rule, reason.trigger.key] = state.id
        if state.matter is not None:
            self._by_matter.setdefault(state.matter, {})[state.id] = None
        if entry.body.get("surface") == "now":
            self.pushed.append(entry.at)
        if entry.type == "run.started" and entry.actor.startswith("person:"):
            self._useful[state.trigger.rule] += 1
        if entry.type == "proposal.rejected":
            self._useless[state.trigger.rule] += 1
