"""Takes secrets out of what goes back into a sandbox, also where they are cut in two."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable
from urllib.parse import quote, quote_plus

MASK = b"***"


class Redactor:
    """One per reply; ``feed`` holds back what may be the beginning of a secret, ``flush`` gives the rest."""

    def __init__(self, secrets: Iterable[str]) -> None:
        forms = {form for secret in secrets if secret for form in _forms(secret)}
        self._forms = sorted(forms, key=lambda form: (-len(form), form))
        self._held = b""

    def feed(self, chunk: bytes) -> bytes:
        if not self._forms:
            return chunk
        text = self._masked(self._held + chunk)
        kept = self._beginning(text)
        self._held = text[len(text) - kept :]
        return text[: len(text) - kept]

    def flush(self) -> bytes:
        rest, self._held = self._held, b""
        return rest

    def whole(self, data: bytes) -> bytes:
        return self._masked(data)

    def _masked(self, data: bytes) -> bytes:
        for form in self._forms:
            data = data.replace(form, MASK)
        return data

    def _beginning(self, text: bytes) -> int:
        """How many bytes at the end of ``text`` begin a secret."""
        most = min(len(self._forms[0]) - 1, len(text))
        return next((n for n in range(most, 0, -1) if any(form.startswith(text[-n:]) for form in self._forms)), 0)


def _forms(secret: str) -> set[bytes]:
    """As it is, and as a server may echo it: in a URL, in JSON, in base64."""
    raw = secret.encode()
    whole = base64.b64encode(raw).rstrip(b"=")
    urlsafe = base64.urlsafe_b64encode(raw).rstrip(b"=")
    return {raw, quote(secret, safe="").encode(), quote_plus(secret).encode(), json.dumps(secret)[1:-1].encode(),
            whole, urlsafe}  # fmt: skip
