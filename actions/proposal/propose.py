"""decide: what an input makes of the book, as drafts for the journal. Pure; the one door for rules, people and time."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import assert_never

from actions.journal import Draft
from actions.policy import autonomy
from actions.proposal import answer, offer, reasons, withdraw
from actions.proposal.book import Book
from actions.setup import Setup
from schemas.command import Command
from schemas.trigger import Merge, Retraction, Trigger


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed: wake what was snoozed, close what has expired."""


Input = Trigger | Retraction | Merge | Command | Tick


def decide(book: Book, input: Input, now: datetime, setup: Setup) -> list[Draft]:
    """Append the drafts in one write, before anything else happens to the book.

    A trigger, retraction, merge or command that led to an entry before gives nothing: deliver them again and again.
    A command that may not be obeyed gives one ``command.refused`` with its code and message.
    """
    match input:
        case Trigger():
            return [] if book.has_seen(input.id) else offer.on_trigger(book, input, now, setup)
        case Retraction():
            return [] if book.has_seen(input.id) else withdraw.on_retraction(book, input, now, setup)
        case Merge():
            return [] if book.has_seen(input.id) else reasons.on_merge(book, input, now, setup)
        case Command():
            return [] if book.has_seen(input.id) else answer.on_command(book, input, now, setup)
        case Tick():
            return [*withdraw.on_tick(book, now, setup), *autonomy.on_tick(book, now, setup)]
    assert_never(input)


def next_tick(book: Book) -> datetime | None:
    """When time alone will change the book next; None while nothing waits for it."""
    return min((*withdraw.due_times(book), *autonomy.due_times(book)), default=None)
