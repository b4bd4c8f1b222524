"""The account settings that name an OAuth client; tokens and the client's secret are in the vault, never here."""

from __future__ import annotations

from pydantic import Field

from schemas.model import Model


class OAuthSettings(Model):
    """A mixin for the settings of connectors that may be let in by OAuth. All empty: no OAuth for this account."""

    provider: str = Field(default="", max_length=40)
    """A profile of ``extractors.providers``: google, microsoft, fastmail or oidc."""
    client_id: str = Field(default="", max_length=500)
    """The OAuth client that the person registered with the provider."""
    issuer: str = Field(default="", max_length=2_000)
    """The address of the provider, for the profile oidc; for microsoft a tenant's, where it is not for everyone."""
