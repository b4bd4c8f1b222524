"""MT940 statements and the dialects of their two free-text fields."""

from __future__ import annotations

import pytest

from extractors.bank.row import Row, Statement
from extractors.bankfile.mt940_details import details
from extractors.bankfile.parsed import Given, Parsed, Refuse
from extractors.bankfile.reader import is_ours, read

HEAD = ":20:X\n:25:NL00TEST0123456789EUR\n:28C:5/1\n"


def parse(text: str, encoding: str = "utf-8") -> Parsed:
    raw = text.replace("\n", "\r\n").encode(encoding)
    assert is_ours(raw)
    return read(raw, "x.sta", Given())


def only(parsed: Parsed) -> Statement:
    assert parsed.rejected == []
    (statement,) = parsed.statements
    return statement


def row(line: str, said: str = "") -> Row:
    tail = f":86:{said}\n" if said else ""
    (found,) = only(parse(f"{HEAD}:60F:C260301EUR100,00\n:61:{line}\n{tail}:62F:C260304EUR1,00\n-\n")).rows
    return found


@pytest.mark.parametrize(
    ("line", "amount", "is_reversal"),
    [
        ("2603020302C10,00NMSCNONREF", "10.00 EUR", False),
        ("2603020302D10,00NMSCNONREF", "-10.00 EUR", False),
        ("2603020302RC10,00NMSCNONREF", "-10.00 EUR", True),
        ("2603020302RD10,00NMSCNONREF", "10.00 EUR", True),
        ("2603020302CR10,00NMSCNONREF", "10.00 EUR", False),
        ("2603020302DR10,00NMSCNONREF", "-10.00 EUR", False),
        ("2603020302RDR10,00NMSCNONREF", "10.00 EUR", True),
        ("2603020302D-10,00NMSCNONREF", "10.00 EUR", True),
        ("2603020302C10,NMSCNONREF", "10.00 EUR", False),
        ("2603020302C10,5NMSCNONREF", "10.50 EUR", False),
        ("2603020302C1.234,56NMSCNONREF", "1234.56 EUR", False),
        ("260302C10,00NMSCNONREF", "10.00 EUR", False),
        ("2603020302C10,00", "10.00 EUR", False),
    ],
)
def test_marks_and_amounts(line: str, amount: str, is_reversal: bool) -> None:
    found = row(line)
    assert (str(found.amount), found.reversal, str(found.booked_on)) == (amount, is_reversal, "2026-03-02")


@pytest.mark.parametrize(
    ("line", "value", "booked"),
    [
        ("2512310105C1,NMSC", "2025-12-31", "2026-01-05"),
        ("2601011230C1,NMSC", "2026-01-01", "2025-12-30"),
        ("2402280229C1,NMSC", "2024-02-28", "2024-02-29"),
        ("2602280301C1,NMSC", "2026-02-28", "2026-03-01"),
    ],
)
def test_the_booking_day_is_the_nearest_to_the_value_date(line: str, value: str, booked: str) -> None:
    found = row(line)
    assert (str(found.value_on), str(found.booked_on)) == (value, booked)


def test_references_and_the_supplementary_line() -> None:
    found = row("2603020302D92,13NCHGREF-1//BANK-77\n/OCMT/USD100,00/CHGS/EUR0,50/")
    assert (found.native_id, str(found.original)) == ("BANK-77", "-100.00 USD")
    assert row("2603020302D1,NCHGNONREF//NONREF").native_id == ""
    assert row("2603020302D1,NCHGNONREF\nCoffee to go").purpose == "Coffee to go"


def test_expected_bookings_are_pending() -> None:
    assert row("2603020302ED10,00NMSCNONREF").pending


def test_german_fields_join_without_a_space_across_their_cuts_and_line_ends() -> None:
    found = row(
        "2603020302D20,00N177NONREF",
        "177?00ONLINE-UEBERWEISUNG?109000?20SVWZ+Miete Maerz 20?2126 Wohnung 4?22EREF+M-20\n26-03?23MREF+MA-1?24"
        "CRED+DE98ZZZ?30TESTDEFFXXX?31DE00111122223333444455?32HAUSVERWALTUNG EXAM?33PLE GMBH?60 Ende",
    )
    assert found.counterparty == "HAUSVERWALTUNG EXAMPLE GMBH"
    assert found.counterparty_iban == "DE00111122223333444455"
    assert found.purpose == "Miete Maerz 2026 Wohnung 4"
    assert (found.end_to_end_id, found.mandate_id) == ("M-2026-03", "MA-1")
    assert found.booking_text == "ONLINE-UEBERWEISUNG"


@pytest.mark.parametrize("mark", ["?", "<", ">", "@", "~"])
def test_any_mark_may_part_the_german_fields(mark: str) -> None:
    found = details("105?00Lastschrift?20Strom?32Stadtwerke".replace("?", mark))
    assert (found.name, found.purpose, found.booking_text) == ("Stadtwerke", "Strom", "Lastschrift")


