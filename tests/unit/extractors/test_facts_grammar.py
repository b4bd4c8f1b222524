"""The grammars of dates, amounts, IBANs and numbers: what they find, and what they must not."""

from __future__ import annotations

from datetime import date
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from extractors.facts import TextContext, dates, iban, money, numbers
from extractors.facts.clause import split
from extractors.facts.passage import Passage
from schemas.money import Money

MONDAY = date(2026, 3, 2)
CONTEXT = TextContext(written_on=MONDAY, zone=ZoneInfo("Europe/Berlin"))
AMERICAN = TextContext(written_on=MONDAY, zone=ZoneInfo("America/New_York"))


def found(text: str, context: TextContext = CONTEXT) -> list[str]:
    return [mention.day.isoformat() for mention in dates.find(text, context)]


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-03-31", "2026-03-31"),
        ("2026/03/31", "2026-03-31"),
        ("31.03.2026", "2026-03-31"),
        ("31. 3. 2026", "2026-03-31"),
        ("31.3.26", "2026-03-31"),
        ("31/03/2026", "2026-03-31"),
        ("12-Sep-2026", "2026-09-12"),
        ("31 March 2026", "2026-03-31"),
        ("31st of March, 2026", "2026-03-31"),
        ("March 31st, 2026", "2026-03-31"),
        ("Mar. 31", "2026-03-31"),
        ("31. März 2026", "2026-03-31"),
        ("1. Jänner 2027", "2027-01-01"),
        ("1er avril 2026", "2026-04-01"),
        ("31 mars", "2026-03-31"),
        ("31 de marzo de 2026", "2026-03-31"),
        ("31 de marzo del 2026", "2026-03-31"),
        ("Fr. 20.03.2026", "2026-03-20"),
        ("31.03.", "2026-03-31"),
        ("within 14 days", "2026-03-16"),
        ("binnen 14 Tagen", "2026-03-16"),
        ("innerhalb von zwei Wochen", "2026-03-16"),
        ("sous 15 jours", "2026-03-17"),
        ("en un plazo de 10 días", "2026-03-12"),
        ("within five working days", "2026-03-09"),
        ("in drei Monaten", "2026-06-02"),
        ("by Friday", "2026-03-06"),
        ("by Monday", "2026-03-09"),
        ("bis Freitag", "2026-03-06"),
        ("d'ici vendredi", "2026-03-06"),
        ("antes del viernes", "2026-03-06"),
        ("tomorrow", "2026-03-03"),
        ("übermorgen", "2026-03-04"),
        ("the day after tomorrow", "2026-03-04"),
        ("demain", "2026-03-03"),
        ("pasado mañana", "2026-03-04"),
        ("by the end of the month", "2026-03-31"),
        ("Ende des Monats", "2026-03-31"),
        ("fin de mes", "2026-03-31"),
        ("Ende März", "2026-03-31"),
        ("by the 28th", "2026-03-28"),
        ("bis zum 1.", "2026-04-01"),
        ("29 February", "2028-02-29"),
        ("1 March", "2026-03-01"),
        ("15 December", "2026-12-15"),
        ("on 17 Mar\n2026", "2026-03-17"),
    ],
)
def test_a_date_is_found_and_counted_from_the_day_of_writing(text: str, day: str) -> None:
    assert found(f"x {text} y") == [day]


@pytest.mark.parametrize(
    "text",
    [
        "We may 2 go",
        "the 68th",
        "+49 89 123456",
        "CHF 2'150.00",
        "in 2025",
        "192.168.1.12",
        "31 June 2026",
        "30.02.2026",
        "version 4.11",
        "Guten Morgen",
        "por la mañana",
        "see https://example.org/2026/03/31/x",
        "now and then",
        "50 %",
        "2026",
    ],
)
def test_what_is_no_date_is_not_found(text: str) -> None:
    assert [mention for mention in dates.find(text, CONTEXT) if not mention.weak] == []


def test_two_days_with_one_month_are_two_dates() -> None:
    assert found("on 5 and 6 June 2026") == ["2026-06-05", "2026-06-06"]
    assert found("5.-6. Juni") == ["2026-06-05", "2026-06-06"]


