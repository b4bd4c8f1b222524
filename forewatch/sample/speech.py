"""How somebody writes: wordings from the phrase files, with dates and amounts in that language and house style."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, time
from decimal import Decimal
from functools import lru_cache
from importlib import resources
from typing import Any, Literal

from forewatch.sample.dice import Dice

Language = Literal["en", "de", "fr", "es"]
Book = Literal["usual", "fresh"]
"""fresh: other wordings for what matters most, which nobody who writes extractors has read."""
LANGUAGES: tuple[Language, ...] = ("en", "de", "fr", "es")

Value = str | int | date | time | Decimal
Block = str | tuple[tuple[str, str], ...]
"""A paragraph, or a table of labels and values."""


@lru_cache(maxsize=2 * len(LANGUAGES))
def phrases(lang: Language, book: Book = "usual") -> Mapping[str, Any]:
    """The phrase file of a language; in a fresh book some kinds of letters are worded anew."""
    folder = resources.files("forewatch.sample").joinpath("phrases")
    usual = tomllib.loads(folder.joinpath(f"{lang}.toml").read_text("utf-8"))
    more = tomllib.loads(folder.joinpath("open_ends", f"{lang}.toml").read_text("utf-8"))
    usual |= more | {"calendar": usual["calendar"] | more["calendar"]}
    if book == "usual":
        return usual
    return {**usual, **tomllib.loads(folder.joinpath(book, f"{lang}.toml").read_text("utf-8"))}


@dataclass(frozen=True, slots=True)
class Wording:
    """One way to say something, ready for a letter."""

    subject: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class Speaker:
    """A language with one way of writing dates and amounts: a company has one, a person has one."""

    lang: Language
    date_form: str
    short_form: str
    money_form: str
    book: Book = "usual"

    @classmethod
    def of(cls, lang: Language, dice: Dice, book: Book = "usual") -> Speaker:
        words = phrases(lang)["words"]
        forms = (dice.pick(words["dates"]), dice.pick(words["short_dates"]), dice.pick(words["amounts"]))
        return cls(lang, *forms, book)

    def words(self, name: str) -> Any:
        return phrases(self.lang)["words"][name]

    def choices(self, kind: str) -> Sequence[Mapping[str, str]]:
        """The wordings of a kind. ``booking.flight`` names a nested kind, ``price_quiet.0`` one wording of several."""
        found: Any = phrases(self.lang, self.book)
        for part in kind.split("."):
            found = [found[int(part)]] if part.isdigit() else found[part]
        return found  # type: ignore[no-any-return]  # TOML

    def day(self, day: date) -> str:
        return self._fill_date(self.date_form, day)

    def short(self, day: date) -> str:
        """Without the year, as people write it."""
        return self._fill_date(self.short_form, day)

    def money(self, amount: Decimal) -> str:
        """Euros, with the separators of the language."""
        point = f"{amount:,.2f}"
        comma = point.translate(str.maketrans(",.", ".,"))
        french = point.replace(",", "\u202f").replace(".", ",")
        space = "\u00a0" if self.lang == "fr" else " "
        text = self.money_form.format(point=point, comma=comma, french=french)
        return text.replace(" ", space)

    def clock(self, at: time) -> str:
        return str(self.words("clock")).format(hh=f"{at:%H}", mi=f"{at:%M}")

    def say(self, template: str, slots: Mapping[str, Value]) -> str:
        return template.format_map({name: self._text(value) for name, value in _with_short(slots, self).items()})

    def word(self, kind: str, dice: Dice, slots: Mapping[str, Value]) -> Wording:
        """One of the wordings of this kind, filled in."""
        choice = dice.pick(self.choices(kind))
        texts = {name: self._text(value) for name, value in _with_short(slots, self).items()}
        subject = choice.get("subject", "").format_map(texts)
        paragraphs = choice["text"].strip().split("\n\n")
        return Wording(_capital(subject), tuple(_block(paragraph.format_map(texts)) for paragraph in paragraphs))

    def _text(self, value: Value) -> str:
        match value:
            case Decimal():
                return self.money(value)
            case date():
                return self.day(value)
            case time():
                return self.clock(value)
            case _:
                return str(value)

    def _fill_date(self, form: str, day: date) -> str:
        month: str = self.words("months")[day.month - 1]
        return form.format(
            day=day.day,
            day1="1er" if day.day == 1 else day.day,
            dd=f"{day.day:02d}",
            m=day.month,
            mm=f"{day.month:02d}",
            month=month,
            mon=month[:3],
            year=day.year,
            weekday=self.words("weekdays")[day.weekday()],
        )


def _with_short(slots: Mapping[str, Value], speaker: Speaker) -> dict[str, Value]:
    """Every date ``x`` can also be written as ``x_short``."""
    short = {f"{name}_short": speaker.short(value) for name, value in slots.items() if isinstance(value, date)}
    return {**slots, **short}


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _block(paragraph: str) -> Block:
    lines = paragraph.split("\n")
    if all(" | " in line for line in lines):
        return tuple((label, value) for label, value in (line.split(" | ", 1) for line in lines))
    return " ".join(lines)
