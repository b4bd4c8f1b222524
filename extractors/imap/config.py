"""The settings of an IMAP account; the password is in the vault."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from extractors.oauth_settings import OAuthSettings


class ImapConfig(OAuthSettings):
    """``username``: what the server knows the person by, mostly the mail address.

    ``folders``: as ``forewatch accounts test`` names them; none: the inbox and what the server marks as sent mail.
    ``addresses`` are the owner's own: they tell sent mail from received (default: ``username`` where it is one).
    ``allow_private``: the server is in this network or on this machine. ``security``: "none" is accepted on this
    machine alone, unless ``allow_unencrypted``. ``ca_file``: the certificate of a server that signs its own.
    ``smtp_host``, ``smtp_port``, ``smtp_security``: where mail is handed in, once sending was granted; no host: the one
    that goes with ``host``.
    """

    host: str = Field(min_length=1, max_length=255, pattern=r"^[^\s/@]+$")
    port: int = Field(default=993, ge=1, le=65_535)
    security: Literal["tls", "starttls", "none"] = "tls"
    username: str = Field(min_length=1, max_length=320, pattern=r"^[^\x00-\x1f\x7f]+$")
    folders: tuple[str, ...] = Field(default=(), max_length=50)
    addresses: tuple[str, ...] = Field(default=(), max_length=50)
    max_age_days: int | None = Field(default=None, ge=1)
    allow_private: bool = False
    allow_unencrypted: bool = False
    ca_file: str = Field(default="", max_length=4_000)
    smtp_host: str = Field(default="", max_length=255, pattern=r"^[^\s/@]*$")
    smtp_port: int = Field(default=465, ge=1, le=65_535)
    smtp_security: Literal["tls", "starttls", "none"] = "tls"

    @field_validator("folders")
    @classmethod
    def _names(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if not name or len(name) > 500 or any(ord(letter) < 32 or ord(letter) == 127 for letter in name):
                raise ValueError(f"{name[:40]!r} is no name of a folder")
        return tuple(dict.fromkeys("INBOX" if name.upper() == "INBOX" else name for name in value))

    @field_validator("addresses")
    @classmethod
    def _lower_case(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for address in value:
            if address.count("@") != 1:
                raise ValueError(f"{address!r} is no mail address; write name@domain")
        return tuple(address.strip().lower() for address in value)

    @property
    def owners(self) -> tuple[str, ...]:
        if self.addresses or self.username.count("@") != 1:
            return self.addresses
        return (self.username.strip().lower(),)
