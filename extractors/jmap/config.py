"""The settings of a JMAP account."""

from __future__ import annotations

from typing import Self

from pydantic import Field, field_validator, model_validator

from extractors.oauth_settings import OAuthSettings

FASTMAIL = "https://api.fastmail.com/jmap/session"


class JmapConfig(OAuthSettings):
    """``base_url``: the server, which then says where its session is, or the session's own address. ``user``: for a
    server that takes a name and a password instead of a token. ``addresses`` are the owner's own: they tell sent mail
    from received. ``mailboxes``: only these, by the names that the server shows ("Inbox/Bills"); empty: all but
    drafts, junk and bin. ``max_age_days``: mail that was older when first seen is left alone. ``jmap_account``: the id
    of the mail account, where the login has several. ``allow_private``: the server is in a private
    network or on this machine, unencrypted too."""

    base_url: str = Field(default=FASTMAIL, max_length=2_000)
    user: str = Field(default="", max_length=320)
    addresses: tuple[str, ...] = Field(default=(), max_length=50)
    mailboxes: tuple[str, ...] = Field(default=(), max_length=200)
    max_age_days: int | None = Field(default=365, ge=1)
    jmap_account: str = Field(default="", max_length=255)
    allow_private: bool = False

    @field_validator("addresses")
    @classmethod
    def _lower_case(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for address in value:
            if address.count("@") != 1:
                raise ValueError(f"{address!r} is no mail address; write name@domain")
        return tuple(address.strip().lower() for address in value)

    @model_validator(mode="after")
    def _is_encrypted(self) -> Self:
        """The token goes there."""
        if not self.base_url.startswith("https://") and not self.allow_private:
            raise ValueError("base_url must begin with https://")
        return self
