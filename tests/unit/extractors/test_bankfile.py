"""The bankfile connector: the contract of all connectors, and what a watched folder asks beside."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from extractors.bankfile import BankFile, connector
from extractors.bankfile import folder as folder_module
from extractors.bankfile import poll as poll_module
from extractors.bankfile.config import BankFileConfig
from extractors.connector import Connector, Page, PreviewOptions
from extractors.testing import START, ConnectorContract, Poll, context_for, events_of, poll, records_of
from extractors.testing.faults import FaultyFiles, fault_machine
from schemas.errors import AuthError, CursorExpired, TransientError
from schemas.event import Event
from schemas.model import Json
from schemas.payloads import BankPayload

CSV_HEAD = "Date,Payee,Memo,Amount,Currency,Status\n"


def entry(reference: str, amount: str, day: int, text: str, status: str = "BOOK") -> str:
    return (
        f'<Ntry><Amt Ccy="EUR">{amount}</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts>{status}</Sts>'
        f"<BookgDt><Dt>2026-02-{day:02}</Dt></BookgDt><AcctSvcrRef>{reference}</AcctSvcrRef><NtryDtls><TxDtls>"
        f"<Refs><EndToEndId>E2E-{reference[:9]}</EndToEndId></Refs><RltdPties><Cdtr><Nm>Shop {day}</Nm></Cdtr>"
        f"</RltdPties><RmtInf><Ustrd>{text}</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>"
    )


def camt(*entries: str) -> str:
    return (
        '<?xml version="1.0"?><Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.052.001.08"><BkToCstmrAcctRpt><Rpt>'
        "<Id>R</Id><Acct><Id><IBAN>DE00TEST0000000001</IBAN></Id><Ccy>EUR</Ccy></Acct>"
        f"{''.join(entries)}</Rpt></BkToCstmrAcctRpt></Document>\n"
    )


class CamtFolder:
    """Reports in a folder, one for each day; the first shows a pending row too."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "exports"
        self.config = BankFileConfig(path=str(self.folder))
        self._days = 0

    def write(self, name: str, text: str) -> None:
        self.folder.mkdir(exist_ok=True)
        (self.folder / name).write_text(text, "utf-8")

    def add(self) -> None:
        self._days += 1
        day = self._days
        rows = [entry(f"REF2026{day:02}{i}X", f"{day}.5{i}", day, f"Purchase {i}") for i in range(3)]
        pending = [entry("PEND12026A", "45.00", 1, "Hotel", "PDNG")] if day == 1 else []
        self.write(f"report-{day:02}.xml", camt(*pending, *rows))

    def change(self) -> None:
        self.write("report-x1.xml", camt(entry("PEND12026A", "45.00", 1, "Hotel Bellevue", "PDNG")))

    def remove(self) -> None:
        self.write("report-x2.xml", camt(entry("PEND12026B", "47.00", 3, "Hotel")))

    def poison(self) -> None:
        self.write("junk.ofx", "OFXHEADER:100\n\nnothing")

    def breakages(self) -> Mapping[str, Callable[[], None]]:
        return {
            "empty": self._empty,
            "truncated": self._truncate,
            "unreadable": self._make_unreadable,
            "unmounted": self._unmount,
        }

    def _empty(self) -> None:
        for path in self.folder.iterdir():
            path.unlink()

    def _truncate(self) -> None:
        for path in self.folder.iterdir():
            path.write_bytes(path.read_bytes()[:-100])

    def _unmount(self) -> None:
        self.folder.rename(self.folder.with_name("elsewhere"))

    def _make_unreadable(self) -> None:
        """A loop of links: unlike a mode, it keeps even root out."""
        self._unmount()
        self.folder.symlink_to(self.folder)

    def fingerprint(self) -> Json:
        stats = [(path, path.stat()) for path in sorted(self.folder.iterdir())]
        return [[p.name, p.read_bytes().hex(), s.st_mtime_ns, s.st_mode] for p, s in stats]


