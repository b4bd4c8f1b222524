"""The ports of the mail tools: a person's mailbox at a provider, opened with what the person has granted."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractAsyncContextManager
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from typing import Protocol

from schemas.account import Permission
from schemas.errors import StepFailed


class Mailbox(Protocol):
    """Errors of all: NotSent, RateLimited, StepFailed, AuthError, OutcomeUnknown, as ``Tool.call`` may raise them."""

    @property
    def address(self) -> str:
        """From which it sends."""
        ...

    async def send(self, letter: bytes, to: str, key: str) -> None:
        """Handed over for delivery, with a copy among the sent mails that ``sent`` finds. The letter carries
        ``message_id(key)`` and ``KEY_HEADER``."""
        ...

    async def sent(self, key: str) -> bytes | None:
        """The copy of what was sent under this key, as the provider keeps it. OutcomeUnknown where the provider was
        given the letter and nobody knows whether it took it."""
        ...

    async def read(self, message_id: str) -> bytes | None:
        """A mail as it was received."""
        ...

    async def labels(self, message_id: str) -> frozenset[str] | None:
        """In lower case; ``seen`` and ``flagged`` among them. None: there is no such mail."""
        ...

    async def relabel(self, message_id: str, label: str, *, on: bool) -> None: ...

    async def folder(self, message_id: str) -> str | None:
        """Where it is, in the provider's words. None: there is no such mail."""
        ...

    async def is_in(self, message_id: str, folder: str) -> bool:
        """Whether it is there and nowhere that the folder leaves behind; upper and lower case are the same."""
        ...

    async def move(self, message_id: str, folder: str) -> None:
        """StepFailed where there is no such folder."""
        ...


class Mailboxes(Protocol):
    """The mailboxes that were granted something."""

    def open(self, account: str, permission: Permission) -> AbstractAsyncContextManager[Mailbox]:
        """``account`` "" is the only one with this permission; StepFailed, with what to do, where there is none or
        where there are several."""
        ...

    def address(self, account: str) -> str:
        """From which ``open(account, "send")`` sends, if that is known without asking anybody; else empty."""
        ...


KEY_HEADER = "X-Forewatch-Key"
"""Providers may give a mail a Message-ID of their own; this they leave alone."""


def message_id(key: str, address: str) -> str:
    return f"<{key}@{address.rpartition('@')[2] or 'localhost'}>"


def bracketed(message_id: str) -> str:
    """``<id>``, whatever came; StepFailed for what could not stand in a header or a question."""
    inner = message_id.strip().removeprefix("<").removesuffix(">")
    if not inner or len(inner) > 900 or not inner.isascii() or any(c in " <>\"\\\r\n\t'" or ord(c) < 33 for c in inner):
        raise StepFailed("that is no Message-ID", code="invalid")
    return f"<{inner}>"


def parsed(raw: bytes) -> EmailMessage:
    return BytesParser(policy=policy.default).parsebytes(raw)


def only(accounts: Iterable[str], account: str, permission: Permission) -> str:
    """Which account is meant: never a guess between two. StepFailed."""
    there = sorted(accounts)
    if account:
        if account in there:
            return account
        remedy = f"forewatch accounts auth {account} --allow {permission}"
        raise StepFailed(f"account {account} was not granted '{permission}'", code="denied", remedy=remedy)
    if len(there) == 1:
        return there[0]
    if not there:
        remedy = f"forewatch accounts auth ACCOUNT --allow {permission}"
        raise StepFailed(f"no account was granted '{permission}'", code="denied", remedy=remedy)
    raise StepFailed(f"several accounts may {permission}", code="invalid", remedy=f"name one of {', '.join(there)}")
