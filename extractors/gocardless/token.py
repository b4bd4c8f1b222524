"""The pair of tokens of GoCardless Bank Account Data, kept among the account's secrets."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, Self

from pydantic import ValidationError

from extractors.connector import Access
from schemas.errors import AuthError, TransientError
from schemas.model import Instant, Model

SECRET = "tokens"
_LEEWAY = timedelta(minutes=2)
_ACCESS_LIFE, _REFRESH_LIFE = timedelta(hours=24), timedelta(days=30)


class Tokens(Model):
    """An empty ``refresh`` cannot be used."""

    access: str
    access_until: Instant
    refresh: str = ""
    refresh_until: Instant

    @classmethod
    def kept(cls, access: Access) -> Self | None:
        try:
            return cls.model_validate_json(access.secret(SECRET))
        except (AuthError, ValidationError):
            return None

    @classmethod
    def of(cls, answer: dict[str, Any], now: datetime, before: Tokens | None = None) -> Self:
        """From an answer to ``token/new`` or ``token/refresh``: the latter leaves the refresh token as it was."""
        refresh = answer.get("refresh") or (before.refresh if before else "")
        until = (
            before.refresh_until
            if before and not answer.get("refresh")
            else now + _life(answer, "refresh_expires", _REFRESH_LIFE)
        )
        try:
            return cls(
                access=answer["access"],
                access_until=now + _life(answer, "access_expires", _ACCESS_LIFE),
                refresh=refresh,
                refresh_until=until,
            )
        except (KeyError, ValidationError) as error:
            raise TransientError("GoCardless answers with something that is no token") from error

    def is_fresh(self, now: datetime) -> bool:
        return now < self.access_until - _LEEWAY

    def is_refreshable(self, now: datetime) -> bool:
        return bool(self.refresh) and now < self.refresh_until - _LEEWAY

    def secret(self) -> dict[str, str]:
        return {SECRET: self.model_dump_json()}


def _life(answer: dict[str, Any], name: str, usual: timedelta) -> timedelta:
    seconds = answer.get(name)
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool) and 0 < seconds < 1e9
    return timedelta(seconds=seconds) if is_number and seconds is not None else usual
