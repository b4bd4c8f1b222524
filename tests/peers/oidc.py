"""npm's oidc-provider: an authorisation server with rotation and reuse detection, and a person who consents there."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin

import httpx

from tests.peers.packages import fetched_npm, from_npm
from tests.peers.process import CHECKOUT, free_port, running

_PACKAGE = "oidc-provider@9.13.3"
_NAME = "oidc-provider"
_SCRIPT = Path(__file__).with_suffix(".mjs")

CLIENT = "forewatch"
"""A public client with the scopes openid, offline_access, mail, calendar and bank."""
CONFIDENTIAL = ("confidential", "a+secret/with=signs")
INTROSPECTING = ("imap", "imap-secret")
"""For ``/token/introspection``, as a mail server asks."""


@dataclass(frozen=True)
class Oidc:
    """``url`` is the issuer; ``log`` holds one JSON line for each grant, refusal and revocation."""

    url: str
    log: Path

    def events(self, name: str, grant: str = "") -> int:
        """How many: granted, refused or revoked, of that grant type."""
        found = (json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{"))
        return sum(each["event"] == name and (not grant or each.get("grant") == grant) for each in found)

    def introspect(self, token: str) -> dict[str, object]:
        answer = httpx.post(f"{self.url}/token/introspection", auth=INTROSPECTING, data={"token": token})
        found: dict[str, object] = answer.json()
        return found


def fetch_oidc() -> str:
    """oidc-provider from npm, unless it is here; says where."""
    return f"{_PACKAGE} is in {from_npm(_NAME, _PACKAGE).relative_to(CHECKOUT)}"


@contextmanager
def oidc(folder: Path, token_s: int = 3600) -> Iterator[Oidc]:
    """Listens on a free port of 127.0.0.1, with everything in memory."""
    modules = fetched_npm(_NAME) / "node_modules"
    port, log = free_port(), folder / "oidc.log"
    environment = {"PORT": str(port), "MODULES": str(modules), "TOKEN_S": str(token_s)}
    with running(["node", str(_SCRIPT)], port, log, environment):
        yield Oidc(f"http://127.0.0.1:{port}", log)


async def consent(url: str, *, refuse: bool = False) -> str:
    """A person with a browser: opens the page, logs in, says yes (or leaves). Where the browser ends up.

    An address on another port is asked for, as a browser does.
    """
    async with httpx.AsyncClient(timeout=10) as browser:
        answer = await browser.get(url)
        for _ in range(15):
            if answer.status_code in (302, 303):
                answer = await browser.get(urljoin(str(answer.url), answer.headers["location"]))
            elif refuse and (abort := re.search(r'href="([^"]*/abort)"', answer.text)):
                answer = await browser.get(urljoin(str(answer.url), abort[1]))
            elif "<form" in answer.text:
                action, fields = _filled(answer)
                answer = await browser.post(action, data=fields)
            else:
                return str(answer.url)
    raise AssertionError(f"the consent pages of {url} do not end")


def _filled(page: httpx.Response) -> tuple[str, dict[str, str]]:
    action = re.search(r'<form[^>]*action="([^"]+)"', page.text)
    fields = re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', page.text)
    values = {html.unescape(name): html.unescape(value) for name, value in fields}
    if 'name="login"' in page.text:
        values |= {"login": "nora@example.org", "password": "x"}
    return urljoin(str(page.url), html.unescape(action[1]) if action else ""), values
