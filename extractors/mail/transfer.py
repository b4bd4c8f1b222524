"""Content-Transfer-Encoding: the bytes of a part, as far as they can be decoded. Never raises."""

from __future__ import annotations

import binascii

from extractors.mail.structure import Part
from extractors.mail.words import lenient_base64


def decoded(raw: bytes, part: Part, cap: int | None = None) -> bytes:
    """The decoded body of a part of ``raw``; with a ``cap``, only about as much as gives that many bytes."""
    end = part.end if cap is None else min(part.end, part.start + 3 * cap + 1_000)
    body = raw[part.start : end]
    match part.encoding:
        case "base64":
            body = lenient_base64(body)
        case "quoted-printable":
            body = binascii.a2b_qp(body)
        case "x-uuencode" | "uuencode" | "x-uue":
            body = _uudecode(body)
        case _:
            pass
    return body if cap is None else body[:cap]


def is_known(part: Part) -> bool:
    return part.encoding in (
        "", "7bit", "8bit", "binary", "base64", "quoted-printable", "x-uuencode", "uuencode", "x-uue",
    )  # fmt: skip


def _uudecode(body: bytes) -> bytes:
    pieces: list[bytes] = []
    for line in body.splitlines():
        if line.startswith(b"begin ") or not line.strip():
            continue
        if line.strip() == b"end":
            break
        length = ((line[0] - 32) & 63) * 4 // 3 + 4
        try:
            pieces.append(binascii.a2b_uu(line[:length]))
        except binascii.Error:
            continue
    return b"".join(pieces)
