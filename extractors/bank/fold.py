"""Fold: what one answer of a bank's API changes, given what the ledger knows; decided as values, applied one by one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from extractors.bank.archive import Archive
from extractors.bank.entry import Entry, slim, version_of
from extractors.bank.listing import Listed, Listing
from extractors.bank.matching import distinct, matched
from extractors.bank.naming import Ids, key_of_id, keys_of, numbered
from extractors.bank.pending import settled_by
from extractors.bank.row import Row
from extractors.bank.settling import Settlement, settlement, undone_by
from extractors.connector import Delete, Upsert
from schemas.model import Json

CONTENT_TYPE = "application/json"
PENDING_LASTS = timedelta(days=45)
"""A pending row that is older, and that the answers do not reach any more, was never booked."""
_DOUBTFUL = "the bank lists far fewer rows of {} than before: nothing was removed"
_FEW = 4


@dataclass(frozen=True, slots=True)
class Step:
    """The new state of one movement, and what to tell of it (None: nothing)."""

    entry: Entry
    change: Upsert | Delete | None = None


@dataclass(slots=True)
class Fold:
    """One answer. ``steps`` are in the order in which they must be applied."""

    scope: str
    ids: Ids
    listing: Listing
    known: dict[str, Entry]
    archive: Archive
    steps: list[Step] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    is_in_doubt: bool = False

    def run(self) -> None:
        listed = distinct(self.listing.rows, self.ids)
        rows = [each.row for each in listed]
        places = matched(rows, self.known, self.ids, self.listing)
        keys = keys_of(self.scope, rows, places, self.known, self.ids)
        self._recall(keys, rows)
        settled = self._settlement(listed, keys)
        undone = undone_by(dict(zip(keys, rows, strict=True)), settled, self.known)
        for key, row in zip(keys, rows, strict=True):
            if row.pending:
                self._take_pending(key, row, settled, undone)
            else:
                self._take_booked(key, row, settled, undone)
        for key in sorted(undone - set(keys)):
            self._unmerge(key)
        for pending, booked in settled.settled.items():
            self._settle(pending, booked, is_proven=booked in settled.proven)
        self._absent(set(keys))

    def _recall(self, keys: Sequence[str], rows: Sequence[Row]) -> None:
        """What the archive knows of these rows."""
        for key, row in zip(keys, rows, strict=True):
            if key not in self.known and (archived := self.archive.get(key, version_of(row))) is not None:
                self.known[key] = replace(archived, row=slim(row))

    # which pending rows were booked

    def _settlement(self, listed: Sequence[Listed], keys: Sequence[str]) -> Settlement:
        present = set(keys)
        new, links = {}, {}
        for key, each in zip(keys, listed, strict=True):
            if each.row.pending:
                continue
            link = self._linked(each)
            entry = self.known.get(key)
            if link and (entry is None or entry.replaces != link or self._is_live(link)):
                links[key] = link
            if entry is None:
                new[key] = each.row
        open_rows = {
            key: entry.row
            for key, entry in self.known.items()
            if entry.row.pending and key not in present and self._may_be_booked(entry)
        }
        return settlement(new, open_rows, links)

    def _is_live(self, key: str) -> bool:
        entry = self.known.get(key)
        return entry is not None and not entry.is_gone

    def _linked(self, each: Listed) -> str:
        """The key of the pending row that the bank says this one was; empty where we cannot know it."""
        if not each.settles:
            return ""
        named = [e for e in self.known.values() if e.row.pending and e.row.native_id == each.settles]
        if named:
            return min(named, key=lambda entry: (entry.is_gone, entry.key)).key
        if self.ids != "unique":
            return ""
        return self._key_of_id(each.settles, pending=True)

    def _may_be_booked(self, entry: Entry) -> bool:
        if entry.is_gone:
            return not entry.settled_by
        return self.listing.since is not None or self.listing.lacks(entry.row)

    # what each row changes

    def _take_pending(self, key: str, row: Row, settled: Settlement, undone: set[str]) -> None:
        entry = self.known.get(key)
        is_over = key in settled.settled or any(
            other.replaces == key and self._stays(other) for other in self.known.values()
        )
        if is_over and not (entry is not None and entry.settled_by in undone):
            return
        self._tell(key, row, replaces="", is_proven=False)

    def _take_booked(self, key: str, row: Row, settled: Settlement, undone: set[str]) -> None:
        entry = self.known.get(key)
        replaces = entry.replaces if entry else ""
        is_proven = entry.is_proven if entry else False
        if key in settled.replaces:
            replaces, is_proven = settled.replaces[key], key in settled.proven
        elif key in undone:
            replaces = ""
        self._tell(key, row, replaces=replaces, is_proven=is_proven)

    def _tell(self, key: str, row: Row, *, replaces: str, is_proven: bool) -> None:
        """A row as it is now; told only if it is new, or back, or says something else."""
        entry = self.known.get(key)
        base = version_of(row)
        kept = slim(row)
        if entry is not None and (entry.version, entry.replaces, entry.is_gone) == (base, replaces, False):
            now = replace(entry, row=kept, missed=0, is_proven=is_proven)
            if now != entry:
                self._step(now)
            return
        told, version = (entry or Entry(key, kept, base)).saying(base)
        now = Entry(key, kept, base, told.said, replaces, is_proven=is_proven, told=told.told)
        raw = row.model_copy(update={"replaces": replaces or None}).model_dump_json().encode()
        self._step(now, Upsert(key, version, raw, CONTENT_TYPE, is_new=entry is None))

    def _unmerge(self, key: str) -> None:
        """A booked row that the answer does not hold is told again from what is kept of it."""
        entry = self.known[key]
        if entry.is_gone:
            self._step(replace(entry, replaces=""))
            return
        base = version_of(entry.row)
        told, version = entry.saying(base)
        change = Upsert(key, version, entry.row.model_dump_json().encode(), CONTENT_TYPE, is_new=False)
        self._step(replace(told, replaces="", version=base), change)

    def _stays(self, entry: Entry) -> bool:
        return not (entry.is_gone or self.listing.names(entry.row))

    def _settle(self, pending: str, booked: str, *, is_proven: bool) -> None:
        entry = self.known.get(pending)
        if entry is None:
            return
        settled = replace(entry, settled_by=booked, is_proven=is_proven, is_gone=True)
        self._step(settled) if entry.is_gone else self._delete(settled, f"booked:{booked}", settled_by=booked)

    def _delete(self, entry: Entry, base: str, **meta: Json) -> None:
        told, version = entry.saying(base)
        row: dict[str, Json] = {"row": entry.row.model_dump(mode="json"), **meta}
        self._step(replace(told, is_gone=True, missed=0), Delete(entry.key, version, row))

    def _step(self, entry: Entry, change: Upsert | Delete | None = None) -> None:
        self.known[entry.key] = entry
        self.steps.append(Step(entry, change))

    # what is not there any more

    def _absent(self, present: set[str]) -> None:
        live = {key: entry for key, entry in self.known.items() if key not in present and not entry.is_gone}
        named = {key: entry for key, entry in live.items() if self.listing.names(entry.row)}
        gone = {key: entry for key, entry in live.items() if key not in named and self.listing.lacks(entry.row)}
        if self._is_doubtful(present, gone):
            self.is_in_doubt = True
            self.warnings.append(_DOUBTFUL.format(self.listing.account))
            gone = {}
        today = self.listing.on.toordinal()
        for key, entry in (named | gone).items():
            if entry.row.pending:
                self._vanish(entry)
            elif key in named or self.listing.is_final or 0 < entry.missed < today:
                self._delete(entry, "removed")
            elif not entry.missed:
                self._step(replace(entry, missed=today))
        for entry in self._archived_and_gone():
            if entry.key not in present:
                self._delete(entry, "removed")
        for key, entry in live.items():
            if entry.row.pending and not self.known[key].is_gone and self._has_expired(entry):
                self._delete(entry, "expired")

    def _archived_and_gone(self) -> list[Entry]:
        """Old movements that the answer says are gone: by their id, or by a full listing that reaches back to them."""
        if self.listing.is_final:
            return [entry for entry in self.archive.of(self.listing.account) if self.listing.lacks(entry.row)]
        if self.ids != "unique":
            return []
        named = {each.row.native_id for each in self.known.values()}
        keys = [self._key_of_id(each, pending=False) for each in self.listing.removed if each not in named]
        return [entry for key in keys if (entry := self.archive.get(key, "")) is not None]

    def _key_of_id(self, native_id: str, *, pending: bool) -> str:
        return numbered(key_of_id(self.scope, self.listing.account, native_id, pending=pending), 1)

    def _is_doubtful(self, present: set[str], gone: Mapping[str, Entry]) -> bool:
        """An answer without any row, or with less than half of the booked ones that we know in its days, is more
        likely a fault of the source."""
        if not gone:
            return False
        missing = sum(not entry.row.pending for entry in gone.values())
        if not self.listing.rows:
            return missing > 0
        if self.listing.is_final:
            return False
        found = sum(1 for key in present if (entry := self.known.get(key)) and not entry.row.pending)
        return missing >= _FEW and missing > found

    def _vanish(self, entry: Entry) -> None:
        """A pending row that is gone: booked by a row that was listed beside it for a while, or never."""
        taken = {other.settled_by for other in self.known.values()}
        for key, other in self.known.items():
            if other.replaces == entry.key and not other.is_gone:  # the poll that told so was cut short
                self._settle(entry.key, key, is_proven=other.is_proven)
                return
        for key, other in self.known.items():
            is_free = not (other.row.pending or other.is_gone or other.replaces or key in taken)
            if is_free and other.row.booked_on >= entry.row.booked_on and settled_by(other.row, {"": entry.row}) == "":
                self._settle(entry.key, key, is_proven=False)
                return
        self._delete(entry, "gone")

    def _has_expired(self, entry: Entry) -> bool:
        is_listed = self.listing.since is not None and self.listing.is_whole and self.listing.has_pending
        return is_listed and entry.row.booked_on < self.listing.on - PENDING_LASTS
