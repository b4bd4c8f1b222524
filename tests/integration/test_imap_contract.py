"""The IMAP connector keeps the laws of connectors on a Dovecot, by each of its three ways of seeing what changed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest

from extractors.testing import ConnectorContract, ScriptedSource
from tests.integration.imap_source import LETTERS, MailboxSource
from tests.peers.dovecot import Dovecot, dovecot
from tests.peers.process import provided

HIDDEN = {"QRESYNC": "", "CONDSTORE": "QRESYNC", "neither": "QRESYNC CONDSTORE"}


@pytest.fixture(scope="module", params=HIDDEN)
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dovecot]:
    start = partial(dovecot, hide=HIDDEN[request.param])
    yield from provided(start, tmp_path_factory.mktemp("dovecot"))


class TestImap(ConnectorContract):
    connector = LETTERS
    items = 5
    opened: ClassVar[list[MailboxSource]] = []

    @pytest.fixture(autouse=True)
    def _with_server(self, server: Dovecot) -> Iterator[None]:
        self.server = server
        yield
        while self.opened:
            self.opened.pop().close()

    def source(self, folder: Path) -> ScriptedSource:
        self.opened.append(MailboxSource(self.server))
        return self.opened[-1]
