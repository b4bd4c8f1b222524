"""Finding the JMAP server of a mail address (RFC 8620, section 2.2)."""

from __future__ import annotations

from extractors.http import Http
from extractors.jmap.config import FASTMAIL
from extractors.jmap.session import WELL_KNOWN
from schemas.errors import AuthError, ForewatchError

_FASTMAIL = frozenset({"fastmail.com", "fastmail.fm", "messagingengine.com", "sent.com", "api.fastmail.com"})
_REDIRECTS = (301, 302, 303, 307, 308)
_PRIVATE = (401, 403)
_HOPS = 4


async def session_address(hint: str, http: Http) -> str:
    """The address of the session, for a mail address or a host. AuthError says what to type instead.

    Nothing secret is sent: redirects are followed here, so that the credentials go to where they end.
    """
    host = hint.strip().rpartition("@")[2].lower() if "://" not in hint else ""
    if host in _FASTMAIL:
        return FASTMAIL
    url = f"https://{host}{WELL_KNOWN}" if host else hint.strip()
    try:
        for _ in range(_HOPS):
            answer = await http.send("GET", url, passing=(*_REDIRECTS, *_PRIVATE))
            if answer.status not in _REDIRECTS:
                return str(answer.url)
            url = str(answer.url.join(answer.headers.get("location", "")))
    except ForewatchError as error:
        raise AuthError(
            f"no JMAP server found for {hint[:80]!r}: {error.message}",
            remedy="type the address of its session, as your provider names it",
        ) from error
    raise AuthError(f"{hint[:80]!r} redirects without end", remedy="type the address of the session")
