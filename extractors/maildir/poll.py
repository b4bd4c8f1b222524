"""One poll: what the cursor knows against what is listed, as bounded pages. Reads the mails, and nothing else."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from extractors.connector import Delete, Page, Rejected, Upsert
from extractors.mail.content import content_key
from extractors.mail.slim import slim
from extractors.maildir.config import MaildirConfig
from extractors.maildir.item import Item
from extractors.maildir.known import LIMIT, Seen, pack
from schemas.errors import PoisonError
from schemas.model import Json

CONTENT_TYPE = "message/rfc822"
_TOMBSTONES = 2_000
"""Removed mails that are remembered, so that one that comes back is a new version of itself."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What is new (oldest first), what looks different, and the ids of what is no longer there."""

    new: Sequence[Item]
    changed: Sequence[Item]
    gone: Sequence[str]

    def __bool__(self) -> bool:
        return bool(self.new or self.changed or self.gone)


def changes(known: dict[str, Seen], items: Sequence[Item], config: MaildirConfig, now: datetime) -> Changes:
    """Pure. Of more than ``LIMIT`` mails the newest are watched."""
    oldest = now - timedelta(days=config.max_age_days) if config.max_age_days else None
    new = [item for item in items[-LIMIT:] if item.id not in known and (oldest is None or item.at >= oldest)]
    present = {item.id for item in items}
    return Changes(
        new=new,
        changed=[
            item for item in items if (seen := known.get(item.id)) and seen.now(item) != seen and not seen.is_rejected
        ],
        gone=[native_id for native_id, seen in known.items() if native_id not in present and not seen.is_gone],
    )


@dataclass(slots=True)
class _Draft:
    """A page in the making."""

    upserts: list[Upsert] = field(default_factory=list)
    deletes: list[Delete] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    size: int = 0

    def page(self, cursor: Json, *, complete: bool) -> Page:
        return Page(self.upserts, self.deletes, self.rejected, (), self.warnings, cursor, complete)

    def __len__(self) -> int:
        return len(self.upserts) + len(self.deletes) + len(self.rejected)


@dataclass(slots=True)
class Poll:
    """``known`` grows page by page, and every page carries what is known after it: the next poll goes on there."""

    known: dict[str, Seen]
    items: Sequence[Item]
    config: MaildirConfig
    page_items: int
    page_bytes: int
    stamp: dict[str, Json]
    """What the last page's cursor holds beside the known mails."""

    def pages(self, found: Changes) -> Iterator[Page]:
        """New mail first, then changed, then removed. TransientError where the source changes under the poll."""
        draft = _Draft()
        if len(self.items) > LIMIT:
            draft.warnings.append(f"more than {LIMIT} mails: only the newest are watched; max_age_days narrows it down")
        for step in self._steps(found):
            if len(draft) >= self.page_items or draft.size >= self.page_bytes:
                yield draft.page(self._cursor({}), complete=False)
                draft = _Draft()
            step_id, item = step
            if item is None:
                self._remove(draft, step_id)
            else:
                self._add(draft, item)
        self._tidy()
        yield draft.page(self._cursor(self.stamp), complete=True)

    def _steps(self, found: Changes) -> Iterator[tuple[str, Item | None]]:
        yield from ((item.id, item) for item in (*found.new, *found.changed))
        yield from ((native_id, None) for native_id in found.gone)

    def _add(self, draft: _Draft, item: Item) -> None:
        before = self.known.get(item.id)
        seen = before.now(item) if before else Seen.first(item)
        try:
            upsert = self._upsert(item, seen, is_new=before is None)
        except FileNotFoundError:
            return  # renamed since it was listed: the next poll finds it
        except PoisonError as error:
            self._reject(draft, item, seen, error)
        except OSError as error:
            if error.errno == errno.ELOOP:  # opened without following links
                self._reject(draft, item, seen, PoisonError("it is a link", code="not_a_file"))
            else:
                draft.warnings.append(f"{item.name}: cannot be read ({error.strerror}); it is tried again next time")
        else:
            draft.upserts.append(upsert)
            draft.size += len(upsert.raw)
            self.known[item.id] = seen

    def _reject(self, draft: _Draft, item: Item, seen: Seen, error: PoisonError) -> None:
        """Known from now on, so that it is told once."""
        draft.rejected.append(Rejected(f"{item.folder or 'inbox'}/{item.name}", error.code, error.message))
        self.known[item.id] = replace(seen, is_rejected=True)

    def _upsert(self, item: Item, seen: Seen, *, is_new: bool) -> Upsert:
        raw = item.read()
        slimmed = slim(raw)
        meta: dict[str, Json] = {
            "name": item.name,
            "folder": item.folder,
            "flags": list(item.flags),
            "role": item.role,
            "owners": list(self.config.addresses),
            "file_time": item.at.isoformat(),
        }
        if slimmed.left_out:
            meta["content_key"] = content_key(raw)
            meta["left_out"] = {path: list(what) for path, what in slimmed.left_out.items()}
        return Upsert(item.id, seen.version, slimmed.raw, CONTENT_TYPE, is_new, meta)

    def _remove(self, draft: _Draft, native_id: str) -> None:
        seen = self.known[native_id].gone()
        if seen.is_rejected:  # it never became a record, so there is nothing to take back
            del self.known[native_id]
            return
        self.known[native_id] = seen
        draft.deletes.append(Delete(native_id, seen.version))

    def _tidy(self) -> None:
        """In the order of the listing, then what is gone; the oldest of both are forgotten."""
        gone = {native_id: seen for native_id, seen in self.known.items() if seen.is_gone}
        listed = {item.id: self.known[item.id] for item in self.items[-LIMIT:] if item.id in self.known}
        self.known = {**listed, **dict(list(gone.items())[-_TOMBSTONES:])}

    def _cursor(self, more: dict[str, Json]) -> Json:
        return {"format": 1, "known": pack(self.known), **more}
