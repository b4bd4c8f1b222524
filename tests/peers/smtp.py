"""A submission server (aiosmtpd) that hands every mail to Dovecot's LMTP, and can be told to fail at any stage."""

from __future__ import annotations

import smtplib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope, LoginPassword, Session

from tests.peers.dovecot import PASSWORD, Dovecot
from tests.peers.process import free_port

STAGES = ("auth", "auth_later", "mail", "rcpt", "rcpt_later", "data", "data_later", "cut_before", "cut_after", "silent")
"""Where it fails next: refused or deferred at each word; ``cut_before``: the connection ends with the letter not taken;
``cut_after``: with the letter delivered and no word of it; ``silent``: delivered, and never an answer."""


@dataclass
class Smtp:
    """``taken``: the recipients of what was delivered. ``fault``: one of ``STAGES``, until it is set to ''.
    ``delivered`` is called with each letter after its delivery, before its sender hears of it."""

    port: int
    lmtp: int
    fault: str = ""
    taken: list[str] = field(default_factory=list)
    delivered: Callable[[bytes], None] = lambda letter: None

    def authenticate(self, server: Any, session: Session, envelope: Envelope, mechanism: str, data: Any) -> AuthResult:
        if self.fault == "auth_later":
            return AuthResult(success=False, handled=False, message="454 4.7.0 later")
        right = isinstance(data, LoginPassword) and data.password == PASSWORD.encode() and self.fault != "auth"
        return AuthResult(success=right, handled=False)

    async def handle_MAIL(self, server: Any, session: Session, envelope: Envelope, address: str, options: Any) -> str:
        if not session.authenticated:
            return "530 5.7.0 Authentication required"
        if self.fault == "mail":
            return "550 5.7.1 not you"
        envelope.mail_from = address
        return "250 OK"

    async def handle_RCPT(self, server: Any, session: Session, envelope: Envelope, address: str, options: Any) -> str:
        if self.fault in ("rcpt", "rcpt_later"):
            return "550 5.1.1 nobody" if self.fault == "rcpt" else "451 4.7.1 greylisted"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Session, envelope: Envelope) -> str:
        if self.fault in ("data", "data_later"):
            return "554 5.7.1 spam" if self.fault == "data" else "451 4.3.0 later"
        if self.fault != "cut_before":
            with smtplib.LMTP("127.0.0.1", self.lmtp) as lmtp:
                lmtp.sendmail(str(envelope.mail_from), envelope.rcpt_tos, bytes(envelope.content or b""))
            self.taken += envelope.rcpt_tos
            self.delivered(bytes(envelope.content or b""))
        if self.fault.startswith("cut"):
            server.transport.abort()
        if self.fault == "silent":
            await _for_ever()
        return "250 2.0.0 queued"


async def _for_ever() -> None:
    import asyncio

    await asyncio.Event().wait()


@contextmanager
def submission(dovecot: Dovecot) -> Iterator[Smtp]:
    """With TLS from the first byte, and a password, as submission servers have them."""
    import ssl

    smtp = Smtp(free_port(), dovecot.lmtp)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(dovecot.folder / "cert.pem", dovecot.folder / "key.pem")
    controller = Controller(
        smtp,
        hostname="127.0.0.1",
        port=smtp.port,
        ssl_context=context,
        authenticator=smtp.authenticate,
        auth_require_tls=False,
    )
    controller.start()
    try:
        yield smtp
    finally:
        controller.stop()
