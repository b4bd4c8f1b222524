"""Which format a file is in, and what it says."""

from __future__ import annotations

from collections.abc import Callable

from extractors.bank.balances import turned
from extractors.bankfile import camt, csvfile, mt940, ofx, qif
from extractors.bankfile.decoding import is_binary
from extractors.bankfile.parsed import MAX_BYTES, Given, Parsed, Refuse

HEAD = 16_384
"""Bytes that decide the format."""

_OTHERS = {
    b"PK\x03\x04": "a ZIP archive: unpack it, the statements are inside",
    b"%PDF": "a PDF: ask the bank for CAMT, MT940, OFX, QIF or CSV instead",
    b"\x1f\x8b": "a gzip archive: unpack it",
    b"\xd0\xcf\x11\xe0": "an old Excel file: save it as CSV",
    b"{\\rtf": "a text document: ask the bank for CAMT, MT940, OFX or CSV instead",
}
_WEB = (b"<!doctype html", b"<html")

Parse = Callable[[bytes, str, Given], Parsed]


def parser(head: bytes) -> Parse:
    """The reader for a file that begins so; Refuse where none of ours fits."""
    for start, what in _OTHERS.items():
        if head.startswith(start):
            raise Refuse("unknown_format", what)
    plain = head.lstrip(b"\xef\xbb\xbf\xff\xfe \t\r\n").replace(b"\x00", b"")
    if ofx.is_ofx(head):
        return ofx.parse
    if qif.is_qif(head):
        return qif.parse
    if plain.startswith(b"<"):
        return _markup(plain)
    if is_binary(head):
        raise Refuse("unknown_format", "not a text file")
    return mt940.parse if mt940.is_mt940(head) else csvfile.parse


def _markup(head: bytes) -> Parse:
    if head[:500].lower().startswith(_WEB):
        raise Refuse("unknown_format", "a web page: perhaps the session had ended when this was downloaded")
    if camt.is_camt(head):
        return camt.parse
    raise Refuse("unknown_format", "an XML file that is neither CAMT nor OFX")


def is_ours(head: bytes) -> bool:
    """Whether a file that begins so is a bank's. Never raises."""
    try:
        parse = parser(head)
    except Refuse:
        return False
    return parse is not csvfile.parse or csvfile.is_csv(head)


def read(raw: bytes, where: str, given: Given) -> Parsed:
    """What the file says; Refuse for what is no bank file. ``where`` begins the place of each rejected row."""
    if len(raw) > MAX_BYTES:
        raise Refuse("too_large", f"larger than {MAX_BYTES // 2**20} MB")
    if not raw.strip(b"\x00\r\n\t \xef\xbb\xbf"):
        raise Refuse("empty", "the file is empty")
    parsed = parser(raw[:HEAD])(raw, where, given)
    if given.signs_turned:
        parsed.statements = [turned(statement) for statement in parsed.statements]
    for statement in parsed.statements:
        for warning in statement.warnings:
            parsed.warn(f"{statement.account}: {warning}" if statement.account else warning)
    return parsed
