"""What the sender wrote now: a text without the mail that it answers, and without its signature."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice

from mailparser_reply import EmailReplyParser

_READ_LINES = 5_000
_BLOCK_CAP = 500
"""Characters of a possible attribution; longer ones are prose (and the parser's time grows with their square)."""

_PARSER = EmailReplyParser(languages=["en", "de", "fr", "es", "it", "nl", "pl", "sv", "da", "cs"])
_ATTRIBUTION = re.compile(
    r"^(?:On\b.{6,300}\bwrote|Am\b.{6,300}\bschrieb\b.{0,200}|.{6,200}\bschrieb am\b.{6,100}|Le\b.{6,300}\ba écrit|"
    r"El\b.{6,300}\bescribió|[^\n]{3,200}<[^<>@\s]+@[^<>\s]+>.{0,60}(?:wrote|schrieb|a écrit|escribió))\s?:$",
    re.DOTALL,
)
_RULER = re.compile(
    r"^\s*[-_*]{3,}\s?(?:Original|Original Message|Original-?Nachricht|Ursprüngliche (?:Nachricht|E-?Mail)|"
    r"Message d['’]origine|Message original|Mensaje original)\b.{0,40}$",
    re.IGNORECASE,
)
_FORWARD = re.compile(
    r"^\s*(?:[-_*]{3,}\s?(?:Forwarded message|Weitergeleitete Nachricht|Message transféré|"
    r"Mensaje reenviado)\b.{0,40}|"
    r"(?:Begin forwarded message|Anfang der weitergeleiteten Nachricht|Début du message réexpédié|"
    r"Inicio del mensaje reenviado):)$",
    re.IGNORECASE,
)
_FIELD = re.compile(
    r"^\s*\*?(?:From|Sent|Date|To|Cc|Subject|Von|Gesendet|Datum|An|Betreff|De|Envoyé(?: le)?|À|Objet|Enviado(?: el)?|"
    r"Fecha|Para|Asunto)\s?\*?:\*?\s",
    re.IGNORECASE,
)
_SENT_FROM = re.compile(
    r"^\s*(?:Sent from (?:my|Outlook|Yahoo|Mail)|Get Outlook for|"
    r"(?:Von|Gesendet (?:von|mit|aus)) (?:meinem|der|Outlook|iPhone)|"
    r"Gesendet mit|Envoyé de(?:puis)? mon|Enviado desde mi|Diese Nachricht wurde von meinem)\b.{0,80}$",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"^\s*(?:(?:(?:Kind|Best|Warm|Many) )?regards|Yours (?:sincerely|faithfully)|Sincerely|Cheers|"
    r"Mit (?:freundlichen|besten|lieben) Grüßen|(?:Freundliche|Viele|Liebe|Beste|Schöne|Herzliche)n? Grü(?:ße|sse)n?|"
    r"MfG|VG|LG|Gruß|Hochachtungsvoll|Cordialement|Bien (?:cordialement|à vous)|Salutations|"
    r"(?:Un )?(?:cordial saludo|saludo|abrazo)|Saludos(?: cordiales)?|Atentamente)"
    r"(?:\s(?:from|aus|de|von)\s.{1,30})?[,.!]?\s*$",
    re.IGNORECASE,
)
_POSTSCRIPT = re.compile(r"^\s*(?:P\.?\s?P?\.?S\.?|NB)\b[.:]?\s", re.IGNORECASE)
_SIGNATURE_LINES = 12
"""A signature is short; what is longer below "--" is the mail itself."""


def new_text(text: str) -> str:
    """The words of this mail alone.

    Lines that are marked as quoted go, and so does everything below an attribution or a copied header, unless marked
    quotes follow it (an answer between the quotes stays). A forwarded mail is content: it stays.
    """
    lines = text.split("\n")[:_READ_LINES]
    kept: list[str] = []
    position = 0
    while position < len(lines):
        if _FORWARD.match(lines[position]):
            kept += lines[position:]
            break
        length = _attribution(lines, position)
        if length and _quotes_follow(lines, position + length):
            position += length
            continue
        if length or _RULER.match(lines[position]) or _is_copied_header(lines, position):
            break
        if not lines[position].lstrip().startswith(">"):
            kept.append(lines[position])
        position += 1
    return "\n".join(_without_signature(kept)).strip()


def _attribution(lines: list[str], position: int) -> int:
    """How many lines "On ... wrote:" takes here; 0 where there is none."""
    for length in (1, 2, 3):
        block = "\n".join(line.strip() for line in lines[position : position + length])
        is_open = position + length > len(lines) or not lines[position + length - 1].strip()
        if is_open or len(block) > _BLOCK_CAP:
            return 0
        if block.endswith(":"):
            return length if _ATTRIBUTION.match(block) or _is_known_attribution(block) else 0
    return 0


@lru_cache(maxsize=256)
def _is_known_attribution(block: str) -> bool:
    """Whether mail-parser-reply, which knows more languages, reads a quote header here."""
    if not (re.search(r"\d", block) and len(block) > 15):
        return False
    return any(reply.headers.startswith(block[:20]) for reply in _PARSER.read(block).replies)


def _quotes_follow(lines: list[str], position: int) -> bool:
    following = next((line for line in lines[position:] if line.strip()), "")
    return following.lstrip().startswith(">")


def _is_copied_header(lines: list[str], position: int) -> bool:
    """From, Sent, To, Subject of the answered mail, as Outlook copies them; a rule of dashes may stand above."""
    if re.fullmatch(r"\s*[_-]{20,}\s*", lines[position]):
        position += 1
    block = [line for line in lines[position : position + 8] if line.strip()][:4]
    return (
        len(block) >= 3 and _FIELD.match(block[0]) is not None and sum(bool(_FIELD.match(line)) for line in block) >= 3
    )


def _without_signature(lines: list[str]) -> list[str]:
    for position, line in enumerate(lines):
        if _SENT_FROM.match(line):
            return lines[:position]
        if (line.rstrip() == "--" or (position and _CLOSING.match(line))) and _is_signature(lines[position + 1 :]):
            return lines[:position]
    return lines


def _is_signature(lines: list[str]) -> bool:
    """Short, and without a postscript: people put their deadlines there."""
    rest = [line for line in islice(lines, 3 * _SIGNATURE_LINES) if line.strip()]
    is_all = len(lines) <= 3 * _SIGNATURE_LINES
    return is_all and len(rest) <= _SIGNATURE_LINES and not any(_POSTSCRIPT.match(line) for line in rest)
