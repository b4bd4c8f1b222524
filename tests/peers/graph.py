"""Microsoft Graph's published types as JSON Schema: what the stand-in's every answer is held against."""

from __future__ import annotations

import json
import shutil
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

from tests.peers.packages import fetched_npm, from_npm
from tests.peers.process import CHECKOUT, PeerMissing

NAME = "graph-types"
_PACKAGES = ("@microsoft/microsoft-graph-types@2.43.1", "ts-json-schema-generator@2.4.0")
_TYPES = ("Message", "MailFolder", "Event", "Calendar")
_ALIASES = "".join(f"export type Published{name} = graph.{name};\n" for name in _TYPES)
_SOURCE = f'import * as graph from "@microsoft/microsoft-graph-types";\n{_ALIASES}'


def fetch_graph() -> str:
    """The types and their schema, made once; says where they are."""
    if shutil.which("node") is None:
        raise PeerMissing("the schema of Microsoft Graph is made with Node.js, and there is no 'node'")
    folder = from_npm(NAME, *_PACKAGES)
    target = folder / "schema.json"
    if not target.is_file():
        (folder / "published.ts").write_text(_SOURCE)
        generator = folder / "node_modules" / "ts-json-schema-generator" / "bin" / "ts-json-schema-generator.js"
        command = ["node", str(generator), "--path", "published.ts", "--no-type-check", "--out", "schema.part"]
        subprocess.run(command, cwd=folder, check=True)
        (folder / "schema.part").rename(target)
    return f"the types of Microsoft Graph are in {folder.relative_to(CHECKOUT)}"


@cache
def graph_schema() -> dict[str, Any]:
    """``definitions`` by type, PublishedMessage among them. PeerMissing where ``make peers`` has not made it."""
    target: Path = fetched_npm(NAME) / "schema.json"
    if not target.is_file():
        raise PeerMissing("the schema of Microsoft Graph is not here: run 'make peers'")
    found: dict[str, Any] = json.loads(target.read_text())
    return found
