"""OFX and QFX of both generations, as banks write them."""

from __future__ import annotations

import pytest

from extractors.bank.row import Row, Statement
from extractors.bankfile.parsed import Given, Parsed, Refuse
from extractors.bankfile.reader import is_ours, read

HEAD = "OFXHEADER:100\r\nDATA:OFXSGML\r\nVERSION:102\r\nENCODING:USASCII\r\nCHARSET:1252\r\n\r\n"
ACCOUNT = "<BANKACCTFROM><BANKID>1<ACCTID>DE1<ACCTTYPE>CHECKING</BANKACCTFROM>"
BALANCE = "<LEDGERBAL><BALAMT>1000.00<DTASOF>20260305</LEDGERBAL>"


def trn(day: str = "20260302", amount: str = "-1.00", fitid: str = "F12345", name: str = "Shop", more: str = "") -> str:
    return f"<STMTTRN><TRNTYPE>DEBIT<DTPOSTED>{day}<TRNAMT>{amount}<FITID>{fitid}<NAME>{name}{more}</STMTTRN>\n"


def bank(*entries: str, currency: str = "EUR", account: str = ACCOUNT, balance: str = BALANCE) -> str:
    listed = f"<BANKTRANLIST><DTSTART>20260301<DTEND>20260305{''.join(entries)}</BANKTRANLIST>"
    return f"<STMTTRNRS><STMTRS><CURDEF>{currency}{account}{listed}{balance}</STMTRS></STMTTRNRS>"


def sgml(*statements: str) -> str:
    return f"{HEAD}<OFX><BANKMSGSRSV1>{''.join(statements)}</BANKMSGSRSV1></OFX>"


def parse(text: str, encoding: str = "cp1252") -> Parsed:
    raw = text.encode(encoding)
    assert is_ours(raw)
    return read(raw, "x.ofx", Given())


def only(parsed: Parsed) -> Statement:
    assert parsed.rejected == []
    (statement,) = parsed.statements
    return statement


def row(entry: str, **more: str) -> Row:
    (found,) = only(parse(sgml(bank(entry, **more)))).rows
    return found


@pytest.mark.parametrize(
    ("written", "day"),
    [
        ("20260302", "2026-03-02"),
        ("20260302120000", "2026-03-02"),
        ("20260302230000[-5:EST]", "2026-03-02"),
        ("20260302000000.000[+1:CET]", "2026-03-02"),
        ("20260302003000[0:GMT]", "2026-03-02"),
        ("20260302233000.123[+5.5:IST]", "2026-03-02"),
        ("20260302[-8]", "2026-03-02"),
    ],
)
def test_a_posting_date_is_the_day_that_the_bank_wrote(written: str, day: str) -> None:
    assert row(trn(day=written)).booked_on.isoformat() == day


@pytest.mark.parametrize(
    ("written", "amount"),
    [
        ("-12.80", "-12.80 EUR"),
        ("   -200,00 ", "-200.00 EUR"),
        ("+0,91", "0.91 EUR"),
        ("-8.95000", "-8.95 EUR"),
        ("1500", "1500.00 EUR"),
        ("1.500", "1.50 EUR"),
        (".5", "0.50 EUR"),
        ("-1,234.56", "-1234.56 EUR"),
    ],
)
def test_amounts_have_a_decimal_mark_and_no_other(written: str, amount: str) -> None:
    assert str(row(trn(amount=written)).amount) == amount


def test_a_file_that_groups_thousands_does_so_throughout() -> None:
    found = only(parse(sgml(bank(trn(amount="-1,234.56"), trn(amount="1,500")))))
    assert [str(each.amount) for each in found.rows] == ["-1234.56 EUR", "1500.00 EUR"]


def test_currencies_keep_their_own_digits() -> None:
    assert str(row(trn(amount="-5000.00"), currency="JPY").amount) == "-5000 JPY"
    assert str(row(trn(amount="-1.234"), currency="KWD").amount) == "-1.234 KWD"


