"""Bank B's export: the CSV that German savings banks write (ISO-8859-1, semicolons, booked and pending rows)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from forewatch.sample.scene import Row, RowKind

_COLUMNS = (
    "Auftragskonto", "Buchungstag", "Valutadatum", "Buchungstext", "Verwendungszweck", "Glaeubiger ID",
    "Mandatsreferenz", "Kundenreferenz (End-to-End)", "Sammlerreferenz", "Lastschrift Ursprungsbetrag",
    "Auslagenersatz Ruecklastschrift", "Beguenstigter/Zahlungspflichtiger", "Kontonummer/IBAN", "BIC (SWIFT-Code)",
    "Betrag", "Waehrung", "Info",
)  # fmt: skip
_TEXTS: dict[RowKind, str] = {
    "transfer": "ONLINE-UEBERWEISUNG",
    "debit": "FOLGELASTSCHRIFT",
    "card": "KARTENZAHLUNG",
    "salary": "LOHN  GEHALT",
    "income": "GUTSCHRIFT",
    "refund": "GUTSCHRIFT",
}


def export(iban: str, booked: Iterable[Row], pending: Iterable[Row]) -> bytes:
    """Newest first, as the bank does it."""
    rows = [(row.pending_on or row.booked, row, "Umsatz vorgemerkt") for row in pending]
    rows += [(row.booked, row, "Umsatz gebucht") for row in booked]
    rows.sort(key=lambda item: (item[0], item[1].reference), reverse=True)
    lines = [_line(_COLUMNS), *(_line(_cells(iban, day, row, info)) for day, row, info in rows)]
    return "".join(lines).encode("iso-8859-1", "replace")


def _cells(iban: str, day: date, row: Row, info: str) -> tuple[str, ...]:
    amount = f"{row.amount:.2f}".replace(".", ",")
    return (
        iban, f"{day:%d.%m.%y}", f"{row.booked:%d.%m.%y}", _TEXTS[row.kind], row.purpose, row.creditor,
        row.mandate, row.reference, "", "", "", row.counterparty, row.iban, "", amount, "EUR", info,
    )  # fmt: skip


def _line(cells: Iterable[str]) -> str:
    quoted = (cell.replace('"', '""') for cell in cells)
    return ";".join(f'"{cell}"' for cell in quoted) + "\r\n"
