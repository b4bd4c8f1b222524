"""The tokens of one account, as the vault keeps them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Self

from pydantic import Field, ValidationError

from schemas.errors import AuthError
from schemas.model import Instant, Model

_LEEWAY = timedelta(seconds=60)


class Token(Model):
    """``repr`` shows no token.

    ``expires_at``: None where the provider did not say and the token cannot be renewed anyway. ``scope``: what was
    granted. ``granted_at``: when the person consented. ``ends_at``: when the consent ends, where the provider says.
    ``renewing_since``: a mark written ahead of each renewal and gone after it; if it is found, a renewal was cut off
    and its outcome is unknown. ``lost``: why the tokens are of no use any more, until a person consents again.
    """

    access_token: str = Field(repr=False)
    refresh_token: str = Field(default="", repr=False)
    issued_at: Instant
    expires_at: Instant | None = None
    scope: tuple[str, ...] = ()
    granted_at: Instant
    ends_at: Instant | None = None
    renewing_since: Instant | None = None
    lost: str = ""

    def __str__(self) -> str:
        return repr(self)

    @property
    def leeway(self) -> timedelta:
        """A token is renewed a minute before its end, a short-lived one a fifth of its life before."""
        return _LEEWAY if self.expires_at is None else min(_LEEWAY, (self.expires_at - self.issued_at) / 5)

    def is_good(self, now: datetime, refused: str = "") -> bool:
        """Whether it may be used: not lost, not expired, not the one that the source just refused."""
        if self.lost or self.access_token == refused:
            return False
        return self.expires_at is None or now < self.expires_at - self.leeway

    def dump(self) -> str:
        return self.model_dump_json()

    @classmethod
    def load(cls, text: str) -> Self:
        """AuthError, which shows nothing of it, for what is no token."""
        try:
            return cls.model_validate_json(text)
        except ValidationError:
            raise AuthError("the stored tokens cannot be read", remedy="connect the account again") from None
