"""What ``events preview`` shows of a bank file."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from extractors.bankfile import connector
from extractors.connector import Context, Preview, PreviewOptions
from extractors.text import one_line

CONTEXT = Context("nora", "giro", ZoneInfo("Europe/Berlin"), datetime(2026, 4, 1, tzinfo=UTC))


def show(path: Path, text: str | bytes, options: PreviewOptions | None = None) -> Preview:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    found = connector.preview(path, CONTEXT, options or PreviewOptions(currency="EUR"))
    json.dumps(found.summary)
    return found


def test_nothing_is_stored_and_a_second_look_is_the_same(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    first = show(path, "Date,Payee,Amount\n2026-03-02,Cafe,-4.20\n2026-03-02,Cafe,-4.20\n")
    assert connector.preview(path, CONTEXT, PreviewOptions(currency="EUR")) == first
    assert (first.summary["transactions_count"], first.summary["sum"], first.summary["reimport_adds"]) == (
        2, "-8.40", 0,
    )  # fmt: skip
    assert [event.kind for event in first.events] == ["bank.posted", "bank.posted"]


def test_an_answer_settles_the_question(tmp_path: Path) -> None:
    text = "Date,Payee,Amount\n03/04/2026,Cafe,-4.20\n"
    asked = show(tmp_path / "x.csv", text)
    assert (asked.summary["result"], asked.summary["question"], asked.events) == ("needs_input", "date_order", [])
    assert asked.summary["transactions_if"] == {"DMY": ["2026-04-03"], "MDY": ["2026-03-04"]}
    told = show(tmp_path / "x.csv", text, PreviewOptions(currency="EUR", answers={"date_order": "MDY"}))
    assert told.summary["result"] == "ok"
    assert [item["booked"] for item in told.summary["transactions"]] == ["2026-03-04"]


def test_a_file_without_currency_shows_its_rows_and_asks(tmp_path: Path) -> None:
    asked = show(tmp_path / "x.csv", "Date,Payee,Amount\n2026-03-02,Cafe,-4.20\n", PreviewOptions())
    assert (asked.summary["result"], asked.summary["question"], asked.events) == ("needs_input", "currency", [])
    assert [(item["amount"], item["currency"]) for item in asked.summary["transactions"]] == [("-4.20", None)]


def test_several_accounts_have_their_own_figures(tmp_path: Path) -> None:
    text = "".join(
        f":20:X\n:25:{account}\n:28C:1\n:60F:C260301{currency}1,00\n:61:2603020302C2,00NMSC\n:62F:C260302{currency}3,00\n-\n"
        for account, currency in (("A1", "EUR"), ("B2", "USD"))
    )
    found = show(tmp_path / "x.sta", text).summary
    assert (found["opening"], found["closing"], found["sum"], found["consistent"]) == (None, None, None, True)
    assert [(each["account"], each["closing"], each["sum"]) for each in found["accounts"]] == [
        ("A1", "3.00", "2.00"),
        ("B2", "3.00", "2.00"),
    ]


def test_a_cut_file_is_shown_as_far_as_it_goes_and_said_to_be_cut(tmp_path: Path) -> None:
    text = ":20:X\n:25:A1\n:28C:1\n:60F:C260301EUR1,00\n:61:2603020302C2,00NMSC\n:61:2603020302C3,0"
    found = show(tmp_path / "x.sta", text)
    assert [rejected.code for rejected in found.rejected] == ["truncated"]
    assert [item["amount"] for item in found.summary["transactions"]] == ["2.00"]


def test_what_is_no_bank_file_or_no_file_is_rejected(tmp_path: Path) -> None:
    assert [r.code for r in show(tmp_path / "x.bin", b"\x00\x01" * 99).rejected] == ["unknown_format"]
    assert show(tmp_path / "x.bin", b"").summary["result"] == "rejected"
    assert [r.code for r in connector.preview(tmp_path / "none", CONTEXT, PreviewOptions()).rejected] == ["unreadable"]
    (tmp_path / "folder").mkdir()
    assert [r.code for r in connector.preview(tmp_path / "folder", CONTEXT, PreviewOptions()).rejected] == ["empty"]


def test_a_folder_is_shown_as_one(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("Date,Payee,Amount\n2026-03-02,Cafe,-4.20\n")
    found = connector.preview(tmp_path, CONTEXT, PreviewOptions(currency="EUR"))
    assert len(found.events) == 1


ROW = st.tuples(
    st.dates(datetime(2001, 1, 1).date(), datetime(2079, 12, 31).date()),  # noqa: DTZ001  # a bound of dates
    st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), min_size=1, max_size=30).filter(str.strip),
    st.integers(-10_000_000, 10_000_000).filter(bool),
)
STYLES = st.tuples(
    st.sampled_from([";", ",", "\t", "|"]),
    st.sampled_from(["%Y-%m-%d", "%d.%m.%Y", "%d.%m.%y", "%d %b %Y", "%Y%m%d"]),
    st.sampled_from([".", ","]),
    st.sampled_from(["", "'", "\u202f", "other"]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.sampled_from(
        [("Date", "Payee", "Amount"), ("Buchungstag", "Empfänger", "Betrag"), ("Fecha", "Beneficiario", "Importe")]
    ),
)


def written(cents: int, mark: str, grouper: str) -> str:
    grouper = ("," if mark == "." else ".") if grouper == "other" else grouper
    return f"{cents / 100:,.2f}".replace(",", "G").replace(".", mark).replace("G", grouper)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(ROW, min_size=1, max_size=8), style=STYLES)
def test_whatever_a_profile_writes_is_read_back(tmp_path: Path, rows: list[tuple], style: tuple) -> None:  # type: ignore[type-arg]
    delimiter, dates, mark, grouper, encoding, header = style
    lines = [header] + [(f"{day:{dates}}", name, written(cents, mark, grouper)) for day, name, cents in rows]
    quoted = (delimiter.join('"' + cell.replace('"', '""') + '"' for cell in line) for line in lines)
    found = show(tmp_path / "x.csv", ("\r\n".join(quoted) + "\r\n").encode(encoding))
    assert (found.rejected, found.questions) == ([], [])
    read = [(item["booked"], item["amount"]) for item in found.summary["transactions"]]
    assert read == [(day.isoformat(), f"{cents / 100:.2f}") for day, _, cents in rows]
    names = [item["counterparty"] for item in found.summary["transactions"]]
    assert names == [one_line(name, 200) for _, name, _ in rows]
