"""Merchant names that stay the same whatever a bank writes around them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.bank.merchant import merchant


@pytest.mark.parametrize(
    ("stable", "names"),
    [
        ("amzn-mktp", ["AMZN Mktp DE*1A2B", "AMZN MKTP DE*9ZZ08", "Amzn Mktp DE", "AMZN MKTP"]),
        ("spotify", ["PAYPAL *SPOTIFY", "PayPal *Spotify 4029357733", "SPOTIFY AB*P12345", "Spotify 12.03."]),
        ("lidl", ["LIDL 0423 MUENCHEN", "Lidl 1188 Berlin DE", "LIDL//HAMBURG/DE", "KARTENZAHLUNG LIDL 0423"]),
        ("baeckerei-mueller", ["Bäckerei Müller", "BAECKEREI MUELLER GMBH", "Bäckerei Müller GmbH & Co. KG"]),
        ("uber-trip", ["UBER *TRIP 3F4G", "Uber *Trip HELP.UBER.COM", "UBER* TRIP"]),
        ("boulangerie-paul", ["CARTE 02/03/26 BOULANGERIE PAUL", "PAIEMENT CB BOULANGERIE PAUL 75011"]),
        ("netflix-com", ["VISA 1234XXXX5678 NETFLIX.COM", "NETFLIX.COM 866-579-7172", "netflix.com"]),
        ("mcdonalds", ["McDonald's 1234", "MCDONALDS", "McDonald’s #77 Köln"]),
        ("cafe-uno", ["SumUp *Cafe Uno", "SUMUP  *CAFE UNO", "Café Uno"]),
        ("7-eleven", ["7-ELEVEN 34567 NYC", "7-Eleven"]),
        ("1-1-internet", ["1&1 Internet SE", "1&1 INTERNET"]),
    ],
)
def test_one_merchant_has_one_name(stable: str, names: list[str]) -> None:
    assert {merchant(name) for name in names} == {stable}


def test_different_merchants_stay_different() -> None:
    names = ["REWE", "EDEKA", "Amazon Prime", "Amazon", "PAYPAL *NETFLIX", "PAYPAL *SPOTIFY", "O2", "E.ON", "H&M"]
    assert len({merchant(name) for name in names}) == len(names)


def test_a_name_of_noise_alone_is_kept() -> None:
    assert [merchant(name) for name in ("12345", "GmbH", "Visa", "", "***", "\u200b")] == [
        "12345", "gmbh", "visa", "", "", "",
    ]  # fmt: skip


@given(st.text(max_size=120))
def test_the_stable_form_is_stable_and_plain(name: str) -> None:
    found = merchant(name)
    assert merchant(found) == found
    assert " " not in found
    assert found == found.lower()
