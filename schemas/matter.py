"""Matters: the keys under which events that belong together meet, whichever source they come from."""

from __future__ import annotations

import re

_SHARED_SUFFIXES = frozenset(["co", "com", "org", "net", "ac", "gov", "edu"])
_FREE_MAIL_DOMAINS = """
gmail.com googlemail.com outlook.com hotmail.com live.com yahoo.com icloud.com me.com aol.com mail.com proton.me
protonmail.com gmx.de gmx.net gmx.at gmx.ch web.de t-online.de freenet.de posteo.de mailbox.org bluewin.ch orange.fr
free.fr laposte.net
"""
_FREE_MAIL = frozenset(_FREE_MAIL_DOMAINS.split())
"""Domains that say nothing about who writes."""


def invoice(number: str, *, domain: str = "", issuer: str = "") -> str:
    """An invoice and all about it: the reminder from another address of the same company, the payment."""
    return f"invoice:{_who(domain, issuer)}:{code(number)}"


def booking(number: str) -> str:
    return f"booking:{code(number)}"


def parcel(number: str) -> str:
    """A parcel on its way, by its tracking number."""
    return f"parcel:{code(number)}"


def calendar(uid: str) -> str:
    return f"calendar:{uid}"


def thread(root: str) -> str:
    """A conversation, by the id of its first message."""
    return f"thread:{root}"


def organisation(domain: str) -> str:
    """The part of a domain that its owner registered: mail.shop.example.co.uk is example.co.uk."""
    labels = domain.lower().strip(".").split(".")
    is_shared = len(labels) > 2 and len(labels[-1]) == 2 and labels[-2] in _SHARED_SUFFIXES
    return ".".join(labels[-3 if is_shared else -2 :])


def speaking(domain: str) -> str:
    """The organisation of a domain, if it says who writes; empty for a provider of free mail."""
    known = organisation(domain)
    return "" if known in _FREE_MAIL else known


def _who(domain: str, issuer: str) -> str:
    known = organisation(domain)
    if speaking(domain):
        return known
    return re.sub(r"[\W_]+", "-", issuer.lower()).strip("-") or known or "unknown"


def code(number: str) -> str:
    """Spaces and case do not tell two numbers apart; other marks may."""
    return "".join(number.split()).upper()