@pytest.mark.parametrize(
    ("text", "context", "day", "is_sure"),
    [
        ("on 03/04/2026 and 13/04/2026", CONTEXT, "2026-04-03", True),
        ("on 03/04/2026 and 04/13/2026", CONTEXT, "2026-03-04", True),
        ("Fri 03/04/2026", CONTEXT, "2026-04-03", True),
        ("Wed 03/04/2026", CONTEXT, "2026-03-04", True),
        ("$30 on 03/04/2026", CONTEXT, "2026-03-04", False),
        ("£30 on 03/04/2026", AMERICAN, "2026-04-03", False),
        ("le 03/04/2026 pour vous et votre famille", AMERICAN, "2026-04-03", False),
        ("03/04/2026", CONTEXT, "2026-04-03", False),
        ("03/04/2026", AMERICAN, "2026-03-04", False),
    ],
)
def test_the_order_of_day_and_month_is_proved_or_hinted_at(
    text: str, context: TextContext, day: str, is_sure: bool
) -> None:
    first = dates.find(text, context)[0]
    assert first.day.isoformat() == day
    assert (first.certainty >= 0.9) is is_sure


def test_a_weekday_is_proof_only_where_it_fits() -> None:
    assert found("Tuesday 03/03/2026") == ["2026-03-03"]


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("1.234,56 €", "1234.56 EUR"),
        ("€1,234.56", "1234.56 EUR"),
        ("1 234,56 €", "1234.56 EUR"),
        ("CHF 2'150.00", "2150.00 CHF"),
        ("CHF 300.–", "300.00 CHF"),
        ("Fr. 45.50", "45.50 CHF"),
        ("300,- EUR", "300.00 EUR"),
        ("300 Euro", "300.00 EUR"),
        ("EUR300", "300.00 EUR"),
        ("$1,234", "1234.00 USD"),
        ("US$ 20", "20.00 USD"),
        ("A$ 20", "20.00 AUD"),
        ("£9.99", "9.99 GBP"),
        ("JPY 5,000", "5000 JPY"),
        ("KWD 1.234", "1.234 KWD"),
        ("1.234 €", "1234.00 EUR"),
        ("5 million USD", "5000000.00 USD"),
        ("12,5 Mio. €", "12500000.00 EUR"),
        ("-45,00 €", "-45.00 EUR"),
        ("in 2026 EUR 30", "30.00 EUR"),
        ("60,05\nEUR", "60.05 EUR"),
        ("49 zł", "49.00 PLN"),
    ],
)
def test_an_amount_is_found_in_any_notation(text: str, amount: str) -> None:
    assert [str(mention.money) for mention in money.find(f"x {text}.")] == [amount]


@pytest.mark.parametrize(
    "text",
    [
        "passport 123456",
        "+49 89 123456",
        "50 %",
        "0,35 €/kWh",
        "EUR 15.03.2026",
        "NEUR 3",
        "€",
        "1.799 €/l",
        "99999999999999 EUR",
    ],
)
def test_a_number_without_a_currency_beside_it_is_no_amount(text: str) -> None:
    assert money.find(text) == []


@settings(max_examples=200, deadline=None)
@given(
    cents=st.integers(1, 10**9),
    style=st.sampled_from(["{:,.2f} EUR", "EUR {:,.2f}", "german", "swiss"]),
)
def test_every_amount_survives_being_written(cents: int, style: str) -> None:
    plain = f"{cents / 100:,.2f}"
    written = {
        "german": plain.replace(",", "x").replace(".", ",").replace("x", ".") + " €",
        "swiss": "CHF " + plain.replace(",", "'"),
    }.get(style, style.format(cents / 100))
    currency = "CHF" if style == "swiss" else "EUR"
    assert [mention.money for mention in money.find(f"Total {written} now")] == [Money.from_minor(cents, currency)]


