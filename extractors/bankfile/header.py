"""The header row of a bank's CSV export: which column is what, in English, German, French and Spanish."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from extractors.bank.amounts import SYMBOLS
from extractors.bankfile.header_words import WORDS, Language, Role
from extractors.facts.calendar_words import plain

_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
_NO_BRACKETS = str.maketrans("()[]", "    ")
_NOTE = re.compile(r"\(([^()]{0,40})\)|\[([^\[\]]{0,40})\]")
_GENDERED = re.compile(r"[*:_]in(?:nen)?\b|[*:_]r\b|/-?in\b")
_CURRENCY_TAIL = re.compile(r"(?: in| en)? (eur|usd|gbp|chf|euros?|jpy|sek|nok|dkk|pln|czk|huf|cad|aud)$")


@dataclass(frozen=True, slots=True)
class Columns:
    """Where each role stands, and what the headings say beside: their language and the currency of the amounts."""

    places: dict[Role, int]
    width: int
    language: Language
    currency: str

    def has(self, *roles: Role) -> bool:
        return any(role in self.places for role in roles)

    @property
    def is_usable(self) -> bool:
        """Whether rows can be read: they need a day and an amount."""
        return self.has("booked", "date", "value") and self.has("amount", "debit", "credit", "net")


def folded(heading: str) -> str:
    """One form of a heading: no case, accents, punctuation, notes in parentheses or gender marks."""
    text = _GENDERED.sub("", _NOTE.sub(" ", heading).translate(_UMLAUTS))
    return " ".join(re.sub(r"[\W_]+", " ", plain(text)).split())


def _index() -> dict[str, list[tuple[Role, int, Language]]]:
    found: dict[str, list[tuple[Role, int, Language]]] = {}
    for role, languages in WORDS.items():
        for language, words in languages.items():
            for rank, word in enumerate(words.split("|")):
                found.setdefault(word, []).append((role, rank, language))
    return found


_INDEX = _index()
_AMOUNT_ROLES: frozenset[Role] = frozenset(["amount", "debit", "credit", "balance", "net"])


def columns(cells: Sequence[str]) -> Columns:
    """The best column for each role. A word with two roles is the one that no other column has."""
    ranked: dict[Role, tuple[int, int]] = {}
    votes: dict[Language, int] = dict.fromkeys(("en", "de", "fr", "es"), 0)
    currency = ""
    for place, heading in enumerate(cells[:200]):
        if len(heading) > 80:
            continue
        word, told = _without_currency(heading)
        meanings = _INDEX.get(word, [])
        for role, rank, language in meanings:
            votes[language] += len({each[2] for each in meanings}) == 1
            if role not in ranked or rank < ranked[role][0]:
                ranked[role] = (rank, place)
        if told and any(role in _AMOUNT_ROLES for role, _, _ in meanings):
            currency = currency or told
    language = max(votes, key=lambda each: votes[each])
    places = {role: place for role, (_, place) in ranked.items()}
    return Columns(_with_others_account(places), len(cells), language, currency)


def _with_others_account(places: dict[Role, int]) -> dict[Role, int]:
    """An account number right behind the payee is the payee's, not the owner's."""
    account = places.get("account")
    if account is not None and account - 1 in (places.get("payee"), places.get("payer")):
        places = {role: place for role, place in places.items() if role != "account"}
        places.setdefault("iban", account)
    return places


def _without_currency(heading: str) -> tuple[str, str]:
    """The heading in its one form, and the currency that it names: Amount (EUR), Betrag in EUR, Montant (€)."""
    note = _NOTE.search(heading)
    told = _currency((note.group(1) or note.group(2) or "") if note else "")
    if note and (whole := folded(heading.translate(_NO_BRACKETS))) in _INDEX:
        return whole, told
    word = folded(heading)
    if word not in _INDEX and (tail := _CURRENCY_TAIL.search(word)):
        return word[: tail.start()], told or _currency(tail.group(1))
    return word, told


def _currency(text: str) -> str:
    word = text.strip().upper()
    return SYMBOLS.get(word, word if re.fullmatch("[A-Z]{3}", word) else "")
