"""extract.*: one typed field out of a text that somebody else wrote, with the words that it stood in.

A value that is the only one of its form needs no model. Where there are several, or free words are wanted, the
quarantined reader is asked (``actions/planning/extract.py``): a model without tools and without memory, whose answer
counts only as far as the text literally has it. Whatever comes out is as untrusted as the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from actions.plain import clean
from actions.planning.candidates import candidates
from actions.planning.extract import MAX_SOURCE, Extraction, Source, Type, Wanted
from actions.tools.tool import SPANS, Arg, Args, Manifest, Receipt
from schemas.errors import StepFailed
from schemas.model import Json
from schemas.value import Value

FIELDS: Mapping[str, tuple[Type, str]] = {
    "amount": ("Money", "an amount of money"),
    "date": ("Date", "a day"),
    "number": ("Number", "a number"),
    "email": ("Email", "a mail address"),
    "account": ("Iban", "an account number"),
    "link": ("Url", "a web address"),
    "words": ("Text", "a few words, a name or a reference"),
}


class Reader(Protocol):
    """The quarantined reader."""

    async def read(self, source: Source, wanted: Wanted, nonce: str) -> Extraction:
        """``off`` says why nobody was asked; it never raises for what a model may do."""
        ...


def manifest(name: str, host: str = "") -> Manifest:
    """``host``: where the reader's model is asked, if that is beyond this machine; then the text leaves it."""
    type_, says = FIELDS[name]
    return Manifest(
        name=f"extract.{name}",
        version="1.0.0",
        description=f"Extract {says} from the text of an earlier step.",
        says=f"Read {says} ({{what}}) out of a text",
        args={
            "text": Arg(type="Text", says="the text to read"),
            "what": Arg(type="Text", says="which one is meant, in a few words"),
        },
        returns={"value": type_, "quote": "Text"},
        effect="read",
        effect_class="pure",
        timeout_s=90.0,
        reversible="yes",
        permissions={"hosts": (host,)} if host else {},
    )


class Extract:
    def __init__(self, name: str, reader: Reader | None, host: str = "") -> None:
        self.manifest = manifest(name, host)
        self._type = FIELDS[name][0]
        self._reader = reader

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        source = Source("text", "text", str(args["text"])[:MAX_SOURCE])
        found = candidates(self._type, source)
        value = found[0] if len(found) == 1 else await self._read(source, str(args["what"]), key, len(found))
        assert value.span is not None, "what is extracted stood somewhere"
        span: Json = value.span.model_dump(mode="json")
        return {"value": value.v, "quote": clean(value.span.quote, 200), SPANS: {"value": span}}

    async def _read(self, source: Source, what: str, key: str, several: int) -> Value:
        if self._reader is None:
            raise StepFailed(self._doubt(several, "no model is configured"), code="not_found")
        found = await self._reader.read(source, Wanted("value", self._type, clean(what, 120)), key[:16])
        value = found.values.get("value")
        if value is None:
            why = found.off or "the model found none that stands in the text"
            raise StepFailed(self._doubt(several, why), code="not_found")
        return value

    def _doubt(self, several: int, why: str) -> str:
        return f"the text has {several or 'none'} of that form, and nobody says which is meant: {why}"

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        return None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        return None


def all_extracts(reader: Reader | None, host: str = "") -> list[Extract]:
    return [Extract(name, reader, host) for name in FIELDS]
