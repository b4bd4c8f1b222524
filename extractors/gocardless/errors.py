"""What GoCardless' errors mean for us, in one table."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from extractors.http import Answer, refused, wished
from extractors.openbanking.errors import AccountUnreadable, PeriodTooLong
from schemas.errors import AuthError, ForewatchError, RateLimited, TransientError

RATE_PAUSE = timedelta(hours=6)
_RELINK = "link the bank again"
_PERSON = {
    "AccessExpiredError": "the consent at the bank has expired or was revoked",
    "FailedAuthentication": "the bank does not accept the login",
    "AccountAccessForbidden": "the bank does not let the accounts be read",
    "No valid End User Agreement": "there is no consent for this account",
    "End User Agreement (EUA) access scope error": "the consent does not cover transactions and balances",
}
_ACCOUNT = {
    "AccountInactiveError": "it was closed or no longer exists",
    "Account suspended": "GoCardless suspended it after many errors",
    "Account state error": "its state does not allow it to be read",
}
_TOKEN = frozenset({"Invalid token", "Authentication failed"})


def type_of(answer: Answer) -> str:
    """The error's type, or the summary of those that have none; empty where the answer has neither."""
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(found, dict):
        return ""
    known = [found.get("type"), found.get("summary")]
    if answer.status == 409 and found.get("status"):
        known.append("Account state error")
    return next((each for each in known if isinstance(each, str) and each), "")


def is_stale_token(answer: Answer) -> bool:
    """Whether a 401 speaks of our token; the others speak of the consent."""
    return answer.status == 401 and type_of(answer) in _TOKEN


def raised(answer: Answer, now: datetime) -> ForewatchError | AccountUnreadable | PeriodTooLong:
    """The error for an answer that is no success."""
    kind = type_of(answer)
    if answer.status == 429:
        return RateLimited(
            "the bank allows no more reads today", retry_at=wished(answer.headers, now) or now + RATE_PAUSE
        )
    if kind in _PERSON:
        return AuthError(_PERSON[kind], remedy=_RELINK)
    if kind in _ACCOUNT:
        return AccountUnreadable(_ACCOUNT[kind])
    if answer.status == 401 and kind in _TOKEN:
        return AuthError("GoCardless does not accept the secret", remedy="enter secret id and key again")
    if answer.status == 404 and kind.startswith("Account ID"):
        return AccountUnreadable("GoCardless does not know it any more")
    if answer.status == 403 and kind == "IP address access denied":
        return AuthError("GoCardless does not take calls from here", remedy="allow this address in its portal")
    if answer.status == 400 and kind == "Incorrect date range":
        return PeriodTooLong("the bank does not go back that far")
    if answer.status in (400, 409):
        return TransientError(f"{answer.url.host} answers {answer.status} {kind[:80]}".strip())
    return refused(answer, now)