def test_an_amount_in_another_currency_says_so_and_a_converted_one_does_not() -> None:
    foreign = row(trn(more="<CURRENCY><CURRATE>0.9<CURSYM>USD</CURRENCY>"))
    converted = row(trn(more="<ORIGCURRENCY><CURRATE>0.9<CURSYM>USD</ORIGCURRENCY>"))
    assert (foreign.amount.currency, converted.amount.currency) == ("USD", "EUR")


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ("ENCODING:USASCII\r\nCHARSET:1252\r\n", "cp1252"),
        ("ENCODING:UNICODE\r\nCHARSET:NONE\r\n", "utf-8"),
        ("ENCODING:USASCII\r\nCHARSET:1252\r\n", "utf-8"),
        ("ENCODING:UTF-8\r\nCHARSET:NONE\r\n", "cp1252"),
        ("ENCODING:USASCII\r\nCHARSET:8859-15\r\n", "iso8859-1"),
        ("ENCODING:UNICODE\r\n", "utf-16"),
    ],
)
def test_the_characters_are_right_whatever_the_header_claims(head: str, encoding: str) -> None:
    text = sgml(bank(trn(name="Bäckerei Müller"))).replace(HEAD, f"OFXHEADER:100\r\n{head}\r\n")
    assert only(parse(text, encoding)).rows[0].counterparty == "Bäckerei Müller"


def test_escapes_and_sections_are_resolved() -> None:
    assert row(trn(name="A &amp; B &#233; &lt;x")).counterparty == "A & B é <x"
    assert row(trn(name="<![CDATA[A & <B>]]>")).counterparty == "A & <B>"
    assert row(trn(name="A<!-- no -->")).counterparty == "A"


def test_an_empty_element_does_not_swallow_its_neighbours() -> None:
    found = row("<STMTTRN><TRNTYPE>DEBIT<MEMO><DTPOSTED>20260302<TRNAMT>-1.00<NAME>Shop<FITID>F12345</STMTTRN>")
    assert (found.purpose, found.counterparty, found.native_id) == ("", "Shop", "F12345")


def test_version_2_is_read_like_version_1() -> None:
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n<?OFX OFXHEADER="200" VERSION="211"?>\n<OFX><BANKMSGSRSV1><STMTTRNRS>'
        "<STMTRS><CURDEF>EUR</CURDEF><BANKACCTFROM><ACCTID>9</ACCTID></BANKACCTFROM><BANKTRANLIST><STMTTRN>"
        "<TRNTYPE>DEBIT</TRNTYPE><DTPOSTED>20260302</DTPOSTED><TRNAMT>-1.50</TRNAMT><FITID>FF1234</FITID>"
        "<PAYEE><NAME>Ünal &amp; Söhne</NAME></PAYEE><BANKACCTTO><ACCTID>DE00111122223333444455</ACCTID></BANKACCTTO>"
        "<MEMO/></STMTTRN></BANKTRANLIST></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>"
    )
    (found,) = only(parse(text, "utf-8")).rows
    assert (found.counterparty, found.counterparty_iban) == ("Ünal & Söhne", "DE00111122223333444455")
    assert (found.account, str(found.amount)) == ("9", "-1.50 EUR")


def test_each_account_of_a_file_is_a_statement() -> None:
    card = bank(trn(), currency="USD", account="<CCACCTFROM><ACCTID>4111</CCACCTFROM>")
    found = parse(sgml(bank(trn(), trn()), card)).statements
    assert [(each.account, each.currency, len(each.rows)) for each in found] == [("DE1", "EUR", 2), ("4111", "USD", 1)]


def test_pending_rows_are_pending() -> None:
    pending = (
        "<BANKTRANLISTP><DTASOF>20260305<STMTTRNP><TRNTYPE>DEBIT<DTTRAN>20260304<TRNAMT>-9.99<NAME>Hotel</STMTTRNP>"
        "</BANKTRANLISTP>"
    )
    found = only(parse(sgml(bank(trn(), balance=pending + BALANCE)))).rows
    assert [(each.counterparty, each.pending) for each in found] == [("Shop", False), ("Hotel", True)]


