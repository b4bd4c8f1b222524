"""Rows: the items of an answer as identified, bounded, mapped rows, or the reason why one can never be used. Pure."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from extractors.connector import Rejected
from extractors.rest.definition import ByField, Definition, Incremental, Stream
from extractors.rest.expression import Unfit, holds, search
from extractors.rest.mapping import Drift, mapped
from extractors.rest.row import Row
from extractors.rest.stamp import Stamps
from schemas.ids import content_hash
from schemas.model import Json

ID_CAP = 200
DEPTH_CAP = 30
RAW_CAP = 200_000
"""Bytes of a row; a larger one keeps its short fields."""
SHORT_CAP = 2_000
ROWS_CAP = 20_000
"""In one answer."""
_DIGITS_CAP = 18


@dataclass(frozen=True, slots=True)
class Shaped:
    """``key`` is the row's id within its stream, ``stamp`` its cursor field, ``content`` the hash of all of it."""

    key: str
    row: Row
    content: str
    stamp: int | None = None
    is_deleted: bool = False


class WrongShape(ValueError):
    """The answer as a whole is not what the definition says."""


def listed(stream: Stream, document: Json) -> Sequence[Json]:
    """The items of an answer. WrongShape where there is no list: that says nothing about what the source holds."""
    try:
        found = search(stream.records, document)
    except Unfit as error:
        raise WrongShape(f"records {error}") from error
    if isinstance(found, dict):
        return [found]
    if not isinstance(found, list):
        raise WrongShape(f"there are no records at {stream.records!r}")
    if len(found) > ROWS_CAP:
        raise WrongShape(f"more than {ROWS_CAP:,} rows in one answer")
    return found


def stamps(definition: Definition, incremental: Incremental, owner: ZoneInfo) -> Stamps:
    return Stamps(incremental.format, ZoneInfo(definition.zone) if definition.zone else owner)


def shaped(definition: Definition, stream: Stream, item: Json, parent: str, zone: ZoneInfo) -> Shaped:
    """Drift, with what is wrong, for what is no row of this stream. ``parent``: the key of the row that it was read
    for."""
    if not isinstance(item, dict):
        raise Drift("a row is no mapping")
    if _depth(item) > DEPTH_CAP:
        raise Drift(f"nested deeper than {DEPTH_CAP} levels")
    item = _encodable(item)
    key = f"{parent}/{_id(stream, item)}" if parent else _id(stream, item)
    fields = {name: value for name, value in item.items() if name not in stream.drop}
    row = _bounded(mapped(definition, stream, key, fields))
    deleted = isinstance(stream.deletions, ByField) and holds(stream.deletions.when, item)
    return Shaped(key, row, _content(row, fields), _stamp(definition, stream, item, zone), deleted)


def key_of(stream: Stream, item: Json, parent: str) -> str | None:
    """The id of an item that is of no use otherwise; None where it has none."""
    try:
        key = _id(stream, item)
    except Drift:
        return None
    return f"{parent}/{key}" if parent else key


def rejected(stream: Stream, item: Json, reason: str) -> Rejected:
    raw = json.dumps(item, ensure_ascii=False, default=str)[:500] if _depth(item) <= DEPTH_CAP else ""
    return Rejected(f"{stream.name}:{content_hash(raw, reason)[:12]}", "drift", reason, raw.encode("utf-8", "replace"))


def fingerprint(items: Sequence[Json]) -> str:
    """Equal for equal items in equal order; empty where they are nested too deeply to say."""
    try:
        return content_hash(json.dumps(items, sort_keys=True))
    except RecursionError:
        return ""


def parse(body: bytes) -> Json:
    """JSON in which one monstrous number is a text: it must not cost the page. ValueError, RecursionError."""
    found: Json = json.loads(body, parse_int=_integer, parse_float=_float, parse_constant=str)
    return found


def _integer(text: str) -> int | str:
    return int(text) if len(text) <= _DIGITS_CAP else text


def _float(text: str) -> float | str:
    value = float(text) if len(text) <= 400 else float("inf")
    return value if value - value == 0 else text


def _id(stream: Stream, item: Json) -> str:
    """Percent-encoded, so that '/' separates only a row from its parent."""
    try:
        found = search(stream.id, item)
    except Unfit as error:
        raise Drift(f"id {error}") from error
    values = found if isinstance(found, list) and found else [found]
    if any(isinstance(value, bool | float) or not isinstance(value, str | int) or value == "" for value in values):
        raise Drift(f"there is no id at {stream.id!r}")
    key = ",".join(quote(str(value), safe="@:") for value in values)
    if len(key) > ID_CAP:
        raise Drift(f"an id of more than {ID_CAP} characters")
    return key


def _stamp(definition: Definition, stream: Stream, item: Json, zone: ZoneInfo) -> int | None:
    """None where the row has none: it is taken, and does not move the bound."""
    if stream.incremental is None:
        return None
    try:
        value = search(stream.incremental.field, item)
        return None if value in (None, "") else stamps(definition, stream.incremental, zone).read(value)
    except (Unfit, ValueError, OverflowError, TypeError) as error:
        raise Drift(f"{stream.incremental.field!r}: {str(error)[:200]}") from error


def _bounded(row: Row) -> Row:
    if len(json.dumps(row.fields, ensure_ascii=False).encode()) <= RAW_CAP:
        return row
    short = {name: value for name, value in row.fields.items() if _is_short(name, value)}
    return row.model_copy(update={"fields": dict(list(short.items())[:100]), "cut": True})


def _is_short(name: str, value: Json) -> bool:
    return not isinstance(value, dict | list) and len(name) <= 100 and len(str(value)) <= SHORT_CAP


def _content(row: Row, fields: dict[str, Json]) -> str:
    """Of the whole row, and of what the map made of it."""
    told = row.model_dump(mode="json", exclude={"fields"})
    return content_hash(*(json.dumps(part, sort_keys=True, ensure_ascii=True) for part in (told, fields)))


def _encodable(item: dict[str, Json]) -> dict[str, Json]:
    """Halves of characters, which JSON can hold and UTF-8 cannot, become question marks."""
    text = json.dumps(item, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        found: dict[str, Json] = json.loads(text.encode("utf-8", "replace"))
        return found
    return item


def _depth(value: Any) -> int:
    """Levels of nesting, without recursion."""
    depth, level = 0, [value]
    while level and depth <= DEPTH_CAP:
        inner = [child for item in level if isinstance(item, dict | list) for child in _children(item)]
        depth += 1 if any(isinstance(item, dict | list) for item in level) else 0
        level = inner
    return depth


def _children(item: dict[str, Any] | list[Any]) -> Sequence[Any]:
    return list(item.values()) if isinstance(item, dict) else item
