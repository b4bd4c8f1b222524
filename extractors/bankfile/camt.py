"""CAMT.052, .053 and .054 in every version: reports, statements and notifications of ISO 20022.

Element names decide and namespaces do not, so versions .02 to .13 are read alike.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date

from lxml import etree

from extractors.bank.balances import checked
from extractors.bank.iban import iban
from extractors.bank.row import Row, Statement
from extractors.bankfile import questions
from extractors.bankfile.camt_entry import Account, Element, day_of, local_name, optional_day, rows_of, signed, text
from extractors.bankfile.pages import Page, joined
from extractors.bankfile.parsed import MAX_ROWS, Given, Parsed, Refuse, why
from schemas.money import Money

_STATEMENTS = frozenset(["Stmt", "Rpt", "Ntfctn"])
_OPENING = ("OPBD", "PRCD")
_INTERIM = "ITBD"
_TAIL = re.compile(rb">[\s\x00]*\Z")
_CUT_CODES = frozenset([etree.ErrorTypes.ERR_DOCUMENT_END, etree.ErrorTypes.ERR_TAG_NOT_FINISHED])


def is_camt(head: bytes) -> bool:
    plain = head.replace(b"\x00", b"")
    return b"BkToCstmr" in plain or b"camt.05" in plain


def parse(raw: bytes, where: str, given: Given) -> Parsed:
    """Refuse for what is no well-formed XML, declares a document type, or holds no statement."""
    parsed = Parsed("camt")
    pages: list[Page] = []
    try:
        _read(raw, None, pages, parsed, where, given)
    except etree.XMLSyntaxError as error:
        if _is_mislabelled(raw):
            return _parse_as_cp1252(raw, where, given)
        if not _is_cut(error, raw):
            raise Refuse("malformed", f"not well-formed XML: {error.msg or 'unreadable'}"[:200]) from error
        parsed.is_cut = True
    return _finished(parsed, pages)


def _parse_as_cp1252(raw: bytes, where: str, given: Given) -> Parsed:
    parsed = Parsed("camt", warnings=["the file says UTF-8 and is not: read as cp1252"])
    pages: list[Page] = []
    try:
        _read(raw, "cp1252", pages, parsed, where, given)
    except etree.XMLSyntaxError as error:
        raise Refuse("malformed", f"not well-formed XML: {error.msg or 'unreadable'}"[:200]) from error
    return _finished(parsed, pages)


def _finished(parsed: Parsed, pages: list[Page]) -> Parsed:
    parsed.statements = [checked(statement) for statement in joined(pages)]
    if not (parsed.statements or parsed.questions or parsed.is_cut):
        raise Refuse("unknown_format", "an XML file without a CAMT statement, report or notification")
    return parsed


def _is_mislabelled(raw: bytes) -> bool:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\x00" in raw[:4]:
        return False
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return error.reason != "unexpected end of data"
    return False


def _is_cut(error: etree.XMLSyntaxError, raw: bytes) -> bool:
    return getattr(error, "code", 0) in _CUT_CODES or not _TAIL.search(raw[-64:])


@dataclass(slots=True)
class _Open:
    """A statement while its elements come in. ``balances`` by code, in order."""

    number: str = ""
    created_on: date | None = None
    account: Account = field(default_factory=Account)
    balances: list[tuple[str, Money, date]] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    entries: int = 0


def _read(raw: bytes, encoding: str | None, pages: list[Page], parsed: Parsed, where: str, given: Given) -> None:
    """Appends each statement to ``pages`` when it ends, and what there is of it when the file is cut."""
    found = _Open()
    is_inside = False
    try:
        for event, element in _elements(raw, encoding):
            name = local_name(element)
            if event == "start" and name in _STATEMENTS:
                found, is_inside = _Open(), True
            elif event == "end" and name in _STATEMENTS:
                _close(found, pages, parsed, where, given)
                is_inside = False
            elif event == "end" and local_name(element.getparent()) in _STATEMENTS:
                _take(found, name, element, parsed, where, given)
                _free(element)
    finally:
        if is_inside:
            _close(found, pages, parsed, where, given)


def _elements(raw: bytes, encoding: str | None) -> Iterator[tuple[str, Element]]:
    """No entity is resolved, nothing is fetched, no tree is huge; a document type is refused outright."""
    context = etree.iterparse(
        io.BytesIO(raw),
        events=("start", "end"),
        encoding=encoding,
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    is_first = True
    for event, element in context:
        if is_first and element.getroottree().docinfo.doctype:
            raise Refuse("doctype", "the XML file declares a document type, which no bank statement needs")
        is_first = False
        yield event, element


def _free(element: Element) -> None:
    """What was read is dropped, so that a long statement does not stay in memory as a tree."""
    parent = element.getparent()
    element.clear()
    while parent is not None and element.getprevious() is not None:
        del parent[0]


def _take(found: _Open, name: str, element: Element, parsed: Parsed, where: str, given: Given) -> None:
    match name:
        case "Id" | "ElctrncSeqNb":
            found.number = (element.text or "").strip()[:60]
        case "CreDtTm":
            found.created_on = optional_day(element)
        case "Acct":
            found.account = _account(element, given)
        case "Bal":
            _take_balance(found, element, parsed, where)
        case "Ntry":
            _take_entry(found, element, parsed, where)


def _account(element: Element, given: Given) -> Account:
    number = iban(text(element, "Id/IBAN")) or text(element, "Id/IBAN") or text(element, "Id/Othr/Id")
    currency = text(element, "Ccy") or given.currency or given.answers.get(questions.CURRENCY, "")
    return Account(number[:64], currency)


def _take_balance(found: _Open, element: Element, parsed: Parsed, where: str) -> None:
    code = text(element, "Tp/CdOrPrtry/Cd") or text(element, "Tp/Cd")
    if code not in (*_OPENING, _INTERIM, "CLBD"):
        return
    try:
        day = day_of(element, "Dt")
        if day is None:
            raise ValueError("the balance has no day")
        found.balances.append((code, signed(element, found.account.currency), day))
    except ValueError as error:
        parsed.reject(f"{where}: balance {code}", why(error))


def _take_entry(found: _Open, element: Element, parsed: Parsed, where: str) -> None:
    found.entries += 1
    if found.entries > MAX_ROWS:
        raise Refuse("too_large", f"more than {MAX_ROWS} entries in one statement")
    try:
        rows, warnings = rows_of(element, found.account, found.created_on)
    except ValueError as error:
        raw = etree.tostring(element)[:500]
        parsed.reject(f"{where}: entry {found.entries}", why(error), raw)
        return
    found.rows += rows
    for warning in warnings:
        parsed.warn(warning)


def _close(found: _Open, pages: list[Page], parsed: Parsed, where: str, given: Given) -> None:
    opening = _first(found, *_OPENING)
    closing = _first(found, "CLBD")
    interim = [(amount, day) for code, amount, day in found.balances if code == _INTERIM]
    continues, is_continued = opening is None and len(interim) > 0, closing is None and bool(interim)
    if continues and (closing or len(interim) > 1):
        opening = interim[0]
    if is_continued:
        closing = interim[-1]
    currency = found.account.currency or next((m.currency for _, m, _ in found.balances), "")
    currency = currency or next((row.amount.currency for row in found.rows), "")
    statement = Statement(
        found.account.number,
        currency,
        found.number,
        tuple(found.rows),
        *(opening or (None, None)),
        *(closing or (None, None)),
    )
    pages.append(Page(statement, continues and opening is not None, is_continued))


def _first(found: _Open, *codes: str) -> tuple[Money, date] | None:
    for wanted in codes:
        for code, amount, day in found.balances:
            if code == wanted:
                return amount, day
    return None
