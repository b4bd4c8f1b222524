"""Broken and hostile mails for tests: whatever connector reads mail, none of these may stop, hang or bloat it."""

from __future__ import annotations

import base64
import random
from collections.abc import Iterator, Sequence

_HEAD = b"From: Ada <ada@example.org>\nTo: nora@example.net\nSubject: x\nDate: Mon, 02 Mar 2026 10:15:00 +0100\n"
_DATE = b"Mon, 02 Mar 2026 10:15:00 +0100"

_LABELS = (
    "utf-8|us-ascii|iso-8859-1|utf-16|utf-32|utf-7|gb2312|gb18030|big5|shift_jis|iso-2022-jp|euc-kr|koi8-r|cp1252|"
    "unknown-8bit|x-none|base64|zip|hex|rot13|idna|punycode|unicode_escape|undefined|mbcs|../../etc|''|utf-8*|8bit"
)
_NAMES = (
    "../../etc/passwd", "..\\..\\boot.ini", "/", "\\", ".", "..", "", " ", "a\0b.pdf", "a\nb.pdf", "a\rb",
    "C:\\x\\y.exe", "\u202egpj.exe", "x" * 5_000, "x" * 5_000 + ".pdf", "con", "a/b/c/", "%2e%2e%2f",
    "=?utf-8?Q?=2E=2E=2Fx?=", "🦊" * 300,
    "\ufeff", "\u200b", 'a"b', "a;b", "a'b''c", "\x1b[31m", "file:///etc/passwd", "~root", "$(rm -rf)", "nul\x00",
)  # fmt: skip
_DATES = (
    b"", b"0", b"Mon, 99 Foo 99999 99:99:99 +9999", b"1970-01-01", b"9" * 5_000, b"-" * 5_000, b"\xff\xfe", b"a:b:c d",
    b"Thu, 01 Jan 1970 00:00:00 GMT", b"31 Dec 9999 23:59:59 -1400", b"1 Jan 0001 00:00:00 +1400", b"2 Mar 2026 25:00",
)  # fmt: skip
_MARKS = (
    b"(", b'"', b"<", b"\\", b",", b":;", b"@", b"=?utf-8?Q?=", b"=?utf-8?B?4?=", b"=?a?Q?b?= ", b"a@", b"()", b";",
)  # fmt: skip
_PIECES = (
    "On a |Am b |Le c |From: x\n|- |> |>|-|_|\n| |\t|a|1|1.|1,|1/|1 |31.03.|2026-|due |due on |by |bis zum |€|"
    "EUR 1 |1 EUR |EUR|DE89 |DE|?|could you |invoice |invoice no |A1|price from |may |within |the |@|a@b.|http://|...|"
    "a. |;|,|wrote:\n|On 1 a@b wrote:\n|--\n|Sent from my x\n|Regards\n|notice |3 months |Rechnung|zu|🦊|<|&|\u0301|"
    "\u202e|if you |save 5 |h|12:|19:30 |märz |lunes |le 2 |was paid |expires |label:\n\n"
)
_TAGS = (
    "<div>|<table><tr><td>|<ul><li>|<b>|</p>|<td style='font-size:0'>|<div hidden>|<!--|<|<a href=|&#x|&nbsp;|"
    "<style>a{|<style>.a{display:none}</style>|<script>|<span itemscope itemprop=a>|<blockquote type=cite>|<br>|"
    "<img alt=x>|<x:y>|<?php |<p style='margin-top:99999em;padding-left:99999em'>x|<![CDATA[|<svg><title>|"
    "<div itemscope itemtype=http://schema.org/Invoice>"
)
_VALUES = (
    'null|1e999999|-1|"1e999999"|"NaN"|"Infinity"|[]|{}|[[[]]]|"9999-99-99"|"0000-00-00"|true|"\\ud800"|"1.2.3,4"|'
    '"+999999-01-01T00:00:00Z"|"0001-01-01T00:00:00+14:00"|"9999-12-31T23:59:59-12:00"'
)
_INVOICE = '{"@type":"Invoice","identifier":"A1","paymentDueDate":%s,"totalPaymentDue":{"price":%s,"priceCurrency":%s}}'
_FLIGHT = (
    '{"@type":"FlightReservation","reservationNumber":%s,"underName":%s,'
    '"reservationFor":{"departureTime":%s,"arrivalTime":%s,"airline":%s}}'
)
_MEETING = (
    b"BEGIN:VCALENDAR\r\nMETHOD:REQUEST\r\nBEGIN:VEVENT\r\nUID:1\r\nDTSTART:20260310T140000Z\r\nEND:VEVENT\r\n"
    b"END:VCALENDAR\r\n"
)


