"""Entry: what a ledger remembers of one movement, small enough for a thousand of them to live in a cursor."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from extractors.bank.identity import folded
from extractors.bank.row import Row
from schemas.ids import digest
from schemas.model import Json
from schemas.money import Money

_KEPT = 60
_SAID_KEPT = 6
_VERSION = 16


@dataclass(frozen=True, slots=True)
class Entry:
    """One movement under its key. ``row`` holds only what matching and a withdrawal need.

    ``version`` is what it says now; ``said`` are the versions that were handed out, newest last, so that a state which
    comes back is told under a new version. ``replaces`` is the key of the pending row that this booked one settles and
    ``settled_by`` the reverse; ``is_proven``: the bank itself said so. ``is_gone``: it was handed out as deleted.
    ``missed`` is the day (as an ordinal) since which the listings that should have it do not; 0 where the last one did.
    ``told`` counts the versions handed out.
    """

    key: str
    row: Row
    version: str
    said: tuple[str, ...] = ()
    replaces: str = ""
    settled_by: str = ""
    is_proven: bool = False
    is_gone: bool = False
    missed: int = 0
    told: int = 0

    def saying(self, base: str) -> tuple[Entry, str]:
        """Itself having told one version more, and that version: ``base``, or a form of it that was not handed out for
        this key yet."""
        is_fresh = base not in self.said and self.told < _SAID_KEPT
        version = base if is_fresh else f"{base}.{self.told}"
        return replace(self, said=(*self.said, version)[-_SAID_KEPT:], told=self.told + 1), version

    def dump(self) -> Json:
        row = self.row
        flags = "p" * row.pending + "s" * self.is_proven + "g" * self.is_gone
        stored: list[Json] = [
            self.key, self.version, flags, row.account, row.booked_on.isoformat(), str(row.amount),
            row.counterparty, row.purpose, row.native_id, row.end_to_end_id,
            list(self.said), self.replaces, self.settled_by, self.missed, self.told,
        ]  # fmt: skip
        return stored


def words(row: Row) -> tuple[str, str, str]:
    """What a row says, as far as it is kept and however the bank prints it."""
    return folded(row.counterparty[:_KEPT]), folded(row.purpose[:_KEPT]), row.end_to_end_id or ""


def slim(row: Row) -> Row:
    """Cut before it is kept, never when it is stored: a cursor that was stored and read must not lead to other records
    than one that was not."""
    return Row(
        account=row.account,
        booked_on=row.booked_on,
        amount=row.amount,
        counterparty=row.counterparty[:_KEPT],
        purpose=row.purpose[:_KEPT],
        native_id=row.native_id,
        end_to_end_id=row.end_to_end_id,
        pending=row.pending,
    )


def version_of(row: Row) -> str:
    """Equal for rows that say the same: the bank's id, which may be issued anew, is not what a row says."""
    return digest(row.model_dump(mode="json", exclude={"replaces", "warnings", "native_id"}))[:_VERSION]


def entry_of(stored: Any) -> Entry:
    """ValueError, TypeError or their kin for what ``dump`` did not write."""
    key, version, flags, account, day, amount, who, purpose, native_id, reference, *state = stored
    said, replaces, settled_by, missed, told = state
    value, _, currency = amount.partition(" ")
    row = Row(
        account=account,
        booked_on=date.fromisoformat(day),
        amount=Money.of(value, currency),
        counterparty=who,
        purpose=purpose,
        native_id=native_id,
        end_to_end_id=reference,
        pending="p" in flags,
    )
    return Entry(key, row, version, tuple(said), replaces, settled_by, "s" in flags, "g" in flags, missed, told)
