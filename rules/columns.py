"""Columns: the newest values of many keys, as rows of one block of bytes, in the order of the keys.

An entry that is a text takes 300 bytes in memory, of which 115 are its name and its place in a dict; a row takes 117
with its key. To the log each row is a text of its own, so that it is replayed, erased and compacted like any entry.
"""

from __future__ import annotations

from array import array
from binascii import Error, a2b_base64, b2a_base64
from bisect import bisect_left
from collections.abc import Iterator
from struct import Struct

KEPT = 24
"""Values per key: two years of a monthly charge. What came to stay is usual after half of them."""
_HEAD = Struct("<8sIB")
"""The second half of the key, the day of the newest value, and how many values there are; 4-byte floats follow."""
_DAY, _COUNT, _VALUES = 8, 12, _HEAD.size
"""Where they begin in a row."""
_WIDTH = _VALUES + 4 * KEPT
_HALVES = Struct(">Q8s")
"""Of a key."""
_pack_day, _pack_value = Struct("<I").pack_into, Struct("<f").pack_into


class Columns:
    """Keys are 16 bytes; days are ordinals. Finding a key takes the logarithm of their number."""

    def __init__(self) -> None:
        self._firsts = array("Q")
        """The first halves of the keys, ascending; those of different keys are hardly ever equal."""
        self._rows = bytearray()
        self._changed: dict[bytes, int] = {}
        """Keys that learned something, with the number of their row, until rows moved."""
        self._moved = False

    def __len__(self) -> int:
        return len(self._firsts)

    def learn(self, key: bytes, day: int, value: float) -> array[float]:
        """Adds the value, without the oldest of too many, and gives those that were known before it, oldest first."""
        at = self._find(key)
        if at < 0:
            self._changed[key] = self._insert(key, day, array("f", (value,)))
            return array("f")
        self._changed[key] = at
        rows, begin = self._rows, at * _WIDTH
        count, first = rows[begin + _COUNT], begin + _VALUES
        end = first + 4 * count
        earlier = array("f", rows[first:end])
        if count == KEPT:
            end -= 4
            rows[first:end] = rows[first + 4 : end + 4]
        else:
            rows[begin + _COUNT] = count + 1
        _pack_value(rows, end, value)
        _pack_day(rows, begin + _DAY, day)
        return earlier

    def take_learned(self) -> Iterator[tuple[bytes, str | None]]:
        """The rows that learned something since the last time; None for one that is gone."""
        for key, at in self._changed.items():
            place = self._find(key) if self._moved else at
            yield key, None if place < 0 else self._text(place)
        self._changed.clear()
        self._moved = False

    def get(self, key: bytes) -> str | None:
        """The row as a text: the day, and its values in base64."""
        at = self._find(key)
        return None if at < 0 else self._text(at)

    def put(self, key: bytes, text: str) -> bool:
        """Takes a text that ``get`` gave; whether it is one."""
        day, _, packed = text.partition(" ")
        try:
            values = array("f", a2b_base64(packed))
        except (Error, ValueError):
            return False
        if not (day.isdecimal() and len(day) < 8 and len(values) <= KEPT) or text != _written(
            int(day), values.tobytes()
        ):
            return False
        self.delete(key)
        self._insert(key, int(day), values)
        return True

    def delete(self, key: bytes) -> bool:
        """Whether there was a row."""
        at = self._find(key)
        if at < 0:
            return False
        self._moved = True
        del self._firsts[at], self._rows[at * _WIDTH : (at + 1) * _WIDTH]
        return True

    def items(self) -> Iterator[tuple[bytes, str]]:
        """By key, if nothing changes meanwhile."""
        for at, first in enumerate(self._firsts):
            yield _HALVES.pack(first, self._rows[at * _WIDTH : at * _WIDTH + 8]), self._text(at)

    def _find(self, key: bytes) -> int:
        """The number of the key's row, or -1 minus the one that it would have."""
        first, rest = _HALVES.unpack(key)
        firsts, rows = self._firsts, self._rows
        at, end = bisect_left(firsts, first), len(firsts)
        while at < end and firsts[at] == first:
            if rows.startswith(rest, at * _WIDTH):
                return at
            if rows[at * _WIDTH : at * _WIDTH + 8] > rest:
                break
            at += 1
        return -1 - at

    def _insert(self, key: bytes, day: int, values: array[float]) -> int:
        """The number of the new row."""
        at = -1 - self._find(key)
        self._moved = True
        first, rest = _HALVES.unpack(key)
        self._firsts.insert(at, first)
        row = _HEAD.pack(rest, day, len(values)) + values.tobytes()
        self._rows[at * _WIDTH : at * _WIDTH] = row.ljust(_WIDTH, b"\0")
        return at

    def _text(self, at: int) -> str:
        begin = at * _WIDTH
        _, day, count = _HEAD.unpack_from(self._rows, begin)
        return _written(day, self._rows[begin + _VALUES : begin + _VALUES + 4 * count])


def _written(day: int, values: bytes | bytearray) -> str:
    return f"{day} {b2a_base64(values, newline=False).decode()}"
