"""Every error of ours, grouped by what the caller does about it.

ForewatchError
├── ConfigError            settings are wrong: print what, where and the remedy, exit 2
│   └── RuleError          a rule file is wrong: file:line:column and a suggestion
├── TransientError         may work later: back off, bounded, jittered
│   └── RateLimited        the source said when
├── AuthError              a person must act: pause that account, raise one event
├── CursorExpired          the source forgot our place: list everything, alert only on what is new
├── PoisonError            this record can never work: dead-letter it with the reason, go on
├── TooManyDeadLetters     nearly everything is poison, so the fault is ours: stop
├── NotFound               there is no such account, proposal, event or rule: say which, and what there is
├── Unreachable            no running service answers: say how to start one
├── Refused                a person's request that may not be done: say why, change nothing
├── StepFailed             a tool definitely failed: journal it, do not repeat
├── NotSent                a tool's request never left: safe to retry
├── OutcomeUnknown         a tool may have acted: look the effect up before any retry, else ask
└── Fenced                 another process owns this work now: stop at once
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


class ForewatchError(Exception):
    """``str(error)`` is one line for a person: what, where, and (``remedy``) what to do."""

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message}; {self.remedy}" if self.remedy else self.message


class ConfigError(ForewatchError):
    """Settings or an argument are wrong."""


@dataclass(frozen=True)
class Location:
    """A place in a file; lines and columns count from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class RuleError(ConfigError):
    """A rule file is wrong; ``str`` starts with file:line:column."""

    def __init__(self, message: str, location: Location, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.location = location

    def __str__(self) -> str:
        return f"{self.location}: {super().__str__()}"


class TransientError(ForewatchError):
    """May work later; ``retry_at`` is the source's own word for when, if it gave one."""

    def __init__(self, message: str, *, retry_at: datetime | None = None, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.retry_at = retry_at


class RateLimited(TransientError):
    """The source asked for fewer calls."""


class AuthError(ForewatchError):
    """Only a person can mend this: a revoked consent, an unreadable folder."""


class CursorExpired(ForewatchError):
    """The source no longer knows our cursor."""


class PoisonError(ForewatchError):
    """This record can never work. ``code`` is a stable word for statistics."""

    def __init__(self, message: str, *, code: str = "malformed", remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.code = code


class TooManyDeadLetters(ForewatchError):
    """So many records are refused that the fault must be ours."""


class NotFound(ForewatchError):
    """What was named does not exist."""


class Unreachable(ForewatchError):
    """The service does not answer on its socket."""


class Refused(ForewatchError):
    """A request that may not be done; nothing changed. ``code`` is a stable word."""

    def __init__(self, message: str, *, code: str, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.code = code


class StepFailed(ForewatchError):
    """A tool answered, and the answer was no. ``code`` is an enum word, never outside text."""

    def __init__(self, message: str, *, code: str = "unknown", remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.code = code


class NotSent(ForewatchError):
    """The request never left this machine."""


class OutcomeUnknown(ForewatchError):
    """The request left and no definite answer came back."""


class Fenced(ForewatchError):
    """A newer owner has taken over."""
