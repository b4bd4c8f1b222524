"""The questions that a poll asks of Gmail. All of them only read."""

from __future__ import annotations

import asyncio
import base64
import binascii
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from extractors.gmail.known import ID
from extractors.gmail.labels import UNHIDING, is_live
from extractors.google import Google, Tokens, objects, word
from extractors.http import Oversized
from extractors.mail import limits
from extractors.mail.content import content_key
from extractors.mail.slim import Slim, slim
from schemas.errors import PoisonError, TransientError

LIST_SIZE = 500
PAGES_CAP = 400
_BODY_BYTES = limits.MESSAGE_BYTES // 3 * 4 + 100_000
"""A mail comes as base64 inside of JSON."""
_USER = "gmail/v1/users/me"


@dataclass(frozen=True, slots=True)
class Mail:
    """One mail, slimmed to fit a record. ``fault`` says why it can never become one."""

    id: str
    labels: frozenset[str]
    at: datetime
    body: Slim = field(default=Slim(b"", {}), repr=False)
    content_key: str = ""
    fault: PoisonError | None = None


@dataclass(frozen=True, slots=True)
class Stretch:
    """One page of history. ``deleted`` are gone for good; ``touched`` may look different; ``maybe_new`` may be mails
    that nobody has seen. ``last``: the place after it; empty where the page has no history. ``top``: the mailbox's
    present place."""

    touched: tuple[str, ...]
    maybe_new: frozenset[str]
    deleted: frozenset[str]
    last: str
    top: str
    next_token: str


class Source:
    def __init__(self, google: Google) -> None:
        self._google = google

    async def profile(self) -> dict[str, Any]:
        found = await self._google.ask(f"{_USER}/profile")
        assert found is not None
        if not word(found, "historyId"):
            raise TransientError("Gmail does not say where its history is")
        return found

    async def listing(self, label: str = "") -> AsyncIterator[list[str]]:
        """Ids, newest first, page by page; spam and trash are not among them."""
        params: dict[str, str | int] = {"maxResults": LIST_SIZE, **({"labelIds": label} if label else {})}
        tokens = Tokens(PAGES_CAP)
        while True:
            answer = await self._google.ask(f"{_USER}/messages", params)
            assert answer is not None
            yield [word(each, "id") for each in objects(answer, "messages")]
            if not (token := tokens.next(answer)):
                return
            params["pageToken"] = token

    async def history(self, start: str, token: str) -> Stretch | None:
        """None where Gmail no longer knows that place."""
        params: dict[str, str | int] = {"startHistoryId": start, "maxResults": LIST_SIZE}
        if token:
            params["pageToken"] = token
        answer = await self._google.ask(f"{_USER}/history", params, missing=(404,))
        return None if answer is None else _stretch(answer)

    async def glance(self, name: str) -> Mail | None:
        """Labels and date; None where the mail is no longer there."""
        answer = await self._google.ask(f"{_USER}/messages/{name}", {"format": "minimal"}, missing=(404,))
        return None if answer is None else Mail(name, _labels(answer), _date(answer))

    async def read(self, name: str) -> Mail | None:
        """The whole mail; None where it is no longer there."""
        params = {"format": "raw"}
        try:
            answer = await self._google.ask(f"{_USER}/messages/{name}", params, missing=(404,), body_bytes=_BODY_BYTES)
        except Oversized:
            if (mail := await self.glance(name)) is None:
                return None
            size = limits.MESSAGE_BYTES // 1_048_576
            return _faulty(mail, PoisonError(f"it has more than {size} MB: too large", code="too_large"))
        if answer is None:
            return None
        mail = Mail(name, _labels(answer), _date(answer))
        try:
            return await asyncio.to_thread(_filled, mail, answer.get("raw"))
        except PoisonError as error:
            return _faulty(mail, error)


def _faulty(mail: Mail, fault: PoisonError) -> Mail:
    return Mail(mail.id, mail.labels, mail.at, fault=fault)


def _filled(mail: Mail, encoded: Any) -> Mail:
    if not isinstance(encoded, str) or not encoded:
        raise PoisonError("Gmail gives no text of it", code="malformed")
    try:
        raw = base64.b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error) as error:
        raise PoisonError("its text is not base64", code="malformed") from error
    if len(raw) > limits.MESSAGE_BYTES:
        raise PoisonError(f"it has {len(raw)} bytes: too large", code="too_large")
    slimmed = slim(raw)
    return Mail(mail.id, mail.labels, mail.at, slimmed, content_key(raw) if slimmed.left_out else "")


def _labels(answer: Mapping[str, Any]) -> frozenset[str]:
    found = answer.get("labelIds", [])
    if not isinstance(found, list):
        raise TransientError("Gmail answers with labels of another shape")
    return frozenset(map(str, found))


def _date(answer: Mapping[str, Any]) -> datetime:
    """Milliseconds since 1970, as text. TransientError for anything else: without a date no mail is old."""
    try:
        return datetime.fromtimestamp(int(word(answer, "internalDate")) // 1000, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise TransientError("Gmail answers with a date of another shape") from error


_KINDS = ("messagesAdded", "messagesDeleted", "labelsAdded", "labelsRemoved")


def _stretch(answer: Mapping[str, Any]) -> Stretch:
    touched: dict[str, None] = {}
    maybe_new: set[str] = set()
    deleted: set[str] = set()
    records = objects(answer, "history")
    for record, kind in ((record, kind) for record in records for kind in _KINDS):
        for change in objects(record, kind):
            message = change.get("message")
            name = word(message, "id") if isinstance(message, dict) else ""
            if not ID.fullmatch(name):
                continue
            touched[name] = None
            if kind == "messagesDeleted":
                deleted.add(name)
            elif _shows(kind, change):
                maybe_new.add(name)
    return Stretch(
        touched=tuple(touched),
        maybe_new=frozenset(maybe_new),
        deleted=frozenset(deleted),
        last=next(filter(None, (word(record, "id") for record in reversed(records))), ""),
        top=word(answer, "historyId"),
        next_token=word(answer, "nextPageToken"),
    )


def _shows(kind: str, change: Mapping[str, Any]) -> bool:
    """Whether a mail comes into sight by this: it came, or out of spam, bin or drafts. To Gmail, each saving of a
    draft is a new mail; where it names the labels, that one is passed over."""
    if kind == "messagesAdded":
        return is_live(_labels(change["message"]))
    return kind == "labelsRemoved" and bool(UNHIDING & _labels(change))
