"""Intake: mails that an online mailbox shows, as bounded pages of changes. Reads the mails, and nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from extractors.connector import Delete, Page, Rejected, Upsert
from extractors.mail import limits
from extractors.mail.content import content_key
from extractors.mail.ledger import LIMIT, Ledger, Told, flag_bits
from extractors.mail.slim import slim
from schemas.errors import PoisonError
from schemas.model import Json

CONTENT_TYPE = "message/rfc822"
_FIRST = datetime(1, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Sighting:
    """One mail as the source lists it. ``id`` is the source's, ``key`` our native id. ``at``: when it was received,
    where the source says so; ``size`` in bytes, 0 for unknown."""

    id: str
    key: str
    flags: tuple[str, ...]
    place: int
    folder: str
    role: str = "inbox"
    at: datetime | None = None
    size: int = 0


Fetch = Callable[[Sighting], Awaitable[bytes | None]]
"""The mail's bytes; None where the source has it no longer."""


@dataclass(slots=True)
class Intake:
    """``owners``: the owner's addresses. ``oldest``: mail from before is left alone, unless it is known. ``cursor``
    says where a poll that is killed after the page goes on: with what is known by then."""

    ledger: Ledger
    fetch: Fetch
    cursor: Callable[[], Json]
    owners: Sequence[str]
    oldest: datetime | None
    page_items: int
    page_bytes: int
    is_reset: bool = False
    has_changed: bool = False
    _upserts: list[Upsert] = field(default_factory=list)
    _deletes: list[Delete] = field(default_factory=list)
    _rejected: list[Rejected] = field(default_factory=list)
    _warnings: list[str] = field(default_factory=list)
    _size: int = 0

    async def take(self, sightings: Iterable[Sighting]) -> AsyncIterator[Page]:
        """The oldest first, in pages as they fill; what is left over comes with the next page. A mail that has
        vanished since it was listed is left for the next poll."""
        for sighting in self._wanted(sightings):
            before = self.ledger.known.get(sighting.key)
            now = _told(sighting, before)
            if before is not None and before.is_rejected:
                self.ledger.known[sighting.key] = now
            elif now != before and (after := await self._add(sighting, now, is_new=before is None)):
                self.ledger.known[sighting.key] = replace(after, is_unsettled=True)
                self.has_changed = True
            if len(self) >= self.page_items or self._size >= self.page_bytes:
                yield self.page()

    async def withdraw(self, keys: Iterable[str]) -> AsyncIterator[Page]:
        """Deletes for what the source has no longer. Mails that are not known, or known to be gone, are passed over."""
        for key in keys:
            before = self.ledger.known.get(key)
            if before is None or before.is_gone:
                continue
            self.has_changed = True
            if before.is_rejected:  # it never became a record, so there is nothing to take back
                del self.ledger.known[key]
                continue
            self.ledger.known[key] = before.gone()
            self._deletes.append(Delete(key, before.gone().version))
            if len(self) >= self.page_items:
                yield self.page()

    def warn(self, text: str) -> None:
        self._warnings.append(text)

    def page(self, *, complete: bool = False, keeps_cursor: bool = False) -> Page:
        """What has come together. ``complete``: the source was looked at to its end, and the cursor says so.
        ``keeps_cursor``: the stored one is as good as a new one."""
        if complete:
            self.ledger.settle()
        page = Page(
            upserts=self._upserts,
            deletes=self._deletes,
            rejected=self._rejected,
            warnings=self._warnings,
            next_cursor=None if keeps_cursor else self.cursor(),
            complete=complete,
            reset=self.is_reset,
        )
        self._upserts, self._deletes, self._rejected, self._warnings, self._size = [], [], [], [], 0
        return page

    def __len__(self) -> int:
        return len(self._upserts) + len(self._deletes) + len(self._rejected)

    def _wanted(self, sightings: Iterable[Sighting]) -> list[Sighting]:
        known = self.ledger.known
        shown = {sighting.key: sighting for sighting in sightings}
        fresh = [s for s in shown.values() if s.key not in known and not self._is_old(s)]
        if len(fresh) > LIMIT:
            self.warn(f"more than {LIMIT} mails: only the newest are watched; max_age_days narrows it down")
        newest = sorted(fresh, key=_age)[-LIMIT:]
        return sorted([*newest, *(s for s in shown.values() if s.key in known)], key=_age)

    def _is_old(self, sighting: Sighting) -> bool:
        return self.oldest is not None and sighting.at is not None and sighting.at < self.oldest

    async def _add(self, sighting: Sighting, told: Told, *, is_new: bool) -> Told | None:
        """What is known of it from now on; None for a mail that has vanished."""
        try:
            raw = await self._raw(sighting)
            if raw is None:
                return None
            upsert = self._upsert(sighting, told, raw, is_new=is_new)
        except PoisonError as error:
            where = f"{sighting.folder or 'mail'}/{sighting.id}"
            self._rejected.append(Rejected(where[:500], error.code, error.message))
            return replace(told, is_rejected=is_new)
        self._upserts.append(upsert)
        self._size += len(upsert.raw)
        return told

    async def _raw(self, sighting: Sighting) -> bytes | None:
        if sighting.size > limits.MESSAGE_BYTES:
            raise PoisonError(f"a mail of {sighting.size} bytes is too large", code="too_large")
        raw = await self.fetch(sighting)
        if raw is not None and not raw.strip():
            raise PoisonError("the source gives an empty mail", code="empty")
        return raw

    def _upsert(self, sighting: Sighting, told: Told, raw: bytes, *, is_new: bool) -> Upsert:
        slimmed = slim(raw)
        meta: dict[str, Json] = {
            "folder": sighting.folder,
            "flags": list(sighting.flags),
            "role": sighting.role,
            "owners": list(self.owners),
        }
        if sighting.at is not None:
            meta["file_time"] = sighting.at.isoformat()
        if slimmed.left_out:
            meta["content_key"] = content_key(raw)
            meta["left_out"] = {path: list(what) for path, what in slimmed.left_out.items()}
        return Upsert(sighting.key, told.version, slimmed.raw, CONTENT_TYPE, is_new, meta)


def _told(sighting: Sighting, before: Told | None) -> Told:
    bits = flag_bits(sighting.flags)
    return Told(0, bits, sighting.place) if before is None else before.now(bits, sighting.place)


def _age(sighting: Sighting) -> tuple[datetime, str]:
    """What is not dated is something known of which only a part was shown."""
    return sighting.at or _FIRST, sighting.key
