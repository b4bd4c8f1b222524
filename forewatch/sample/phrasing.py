"""The nouns of the phrase files: what a company charges for, which documents and contracts there are."""

from __future__ import annotations

from collections.abc import Mapping

from forewatch.sample.cast import Company
from forewatch.sample.dice import Dice
from forewatch.sample.speech import Language, phrases


def items_of(company: Company, dice: Dice, child: str) -> str:
    """Something that this company charges for."""
    known = phrases(company.lang)["items"]
    item: str = dice.pick(known.get(company.trade, known["shop"]))
    return item.format(child=child)


def thing(kind: str, lang: Language, dice: Dice) -> Mapping[str, str]:
    """One of the ``documents`` or ``contracts`` of a language."""
    chosen: Mapping[str, str] = dice.pick(phrases(lang)[kind])
    return chosen


def mid_sentence(text: str, lang: Language) -> str:
    """Without the capital of a sentence's first word; German keeps it in the polite Ihr."""
    return text if lang == "de" and text.startswith("Ihr") else text[:1].lower() + text[1:]
