"""Places: towns that locations name, and words that only look like one."""

from __future__ import annotations

import pytest

from rules.places import are_apart, town


@pytest.mark.parametrize(
    ("location", "expected"),
    [
        ("12 Mill Lane, Wexcombe", "wexcombe"),
        ("Mühlweg 12, Dornau", "dornau"),
        ("Mühlweg 12, 10115 Berlin", "berlin"),
        ("Rathaus, Ring 3, D-04109 Leipzig, Deutschland", "leipzig"),
        ("12 chemin du Moulin, 69001 Lyon, France", "lyon"),
        ("Camino del Molino 12, 28001 Madrid", "madrid"),
        ("Keizersgracht 5; 1015 CJ Amsterdam; Netherlands", "amsterdam"),
        ("10 Downing Street, London SW1A 2AA, UK", "london"),
        ("10 Downing Street, London, SW1A 2AA", "london"),
        ("St. Mary's School, 5 High Street, King's Lynn", "king's lynn"),
    ],
)
def test_a_town_stands_behind_a_postcode_or_a_street_with_a_number(location: str, expected: str) -> None:
    assert town(location) == expected


@pytest.mark.parametrize(
    "location",
    [
        "", "Online", "https://meet.example/abc, 10115 Berlin", "Zoom, 12 Mill Lane, Wexcombe", "Town hall, room 2",
        "Room 2, Annexe", "Büro, 3. Stock", "Zimmer 4, Rathaus", "12 Mill Lane", "École, salle des fêtes",
        "Oficina, 3.ª planta", "Telefon", "Bureau, 3e étage", "Gate 12, Terminal",
    ],
)  # fmt: skip
def test_where_no_town_is_named_for_sure_there_is_none(location: str) -> None:
    assert town(location) == ""


def test_what_is_not_known_is_not_apart() -> None:
    assert are_apart("12 Mill Lane, Wexcombe", "3 High Street, Thornby")
    assert not are_apart("12 Mill Lane, Wexcombe", "3 High Street, Wexcombe")
    assert not are_apart("12 Mill Lane, Wexcombe", "Online")
    assert not are_apart("Mühlweg 12, 10115 Berlin", "Ring 3, 10999 Berlin Kreuzberg")
