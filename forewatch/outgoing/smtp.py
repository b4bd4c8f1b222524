"""Submitting a mail (RFC 6409), with each stage told apart: what a server refused was not sent; a connection that ends
after the letter began may have been."""

from __future__ import annotations

import smtplib
import socket
import ssl
from collections.abc import Callable
from typing import Any

from extractors.imap.config import ImapConfig
from extractors.imap.dial import dial, tls_for
from extractors.imap.login import Door, in_thread
from extractors.imap.session import hang_up
from schemas.errors import AuthError, ForewatchError, NotSent, OutcomeUnknown, RateLimited, StepFailed, TransientError

_READ_S = 45.0


class _Submission(smtplib.SMTP):
    """smtplib over a socket that we opened and checked."""

    def __init__(self, opened: socket.socket, host: str) -> None:
        self._opened = opened
        super().__init__(host, timeout=_READ_S)

    def _get_socket(self, host: str, port: int, timeout: float) -> Any:
        return self._opened


async def submit(config: ImapConfig, credential: str, door: Door, letter: bytes, sender: str, to: str) -> None:
    """Taken over by the server when this returns. NotSent, RateLimited, StepFailed, AuthError: it was not;
    OutcomeUnknown: nobody can tell."""
    place = submission(config)
    try:
        opened = await dial(place, door.resolve, _READ_S)
    except TransientError as error:
        raise NotSent(error.message, remedy=error.remedy) from error
    handle = opened.dup()
    try:
        talk: Callable[[], None] = lambda: _talk(opened, place, credential, door, letter, sender, to)  # noqa: E731
        await in_thread(talk, lambda: hang_up(handle), lambda nothing: None)
    finally:
        handle.close()


async def can_submit(config: ImapConfig, credential: str, door: Door) -> None:
    """Signs in and leaves. Errors as in ``submit``."""
    place = submission(config)
    try:
        opened = await dial(place, door.resolve, _READ_S)
    except TransientError as error:
        raise NotSent(error.message, remedy=error.remedy) from error
    handle = opened.dup()
    try:
        await in_thread(
            lambda: _enter(opened, place, credential, door).close(), lambda: hang_up(handle), lambda nothing: None
        )
    finally:
        handle.close()


def submission(config: ImapConfig) -> ImapConfig:
    """Where the account's mail is handed in: the settings, else what goes with its IMAP server."""
    host = config.smtp_host or smtp_of(config.host)
    return config.model_copy(update={"host": host, "port": config.smtp_port, "security": config.smtp_security})


def smtp_of(imap_host: str) -> str:
    """The submission server beside an IMAP server, as the big providers and most others name it."""
    known = {"outlook.office365.com": "smtp.office365.com", "secureimap.t-online.de": "securesmtp.t-online.de",
             "imap.gmx.net": "mail.gmx.net", "imap.gmx.com": "mail.gmx.com"}  # fmt: skip
    return known.get(imap_host.lower()) or (f"smtp.{imap_host[5:]}" if imap_host.startswith("imap.") else imap_host)


def _talk(
    opened: socket.socket, place: ImapConfig, credential: str, door: Door, letter: bytes, sender: str, to: str
) -> None:
    smtp = _enter(opened, place, credential, door)
    try:
        _envelope(smtp, place.host, sender, to)
        _data(smtp, place.host, letter)
    finally:
        smtp.close()


def _enter(opened: socket.socket, place: ImapConfig, credential: str, door: Door) -> smtplib.SMTP:
    """Nothing of the letter has left while this fails."""
    smtp: smtplib.SMTP | None = None
    try:
        trusted = tls_for(place, door.tls)
        if place.security == "tls":
            opened = trusted.wrap_socket(opened, server_hostname=place.host)
        smtp = _Submission(opened, place.host)
        smtp.ehlo_or_helo_if_needed()
        if place.security == "starttls":
            smtp.starttls(context=trusted)
            smtp.ehlo()
        _authenticate(smtp, place, credential)
        return smtp
    except Exception as error:
        if smtp is not None:
            smtp.close()
        opened.close()
        raise _before(error, place) from error


def _authenticate(smtp: smtplib.SMTP, place: ImapConfig, credential: str) -> None:
    if place.provider:
        words = f"user={place.username}\x01auth=Bearer {credential}\x01\x01"
        smtp.auth("XOAUTH2", lambda challenge=None: words)
    elif smtp.has_extn("auth") or place.security != "none":
        smtp.login(place.username, credential)


def _before(error: Exception, place: ImapConfig) -> ForewatchError:
    """Of anything before the envelope."""
    host = place.host
    if isinstance(error, ForewatchError):
        return error
    if isinstance(error, smtplib.SMTPAuthenticationError) and error.smtp_code // 100 == 5:
        return AuthError(
            f"{host} does not let {place.username} send", remedy="grant it again: forewatch accounts auth --allow send"
        )
    if isinstance(error, ssl.SSLCertVerificationError):
        return AuthError(f"the certificate of {host} is not to be trusted", remedy="check smtp_host and ca_file")
    if isinstance(error, smtplib.SMTPNotSupportedError):
        return AuthError(f"{host} offers no sign-in that we know", remedy="check smtp_host, smtp_port, smtp_security")
    if isinstance(error, smtplib.SMTPResponseException) and error.smtp_code // 100 == 5:
        return StepFailed(f"{host} refuses: {_said(error.smtp_error)}", code="denied")
    if isinstance(error, smtplib.SMTPException | OSError | ValueError):
        return NotSent(f"{host} cannot be spoken to: {type(error).__name__}")
    return OutcomeUnknown(f"{host}: {type(error).__name__}")


def _envelope(smtp: smtplib.SMTP, host: str, sender: str, to: str) -> None:
    """The letter itself has not begun."""
    try:
        _require(*smtp.mail(sender), host)
        _require(*smtp.rcpt(to), host)
    except (smtplib.SMTPException, OSError) as error:
        raise NotSent(f"{host} broke off before the letter: {type(error).__name__}") from error


def _data(smtp: smtplib.SMTP, host: str, letter: bytes) -> None:
    try:
        code, said = smtp.data(letter)
    except smtplib.SMTPDataError as error:  # refused before the first line
        code, said = error.smtp_code, error.smtp_error if isinstance(error.smtp_error, bytes) else b""
    except (smtplib.SMTPException, OSError) as error:
        raise OutcomeUnknown(f"{host} broke off while it was given the letter: {type(error).__name__}") from error
    _require(code, said, host)


def _require(code: int, said: bytes, host: str) -> None:
    if code // 100 == 2:
        return
    if code // 100 == 4:
        raise RateLimited(f"{host} takes it later: {code} {_said(said)}")
    if code // 100 == 5:
        raise StepFailed(f"{host} refuses it: {code} {_said(said)}", code="denied")
    raise OutcomeUnknown(f"{host} answers {code}")


def _said(text: object) -> str:
    plain = text.decode("utf-8", "replace") if isinstance(text, bytes) else str(text)
    return " ".join("".join(c if c.isprintable() else " " for c in plain).split())[:200]
