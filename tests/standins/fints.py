"""A FinTS bank on this machine: the dialogs of the library's own fake bank, our bookings, and what goes wrong there."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any

from extractors.fints import FinTS
from extractors.fints.config import FinTSConfig
from extractors.testing import Key
from extractors.testing.standin import Asked, Reply, StandIn

BANK = "12345678"
FIRST = date(2026, 2, 26)
_ROWS = 2
"""Bookings in one answer; the bank says that it has more."""
_STATEMENTS = re.compile(
    rb"'HKKAZ:(?P<segment>\d+):7\+[^+]+\+N(?:\+(?P<since>\d*))?(?:\+[^+']*){0,2}(?:\+(?P<place>[^+']*))?'"
)
_REFUSALS = {
    "aborted": b"HIRMG::2+9800::Dialog abgebrochen'",
    "locked": b"HIRMG::2+9050::Die Nachricht enthaelt Fehler'HIRMS::2:3+9931::Zugang gesperrt'",
    "pin": b"HIRMG::2+9010::Nicht verarbeitet'HIRMS::2:3+9942::PIN falsch'",
    "refused": b"HIRMG::2+9050::Die Nachricht enthaelt Fehler'HIRMS::2:3+9210::Auftrag abgelehnt'",
    "sca": b"HIRMG::2+9050::Die Nachricht enthaelt Fehler'HIRMS::2:3+9075::Starke Authentifizierung noetig'",
}
_ODD = {"empty": b"", "garbled": base64.b64encode(b"HNHBK:1:3+0000'@9@'"), "not FinTS": base64.b64encode(b"Wartung")}
PROTOCOL_FAULTS = (*_REFUSALS, *_ODD, "endless", "tan")
"""``endless``: the bank always has more. ``locked`` and ``pin``: the PIN must not be sent again until ``heal``."""


@dataclass(slots=True)
class Booking:
    day: date
    cents: int
    code: str
    purpose: str


class FinTSStandIn(StandIn):
    """``rows`` in the order in which they were booked. ``violations``: messages that no client may send."""

    def __init__(self, protocol: type[Any]) -> None:
        super().__init__()
        self.rows: list[Booking] = []
        self.places = 0
        """Counts up when the bank forgets where its lists were left."""
        self.is_pin_refused = False
        self._said: dict[int, str] = {}
        self._fault = ""
        self._talk = _talking(protocol, self)

    def config(self) -> FinTSConfig:
        return FinTSConfig(bank_code=BANK, server=f"{self.url}/", allow_private=True)

    def arm(self, fault: str, after: int = 0) -> None:
        if fault in PROTOCOL_FAULTS:
            self._said[len(self.asked) + after] = fault
        else:
            super().arm(fault, after)

    def heal(self) -> None:
        super().heal()
        self._said.clear()
        self.is_pin_refused = False

    def faults(self) -> Mapping[str, Callable[[int], None]]:
        return {**super().faults(), **{name: self._arming(name) for name in PROTOCOL_FAULTS}}

    def answer(self, asked: Asked) -> Reply:
        self._fault = self._said.pop(len(self.asked) - 1, "")
        said = _ODD.get(self._fault)
        if said is None:
            said = base64.b64encode(self._talk(base64.b64decode(asked.body)))
        return Reply(200, said, {"Content-Type": "text/plain"})

    def check(self, asked: Asked, reply: Reply) -> list[str]:
        if not self.is_pin_refused:
            self.is_pin_refused = self._fault in ("locked", "pin")
            return []
        return ["a PIN that was refused was sent again"]

    def said(self, message: bytes, usual: Callable[[bytes], bytes]) -> bytes:
        """What the bank says within its dialog; ``usual`` knows everything but our bookings."""
        if refusal := _REFUSALS.get(self._fault):
            return refusal
        dialog = usual(_STATEMENTS.sub(b"'", message))
        if self._fault == "tan":
            return dialog + _question(message)
        asked = _STATEMENTS.search(message)
        return dialog + self._statement(asked) if asked else dialog

    def _statement(self, asked: re.Match[bytes]) -> bytes:
        segment, since, place = (asked[name] or b"" for name in ("segment", "since", "place"))
        salt, _, start = place.decode().partition("/") if place else (str(self.places), "", "0")
        if salt != str(self.places):
            return b"HIRMS::2:%b+9210::Aufsetzpunkt unbekannt'" % segment
        rows = [row for row in self.rows if f"{row.day:%Y%m%d}" >= since.decode()]
        first, last = int(start), int(start) + _ROWS
        if not rows[first:last]:
            return b"HIRMS::2:%b+3010::Keine Umsaetze'" % segment
        page = self._page(rows[first:last])
        more = b""
        if last < len(rows) or self._fault == "endless":
            more = b"HIRMS::2:%b+3040::Es liegen weitere vor:%d/%d'" % (
                segment,
                self.places,
                last if last < len(rows) else first,
            )
        return more + b"HIKAZ::7:%b+@%d@" % (segment, len(page)) + page + b"'"

    def _page(self, rows: list[Booking]) -> bytes:
        """One statement in MT940: what was there before these rows, and what after."""
        before = 1_000_000 - sum(row.cents for row in self.rows[: self.rows.index(rows[0])])
        after = before - sum(row.cents for row in rows)
        lines = ["", ":20:STARTUMS", f":25:{BANK}/0000000001", ":28C:0"]
        lines += [f":60F:C{rows[0].day:%y%m%d}EUR{_euro(before)}"]
        for row in rows:
            lines += [f":61:{row.day:%y%m%d%m%d}D{_euro(row.cents)}NMSCNONREF"]
            lines += [f":86:105?00{row.code}?20SVWZ+{row.purpose}?32Shop"]
        return "\r\n".join([*lines, f":62F:C{rows[-1].day:%y%m%d}EUR{_euro(after)}", "-", ""]).encode()


class Unlimited(dict[str, list[datetime]]):
    """Reads are counted elsewhere: a fault run polls more often than a bank allows."""

    def setdefault(self, key: str, default: list[datetime] | None = None) -> list[datetime]:
        return []


class FinTSBank:
    """A source for the fault runs: bookings come, are told otherwise, and are taken back."""

    def __init__(self, protocol: type[Any]) -> None:
        self.service = FinTSStandIn(protocol)
        self.service.start()
        self.config = self.service.config()
        self.key = Key(secrets={"user": "test1", "pin": "1234", "product": "TEST-123"}, spent=Unlimited(), asked=True)
        self.count = 0
        self.changes = 0
        self.taken_back = 0

    def add(self) -> None:
        day, cents = FIRST + timedelta(days=self.count // 2), 1050 + 100 * self.count
        self.service.rows.append(Booking(day, cents, "Lastschrift", f"Purchase {self.count}"))
        self.count += 1

    def change(self) -> None:
        self.changes += 1
        self.service.rows[0].code = f"Lastschrift {self.changes}"

    def remove(self) -> None:
        """Not the oldest, and few: a list that begins later, or lacks most, is taken for one that broke off."""
        if self.taken_back < 3 and len(self.service.rows) > 1:
            self.taken_back += 1
            del self.service.rows[1]

    def faults(self) -> Mapping[str, Callable[[int], None]]:
        return self.service.faults()

    def heal(self) -> None:
        """The person signs in anew."""
        self.service.heal()
        self.key.secrets |= dict.fromkeys(FinTS.login.voids, "")

    def lose_cursors(self) -> None:
        self.service.places += 1

    def close(self) -> None:
        self.service.stop()
        assert self.service.violations == []


def _talking(protocol: type[Any], bank: FinTSStandIn) -> Callable[[bytes], bytes]:
    class Protocol(protocol):  # type: ignore[misc]  # a class of the peer's script
        def __init__(self) -> None:
            """No request: each message comes from ours."""

        def make_answer(self, dialog_id: str, message: bytes) -> bytes:
            return bank.said(message, lambda given: _bytes(super(Protocol, self).make_answer(dialog_id, given)))

    talk: Callable[[bytes], bytes] = Protocol().process_message
    return talk


def _bytes(answer: str | bytes) -> bytes:
    return answer.encode() if isinstance(answer, str) else answer


def _question(message: bytes) -> bytes:
    """For a TAN, where the message allows one; else for a stronger sign-in."""
    allows = re.search(rb"'HKTAN:(\d+):(\d+)\+4", message)
    if allows is None:
        return b"HIRMS::2:3+9075::Starke Authentifizierung noetig'"
    segment, version = allows[1], allows[2]
    return b"HIRMS::2:%b+0030::Auftragsfreigabe erforderlich'HITAN::%b:%b+4++1+TAN'" % (segment, version, segment)


def _euro(cents: int) -> str:
    return f"{cents // 100},{cents % 100:02d}"
