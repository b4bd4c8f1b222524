"""Edits of an iCalendar file as text: only the lines that change are touched, every other byte stays."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from schemas.errors import StepFailed

_END = re.compile(r"^END:VCALENDAR[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
_FOLD = re.compile(r"\r?\n[ \t]")
_BLOCKS = {
    name: re.compile(rf"^BEGIN:{name}[ \t]*\r?\n.*?^END:{name}[ \t]*\r?\n", re.MULTILINE | re.DOTALL | re.IGNORECASE)
    for name in ("VEVENT", "VTODO")
}
EMPTY = "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Forewatch//EN\r\nEND:VCALENDAR\r\n"


@dataclass(frozen=True, slots=True)
class Block:
    """One VEVENT or VTODO: where it stands in the text, and its unfolded properties, outermost level only."""

    start: int
    end: int
    lines: tuple[tuple[str, str, str], ...]
    """Name, parameters (with their ``;``), value."""

    def value(self, name: str) -> str | None:
        return next((value for found, _, value in self.lines if found == name), None)

    def has(self, name: str) -> bool:
        return self.value(name) is not None


def blocks(text: str, component: str = "VEVENT") -> list[Block]:
    return [Block(m.start(), m.end(), tuple(_properties(m[0]))) for m in _BLOCKS[component].finditer(text)]


def with_value(text: str, name: str, value: str) -> list[Block]:
    return [block for block in blocks(text) if block.value(name) == value]


def inserted(text: str, lines: list[str], component: str = "VEVENT") -> str:
    """A component of these content lines before the end of the calendar. StepFailed for what is no calendar."""
    ends = list(_END.finditer(text))
    if not ends:
        raise StepFailed(
            "the file is not an iCalendar file", code="invalid", remedy="point the setting at an .ics file"
        )
    newline = _newline(text)
    event = newline.join(fold(line, newline) for line in [f"BEGIN:{component}", *lines, f"END:{component}"]) + newline
    at = ends[-1].start()
    return text[:at] + event + text[at:]


def with_properties(text: str, block: Block, changes: dict[str, str]) -> str:
    """The text with properties of one event replaced (name -> whole content line) or added at its end."""
    newline = _newline(text)
    kept: list[str] = []
    left = dict(changes)
    depth = 0
    for raw in _raw_lines(text[block.start : block.end]):
        name = re.split("[:;]", raw, maxsplit=1)[0].strip().upper()
        depth += {"BEGIN": 1, "END": -1}.get(name, 0)
        if depth == 1 and name in left:
            kept.append(fold(left.pop(name), newline) + newline)
        elif depth == 0:
            kept += [fold(line, newline) + newline for line in left.values()] + [raw]
        else:
            kept.append(raw)
    return text[: block.start] + "".join(kept) + text[block.end :]


def without(text: str, block: Block, *names: str) -> str:
    """The text with these properties of one event left out."""
    kept: list[str] = []
    depth = 0
    for raw in _raw_lines(text[block.start : block.end]):
        name = re.split("[:;]", raw, maxsplit=1)[0].strip().upper()
        depth += {"BEGIN": 1, "END": -1}.get(name, 0)
        if depth != 1 or name not in names:
            kept.append(raw)
    return text[: block.start] + "".join(kept) + text[block.end :]


def with_attendee(text: str, block: Block, address: str, answer: str) -> str:
    """The text with the PARTSTAT of this attendee changed; their RSVP goes, every other byte stays."""
    newline = _newline(text)
    kept: list[str] = []
    for raw in _raw_lines(text[block.start : block.end]):
        line = _FOLD.sub("", raw).rstrip("\r\n")
        head, _, value = _split(line)
        name, *params = _parameters(head)
        if name.strip().upper() == "ATTENDEE" and value.strip().lower() == f"mailto:{address.lower()}":
            params = [each for each in params if each.partition("=")[0].upper() not in ("PARTSTAT", "RSVP")]
            line = ";".join([name, *params, f"PARTSTAT={answer.upper()}"]) + f":{value}"
            raw = fold(line, newline) + newline
        kept.append(raw)
    return text[: block.start] + "".join(kept) + text[block.end :]


def _parameters(head: str) -> list[str]:
    """At the semicolons that are not inside of a quoted value."""
    return re.split(r";(?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", head)


def unescaped(text: str) -> str:
    """The reverse of ``escaped``."""
    return re.sub(r"\\(.)", lambda match: "\n" if match[1] in "nN" else match[1], text)


def parameter(params: str, name: str) -> str:
    """Of ``;NAME=value;...``; "" where it is not there."""
    for each in _parameters(params)[1:]:
        found, _, value = each.partition("=")
        if found.strip().upper() == name:
            return value.strip().strip('"')
    return ""


def instant(params: str, value: str, floating: ZoneInfo) -> datetime:
    """The instant of a DTSTART or DTEND; a date is the start of its day. StepFailed for what is neither."""
    try:
        if len(value) == 8:
            day = datetime.strptime(value, "%Y%m%d")  # noqa: DTZ007  # a calendar's date has no zone
            return day.replace(tzinfo=floating).astimezone(UTC)
        if value.endswith("Z"):
            return datetime.strptime(value, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
        wall = datetime.strptime(value, "%Y%m%dT%H%M%S")  # noqa: DTZ007  # its zone follows
    except ValueError as error:
        raise StepFailed(f"the entry has an unreadable time {value!r}", code="invalid") from error
    return wall.replace(tzinfo=_zone(params) or floating).astimezone(UTC)


def moved(block: Block, start: datetime, floating: ZoneInfo) -> dict[str, str]:
    """DTSTART and DTEND as they are after a move. Whole days move by days, whatever DST does; the rest by time."""
    times = {name: (params, value) for name, params, value in block.lines if name in ("DTSTART", "DTEND")}
    if "DTSTART" not in times:
        raise StepFailed("the entry has no start", code="invalid")
    before = instant(*times["DTSTART"], floating)
    days = start.astimezone(floating).date() - before.astimezone(floating).date()
    lines = {}
    for name, (params, value) in times.items():
        if len(value) == 8:
            day = instant(params, value, floating).astimezone(floating).date() + days
            lines[name] = f"{name};VALUE=DATE:{day:%Y%m%d}"
        else:
            moment = instant(params, value, floating) + (start - before)
            lines[name] = _stamped(name, params, value, moment, floating)
    return lines


def _stamped(name: str, params: str, old: str, moment: datetime, floating: ZoneInfo) -> str:
    """A time in the form that the old one had: UTC, with the same TZID, or floating."""
    zone = _zone(params)
    if old.endswith("Z") or ("TZID" in params.upper() and zone is None):
        return f"{name}:{utc(moment)}"
    return f"{name}{params}:{moment.astimezone(zone or floating):%Y%m%dT%H%M%S}"


def utc(moment: datetime) -> str:
    return f"{moment.astimezone(UTC):%Y%m%dT%H%M%SZ}"


def on_day(day: date) -> tuple[str, str]:
    """DTSTART and DTEND of a whole day."""
    return f"DTSTART;VALUE=DATE:{day:%Y%m%d}", f"DTEND;VALUE=DATE:{day + timedelta(days=1):%Y%m%d}"


def escaped(text: str) -> str:
    """TEXT of RFC 5545, 3.3.11."""
    for plain, coded in (("\\", "\\\\"), (";", "\\;"), (",", "\\,"), ("\n", "\\n")):
        text = text.replace(plain, coded)
    return text


def fold(line: str, newline: str) -> str:
    """At most 75 octets a line (RFC 5545, 3.1), never inside of a character."""
    parts: list[str] = []
    current, size = "", 0
    for char in line:
        width = len(char.encode())
        if size + width > (75 if not parts else 74):
            parts.append(current)
            current, size = "", 0
        current, size = current + char, size + width
    return f"{newline} ".join([*parts, current])


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _raw_lines(block: str) -> list[str]:
    """Content lines as they stand, folds and line ends included."""
    lines: list[str] = []
    for line in block.splitlines(keepends=True):
        if line[:1] in (" ", "\t") and lines:
            lines[-1] += line
        else:
            lines.append(line)
    return lines


def _properties(block: str) -> list[tuple[str, str, str]]:
    found, depth = [], 0
    for raw in _raw_lines(block):
        line = _FOLD.sub("", raw).rstrip("\r\n")
        head, _, value = _split(line)
        name, _, params = head.partition(";")
        name = name.strip().upper()
        if name == "END":
            depth -= 1
        if depth == 1 and name not in ("BEGIN", "END"):
            found.append((name, f";{params}" if params else "", value))
        if name == "BEGIN":
            depth += 1
    return found


def _split(line: str) -> tuple[str, str, str]:
    """At the first colon that is not inside of a quoted parameter."""
    quoted = False
    for at, char in enumerate(line):
        if char == '"':
            quoted = not quoted
        elif char == ":" and not quoted:
            return line[:at], ":", line[at + 1 :]
    return line, "", ""


def _zone(params: str) -> ZoneInfo | None:
    found = re.search(r"TZID=\"?([^\";:]+)", params, re.IGNORECASE)
    try:
        return ZoneInfo(found[1]) if found else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


_DURATION = re.compile(r"([+-])?P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)S)?)?")


def duration(value: str) -> timedelta:
    """DURATION of RFC 5545, 3.3.6; nothing for what is none."""
    found = _DURATION.fullmatch(value.strip().upper())
    if found is None:
        return timedelta()
    weeks, days, hours, minutes, seconds = (int(each or 0) for each in found.groups()[1:])
    length = timedelta(weeks=weeks, days=days, hours=hours, minutes=minutes, seconds=seconds)
    return -length if found[1] == "-" else length
