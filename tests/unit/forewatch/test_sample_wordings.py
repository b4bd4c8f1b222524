"""The words of the sample household: the same kinds in four languages, and two books of wordings."""

from __future__ import annotations

from datetime import date, time
from decimal import Decimal
from string import Formatter

import pytest

from forewatch.sample import generate
from forewatch.sample.dice import Dice
from forewatch.sample.speech import LANGUAGES, Book, Language, Speaker, phrases

BOOKS: tuple[Book, ...] = ("usual", "fresh")
DATES = ("due", "today", "past", "soon", "expiry", "far", "notice", "end", "from", "date", "later")
TEXTS = (
    "first", "family", "child", "company", "iban", "number", "item", "name", "your", "your_low", "topic", "code", "to",
    "summary", "organizer", "place", "domain",
)  # fmt: skip
SLOTS = {
    **{name: date(2026, 3, 1) for name in DATES},
    **{name: f"<{name}>" for name in TEXTS},
    "amount": Decimal("1234.56"),
    "old": Decimal("9.99"),
    "new": Decimal("11.99"),
    "days": 14,
    "months": 12,
    "time": time(9, 30),
    "old_time": time(8, 15),
}


def kinds(lang: Language, book: Book) -> dict[str, int]:
    """Each kind of letter with the number of its wordings."""
    found = {}
    for name, value in phrases(lang, book).items():
        inner = {f"{name}.{key}": item for key, item in value.items()} if isinstance(value, dict) else {name: value}
        found |= {key: len(item) for key, item in inner.items() if isinstance(item, list) and "text" in item[0]}
    return found


@pytest.mark.parametrize("book", BOOKS)
def test_all_languages_have_as_many_wordings_of_each_kind(book: Book) -> None:
    first, *others = (kinds(lang, book) for lang in LANGUAGES)
    assert len(first) > 30
    assert all(other == first for other in others)


@pytest.mark.parametrize("book", BOOKS)
@pytest.mark.parametrize("lang", LANGUAGES)
def test_every_wording_can_be_filled_in(lang: Language, book: Book) -> None:
    speaker = Speaker.of(lang, Dice(1), book)
    for kind, count in kinds(lang, book).items():
        for index in range(count):
            wording = speaker.word(f"{kind}.{index}", Dice(1), SLOTS)
            said = " ".join([wording.subject, *map(str, wording.blocks)])
            assert "{" not in said, f"{lang} {kind} {index}"


@pytest.mark.parametrize("lang", LANGUAGES)
def test_wordings_that_ask_for_something_name_its_day(lang: Language) -> None:
    days = {
        "invoice": {"due", "days"},
        "document": {"expiry"},
        "contract": {"notice"},
        "trial": {"end"},
        "deadline": {"due"},
    }
    for book in BOOKS:
        for kind, needed in days.items():
            for choice in phrases(lang, book)[kind]:
                fields = {field for _, field, _, _ in Formatter().parse(choice["text"]) if field}
                assert fields & needed, f"{lang} {kind}: {choice['subject']}"


@pytest.mark.parametrize(
    ("lang", "form", "said"),
    [("en", "{comma}", "1.234,56"), ("en", "€{point}", "€1,234.56"), ("fr", "{french} €", "1\u202f234,56\u00a0€")],
)
def test_amounts_are_written_as_the_language_writes_them(lang: Language, form: str, said: str) -> None:
    assert Speaker(lang, "", "", form).money(Decimal("1234.56")) == said


def test_dates_are_written_out_in_the_language() -> None:
    assert Speaker("fr", "{weekday} {day1} {month} {year}", "", "").day(date(2026, 3, 1)) == "dimanche 1er mars 2026"
    assert Speaker("de", "{dd}.{mm}.{year}", "", "").day(date(2026, 3, 1)) == "01.03.2026"
    assert Speaker("es", "", "{day} de {month}", "").short(date(2026, 3, 1)) == "1 de marzo"


def test_fresh_words_tell_the_same_year() -> None:
    usual, fresh = (generate(9, "Europe/Berlin", date(2026, 1, 1), book) for book in BOOKS)
    assert usual.labels == fresh.labels
    changed = sum(one.content != two.content for one, two in zip(usual.drops, fresh.drops, strict=True))
    assert changed > 150
