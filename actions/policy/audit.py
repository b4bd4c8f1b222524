"""Is the journal whole: hash chains, gaps, generations; and was every effect granted for its exact arguments?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from actions.grant import Grant
from actions.journal import Tip
from schemas.journal import JournalEntry
from schemas.value import Value


@dataclass(frozen=True, slots=True)
class AuditFault:
    """``code``: altered, unlinked, gap, repeated, fenced, ungranted."""

    stream: str
    seq: int
    code: str
    message: str

    def __str__(self) -> str:
        return f"{self.stream} #{self.seq}: {self.message}"


def verify(entries: Iterable[JournalEntry]) -> list[AuditFault]:
    """Entries in log order. Empty for a sound journal.

    ``fenced`` and ``repeated`` entries are left by a process that lost its place: readers skip them, and they are
    named here because somebody may ask. Nothing can tell that the newest entries of a stream were cut off, nor what an
    erased entry said: its hash still has to continue the one before it.
    """
    tips: dict[str, Tip] = {}
    ledgers: dict[str, _Ledger] = {}
    faults: list[AuditFault] = []
    for entry in entries:
        tip = tips.get(entry.stream, Tip())
        found = list(_chain(entry, tip))
        faults += found
        if any(fault.code in ("fenced", "repeated") for fault in found):
            continue
        tips[entry.stream] = Tip(entry.seq, max(tip.epoch, entry.epoch), entry.hash)
        faults += ledgers.setdefault(entry.stream, _Ledger()).take(entry)
    return faults


def _chain(entry: JournalEntry, tip: Tip) -> Iterator[AuditFault]:
    def fault(code: str, message: str) -> AuditFault:
        return AuditFault(entry.stream, entry.seq, code, message)

    if entry.seq <= tip.seq:
        yield fault("repeated", f"entry {entry.seq} is there twice; the first one counts")
    elif entry.epoch < tip.epoch:
        yield fault("fenced", f"written by generation {entry.epoch} after generation {tip.epoch} had taken over")
    else:
        if entry.seq != tip.seq + 1:
            yield fault("gap", f"entries {tip.seq + 1} to {entry.seq - 1} are missing")
        elif entry.prev_hash != tip.hash:
            yield fault("unlinked", "does not continue the entry before it")
        if entry.type != "erased" and entry.hash != entry.computed_hash():
            yield fault("altered", "was changed after it was written")


@dataclass(slots=True)
class _Ledger:
    """Grants of one stream, to hold each intent against (law L3)."""

    grants: dict[str, Grant] = field(default_factory=dict)
    revoked: set[str] = field(default_factory=set)
    spent: dict[str, str] = field(default_factory=dict)

    def take(self, entry: JournalEntry) -> list[AuditFault]:
        match entry.type:
            case "grant.issued":
                granted = Grant.model_validate(entry.body["grant"])
                self.grants[granted.id] = granted
            case "grant.revoked":
                named = entry.body["grants"]
                self.revoked |= {str(name) for name in named} if isinstance(named, list) else set()
            case "step.intent" if entry.body["grant"]:
                wrong = self._wrong(entry)
                self.spent.setdefault(str(entry.body["grant"]), str(entry.body["step"]))
                return [AuditFault(entry.stream, entry.seq, "ungranted", wrong)] if wrong else []
        return []

    def _wrong(self, entry: JournalEntry) -> str:
        body = entry.body
        granted = self.grants.get(str(body["grant"]))
        if granted is None:
            return "names a grant that was never issued"
        if granted.step != body["step"] or self.spent.get(granted.id, granted.step) != body["step"]:
            return "spends the grant of another step"
        if granted.binding != body["binding"] or _arguments(body["args"]) != granted.args:
            return "does something else than was granted"
        if granted.expires_at <= entry.at:
            return f"comes after its grant expired ({granted.expires_at.isoformat()})"
        return ""


def _arguments(body: object) -> dict[str, Value]:
    items = body.items() if isinstance(body, dict) else ()
    return {str(name): Value.model_validate(value) for name, value in items}
