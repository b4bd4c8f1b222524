"""A folder that tools may write into, and nothing beside it: no links, no ``..``, whole files or none."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from collections.abc import Iterator
from pathlib import Path

from actions import nominal
from schemas.errors import ConfigError, NotSent, OutcomeUnknown, StepFailed

MAX_BYTES = 32_000_000


class Folder:
    """``root`` is made if it is missing. Everything below it is reached by bare names, one level at a time.

    Writing blocks for a few milliseconds (it is on disk when it returns). An error before the file appears is
    NotSent; one after it is OutcomeUnknown.
    """

    def __init__(self, root: Path) -> None:
        if not root.is_absolute():
            raise ConfigError(f"the folder {root} is not absolute", remedy="give its whole path")
        self.root = root

    def sub(self, name: str) -> Folder:
        return Folder(self.path(name))

    def path(self, name: str) -> Path:
        """Where a name would be. StepFailed for a name that leads elsewhere, or to a link."""
        wrong = nominal.fault("FileName", name)
        if wrong or name in (".", ".."):
            raise StepFailed(f"the file name {name!r} {wrong}", code="invalid", remedy="use a plain file name")
        path = self.root / name
        if path.is_symlink():
            raise StepFailed(f"{path} is a link", code="denied", remedy="replace it with a real file")
        return path

    def names(self) -> list[str]:
        return sorted(os.listdir(self.root)) if self.root.is_dir() else []

    def read(self, name: str) -> bytes | None:
        """The whole file; None if there is none. Refuses links and what is not a plain file."""
        path = self.path(name)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StepFailed(f"{path} cannot be read ({error.strerror})", code="denied") from error
        with os.fdopen(descriptor, "rb") as file:
            if os.fstat(descriptor).st_size > MAX_BYTES:
                raise StepFailed(f"{path} is larger than {MAX_BYTES} bytes", code="invalid")
            return file.read()

    def create(self, name: str, content: bytes) -> bool:
        """A new file, whole or not at all; False (and no change) if there is one of that name."""
        return self._link(self.path(name), content)

    def deliver(self, into: Folder, name: str, content: bytes) -> bool:
        """The same in another folder, through a temporary file in this one (Maildir's tmp); ``name`` is ours, so it
        may hold a Maildir's flags."""
        into.ensure()
        made = self._link(into.root / name, content)
        into._made_durable()
        return made

    def _link(self, path: Path, content: bytes) -> bool:
        with self._temporary(content) as temporary:
            try:
                _name(temporary, path)
            except FileExistsError:
                return False
            except OSError as error:
                raise NotSent(
                    f"cannot make {path} ({error.strerror})", remedy="free some space, check rights"
                ) from error
            self._made_durable()
        return True

    def replace(self, name: str, content: bytes) -> None:
        """The old content or the new one, never a mixture, for every reader and after every crash."""
        path = self.path(name)
        with self._temporary(content) as temporary:
            beside = temporary
            try:
                if path.exists():
                    os.chmod(temporary, path.stat().st_mode & 0o777)
                if temporary.parent != self.root:  # it has no name yet; where it has, there may be no second ones
                    beside = self.root / _aside()
                    _name(temporary, beside)
                os.replace(beside, path)
            except OSError as error:
                if beside is not temporary:
                    with contextlib.suppress(OSError):
                        beside.unlink(missing_ok=True)
                raise NotSent(f"cannot replace {path} ({error.strerror})", remedy="check the rights on it") from error
            self._made_durable()

    def remove(self, name: str) -> None:
        """Gone for every reader, and after every crash; nothing happens where there is none."""
        path = self.path(name)
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise NotSent(f"cannot remove {path} ({error.strerror})", remedy="check the rights on it") from error
        self._made_durable()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Blocks until other writers of ours are done; the lock dies with its holder."""
        try:
            self._made()
            descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            remedy = "check the rights on it"
            raise NotSent(f"cannot write into {self.root} ({error.strerror})", remedy=remedy) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def ensure(self) -> None:
        """Make the folder if it is missing."""
        try:
            self._made()
        except OSError as error:
            raise NotSent(f"cannot make {self.root} ({error.strerror})", remedy="check the rights above it") from error

    @contextlib.contextmanager
    def _temporary(self, content: bytes) -> Iterator[Path]:
        """A file with this content, on disk, that disappears unless it is given a name. Where the system knows files
        without one, it does so also when we are killed."""
        try:
            self._made()
            descriptor, named = self._blank()
        except OSError as error:
            raise self._unwritable(error) from error
        try:
            self._fill(descriptor, content)
            yield named or Path(f"/proc/self/fd/{descriptor}")
        finally:
            os.close(descriptor)
            if named is not None:
                with contextlib.suppress(OSError):
                    named.unlink(missing_ok=True)

    def _blank(self) -> tuple[int, Path | None]:
        """A new file, open for writing, and its name if it has to have one."""
        if hasattr(os, "O_TMPFILE") and os.path.isdir("/proc/self/fd"):
            with contextlib.suppress(OSError):  # not on this file system, or nothing can be written at all: see below
                return os.open(self.root, os.O_WRONLY | os.O_TMPFILE, 0o666), None
        named = self.root / _aside()
        return os.open(named, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), named

    def _fill(self, descriptor: int, content: bytes) -> None:
        try:
            with open(descriptor, "wb", closefd=False) as file:
                file.write(content)
            os.fsync(descriptor)
        except OSError as error:
            raise self._unwritable(error) from error

    def _unwritable(self, error: OSError) -> NotSent:
        remedy = "free some space, or check the folder's rights"
        return NotSent(f"cannot write into {self.root} ({error.strerror})", remedy=remedy)

    def _made(self) -> None:
        if self.root.is_symlink():
            raise NotADirectoryError(20, "it is a link", str(self.root))
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)

    def _made_durable(self) -> None:
        try:
            descriptor = os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise OutcomeUnknown(f"written into {self.root}, but perhaps not for good ({error.strerror})") from error


def _aside() -> str:
    return f".{secrets.token_hex(8)}.tmp"


def _name(file: Path, path: Path) -> None:
    """Give a file this name. It may have none: then ``file`` is the link of its descriptor, which is followed."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.link(file, path.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)
