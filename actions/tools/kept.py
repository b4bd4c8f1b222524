"""What a tool must remember of its own call, by key: what was there before it, what a site answered."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from actions.tools.folder import Folder
from schemas.model import Json


class Kept:
    """One small JSON file a key, whole or not at all, on disk when ``keep`` returns. The first one stays."""

    def __init__(self, folder: Path) -> None:
        self._folder = Folder(folder)

    async def keep(self, key: str, said: dict[str, Json]) -> dict[str, Json]:
        """What is kept of this key from now on."""
        await asyncio.to_thread(self._folder.create, f"{key}.json", json.dumps(said).encode())
        found = await self.recall(key)
        assert found is not None
        return found

    async def recall(self, key: str) -> dict[str, Json] | None:
        raw = await asyncio.to_thread(self._folder.read, f"{key}.json")
        found = json.loads(raw) if raw is not None else None
        return found if isinstance(found, dict) else None
