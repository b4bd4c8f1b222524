"""file.find and file.read in the person's folders; file.fill, file.write and file.discard in the document folder."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

from actions.plain import clean, clean_lines
from actions.tools import extract, forms
from actions.tools.document import plain
from actions.tools.notify import TEN_YEARS_S
from actions.tools.placed import Placed
from actions.tools.tool import Arg, Args, Manifest, Receipt
from actions.tools.tree import Tree
from schemas import ids
from schemas.errors import StepFailed
from schemas.model import Json
from schemas.plan import Ref, Undo
from schemas.value import Integrity

_WORD = re.compile(r"\w+")

FIND = Manifest(
    name="file.find",
    version="1.0.0",
    description="Find a file in the folders that the owner allowed, by words of its name.",
    says="Look for the file “{words}”",
    args={
        "words": Arg(type="Text", says="words of its name"),
        "kind": Arg(type="Text", required=False, says="pdf, docx, txt, ..."),
    },
    returns={"path": "FilePath", "name": "Text", "count": "Number"},
    integrity_out=Integrity.KNOWN,  # the owner's own files; no better than the words that chose among them
    minted=("count",),
    effect="read",
    effect_class="pure",
    reversible="yes",
    permissions={"files": ("folders",)},
)
READ = Manifest(
    name="file.read",
    version="1.0.0",
    description="Read the text of a document (text, Markdown, PDF, DOCX).",
    says="Read {path}",
    args={"path": Arg(type="FilePath", says="which file")},
    returns={"text": "Text", "pages": "Number", "sha256": "Text"},
    minted=("sha256", "pages"),
    effect="read",
    effect_class="pure",
    timeout_s=45.0,
    reversible="yes",
    permissions={"files": ("folders",)},
)


def _writes(**more: object) -> Manifest:
    """What all that write into the document folder have in common."""
    common: dict[str, object] = {
        "version": "1.0.0",
        "returns": {"path": "FilePath", "sha256": "Text"},
        "integrity_out": Integrity.SYSTEM,
        "minted": ("path", "sha256"),
        "effect": "write_self",
        "effect_class": "keyed",
        "key_ttl_s": TEN_YEARS_S,
        "look_up": True,
        "settle_s": 65.0,
        "timeout_s": 60.0,
        "undo": DISCARD_UNDO,
        "reversible": "yes",
    }
    return Manifest.model_validate({**common, **more})


DISCARD_UNDO = Undo(
    tool="file.discard",
    args={"path": Ref(step="self", field="path"), "sha256": Ref(step="self", field="sha256")},
)
FILL = _writes(
    name="file.fill",
    description="Fill a PDF form or a DOCX template of the owner's into the document folder.",
    says="Fill {template} and save it as {name}",
    args={
        "template": Arg(type="FilePath", says="the form"),
        "name": Arg(type="FileName", says="the file to write"),
    },
    open_args="field.",
    permissions={"files": ("folders", "documents")},
)
WRITE = _writes(
    name="file.write",
    description="Write a text file into the document folder.",
    says="Write the file {name}",
    args={"name": Arg(type="FileName", says="the file to write"), "text": Arg(type="Text", says="what it says")},
    permissions={"files": ("documents",)},
)
DISCARD = Manifest(
    name="file.discard",
    version="1.0.0",
    description="Put a file aside that Forewatch wrote and that nobody has changed since.",
    says="Take back the file {path}",
    args={"path": Arg(type="FilePath", says="which file"), "sha256": Arg(type="Text", says="as it was written")},
    returns={"sha256": "Text"},
    integrity_out=Integrity.SYSTEM,
    minted=("sha256",),
    effect="delete",
    effect_class="keyed",
    key_ttl_s=TEN_YEARS_S,
    look_up=True,
    settle_s=35.0,
    permissions={"files": ("documents",)},
)


class FileFind:
    """The file whose name has most of the words; of equals the newest."""

    manifest = FIND

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        return await asyncio.to_thread(self._found, args)

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        return None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        return None

    def _found(self, args: Args) -> dict[str, Json]:
        wanted = _words(str(args["words"]))
        ending = f".{str(args['kind']).lower().lstrip('.')}" if args.get("kind") else ""
        ranked = []
        for path in self._tree.files():
            matched = sum(any(word in found for found in _words(path.name)) for word in wanted)
            if matched and path.name.lower().endswith(ending):
                ranked.append((matched, path.stat().st_mtime, str(path)))
        if not ranked:
            raise StepFailed(f"no file is named like “{clean(str(args['words']), 80)}”", code="not_found")
        best = max(ranked)
        return {"path": best[2], "name": Path(best[2]).name, "count": len(ranked)}


class FileRead:
    manifest = READ

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        path = str(args["path"])
        content = await asyncio.to_thread(self._tree.read, path)
        text, pages = await extract.text_of(Path(path).name, content)
        return {"text": text, "pages": pages, "sha256": ids.content_hash(content)}

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        return None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        return None


class _Writes:
    """A tool that places one file. ``_content`` is a function of the arguments and the person's own files alone."""

    def __init__(self, documents: Path) -> None:
        self._placed = Placed(documents)

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        return await asyncio.to_thread(self._place, args, key)

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        return await asyncio.to_thread(self._placed.find, str(args["name"]), key)

    def _place(self, args: Args, key: str) -> dict[str, Json]:
        return self._placed.put(str(args["name"]), lambda: self._content(args), key)

    def _content(self, args: Args) -> bytes:
        raise NotImplementedError


