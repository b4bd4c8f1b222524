"""The names of months, weekdays and small numbers in English, German, French and Spanish."""

from __future__ import annotations

import re
import unicodedata

_MONTHS = (
    "january jan januar jänner janvier janv enero ene",
    "february feb februar feber février févr fév febrero",
    "march mar märz mär mrz maerz mars marzo",
    "april apr avril avr abril abr",
    "may mai mayo",
    "june jun juni juin junio",
    "july jul juli juillet juil julio",
    "august aug août agosto ago",
    "september sept sep septembre septiembre setiembre",
    "october oct oktober okt octobre octubre",
    "november nov novembre noviembre",
    "december dec dezember dez décembre déc diciembre dic",
)
_WEEKDAYS = (
    "monday mon montag mo lundi lun lunes",
    "tuesday tue tues dienstag di mardi martes",
    "wednesday wed mittwoch mi mercredi mer miércoles mié",
    "thursday thu thur thurs donnerstag do jeudi jeu jueves jue",
    "friday fri freitag fr vendredi ven viernes vie",
    "saturday sat samstag sonnabend sa samedi sam sábado sáb",
    "sunday sun sonntag so dimanche dim domingo dom",
)
_NUMBERS = (
    "a an one ein eine einem einen einer eines un une una uno",
    "two zwei deux dos",
    "three drei trois tres",
    "four vier quatre cuatro",
    "five fünf cinq cinco",
    "six sechs seis",
    "seven sieben sept siete",
    "eight acht huit ocho",
    "nine neun neuf nueve",
    "ten zehn dix diez",
    "eleven elf onze once",
    "twelve zwölf douze doce",
    "thirteen dreizehn treize trece",
    "fourteen vierzehn quatorze catorce",
    "fifteen fünfzehn quinze quince",
)


def plain(word: str) -> str:
    """Lower case, without accents: février and FEVRIER are one word."""
    return "".join(c for c in unicodedata.normalize("NFKD", word.lower()) if not unicodedata.combining(c))


def _table(rows: tuple[str, ...], first: int) -> dict[str, int]:
    return {plain(word): number for number, row in enumerate(rows, first) for word in row.split()}


def _choice(rows: tuple[str, ...], shortest: int = 1) -> str:
    """A regex group of all these words, with and without accents, the longest first."""
    words = {form for row in rows for word in row.split() for form in (word, plain(word)) if len(form) >= shortest}
    return "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))


_MONTH_NUMBERS = _table(_MONTHS, 1)
_WEEKDAY_NUMBERS = _table(_WEEKDAYS, 0)
_SMALL_NUMBERS = _table(_NUMBERS, 1)

MONTH = rf"(?:{_choice(_MONTHS)})(?![^\W\d_])"
WEEKDAY = rf"(?:{_choice(_WEEKDAYS)})(?![^\W\d_])"
LONG_WEEKDAY = rf"(?:{_choice(_WEEKDAYS, shortest=5)})(?![^\W\d_])"
"""Only names that mean nothing else: "so" and "do" are words."""
NUMBER = rf"(?:\d{{1,3}}|(?:{_choice(_NUMBERS)})(?![^\W\d_]))"


def month(name: str) -> int:
    """1 to 12."""
    return _MONTH_NUMBERS[plain(name)]


def weekday(name: str) -> int:
    """0 is Monday."""
    return _WEEKDAY_NUMBERS[plain(name)]


def number(word: str) -> int:
    return int(word) if word.isdigit() else _SMALL_NUMBERS[plain(word)]