def test_an_investment_account_shows_what_trades_did_to_its_cash() -> None:
    trade = "<INVTRAN><FITID>{0}<DTTRADE>20260302<DTSETTLE>20260304</INVTRAN><SECID><UNIQUEID>US0</SECID><TOTAL>{1}"
    listed = (
        f"<BUYSTOCK><INVBUY>{trade.format('T10001', '-50.00')}</INVBUY></BUYSTOCK>"
        f"<INCOME>{trade.format('T10002', '1.23')}</INCOME><REINVEST>{trade.format('T10003', '-1.23')}</REINVEST>"
        f"<INVBANKTRAN>{trn(amount='100.00', name='Deposit')}</INVBANKTRAN>"
    )
    text = (
        f"{HEAD}<OFX><INVSTMTMSGSRSV1><INVSTMTTRNRS><INVSTMTRS><DTASOF>20260305<CURDEF>USD<INVACCTFROM><ACCTID>777"
        f"</INVACCTFROM><INVTRANLIST>{listed}</INVTRANLIST><INVBAL><AVAILCASH>50.00</INVBAL></INVSTMTRS>"
        "</INVSTMTTRNRS></INVSTMTMSGSRSV1><SECLISTMSGSRSV1><SECLIST><SECINFO><SECID><UNIQUEID>US0</SECID>"
        "<SECNAME>ACME Corp</SECINFO></SECLIST></SECLISTMSGSRSV1></OFX>"
    )
    parsed = parse(text)
    found = only(parsed)
    assert [(each.counterparty, str(each.amount), str(each.booked_on)) for each in found.rows] == [
        ("ACME Corp", "-50.00 USD", "2026-03-04"),
        ("ACME Corp", "1.23 USD", "2026-03-04"),
        ("Deposit", "100.00 USD", "2026-03-02"),
    ]
    assert found.balance is not None
    assert str(found.balance.amount) == "50.00 USD"
    assert any("reinvested" in warning for warning in parsed.warnings)


def test_a_balance_that_may_be_in_cents_is_told() -> None:
    parsed = parse(sgml(bank(trn(), balance="<LEDGERBAL><BALAMT>100000<DTASOF>20260305</LEDGERBAL>")))
    assert any("decimal mark" in warning for warning in parsed.warnings)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (trn(day="20260231"), "day is out of range"),
        (trn(day="00000000"), "year"),
        (trn(day=""), "not a date"),
        (trn(amount=""), "missing"),
        (trn(amount="1.2.3"), "not an amount"),
        (trn(amount="NaN"), "not an amount"),
    ],
)
def test_a_bad_entry_is_rejected_and_the_others_are_read(entry: str, reason: str) -> None:
    parsed = parse(sgml(bank(trn(name="A"), entry, trn(name="B"))))
    (rejected,) = parsed.rejected
    assert rejected.where == "x.ofx: row 2"
    assert reason in rejected.reason
    assert [each.counterparty for each in parsed.statements[0].rows] == ["A", "B"]


def test_a_cut_file_is_known_and_its_last_entry_is_not_believed() -> None:
    whole = sgml(bank(trn(name="A"), trn(name="B", amount="-12.80")))
    cut = parse(whole[: whole.index("-12.80") + 2])
    assert cut.is_cut
    assert [each.counterparty for each in cut.statements[0].rows] == ["A"]
    assert not parse(whole).is_cut
    assert parse(whole.removesuffix("</OFX>")).is_open


def test_what_the_bank_refused_is_told_with_its_own_words() -> None:
    text = (
        f"{HEAD}<OFX><SIGNONMSGSRSV1><SONRS><STATUS><CODE>15500<SEVERITY>ERROR<MESSAGE>Bad login</STATUS></SONRS></OFX>"
    )
    with pytest.raises(Refuse) as refused:
        parse(text)
    assert refused.value.code == "refused_by_bank"
    assert "15500: Bad login" in refused.value.reason


def test_endless_nesting_is_refused() -> None:
    with pytest.raises(Refuse) as refused:
        parse(HEAD + "<OFX>" + "<STMTTRNRS><STMTRS>" * 500)
    assert refused.value.code == "too_deep"
