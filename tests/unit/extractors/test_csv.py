"""CSV exports of banks: the profile that the data prove, and what is asked when they do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from extractors.bank.row import Row, Statement
from extractors.bankfile.csvdates import cell, proven
from extractors.bankfile.header import columns
from extractors.bankfile.parsed import Given, Parsed, Refuse
from extractors.bankfile.reader import is_ours, read

BASIC = "Date,Payee,Amount\n"


def parse(
    text: str, encoding: str = "utf-8", currency: str | None = "EUR", answers: Mapping[str, str] | None = None
) -> Parsed:
    return read(text.encode(encoding), "x.csv", Given(currency, answers=answers or {}))


def only(parsed: Parsed) -> Statement:
    assert parsed.rejected == []
    assert parsed.questions == []
    (statement,) = parsed.statements
    return statement


def rows(text: str, **more: Any) -> tuple[Row, ...]:
    return only(parse(text, **more)).rows


def amounts(found: Sequence[Row]) -> list[str]:
    return [str(row.amount) for row in found]


@pytest.mark.parametrize("delimiter", [";", ",", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252"])
def test_delimiter_and_charset_are_found(delimiter: str, encoding: str) -> None:
    lines = [["Date", "Payee", "Amount"], ["2026-03-02", "Bäckerei Müller", "-4.20"]]
    found = rows("".join(delimiter.join(line) + "\r\n" for line in lines), encoding=encoding)
    assert [(row.counterparty, str(row.amount)) for row in found] == [("Bäckerei Müller", "-4.20 EUR")]


@pytest.mark.parametrize(
    ("heading", "language"),
    [
        ("Date,Description,Amount", "en"),
        ("Buchungstag,Verwendungszweck,Betrag", "de"),
        ("Date opération,Libellé,Montant", "fr"),
        ("Fecha operación,Concepto,Importe", "es"),
    ],
)
def test_headings_in_four_languages_are_known(heading: str, language: str) -> None:
    found = columns(heading.split(","))
    assert found.is_usable
    assert found.language == language


@pytest.mark.parametrize(
    ("written", "amount"),
    [
        ("-1,234.56", "-1234.56"),
        ("-1.234,56", "-1234.56"),
        ("1.234,56-", "-1234.56"),
        ("(1,234.56)", "-1234.56"),
        ("-1\u202f234,56", "-1234.56"),
        ("-1\u00a0234,56 €", "-1234.56"),
        ("-1'234.56", "-1234.56"),
        ("CHF -1’234.56", "-1234.56"),
        ("−1234.56", "-1234.56"),
        ("1,234.56 DR", "-1234.56"),
        ("1,234.56CR", "1234.56"),
        ("+1234.56", "1234.56"),
        ("-$1,234.56", "-1234.56"),
        ("-1,00,234.56", "-100234.56"),
        ('="-1234.56"', "-1234.56"),
        ("-1.234", "-1234.00"),
        ("-.50", "-0.50"),
    ],
)
def test_amounts_are_read_as_they_are_written(written: str, amount: str) -> None:
    (row,) = rows(f"Date;Payee;Amount\n2026-03-02;X;{written}\n")
    assert f"{row.amount.amount:f}" == amount


@pytest.mark.parametrize(
    ("currency", "written", "amount"),
    [("JPY", "-1,500", "-1500 JPY"), ("KWD", "-1.500", "-1.500 KWD"), ("EUR", "-1,500", "-1500.00 EUR")],
)
def test_three_digits_behind_a_mark_are_read_by_the_currency(currency: str, written: str, amount: str) -> None:
    assert amounts(rows(f'{BASIC}2026-03-02,X,"{written}"\n', currency=currency)) == [amount]


def test_one_clear_amount_settles_the_decimal_mark_of_all() -> None:
    found = rows("Datum;Empfänger;Betrag\n02.03.2026;A;-1.500\n02.03.2026;B;-2,50\n")
    assert amounts(found) == ["-1500.00 EUR", "-2.50 EUR"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Date;Payee;Soll;Haben\n2026-03-02;A;5,00;\n2026-03-02;B;;7,00\n", ["-5.00 EUR", "7.00 EUR"]),
        ("Date;Libellé;Débit;Crédit\n2026-03-02;A;-5,00;\n2026-03-02;B;;7,00\n", ["-5.00 EUR", "7.00 EUR"]),
        ("Fecha;Concepto;Cargo;Abono\n2026-03-02;A;5,00;0,00\n2026-03-02;B;0,00;7,00\n", ["-5.00 EUR", "7.00 EUR"]),
        ("Date,Payee,Debit,Credit\n2026-03-02,A,5.00,\n2026-03-02,B,(7.00),\n", ["-5.00 EUR", "7.00 EUR"]),
        ("Datum;Empfänger;Betrag;Soll/Haben\n2026-03-02;A;5,00;S\n2026-03-02;B;7,00;H\n", ["-5.00 EUR", "7.00 EUR"]),
        ("Date,Payee,Amount,Sign\n2026-03-02,A,5.00,-\n2026-03-02,B,7.00,+\n", ["-5.00 EUR", "7.00 EUR"]),
        ("Date,Payee,Type,Amount\n2026-03-02,A,Debit,5.00\n2026-03-02,B,Credit,7.00\n", ["-5.00 EUR", "7.00 EUR"]),
        ("Date,Payee,Amount,DR/CR\n2026-03-02,A,-5.00,DR\n2026-03-02,B,7.00,CR\n", ["-5.00 EUR", "7.00 EUR"]),
        ("Date,Payee,Gross,Fee,Net\n2026-03-02,A,10.00,-0.50,9.50\n", ["9.50 EUR"]),
    ],
)
def test_the_direction_may_stand_in_other_columns(text: str, expected: list[str]) -> None:
    assert amounts(rows(text)) == expected


@pytest.mark.parametrize("newest_first", [False, True])
def test_a_running_balance_confirms_either_order(newest_first: bool) -> None:
    lines = ["2026-03-02,A,-10.00,90.00\n", "2026-03-03,B,20.00,110.00\n", "2026-03-03,C,-5.00,105.00\n"]
    statement = only(parse("Date,Payee,Amount,Balance\n" + "".join(reversed(lines) if newest_first else lines)))
    assert (str(statement.opening), str(statement.closing), statement.consistent) == ("100.00 EUR", "105.00 EUR", True)
    assert str(statement.closing_on) == "2026-03-03"


def test_a_running_balance_turns_signs_and_takes_fees_off() -> None:
    card = only(parse("Date,Payee,Amount,Balance\n2026-03-02,A,20.00,-20.00\n2026-03-03,B,30.00,-50.00\n"))
    assert amounts(card.rows) == ["-20.00 EUR", "-30.00 EUR"]
    head = "Date,Payee,Amount,Fee,Balance\n"
    fees = only(parse(f"{head}2026-03-02,A,-20.00,0,80.00\n2026-03-03,B,-30.00,1.00,49.00\n"))
    assert amounts(fees.rows) == ["-20.00 EUR", "-31.00 EUR"]
    unproven = parse(f"{head}2026-03-02,A,-20.00,1.00,79.00\n2026-03-03,B,-30.00,0,49.00\n")
    assert any("fee" in warning for warning in unproven.warnings)


def test_a_running_balance_that_does_not_fit_is_told() -> None:
    parsed = parse("Date,Payee,Amount,Balance\n2026-03-02,A,-10.00,90.00\n2026-03-03,B,20.00,400.00\n")
    assert any("does not fit" in warning for warning in parsed.warnings)
    assert amounts(parsed.statements[0].rows) == ["-10.00 EUR", "20.00 EUR"]


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("2026-03-02", "2026-03-02"),
        ("2026/3/2", "2026-03-02"),
        ("20260302", "2026-03-02"),
        ("2026-03-02T23:30:00Z", "2026-03-02"),
        ("2026-03-02 23:30:00", "2026-03-02"),
        ("02.03.2026", "2026-03-02"),
        ("2.3.26", "2026-03-02"),
        ("02 Mar 2026", "2026-03-02"),
        ("2-Mar-26", "2026-03-02"),
        ("Mar 2, 2026", "2026-03-02"),
        ("Monday, March 2nd, 2026", "2026-03-02"),
        ("2. März 2026", "2026-03-02"),
        ("2 février 2026", "2026-02-02"),
        ("2 de marzo de 2026", "2026-03-02"),
        ("2 juil. 2026", "2026-07-02"),
    ],
)
def test_days_that_can_be_read_in_one_way_need_no_proof(written: str, day: str) -> None:
    found = cell(written)
    assert found is not None
    assert proven([found]) == "DMY"
    assert found.read("DMY").isoformat() == day


@pytest.mark.parametrize(
    "text", ["", "31.02.2026", "2026-13-01", "32 Mar 2026", "2 Foo 2026", "Endsaldo", "1.2", "0001-01-01"]
)
def test_what_is_no_day_is_none(text: str) -> None:
    found = cell(text)
    assert found is None or not (found.fits("DMY") or found.fits("MDY"))


@pytest.mark.parametrize(
    ("dates", "days"),
    [
        (["13/04/2026", "03/04/2026"], ["2026-04-13", "2026-04-03"]),
        (["04/13/2026", "03/04/2026"], ["2026-04-13", "2026-03-04"]),
        (["04.03.2026", "13.04.2026"], ["2026-03-04", "2026-04-13"]),
        (["13-04-26", "03-04-26"], ["2026-04-13", "2026-04-03"]),
    ],
)
def test_one_date_proves_the_order_of_all(dates: list[str], days: list[str]) -> None:
    found = rows(BASIC + "".join(f"{day},X,-1.00\n" for day in dates))
    assert [row.booked_on.isoformat() for row in found] == days


def test_a_value_date_or_the_period_of_the_export_is_proof_too() -> None:
    value = rows("Date,Value date,Payee,Amount\n03/04/2026,13/04/2026,X,-1.00\n")
    period = rows("From 01/03/2026 to 31/03/2026\n\nDate,Payee,Amount\n03/04/2026,X,-1.00\n")
    assert [str(row.booked_on) for row in (*value, *period)] == ["2026-04-03", "2026-04-03"]


def test_dates_that_fit_both_orders_are_asked_about_with_both_readings() -> None:
    text = f"{BASIC}03/04/2026,X,-1.00\n"
    (question,) = parse(text).questions
    assert question.code == "date_order"
    assert question.choices == {"DMY": ["2026-04-03"], "MDY": ["2026-03-04"]}
    assert str(rows(text, answers={"date_order": "MDY"})[0].booked_on) == "2026-03-04"


def test_the_data_stand_above_the_answer() -> None:
    found = rows(f"{BASIC}13/04/2026,X,-1.00\n", answers={"date_order": "MDY"})
    assert str(found[0].booked_on) == "2026-04-13"


def test_a_language_that_writes_the_day_first_is_believed_and_told() -> None:
    parsed = parse("Date opération;Libellé;Montant\n03/04/2026;X;-1,00\n")
    assert [str(row.booked_on) for row in parsed.statements[0].rows] == ["2026-04-03"]
    assert any("day first" in warning for warning in parsed.warnings)


def test_dates_that_fit_no_order_are_refused() -> None:
    with pytest.raises(Refuse) as refused:
        parse(f"{BASIC}13/04/2026,X,-1.00\n04/13/2026,X,-1.00\n")
    assert refused.value.code == "contradictory_dates"


@pytest.mark.parametrize(
    "text",
    [
        "Date,Payee,Amount,Currency\n2026-03-02,X,-1.00,GBP\n",
        "Date,Payee,Amount (GBP)\n2026-03-02,X,-1.00\n",
        "Date,Payee,Amount in GBP\n2026-03-02,X,-1.00\n",
        "Date,Payee,Amount\n2026-03-02,X,-£1.00\n",
        "Currency,GBP\n\nDate,Payee,Amount\n2026-03-02,X,-1.00\n",
        "Closing balance,1.00 GBP\n\nDate,Payee,Amount\n2026-03-02,X,-1.00\n",
    ],
)
def test_the_file_names_the_currency_before_the_settings_do(text: str) -> None:
    assert amounts(rows(text, currency="USD")) == ["-1.00 GBP"]


def test_a_file_without_currency_asks_and_shows_what_it_would_mean() -> None:
    parsed = parse(f"{BASIC}2026-03-02,X,-1.00\n", currency=None)
    assert [question.code for question in parsed.questions] == ["currency"]
    assert parsed.statements == []
    assert [row.amount.amount for row in parsed.drafts[0].rows] == [-1]
    answered = only(parse(f"{BASIC}2026-03-02,X,-1.00\n", currency=None, answers={"currency": "chf"}))
    assert amounts(answered.rows) == ["-1.00 CHF"]


def test_several_accounts_and_currencies_become_several_statements() -> None:
    text = "Account,Date,Payee,Amount,Currency\n" + "".join(
        f"{account},2026-03-0{day},X,-{day}.00,{currency}\n"
        for account, currency in (("A1", "EUR"), ("B2", "EUR"), ("B2", "USD"))
        for day in (1, 2)
    )
    found = parse(text).statements
    assert [(each.account, each.currency, len(each.rows)) for each in found] == [
        ("A1", "EUR", 2),
        ("B2", "EUR", 2),
        ("B2", "USD", 2),
    ]


def test_an_account_number_behind_the_payee_is_the_payees() -> None:
    (row,) = rows("Date,Payee,Account number,Amount\n2026-03-02,Shop,DE00111122223333444455,-1.00\n")
    assert (row.account, row.counterparty_iban) == ("", "DE00111122223333444455")


def test_pending_and_declined_rows_are_told_apart() -> None:
    text = "Started Date,Completed Date,Description,Amount,State,Balance\n" + (
        "2026-03-01,2026-03-02,A,-1.00,COMPLETED,9.00\n"
        "2026-03-02,,B,-2.00,PENDING,\n"
        "2026-03-02,2026-03-03,C,-3.00,DECLINED,\n"
        "2026-03-03,2026-03-04,D,-4.00,COMPLETED,5.00\n"
    )
    parsed = parse(text)
    statement = parsed.statements[0]
    assert [(row.counterparty, row.pending) for row in statement.rows] == [("A", False), ("B", True), ("D", False)]
    assert statement.consistent is True
    assert any("declined" in warning for warning in parsed.warnings)


def test_a_section_title_makes_the_rows_below_it_pending() -> None:
    text = "Datum;Empfänger;Betrag\nVorgemerkte Umsätze;;\n05.03.2026;A;-1,00\nGebuchte Umsätze;;\n04.03.2026;B;-2,00\n"
    assert [row.pending for row in rows(text)] == [True, False]


def test_preamble_and_footer_give_account_and_balances() -> None:
    text = (
        "Kontonummer:;DE00 1203 0000 0000 0000 00\nAnfangssaldo;100,00\n\n"
        "Buchungstag;Empfänger;Betrag;Währung\n02.03.2026;A;-10,00;EUR\n\nEndsaldo;;90,00;EUR\n"
    )
    statement = only(parse(text))
    assert statement.account == "DE00120300000000000000"
    assert (str(statement.opening), str(statement.closing), statement.consistent) == ("100.00 EUR", "90.00 EUR", True)


def test_balance_lines_inside_the_table_are_no_movements() -> None:
    text = "Date,Description,Amount,Balance\n2026-03-01,OPENING BALANCE,,100.00\n2026-03-02,Shop,-10.00,90.00\n"
    assert amounts(rows(text)) == ["-10.00 EUR"]


def test_payer_and_payee_columns_are_chosen_by_direction() -> None:
    head = "Buchungsdatum;Zahlungspflichtige*r;Zahlungsempfänger*in;Betrag (€)\n"
    text = f"{head}02.03.26;Me;Shop;-1,00\n02.03.26;Boss;Me;2,00\n"
    assert [row.counterparty for row in rows(text)] == ["Shop", "Boss"]


def test_the_amount_in_the_foreign_currency_is_kept_beside_the_booked_one() -> None:
    text = (
        "Date,Payee,Amount (EUR),Amount (Foreign Currency),Type Foreign Currency\n"
        "2026-03-02,Shop,-92.13,-100.00,USD\n2026-03-02,Cafe,-4.20,,\n2026-03-02,Bar,-5.00,-5.00,EUR\n"
    )
    assert [str(row.original) for row in rows(text)] == ["-100.00 USD", "None", "None"]


def test_a_cell_may_run_over_lines_and_hold_the_delimiter() -> None:
    (row,) = rows('Date,Payee,Memo,Amount\n2026-03-02,"COFFEE, INC","two\nlines ""quoted""",-1.00\n')
    assert (row.counterparty, row.purpose) == ("COFFEE, INC", 'two lines "quoted"')


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("2026-03-02,X,abc", "not an amount"),
        ("31/31/2026,X,-1.00", "not a date"),
        ("2026-03-02,X,Y,-1.00", "delimiter"),
        ("2026-03-02,X", "only 2 cells"),
        ("2026-03-02,X,-99999999999999999999.00", "too many digits"),
    ],
)
def test_a_row_that_cannot_be_read_is_rejected_with_its_line_and_the_rest_goes_on(line: str, reason: str) -> None:
    parsed = parse(f"{BASIC}2026-03-01,A,-1.00\n{line}\n2026-03-03,B,-2.00\n")
    (rejected,) = parsed.rejected
    assert (rejected.where, rejected.code) == ("x.csv:3", "malformed")
    assert reason in rejected.reason
    assert [row.counterparty for row in parsed.statements[0].rows] == ["A", "B"]


