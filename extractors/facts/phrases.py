"""Vocabularies: lists of phrases of several languages, found as one pattern."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache


class Phrases:
    """Finds its phrases in any case. They are matched against the text in lower case, which lets the regex engine
    skip most alternatives by their first letter: several times faster than ignoring case."""

    def __init__(self, pattern: str) -> None:
        self._pattern = re.compile(pattern)

    def search(self, text: str) -> re.Match[str] | None:
        """Offsets of the match are those of the text; its groups are in lower case."""
        return self._pattern.search(lowered(text))

    def match(self, text: str) -> re.Match[str] | None:
        return self._pattern.match(lowered(text))

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self._pattern.finditer(lowered(text))


def phrases(*lines: str) -> Phrases:
    """Whole words; a space in a phrase is any white space in the text.

    Each line holds regex alternatives in lower case; by convention one line (or more) a language. The longest does not
    win, the first does: put longer phrases first where it matters.
    """
    return Phrases(rf"(?<!\w)(?:{_joined(lines)})(?!\w)")


def stems(*lines: str) -> Phrases:
    """Like ``phrases``, but a word may go on behind the phrase: ``pag`` finds pagar, pago and pague."""
    return Phrases(rf"(?<!\w)(?:{_joined(lines)})")


@lru_cache(maxsize=256)
def lowered(text: str) -> str:
    """Lower case of the same length: the few characters that become two stay as they are."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(small if len(small := character.lower()) == 1 else character for character in text)


def _joined(lines: tuple[str, ...]) -> str:
    return "|".join(lines).replace(" ", r"\s")
