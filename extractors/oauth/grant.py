"""From a token endpoint's answer to tokens: RFC 6749 §5.1 as providers really answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from extractors.oauth.client import Client
from extractors.oauth.errors import Denied
from extractors.oauth.token import Token
from schemas.errors import TransientError

_TOKEN_CAP = 32_768
_LONGEST = timedelta(days=3660)
_ASSUMED_LIFE = timedelta(hours=1)
"""Of a token whose life the provider does not tell, if it can be renewed; else it is used until it is refused."""


def granted(
    client: Client, answer: Mapping[str, Any], *, now: datetime, asked: Sequence[str] = (), before: Token | None = None
) -> Token:
    """``before``: the tokens that were renewed, whose refresh token and scope stay where the answer names none.

    TransientError for an answer without a usable token; Denied for a kind of token that we cannot use.
    """
    access = _text(answer.get("access_token"))
    if not access:
        raise TransientError(f"{client.title} answers without a token")
    kind = answer.get("token_type", "bearer")
    if not isinstance(kind, str) or kind.lower() != "bearer":
        raise Denied(f"{client.title} hands out tokens of a kind that is not supported", code="token_type")
    refresh = _text(answer.get("refresh_token")) or (before.refresh_token if before else "")
    life = _seconds(answer.get("expires_in"))
    if life is None and refresh:
        life = _ASSUMED_LIFE
    ends = _seconds(answer.get("refresh_token_expires_in"))
    known = before.scope if before else tuple(asked)
    return Token(
        access_token=access,
        refresh_token=refresh,
        issued_at=now,
        expires_at=None if life is None else now + life,
        scope=_scopes(answer.get("scope"), known) or known,
        granted_at=before.granted_at if before else now,
        ends_at=now + ends if ends else before.ends_at if before else None,
    )


def _scopes(said: object, known: Sequence[str]) -> tuple[str, ...]:
    """Empty for a provider that names no scope: it grants what was asked for or had before (RFC 6749 5.1).

    A list has blanks between; some providers put commas, and some send an array. A comma may also be a part of a name,
    as what we asked for shows.
    """
    texts = said if isinstance(said, list) else [said]
    names = " ".join(text for text in texts if isinstance(text, str))
    has_commas = any("," in name for name in known)
    return tuple(dict.fromkeys((names if has_commas else names.replace(",", " ")).split()))


def _text(value: object) -> str:
    fits = isinstance(value, str) and 0 < len(value) <= _TOKEN_CAP and value.isascii() and value.isprintable()
    return value if fits and isinstance(value, str) else ""


def _seconds(value: object) -> timedelta | None:
    """A number of seconds, also as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return min(max(timedelta(seconds=float(value)), timedelta(0)), _LONGEST)
    except (ValueError, OverflowError):
        return None
