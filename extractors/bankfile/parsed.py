"""Parsed: what a format reader found in one file; and what it is told beside the bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import ValidationError

from extractors.bank.row import Statement
from extractors.connector import Question, Rejected

MAX_BYTES = 32 * 1024 * 1024
MAX_ROWS = 100_000
MAX_REJECTED = 50
"""Rejected rows of one file that are told one by one; the rest is counted."""
RAW_SHOWN = 500


class Refuse(Exception):
    """This whole file cannot be read. ``code`` as in Rejected. Never leaves the package."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


def why(error: ValueError) -> str:
    """One line for a person, of our own errors and of pydantic's."""
    if not isinstance(error, ValidationError):
        return str(error)
    fault = error.errors()[0]
    return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"


@dataclass(frozen=True, slots=True)
class Given:
    """``currency`` for files that name none; ``answers`` of the person; ``orders``: date orders that other files with
    the same columns proved, by profile signature; ``signs_turned``: this bank writes an outflow without a minus."""

    currency: str | None = None
    signs_turned: bool = False
    answers: Mapping[str, str] = field(default_factory=dict)
    orders: Mapping[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Parsed:
    """``drafts`` are statements that wait for the answer to a question, in the currency XXX where that is the question.
    ``is_cut``: the file ends in the middle. ``is_open``: it may, nothing in it tells.
    """

    format: str
    statements: list[Statement] = field(default_factory=list)
    drafts: list[Statement] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    orders: dict[str, str] = field(default_factory=dict)
    is_cut: bool = False
    is_open: bool = False
    rejected_more: int = 0

    def reject(self, where: str, reason: str, raw: str | bytes = b"", code: str = "malformed") -> None:
        """One row that cannot be read; the rest of the file goes on."""
        if len(self.rejected) >= MAX_REJECTED:
            self.rejected_more += 1
            return
        shown = raw.encode("utf-8", "backslashreplace") if isinstance(raw, str) else raw
        self.rejected.append(Rejected(where, code, reason[:300], shown[:RAW_SHOWN]))

    def all_rejected(self, where: str) -> list[Rejected]:
        """The rejected rows, and one entry for those beyond the limit."""
        if not self.rejected_more:
            return self.rejected
        more = f"{self.rejected_more} more rows cannot be read either"
        return [*self.rejected, Rejected(where, self.rejected[-1].code, more)]

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)
