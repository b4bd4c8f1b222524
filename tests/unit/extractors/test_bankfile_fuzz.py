"""Malformed and hostile bank files end as events, questions or rejections with a reason, never as an exception."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from extractors.bankfile import connector
from extractors.bankfile.config import BankFileConfig
from extractors.connector import Context, PreviewOptions
from extractors.testing import events_of, poll, records_of
from schemas.event import Event
from tests.scale import scaled

CASES = Path(__file__).parents[2] / "cases" / "bank"
CONTEXT = Context("nora", "giro", ZoneInfo("Europe/Berlin"), datetime(2026, 4, 1, tzinfo=UTC))
OPTIONS = PreviewOptions(currency="EUR", answers={"date_order": "DMY"})
SAMPLES = ("b0", "b1", "b21", "b23", "b26", "b30", "b40")
"""Cases of different structures: each is damaged a hundredfold, and what only differs in its words breaks alike."""
SUFFIXES = (".ofx", ".qif", ".sta", ".xml", ".csv")
GOOD = {p.name: p.read_bytes() for p in sorted(CASES.iterdir()) if p.suffix in SUFFIXES and p.stem.startswith(SAMPLES)}
ROW = b"2026-03-02,Cafe,-4.20\n"
TABLE = b"Date,Payee,Amount\n"
ENTRY = b'<Ntry><Amt Ccy="EUR">1</Amt><CdtDbtInd>CRDT</CdtDbtInd><BookgDt><Dt>2026-03-02</Dt></BookgDt></Ntry>'
CAMT = b"<Document><BkToCstmrStmt><Stmt><Id>1</Id>%s</Stmt></BkToCstmrStmt></Document>"
SPLICES = (
    b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"<", b"</", b"&", b"]]>", b"<![CDATA[", b"<!--", b":61:", b":86:",
    b"-}", b"{4:", b";", b"\t", b"\r", b"\n\n\n", b"9" * 40, b"-", b"1e999", b"NaN", b"Infinity", b"<STMTTRN>",
    b"</STMTTRN>", b"<OFX>", b"<Ntry>", b"</Ntry>", b"?20", b"99999999", b"00000000", b"\xe2\x80\x8f", b"\xc3",
    b"../../etc/passwd", b"%s%n",
)  # fmt: skip


def truncated() -> Iterator[bytes]:
    for raw in GOOD.values():
        yield from (raw[: len(raw) * part // 24] for part in range(24))


def mutated(count: int) -> Iterator[bytes]:
    rng = random.Random(20260302)
    names = sorted(GOOD)
    for _ in range(count):
        raw = bytearray(GOOD[rng.choice(names)])
        for _ in range(rng.randint(1, 12)):
            at = rng.randrange(len(raw) + 1)
            match rng.randrange(4):
                case 0:
                    raw[at : at + 1] = bytes([rng.randrange(256)])
                case 1:
                    del raw[at : at + rng.randint(1, 40)]
                case 2:
                    raw[at:at] = rng.choice(SPLICES)
                case _:
                    piece = raw[at : at + rng.randint(1, 200)]
                    raw[at:at] = piece * rng.randint(1, 3)
        yield bytes(raw)


def recoded() -> Iterator[bytes]:
    for raw in GOOD.values():
        text = raw.decode("cp1252")
        for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "cp037", "cp437"):
            yield text.encode(encoding, "replace")
        yield raw.replace(b"\n", b"\r")
        yield raw.replace(b"\n", b"")
        yield raw.replace(b" ", b"\x00")
        yield raw[::-1]


def hostile() -> Iterator[bytes]:
    lol = b'<!ENTITY a "aaaaaaaaaa">' + b"".join(
        b'<!ENTITY %c "%s">' % (98 + i, b"&%c;" % (97 + i) * 10) for i in range(12)
    )
    yield b'<?xml version="1.0"?><!DOCTYPE x [' + lol + b"]>" + CAMT % b"&m;"
    yield b'<?xml version="1.0"?><!DOCTYPE x SYSTEM "file:///etc/passwd">' + CAMT % ENTRY
    yield b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>' + CAMT % b"<Ntry>&e;</Ntry>"
    yield CAMT % (b"<a>" * 1000 + b"</a>" * 1000)
    yield CAMT % (b"<Ntry>" * 1000 + b"</Ntry>" * 1000)
    yield b"<Document>" * 1000 + b"BkToCstmr"
    yield CAMT % ENTRY.replace(b">1<", b">" + b"1" * 100_000 + b"<")
    yield CAMT % ENTRY.replace(b"CRDT", b"C" * 1_000_000)
    yield CAMT % (ENTRY * 1_500)
    for nested in (b"<OFX>", b"<BANKMSGSRSV1><STMTTRNRS>", b"<STMTTRN>", b"<A>", b"<STMTRS><CURDEF>EUR"):
        yield b"OFXHEADER:100\n\n<OFX>" + nested * 1000
    yield b"OFXHEADER:100\n\n<OFX>" + b"<" * 1_000_000
    yield b"OFXHEADER:100\n\n<OFX>" + b"<![CDATA[" * 100_000
    yield b"OFXHEADER:100\n\n<OFX>" + b"<!--" * 200_000
    yield b"OFXHEADER:100\n\n<OFX>" + b"&" * 1_000_000
    yield GOOD["b01_ofx_decimal_styles.ofx"].replace(b"Cafe", b"x" * 1_000_000)
    yield GOOD["b01_ofx_decimal_styles.ofx"].replace(b"-12.80", b"-" + b"1" * 100_000)
    for long in (b"x" * 1_000_000, b"?20" * 300_000, b"/" * 1_000_000, b"EREF+" * 200_000, b"\n" * 500_000):
        yield GOOD["b07_mt940_multipage_86.sta"].replace(b"GUTSCHRIFT", long)
    yield b":20:X\n" * 20_000
    yield b":20:X\n:25:1\n:60F:C260301EUR1,\n" + b":61:2603020302C1,NTRF\n" * 1_500
    yield b":61:" + b"2" * 1_000_000
    yield TABLE + ROW * 1_500
    yield TABLE + b"2026-03-02,Cafe,x\n" * 2_000
    yield TABLE + b"x" * 1_000_000
    yield TABLE + b'2026-03-02,"' + b"never closed\n" * 50_000
    yield TABLE + b"," * 1_000_000
    yield b"Date,Amount" * 100_000 + b"\n"
    yield b'"' * 1_000_000
    yield b"\n" * 1_000_000
    yield b";" * 1_000_000 + b"\n" + TABLE + ROW
    yield TABLE + b"2026-03-02,Cafe," + b"9" * 100_000 + b"\n"
    yield TABLE + b"2026-03-02,Cafe,1" + b"'000" * 100_000 + b"\n"
    yield TABLE + b"2026-03-02," + b"<script>alert(1)</script>=cmd|' /C calc'!A0" + b",-1.00\n"
    yield b"PK\x03\x04" + bytes(1000)
    yield b"%PDF-1.7"
    yield bytes(1_000_000)
    yield bytes(range(256)) * 400
    yield b""
    yield b" \n"
    yield b"\xef\xbb\xbf"


INPUTS = [*truncated(), *recoded(), *hostile(), *mutated(scaled(1_400, 4_800))]


def outcome(path: Path, raw: bytes) -> list[Event]:
    path.write_bytes(raw)
    connector.sniff(path)
    preview = connector.preview(path, CONTEXT, OPTIONS)
    told = preview.events or preview.questions or preview.rejected or preview.warnings or preview.summary["statements"]
    assert told, raw[:200]
    for rejected in preview.rejected:
        assert rejected.code, raw[:200]
        assert rejected.reason, raw[:200]
        assert rejected.where, raw[:200]
        assert len(rejected.raw) <= 500
    return list(preview.events)


def test_there_are_enough_of_them() -> None:
    assert len(INPUTS) >= scaled(1_700, 5_000)


@pytest.mark.parametrize("part", range(8))
def test_each_becomes_events_or_a_reason(part: int, tmp_path: Path) -> None:
    found = [event for raw in INPUTS[part::8] for event in outcome(tmp_path / "input", raw)]
    assert found, "not even the lightly damaged files were read"
    assert all(abs(event.amount.amount) < 10**18 for event in found if event.amount)


def test_a_folder_full_of_them_is_polled_to_the_end(tmp_path: Path) -> None:
    chosen = INPUTS[::9]
    for number, raw in enumerate(chosen):
        (tmp_path / f"{number:04}").write_bytes(raw)
    (tmp_path / "zz.csv").write_bytes(TABLE + ROW)
    config = BankFileConfig(path=str(tmp_path), currency="EUR", answers={"date_order": "DMY"})
    result = poll(connector, config, None, CONTEXT)
    events, poison = events_of(connector, records_of(connector, [*result.upserts, *result.deletes], CONTEXT), CONTEXT)
    assert (result.error, poison) == (None, [])
    assert result.pages[-1].complete
    assert "Cafe" in {event.title for event in events}
    assert result.rejected


CHILD = """
import resource, sys
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo
from extractors.bankfile import connector
from extractors.connector import Context, PreviewOptions
context = Context("nora", "giro", ZoneInfo("UTC"), datetime(2026, 4, 1, tzinfo=UTC))
used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
limit = used + 200 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
for path in sorted(Path(sys.argv[1]).iterdir()):
    connector.preview(path, context, PreviewOptions(currency="EUR"))
    print(path.name)
"""


def test_no_bomb_takes_more_than_200_mb(tmp_path: Path) -> None:
    """In a process of its own, whose memory ends there."""
    bombs = list(hostile())
    for number, raw in enumerate(bombs):
        (tmp_path / f"{number:03}").write_bytes(raw)
    command = [sys.executable, "-c", CHILD, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-500:]
    assert len(done.stdout.split()) == len(bombs)
