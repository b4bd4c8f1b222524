"""The cursor of a Plaid account: Plaid's own place, the ledger, and what a loop that was cut short has told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from extractors.bank.ledger import Ledger
from extractors.bank.refusals import Refusals
from extractors.plaid.accounts import Labels
from schemas.errors import CursorExpired
from schemas.model import Json

VERSION = 1
LOOSE = 500


@dataclass(slots=True)
class State:
    """``at``: Plaid's cursor, which moves only when a loop is through; empty: everything is to be read.

    ``loose``: label and id of the rows that a loop from ``at`` has told before it was cut short; what the next loop
    from there does not tell was taken back in between. ``asked_on``: the day of the last look at the Item.
    """

    at: str = ""
    ledger: Ledger = field(default_factory=lambda: Ledger("unique"))
    refusals: Refusals = field(default_factory=Refusals)
    labels: Labels = field(default_factory=Labels)
    loose: dict[tuple[str, str], None] = field(default_factory=dict)
    asked_on: str = ""

    def tell(self, label: str, native_id: str) -> None:
        self.loose[label, native_id] = None
        while len(self.loose) > LOOSE:
            del self.loose[next(iter(self.loose))]

    def dump(self) -> Json:
        return {
            "v": VERSION,
            "at": self.at,
            "ledger": self.ledger.dump(),
            "refusals": self.refusals.dump(),
            "labels": {**self.labels.by_id},
            "looks": {**self.labels.looks},
            "loose": [[*each] for each in self.loose],
            "asked_on": self.asked_on,
        }


def load(stored: Any) -> State:
    """CursorExpired for what this version did not write."""
    if stored is None:
        return State()
    try:
        if stored["v"] != VERSION:
            raise CursorExpired("the cursor of a Plaid account is of another version")
        return State(
            str(stored["at"]),
            Ledger.load(stored["ledger"], "unique"),
            Refusals(stored["refusals"]),
            Labels(dict(stored["labels"]), dict(stored["looks"])),
            dict.fromkeys((str(label), str(key)) for label, key in stored["loose"]),
            str(stored["asked_on"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CursorExpired("the cursor of a Plaid account is not readable") from error
