"""CAMT reports, statements and notifications in the versions and habits of banks."""

from __future__ import annotations

import pytest

from extractors.bank.row import Statement
from extractors.bankfile.parsed import Given, Parsed, Refuse
from extractors.bankfile.reader import is_ours, read

IBAN = "NL00TEST0123456789"
KINDS = {
    "052": ("BkToCstmrAcctRpt", "Rpt"),
    "053": ("BkToCstmrStmt", "Stmt"),
    "054": ("BkToCstmrDbtCdtNtfctn", "Ntfctn"),
}


def bal(code: str, amount: str, side: str = "CRDT", day: str = "2026-03-04") -> str:
    return (
        f'<Bal><Tp><CdOrPrtry><Cd>{code}</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">{amount}</Amt>'
        f"<CdtDbtInd>{side}</CdtDbtInd><Dt><Dt>{day}</Dt></Dt></Bal>"
    )


def ntry(
    amount: str,
    side: str = "DBIT",
    details: str = "",
    *,
    status: str = "<Sts>BOOK</Sts>",
    reversal: str = "",
    days: str = "<BookgDt><Dt>2026-03-04</Dt></BookgDt>",
    currency: str = "EUR",
) -> str:
    return (
        f'<Ntry><Amt Ccy="{currency}">{amount}</Amt><CdtDbtInd>{side}</CdtDbtInd>{reversal}{status}{days}'
        f"<AcctSvcrRef>BANK-12345</AcctSvcrRef>{details}<AddtlNtryInf>Card</AddtlNtryInf></Ntry>"
    )


def tx(*inner: str) -> str:
    return "<NtryDtls>" + "".join(f"<TxDtls>{each}</TxDtls>" for each in inner) + "</NtryDtls>"


def camt(*statements: str, kind: str = "053", version: str = "08", head: str = '<?xml version="1.0"?>') -> str:
    root = KINDS[kind][0]
    namespace = f"urn:iso:std:iso:20022:tech:xsd:camt.{kind}.001.{version}"
    return f'{head}<Document xmlns="{namespace}"><{root}>{"".join(statements)}</{root}></Document>'


def stmt(*inner: str, kind: str = "053", number: str = "7", iban: str = IBAN) -> str:
    name = KINDS[kind][1]
    return (
        f"<{name}><Id>{number}</Id><CreDtTm>2026-03-05T06:00:00+01:00</CreDtTm>"
        f"<Acct><Id><IBAN>{iban}</IBAN></Id><Ccy>EUR</Ccy></Acct>{''.join(inner)}</{name}>"
    )


def parse(text: str, encoding: str = "utf-8") -> Parsed:
    raw = text.encode(encoding)
    assert is_ours(raw)
    return read(raw, "x.xml", Given())


def only(parsed: Parsed) -> Statement:
    assert parsed.rejected == []
    (statement,) = parsed.statements
    return statement


def amounts(statement: Statement) -> list[str]:
    return [str(each.amount) for each in statement.rows]


@pytest.mark.parametrize("kind", ["052", "053", "054"])
@pytest.mark.parametrize("version", ["02", "04", "08", "13"])
def test_every_kind_and_version_is_read(kind: str, version: str) -> None:
    status = "<Sts>BOOK</Sts>" if version < "08" else "<Sts><Cd>BOOK</Cd></Sts>"
    party = "<Nm>Shop</Nm>" if version < "08" else "<Pty><Nm>Shop</Nm></Pty>"
    details = tx(f"<RltdPties><Cdtr>{party}</Cdtr></RltdPties><RmtInf><Ustrd>A</Ustrd><Ustrd>B</Ustrd></RmtInf>")
    found = only(parse(camt(stmt(ntry("1.50", details=details, status=status), kind=kind), kind=kind, version=version)))
    (row,) = found.rows
    assert (row.counterparty, row.purpose, row.account, str(row.amount)) == ("Shop", "A B", IBAN, "-1.50 EUR")
    assert row.native_id == "BANK-12345"


