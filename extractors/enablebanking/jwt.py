"""The signed token that names the person's Enable Banking application (RS256, RFC 7515)."""

from __future__ import annotations

import base64
import json
from datetime import datetime, timedelta
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from schemas.errors import AuthError

LIFETIME = timedelta(hours=1)
SKEW = timedelta(seconds=30)
"""A clock that runs a little fast must not make tokens from the future."""


def signed(pem: str, application: str, now: datetime) -> str:
    """A token for calls of the next hour. AuthError for what is no private RSA key; it never shows the key."""
    issued = now - SKEW
    header = {"typ": "JWT", "alg": "RS256", "kid": application}
    claims = {
        "iss": "enablebanking.com",
        "aud": "api.enablebanking.com",
        "iat": int(issued.timestamp()),
        "exp": int((issued + LIFETIME).timestamp()),
    }
    content = f"{_encoded(header)}.{_encoded(claims)}"
    signature = _key(pem).sign(content.encode(), PKCS1v15(), SHA256())
    return f"{content}.{_base64(signature)}"


def _key(pem: str) -> RSAPrivateKey:
    remedy = "paste the content of the .pem file that came with your Enable Banking application"
    try:
        # checking the key takes 60 ms of every poll; one that is wrong in itself is refused by Enable Banking
        key = load_pem_private_key(_with_lines(pem).encode(), password=None, unsafe_skip_rsa_key_validation=True)
    except (ValueError, TypeError, UnsupportedAlgorithm) as error:
        raise AuthError("the private key of the application cannot be read", remedy=remedy) from error
    if not isinstance(key, RSAPrivateKey):
        raise AuthError("the private key of the application is not an RSA key", remedy=remedy)
    return key


def _with_lines(pem: str) -> str:
    """A PEM that lost its line ends on its way through a one-line prompt, with them back."""
    text = pem.strip().replace("\\n", "\n")
    if "\n" in text:
        return text
    parts = text.split("-----")
    if len(parts) != 5:
        return text
    body = "".join(parts[2].split())
    lines = [body[start : start + 64] for start in range(0, len(body), 64)]
    return "\n".join([f"-----{parts[1]}-----", *lines, f"-----{parts[3]}-----", ""])


def _encoded(value: dict[str, Any]) -> str:
    return _base64(json.dumps(value, separators=(",", ":")).encode())


def _base64(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
