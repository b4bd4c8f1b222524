"""MemoryLedger: an account of egress that tests can look into."""

from __future__ import annotations

from dataclasses import dataclass, field

from actions.isolation.egress import EgressEntry


@dataclass
class MemoryLedger:
    entries: list[EgressEntry] = field(default_factory=list)

    def note(self, entry: EgressEntry) -> None:
        self.entries.append(entry)

    def of(self, phase: str) -> list[EgressEntry]:
        return [entry for entry in self.entries if entry.phase == phase]
