"""What an HTML mail hides from its reader (pre-headers, copies for other screens) is not read by us either."""

from __future__ import annotations

import re

from lxml.html import HtmlElement

_HIDING = re.compile(
    r"display:none|visibility:hidden|mso-hide:all|max-height:0(?![.\d]*[1-9])|opacity:0(?:\.0+)?(?![.\d])|"
    r"color:transparent|text-indent:-\d{3,}|(?:left|top):-\d{4,}"
)
_TINY = re.compile(r"font-size:[0-2](?:\.\d+)?(?:px|pt|em|rem|%)?(?![.\d])")
_SIZED = re.compile(r"font-size:(?:[3-9]|[1-9]\d)")
_COLOURS = re.compile(r"(?:^|;)(color|background(?:-color)?):(#[0-9a-f]{3,8}|[a-z]+|rgba?\([\d,.%]+\))(?=;|!|$)")
_NAMED = {"white": "#ffffff", "black": "#000000", "red": "#ff0000", "yellow": "#ffff00"}
_RGB = re.compile(r"rgba?\((\d{1,3}),(\d{1,3}),(\d{1,3})(?:,1(?:\.0+)?)?\)")
_SPACE = re.compile(r"\s+")
_COMMENT = re.compile(r"/\*.*?\*/|<!--|-->", re.DOTALL)
_RULE = re.compile(r"([^{}@;]{1,2000})\{([^{}]{0,5000})\}")
_SELECTOR = re.compile(r"(?:[a-z][a-z0-9]*)?([.#])([\w-]{1,100})")
_STYLE_CAP = 200_000


def drop_hidden(tree: HtmlElement) -> None:
    """Removes from the tree what cannot be seen; what follows a removed element stays."""
    classes, ids = _hiding_selectors(tree)
    readable = _readable(tree)
    hidden = [element for element in tree.iter() if _is_hidden(element, classes, ids, readable)]
    for element in hidden:
        if element.getparent() is not None:
            element.drop_tree()


def _is_hidden(element: HtmlElement, classes: set[str], ids: set[str], readable: set[HtmlElement]) -> bool:
    if not isinstance(element.tag, str):
        return True  # a comment or processing instruction
    if element.tag in ("script", "style", "noscript", "template", "title", "select", "object"):
        return True
    if element.get("hidden") is not None or element.get("id", "") in ids:
        return True
    if classes and not classes.isdisjoint(element.get("class", "").split()):
        return True
    style = _SPACE.sub("", element.get("style", "").lower())
    if _HIDING.search(style) or (_TINY.search(style) and element not in readable):
        return True
    return _is_like_its_ground(style) and not any(
        "color" in each.get("style", "") for each in element.iterdescendants("*")
    )


def _is_like_its_ground(style: str) -> bool:
    """Text in the very colour of the background that the same element has. What lies under it from elsewhere is not
    followed: a button is white on a colour that its style sheet names."""
    found = {name[:5]: _hex(value) for name, value in _COLOURS.findall(style)}
    return found.get("color", "").startswith("#") and found["color"] == found.get("backg")


def _hex(colour: str) -> str:
    """``#ffffff`` for white, #fff and rgb(255,255,255)."""
    if match := _RGB.fullmatch(colour):
        return "#" + "".join(f"{min(int(part), 255):02x}" for part in match.groups())
    if len(colour) == 4 and colour[0] == "#":
        return "#" + "".join(2 * digit for digit in colour[1:])
    return _NAMED.get(colour, colour)


def _readable(tree: HtmlElement) -> set[HtmlElement]:
    """Elements with a font size that can be read, and all around them: layout cells are tiny, their text is not."""
    found: set[HtmlElement] = set()
    for element in tree.iter():
        if isinstance(element.tag, str) and _SIZED.search(_SPACE.sub("", element.get("style", "").lower())):
            while element is not None and element not in found:
                found.add(element)
                element = element.getparent()
    return found


def _hiding_selectors(tree: HtmlElement) -> tuple[set[str], set[str]]:
    """Classes and ids that a style sheet hides on every screen. Rules for some screens only (@media) do not count."""
    found: dict[str, set[str]] = {".": set(), "#": set()}
    for sheet in tree.iter("style"):
        css = _without_at_rules(_COMMENT.sub("", (sheet.text or "")[:_STYLE_CAP]))
        for selectors, body in _RULE.findall(css):
            if not _HIDING.search(_SPACE.sub("", body.lower())):
                continue
            for selector in selectors.split(","):
                if match := _SELECTOR.fullmatch(selector.strip()):
                    found[match[1]].add(match[2])
    return found["."], found["#"]


def _without_at_rules(css: str) -> str:
    """The style sheet without @media { ... } and the like, braces counted."""
    kept: list[str] = []
    depth = 0
    is_at_rule = False
    for piece in re.split(r"([{}])", css):
        if piece == "{":
            depth += 1
        elif piece == "}":
            depth = max(0, depth - 1)
        elif depth == 0:
            is_at_rule = "@" in piece
        if not is_at_rule:
            kept.append(piece)
    return "".join(kept)
