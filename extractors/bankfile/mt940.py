"""MT940 (and MT942): SWIFT statements, with the dialects that banks made of them.

Written here because the one library for it glues the account number to the payee's name and knows neither the
dialects of reversals nor amounts in a foreign currency.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date

from extractors.bank.amounts import strict_decimal
from extractors.bank.balances import checked
from extractors.bank.row import Row, Statement, name, purpose, reference
from extractors.bankfile import questions
from extractors.bankfile.days import day, full_year
from extractors.bankfile.decoding import decode
from extractors.bankfile.mt940_details import Details, details
from extractors.bankfile.pages import Page, joined
from extractors.bankfile.parsed import MAX_ROWS, Given, Parsed, Refuse, why
from schemas.money import Money

_TAG = re.compile(r":(\d{2}[A-Z]?|NS):(.*)")
_HEAD = re.compile(rb"(?:^|[\r\n:{}])\s*:(?:20|25|28C?|60[FM]|61):")
_LINE = re.compile(
    r"(?P<value>\d{6})(?P<entry>\d{4})?\s?(?P<mark>RC|RD|EC|ED|C|D)(?P<funds>[A-Z])?(?P<minus>-)?"
    r"(?P<amount>\d[\d.]{0,20}(?:,\d{0,6})?|,\d{1,6})(?P<type>[A-Z][A-Z0-9]{3})?(?P<rest>.*)"
)
_BALANCE = re.compile(
    r"(?P<mark>[CD])(?P<day>\d{6})(?P<currency>[A-Z]{3})(?P<amount>\d[\d.]{0,20}(?:,\d{0,6})?|,\d{1,6})\s*"
)
_FOREIGN = re.compile(r"/OCMT/([A-Z]{3})(\d[\d.]{0,20},?\d{0,6})")
_INTERIM = re.compile(r"([A-Z]{3})[CD]?\d")
_FIELD_CAP = 8_000


def is_mt940(head: bytes) -> bool:
    plain = head.replace(b"\x00", b"")
    return bool(_HEAD.search(plain)) and any(tag in plain for tag in (b":25:", b":25P:", b":60F:", b":60M:", b":61:"))


@dataclass(slots=True)
class _Entry:
    line: str
    number: int
    details: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Message:
    """One page: its fields by tag, and its entries. ``number`` is that of the line it begins at."""

    values: dict[str, str] = field(default_factory=dict)
    entries: list[_Entry] = field(default_factory=list)

    def get(self, *tags: str) -> str:
        return next((self.values[tag] for tag in tags if tag in self.values), "")


def parse(raw: bytes, where: str, given: Given) -> Parsed:
    decoded = decode(raw)
    parsed = Parsed("mt940", warnings=list(decoded.warnings))
    messages = list(_messages(_fields(decoded.text)))
    if not messages:
        raise Refuse("malformed", "an MT940 file without any statement")
    last = messages[-1]
    parsed.is_cut = bool(last.get("60F", "60M")) and not last.get("62F", "62M")
    if parsed.is_cut:
        del last.entries[-1:]  # its amount may be cut
    reader = _Reader(parsed, where, given)
    parsed.statements = [checked(found) for found in joined(reader.pages(messages))]
    parsed.is_open = not decoded.text.rstrip(" ").endswith(("\n", "\r", "-", "-}"))
    return parsed


def _fields(text: str) -> Iterator[tuple[int, str, str]]:
    """Line number, tag and value; a value keeps its line breaks. A lone ``-`` or a new envelope ends a message."""
    number, tag, lines, length = 0, "", list[str](), 0
    for count, line in enumerate(re.split(r"\r\n|\n|\r", text), start=1):
        line = line.rsplit("{4:", 1)[-1].removeprefix("@@").rstrip("\x03\x1a ")
        found = _TAG.match(line.lstrip())
        if found or line.strip() in ("-", "-}"):
            if tag:
                yield number, tag, "\n".join(lines)[:_FIELD_CAP]
            number, tag, lines = (count, found.group(1), [found.group(2)]) if found else (count, "", [])
            length = 0
        elif tag and length < _FIELD_CAP:
            lines.append(line)
            length += len(line)
    if tag:
        yield number, tag, "\n".join(lines)[:_FIELD_CAP]


def _messages(fields: Iterable[tuple[int, str, str]]) -> Iterator[_Message]:
    """A message begins with :20:, or with :25: where a bank leaves that out. Details behind the closing balance are
    the statement's and not a row's."""
    message: _Message | None = None
    rows = 0
    for number, tag, value in fields:
        begins = tag == "20" or (tag == "25" and (message is None or "25" in message.values))
        if begins or message is None:
            if message is not None:
                yield message
            message = _Message()
        if tag == "61":
            rows += 1
            if rows > MAX_ROWS:
                raise Refuse("too_large", f"more than {MAX_ROWS} rows in one file")
            message.entries.append(_Entry(value, number))
        elif tag == "86" and message.entries and not message.get("62F", "62M"):
            message.entries[-1].details.append(value)
        else:
            message.values.setdefault(tag, value)
    if message is not None:
        yield message


@dataclass(frozen=True, slots=True)
class _Reader:
    parsed: Parsed
    where: str
    given: Given

    def pages(self, messages: Sequence[_Message]) -> Iterator[Page]:
        for message in messages:
            page = self._page(message)
            if page is not None:
                yield page

    def _page(self, message: _Message) -> Page | None:
        opening, opening_on = self._balance(message.get("60F", "60M"))
        closing, closing_on = self._balance(message.get("62F", "62M"))
        currency = self._currency(message, opening or closing)
        if not currency:
            if not any(q.code == questions.CURRENCY for q in self.parsed.questions):
                self.parsed.questions.append(questions.currency(self.where))
            return None
        account = _account(message.get("25", "25P"), currency)
        number = message.get("28C", "28").split("/")[0].strip()
        rows = tuple(row for entry in message.entries if (row := self._entry(entry, account, currency)))
        statement = Statement(account, currency, number, rows, opening, opening_on, closing, closing_on)
        return Page(statement, "60M" in message.values, "62M" in message.values)

    def _currency(self, message: _Message, balance: Money | None) -> str:
        if balance is not None:
            return balance.currency
        interim = _INTERIM.match(message.get("34F"))
        return interim.group(1) if interim else self.given.currency or self.given.answers.get(questions.CURRENCY, "")

    def _balance(self, text: str) -> tuple[Money | None, date | None]:
        if not text:
            return None, None
        found = _BALANCE.match(text)
        try:
            if found is None:
                raise ValueError(f"not a balance: {text[:40]!r}")
            amount = strict_decimal(found["amount"])
            signed = -amount if found["mark"] == "D" else amount
            return Money.of(signed, found["currency"]), _day(found["day"])
        except ValueError as error:
            self.parsed.reject(f"{self.where}: balance", why(error), text)
            return None, None

    def _entry(self, entry: _Entry, account: str, currency: str) -> Row | None:
        where = f"{self.where}:{entry.number}"
        found = _LINE.match(entry.line)
        if found is None:
            self.parsed.reject(where, f"not a statement line: {entry.line[:60]!r}", entry.line)
            return None
        try:
            return _row(found, entry, account, currency)
        except ValueError as error:
            self.parsed.reject(where, why(error), entry.line)
            return None


def _row(found: re.Match[str], entry: _Entry, account: str, currency: str) -> Row:
    value_on = _day(found["value"])
    mark = found["mark"]
    rest, _, supplementary = entry.line[found.start("rest") :].partition("\n")
    own, _, banks = rest.partition("//")
    said = details("\n".join(entry.details)) if entry.details else Details(purpose=supplementary)
    amount = strict_decimal(found["amount"])
    is_out = (mark[-1] == "D") ^ (mark[0] == "R") ^ bool(found["minus"])
    return Row(
        account=account,
        booked_on=_nearest(found["entry"], value_on) if found["entry"] else value_on,
        value_on=value_on,
        amount=Money.of(-amount if is_out else amount, currency),
        original=_foreign(supplementary, is_out) or _foreign(" ".join(entry.details), is_out),
        counterparty=name(said.name),
        counterparty_iban=said.iban,
        purpose=purpose(said.purpose),
        booking_text=name(said.booking_text),
        native_id=name(reference(banks) or reference(own)),
        end_to_end_id=reference(said.end_to_end_id),
        mandate_id=reference(said.mandate_id),
        creditor_id=reference(said.creditor_id),
        pending=mark[0] == "E",
        reversal=mark[0] == "R" or bool(found["minus"]),
    )


def _day(text: str) -> date:
    return day(full_year(int(text[:2])), int(text[2:4]), int(text[4:6]))


def _nearest(month_day: str, value_on: date) -> date:
    """The entry date has no year: the one nearest to the value date, which at New Year may be the next or the last."""
    found: list[date] = []
    for year in (value_on.year, value_on.year - 1, value_on.year + 1):
        try:
            found.append(day(year, int(month_day[:2]), int(month_day[2:])))
        except ValueError:
            continue  # 29 February, or no date at all
    if not found:
        raise ValueError(f"not a month and day: {month_day!r}")
    return min(found, key=lambda each: abs(each - value_on))


def _account(text: str, currency: str) -> str:
    plain = text.splitlines()[0].strip() if text.strip() else ""
    without = plain.removesuffix(currency).rstrip()
    return (without if without[-1:].isdigit() else plain)[:64]


def _foreign(text: str, is_out: bool) -> Money | None:
    found = _FOREIGN.search(text)
    if found is None:
        return None
    amount = strict_decimal(found.group(2))
    return Money.of(-amount if is_out else amount, found.group(1))
