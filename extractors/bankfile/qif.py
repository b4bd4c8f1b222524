"""QIF: Quicken's interchange format, read as a table so that dates, amounts and questions are those of CSV files.

It names no currency and seldom an account, and its dates stand in the order of whoever wrote them: what the file does
not prove is asked for. Lists (categories, classes, memorised payments) and investments are passed over.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from extractors.bankfile import csvfile
from extractors.bankfile.decoding import decode
from extractors.bankfile.header import columns
from extractors.bankfile.parsed import MAX_ROWS, Given, Parsed, Refuse
from extractors.bankfile.table import Record, Table

_HEAD = re.compile(rb"\s*!(?:type:|account|option:|clear:)", re.IGNORECASE)
_MONEY = frozenset({"bank", "cash", "ccard", "oth a", "oth l"})
"""Registers of movements; the other types are lists or investments."""
_HEADER = ("Payee", "Date", "Memo", "Type", "Account", "Amount")
_FIELDS = {"P": 0, "D": 1, "M": 2, "N": 3, "T": 5, "U": 5}
_ACCOUNT = 4
_CELL_CAP = 4_000


def is_qif(head: bytes) -> bool:
    return _HEAD.match(head.removeprefix(b"\xef\xbb\xbf")) is not None


def parse(raw: bytes, where: str, given: Given) -> Parsed:
    """Refuse for a file that holds no register of movements."""
    decoded = decode(raw)
    reader = _Reader()
    body = tuple(reader.records(decoded.text))
    if not reader.has_register:
        raise Refuse("unknown_format", "a QIF file without an account's movements: only lists or investments")
    found = Table("^", columns(_HEADER), _HEADER, (), body)
    parsed = csvfile.parse_table(found, Parsed("qif", warnings=list(decoded.warnings)), where, given)
    if reader.passed_over:
        parsed.warn(f"not read: {', '.join(sorted(reader.passed_over))}")
    parsed.is_open = parsed.is_cut = reader.is_within_entry
    return parsed


@dataclass(slots=True)
class _Reader:
    """``is_within_entry``: the file ended before the last entry did; that entry is not given, its amount may be cut."""

    section: str = ""
    account: str = ""
    has_register: bool = False
    passed_over: set[str] = field(default_factory=set)
    is_within_entry: bool = False

    def records(self, text: str) -> Iterator[Record]:
        """One for each entry that ended with ``^``, in the order of ``_HEADER``."""
        cells: dict[int, str] = {}
        count = 0
        for number, line in enumerate(re.split(r"\r\n|\n|\r", text), start=1):
            line = line.strip()
            if line.startswith("!"):
                self._begin(line)
                cells = {}
            elif line == "^":
                if self.section in _MONEY and cells:
                    count += 1
                    if count > MAX_ROWS:
                        raise Refuse("too_large", f"more than {MAX_ROWS} rows")
                    yield self._record(number, cells)
                cells = {}
            elif self.section == "account":
                self.account = line[1:65].strip() if line[:1] == "N" else self.account
            elif line and (place := _FIELDS.get(line[0].upper())) is not None:
                cells.setdefault(place, line[1 : _CELL_CAP + 1].strip())
        self.is_within_entry = self.section in _MONEY and bool(cells)

    def _begin(self, line: str) -> None:
        kind = line[1:].strip().lower()
        if kind.startswith(("option:", "clear:")):
            return  # speaks of the list of accounts; what follows is told by its own line
        self.section = kind.removeprefix("type:").strip()
        self.has_register = self.has_register or self.section in _MONEY
        if self.section not in (*_MONEY, "account"):
            self.passed_over.add(self.section[:40])

    def _record(self, number: int, cells: dict[int, str]) -> Record:
        cells[1] = _day(cells.get(1, ""))
        cells[_ACCOUNT] = self.account
        return Record(number, tuple(cells.get(place, "") for place in range(len(_HEADER))))


def _day(text: str) -> str:
    """``3/ 1'26`` is how Quicken writes 3/1/2026: blanks pad, and an apostrophe begins the years from 2000."""
    day = re.sub(r"\s+", "", text.replace("’", "'"))
    mark = next((c for c in day if c in "/.-"), "/")
    return re.sub(r"'(\d{1,4})$", lambda found: f"{mark}{_full(found[1])}", day)


def _full(year: str) -> str:
    return year if len(year) == 4 else f"2{year.zfill(3)}"
