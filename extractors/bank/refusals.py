"""Refusals: which rows that cannot be read were told of, so that a source that lists them daily is heard once."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from extractors.connector import Rejected
from schemas.model import Json

LIMIT = 300
_LENGTH = 16


class Refusals:
    """The last refusals, as short hashes of what was refused."""

    def __init__(self, stored: Any = ()) -> None:
        self._known = [str(each) for each in stored] if isinstance(stored, list) else []

    def fresh(self, rejected: Iterable[Rejected]) -> list[Rejected]:
        """Those that were not told of; they count as told from now on."""
        found = []
        for each in rejected:
            mark = sha256(each.where.encode() + b"\x1f" + each.raw).hexdigest()[:_LENGTH]
            if mark not in self._known:
                self._known.append(mark)
                found.append(each)
        self._known = self._known[-LIMIT:]
        return found

    def dump(self) -> Json:
        return [*self._known]
