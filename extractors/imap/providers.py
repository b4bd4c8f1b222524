"""Where big providers keep their mail, by the domain of an address."""

from __future__ import annotations

from schemas.model import Json

_HOSTS = {
    "imap.gmail.com": "gmail.com googlemail.com",
    "outlook.office365.com": "outlook.com hotmail.com live.com msn.com outlook.de hotmail.de hotmail.fr live.de",
    "imap.mail.yahoo.com": "yahoo.com yahoo.co.uk yahoo.de yahoo.fr yahoo.es ymail.com",
    "imap.mail.me.com": "icloud.com me.com mac.com",
    "imap.fastmail.com": "fastmail.com fastmail.fm",
    "imap.aol.com": "aol.com",
    "imap.gmx.net": "gmx.net gmx.de gmx.at gmx.ch",
    "imap.gmx.com": "gmx.com",
    "imap.web.de": "web.de",
    "secureimap.t-online.de": "t-online.de",
    "imap.mailbox.org": "mailbox.org",
    "posteo.de": "posteo.de posteo.net",
    "imap.zoho.com": "zoho.com zohomail.com",
    "imap.orange.fr": "orange.fr wanadoo.fr",
    "imap.free.fr": "free.fr",
    "imap.laposte.net": "laposte.net",
}
_BY_DOMAIN = {domain: host for host, domains in _HOSTS.items() for domain in domains.split()}
_BY_EXCHANGER = {
    "google.com": "imap.gmail.com",
    "googlemail.com": "imap.gmail.com",
    "mail.protection.outlook.com": "outlook.office365.com",
    "messagingengine.com": "imap.fastmail.com",
    "mail.icloud.com": "imap.mail.me.com",
    "yahoodns.net": "imap.mail.yahoo.com",
    "zoho.com": "imap.zoho.com",
    "zoho.eu": "imap.zoho.eu",
    "mailbox.org": "imap.mailbox.org",
    "posteo.de": "posteo.de",
    "gmx.net": "imap.gmx.net",
    "infomaniak.ch": "mail.infomaniak.com",
    "ovh.net": "ssl0.ovh.net",
    "ionos.de": "imap.ionos.de",
    "kundenserver.de": "imap.ionos.de",
    "gandi.net": "mail.gandi.net",
}
"""Whose servers take the mail of a domain (its MX records, by how their names end), and where it is read then."""
_OAUTH_ONLY = {"outlook.office365.com": "microsoft"}
"""Servers that take no passwords at all, and the profile in ``extractors.providers`` that lets us in."""
BRIDGED = frozenset({"proton.me", "protonmail.com", "pm.me", "tutanota.com", "tuta.com"})
"""Mail that no server shows; at best a program on this machine does."""


def provider_settings(domain: str) -> dict[str, Json] | None:
    host = _BY_DOMAIN.get(domain.lower())
    return None if host is None else {"host": host, "port": 993, "security": "tls", **oauth_for(host)}


def exchanger_settings(exchanger: str) -> dict[str, Json] | None:
    """For a domain of somebody's own that is kept by a provider."""
    name = exchanger.lower().rstrip(".")
    for ending, host in _BY_EXCHANGER.items():
        if name == ending or name.endswith(f".{ending}"):
            return {"host": host, "port": 993, "security": "tls", **oauth_for(host)}
    return None


def oauth_for(host: str) -> dict[str, Json]:
    """What names the OAuth client where a server takes nothing else."""
    provider = _OAUTH_ONLY.get(host.lower())
    return {"provider": provider} if provider else {}