class TestBankFileConnector(ConnectorContract):
    connector: Connector = BankFile(page_rows=2)

    def source(self, folder: Path) -> CamtFolder:
        return CamtFolder(folder)


TestFolderUnderFaults = fault_machine(lambda: FaultyFiles(CamtFolder), BankFile(page_rows=2)).TestCase


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "bank"
    path.mkdir()
    return path


def pull(folder: Path, cursor: Json = None, days: int = 0, **settings: object) -> Poll:
    config = BankFileConfig.model_validate({"path": str(folder), **settings})
    return poll(connector, config, cursor, context_for(START + timedelta(days=days)))


def events(result: Poll) -> list[Event]:
    found, poison = events_of(
        connector, records_of(connector, [*result.upserts, *result.deletes], context_for()), context_for()
    )
    assert poison == []
    return found


def moved(found: list[Event]) -> Iterator[tuple[str, BankPayload]]:
    for event in found:
        if isinstance(event.payload, BankPayload):
            yield event.kind, event.payload


def test_a_booked_row_replaces_its_pending_row_and_keeps_its_matter(folder: Path) -> None:
    (folder / "1.csv").write_text(CSV_HEAD + "2026-02-02,Hotel Bellevue,,-45.00,EUR,pending\n")
    first = pull(folder)
    (folder / "2.csv").write_text(CSV_HEAD + "2026-02-04,HOTEL BELLEVUE 0423 LISBOA,,-45.00,EUR,booked\n")
    second = pull(folder, first.cursor)
    (pending,), (posted, removed) = events(first), events(second)
    assert (pending.kind, posted.kind, removed.kind) == ("bank.pending", "bank.posted", "bank.removed")
    assert isinstance(posted.payload, BankPayload)
    assert posted.payload.replaces == pending.subject == removed.subject
    assert posted.subject != pending.subject
    assert pending.matter == posted.matter == removed.matter
    assert removed.op == "retract"


def test_a_pending_row_that_turns_up_after_its_booking_is_old_news(folder: Path) -> None:
    (folder / "2.csv").write_text(CSV_HEAD + "2026-02-04,Hotel,,-45.00,EUR,booked\n")
    first = pull(folder)
    (folder / "1.csv").write_text(CSV_HEAD + "2026-02-02,Hotel,,-45.00,EUR,pending\n")
    second = pull(folder, first.cursor)
    assert [event.kind for event in events(first)] == ["bank.posted"]
    assert second.upserts == second.deletes == []


def test_a_second_coffee_does_not_settle_the_first_while_that_is_still_pending(folder: Path) -> None:
    (folder / "1.csv").write_text(CSV_HEAD + "2026-02-02,Cafe,,-4.20,EUR,pending\n")
    first = pull(folder)
    both = "2026-02-02,Cafe,,-4.20,EUR,pending\n2026-02-02,Cafe,,-4.20,EUR,booked\n"
    (folder / "2.csv").write_text(CSV_HEAD + both)
    second = pull(folder, first.cursor)
    assert [event.kind for event in events(second)] == ["bank.posted"]


def test_overlapping_files_in_either_order_give_the_same_events(folder: Path, tmp_path: Path) -> None:
    rows = [f"2026-02-{day:02},Cafe,,-4.20,EUR,booked\n" for day in (1, 1, 2, 3, 3, 3)]
    parts = {"a.csv": rows[:3], "b.csv": rows[2:], "c.csv": rows}
    seen = []
    for names in (("a.csv", "b.csv", "c.csv"), ("c.csv", "b.csv", "a.csv"), ("b.csv", "a.csv")):
        cursor, found = None, set()
        for name in names:
            place = tmp_path / "-".join(names)
            place.mkdir(exist_ok=True)
            (place / name).write_text(CSV_HEAD + "".join(parts[name]))
            result = pull(place, cursor)
            cursor = result.cursor
            found |= {event.id for event in events(result)}
        seen.append(found)
    assert seen[0] == seen[1] == seen[2]
    assert len(seen[0]) == 6


