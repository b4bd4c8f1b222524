"""The text of a letter as plain text and as HTML, with the quotes that mail programs add."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence

from forewatch.sample.letter import Letter, Quoting
from forewatch.sample.speech import Block

_STYLE = (
    "body{font-family:sans-serif;color:#222}td{padding:2px 14px 2px 0}.pre{display:none;max-height:0;overflow:hidden}"
)


def plain(letter: Letter, width: int = 74) -> str:
    """Hard-wrapped lines, LF between them."""
    text = "\n\n".join(_plain_block(block, width) for block in letter.blocks)
    quoted = _plain_quote(letter, width)
    return f"{text}\n\n{quoted}\n" if quoted else f"{text}\n"


def flowed(letter: Letter) -> str:
    """format=flowed (RFC 3676): soft breaks end in a space."""
    wrapped = plain(letter, 66).split("\n")
    lines = [
        f"{line} " if line and after and not line.startswith(">") and not after.startswith(">") else line
        for line, after in zip(wrapped, [*wrapped[1:], ""], strict=True)
    ]
    return "\n".join(lines)


def _plain_block(block: Block, width: int) -> str:
    if isinstance(block, str):
        return "\n".join(textwrap.wrap(block, width, break_long_words=False, break_on_hyphens=False))
    return "\n".join(f"{label}: {value}" for label, value in block)


def _plain_quote(letter: Letter, width: int) -> str:
    if letter.answers is None or letter.quoting is None:
        return ""
    answered = letter.answers
    if letter.quoting == "outlook":
        head = "\n".join(f"{label}: {value}" for label, value in outlook_head(letter, answered))
        return f"{letter.speaker.words('original')}\n{head}\n\n{plain(answered, width)}".rstrip()
    quoted = [f"> {line}".rstrip() for line in plain(answered, width - 2).rstrip().split("\n")]
    return "\n".join([said(letter, answered), *quoted])


def said(letter: Letter, answered: Letter) -> str:
    """The line above a quote: On ..., ... wrote:"""
    template: str = letter.speaker.words("owner_said")[0]
    when = f"{letter.speaker.day(answered.at.date())} {answered.at:%H:%M}"
    return template.format(date=when, name=answered.sender.name, address=answered.sender.mail)


def outlook_head(letter: Letter, answered: Letter) -> list[tuple[str, str]]:
    labels: Sequence[str] = letter.speaker.words("outlook")
    when = f"{letter.speaker.day(answered.at.date())} {answered.at:%H:%M}"
    sender = f"{answered.sender.name} <{answered.sender.mail}>"
    values = (sender, when, "; ".join(address.mail for address in answered.to), answered.subject)
    return list(zip(labels, values, strict=True))


def marked_up(letter: Letter, script: str) -> str:
    """A whole HTML document. ``script`` is JSON-LD or empty."""
    ld = f'<script type="application/ld+json">{script}</script>' if script else ""
    pre = f'<div class="pre" style="display:none;max-height:0">{html.escape(letter.preheader)}</div>'
    parts = [
        f"<html><head><style>{_STYLE}</style>{ld}</head><body>",
        pre if letter.preheader else "",
        *(_html_block(block) for block in letter.blocks),
        _html_quote(letter, letter.quoting),
        "</body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _html_block(block: Block) -> str:
    if isinstance(block, str):
        return f"<p>{html.escape(block, quote=False)}</p>"
    rows = "\n".join(f"<tr><td>{_cell(label)}</td><td><b>{_cell(value)}</b></td></tr>" for label, value in block)
    return f'<table role="presentation">\n{rows}\n</table>'


def _cell(text: str) -> str:
    return html.escape(text, quote=False).replace("\u00a0", "&nbsp;")


def _html_quote(letter: Letter, quoting: Quoting | None) -> str:
    if letter.answers is None or quoting is None:
        return ""
    answered = letter.answers
    inner = "\n".join(_html_block(block) for block in answered.blocks)
    if quoting == "outlook":
        head = "<br>".join(f"<b>{label}:</b> {html.escape(value)}" for label, value in outlook_head(letter, answered))
        return f'<div style="border-top:solid #B5C4DF 1.0pt"><p>{head}</p></div>\n{inner}'
    lead = html.escape(said(letter, answered))
    return f'<div class="gmail_quote">{lead}<br><blockquote type="cite">{inner}</blockquote></div>'
