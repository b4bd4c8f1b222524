"""Templates of titles, goals and keys: ``{{ path or path | filter }}``; nothing else, and no markup in the result."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol
from zoneinfo import ZoneInfo

from rules.cel.runtime import Cash, is_money
from rules.language import ConditionError
from schemas.suggest import did_you_mean


class Values(Protocol):
    """Values by name, as expressions read them."""

    def get(self, name: str, /) -> Any:
        """None where there is none."""
        ...


_HOLE = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_PATH = re.compile(r"[a-z_][a-z0-9_]*(\.[a-z_][a-z0-9_]*)*", re.IGNORECASE)
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"))
"""Unicode categories of what is not seen: controls, direction marks, zero-width, surrogates, private, unassigned."""
_MARKUP = str.maketrans(dict.fromkeys("<>`"))


def plain(text: str, limit: int) -> str:
    """One line of visible characters without markup; what is longer ends in '…'."""
    visible = text
    if not (text.isascii() and text.isprintable()):
        spaced = "".join(" " if char in "\t\r\n" else char for char in text)
        visible = "".join(char for char in spaced if unicodedata.category(char) not in _UNSEEN)
    line = " ".join(visible.translate(_MARKUP).split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def show(value: Any, zone: ZoneInfo) -> str:
    """A value as a person reads it; a local day (midnight in the zone) as a date."""
    if is_money(value):
        return f"{value.amount:f} {value.currency}"
    if isinstance(value, datetime):
        local = value.astimezone(zone)
        return local.strftime("%Y-%m-%d") if (local.hour, local.minute) == (0, 0) else local.strftime("%Y-%m-%d %H:%M")
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, (list, tuple)):
        return ", ".join(str(item) for item in value)
    return str(value)


def _money(value: Any, zone: ZoneInfo, argument: str) -> str:
    return f"{value.amount:,f} {value.currency}" if is_money(value) else show(value, zone)


def _date(value: Any, zone: ZoneInfo, argument: str) -> str:
    if not isinstance(value, datetime):
        return show(value, zone)
    local = value.astimezone(zone)
    return f"{local.day} {MONTHS[local.month - 1]} {local.year}"


def _day(value: Any, zone: ZoneInfo, argument: str) -> str:
    if not isinstance(value, datetime):
        return show(value, zone)
    local = value.astimezone(zone)
    return f"{DAYS[local.weekday()]} {local.day} {MONTHS[local.month - 1]}"


def _time(value: Any, zone: ZoneInfo, argument: str) -> str:
    return value.astimezone(zone).strftime("%H:%M") if isinstance(value, datetime) else show(value, zone)


def _truncate(value: Any, zone: ZoneInfo, argument: str) -> str:
    return plain(show(value, zone), int(argument or 60))


def _absolute(value: Any, zone: ZoneInfo, argument: str) -> str:
    return show(Cash(abs(value.amount), value.currency) if is_money(value) else value, zone)


_Filter = Callable[[Any, ZoneInfo, str], str]

FILTERS: dict[str, _Filter] = {
    "date": _date,
    "day": _day,
    "time": _time,
    "money": _money,
    "abs": _absolute,
    "lower": lambda value, zone, argument: show(value, zone).lower(),
    "truncate": _truncate,
}


@dataclass(frozen=True, slots=True)
class Hole:
    """Alternatives (the first that has a value counts) and what to do with it."""

    paths: tuple[str, ...]
    filters: tuple[tuple[str, str], ...] = ()

    def fill(self, values: Values, zone: ZoneInfo) -> str:
        found = (values.get(path) for path in self.paths)
        value: Any = next((value for value in found if value is not None and value != ""), None)
        if value is None:
            return ""
        for name, argument in self.filters:
            value = FILTERS[name](value, zone, argument)
        return show(value, zone)


class Template:
    """``render`` gives plain text of at most ``limit`` characters; a path without a value gives nothing."""

    def __init__(self, parts: Iterable[str | Hole], limit: int) -> None:
        self._parts = tuple(parts)
        self._limit = limit

    def render(self, values: Values, zone: ZoneInfo) -> str:
        texts = (part if isinstance(part, str) else part.fill(values, zone) for part in self._parts)
        return plain("".join(texts), self._limit)

    def paths(self) -> Iterable[str]:
        return (path for part in self._parts if isinstance(part, Hole) for path in part.paths)


def parse_template(source: str, canonical: Mapping[str, str], limit: int) -> Template:
    """``canonical`` maps every name that may be used to the name its value is stored under."""
    parts: list[str | Hole] = []
    at = 0
    for found in _HOLE.finditer(source):
        parts += [source[at : found.start()], _hole(found, canonical)]
        at = found.end()
    rest = source[at:]
    if "{{" in rest or "}}" in rest:
        raise ConditionError("'{{' and '}}' do not match", (), offset=at, remedy="write {{ path }}")
    return Template((*parts, rest), limit)


def _hole(found: re.Match[str], canonical: Mapping[str, str]) -> Hole:
    paths, *filters = (part.strip() for part in found.group(1).split("|"))
    return Hole(parse_paths(paths, canonical, found.start()), tuple(_filter(text, found.start()) for text in filters))


def parse_paths(text: str, canonical: Mapping[str, str], offset: int = 0) -> tuple[str, ...]:
    """``a or b``."""
    names = [name.strip() for name in re.split(r"\s+or\s+", text.strip())]
    for name in names:
        if not _PATH.fullmatch(name):
            raise ConditionError(f"not a path: {name!r}", (), offset=offset, remedy="write such as party.name")
        if name not in canonical:
            remedy = did_you_mean(name, canonical)
            raise ConditionError(f"unknown field {name!r}", (), offset=offset, remedy=remedy)
    return tuple(canonical[name] for name in names)


def _filter(text: str, offset: int) -> tuple[str, str]:
    name, _, argument = text.partition("(")
    name, argument = name.strip(), argument.rstrip(") ").strip()
    if name not in FILTERS:
        raise ConditionError(f"unknown filter {name!r}", (), offset=offset, remedy=did_you_mean(name, FILTERS))
    if argument and not (name == "truncate" and argument.isdecimal() and 1 <= int(argument[:6]) <= 300):
        raise ConditionError(f"the filter {name!r} cannot take {argument!r}", (), offset=offset)
    return name, argument


class Key:
    """What one firing is about, as one text: the parts joined by '|'; a part without a value is the event's subject."""

    def __init__(self, parts: Iterable[Template]) -> None:
        self._parts = tuple(parts)

    def of(self, values: Values, subject: str, zone: ZoneInfo) -> str:
        texts = [part.render(values, zone) or subject for part in self._parts]
        return "|".join(texts) if texts else subject


def parse_key(parts: Iterable[str], canonical: Mapping[str, str]) -> Key:
    """Each part is a template, or alternatives of paths."""
    made: list[Template] = []
    for number, part in enumerate(parts):
        try:
            if "{{" in part:
                made.append(parse_template(part, canonical, 500))
            else:
                made.append(Template([Hole(parse_paths(part, canonical))], 500))
        except ConditionError as error:
            raise error.under(number) from error
    return Key(made)
