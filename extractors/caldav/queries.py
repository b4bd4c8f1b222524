"""The bodies of our requests."""

from __future__ import annotations

from collections.abc import Sequence
from xml.sax.saxutils import escape

_NAMES = 'xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav" xmlns:s="http://calendarserver.org/ns/"'
_HEAD = '<?xml version="1.0" encoding="utf-8"?>\n'


def propfind(*names: str) -> bytes:
    """Names with their prefixes: d (WebDAV), c (CalDAV), s (Calendar Server)."""
    props = "".join(f"<{name}/>" for name in names)
    return f"{_HEAD}<d:propfind {_NAMES}><d:prop>{props}</d:prop></d:propfind>".encode()


def sync_collection(token: str) -> bytes:
    """Without a limit: some servers cut what is beyond it and do not say so."""
    return (
        f"{_HEAD}<d:sync-collection {_NAMES}><d:sync-token>{escape(token)}</d:sync-token>"
        "<d:sync-level>1</d:sync-level><d:prop><d:getetag/></d:prop></d:sync-collection>"
    ).encode()


def multiget(hrefs: Sequence[str]) -> bytes:
    listed = "".join(f"<d:href>{escape(href)}</d:href>" for href in hrefs)
    return (
        f"{_HEAD}<c:calendar-multiget {_NAMES}><d:prop><d:getetag/><c:calendar-data/></d:prop>{listed}"
        "</c:calendar-multiget>"
    ).encode()


BEGIN = propfind("d:resourcetype", "d:current-user-principal", "c:calendar-home-set")
PRINCIPAL = propfind("c:calendar-home-set")
CALENDARS = propfind(
    "d:resourcetype",
    "d:displayname",
    "d:owner",
    "d:current-user-principal",
    "d:sync-token",
    "s:getctag",
    "d:supported-report-set",
    "c:supported-calendar-component-set",
    "c:schedule-calendar-transp",
)
ETAGS = propfind("d:getetag", "d:resourcetype")