@settings(max_examples=200, deadline=None)
@given(
    st.dates(date(2026, 1, 15), date(2030, 12, 31)), st.sampled_from(["%d.%m.%Y", "%Y-%m-%d", "%d %B %Y", "%B %d, %Y"])
)
def test_every_date_survives_being_written(day: date, style: str) -> None:
    assert found(f"until {day.strftime(style)} only") == [day.isoformat()]


@settings(max_examples=150, deadline=None)
@given(st.text(st.sampled_from("0123456789./-, €EURabcMärzby\n'’:%$"), max_size=200))
def test_the_grammars_never_fail_and_their_spans_lie_in_the_text(text: str) -> None:
    passage = Passage("text", text, CONTEXT)
    for mention in (*passage.dates, *passage.amounts, *passage.ibans):
        assert 0 <= mention.start < mention.end <= len(text)
    for clause in split(text, passage.dates):
        assert text[clause.start : clause.end].replace("\n", " ") == clause.text


def test_an_iban_is_valid_by_its_checksum() -> None:
    text = "Konto DE89 3704 0044 0532 0130 00 BIC X, not DE88370400440532013000, GB82WEST12345698765432."
    assert [mention.iban for mention in iban.find(text)] == ["DE89370400440532013000", "GB82WEST12345698765432"]


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("Rechnung Nr. 45 vom 3. März", "45"),
        ("Rechnungsnummer: 4711", "4711"),
        ("Rechnungs-Nr. 2026-77", "2026-77"),
        ("Stromrechnung RE-99812 über 30 EUR", "RE-99812"),
        ("Your invoice INV-2026-0042.", "INV-2026-0042"),
        ("Invoice #12", "12"),
        ("Invoice number\n2026-0042", "2026-0042"),
        ("Facture n° F-2026-12", "F-2026-12"),
        ("Facture : 2026-118", "2026-118"),
        ("Factura nº 2026/123", "2026/123"),
    ],
)
def test_an_invoice_number_stands_behind_its_word(text: str, number: str) -> None:
    assert [mention.number for mention in numbers.invoices(Passage("text", text, CONTEXT))] == [number]


@pytest.mark.parametrize(
    "text",
    [
        "Invoice date: 01.03.2026",
        "Invoice 15 March",
        "Rechnung 12.03.2026",
        "Rechnung 2026",
        "bill 300 EUR",
        "invoice me",
    ],
)
def test_dates_years_and_amounts_are_no_invoice_numbers(text: str) -> None:
    assert list(numbers.invoices(Passage("text", text, CONTEXT))) == []


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("Booking QX7RTZ confirmed", ["QX7RTZ"]),
        ("Buchungscode: ABCDEF", ["ABCDEF"]),
        ("Réservation n° AB12CD", ["AB12CD"]),
        ("localizador: X7Y8Z9", ["X7Y8Z9"]),
        ("order #305-1234567-1234567", ["305-1234567-1234567"]),
        ("BOOKING UPDATE", []),
        ("Reservation confirmed", []),
    ],
)
def test_a_booking_code_stands_behind_its_word(text: str, codes: list[str]) -> None:
    assert [mention.number for mention in numbers.bookings(Passage("text", text, CONTEXT))] == codes


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("Done. Next one.", ["Done.", "Next one."]),
        ("Rechnung Nr. 45 vom 3. März; bitte zahlen.", ["Rechnung Nr. 45 vom 3. März;", "bitte zahlen."]),
        ("Due date:\n\n20.03.2026\nTotal: 5 EUR", ["Due date:  20.03.2026", "Total: 5 EUR"]),
        ("Due date\n20.03.2026", ["Due date 20.03.2026"]),
        ("bis zum\n31.03. Danach nicht", ["bis zum 31.03.", "Danach nicht"]),
        ("We got 30 EUR, but 20 EUR remain.", ["We got 30 EUR,", "but 20 EUR remain."]),
        ("- one\n- two", ["- one", "- two"]),
        ("Dear all:\n\nthis is a long line that says very much about nothing at all", ["Dear all:",
         "this is a long line that says very much about nothing at all"]),
    ],
)  # fmt: skip
def test_a_clause_is_what_belongs_together(text: str, clauses: list[str]) -> None:
    assert [clause.text for clause in split(text)] == clauses
