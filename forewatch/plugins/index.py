"""The index: servers that were looked at, with the least that each needs, shipped as data in ``index.yaml``."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from actions.plugins.manifest_file import wrong
from schemas.errors import ConfigError, NotFound
from schemas.model import Json, Model
from schemas.yaml_text import read, text_of

FILE = Path(__file__).with_name("index.yaml")


class Vetted(Model):
    """``listing``: the sha256 of what this version lists of itself. ``manifest`` has places to be filled in."""

    name: str
    about: str
    licence: str
    install: str
    listing: str
    needs_hosts: bool = False
    needs_folder: bool = False
    manifest: dict[str, Json]


def index(file: Path = FILE) -> dict[str, Vetted]:
    """By name. RuleError with its place for what is wrong in the file."""
    document = read(text_of(file), str(file), "index of plugins")
    servers = document.data.get("servers", []) if isinstance(document.data, dict) else []
    found: dict[str, Vetted] = {}
    for number, server in enumerate(servers):
        try:
            vetted = Vetted.model_validate(server)
        except ValidationError as error:
            raise wrong(document, ("servers", number), error) from error
        found[vetted.name] = vetted
    return found


def vetted(name: str) -> Vetted:
    known = index()
    if name not in known:
        raise NotFound(
            f"the index has no plugin {name!r}", remedy=f"it has {', '.join(known)}; or give the file of a manifest"
        )
    return known[name]


def filled(entry: Vetted, program: Path | None, folder: Path | None, hosts: list[str]) -> str:
    """The manifest of an entry as YAML text. ConfigError says what is missing."""
    if program is None:
        raise ConfigError(
            f"where did you install {entry.name}? Its folder is needed",
            remedy=f"{entry.install}; then --program FOLDER",
        )
    if entry.needs_folder and folder is None:
        raise ConfigError(f"{entry.name} needs a folder that it may see", remedy="--folder FOLDER")
    if entry.needs_hosts and not hosts:
        raise ConfigError(f"{entry.name} needs the hosts that it may ask", remedy="--host www.example.org")
    places = {"{program}": str(program.absolute()), "{folder}": str(folder.absolute()) if folder else ""}
    manifest: Any = _put_in(entry.manifest, places)
    if hosts:
        allowed = [{"host": host, "tunnel": True} for host in hosts]
        manifest["permissions"] = {**manifest.get("permissions", {}), "hosts": allowed}
    return _yaml(manifest)


def _put_in(value: Json, places: dict[str, str]) -> Json:
    """Only in whole places: ``{path}`` of a sentence is the tool's own."""
    match value:
        case str():
            for place, text in places.items():
                value = value.replace(place, text)
            return value
        case list():
            return [_put_in(each, places) for each in value]
        case dict():
            return {name: _put_in(each, places) for name, each in value.items()}
    return value


def _yaml(manifest: dict[str, Json]) -> str:
    from ruamel.yaml import YAML

    yaml, text = YAML(), io.StringIO()
    yaml.width = 110
    yaml.dump(manifest, text)
    return text.getvalue()
