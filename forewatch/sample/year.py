"""The sample household of a seed: every story told, every file written, every label kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date

from forewatch.sample import calendarfile, maildir, statements
from forewatch.sample.household import Drop, Household
from forewatch.sample.labels import Label
from forewatch.sample.scene import Scene, joined
from forewatch.sample.speech import Book
from forewatch.sample.stage import Stage
from forewatch.sample.stories import (
    agenda,
    alerts,
    bookings,
    charges,
    claims,
    clashes,
    contracts,
    deadlines,
    documents,
    everyday,
    fees,
    full_days,
    incomes,
    invitations,
    invoices,
    meetings,
    overdrafts,
    parcels,
    prices,
    promises,
    questions,
    refunds,
    replies,
    reports,
    returns,
    salaries,
    silences,
    spending,
    splurges,
    subscriptions,
    transfers,
    trials,
    trips,
    ways,
)
from schemas.clock import zone as zone_named

_CHAPTERS: tuple[Callable[[Stage], Iterator[Scene]], ...] = (
    invoices.stories,  # first: it reserves the amounts by which payments are told apart
    trials.stories,
    prices.stories,
    salaries.stories,
    documents.stories,
    contracts.stories,
    deadlines.stories,
    questions.stories,
    replies.stories,
    promises.stories,
    parcels.stories,
    claims.stories,
    returns.stories,
    alerts.stories,
    trips.stories,  # before other flights
    bookings.stories,
    agenda.stories,
    invitations.stories,
    full_days.stories,
    ways.stories,
    meetings.stories,
    clashes.stories,  # after all that fills the diary
    silences.stories,
    spending.stories,
    charges.stories,
    fees.stories,
    refunds.stories,
    incomes.stories,
    subscriptions.stories,
    transfers.stories,
    splurges.stories,
    everyday.stories,
    overdrafts.stories,
    reports.stories,
)


def generate(seed: int, zone: str, start: date, book: Book = "usual") -> Household:
    """One year from ``start`` in ``zone``. Pure: the same arguments give the same bytes on every machine.

    ``book`` chooses the wordings: with fresh ones, the score says how the extractors fare with words not known to them.
    """
    stage = Stage(seed, zone_named(zone), start, book)
    scene = joined(part for chapter in _CHAPTERS for part in chapter(stage))
    rows = [row for row in scene.rows if start <= row.booked < stage.end]
    found: list[Drop] = [
        *maildir.drops(stage, scene.letters),
        *calendarfile.drops(scene.edits),
        *statements.drops(stage, rows),
    ]
    order = {"add": 0, "replace": 1, "delete": 2}
    found.sort(key=lambda drop: (drop.at.astimezone(UTC), order[drop.action], drop.path))
    return Household(
        seed=seed,
        zone=zone,
        start=start,
        end=stage.end,
        owner_name=stage.family.owner.address.name,
        owner_address=stage.family.owner.address.mail,
        drops=tuple(found),
        labels=tuple(sorted((_within(label, stage.last) for label in scene.labels), key=lambda label: label.id)),
    )


def _within(label: Label, last: date) -> Label:
    """Silence is asked for to the end of the year at most."""
    return replace(label, notice_by=min(label.notice_by, last)) if label.expect == "silence" else label
