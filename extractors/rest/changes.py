"""Changes: the rows of an answer against what was told before, as upserts, deletes and rejections."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from zoneinfo import ZoneInfo

from extractors.connector import Delete, Page, Rejected, Upsert
from extractors.rest import rows
from extractors.rest.definition import Definition, Stream
from extractors.rest.expression import Unfit, holds, search
from extractors.rest.mapping import Drift
from extractors.rest.row import CONTENT_TYPE, Row
from extractors.rest.rows import Shaped
from extractors.rest.state import PARENTS_CAP, Book, Entry, short
from schemas.model import Json

PAGE_ITEMS = 200


@dataclass(slots=True)
class Changes:
    """``stamps``: of all usable rows in their order, with their keys. ``blind``: a row had no id."""

    upserts: list[Upsert] = field(default_factory=list)
    deletes: list[Delete] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    stamps: list[tuple[str, int]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    blind: bool = False

    def pages(self, book: Book, size: int, *, reset: bool = False) -> Iterator[Page]:
        """The cursor goes with the last."""
        count = max(1, -(-len(self.upserts) // size), -(-len(self.deletes) // size))
        for number in range(count):
            part = slice(number * size, (number + 1) * size)
            is_last = number == count - 1
            yield Page(
                upserts=self.upserts[part],
                deletes=self.deletes[part],
                rejected=self.rejected if is_last else (),
                warnings=self.warnings if is_last else (),
                next_cursor=book.to_json() if is_last else None,
                reset=reset,
            )


@dataclass(frozen=True, slots=True)
class Judge:
    """Compares rows with the book, and writes into it what is told now."""

    definition: Definition
    book: Book
    zone: ZoneInfo

    def rows(
        self, stream: Stream, items: Sequence[Json], generation: int, *, parent: str = "", into: Changes | None = None
    ) -> Changes:
        """``generation``: that of the listing which holds these rows."""
        changes = into or Changes()
        usable: dict[str, tuple[Shaped, Json]] = {}
        for item in items:
            try:
                shaped = rows.shaped(self.definition, stream, item, parent, self.zone)
            except Drift as error:
                self._reject(stream, item, str(error), parent, generation, changes)
                continue
            before = usable.pop(shaped.key, None)
            if before is not None and before[0].content != shaped.content:
                changes.warnings.append(f"{stream.name}: different rows with one id in one answer; the last counts")
            usable[shaped.key] = shaped, item
        for shaped, item in usable.values():
            changes.keys.append(shaped.key)
            if shaped.stamp is not None:
                changes.stamps.append((shaped.key, shaped.stamp))
            self._tell(stream, shaped, generation, changes)
            self._note_parent(stream, shaped, item, changes)
        return changes

    def absent(self, stream: Stream, keys: Iterable[str], generation: int, changes: Changes) -> None:
        """These rows are gone from the source."""
        for key in keys:
            self._remove(stream, key, _nameless(self.definition, stream, key), generation, changes)

    def _tell(self, stream: Stream, shaped: Shaped, generation: int, changes: Changes) -> None:
        known = self.book.stream(stream.name).known
        before = known.get(shaped.key)
        if shaped.is_deleted:
            self._remove(stream, shaped.key, shaped.row.stump(), generation, changes)
            return
        content = short(shaped.content)
        if before is not None and before.content == content:
            known[shaped.key] = before.seen(generation)
            return
        known.pop(shaped.key, None)
        known[shaped.key] = entry = Entry.after(before, content, generation)
        changes.upserts.append(
            Upsert(
                native_id=_native_id(stream, shaped.key),
                version=entry.version,
                raw=shaped.row.model_dump_json(exclude_defaults=True).encode(),
                content_type=CONTENT_TYPE,
                is_new=before is None or before.is_gone,
            )
        )

    def _remove(self, stream: Stream, key: str, row: Row, generation: int, changes: Changes) -> None:
        """Also what was read for it. Nobody is told that something is gone of which they were never told."""
        known = self.book.stream(stream.name).known
        before = known.get(key)
        if before is not None and not before.is_gone:
            known[key] = entry = before.gone(generation)
            meta: dict[str, Json] = {"row": row.model_dump(mode="json", exclude_defaults=True)}
            changes.deletes.append(Delete(_native_id(stream, key), entry.version, meta))
        for child in self.definition.children(stream.name):
            state = self.book.stream(child.name)
            state.parents.pop(key, None)
            orphans = [each for each, entry in state.known.items() if each.startswith(f"{key}/") and not entry.is_gone]
            for orphan in orphans:
                self._remove(child, orphan, _nameless(self.definition, child, orphan), state.generation, changes)

    def _reject(self, stream: Stream, item: Json, reason: str, parent: str, generation: int, changes: Changes) -> None:
        """Once. A row that cannot be used is there all the same: it is not taken for absent."""
        rejected = rows.rejected(stream, item, reason)
        if self.book.is_news(rejected.where):
            changes.rejected.append(rejected)
        key = rows.key_of(stream, item, parent)
        if key is None:
            changes.blind = True
            return
        changes.keys.append(key)
        known = self.book.stream(stream.name).known
        if key in known:
            known[key] = known[key].seen(generation)

    def _note_parent(self, stream: Stream, shaped: Shaped, item: Json, changes: Changes) -> None:
        """Which rows the foreach streams are read for. One that no longer qualifies is read for once more: what made it
        stop is often the news."""
        for child in self.definition.children(stream.name):
            if shaped.is_deleted or child.foreach is None:
                continue
            parents = self.book.stream(child.name).parents
            if child.foreach.where is not None and not holds(child.foreach.where, item):
                if shaped.key in parents:
                    parents[shaped.key][-1] = True
                continue
            if shaped.key not in parents and len(parents) >= PARENTS_CAP:
                changes.warnings.append(f"{child.name}: read for {PARENTS_CAP:,} rows of {stream.name} and no more")
                continue
            try:
                values = [_bound(expression, item) for expression in child.foreach.bind.values()]
            except (Unfit, Drift) as error:
                changes.warnings.append(f"{child.name}: cannot be read for {shaped.key}: {error}")
                continue
            parents[shaped.key] = [*values, False]


def bind(stream: Stream, values: Sequence[str | int]) -> Mapping[str, str | int]:
    """What a parent's stored values are called."""
    names = stream.foreach.bind if stream.foreach else {}
    return dict(zip(names, values, strict=False))


def _bound(expression: str, item: Json) -> str | int:
    found = search(expression, item)
    if isinstance(found, bool) or not isinstance(found, str | int) or len(str(found)) > rows.ID_CAP:
        raise Drift(f"{expression!r} gives nothing that can stand in a request")
    return found


def _native_id(stream: Stream, key: str) -> str:
    return f"{stream.name}/{key}"


def _nameless(definition: Definition, stream: Stream, key: str) -> Row:
    return Row(system=definition.name, stream=stream.name, kind=stream.kind, id=key, trust=stream.map.trust)
