"""Amounts of bank sources: marks, signs, currencies, and the digits of each currency."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.bank.amounts import decimal_mark, money, number, scan, strict_decimal
from schemas.money import Money

CASES = Path(__file__).parents[2] / "cases" / "bank"


def test_minor_units_follow_iso_4217_and_sums_are_exact() -> None:
    items = json.loads((CASES / "b19_minor_units.json").read_text(), parse_float=Decimal)["items"]
    expected = json.loads((CASES / "b19_minor_units.expected.json").read_text())["amounts"]
    found = []
    for item in items:
        currency = item["currency"]
        minor = item.get("amount_minor")
        total = money(item["amount"], currency) if minor is None else Money.from_minor(minor, currency)
        total += money(item.get("plus", 0), currency)
        found.append(f"{total.amount:f}")
    assert found == expected


def test_a_number_of_json_means_the_decimal_that_it_is_written_as() -> None:
    assert str(money(0.1, "EUR") + money(0.2, "EUR")) == "0.30 EUR"
    assert str(money(5000.0, "JPY")) == "5000 JPY"
    assert str(money("-12.5", "eur")) == "-12.50 EUR"


@pytest.mark.parametrize(
    "amount", [True, None, "", "1e5", "1,5", "NaN", float("nan"), float("inf"), 1e40, [], "9" * 70]
)
def test_what_is_no_amount_of_an_api_is_refused(amount: object) -> None:
    with pytest.raises(ValueError):
        money(amount, "EUR")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [
        ("-8.95000", "EUR", "-8.95 EUR"),
        ("5000.00", "JPY", "5000 JPY"),
        ("1.2", "KWD", "1.200 KWD"),
        ("0.00000", "EUR", "0.00 EUR"),
        ("1.2345", "EUR", "1.2345 EUR"),
        ("100", "EUR", "100.00 EUR"),
    ],
)
def test_money_has_the_digits_of_its_currency(amount: str, currency: str, text: str) -> None:
    assert str(Money.of(amount, currency)) == text


@pytest.mark.parametrize("amount", ["NaN", "Infinity", "1e30", "1" * 40])
def test_what_is_no_amount_of_money_is_an_error(amount: str) -> None:
    with pytest.raises(ValueError):
        Money.of(amount, "EUR")


def test_money_of_two_currencies_has_no_sum() -> None:
    with pytest.raises(ValueError, match="cannot add USD to EUR"):
        Money.of(1, "EUR") + Money.of(1, "USD")


@pytest.mark.parametrize(
    "text",
    ["", "abc", "1-2", "--5", "(5", "5)", "12 34", "1 EUR 2", "12:30", "5%", "x" * 100, "9" * 61, "1/2", "5 apples"],
)
def test_what_is_more_or_less_than_one_amount_is_none(text: str) -> None:
    assert scan(text) is None


@pytest.mark.parametrize("body", ["1.2.3", "1,23,4", "12.34.567,0,1", "1234.567,00"])
def test_digits_that_are_not_grouped_as_amounts_are_an_error(body: str) -> None:
    mark = decimal_mark([body]) or "."
    with pytest.raises(ValueError):
        number(body, mark)


def test_a_contradiction_about_the_decimal_mark_is_seen() -> None:
    assert decimal_mark(["1,234.56", "12,50"]) is None
    assert decimal_mark(["1.234", "2.500"]) == ","
    assert decimal_mark(["1.234", "2.500"], digits=3) == "."
    assert decimal_mark(["0.500"]) == "."
    assert decimal_mark([]) == "."


@given(
    value=st.decimals(Decimal("-9999999999.99"), Decimal("9999999999.99"), places=2),
    grouper=st.sampled_from(["", ",", "'", "’", " ", "\u00a0", "\u202f"]),
    style=st.sampled_from(["-{}", "{}-", "({})", "−{}", "- {}", "{} DR", "EUR -{}", "-{} €"]),
    is_comma=st.booleans(),
)
def test_every_style_of_writing_is_read_back(value: Decimal, grouper: str, style: str, is_comma: bool) -> None:
    grouped = f"{abs(value):,.2f}"
    mark = "," if is_comma else "."
    thousands = "." if (is_comma and grouper == ",") else grouper
    body = grouped.replace(",", "G").replace(".", mark).replace("G", thousands)
    text = style.format(body) if value < 0 else body
    found = scan(text)
    assert found is not None
    is_out = found.negative or found.side == "debit"
    read = number(found.body, decimal_mark([found.body]) or ".")
    assert (-read if is_out else read) == value


def value_or_reason(text: str) -> str:
    try:
        return str(strict_decimal(text))
    except ValueError as error:
        return f"refused: {error}"


@given(st.text(max_size=80))
def test_any_text_is_an_amount_or_is_refused_with_a_reason(text: str) -> None:
    found = value_or_reason(text)
    assert found.startswith("refused: ") or Decimal(found).is_finite()
