"""What Enable Banking's error codes mean for us, in one table."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from extractors.http import Answer, refused, wished
from extractors.openbanking.errors import AccountUnreadable, PeriodTooLong, PlaceLost
from schemas.errors import AuthError, ForewatchError, RateLimited, TransientError

PSU_HEADERS = "PSU_HEADER_NOT_PROVIDED"
RATE_PAUSE = timedelta(hours=6)
"""Banks do not say when they will answer again; they count by the day."""

_RELINK = "link the bank again"
_PERSON = {
    "EXPIRED_SESSION": ("the consent at the bank has expired", _RELINK),
    "CLOSED_SESSION": ("the consent at the bank was closed", _RELINK),
    "REVOKED_SESSION": ("the consent at the bank was revoked", _RELINK),
    "SESSION_DOES_NOT_EXIST": ("Enable Banking does not know this consent", _RELINK),
    "WRONG_SESSION_STATUS": ("the consent at the bank is not complete", _RELINK),
    "ASPSP_PSU_ACTION_REQUIRED": ("the bank wants to see you", "log in at your bank, then link it again"),
    "WRONG_CREDENTIALS_PROVIDED": ("the bank does not accept the login", _RELINK),
    "EXPIRED_AUTHORIZATION_CODE": ("the answer of the bank came too late", "begin again"),
    "WRONG_AUTHORIZATION_CODE": ("the answer of the bank is not accepted", "begin again"),
    "ALREADY_AUTHORIZED": ("the answer of the bank was used before", "begin again"),
    "WRONG_ASPSP_PROVIDED": ("Enable Banking does not know this bank", "check the settings bank and country"),
    "REDIRECT_URI_NOT_ALLOWED": (
        "the redirect address is not registered",
        "add it to your application in the Enable Banking control panel",
    ),
    "NO_ACCOUNTS_ADDED": (
        "the application may read no account",
        "link your own accounts to it in the Enable Banking control panel",
    ),
    "UNAUTHORIZED_IP": ("the application may not be used from here", "allow this address in the control panel"),
    "ACCESS_DENIED": ("the application may not read accounts", "enable account information in the control panel"),
    "UNAUTHORIZED_ACCESS": ("Enable Banking refuses the application", "check the application id and its key"),
    "AUTHORIZATION_NOT_PROVIDED": ("Enable Banking refuses the application", "check the application id and its key"),
    PSU_HEADERS: ("the bank answers only while you are there", "set psu, or use another bank connector"),
    "PSU_HEADER_INVALID": ("the bank does not accept the headers of your browser", "correct the setting psu"),
}
_ACCOUNT = {
    "ACCOUNT_DOES_NOT_EXIST": "the consent does not cover it any more",
    "ASPSP_ACCOUNT_NOT_ACCESSIBLE": "the bank does not give access to it",
}
_PASSING = frozenset({"ASPSP_ERROR", "ASPSP_TIMEOUT"})


def code_of(answer: Answer) -> str:
    """The error code of an answer; empty where it has none."""
    try:
        found = json.loads(answer.body)
    except (ValueError, RecursionError):
        return ""
    code = found.get("error") if isinstance(found, dict) else None
    return code if isinstance(code, str) else ""


def raised(answer: Answer, now: datetime) -> ForewatchError | AccountUnreadable | PeriodTooLong | PlaceLost:
    """The error for an answer that is no success. A code that we do not know goes by its status."""
    code = code_of(answer)
    if code == "ASPSP_RATE_LIMIT_EXCEEDED":
        return RateLimited(
            "the bank allows no more reads today", retry_at=wished(answer.headers, now) or now + RATE_PAUSE
        )
    if code in _PERSON:
        message, remedy = _PERSON[code]
        return AuthError(message, remedy=remedy)
    if code in _ACCOUNT:
        return AccountUnreadable(_ACCOUNT[code])
    if code == "WRONG_TRANSACTIONS_PERIOD":
        return PeriodTooLong("the bank does not go back that far")
    if code == "WRONG_CONTINUATION_KEY":
        return PlaceLost("the bank lost our place in its list")
    if code in _PASSING:
        return TransientError(f"the bank does not answer Enable Banking ({code})", retry_at=wished(answer.headers, now))
    if answer.status in (400, 404, 422):
        return TransientError(f"{answer.url.host} answers {answer.status} {code[:60]}".strip())
    return refused(answer, now)
