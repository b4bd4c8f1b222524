"""document.write: fills a text, Markdown or HTML template into a file of the owner's document folder."""

from __future__ import annotations

import asyncio
import html
import re
from pathlib import Path

from actions.plain import clean_lines
from actions.tools.folder import Folder
from actions.tools.notify import TEN_YEARS_S
from actions.tools.placed import Placed
from actions.tools.tool import Arg, Args, Manifest, Receipt
from schemas.errors import StepFailed
from schemas.model import Json
from schemas.value import Integrity

TEMPLATES = Path(__file__).parent / "templates"
_PLACE = re.compile(r"\{\{\s*([a-z_]+)\s*\}\}")

MANIFEST = Manifest(
    name="document.write",
    version="1.0.0",
    description="Write a filled template into the document folder.",
    says="Write the document {name}",
    args={
        "template": Arg(type="FileName", says="which template"),
        "name": Arg(type="FileName", says="the file to write"),
    },
    open_args="field.",
    returns={"path": "FilePath", "sha256": "Text"},
    integrity_out=Integrity.SYSTEM,
    minted=("path", "sha256"),
    effect="write_self",
    effect_class="keyed",
    key_ttl_s=TEN_YEARS_S,
    look_up=True,
    settle_s=35.0,
    reversible="yes",
    permissions={"files": ("documents",)},
)


class DocumentWrite:
    """Never overwrites: a name that is taken is refused. The key stands in a side file.

    Templates are looked for in ``templates`` (the person's own) first, then among those that ship.
    """

    manifest = MANIFEST

    def __init__(self, root: Path, templates: Path | None = None) -> None:
        self._placed = Placed(root)
        self._templates = [Folder(folder) for folder in (templates, TEMPLATES) if folder]

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        return await asyncio.to_thread(lambda: self._placed.put(str(args["name"]), lambda: self._filled(args), key))

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        return await asyncio.to_thread(self._placed.find, str(args["name"]), key)

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        found = await self.look_up(args, key)
        if found is None or found["sha256"] != result["sha256"]:
            return None
        return Receipt(what="the document, read back", where=str(found["path"]), details={"sha256": found["sha256"]})

    def _filled(self, args: Args) -> bytes:
        name = str(args["template"])
        raw = next((found for folder in self._templates if (found := folder.read(name)) is not None), None)
        if raw is None:
            raise StepFailed(
                f"there is no template {name!r}", code="not_found", remedy="put it into the template folder"
            )
        fields = {key.removeprefix("field."): value for key, value in args.items() if key.startswith("field.")}
        return fill(raw.decode(), fields, escape=name.endswith((".html", ".htm"))).encode()


def fill(template: str, fields: Args, *, escape: bool) -> str:
    """``{{ name }}`` places in one pass; a line whose only place is empty is left out."""

    def shown(match: re.Match[str]) -> str:
        text = plain(fields.get(match[1]))
        return html.escape(text) if escape else text

    lines = []
    for line in template.splitlines(keepends=True):
        named = _PLACE.findall(line)
        if named and not any(plain(fields.get(name)) for name in named):
            continue
        lines.append(_PLACE.sub(shown, line))
    return "".join(lines)


def plain(value: Json) -> str:
    """A field in words: money and text; everything else as JSON prints it."""
    match value:
        case None:
            return ""
        case {"amount": amount, "currency": currency}:
            return f"{amount} {currency}"
    return clean_lines(str(value))
