"""Words and phrases of a text, whole words in any case."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORD = re.compile(r"\w+")


FOLD = bytes(
    c if chr(c).isalnum() or c in (ord("_"), *range(128, 256)) else ord(" ") for c in bytes(range(256)).lower()
)
"""ASCII in lower case, with spaces for all that is no part of a word."""


TOKENS = "({v}.encode().translate(FOLD).split() if {v}.isascii() else all_words({v}.lower()))"
"""Code for the words of a text in lower case: as bytes if the text is ASCII (four times as quick), else as texts."""
all_words = _WORD.findall


def both_forms(word: str) -> tuple[str | bytes, ...]:
    """How ``TOKENS`` may give the word."""
    return (word, word.encode()) if word.isascii() else (word,)


class WordSet:
    """``found(text)``: whether any of the words or phrases stands in the text."""

    def __init__(self, phrases: Iterable[str]) -> None:
        self.phrases = tuple(" ".join(_WORD.findall(phrase.lower())) for phrase in phrases)
        self.single = frozenset(phrase for phrase in self.phrases if " " not in phrase)
        self._several = tuple(f" {phrase} " for phrase in self.phrases if " " in phrase)

    def first_words(self) -> frozenset[str]:
        """Words of which at least one stands in every text that is found."""
        return frozenset(phrase.partition(" ")[0] for phrase in self.phrases)

    def found(self, text: str | None) -> bool:
        if not text:
            return False
        words = _WORD.findall(text.lower())
        if not self.single.isdisjoint(words):
            return True
        line = f" {' '.join(words)} " if self._several else ""
        return any(phrase in line for phrase in self._several)
