"""MemoryWeb: pages by address, and every form that was sent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from actions.tools.wire import Reply


@dataclass
class MemoryWeb:
    pages: dict[str, Reply] = field(default_factory=dict)
    posted: list[tuple[str, bytes]] = field(default_factory=list)

    async def send(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, content: bytes | None = None
    ) -> Reply:
        if method == "POST":
            self.posted.append((url, content or b""))
        found = self.pages.get(url, Reply(404, {}, b"nothing here"))
        return Reply(found.status, found.headers, found.body, urlsplit(url).hostname or "")


def page(text: str, status: int = 200, kind: str = "text/html") -> Reply:
    return Reply(status, {"content-type": kind}, text.encode())
