"""The rows of a CSV table by what they are: movements, and lines that only speak about the table."""

from __future__ import annotations

from dataclasses import dataclass, replace

from extractors.bank.amounts import scan
from extractors.bankfile.csvamounts import Cells
from extractors.bankfile.csvdates import cell
from extractors.bankfile.header_words import Role
from extractors.bankfile.labels import is_balance_line
from extractors.bankfile.parsed import Parsed, Refuse
from extractors.bankfile.status import State, section, state
from extractors.bankfile.table import Record, Table

_MOST_AROUND = 1_000
"""Lines that are no movements; a table with more of them is not a bank's."""


@dataclass(frozen=True, slots=True)
class Line:
    """One movement of the table: its cells by role."""

    number: int
    cells: dict[Role, str]
    state: State

    @property
    def is_pending(self) -> bool:
        """Said so, or without a booking date where the file has a column for it."""
        lacks_date = "booked" in self.cells and cell(self.cells["booked"]) is None
        return self.state == "pending" or (self.state == "unsettled" and lacks_date)

    def get(self, *roles: Role) -> str:
        """The first of these cells that is there and not empty."""
        return next((text for role in roles if (text := self.cells.get(role))), "")

    @property
    def amounts(self) -> Cells:
        roles: tuple[Role, ...] = ("amount", "debit", "credit", "side", "fee", "net", "balance")
        return Cells(*(self.get(role) for role in roles))

    def with_side(self) -> Line:
        """The line of a file whose column of types says debit or credit."""
        return replace(self, cells={**self.cells, "side": self.get("booking")})


def lines_of(found: Table, parsed: Parsed, where: str) -> tuple[list[Line], list[Record]]:
    """The movements, and the lines that only speak about them (titles of sections, balances, totals)."""
    lines: list[Line] = []
    around: list[Record] = []
    is_pending = False
    for record in found.body:
        if record.is_blank:
            continue
        cells = {role: record.cells[place] for role, place in found.columns.places.items() if place < len(record.cells)}
        line = Line(record.line, cells, state(cells.get("status", ""), is_pending=is_pending))
        is_dated = any(cell(line.get(role)) for role in ("booked", "date", "value"))
        if not is_dated:
            is_pending = section(record.cells, is_pending)
        if not is_dated or is_balance_line(line.get("text", "purpose", "payee", "booking")):
            _set_aside(record, line, found, around, parsed, where)
        elif (fault := _fault(record, line, found)) is not None:
            parsed.reject(f"{where}:{record.line}", fault, found.delimiter.join(record.cells))
        elif line.state == "declined":
            parsed.warn("declined or cancelled rows were passed over: no money moved")
        elif line.get("amount", "debit", "credit", "net"):
            lines.append(line)
    return lines, around


def _set_aside(record: Record, line: Line, found: Table, around: list[Record], parsed: Parsed, where: str) -> None:
    """A line without a day is about the table; but one that has the amount of a movement and starts like one is a
    movement whose day cannot be read."""
    if len(around) >= _MOST_AROUND:
        raise Refuse("malformed", f"more than {_MOST_AROUND} lines that are no movements: not a bank's table")
    around.append(record)
    written = line.get("booked", "date", "value")
    is_date = any(cell(line.get(role)) for role in ("booked", "date", "value"))  # then it is a balance of that day
    if not is_date and any(c.isdigit() for c in written) and scan(line.get("amount", "debit", "credit", "net")):
        parsed.reject(f"{where}:{record.line}", f"not a date: {written[:40]!r}", found.delimiter.join(record.cells))


def _fault(record: Record, line: Line, found: Table) -> str | None:
    if any(record.cells[found.columns.width :]):
        return f"{len(record.cells)} cells under {found.columns.width} headings: a delimiter inside an unquoted cell?"
    if is_short(found, record):
        return f"only {len(record.cells)} cells under {found.columns.width} headings"
    return None


def is_short(found: Table, record: Record) -> bool:
    """Whether a dated row ends before its amount."""
    roles: tuple[Role, ...] = ("amount", "debit", "credit", "net")
    places = [found.columns.places[role] for role in roles if role in found.columns.places]
    dated = any(cell(text) for text in record.cells)
    return dated and len(record.cells) <= max(places)
