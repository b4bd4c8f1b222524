"""A CSV file as a table: delimiter and header row found by what the headings mean, preamble and body apart."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass

from extractors.bankfile.header import Columns, columns
from extractors.bankfile.parsed import MAX_ROWS, Refuse

DELIMITERS = ";,\t|"
_SEARCHED = 60
"""Records among which the header row is looked for."""
_HEAD = 64_000
_CELL_CAP = 4_000
_WIDEST = 500
_LONGEST_QUOTE = 30
"""Lines that one quoted cell may run over; more means that a quote was never closed."""


@dataclass(frozen=True, slots=True)
class Record:
    """``line`` is that on which the record ends, counted from 1."""

    line: int
    cells: tuple[str, ...]

    @property
    def is_blank(self) -> bool:
        return not any(self.cells)


@dataclass(frozen=True, slots=True)
class Table:
    delimiter: str
    columns: Columns
    header: tuple[str, ...]
    preamble: tuple[Record, ...]
    body: tuple[Record, ...]


def table(text: str) -> Table:
    """Refuse where no delimiter gives a row that heads a day and an amount, or the table is too large."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    delimiter, place = _layout(text[:_HEAD])
    records = list(_capped(_records(text, delimiter)))
    head = records[place]
    body = (record for record in records[place + 1 :] if record.cells != head.cells)
    return Table(delimiter, columns(head.cells), head.cells, tuple(records[:place]), tuple(body))


def _layout(head: str) -> tuple[str, int]:
    """The delimiter and place of the row with the most known headings."""
    best: tuple[int, str, int] | None = None
    for delimiter in _candidates(head):
        for place, record in zip(range(_SEARCHED), _records(head, delimiter), strict=False):
            found = columns(record.cells)
            if found.is_usable and (best is None or len(found.places) > best[0]):
                best = (len(found.places), delimiter, place)
    if best is None:
        raise Refuse("unknown_format", "no row heads a day and an amount: not a bank's CSV export that we know")
    return best[1], best[2]


def _candidates(head: str) -> str:
    """Excel's first line ``sep=;`` settles it."""
    first = head.lstrip("\ufeff")[:5]
    return first[4] if first.lower().startswith("sep=") and first[4:] in tuple(DELIMITERS) else DELIMITERS


def _records(text: str, delimiter: str) -> Iterator[Record]:
    """A quote that is never closed would swallow the rest of the file: then quotes are taken as letters."""
    is_quoted = '"' in text and not _swallows(text, delimiter)
    lines = io.StringIO(text, newline="")
    reader = (
        csv.reader(lines, delimiter=delimiter)
        if is_quoted
        else csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    )
    try:
        for cells in reader:
            if len(cells) > _WIDEST:
                raise Refuse("too_large", f"line {reader.line_num} has more than {_WIDEST} cells")
            yield Record(reader.line_num, tuple(_cell(cell) for cell in cells))
    except csv.Error as error:
        raise Refuse("too_large", f"line {reader.line_num}: {error}") from error


def _swallows(text: str, delimiter: str) -> bool:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        return any(cell.count("\n") > _LONGEST_QUOTE for cells in reader for cell in cells)
    except csv.Error:
        return True


def _cell(cell: str) -> str:
    """Without surrounding spaces and Excel's ``="..."``."""
    cell = cell.strip()[:_CELL_CAP]
    return cell[2:-1] if cell.startswith('="') and cell.endswith('"') else cell


def _capped(records: Iterator[Record]) -> Iterator[Record]:
    for count, record in enumerate(records):
        if count > MAX_ROWS:
            raise Refuse("too_large", f"more than {MAX_ROWS} rows")
        yield record
