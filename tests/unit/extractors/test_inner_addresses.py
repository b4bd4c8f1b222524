"""No address that a person types, or a server sends us to, leads into this machine or its network unless allowed."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from extractors import registry
from extractors.connector import NoAccess, Quota
from extractors.http import Http
from extractors.testing import START, context_for
from extractors.testing.standin import Asked, Reply, StandIn
from schemas.errors import AuthError, ForewatchError

ADDRESS_SETTING = {
    "imap": "host", "caldav": "url", "jmap": "base_url", "gmail": "base_url", "google_calendar": "base_url",
    "graph_mail": "base_url", "graph_calendar": "base_url", "enablebanking": "url", "gocardless": "url", "plaid": "url",
}  # fmt: skip
MORE: dict[str, dict[str, Any]] = {
    "imap": {"user": "nora"},
    "enablebanking": {"bank": "Nordea", "country": "FI"},
    "gocardless": {"bank": "NORDEA"},
}
INNER = ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "169.254.169.254", "[fd00:ec2::254]", "100.100.100.200"]
NEVER = ["169.254.169.254", "[fe80::1]", "0.0.0.0"]
"""Not even where the private network is allowed."""


class Trap(StandIn):
    """A service on this machine that nobody may reach."""

    def answer(self, asked: Asked) -> Reply:
        return Reply.of({"resourceType": "secrets of this machine"})


class Redirecting(StandIn):
    """Sends everybody on to an inner address."""

    def __init__(self, target: str) -> None:
        super().__init__()
        self.target = target

    def answer(self, asked: Asked) -> Reply:
        return Reply(302, b"", {"Location": self.target})


@pytest.fixture(scope="module")
def trap() -> Iterator[Trap]:
    with Trap() as service:
        yield service


class Guarded(NoAccess):
    """What a real account has: secrets, a token, and a client that keeps to the guard."""

    def __init__(self, http: Http, claim: str = "") -> None:
        self._http = http
        self._claim = claim

    @property
    def http(self) -> Http:
        return self._http

    def secret(self, name: str) -> str:
        return self._claim or "secret"

    async def token(self, refused: str = "") -> str:
        return "token"

    async def remember(self, secrets: Any) -> None:
        raise AssertionError("an inner address was answered")

    async def spend(self, quota: Quota) -> None:
        return


async def checked(name: str, config: dict[str, Any], *, allow_private: bool, claim: str = "") -> Sequence[str]:
    connector: Any = registry.connector(name)
    settings = connector.config.model_validate(config)
    async with Http(lambda: START, allow_private=allow_private) as http:
        context = context_for()
        context = type(context)(context.owner, context.account, context.zone, context.now, Guarded(http, claim))
        found: Sequence[str] = await connector.check(settings, context)
        return found


@pytest.mark.parametrize("name", ADDRESS_SETTING)
@pytest.mark.parametrize("host", INNER)
def test_an_inner_address_is_refused(name: str, host: str, trap: Trap) -> None:
    place = host.strip("[]") if name == "imap" else f"https://{host}:{trap.port}/"
    config = {ADDRESS_SETTING[name]: place, **MORE.get(name, {})}
    before = len(trap.asked)
    with pytest.raises((AuthError, ValidationError)):
        asyncio.run(checked(name, config, allow_private=False))
    assert len(trap.asked) == before


@pytest.mark.parametrize("host", INNER)
def test_the_address_in_a_claim_is_no_way_in(host: str, trap: Trap) -> None:
    claim = base64.b64encode(f"https://{host}:{trap.port}/claim".encode()).decode()
    before = len(trap.asked)
    with pytest.raises(ForewatchError):
        asyncio.run(checked("simplefin", {}, allow_private=False, claim=claim))
    assert len(trap.asked) == before


@pytest.mark.parametrize("name", ["caldav", "jmap"])
@pytest.mark.parametrize("host", NEVER)
def test_a_redirect_leads_nowhere_else_even_where_the_private_network_is_allowed(name: str, host: str) -> None:
    with Redirecting(f"http://{host}/latest/meta-data") as service:
        config = {ADDRESS_SETTING[name]: f"{service.url}/", "allow_private": True}
        with pytest.raises(AuthError):
            asyncio.run(checked(name, config, allow_private=True))
        assert service.asked, "the redirect was never met"


def test_the_address_in_a_definition_is_no_way_in(trap: Trap, tmp_path: Path) -> None:
    definition = tmp_path / "inner.yaml"
    definition.write_text(
        f"kind: rest\nname: inner\nbase_url: https://127.0.0.1:{trap.port}\n"
        "streams:\n  - name: rows\n    path: /rows\n    records: data\n    id: id\n    map: {kind: row, title: name}\n"
    )
    before = len(trap.asked)
    with pytest.raises(ForewatchError):
        asyncio.run(checked("rest", {"definition": str(definition)}, allow_private=False))
    assert len(trap.asked) == before


def test_every_connector_with_an_address_is_held_to_it() -> None:
    known = {*ADDRESS_SETTING, "simplefin", "rest", "fints", "ics", "maildir", "bankfile"}
    assert {name for name, point in registry._BUILT_IN.items() if point.startswith("extractors.")} == known
