"""What servers and sockets say, as errors of ours: the one table."""

from __future__ import annotations

import imaplib
import re
import ssl

from extractors.imap.config import ImapConfig
from schemas.errors import AuthError, ForewatchError, RateLimited, TransientError

_CODE = re.compile(r"\[([A-Z-]+)[ \]]")
_LATER = {"UNAVAILABLE", "INUSE", "SERVERBUG", "CONTACTADMIN", "OVERQUOTA"}
_BUSY = re.compile(r"too many|rate limit|throttl|bandwidth|exceeded", re.IGNORECASE)
_SOON = re.compile(r"temporar|try again|later|unavailable|internal error|not available", re.IGNORECASE)
_APP_PASSWORDS = {
    "imap.gmail.com": "Gmail takes an app password (myaccount.google.com/apppasswords), or OAuth with provider google",
    "outlook.office365.com": "Microsoft takes no passwords any more: connect with provider microsoft",
    "imap.mail.yahoo.com": "Yahoo takes an app password: Account security, Generate app password",
    "imap.mail.me.com": "iCloud takes an app-specific password: account.apple.com, App-Specific Passwords",
    "imap.fastmail.com": "Fastmail takes an app password: Settings, Privacy & Security, App passwords",
}
"""By server: what to type where the everyday password is refused."""


class LoginRefused(Exception):
    """The server does not take these credentials; it says why."""


def translated(error: Exception, host: str) -> ForewatchError:
    """Of anything that a conversation with a server may raise. What is not in the table is a bug of ours."""
    if isinstance(error, ForewatchError):
        return error
    if isinstance(error, ssl.SSLCertVerificationError):
        return AuthError(
            f"the certificate of {host} is not to be trusted: {error.verify_message}",
            remedy="check the name of the server; ca_file names the certificate of one that signs its own",
        )
    if isinstance(error, ssl.SSLError):
        return TransientError(
            f"{host} speaks no TLS there: {error.reason or error}", remedy="check port and security (tls, starttls)"
        )
    if isinstance(error, TimeoutError):
        return TransientError(f"{host} does not answer in time")
    if isinstance(error, OSError):
        return TransientError(f"{host} cannot be reached: {error.strerror or error}")
    if isinstance(error, imaplib.IMAP4.error):
        text = _shown(str(error))
        if _BUSY.search(text):
            return RateLimited(f"{host} asks for fewer connections: {text}")
        return TransientError(f"{host} broke off: {text}")
    if isinstance(error, ValueError | LookupError | TypeError | RecursionError):  # of the library's parsers
        return TransientError(f"{host} answers what is no IMAP: {_shown(str(error))}")
    raise error


def refused(text: str, config: ImapConfig) -> ForewatchError | LoginRefused:
    """What a NO to a login means. LoginRefused: the credentials themselves."""
    said = _shown(text)
    code = code_of(text)
    if code == "LIMIT" or _BUSY.search(text):
        return RateLimited(f"{config.host} asks for fewer logins: {said}")
    if code in _LATER or (not code and _SOON.search(text)):
        return TransientError(f"{config.host} lets nobody in just now: {said}")
    if code == "PRIVACYREQUIRED":
        return AuthError(f"{config.host} wants an encrypted connection", remedy='set security = "tls" or "starttls"')
    return LoginRefused(said)


def no_entry(said: str, config: ImapConfig) -> AuthError:
    remedy = "connect the account again"
    if not config.provider:
        remedy = _APP_PASSWORDS.get(
            config.host.lower(), "check user name and password; many providers want an app password"
        )
    return AuthError(f"{config.host} does not let {config.username} in: {said}", remedy=remedy)


def code_of(text: str) -> str:
    """The response code of RFC 3501 and 5530, such as AUTHENTICATIONFAILED; "" for none."""
    match = _CODE.search(text)
    return match[1] if match else ""


def _shown(text: str) -> str:
    """One short line without control characters: it comes from outside."""
    if text[:2] in ("b'", 'b"'):  # as the library shows bytes
        text = text[2:-1]
    plain = "".join(letter if letter.isprintable() else " " for letter in text)
    return " ".join(plain.split())[:200]
