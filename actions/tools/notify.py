"""notify: a word to the owner, as one file in the outbox that channels empty; one per key, for ever."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from actions.plain import clean_lines
from actions.tools.folder import Folder
from actions.tools.tool import Arg, Args, Manifest, Receipt
from schemas.clock import Clock
from schemas.model import Json
from schemas.value import Integrity

TEN_YEARS_S = 10 * 365 * 86_400.0

MANIFEST = Manifest(
    name="notify",
    version="1.0.0",
    description="Tell the owner something.",
    says="Tell you: {text}",
    args={"text": Arg(type="Text", says="what to say")},
    returns={"notice": "Text"},
    integrity_out=Integrity.SYSTEM,
    minted=("notice",),
    effect="notify",
    effect_class="keyed",
    key_ttl_s=TEN_YEARS_S,
    look_up=True,
    settle_s=35.0,
    permissions={"files": ("outbox",)},
)


class Notify:
    """A notice is ``<key>.json``: key, text and the instant. Channels move what they have delivered to ``sent/``."""

    manifest = MANIFEST

    def __init__(self, outbox: Path, clock: Clock) -> None:
        self._outbox = Folder(outbox)
        self._clock = clock

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        await asyncio.to_thread(self._put, args, key)
        return {"notice": key}

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        return {"notice": key} if await asyncio.to_thread(self._find, key) else None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        found = await asyncio.to_thread(self._find, key)
        if found is None or found.get("text") != _text(args):
            return None
        return Receipt(what="in the outbox", where=f"{key}.json", details={"at": str(found["at"])})

    def _put(self, args: Args, key: str) -> None:
        if self._find(key) is None:
            self._outbox.create(f"{key}.json", self._notice(args, key))

    def _notice(self, args: Args, key: str) -> bytes:
        notice = {"key": key, "text": _text(args), "at": self._clock.now().isoformat()}
        return json.dumps(notice, ensure_ascii=False).encode()

    def _find(self, key: str) -> dict[str, Any] | None:
        name = f"{key}.json"
        raw = self._outbox.read(name) or self._outbox.sub("sent").read(name)
        found = json.loads(raw) if raw else None
        return found if isinstance(found, dict) else None


def _text(args: Args) -> str:
    return clean_lines(str(args["text"]), 2000)