def test_the_booked_amount_is_the_entrys_and_not_what_was_instructed() -> None:
    details = tx(
        '<AmtDtls><InstdAmt><Amt Ccy="USD">100.00</Amt></InstdAmt><TxAmt><Amt Ccy="EUR">91.13</Amt></TxAmt></AmtDtls>'
        '<Chrgs><TtlChrgsAndTaxAmt Ccy="EUR">1.00</TtlChrgsAndTaxAmt></Chrgs>'
    )
    found = only(parse(camt(stmt(bal("OPBD", "100.00"), bal("CLBD", "7.87"), ntry("92.13", details=details)))))
    (row,) = found.rows
    assert (str(row.amount), str(row.original), found.consistent) == ("-92.13 EUR", "-100.00 USD", True)


def test_a_batch_is_split_where_its_payments_add_up() -> None:
    v2 = tx(*(f'<AmtDtls><TxAmt><Amt Ccy="EUR">{each}</Amt></TxAmt></AmtDtls>' for each in ("4.00", "6.00")))
    v8 = tx(
        '<Amt Ccy="EUR">12.00</Amt><CdtDbtInd>CRDT</CdtDbtInd>', '<Amt Ccy="EUR">2.00</Amt><CdtDbtInd>DBIT</CdtDbtInd>'
    )
    assert amounts(only(parse(camt(stmt(ntry("10.00", "CRDT", v2)))))) == ["4.00 EUR", "6.00 EUR"]
    assert amounts(only(parse(camt(stmt(ntry("10.00", "DBIT", v2)))))) == ["-4.00 EUR", "-6.00 EUR"]
    assert amounts(only(parse(camt(stmt(ntry("10.00", "CRDT", v8)))))) == ["12.00 EUR", "-2.00 EUR"]


@pytest.mark.parametrize("parts", [("", ""), ('<Amt Ccy="EUR">4.00</Amt>', '<Amt Ccy="EUR">5.00</Amt>')])
def test_a_batch_that_does_not_add_up_stays_one_row(parts: tuple[str, str]) -> None:
    parsed = parse(camt(stmt(ntry("10.00", "CRDT", tx(*parts)))))
    assert amounts(only(parsed)) == ["10.00 EUR"]
    assert any("batch" in warning for warning in parsed.warnings)


@pytest.mark.parametrize("side", ["CRDT", "DBIT"])
def test_the_balances_decide_the_dialect_of_reversals(side: str) -> None:
    rows = ntry("75.00"), ntry("75.00", side, reversal="<RvslInd>true</RvslInd>")
    found = only(parse(camt(stmt(bal("OPBD", "100.00"), bal("CLBD", "100.00"), *rows))))
    assert amounts(found) == ["-75.00 EUR", "75.00 EUR"]
    assert [row.reversal for row in found.rows] == [False, True]
    assert found.consistent is True


def test_without_balances_a_reversal_has_the_direction_that_it_says() -> None:
    found = only(parse(camt(stmt(ntry("75.00", "CRDT", reversal="<RvslInd>true</RvslInd>")))))
    assert (amounts(found), found.consistent) == (["75.00 EUR"], None)


def test_pending_entries_are_pending_and_information_is_no_entry() -> None:
    parsed = parse(
        camt(
            stmt(
                ntry("1.00", status="<Sts>PDNG</Sts>", days=""),
                ntry("2.00", status="<Sts><Cd>INFO</Cd></Sts>"),
                ntry(
                    "3.00", status="<Sts><Cd>FUTR</Cd></Sts>", days="<ValDt><DtTm>2026-03-09T23:30:00Z</DtTm></ValDt>"
                ),
                kind="052",
            ),
            kind="052",
        )
    )
    assert [(row.pending, str(row.booked_on)) for row in only(parsed).rows] == [
        (True, "2026-03-05"),
        (True, "2026-03-09"),
    ]
    assert any("information" in warning for warning in parsed.warnings)


def test_pending_rows_are_not_part_of_the_balance() -> None:
    rows = ntry("10.00"), ntry("99.00", status="<Sts>PDNG</Sts>")
    assert only(parse(camt(stmt(bal("OPBD", "100.00"), bal("CLBD", "90.00"), *rows)))).consistent is True