def test_many_bad_rows_are_counted_rather_than_told_one_by_one() -> None:
    parsed = parse(BASIC + "2026-03-02,X,abc\n" * 500)
    assert len(parsed.all_rejected("x.csv")) == 51
    assert parsed.all_rejected("x.csv")[-1].reason == "450 more rows cannot be read either"


def test_the_end_of_the_file_tells_whether_it_may_go_on() -> None:
    whole = parse(f"{BASIC}2026-03-01,A,-1.00\n")
    without_line_end = parse(f"{BASIC}2026-03-01,A,-1.0")
    cut = parse(f"{BASIC}2026-03-01,A,-1.00\n2026-03-01,")
    assert [(each.is_open, each.is_cut) for each in (whole, without_line_end, cut)] == [
        (False, False),
        (True, False),
        (True, True),
    ]


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"PK\x03\x04rest", "ZIP"),
        (b"%PDF-1.7", "PDF"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b"<feed/>", "neither CAMT nor OFX"),
        (b"name,age\nx,1\n", "no row heads"),
        (bytes(range(256)), "not a text file"),
    ],
)
def test_what_is_no_bank_file_is_refused_with_what_to_do(raw: bytes, reason: str) -> None:
    assert not is_ours(raw)
    with pytest.raises(Refuse) as refused:
        read(raw, "x", Given())
    assert refused.value.code == "unknown_format"
    assert reason in refused.value.reason
