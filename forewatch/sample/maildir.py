"""Letters as files of a Maildir: they arrive in new, move to cur when they are read, and some are thrown away."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from forewatch.sample import mime
from forewatch.sample.dice import Dice
from forewatch.sample.household import Drop
from forewatch.sample.letter import Letter
from forewatch.sample.stage import Stage

_READ = 35
"""Percent of the letters that a program opens in which that can be seen."""
_DELETED = 12
"""Percent of the newsletters among these that are thrown away."""


def drops(stage: Stage, letters: Sequence[Letter]) -> Iterator[Drop]:
    answered = {letter.answers.message_id: letter.at for letter in letters if letter.sent and letter.answers}
    for letter in letters:
        name, content = _name(letter), mime.message(letter)
        if letter.sent:
            yield Drop(letter.at, f"mail/.Sent/cur/{name}:2,S", "add", content)
            continue
        arrived = letter.at + timedelta(seconds=4)
        yield Drop(arrived, f"mail/new/{name}", "add", content)
        dice = stage.dice["read", letter.message_id]
        if dice.chance(_READ):
            yield from _read(stage, dice, letter, name, content, answered.get(letter.message_id))


def _name(letter: Letter) -> str:
    """Unique: seconds, a number from the message, the host."""
    mark = int(hashlib.sha256(letter.message_id.encode()).hexdigest()[:10], 16)
    return f"{int(letter.at.timestamp())}.M{mark % 1_000_000}P{mark // 1_000_000 % 30_000}.mail.example"


def _read(
    stage: Stage, dice: Dice, letter: Letter, name: str, content: bytes, answered_at: datetime | None
) -> Iterator[Drop]:
    """Read within a day; marked as answered when it is; or deleted two days later."""
    seen, replied = f"mail/cur/{name}:2,S", f"mail/cur/{name}:2,RS"
    at = letter.at + timedelta(minutes=dice.between(30, 900))
    if answered_at:
        at = min(at, answered_at - timedelta(minutes=5))
    if not _is_open(stage, at):
        return
    yield Drop(at, seen, "add", content)
    yield Drop(at, f"mail/new/{name}", "delete")
    if answered_at:
        yield Drop(answered_at + timedelta(seconds=9), replied, "add", content)
        yield Drop(answered_at + timedelta(seconds=9), seen, "delete")
    elif letter.bulk and dice["deleted"].chance(_DELETED) and _is_open(stage, at + timedelta(days=2)):
        yield Drop(at + timedelta(days=2), seen, "delete")


def _is_open(stage: Stage, at: datetime) -> bool:
    """A change of a flag is a sign of life, too: none in an outage."""
    return stage.day_of(at) < stage.end and not stage.outages.covers("mail", stage.day_of(at))
