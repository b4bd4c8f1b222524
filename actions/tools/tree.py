"""The folders that the person lets tools read: found and opened below them, and nowhere else, whatever a link says."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from actions.tools.folder import MAX_BYTES
from schemas.errors import ConfigError, StepFailed

FILES_CAP = 50_000
"""Files of all folders together that a search looks at."""


class Tree:
    """Folders and everything below them, hidden files aside. Reading never follows a link, not even one that takes the
    place of a folder between the look and the opening: each level is opened by name within the level above."""

    def __init__(self, roots: Sequence[Path]) -> None:
        for root in roots:
            if not root.is_absolute():
                raise ConfigError(f"the folder {root} is not absolute", remedy="give its whole path")
        self.roots = tuple(roots)

    def files(self) -> Iterator[Path]:
        """Plain files, in a stable order. StepFailed when there are too many to look at."""
        seen = 0
        for root in self.roots:
            for place, folders, names in os.walk(root):
                folders[:] = sorted(name for name in folders if not name.startswith("."))
                for name in sorted(names):
                    path = Path(place) / name
                    if name.startswith(".") or path.is_symlink() or not path.is_file():
                        continue
                    seen += 1
                    if seen > FILES_CAP:
                        raise StepFailed(f"more than {FILES_CAP} files", code="invalid", remedy="name smaller folders")
                    yield path

    def read(self, path: str) -> bytes:
        """StepFailed for what is not below a folder of ours, leads through a link, or is no file."""
        root, parts = self._within(path)
        descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY)
        try:
            for index, part in enumerate(parts):
                flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
                flags |= os.O_DIRECTORY if index < len(parts) - 1 else 0
                inner = os.open(part, flags, dir_fd=descriptor)
                os.close(descriptor)
                descriptor = inner
            return _content(descriptor, path)
        except FileNotFoundError as error:
            raise StepFailed(f"there is no file {path}", code="not_found") from error
        except OSError as error:
            raise StepFailed(f"{path} cannot be read ({error.strerror})", code="denied") from error
        finally:
            os.close(descriptor)

    def _within(self, path: str) -> tuple[Path, tuple[str, ...]]:
        wanted = Path(path)
        for root in self.roots:
            if wanted.is_absolute() and wanted.is_relative_to(root) and wanted != root:
                parts = wanted.relative_to(root).parts
                if not any(part == ".." or part.startswith(".") for part in parts) and root.is_dir():
                    return root, parts
        raise StepFailed(
            f"{path} is not in a folder that tools may read", code="denied", remedy="add its folder to 'folders'"
        )


def _content(descriptor: int, path: str) -> bytes:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode):
        raise StepFailed(f"{path} is no file", code="invalid")
    if found.st_size > MAX_BYTES:
        raise StepFailed(f"{path} is larger than {MAX_BYTES} bytes", code="invalid")
    with os.fdopen(os.dup(descriptor), "rb") as file:
        return file.read()
