"""Whether two names may mean the same: a mail says 'ACME Energy Billing', the bank row 'ACME ENERGY GMBH'."""

from __future__ import annotations

import re

_NAME_WORD = re.compile(r"[^\W_]{3,}")
_COMMON = frozenset((
    "gmbh", "mbh", "inc", "ltd", "llc", "plc", "corp", "company", "limited", "sarl", "sas", "srl", "spa", "bank",
    "und", "and", "the", "der", "die", "das", "von", "van", "for", "für", "les", "des", "com", "www", "net", "org",
    "info", "mail", "email", "team", "service", "services", "support", "billing", "invoice", "invoices", "rechnung",
    "reply", "noreply", "kundenservice", "payments", "payment", "online", "shop", "store", "europe", "deutschland",
    "germany", "france", "international", "group", "holding", "customer", "care", "hello", "contact", "account",
    "app", "cloud", "digital", "media", "mobile", "music", "musik", "musique", "música", "news", "notas", "notes",
    "notizen", "play", "plus", "premium", "radio", "stream", "streaming", "video", "vidéo", "vídeo",
))  # fmt: skip


def telling_words(name: str) -> frozenset[str]:
    """The words of a name that tell it from others: no legal forms, no words that every sender uses."""
    return frozenset(word for word in _NAME_WORD.findall(name.lower()) if word not in _COMMON)


def resembles(left: str, right: str) -> bool:
    """Whether two names share a telling word, or one's telling word holds the other's (5 letters or more)."""
    ours, theirs = telling_words(left), telling_words(right)
    if ours & theirs:
        return True
    return any(
        len(short) >= 5 and short in long for a, b in ((ours, theirs), (theirs, ours)) for short in a for long in b
    )
