"""What a provider refuses: for good (AuthErrors: a person must act, and is told what to do), or for now."""

from __future__ import annotations

from collections.abc import Sequence

from schemas.errors import AuthError, TransientError


class Denied(AuthError):
    """The provider answered with an OAuth error. ``code`` is the error's word, cleaned; its prose is not kept."""

    def __init__(self, message: str, *, code: str, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.code = code


class ConsentLost(AuthError):
    """The tokens are of no use any more. ``reason``: invalid_grant, refresh_interrupted, no_refresh_token, ..."""

    def __init__(self, message: str, *, reason: str, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.reason = reason


class MissingScope(AuthError):
    """The person, or the provider, granted less than the connector needs."""

    def __init__(self, message: str, *, missing: Sequence[str], remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.missing = tuple(missing)


class TurnedAway(TransientError):
    """The provider answered that it did nothing, so nothing was used up by asking."""
