"""Two spellings of one destination are one, and two destinations are never one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from actions.policy.acts import Acts
from actions.policy.destination import canonical
from actions.policy.identifiers import canonical as identified
from actions.policy.identifiers import strip
from actions.policy.permission import Permission, Standing, Wanted, covering
from schemas.value import Value

NOW = datetime(2026, 3, 2, 8, tzinfo=UTC)

SAME = [
    ("Url", "HTTPS://Office.Example/Renew?Case=7", "https://office.example/Renew?Case=7"),
    ("Url", "https://Office.Example", "https://office.example"),
    ("Url", "https://Office.Example?Case=7", "https://office.example?Case=7"),
    ("Url", " https://office.example/a ", "https://office.example/a"),
    ("Email", "Landlord@Example.org", "landlord@example.org"),
    ("Iban", "de89 3704 0044 0532 0130 00", "DE89370400440532013000"),
]
OTHER = [
    ("Url", "https://office.example/Renew", "https://office.example/renew"),
    ("Url", "https://office.example/?case=A", "https://office.example/?case=a"),
    ("Url", "https://office.example#A", "https://office.example#a"),
    ("Url", "https://office.example?to=Ann@x", "https://office.example?to=ann@x"),
    ("Url", "https://Ann@office.example/", "https://ann@office.example/"),
    ("Url", "https://stra\u00dfe.example/", "https://strasse.example/"),
    ("Url", "http://office.example/", "https://office.example/"),
    ("Url", "https://office.example/", "https://office.example:8443/"),
    ("Url", "https://pay-pal.example/", "https://paypal.example/"),
    ("Email", "land-lord@example.org", "landlord@example.org"),
    ("Email", "landlord@example.org", "landlord@example.org.evil.example"),
    ("MessageId", "<A@example.org>", "<a@example.org>"),
]


@pytest.mark.parametrize(("type_", "one", "other"), SAME)
def test_spellings_of_one_destination_are_one(type_: str, one: str, other: str) -> None:
    assert canonical(Value(v=one, type=type_)) == canonical(Value(v=other, type=type_))


@pytest.mark.parametrize(("type_", "one", "other"), OTHER)
def test_two_destinations_are_two(type_: str, one: str, other: str) -> None:
    assert canonical(Value(v=one, type=type_)) != canonical(Value(v=other, type=type_))


@pytest.mark.parametrize(("type_", "one", "other"), [each for each in [*SAME, *OTHER] if each[0] == "Url"])
def test_a_permission_covers_the_same_address_and_no_other(type_: str, one: str, other: str) -> None:
    made = Permission(
        id="p", tool="web.submit", type=type_, to=canonical(Value(v=one, type=type_)),
        expires_at=NOW + timedelta(days=1), by="me", made_at=NOW,
    )  # fmt: skip
    wanted = Wanted("s1", "web.submit", frozenset({(type_, canonical(Value(v=other, type=type_)))}), None)
    assert bool(covering([Standing(made)], Acts(), wanted, NOW)) == ((type_, one, other) in SAME)


@pytest.mark.parametrize(
    ("trusted", "outside"),
    [
        ("https://office.example/Renew", "https://office.example/renew"),
        ("https://office.example/a-b", "https://office.example/ab"),
        ("https://office.example/a(b)c", "https://office.example/abc"),
        ("www.paypal.com", "www.pay-pal.com"),
        ("landlord@example.org", "land-lord@example.org"),
    ],
)
def test_what_may_stay_in_a_letter_lets_no_other_address_stay(trusted: str, outside: str) -> None:
    assert strip(f"go to {trusted}", {identified(trusted)}) == (f"go to {trusted}", ())
    left, removed = strip(f"go to {outside}", {identified(trusted)})
    assert outside not in left
    assert [one.text for one in removed] == [outside]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("HTTPS://Office.Example/Renew", "https://office.example/Renew"),
        ("(https://office.example/Renew)", "https://office.example/Renew."),
        ("office[.]example/a", "Office.Example/a"),
        ("Landlord@Example.org", "landlord@example.org,"),
        ("+49 30 1234-567", "+49301234567"),
        ("de89 3704-0044 0532 0130 00", "DE89370400440532013000"),
        ("Haupt-Stra\u00dfe 5", "hauptstra\u00dfe 5"),
    ],
)
def test_spellings_of_one_identifier_are_one(one: str, other: str) -> None:
    assert identified(one.lstrip("(")) == identified(other)
