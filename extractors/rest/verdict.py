"""Verdict: what an answer means, by the definition's table and then by what is usual. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Literal

from extractors.http import Answer, refused, wished
from extractors.rest import graphql
from extractors.rest.auth import ClientCredentials, OAuth2
from extractors.rest.definition import Definition, ErrorRule, Wait
from extractors.rest.expression import holds
from schemas.errors import AuthError, ForewatchError, RateLimited, TransientError
from schemas.model import Json

_LONGEST = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Verdict:
    """``error`` is raised for what is neither good nor one of ours to handle. ``note``: what went wrong beside what is
    of use."""

    meaning: Literal["good", "skip", "restart", "error"]
    error: ForewatchError | None = None
    note: str = ""


GOOD = Verdict("good")


def judge(definition: Definition, answer: Answer, document: Json, now: datetime) -> Verdict:
    """The first row of the table that fits wins. ``document`` is None where the body is no JSON."""
    for row in definition.errors:
        if answer.status in row.status and (row.when is None or holds(row.when, document)):
            return _by_table(definition, row, answer, now)
    if 200 <= answer.status < 300:
        found = graphql.errors(document) if definition.kind == "graphql" else []
        return _by_graphql(definition, found, document, answer, now) if found else GOOD
    if answer.status == 403:
        return Verdict("error", _missing_scope(definition, answer, ""))
    return Verdict("error", refused(answer, now))


def _by_table(definition: Definition, row: ErrorRule, answer: Answer, now: datetime) -> Verdict:
    host = answer.url.host
    match row.action:
        case "skip" | "restart":
            return Verdict(row.action, note=row.message)
        case "retry":
            at = wished(answer.headers, now) if row.wait is None else wait_until(row.wait, answer, now)
            return Verdict("error", RateLimited(row.message or f"{host} asks for fewer calls", retry_at=at))
        case "reauth":
            return Verdict("error", _reauth(host, row.message))
        case "missing_scope":
            return Verdict("error", _missing_scope(definition, answer, row.message))
        case "fail":
            return Verdict("error", TransientError(row.message or f"{host} answers {answer.status}"))


def _by_graphql(
    definition: Definition, found: Sequence[dict[str, object]], document: Json, answer: Answer, now: datetime
) -> Verdict:
    """Errors beside data are a note: what is there is of use."""
    errors, host = list(found), answer.url.host
    match graphql.outcome(errors):
        case "retry":
            at = wished(answer.headers, now)
            return Verdict("error", RateLimited(f"{host} asks for fewer calls", retry_at=at))
        case "reauth":
            return Verdict("error", _reauth(host, ""))
        case "missing_scope":
            return Verdict("error", _missing_scope(definition, answer, ""))
        case "fail":
            message = f"{host}: {graphql.message(errors)}"
            has_data = isinstance(document, dict) and isinstance(document.get("data"), dict)
            return Verdict("good", note=message) if has_data else Verdict("error", TransientError(message))


def _reauth(host: str, message: str) -> AuthError:
    return AuthError(message or f"{host} does not accept the credentials any more", remedy="connect the account again")


def _missing_scope(definition: Definition, answer: Answer, message: str) -> AuthError:
    auth = definition.auth
    scopes = ", ".join(auth.scopes) if isinstance(auth, OAuth2 | ClientCredentials) else ""
    remedy = f"grant {scopes} there, and connect the account again" if scopes else "grant the missing right there"
    return AuthError(
        message or f"{answer.url.host} does not allow this account to read {answer.url.path}", remedy=remedy
    )


def wait_until(wait: Wait, answer: Answer, now: datetime) -> datetime | None:
    """At most a day ahead, never in the past; None where the header is missing or makes no sense."""
    if wait.seconds is not None:
        return now + timedelta(seconds=wait.seconds)
    text = answer.headers.get(wait.header or "", "").strip()
    try:
        at = _moment(text, wait.format, now)
    except (ValueError, TypeError, OverflowError, OSError):
        return None
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    return min(max(at, now), now + _LONGEST)


def _moment(text: str, format: str, now: datetime) -> datetime:
    match format:
        case "date":
            return parsedate_to_datetime(text)
        case "iso":
            return datetime.fromisoformat(text)
        case "seconds":
            return now + timedelta(seconds=min(max(float(text), 0), _LONGEST.total_seconds()))
        case "epoch":
            return datetime.fromtimestamp(float(text), UTC)
        case _:
            return datetime.fromtimestamp(float(text) / 1_000, UTC)