def mails(samples: Sequence[bytes], seed: int, rounds: int = 1) -> Iterator[bytes]:
    """About 2,000 mails (more with more ``samples``, which are damaged in many ways, ``rounds`` times over). The same
    seed gives the same."""
    chance = random.Random(seed)
    for sample in samples:
        yield from _truncated(sample)
        for _ in range(rounds):
            yield from _damaged(sample, chance)
            yield from _shuffled(sample, chance)
    yield from _noise(chance)
    yield from _mislabelled(chance)
    yield from _misnamed()
    yield from _structures()
    yield from _encodings()
    yield from _headers()
    yield from _texts()
    yield from _pages()
    yield from _markup()
    yield from _calendars(chance)


def _part(body: bytes, content_type: bytes = b"text/plain; charset=utf-8", more: bytes = b"") -> bytes:
    return _HEAD + b"MIME-Version: 1.0\nContent-Type: " + content_type + b"\n" + more + b"\n" + body


def _html(body: bytes) -> bytes:
    return _part(body, b"text/html; charset=utf-8")


def _many(piece: str, size: int) -> bytes:
    raw = piece.encode("utf-8")
    return raw * (size // len(raw))


def _truncated(sample: bytes) -> Iterator[bytes]:
    for step in range(48):
        yield sample[: len(sample) * step // 48]


def _damaged(sample: bytes, chance: random.Random) -> Iterator[bytes]:
    for _ in range(36):
        raw = bytearray(sample)
        for _ in range(chance.choice((1, 5, 50))):
            raw[chance.randrange(len(raw))] = chance.choice((0, 9, 10, 13, 32, 34, 58, 61, 63, 128, 255))
        yield bytes(raw)


def _shuffled(sample: bytes, chance: random.Random) -> Iterator[bytes]:
    for _ in range(12):
        lines = sample.splitlines(keepends=True)
        chance.shuffle(lines)
        yield b"".join(lines)


def _noise(chance: random.Random) -> Iterator[bytes]:
    for _ in range(150):
        yield chance.randbytes(chance.choice((0, 1, 2, 10, 100, 1_000, 20_000)))
        yield _HEAD + b"\n" + chance.randbytes(chance.choice((1, 100, 5_000)))


def _mislabelled(chance: random.Random) -> Iterator[bytes]:
    for label in (label.encode() for label in _LABELS.split("|")):
        for body in (b"R\xe4tsel bis 31.03.2026", "Rätsel € 5,00".encode(), chance.randbytes(60), b"\x1b$B\x1b(B\x1b$"):
            yield _part(body, b"text/plain; charset=" + label)
            word = b"=?" + label + b"?B?" + base64.b64encode(body) + b"?="
            yield _HEAD.replace(b"Subject: x", b"Subject: " + word) + b"\n"


def _misnamed() -> Iterator[bytes]:
    for name in _NAMES:
        raw = name.encode("utf-8").replace(b"\n", b"\n ").replace(b'"', b'\\"')
        forms = (b'filename="' + raw + b'"', b"filename*=utf-8''" + raw, b"filename*0*=x'y'" + raw + b"; filename*1=z")
        for parameter in forms:
            yield _part(b"AAAA", b"application/pdf", b"Content-Disposition: attachment; " + parameter + b"\n")


def _nested(depth: int, *, close: bool) -> bytes:
    opened = b"".join(b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(depth))
    closed = b"".join(b"\n--b%d--" % n for n in reversed(range(depth))) if close else b""
    return _HEAD + opened + b"\nhello" + closed


def _structures() -> Iterator[bytes]:
    mixed = b"multipart/mixed; boundary=b"
    for depth in (5, 29, 31, 200, 1_000):
        yield _nested(depth, close=True)
        yield _nested(depth, close=False)
    yield _HEAD + b"Content-Type: multipart/mixed; boundary=b\n\n--b\n" * 2_000
    yield _HEAD + b"Content-Type: message/rfc822\n\n" * 1_000 + b"x"
    yield _part(b"--b\n\nx\n" * 10_000 + b"--b--", mixed)
    yield _part(b"--b\n" * 200_000, mixed)
    yield _part(b"--b" * 200_000, mixed)
    yield _part(b"--b" + b" " * 600_000, mixed)
    yield _part(b"--\n--\n--\n", b"multipart/mixed; boundary=")
    yield _part(b"x", b"multipart/mixed")
    yield _part(b"--b\nContent-Type: multipart/alternative; boundary=b\n\n--b\nx\n--b--\n--b--", mixed)
    yield _part(b"--b\n\nFrom: x\n\ny\n--b\n\nz\n--b--", b"multipart/digest; boundary=b")
    yield b"From: a\n\n" + b"x" * (65 * 1024 * 1024)


def _encodings() -> Iterator[bytes]:
    bodies = (
        b"=", b"====", b"A", b"AAAA" * 100_000, b"=3D=\n=", b"begin 644 x\nM\nend", b"\xff" * 1_000, b"= =\n" * 25_000,
    )  # fmt: skip
    for encoding in (b"base64", b"quoted-printable", b"x-uuencode", b"binary", b"rot13", b"", b"base64\x00"):
        for body in bodies:
            yield _part(body, more=b"Content-Transfer-Encoding: " + encoding + b"\n")


def _headers() -> Iterator[bytes]:
    yield b"X-A: b\n" * 90_000 + b"\nx"
    yield _HEAD + b"X-Long: " + b"a" * 10_000_000 + b"\n\nx"
    yield _HEAD + b"X-Folded: a" + b"\n b" * 300_000 + b"\n\nx"
    yield _HEAD + b"To: " + b", ".join(b"a%d@example.org" % n for n in range(10_000)) + b"\n\nx"
    for mark in _MARKS:
        yield _HEAD + b"Cc: " + mark * 20_000 + b"\n\nx"
        yield _HEAD + b"Content-Type: text/plain" + (b"; " + mark + b"=1") * 3_000 + b"\n\nx"
        yield _HEAD.replace(b"Subject: x", b"Subject: " + mark * 20_000) + b"\nx"
    for date in _DATES:
        yield _HEAD.replace(_DATE, date) + b"\nx"
        yield _HEAD.replace(b"Date:", b"Received: x;").replace(_DATE, date) + b"\nx"
    yield _HEAD + b"References: " + b"<a@b> " * 20_000 + b"\n\nx"
    yield b"From: a\nFrom: b\nFrom: c\nSubject: 1\nSubject: 2\nDate: x\nDate: y\n\nx"
    yield b"\n\n\n" + _HEAD + b"\nx"
    yield _HEAD.replace(b"\n", b"\r") + b"\rx"
    yield _HEAD.replace(b"\n", b"\r\n") + b"\nmixed\r\n\r\nx"
    yield b"Subject: only\nThis line is text already.\nAnd this."


def _texts() -> Iterator[bytes]:
    for piece in _PIECES.split("|"):
        yield _part(_many(piece, 25_000))
        yield _html(b"<p>" + _many(piece, 6_000))
    flowed = b"text/plain; format=flowed; delsp=yes"
    yield _part(b"a" * 10_000_000)
    yield _part(b"a " * 5_000_000)
    yield _part(b"word\n" * 2_000_000)
    yield _part(b"=\n" * 50_000 + b"x", flowed)
    yield _part(b"a \n" * 100_000, flowed)
    yield _part(b">" * 60_000 + b" \n" * 50_000, flowed)


def _pages() -> Iterator[bytes]:
    for tag in _TAGS.split("|"):
        yield _html(_many(tag, 200_000))
    yield _html(b"<table><tr><td>" + b"x" * 100_000 + b"</td></tr>" + b"<tr><td>y</td></tr>" * 5_000)
    yield _html((b"<td>" + b"x" * 500 + b"</td><tr>") * 500)
    yield _html(b"<?xml version='1.0' encoding='utf-16'?><html>x</html>")
    yield _html(b"")


def _markup() -> Iterator[bytes]:
    def block(source: str) -> bytes:
        return _html(b'<script type="application/ld+json">' + source.encode("utf-8") + b"</script>")

    for value in (*_VALUES.split("|"), '"' + "9" * 60_000 + '"'):
        yield block(_INVOICE % (value, '"1"', '"EUR"'))
        yield block(_INVOICE % ('"2026-03-20"', value, '"EUR"'))
        yield block(_INVOICE % ('"2026-03-20"', '"1"', value))
        yield block(_FLIGHT % (value, value, value, value, value))
        yield block(f'{{"@type":{value},"@graph":{value},"subReservation":{value}}}')
    for source in (
        "[" * 100_000,
        '{"@graph":' * 20_000,
        '{"a":1,}',
        "{",
        "null",
        "[null]",
        '[{"@type":"Invoice"}]' * 2,
    ):
        yield block(source)


def _calendars(chance: random.Random) -> Iterator[bytes]:
    for step in range(0, len(_MEETING), 4):
        yield _part(_MEETING[:step], b"text/calendar; charset=utf-8; method=REQUEST")
    for value in (b"20261399", b"", b"99999999T999999Z", b"TZID=Nowhere:20260310T140000", b"00010101", b"-1", b"\xff"):
        yield _part(_MEETING.replace(b"20260310T140000Z", value), b"text/calendar")
        yield _part(_MEETING.replace(b"UID:1", b"SEQUENCE:" + value + b"\r\nUID:1"), b"text/calendar")
    yield _part(_MEETING.replace(b"UID:1", b"UID:" + b"1" * 100_000), b"text/calendar")
    yield _part(b"BEGIN:VCALENDAR\r\n" * 5_000, b"text/calendar")
    yield _part(b"BEGIN:VEVENT\r\nUID:1\r\nEND:VEVENT\r\n" * 3_000, b"text/calendar")
    for _ in range(30):
        yield _part(chance.randbytes(300), b"text/calendar")