class FileFill(_Writes):
    """Verified by reading the filled form back, field by field."""

    manifest = FILL

    def __init__(self, tree: Tree, documents: Path) -> None:
        super().__init__(documents)
        self._tree = tree

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        return await asyncio.to_thread(self._receipt, args, key, result)

    def _content(self, args: Args) -> bytes:
        template = str(args["template"])
        if Path(template).suffix.lower() != Path(str(args["name"])).suffix.lower():
            raise StepFailed("the filled form must end like its template", code="invalid", remedy="change the name")
        return forms.filled(template, self._tree.read(template), _fields(args))

    def _receipt(self, args: Args, key: str, result: Args) -> Receipt | None:
        name, template = str(args["name"]), str(args["template"])
        found, content = self._placed.find(name, key), self._placed.read(name)
        if found is None or content is None or found["sha256"] != result["sha256"]:
            return None
        wanted = forms.entered(template, self._tree.read(template), _fields(args))
        said = forms.values(name, content, wanted)
        if dict(said) != dict(wanted):
            return None
        details: dict[str, Json] = {name: clean(value, 80) for name, value in said.items()}
        return Receipt(what=f"the form, {len(said)} fields read back", where=str(found["path"]), details=details)


class FileWrite(_Writes):
    manifest = WRITE

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        found, wanted = await self.look_up(args, key), ids.content_hash(self._content(args))
        if found is None or not found["sha256"] == result["sha256"] == wanted:
            return None
        return Receipt(what="the file, read back", where=str(found["path"]), details={"sha256": found["sha256"]})

    def _content(self, args: Args) -> bytes:
        return f"{clean_lines(str(args['text']), 100_000)}\n".encode()


class FileDiscard:
    """The undo of everything that writes a file. What it takes away is kept in ``.forewatch/discarded``."""

    manifest = DISCARD

    def __init__(self, documents: Path) -> None:
        self._placed = Placed(documents)

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        return await asyncio.to_thread(self._placed.discard, str(args["path"]), str(args["sha256"]), key)

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        return await asyncio.to_thread(self._placed.discarded, str(args["path"]), key)

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        if await self.look_up(args, key) is None:
            return None
        return Receipt(what="the file is gone from the folder", where=str(args["path"]))


def _fields(args: Args) -> dict[str, str]:
    return {name.removeprefix("field."): plain(value) for name, value in args.items() if name.startswith("field.")}


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text.replace("_", " "))]
