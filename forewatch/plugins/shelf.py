"""Shelf: the folder ``plugins/`` of the home: per plugin its manifest, the pin of the last review, a listing that
differed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from actions.plugins import manifest_file
from actions.plugins.listing import Listing
from actions.plugins.manifest import PluginManifest
from actions.plugins.pin import Pin
from forewatch.plugins.house import FOLDER
from schemas.errors import ConfigError, NotFound, RuleError

_LISTING: TypeAdapter[Listing] = TypeAdapter(Listing)


class Shelf:
    """Blocks. Writes are whole or not there."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.folder = home / FOLDER

    def names(self) -> list[str]:
        return sorted(path.stem for path in self.folder.glob("*.yaml"))

    def manifests(self) -> Iterator[tuple[str, PluginManifest | RuleError]]:
        """Each plugin by name; what is wrong with one is no fault of the others."""
        for name in self.names():
            try:
                yield name, self.manifest(name)
            except RuleError as error:
                yield name, error

    def manifest(self, name: str) -> PluginManifest:
        path = self.path(name)
        if name not in self.names():
            raise NotFound(f"there is no plugin {name!r}", remedy="see 'forewatch plugins list'")
        return manifest_file.load(path, self._home)

    def path(self, name: str) -> Path:
        return self.folder / f"{name}.yaml"

    def check(self, text: str) -> PluginManifest:
        """A manifest that is to be put here, checked as if it were; RuleError."""
        manifest = manifest_file.parse(text, "the manifest")
        if inside := manifest.forbidden_places(self._home):
            raise ConfigError(
                f"{inside[0]} would let the plugin into Forewatch's own files", remedy="declare a folder beside it"
            )
        return manifest

    def put(self, manifest: PluginManifest, text: str, pin: Pin) -> None:
        """The manifest with its review; a listing that differed is settled by it. The manifest is written first: what a
        crash leaves of it alone, or with an older review, is off until somebody agrees again."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self.path(manifest.plugin).exists() or self.path(manifest.plugin).read_text("utf-8") != text:
            self._write(self.path(manifest.plugin), text)
        self._write(self._pin(manifest.plugin), pin.model_dump_json(indent=1))
        self._seen(manifest.plugin).unlink(missing_ok=True)

    def pin(self, name: str) -> Pin | None:
        """None where it was never reviewed, or what was kept of the review cannot be read."""
        try:
            return Pin.model_validate_json(self._pin(name).read_bytes())
        except (OSError, ValidationError):
            return None

    def seen(self, name: str) -> Listing | None:
        """What its server listed instead of what was reviewed."""
        try:
            return _LISTING.validate_json(self._seen(name).read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValidationError):
            return ()

    def note(self, name: str, listing: Listing) -> None:
        self._write(self._seen(name), _LISTING.dump_json(listing, indent=1).decode())

    def remove(self, name: str) -> None:
        """The manifest goes first: without it there are no tools."""
        for path in (self.path(name), self._pin(name), self._seen(name)):
            path.unlink(missing_ok=True)

    def _pin(self, name: str) -> Path:
        return self.folder / f"{name}.pin.json"

    def _seen(self, name: str) -> Path:
        return self.folder / f"{name}.seen.json"

    def _write(self, path: Path, text: str) -> None:
        draft = path.with_name(f".{path.name}.tmp")
        with open(os.open(draft, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
