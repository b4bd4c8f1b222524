"""What the lines around a CSV table say: the account, the currency, the balances at both ends."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from extractors.bank.amounts import scan
from extractors.bank.iban import iban
from extractors.bankfile.csvdates import mentioned
from extractors.bankfile.header import folded
from extractors.bankfile.table import Record

_ACCOUNT = re.compile(
    r"(konto|kontonummer|girokonto|iban|account|account (number|no|id)|compte|(numero|n) (de )?compte|cuenta"
    r"|(numero|n) (de )?cuenta|compte (n|numero))$"
)
_CURRENCY = re.compile(r"(waehrung|kontowaehrung|currency|account currency|devise|monnaie|divisa|moneda)$")
_OPENING = re.compile(
    r"(anfangssaldo|anfangsbestand|alter (konto)?(saldo|stand|kontostand)|opening balance|starting balance"
    r"|beginning balance|balance brought forward|solde (initial|precedent|d ouverture)|ancien solde"
    r"|saldo (inicial|anterior))\b"
)
_CLOSING = re.compile(
    r"(endsaldo|endbestand|schlusssaldo|neuer (konto)?(saldo|stand|kontostand)|kontostand|saldo|closing balance"
    r"|ending balance|current balance|balance|account balance|solde( final| au| actuel| de cloture)?|nouveau solde"
    r"|saldo (final|actual))\b"
)


@dataclass(frozen=True, slots=True)
class Labels:
    """``opening`` and ``closing`` are the cells as written."""

    account: str = ""
    currency: str = ""
    opening: str = ""
    closing: str = ""
    closing_on: str = ""


def labels(records: Iterable[Record]) -> Labels:
    """Each line is a label and its values; the first line that says a thing is believed."""
    found: dict[str, str] = {}
    for record in records:
        cells = [cell for cell in record.cells if cell]
        if cells:
            _read(folded(cells[0][:80]), cells, found)
    marks = [scanned.currency for key in ("closing", "opening") if (scanned := scan(found.get(key, "")))]
    found.setdefault("currency", next(filter(None, marks), ""))
    return Labels(**found)


def _read(label: str, cells: Sequence[str], found: dict[str, str]) -> None:
    value = cells[1] if len(cells) > 1 else _after_colon(cells[0])
    if _ACCOUNT.fullmatch(label) or (len(cells) == 1 and _ACCOUNT.fullmatch(folded(cells[0].partition(":")[0]))):
        found.setdefault("account", (iban(value) or value)[:64])
    elif _CURRENCY.fullmatch(label) and re.fullmatch("[A-Z]{3}", value):
        found.setdefault("currency", value)
    elif _OPENING.match(label) and (amount := _amount(cells)):
        found.setdefault("opening", amount)
    elif _CLOSING.match(label) and (amount := _amount(cells)):
        found.setdefault("closing", amount)
        found.setdefault("closing_on", " ".join(cells[:3])[:200])


def _after_colon(cell: str) -> str:
    return cell.partition(":")[2].strip()


def _amount(cells: Sequence[str]) -> str:
    """The last cell behind the label that is an amount and no date."""
    candidates = [*cells[1:], _after_colon(cells[0])]
    amounts = [cell for cell in candidates if cell and scan(cell) and not mentioned(cell)]
    return amounts[-1] if amounts else ""


def is_balance_line(text: str) -> bool:
    """Whether a row of the table is no movement but tells the balance at one end."""
    label = folded(text[:80])
    return bool(
        _OPENING.match(label) or re.match(r"(endsaldo|closing balance|ending balance|saldo final|solde final)\b", label)
    )