def test_the_other_side_is_never_the_owner() -> None:
    parties = (
        f"<RltdPties><Dbtr><Nm>Me</Nm></Dbtr><DbtrAcct><Id><IBAN>{IBAN}</IBAN></Id></DbtrAcct>"
        "<Cdtr><Nm>Gym</Nm></Cdtr><CdtrAcct><Id><IBAN>DE00111122223333444455</IBAN></Id></CdtrAcct></RltdPties>"
    )
    reversal = "<RvslInd>true</RvslInd>"
    found = only(
        parse(camt(stmt(ntry("1.00", "DBIT", tx(parties)), ntry("1.00", "CRDT", tx(parties), reversal=reversal))))
    )
    assert {(row.counterparty, row.counterparty_iban) for row in found.rows} == {("Gym", "DE00111122223333444455")}


def test_references_are_kept_and_place_holders_are_not() -> None:
    known = tx("<Refs><EndToEndId>E-1</EndToEndId><MndtId>M-1</MndtId></Refs>")
    unknown = tx("<Refs><EndToEndId>NOTPROVIDED</EndToEndId></Refs>")
    first, second = only(parse(camt(stmt(ntry("1.00", details=known), ntry("1.00", details=unknown))))).rows
    assert (first.end_to_end_id, first.mandate_id, second.end_to_end_id) == ("E-1", "M-1", None)


def test_several_accounts_and_pages() -> None:
    first = stmt(bal("OPBD", "100.00"), bal("ITBD", "90.00"), ntry("10.00"))
    second = stmt(bal("ITBD", "90.00"), bal("CLBD", "80.00"), ntry("10.00"))
    other = stmt(bal("PRCD", "5.00", "DBIT"), bal("CLBD", "5.00", "DBIT"), iban="NL00TEST0000000002")
    found = parse(camt(first, second, other)).statements
    assert [(str(each.opening), str(each.closing), len(each.rows), each.consistent) for each in found] == [
        ("100.00 EUR", "80.00 EUR", 2, True),
        ("-5.00 EUR", "-5.00 EUR", 0, True),
    ]


def test_no_namespace_and_a_wrong_charset_are_forgiven() -> None:
    text = camt(stmt(ntry("1.00", details=tx("<RmtInf><Ustrd>Brötchen</Ustrd></RmtInf>"))))
    bare = text.replace(' xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08"', "")
    assert only(parse(bare)).rows[0].purpose == "Brötchen"
    mislabelled = parse(text, "cp1252")
    assert only(mislabelled).rows[0].purpose == "Brötchen"
    assert any("cp1252" in warning for warning in mislabelled.warnings)
    assert only(parse(text.replace("?>", ' encoding="UTF-16"?>', 1), "utf-16")).rows[0].purpose == "Brötchen"


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (ntry("abc"), "not an amount"),
        (ntry(""), "missing"),
        (ntry("1.00", "XXXX"), "neither credit nor debit"),
        (ntry("1.00", days="<BookgDt><Dt>2026-02-31</Dt></BookgDt>"), "day"),
        (ntry("1.00", currency="euro"), "pattern"),
    ],
)
def test_a_bad_entry_is_rejected_and_the_others_are_read(entry: str, reason: str) -> None:
    parsed = parse(camt(stmt(ntry("1.00"), entry, ntry("3.00"))))
    (rejected,) = parsed.rejected
    assert rejected.where == "x.xml: entry 2"
    assert reason in rejected.reason
    assert amounts(parsed.statements[0]) == ["-1.00 EUR", "-3.00 EUR"]


def test_a_cut_file_gives_its_whole_entries_and_is_known_as_cut() -> None:
    text = camt(stmt(ntry("1.00"), ntry("12.80")))
    for end in (text.index("12.80") + 2, text.index("</Stmt>"), len(text) - 4):
        parsed = parse(text[:end])
        assert parsed.is_cut
        assert amounts(parsed.statements[0])[:1] == ["-1.00 EUR"]
        assert "-12.00 EUR" not in amounts(parsed.statements[0])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (camt(stmt(ntry("1.00")), head='<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "b">]>'), "doctype"),
        (camt(stmt(ntry("1.00") + "</Ntry>")), "malformed"),
        (camt(stmt("<a>" * 400 + "</a>" * 400)), "malformed"),
        (camt(), "unknown_format"),
    ],
)
def test_what_cannot_be_trusted_is_refused_as_a_whole(text: str, code: str) -> None:
    with pytest.raises(Refuse) as refused:
        parse(text)
    assert refused.value.code == code
