"""format=flowed (RFC 3676): joins the lines that a mail program broke, and only those."""

from __future__ import annotations


def unflow(text: str, *, delsp: bool) -> str:
    """One line for each paragraph. Quote marks stay in front of the lines that have them; "-- " stays alone."""
    paragraphs: list[list[str]] = []
    is_open, depth_before = False, -1
    for line in text.replace("\r\n", "\n").split("\n"):
        content = line.lstrip(">")
        depth = len(line) - len(content)
        content = content.removeprefix(" ")  # stuffed
        is_signature = content == "-- "
        if not (is_open and depth == depth_before and not is_signature):
            paragraphs.append([">" * depth + " " if depth else ""])
        is_open = content.endswith(" ") and not is_signature
        paragraphs[-1].append(content[:-1] if is_open and delsp else content)
        depth_before = depth
    return "\n".join("".join(pieces) for pieces in paragraphs)
