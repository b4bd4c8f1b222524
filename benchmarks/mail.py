"""Mail: a first sync of a mailbox, against a bare IMAPClient that fetches the same bodies in the same run."""

from __future__ import annotations

import asyncio
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from pathlib import Path

from extractors.imap import ImapConnector
from extractors.imap.config import ImapConfig
from extractors.imap.reading import PageSize
from extractors.testing import Key, context_for
from extractors.testing.tcp_proxy import TcpProxy
from schemas.model import Json
from tests.peers.dovecot import PASSWORD, Dovecot, dovecot

MAILS = 50_000
ROUNDS = 3


@dataclass(frozen=True)
class Found:
    """Mails per second, the median of some rounds; growth of the resident memory from a tenth of the mails to all, in
    megabytes; ``turns``: what an empty poll asks after the login."""

    mails: int
    ours: float
    bare: float
    growth_mb: float
    cursor_kb: float
    turns: int

    @property
    def ratio(self) -> float:
        """How much longer ours takes."""
        return self.bare / self.ours


def letter(number: int) -> bytes:
    """About 5 kB, as mails are without their attachments."""
    words = " ".join(f"w{(number * 31 + word) % 997}" for word in range(900))
    return (
        f"Received: from mx.example.org by mail.example.org; Mon, 02 Mar 2026 08:00:00 +0100\r\n"
        f"From: Ada <ada{number % 50}@example.org>\r\nTo: Nora <nora@example.net>\r\nSubject: Letter {number}\r\n"
        f"Date: Mon, 02 Mar 2026 08:00:00 +0100\r\nMessage-ID: <{number}@example.org>\r\n\r\n{words}\r\n"
    ).encode()


def measure(mails: int = MAILS, rounds: int = ROUNDS) -> Found:
    with tempfile.TemporaryDirectory() as place, dovecot(Path(place)) as server:
        user = server.user()
        server.deliver(user, (letter(number) for number in range(mails)))
        _bare(server, user, mails)  # Dovecot reads every mail once and keeps its size
        ours, bare, growth, cursor = [], [], 0.0, None
        for _ in range(rounds):
            bare.append(mails / _bare(server, user, mails))
            seconds, growth, cursor = _ours(server, user, mails)
            ours.append(mails / seconds)
        return Found(
            mails,
            statistics.median(ours),
            statistics.median(bare),
            growth,
            len(str(cursor)) / 1000,
            _turns(server, user, cursor),
        )


def _bare(server: Dovecot, user: str, mails: int) -> float:
    """Seconds for all bodies, by hundreds, as people write it."""
    with server.client(user) as client:
        client.select_folder("INBOX", readonly=True)
        started = time.perf_counter()
        uids = client.search()
        for part in _parts(uids, PageSize().mails):
            assert len(client.fetch(part, ["BODY.PEEK[]"])) == len(part)
        assert len(uids) == mails
        return time.perf_counter() - started


def _parts(uids: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    return (uids[start : start + size] for start in range(0, len(uids), size))


def _config(server: Dovecot, user: str, port: int = 0, security: str = "tls") -> ImapConfig:
    place = {"host": "localhost", "port": port or server.imaps, "security": security, "ca_file": str(server.ca)}
    return ImapConfig.model_validate({**place, "username": user, "allow_private": True})


def _ours(server: Dovecot, user: str, mails: int) -> tuple[float, float, Json]:
    """Seconds, growth in megabytes, and the cursor, of a first sync through the connector."""

    async def run() -> tuple[float, float, Json]:
        seen, early, cursor = 0, 0.0, None
        async with Key(secrets={"password": PASSWORD}).open(context_for().now) as access:
            started = time.perf_counter()
            pages = ImapConnector().pull(_config(server, user), None, replace(context_for(), access=access))
            async with aclosing(pages):  # type: ignore[type-var]
                async for page in pages:
                    seen += len(page.upserts)
                    cursor = page.next_cursor
                    early = early if early or seen < mails / 10 else _resident_mb()
        assert seen == mails
        return time.perf_counter() - started, _resident_mb() - early, cursor

    return asyncio.run(run())


def _resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def _turns(server: Dovecot, user: str, cursor: Json) -> int:
    """Of an empty poll, beyond what a poll of another mailbox needs to log in and out."""

    async def poll(port: int) -> None:
        async with Key(secrets={"password": PASSWORD}).open(context_for().now) as access:
            config = _config(server, user, port, "none")
            async for page in ImapConnector().pull(config, cursor, replace(context_for(), access=access)):
                assert not page.upserts

    with TcpProxy(("127.0.0.1", server.imap)) as proxy:
        asyncio.run(poll(proxy.port))
        log_in_and_out = 3  # CAPABILITY, LOGIN, LOGOUT
        return proxy.turns - log_in_and_out


def main() -> None:
    found = measure(int(os.environ.get("BENCH_MAILS", MAILS)))
    print(f"first sync of {found.mails:,} mails   {found.ours:,.0f} mails/s")
    print(f"bare IMAPClient, same bodies  {found.bare:,.0f} mails/s: {found.ratio:.2f} times as long   (target <= 2)")
    print(f"memory from 10 % to all       {found.growth_mb:+.0f} MB   (the cursor: {found.cursor_kb:.0f} kB)")
    print(f"a poll with nothing new       {found.turns} round trip(s) after the login   (target <= 2)")
