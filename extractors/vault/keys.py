"""Where the master key comes from: given by the environment or systemd, kept in a file of the home, or in a keyring.

Every source holds one key or several, the newest first: several while the key is being replaced. The vault opens with
any of them and then wraps everything under the first.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Protocol

from extractors.vault.sealing import KEY_BYTES, Key
from schemas.errors import ConfigError

_FILE_CAP = 4096
_HOW = "make one with: head -c 32 /dev/urandom | base64"


class KeySource(Protocol):
    """``where`` names it for a person."""

    @property
    def where(self) -> str: ...

    def read(self) -> tuple[Key, ...]:
        """Empty: it holds no key yet. ConfigError when it cannot be used; no message shows a key."""
        ...

    def write(self, keys: Sequence[Key]) -> None:
        """Durable on return, and never half written. ConfigError where only the person can change it."""
        ...


@dataclass(frozen=True, slots=True)
class GivenKeys:
    """From an environment variable or a systemd credential: read once, changed by the person alone."""

    where: str
    text: str = field(repr=False)

    def read(self) -> tuple[Key, ...]:
        if not (keys := parse_keys(self.text, self.where)):
            raise ConfigError(f"{self.where} is empty", remedy=_HOW)
        return keys

    def write(self, keys: Sequence[Key]) -> None:
        raise ConfigError(
            f"the vault's key comes from {self.where}, which only you can change",
            remedy=f"put a new key in front of the old one there, separated by a comma, and start again; {_HOW}",
        )


@dataclass(frozen=True, slots=True)
class KeyFile:
    """A file that only its owner may read."""

    path: Path

    @property
    def where(self) -> str:
        return str(self.path)

    def read(self) -> tuple[Key, ...]:
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be read: {error.strerror}") from error
        with os.fdopen(descriptor, "rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise ConfigError(f"{self.path} is no file")
            if state.st_mode & 0o077:
                raise ConfigError(
                    f"others on this machine may read {self.path}, the key of your secrets",
                    remedy=f"chmod 600 {self.path}, and replace the key if somebody may have read it",
                )
            text = file.read(_FILE_CAP)
        if not (keys := parse_keys(text.decode("ascii", "replace"), self.where)):
            raise ConfigError(f"{self.path} is empty", remedy="restore it from a backup")
        return keys

    def write(self, keys: Sequence[Key]) -> None:
        fresh = self.path.with_name(f".{self.path.name}.{os.getpid()}")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                fresh.unlink()
            with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "w") as file:
                file.write("".join(f"{key.text}\n" for key in keys))
                file.flush()
                os.fsync(file.fileno())
            fresh.rename(self.path)
            _sync_folder(self.path.parent)
        except OSError as error:
            raise ConfigError(f"{self.path} cannot be written: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class KeyringKeys:
    """In the keyring of the desktop, under the service name ``forewatch``; needs the extra ``keyring``."""

    name: str

    @property
    def where(self) -> str:
        return f"the keyring entry forewatch/{self.name}"

    def read(self) -> tuple[Key, ...]:
        backend = self._backend()
        try:
            text = backend.get_password("forewatch", self.name)
        except Exception as error:  # backends raise their own
            raise ConfigError(f"{self.where} cannot be read: {type(error).__name__}", remedy="unlock it") from None
        return parse_keys(text, self.where) if text else ()

    def write(self, keys: Sequence[Key]) -> None:
        backend = self._backend()
        try:
            backend.set_password("forewatch", self.name, ",".join(key.text for key in keys))
        except Exception as error:  # backends raise their own
            raise ConfigError(f"{self.where} cannot be written: {type(error).__name__}", remedy="unlock it") from None

    def _backend(self) -> _Keyring:
        try:
            backend: _Keyring = import_module("keyring")
        except ImportError as error:
            raise ConfigError("vault_keyring needs the package keyring", remedy="install forewatch[keyring]") from error
        return backend


class _Keyring(Protocol):
    def get_password(self, service_name: str, username: str) -> str | None: ...

    def set_password(self, service_name: str, username: str, password: str) -> None: ...


def parse_keys(text: str, where: str) -> tuple[Key, ...]:
    """Base64 of 32 bytes each, in either alphabet, separated by commas or white space."""
    return tuple(_key(word, where) for word in text.replace(",", " ").split())


def _key(word: str, where: str) -> Key:
    try:
        bare = word.rstrip("=").translate(_URL_SAFE)
        material = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True)
    except (binascii.Error, ValueError):
        material = b""
    if len(material) != KEY_BYTES:
        raise ConfigError(f"{where} does not hold {KEY_BYTES} bytes in base64", remedy=_HOW) from None
    return Key(material)


_URL_SAFE = str.maketrans("-_", "+/")


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
