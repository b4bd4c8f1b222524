"""Ledger: what earlier polls said about each occurrence, and what another look at the calendar changes in that.

The ledger lives in the connector's cursor, so it is kept small: about 60 bytes for one occurrence of a series.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from extractors.calendar.agenda import Agenda, Placed
from extractors.calendar.occurrence import CONTENT_TYPE, VERSION_DIGITS, Occurrence, native_id
from extractors.connector import Delete, Upsert
from schemas.clock import start_of_day
from schemas.ids import content_hash
from schemas.model import Json

TITLE_CAP = 80

_OVER = timedelta(days=1)
_INSTANT, _DATE = "%Y%m%dT%H%M%SZ", "%Y%m%d"


@dataclass(frozen=True, slots=True)
class Known:
    """One occurrence as last told. ``when``: its start, an instant in UTC or a date (``starts_at``).

    ``version`` is the content of what never changed; after a change it also hangs on the version before, so that a
    meeting that is moved away and back again is not taken for a record that was sent long ago. ``is_gone``: the last
    word was that it is off. ``is_own``: as in ``Occurrence``, for the words of the title.
    """

    version: str
    content: str
    when: str
    title: str
    is_gone: bool = False
    is_own: bool = True


Key = tuple[str, str, str]
"""kind, uid, recurrence id ('' for none)."""


@dataclass(frozen=True, slots=True)
class Look:
    """What a poll looked at: ``sources`` are the files of which it can be said what they lack; ``low`` and ``high``
    bound the starts that were looked for. ``prunes``: the source may drop by itself what is long over."""

    sources: Set[str]
    low: datetime
    high: datetime
    now: datetime
    owner: ZoneInfo
    prunes: bool = True


@dataclass(slots=True)
class Ledger:
    """``known`` by file; each occurrence is in one of them."""

    known: dict[str, dict[Key, Known]] = field(default_factory=dict)

    def items(self) -> Iterator[tuple[str, Key, Known]]:
        return ((source, key, item) for source, items in self.known.items() for key, item in items.items())

    def put(self, source: str, key: Key, item: Known) -> None:
        self.known.setdefault(source, {})[key] = item


@dataclass(slots=True)
class Changes:
    """In order of the start."""

    ledger: Ledger
    upserts: list[Upsert] = field(default_factory=list)
    deletes: list[Delete] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Part:
    """Some of the changes, and what is known once they were told."""

    upserts: Sequence[Upsert]
    deletes: Sequence[Delete]
    ledger: Ledger


def in_parts(changes: Changes, before: Ledger, size: int) -> Iterator[Part]:
    """``size`` changes each. Of what a poll told before it was killed, the next one has to know: it may be gone by
    then."""
    places = {native_id(*key[:2], key[2] or None): (source, key, item) for source, key, item in changes.ledger.items()}
    homes = {key: source for source, key, _ in before.items()}
    ledger = Ledger({source: dict(items) for source, items in before.known.items()})
    everything: list[Upsert | Delete] = [*changes.upserts, *changes.deletes]
    for at in range(0, len(everything), size):
        part = everything[at : at + size]
        for change in part:
            source, key, item = places[change.native_id]
            ledger.known.get(homes.get(key, source), {}).pop(key, None)
            ledger.put(source, key, item)
        upserts = [change for change in part if isinstance(change, Upsert)]
        yield Part(upserts, [change for change in part if isinstance(change, Delete)], ledger)


def starts_at(when: str, owner: ZoneInfo) -> datetime:
    if len(when) == 8:
        return start_of_day(datetime.strptime(when, _DATE).date(), owner)  # noqa: DTZ007 - a date has no zone
    return datetime.strptime(when, _INSTANT).replace(tzinfo=UTC)


def compare(ledger: Ledger, agenda: Agenda, look: Look) -> Changes:
    """What to tell, and the ledger afterwards.

    Nobody is told that something is off when it was never told of, when it left the window, when its file could not
    be looked at, or when the calendar has dropped what is long over. A cancellation is the exception to the first:
    a file with METHOD:CANCEL exists to be told.
    """
    before = {key: item for _, key, item in ledger.items()}
    changes = Changes(Ledger())
    present = {_key(placed.occurrence) for placed in agenda.placed}
    for placed in agenda.placed:
        _tell(placed, before.get(_key(placed.occurrence)), changes)
    absence = _Absence(look, agenda.cut, agenda.oldest(look.owner) or look.now)
    for source, key, item in ledger.items():
        if source in agenda.unchanged.get(native_id(key[0], key[1], None), ()):
            changes.ledger.put(source, key, item)
        elif key not in present:
            _miss(source, key, item, changes, absence)
    changes.deletes.sort(key=lambda delete: (str(delete.meta["when"]), delete.native_id))
    return changes


def _tell(placed: Placed, before: Known | None, changes: Changes) -> None:
    occurrence, key = placed.occurrence, _key(placed.occurrence)
    is_new = before is None or before.is_gone
    item = _known(occurrence, before)
    if is_new and occurrence.is_over and (before is not None or occurrence.method != "CANCEL"):
        if before is not None:
            changes.ledger.put(placed.source, key, before)
        return
    changes.ledger.put(placed.source, key, item)
    if before is not None and before.content == item.content and not is_new:
        return
    moved = before is not None and not is_new and before.when != item.when
    previous = before.when if before is not None and moved else None
    changes.upserts.append(upsert_of(occurrence, item.version, is_new=is_new, previous=previous))


def upsert_of(occurrence: Occurrence, version: str, *, is_new: bool = True, previous: str | None = None) -> Upsert:
    """``previous``: when it started before (``Known.when``), if that changed."""
    return Upsert(
        native_id=occurrence.native_id,
        version=version,
        raw=occurrence.model_dump_json(exclude_defaults=True).encode(),
        content_type=CONTENT_TYPE,
        is_new=is_new,
        meta={} if previous is None else {"previous_start": previous},
    )


def _known(occurrence: Occurrence, before: Known | None) -> Known:
    content = occurrence.content()
    if before is None:
        version = content
    elif before.content == content and not before.is_gone:
        version = before.version
    else:
        version = content_hash(before.version, content)[:VERSION_DIGITS]
    title = occurrence.summary[:TITLE_CAP]
    return Known(version, content, _when(occurrence), title, occurrence.is_over, occurrence.is_own)


@dataclass(frozen=True, slots=True)
class _Absence:
    look: Look
    cut: Set[str]
    oldest: datetime

    def is_known(self, source: str, key: Key) -> bool:
        """Whether the absence says anything: the file was there to be looked at, and to its end."""
        return source in self.look.sources and native_id(key[0], key[1], None) not in self.cut

    def is_pruned(self, start: datetime) -> bool:
        """Long over, and older than all that is left: calendars drop such entries by themselves."""
        return self.look.prunes and start < self.look.now - _OVER and start < self.oldest


def _miss(source: str, key: Key, item: Known, changes: Changes, absence: _Absence) -> None:
    start = starts_at(item.when, absence.look.owner)
    if not absence.look.low <= start < absence.look.high:
        return
    if item.is_gone or not absence.is_known(source, key):
        changes.ledger.put(source, key, item)
        return
    if absence.is_pruned(start):
        return
    kind, uid, recurrence = key
    gone = replace(item, version=content_hash("gone", item.version)[:VERSION_DIGITS], is_gone=True)
    changes.ledger.put(source, key, gone)
    meta: dict[str, Json] = {
        "kind": kind,
        "uid": uid,
        "recurrence_id": recurrence or None,
        "title": item.title,
        "when": item.when,
        "is_own": item.is_own,
    }
    changes.deletes.append(Delete(native_id(kind, uid, recurrence or None), gone.version, meta))


def _key(occurrence: Occurrence) -> Key:
    return occurrence.kind, occurrence.uid, occurrence.recurrence_id or ""


def _when(occurrence: Occurrence) -> str:
    if occurrence.starts_at is None:
        return occurrence.start.replace("-", "")[:8]
    return f"{occurrence.starts_at:{_INSTANT}}"


def pack(items: Mapping[Key, Known]) -> Json:
    """{kind: {uid: [title, {recurrence id: [version, when, content, title, flags]}]}}; what repeats is left out."""
    packed: dict[str, Any] = {}
    for (kind, uid, recurrence), item in items.items():
        title, rows = packed.setdefault(kind, {}).setdefault(uid, [item.title, {}])
        row = [
            item.version,
            "" if item.when == recurrence else item.when,
            "" if item.content == item.version else item.content,
            "" if item.title == title else item.title,
            ("g" if item.is_gone else "") + ("" if item.is_own else "o"),
        ]
        while not row[-1]:
            row.pop()
        rows[recurrence] = row
    return packed


def unpack(packed: Any) -> dict[Key, Known]:
    return {
        (kind, uid, recurrence): _unpack_row(recurrence, title, row)
        for kind, series in packed.items()
        for uid, (title, rows) in series.items()
        for recurrence, row in rows.items()
    }


def _unpack_row(recurrence: str, title: str, row: Sequence[str]) -> Known:
    version, when, content, own_title, flags = (*row, *("",) * (5 - len(row)))
    return Known(version, content or version, when or recurrence, own_title or title, "g" in flags, "o" not in flags)