def test_dutch_codes_are_taken_apart() -> None:
    found = details("/TRTP/SEPA OVERBOEKING/IBAN/NL00TEST0000000001/BIC/TESTNL2A/NAME/ACME BV/REMI/Inv 77/EREF/E-9")
    assert (found.name, found.iban, found.purpose) == ("ACME BV", "NL00TEST0000000001", "Inv 77")
    assert found.end_to_end_id == "E-9"
    other = details("/EREF/E1//CNTP/NL00TEST0000000001/TESTNL2A/Jan Jansen///REMI/USTD//huur maart/")
    assert (other.name, other.iban, other.purpose) == ("Jan Jansen", "NL00TEST0000000001", "huur maart")


def test_plain_details_are_all_purpose() -> None:
    assert details("free text line one\nline two").purpose == "free text line one line two"
    assert details("x" * 65 + "\ny").purpose == "x" * 65 + "y"
    assert details("EREF: A1 SVWZ: Rent").purpose == "Rent"


def test_pages_make_one_statement_and_accounts_make_several() -> None:
    text = (
        f"{HEAD}:60F:C260301EUR100,00\n:61:2603020302D20,NMSC\n:62M:C260302EUR80,00\n-\n"
        f"{HEAD.replace('5/1', '5/2')}:60M:C260302EUR80,00\n:61:2603030303C5,NMSC\n:62F:C260303EUR85,00\n-\n"
        ":20:X\n:25:OTHER1\n:28C:5/1\n:60F:D260301USD1,00\n:62F:D260301USD1,00\n:86:thank you\n-\n"
    )
    found = parse(text).statements
    assert [(each.account, len(each.rows), str(each.opening), str(each.closing)) for each in found] == [
        ("NL00TEST0123456789", 2, "100.00 EUR", "85.00 EUR"),
        ("OTHER1", 0, "-1.00 USD", "-1.00 USD"),
    ]
    assert [each.consistent for each in found] == [True, True]


def test_envelopes_of_the_network_are_passed_over() -> None:
    text = "{1:F01TESTDEFFAXXX}{2:O9400000TESTDEFF}{4:\n" + f"{HEAD}:60F:C260301EUR1,\n:62F:C260301EUR1,\n-}}\n"
    assert str(only(parse(text)).closing) == "1.00 EUR"


def test_details_in_an_old_charset_are_read() -> None:
    text = f"{HEAD}:60F:C260301EUR1,\n:61:2603020302C1,NMSC\n:86:105?20Brötchen?32Müller\n:62F:C260302EUR2,\n-\n"
    assert only(parse(text, "cp1252")).rows[0].counterparty == "Müller"


def test_the_balances_decide_the_dialect_of_reversals() -> None:
    entries = ":61:2603020302D30,NTRF\n:61:2603020302RC30,NTRF\n"
    found = only(parse(f"{HEAD}:60F:C260301EUR100,\n{entries}:62F:C260304EUR100,\n-\n"))
    assert [str(each.amount) for each in found.rows] == ["-30.00 EUR", "30.00 EUR"]
    assert found.consistent is True


def test_rows_that_do_not_add_up_are_told() -> None:
    parsed = parse(f"{HEAD}:60F:C260301EUR100,\n:61:2603020302D30,NTRF\n:62F:C260304EUR71,\n-\n")
    assert parsed.statements[0].consistent is False
    assert any("do not add up" in warning for warning in parsed.warnings)


def test_a_bad_line_is_rejected_with_its_number() -> None:
    parsed = parse(f"{HEAD}:60F:C260301EUR100,\n:61:garbage\n:61:2602300230C1,NMSC\n:62F:C260304EUR71,\n-\n")
    assert [rejected.where for rejected in parsed.rejected] == ["x.sta:5", "x.sta:6"]


def test_a_cut_statement_is_known_and_its_last_line_is_not_believed() -> None:
    parsed = parse(f"{HEAD}:60F:C260301EUR100,\n:61:2603020302D30,00NTRF\n:61:2603020302D4")
    assert parsed.is_cut
    assert [str(each.amount) for each in parsed.statements[0].rows] == ["-30.00 EUR"]


def test_an_interim_report_without_balances_takes_its_currency_from_its_floor_limit() -> None:
    found = only(parse(":20:X\n:25:A1\n:28C:1\n:34F:EURD0,\n:13D:2603021200+0100\n:61:2603020302D30,00NTRF\n-\n"))
    assert [str(each.amount) for each in found.rows] == ["-30.00 EUR"]
    assert found.consistent is None


def test_a_report_that_names_no_currency_asks() -> None:
    parsed = parse(":20:X\n:25:A1\n:28C:1\n:61:2603020302D30,00NTRF\n-\n")
    assert [question.code for question in parsed.questions] == ["currency"]


def test_text_without_a_statement_is_refused() -> None:
    with pytest.raises(Refuse):
        read(b":20\n:25\n", "x.sta", Given())