def test_a_copy_under_another_name_is_not_read_again(folder: Path) -> None:
    (folder / "junk.xml").write_text("<html>sorry</html>")
    first = pull(folder)
    assert [rejected.code for rejected in first.rejected] == ["unknown_format"]
    (folder / "junk (1).xml").write_text("<html>sorry</html>")
    assert pull(folder, first.cursor).rejected == []


def test_an_ambiguous_file_waits_for_the_answer_of_the_account(folder: Path) -> None:
    (folder / "1.csv").write_text("Date,Payee,Amount\n03/04/2026,Alpha,-5.00\n", "utf-8")
    first = pull(folder, currency="EUR")
    second = pull(folder, first.cursor, currency="EUR")
    assert [q.code for page in second.pages for q in page.questions] == ["date_order"]
    assert first.upserts == second.upserts == []
    answered = pull(folder, second.cursor, currency="EUR", answers={"date_order": "DMY"})
    assert [payload.booked_on and payload.booked_on.isoformat() for _, payload in moved(events(answered))] == [
        "2026-04-03"
    ]
    assert pull(folder, answered.cursor, currency="EUR", answers={"date_order": "DMY"}).upserts == []


def test_what_one_file_of_a_bank_proves_is_believed_of_the_next(folder: Path) -> None:
    (folder / "1.csv").write_text("Date,Payee,Amount\n13/04/2026,Alpha,-5.00\n", "utf-8")
    first = pull(folder, currency="EUR")
    (folder / "2.csv").write_text("Date,Payee,Amount\n03/05/2026,Beta,-6.00\n", "utf-8")
    second = pull(folder, first.cursor, currency="EUR")
    assert [str(payload.booked_on) for _, payload in moved(events(second))] == ["2026-05-03"]


def test_a_file_without_a_last_line_end_waits_until_it_has_stopped_growing(folder: Path) -> None:
    path = folder / "1.csv"
    path.write_text(CSV_HEAD + "2026-02-02,Cafe,,-4.20,EUR,booked")
    first = pull(folder)
    path.write_text(CSV_HEAD + "2026-02-02,Cafe,,-4.20,EUR,booked\n2026-02-03,Bar,,-5.00,EUR,bo")
    second = pull(folder, first.cursor)
    third = pull(folder, second.cursor)
    assert (len(first.upserts), len(second.upserts), len(third.upserts)) == (0, 0, 2)
    assert all("1.csv" in warning for warning in first.warnings + second.warnings)


