"""The calendar file: replaced as a whole each time that anything in it changes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import groupby

from forewatch.sample import ical
from forewatch.sample.household import Drop
from forewatch.sample.scene import Edit

PATH = "calendar/family.ics"


def drops(edits: Sequence[Edit]) -> Iterator[Drop]:
    state: dict[str, tuple[str, ...]] = {}
    ordered = sorted(edits, key=lambda edit: (edit.at, edit.uid))
    for number, (at, changes) in enumerate(groupby(ordered, key=lambda edit: edit.at)):
        for edit in changes:
            state[edit.uid] = edit.blocks
        blocks = (block for uid in state for block in state[uid])
        yield Drop(at + timedelta(seconds=2), PATH, "replace" if number else "add", ical.file(blocks))
