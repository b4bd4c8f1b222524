"""Sealing with AES-256-GCM: what was sealed for one account and purpose opens for no other."""

from __future__ import annotations

import base64
import os

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY_BYTES = 32
_FORMAT = b"\x01"
_NONCE_BYTES = 12


class Key:
    """256 bits that no ``repr`` shows and nothing pickles."""

    __slots__ = ("_aead", "_material")

    def __init__(self, material: bytes) -> None:
        if len(material) != KEY_BYTES:
            raise ValueError(f"a key has {KEY_BYTES} bytes")
        self._material = material
        self._aead = AESGCM(material)

    @classmethod
    def fresh(cls) -> Key:
        return cls(os.urandom(KEY_BYTES))

    def __repr__(self) -> str:
        return "Key(...)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and self._material == other._material

    def __hash__(self) -> int:
        return hash(self._material)

    def __reduce__(self) -> str:
        raise TypeError("a key is not pickled")

    @property
    def text(self) -> str:
        """Base64, as people and files keep it."""
        return base64.b64encode(self._material).decode()

    def seal(self, plain: bytes, purpose: str, account: str = "") -> bytes:
        """Format, nonce, ciphertext and tag. The nonce is random: a key seals far fewer than 2**32 times."""
        nonce = os.urandom(_NONCE_BYTES)
        return _FORMAT + nonce + self._aead.encrypt(nonce, plain, _associated(purpose, account))

    def open(self, sealed: bytes, purpose: str, account: str = "") -> bytes | None:
        """None: sealed by another key, for another account or purpose, or changed since."""
        if sealed[:1] != _FORMAT:
            return None
        nonce, rest = sealed[1 : 1 + _NONCE_BYTES], sealed[1 + _NONCE_BYTES :]
        try:
            return self._aead.decrypt(nonce, rest, _associated(purpose, account))
        except (InvalidTag, ValueError):
            return None

    def wrap(self, data_key: Key, account: str) -> bytes:
        return self.seal(data_key._material, "data key", account)

    def unwrap(self, wrapped: bytes, account: str) -> Key | None:
        material = self.open(wrapped, "data key", account)
        return Key(material) if material is not None and len(material) == KEY_BYTES else None


def _associated(purpose: str, account: str) -> bytes:
    return f"forewatch vault 1\0{purpose}\0{account}".encode()
