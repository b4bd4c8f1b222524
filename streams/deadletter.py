"""Dead letters: what can never work is kept with its reason; when nearly everything is dead, the fault is ours."""

from __future__ import annotations

from collections import deque
from datetime import datetime

from schemas import ids
from schemas.deadletter import DeadLetter
from schemas.errors import PoisonError, TooManyDeadLetters
from schemas.model import Json
from streams import topics
from streams.codec import encode
from streams.work import Output

HEAD = 4096
"""Bytes of the refused payload that a dead letter keeps."""


def dead_letter(
    source: str, place: str, error: PoisonError, payload: bytes, at: datetime, *, account: str = "", **meta: Json
) -> Output:
    """The record for topic ``dead``. ``source`` and ``place`` (partition:offset, file, native id) make the id, so the
    same refusal seen twice is one dead letter."""
    letter = DeadLetter(
        id=ids.dead_letter_id(source, place, ids.content_hash(payload[:HEAD])),
        topic=source,
        key=place[:500],
        code=error.code,
        reason=str(error)[:2000],
        account=account,
        at=at,
        payload=payload[:HEAD],
        meta=meta,
    )
    return Output(topics.DEAD, letter.key.encode(), encode(letter))


class DeadLetterLimit:
    """Stops the pipeline when more than ``ratio`` of the last ``window`` records are dead.

    A few broken records are the world's fault; half of them are ours (a release that misreads everything), and going
    on would move the whole backlog to the dead letters.
    """

    def __init__(self, ratio: float = 0.5, window: int = 1000, at_least: int = 200) -> None:
        self._ratio = ratio
        self._at_least = at_least
        self._dead: deque[bool] = deque(maxlen=window)
        self._count = 0

    def record(self, dead: bool) -> None:
        """Count one record; TooManyDeadLetters when the limit is passed."""
        if len(self._dead) == self._dead.maxlen:
            self._count -= self._dead[0]
        self._dead.append(dead)
        self._count += dead
        seen = len(self._dead)
        if seen >= self._at_least and self._count > self._ratio * seen:
            raise TooManyDeadLetters(
                f"{self._count} of the last {seen} records could not be read",
                remedy="this is a fault of Forewatch, not of your data: nothing is lost; "
                "see 'forewatch doctor' and report it, then start again with a mended version",
            )