def test_a_known_file_that_lost_its_end_changes_nothing(folder: Path) -> None:
    path = folder / "1.csv"
    path.write_text(CSV_HEAD + "2026-02-02,Cafe,,-4.20,EUR,booked\n2026-02-03,Bar,,-5.99,EUR,booked\n")
    first = pull(folder)
    whole = path.read_bytes()
    for left in (len(whole) - 16, len(whole) // 2, 20, 3, 0):
        path.write_bytes(whole[:left])
        broken = pull(folder, pull(folder, first.cursor).cursor)
        assert broken.upserts == broken.deletes == broken.rejected == []
        assert broken.cursor == first.cursor
        assert broken.warnings


def test_a_file_that_grows_gives_its_new_rows_only(folder: Path) -> None:
    path = folder / "1.csv"
    path.write_text(CSV_HEAD + "2026-02-02,Cafe,,-4.20,EUR,booked\n")
    first = pull(folder)
    path.write_text(CSV_HEAD + "2026-02-02,Cafe,,-4.20,EUR,booked\n2026-02-02,Cafe,,-4.20,EUR,booked\n")
    second = pull(folder, first.cursor)
    assert len(second.upserts) == 1
    assert second.upserts[0].native_id != first.upserts[0].native_id


def test_one_file_can_be_watched_instead_of_a_folder(folder: Path) -> None:
    path = folder / "1.csv"
    path.write_text(CSV_HEAD + "2026-02-02,Cafe,,-4.20,EUR,booked\n")
    assert len(pull(path).upserts) == 1


def test_hidden_unfinished_and_linked_files_are_left_alone(folder: Path, tmp_path: Path) -> None:
    text = CSV_HEAD + "2026-02-02,Cafe,,-4.20,EUR,booked\n"
    outside = tmp_path / "outside.csv"
    outside.write_text(text)
    for name in (".hidden.csv", "a.csv.part", "b.crdownload", "c.csv~"):
        (folder / name).write_text(text)
    (folder / "link.csv").symlink_to(outside)
    (folder / "sub").mkdir()
    os.mkfifo(folder / "pipe.csv")
    assert pull(folder).upserts == []


def test_a_hostile_file_name_does_no_harm(folder: Path) -> None:
    name = os.fsencode(folder) + b"/\xff\xfe\n\x1b[31m{}.csv"
    with open(name, "wb") as stream:
        stream.write(b"<html>")
    result = pull(folder)
    assert result.rejected[0].where.isprintable()
    json.dumps(result.cursor).encode("utf-8")


def test_reading_leaves_no_access_time_behind(folder: Path) -> None:
    path = folder / "1.csv"
    path.write_text(CSV_HEAD + "2026-02-02,Cafe,,-4.20,EUR,booked\n")
    os.utime(path, (1_000_000_000, 1_000_000_000))
    assert len(pull(folder).upserts) == 1
    assert path.stat().st_atime == 1_000_000_000


def test_a_missing_folder_is_a_mistake_at_first_and_a_missing_drive_later(folder: Path) -> None:
    (folder / "1.csv").write_text(CSV_HEAD + "2026-02-02,Cafe,,-4.20,EUR,booked\n")
    first = pull(folder)
    folder.rename(folder.with_name("gone"))
    assert isinstance(pull(folder).error, AuthError)
    later = pull(folder, first.cursor)
    assert isinstance(later.error, TransientError)
    assert "mount" in str(later.error)


@pytest.mark.parametrize(
    "cursor", [{"v": 0}, [], "x", {"v": 1}, {"v": 1, "files": {}, "orders": {}, "book": {"rows": "?"}}]
)
def test_a_cursor_that_is_not_ours_asks_for_a_full_listing(folder: Path, cursor: Json) -> None:
    """As the service does it: CursorExpired, and everything from the beginning."""
    (folder / "1.csv").write_text(CSV_HEAD + "2026-02-02,Cafe,,-4.20,EUR,booked\n")
    again = pull(folder, cursor)
    assert again.upserts
    assert again == pull(folder)
    with pytest.raises(CursorExpired):
        asyncio.run(first_page(folder, cursor))


async def first_page(folder: Path, cursor: Json) -> Page:
    return await anext(connector.pull(BankFileConfig(path=str(folder)), cursor, context_for()))


def test_a_forgotten_cursor_gives_the_same_records_again(folder: Path) -> None:
    (folder / "1.csv").write_text(CSV_HEAD + "2026-02-02,Cafe,,-4.20,EUR,booked\n")
    (folder / "2.csv").write_text(CSV_HEAD + "2026-02-03,Bar,,-5.20,EUR,booked\n")
    first, again = pull(folder), pull(folder)
    assert first.upserts == again.upserts


def test_signs_can_be_turned_for_a_bank_that_writes_spending_as_positive(folder: Path) -> None:
    (folder / "1.csv").write_text(CSV_HEAD + "2026-02-02,Cafe,,4.20,EUR,booked\n")
    (event,) = events(pull(folder, signs="turned"))
    assert str(event.amount) == "-4.20 EUR"


def test_files_and_folders_are_known_by_what_is_in_them(folder: Path) -> None:
    (folder / "any.name").write_text(CSV_HEAD + "2026-02-02,Cafe,,-4.20,EUR,booked\n")
    assert connector.sniff(folder)
    assert connector.sniff(folder / "any.name")
    others = {
        "mail.eml": "From: a@b\nDate: Mon, 2 Mar 2026 10:00:00 +0000\nSubject: Amount, due\n\nText\n",
        "cal.ics": "BEGIN:VCALENDAR\nVERSION:2.0\nEND:VCALENDAR\n",
        "other.csv": "name,age\nx,1\n",
        "page.xml": "<feed><entry/></feed>",
    }
    for name, text in others.items():
        path = folder / name
        path.write_text(text)
        assert not connector.sniff(path), name
    assert not connector.sniff(folder / "missing")


def test_an_empty_or_changing_or_unreadable_file_waits_and_the_others_are_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = CSV_HEAD + "2026-02-02,Cafe,,-4.20,EUR,booked\n"
    for name in ("changing.csv", "good.csv", "locked.csv"):
        (folder / name).write_text(rows.replace("Cafe", name))
    (folder / "empty.csv").write_text("")

    def content(found: folder_module.Found) -> bytes | None:
        if found.name == "locked.csv":
            raise PermissionError(13, "Permission denied")
        return None if found.name == "changing.csv" else folder_module.content(found)

    with monkeypatch.context() as patched:
        patched.setattr(poll_module, "content", content)
        first = pull(folder)
    assert [event.title for event in events(first)] == ["good.csv"]
    assert (len(first.warnings), first.rejected) == (3, [])
    second = pull(folder, first.cursor)
    assert {event.title for event in events(second)} == {"changing.csv", "locked.csv"}


def test_a_file_beyond_the_limit_is_rejected_unread_and_once(folder: Path) -> None:
    with (folder / "huge.csv").open("wb") as stream:
        stream.truncate(33 * 2**20)
    first = pull(folder)
    assert [rejected.code for rejected in first.rejected] == ["too_large"]
    assert pull(folder, first.cursor).rejected == []
    preview = connector.preview(folder / "huge.csv", context_for(), PreviewOptions())
    assert [rejected.code for rejected in preview.rejected] == ["too_large"]


def test_many_large_files_are_not_held_in_memory_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for day in (3, 1, 2):
        (folder / f"{9 - day}.csv").write_text(CSV_HEAD + f"2026-02-0{day},Shop {day},,-4.20,EUR,booked\n")
    assert [event.title for event in events(pull(folder))] == ["Shop 1", "Shop 2", "Shop 3"], "oldest first"
    monkeypatch.setattr(poll_module, "BATCH_BYTES", 1)
    assert [event.title for event in events(pull(folder))] == ["Shop 3", "Shop 2", "Shop 1"], "by name, one by one"


def test_signs_that_the_balances_prove_are_not_turned(folder: Path) -> None:
    text = "Date,Payee,Amount,Balance,Currency\n2026-02-02,A,-1.00,9.00,EUR\n2026-02-03,B,-2.00,7.00,EUR\n"
    (folder / "1.csv").write_text(text)
    found = [event for event in events(pull(folder, signs="turned")) if event.kind == "bank.posted"]
    assert [str(event.amount) for event in found] == ["-1.00 EUR", "-2.00 EUR"]


def test_a_path_must_be_one() -> None:
    for path in ("", "a\x00b"):
        with pytest.raises(ValidationError):
            BankFileConfig(path=path)
    with pytest.raises(ValidationError):
        BankFileConfig.model_validate({"path": "/x", "pasword": "secret"})


def test_polling_an_empty_folder_writes_its_cursor_once(folder: Path) -> None:
    first = pull(folder)
    assert first.cursor is not None
    assert pull(folder, first.cursor).pages[-1].next_cursor is None
