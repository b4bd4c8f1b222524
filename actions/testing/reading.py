"""A quarantined reader by script: the real extraction, with a model that says what it is told to say."""

from __future__ import annotations

import json

from actions.planning.ask import FreeMeter
from actions.planning.extract import Extraction, Source, Wanted, extract
from actions.testing.modelscript import Body, Said, Script, Text
from actions.testing.scriptedmodel import ScriptedModel
from schemas.clock import Clock


def first_line(body: Body) -> Said:
    """An honest model, and a simple one: what is meant is the first line of the text."""
    text = str(body["messages"][-1]["content"]).split("\n", 1)[1].rsplit("\n", 1)[0]
    line = text.splitlines()[0][:120]
    return Text(json.dumps({"value": {"written": line, "quote": line}}))


class ScriptedReader:
    def __init__(self, clock: Clock, script: Script = first_line) -> None:
        self.model = ScriptedModel(script, clock)

    async def read(self, source: Source, wanted: Wanted, nonce: str) -> Extraction:
        return await extract(self.model, source, (wanted,), FreeMeter(), nonce)
