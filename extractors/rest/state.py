"""State: the cursor of an account, what was read of each stream and where an unfinished reading goes on."""

from __future__ import annotations

import string
from dataclasses import asdict, dataclass, field
from typing import Any, cast

from schemas.ids import content_hash
from schemas.model import Json

BUDGET = 550_000
"""Characters of the rows that are remembered, over all streams; the oldest are forgotten first."""
TOLD_CAP = 300
PARENTS_CAP = 5_000

_DIGITS = 12
_GENERATIONS = string.ascii_letters + string.digits
_GONE = "-" * _DIGITS


def after(generation: int) -> int:
    """The next generation. They come round, long after the last row of one is judged."""
    return (generation + 1) % len(_GENERATIONS)


def short(text: str) -> str:
    return content_hash(text)[:_DIGITS]


@dataclass(frozen=True, slots=True)
class Entry:
    """One row as last told.

    ``generation`` is the last whole listing that held it. ``version`` is the content of what never changed; after a
    change it also hangs on the version before, so that a row that is changed and changed back, or removed and put
    back, is not taken for a record that was sent long ago.
    """

    content: str
    generation: int
    version: str

    @property
    def is_gone(self) -> bool:
        return self.content == _GONE

    def pack(self) -> str:
        own = "" if self.version == self.content else self.version
        return self.content + _GENERATIONS[self.generation] + own

    @classmethod
    def unpack(cls, text: str) -> Entry:
        content, generation, version = text[:_DIGITS], text[_DIGITS], text[_DIGITS + 1 :]
        return cls(content, _GENERATIONS.index(generation), version or content)

    @classmethod
    def after(cls, before: Entry | None, content: str, generation: int) -> Entry:
        if before is None:
            return cls(content, generation, content)
        version = before.version if before.content == content else short(before.version + content)
        return cls(content, generation, version)

    def seen(self, generation: int) -> Entry:
        return Entry(self.content, generation, self.version)

    def gone(self, generation: int) -> Entry:
        return Entry(_GONE, generation, short("gone" + self.version))


@dataclass(slots=True)
class Walk:
    """A reading that is under way. Stamps are those of ``extractors.rest.stamp``.

    ``low``: the bound that is asked with; ``top``: the latest stamp seen; ``position``: the next page (``paging``);
    ``earlier``: the generation of the first pass, while a second confirms what the first did not find.
    ``by_field``: paging goes by the field. ``is_partial``: something could not be read, so nothing is concluded.
    ``stuck``: the first stamp that filled several pages, and the short keys of its rows; ``moved``: one of
    them was changed since, so that others may have slipped past. ``blind``: a row had no id, so nobody can say what
    is absent.
    """

    full: bool
    generation: int
    started_at: str
    first_low: int | None = None
    low: int | None = None
    top: int | None = None
    position: Json = None
    earlier: int | None = None
    by_field: bool = False
    is_partial: bool = False
    pages: int = 0
    rows: int = 0
    stuck: int | None = None
    stuck_keys: list[str] = field(default_factory=list)
    moved: bool = False
    blind: bool = False

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "stuck_keys": [*self.stuck_keys]}


@dataclass(slots=True)
class StreamState:
    """``digest`` is that of the stream's definition: under another one everything is read again. ``bound``: all up to
    it was read. ``parents``: for a foreach stream, what its templates use of each row that it is read for; the last
    item says whether this is the last reading. ``after``: the parent that was read last."""

    digest: str = ""
    bound: int | None = None
    read_at: str = ""
    full_at: str = ""
    generation: int = 0
    emptied: bool = False
    known: dict[str, Entry] = field(default_factory=dict)
    walk: Walk | None = None
    parents: dict[str, list[Any]] = field(default_factory=dict)
    after: str = ""

    def settle(self) -> None:
        """A whole listing is judged: the generations begin anew, so that nothing changes where nothing changed."""
        self.generation = 0
        self.known = {key: entry.seen(0) for key, entry in self.known.items()}

    def to_json(self) -> dict[str, Any]:
        plain: dict[str, Any] = {
            "digest": self.digest,
            "bound": self.bound,
            "read_at": self.read_at,
            "full_at": self.full_at,
            "generation": self.generation,
            "emptied": self.emptied,
            "known": {key: entry.pack() for key, entry in self.known.items()},
            "walk": None if self.walk is None else self.walk.to_json(),
            "parents": {key: [*values] for key, values in self.parents.items()},
            "after": self.after,
        }
        return {key: value for key, value in plain.items() if value not in (None, "", {}, False, 0)}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> StreamState:
        plain = dict(stored)
        walk = plain.pop("walk", None)
        known = {key: Entry.unpack(text) for key, text in plain.pop("known", {}).items()}
        return cls(**plain, known=known, walk=None if walk is None else Walk(**walk))


@dataclass(slots=True)
class Book:
    """``told``: what was rejected, so that it is rejected once."""

    streams: dict[str, StreamState] = field(default_factory=dict)
    told: dict[str, None] = field(default_factory=dict)

    def stream(self, name: str) -> StreamState:
        return self.streams.setdefault(name, StreamState())

    def is_news(self, key: str) -> bool:
        """Whether this was not told before; from now on it was."""
        if key in self.told:
            return False
        self.told[key] = None
        return True

    def to_json(self) -> Json:
        self._forget()
        plain: Any = {
            "streams": {name: state.to_json() for name, state in sorted(self.streams.items())},
            "told": [*self.told][-TOLD_CAP:],
        }
        return cast(Json, plain)

    @classmethod
    def from_json(cls, cursor: Json) -> Book:
        if not isinstance(cursor, dict):
            return cls()
        stored: Any = cursor
        streams = {name: StreamState.from_json(state) for name, state in stored["streams"].items()}
        return cls(streams, dict.fromkeys(stored["told"]))

    def _forget(self) -> None:
        sizes = {name: sum(map(_size, state.known.items())) for name, state in self.streams.items()}
        while sum(sizes.values()) > BUDGET:
            largest = max(sizes, key=lambda name: sizes[name])
            known = self.streams[largest].known
            oldest = next(iter(known))
            sizes[largest] -= _size((oldest, known.pop(oldest)))


def _size(item: tuple[str, Entry]) -> int:
    key, entry = item
    return len(key) + len(entry.pack()) + 6
