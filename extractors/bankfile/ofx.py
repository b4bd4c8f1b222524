"""OFX and QFX, versions 1 and 2: bank, credit card and the cash side of investment statements."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from extractors.bank.amounts import Mark, number, scan, strict_decimal
from extractors.bank.iban import iban
from extractors.bank.row import Balance, Row, Statement, name, purpose
from extractors.bankfile import questions
from extractors.bankfile.days import iso_day
from extractors.bankfile.decoding import decode
from extractors.bankfile.parsed import MAX_ROWS, Given, Parsed, Refuse, why
from extractors.bankfile.sgml import TRADES, Aggregate, read
from schemas.money import Money

_HEADER = re.compile(rb"(?:CHARSET:|encoding=[\"'])\s*([\w.:-]{1,40})", re.IGNORECASE)
_START = re.compile(r"<OFX>", re.IGNORECASE)
_STATEMENTS = ("STMTRS", "CCSTMTRS", "INVSTMTRS")
_AMOUNT = re.compile(r"<(?:TRNAMT|BALAMT|TOTAL)>([^<]{1,60})", re.IGNORECASE)


def is_ofx(head: bytes) -> bool:
    return b"<OFX>" in head.replace(b"\x00", b"").upper() or head.lstrip(b"\xef\xbb\xbf \r\n").startswith(b"OFXHEADER")


def parse(raw: bytes, where: str, given: Given) -> Parsed:
    """Refuse where it holds no statement."""
    declared = _HEADER.search(raw[:2000])
    decoded = decode(raw, declared.group(1).decode("ascii") if declared else None)
    parsed = Parsed("ofx", warnings=list(decoded.warnings))
    start = _START.search(decoded.text)
    if start is None:
        raise Refuse("malformed", "an OFX header without an <OFX> element behind it")
    tree = read(decoded.text[start.start() :])
    reader = _Reader(parsed, where, given, _grouping(decoded.text), _securities(tree))
    statements = list(tree.walk(*_STATEMENTS))
    if not statements:
        raise Refuse(*_no_statement(tree))
    parsed.statements = [found for node in statements if (found := reader.statement(node))]
    parsed.is_cut = any(not each.is_closed for each in tree.walk("BANKTRANLIST", "INVTRANLIST"))
    parsed.is_open = not all(child.is_closed for child in tree.children)
    return parsed


def _no_statement(tree: Aggregate) -> tuple[str, str]:
    for status in tree.walk("STATUS"):
        if status.get("SEVERITY").upper() == "ERROR":
            return "refused_by_bank", f"the bank answered {status.get('CODE')}: {status.get('MESSAGE')}"[:200]
    return "malformed", "an OFX file without any statement"


def _grouping(text: str) -> Mark | None:
    """The decimal mark, where an amount with both marks shows that this file groups thousands, against the rules."""
    for found in _AMOUNT.finditer(text):
        amount = found.group(1)
        if "." in amount and "," in amount:
            return "." if amount.rfind(".") > amount.rfind(",") else ","
    return None


def _securities(tree: Aggregate) -> dict[str, str]:
    return {info.get("UNIQUEID"): info.get("SECNAME") for info in tree.walk("SECINFO")}


@dataclass(frozen=True, slots=True)
class _Reader:
    parsed: Parsed
    where: str
    given: Given
    mark: Mark | None
    securities: dict[str, str]

    def statement(self, node: Aggregate) -> Statement | None:
        currency = node.get("CURDEF").upper() or self.given.currency or self.given.answers.get(questions.CURRENCY, "")
        if not re.fullmatch("[A-Z]{3}", currency):
            self.parsed.questions.append(questions.currency(self.where))
            return None
        source = node.child("BANKACCTFROM", "CCACCTFROM", "INVACCTFROM")
        account = source.get("ACCTID")[:64] if source else ""
        rows = tuple(self._rows(node, account, currency))
        return Statement(account, currency, rows=rows, balance=self._balance(node, account, currency))

    def _rows(self, node: Aggregate, account: str, currency: str) -> Iterator[Row]:
        """An entry at which the file ends is passed over: its amount may be cut."""
        for count, entry in enumerate(node.walk("STMTTRN", "STMTTRNP", *TRADES), start=1):
            if count > MAX_ROWS:
                raise Refuse("too_large", f"more than {MAX_ROWS} rows in one statement")
            if not entry.is_closed:
                continue
            try:
                row = self._row(entry, account, currency) if entry.name.startswith("STMTTRN") else None
                row = row or self._trade(entry, account, currency)
            except ValueError as error:
                self.parsed.reject(f"{self.where}: row {count}", why(error), str(entry.values))
                continue
            if row is not None:
                yield row

    def _row(self, entry: Aggregate, account: str, currency: str) -> Row | None:
        payee, to = entry.child("PAYEE"), entry.child("BANKACCTTO", "CCACCTTO")
        if entry.get("CORRECTFITID"):
            self.parsed.warn(f"row {entry.get('FITID')!r} corrects row {entry.get('CORRECTFITID')!r}: check both")
        return Row(
            account=account,
            booked_on=iso_day(entry.get("DTPOSTED", "DTTRAN", "DTUSER")),
            value_on=_optional_day(entry.get("DTAVAIL")),
            amount=self._money(entry.get("TRNAMT"), _currency(entry) or currency),
            counterparty=name(entry.get("NAME") or (payee.get("NAME") if payee else "") or entry.get("EXTDNAME")),
            counterparty_iban=iban(to.get("ACCTID")) if to else None,
            purpose=purpose(entry.get("MEMO")),
            booking_text=name(entry.get("TRNTYPE")),
            native_id=name(entry.get("FITID", "REFNUM")),
            pending=entry.name == "STMTTRNP",
        )

    def _trade(self, entry: Aggregate, account: str, currency: str) -> Row | None:
        """What a trade did to the cash; a reinvested dividend does nothing to it."""
        if entry.name not in TRADES or "TOTAL" not in entry.values:
            return None
        if entry.name == "REINVEST":
            self.parsed.warn("reinvested income is not a payment and was passed over")
            return None
        return Row(
            account=account,
            booked_on=iso_day(entry.get("DTSETTLE", "DTTRADE")),
            amount=self._money(entry.get("TOTAL"), _currency(entry) or currency),
            counterparty=name(self.securities.get(entry.get("UNIQUEID")) or entry.get("UNIQUEID")),
            purpose=purpose(entry.get("MEMO")),
            booking_text=entry.name,
            native_id=name(entry.get("FITID")),
        )

    def _balance(self, node: Aggregate, account: str, currency: str) -> Balance | None:
        ledger, invested = node.child("LEDGERBAL"), node.child("INVBAL")
        text = ledger.get("BALAMT") if ledger else invested.get("AVAILCASH") if invested else ""
        as_of = _optional_day(ledger.get("DTASOF") if ledger else node.get("DTASOF"))
        if not text or as_of is None:
            return None
        try:
            amount = self._money(text, currency)
        except ValueError as error:
            self.parsed.reject(f"{self.where}: balance", why(error), text)
            return None
        if _lost_its_mark(text, node):
            self.parsed.warn(f"the balance {text.strip()} has no decimal mark, unlike the rows: it may be in cents")
        return Balance(account=account, as_of=as_of, amount=amount)

    def _money(self, text: str, currency: str) -> Money:
        if not text:
            raise ValueError("the amount is missing")
        return Money.of(self._amount(text), currency)

    def _amount(self, text: str) -> Decimal:
        scanned = scan(text)
        if self.mark is None or scanned is None:
            return strict_decimal(text)
        value = number(scanned.body, self.mark)
        return -value if scanned.negative else value


def _currency(entry: Aggregate) -> str:
    """The currency that the amount is in, where it is not the account's. ORIGCURRENCY is only what it once was."""
    other = entry.child("CURRENCY")
    return other.get("CURSYM").upper() if other else ""


def _lost_its_mark(text: str, node: Aggregate) -> bool:
    amounts = [entry.get("TRNAMT") for entry in node.walk("STMTTRN")]
    digits = text.strip().lstrip("+-")
    return len(digits) > 2 and digits.isdecimal() and bool(amounts) and all("." in a or "," in a for a in amounts)


def _optional_day(text: str) -> date | None:
    try:
        return iso_day(text)
    except ValueError:
        return None
