"""A file that a step puts into the document folder: once for its key, never over another, found again after a crash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from actions.tools.folder import Folder
from schemas import ids
from schemas.errors import StepFailed
from schemas.model import Json


class Placed:
    """The key of each file stands in ``.forewatch/<key>.key`` with its name and hash: the intention, written first."""

    def __init__(self, root: Path) -> None:
        self._root = Folder(root)
        self._keys = Folder(root / ".forewatch")
        self._gone = Folder(root / ".forewatch" / "discarded")

    def put(self, name: str, make: Callable[[], bytes], key: str) -> dict[str, Json]:
        """StepFailed where the name is taken by something else. The same key gives the same file, made once."""
        self._root.path(name)
        content = make()
        with self._keys.locked():
            if (done := self.find(name, key)) is not None:
                return done
            if self._root.read(name) is not None:
                raise StepFailed(f"{name} is there already", code="conflict", remedy="choose another file name")
            self._keys.replace(f"{key}.key", f"{name}\n{ids.content_hash(content)}\n".encode())
            self._root.create(name, content)
            if (made := self.find(name, key)) is None:
                raise StepFailed(f"{name} could not be read back", code="conflict", remedy="choose another file name")
            return made

    def find(self, name: str, key: str) -> dict[str, Json] | None:
        """Ours only if the side file of this key names exactly this content."""
        side, content = self._keys.read(f"{key}.key"), self._root.read(name)
        if side is None or content is None:
            return None
        digest = ids.content_hash(content)
        if side.decode().split("\n")[:2] != [name, digest]:
            return None
        return {"path": str(self._root.path(name)), "sha256": digest}

    def read(self, name: str) -> bytes | None:
        return self._root.read(name)

    def discard(self, path: str, digest: str, key: str) -> dict[str, Json]:
        """Puts a file of ours aside; one that somebody has changed since, or that we did not write, stays."""
        name = Path(path).name
        with self._keys.locked():
            if (done := self.discarded(path, key)) is not None:
                return done
            content = self._root.read(name) if path == str(self._root.path(name)) else None
            if content is None:
                raise StepFailed(f"there is no {name} in the document folder", code="not_found")
            if ids.content_hash(content) != digest or not self._is_ours(name, digest):
                raise StepFailed(f"{name} is not as it was written", code="conflict", remedy="delete it yourself")
            self._gone.create(f"{key}.gone", content)
            self._root.remove(name)
        return {"sha256": digest}

    def discarded(self, path: str, key: str) -> dict[str, Json] | None:
        content = self._gone.read(f"{key}.gone")
        if content is None or self._root.read(Path(path).name) == content:
            return None
        return {"sha256": ids.content_hash(content)}

    def _is_ours(self, name: str, digest: str) -> bool:
        sides = (self._keys.read(side) for side in self._keys.names() if side.endswith(".key"))
        return any(side.decode().split("\n")[:2] == [name, digest] for side in sides if side is not None)
