"""House: the live tools of the plugins. It follows the files: what is reviewed is on, what differs or is gone off."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from actions.tools.tool import Tool
from forewatch.settings import Settings
from schemas.clock import Clock
from schemas.errors import ForewatchError, RuleError

if TYPE_CHECKING:
    from actions.plugins.connection import Surroundings
    from actions.plugins.listing import Listing
    from actions.plugins.manifest import PluginManifest
    from actions.plugins.pin import Pin, Standing
    from actions.plugins.runner import Runner
    from forewatch.access import Credentials
    from forewatch.plugins.shelf import Shelf

FOLDER = "plugins"
_Kept = dict[str, "tuple[str, Runner]"]


@dataclass(frozen=True)
class State:
    """How a plugin stands, for the person. ``tools`` are the names of those that are on."""

    plugin: str
    kind: str
    version: str
    standing: Standing | str
    reasons: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()


def vault_account(plugin: str) -> str:
    """Under which name a plugin's secrets are in the vault."""
    return f"plugin:{plugin}"


class House:
    """One runner per plugin and version. A home without plugins loads nothing and costs one look at a folder."""

    def __init__(self, settings: Settings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._seen: object = ()
        self._tools: dict[str, Tool] = {}
        self._runners: dict[str, tuple[str, Runner]] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._credentials: Credentials | None = None
        self.states: list[State] = []

    def tools(self) -> Mapping[str, Tool]:
        """By name, as the files are now."""
        now = _signature(self._settings.home / FOLDER)
        if now != self._seen:
            self._seen = now
            self._load()
        return self._tools

    def cut(self) -> None:
        """Ends every call that is under way, whose outcome is unknown then; the plugins stay on."""
        for _, runner in self._runners.values():
            runner.cut()

    async def close(self) -> None:
        """Ends every runner; the outcome of a call under way is unknown."""
        await asyncio.gather(*(runner.close() for _, runner in self._runners.values()), *self._ending)
        if self._credentials is not None:
            await asyncio.to_thread(self._credentials.close)

    def surroundings(self, plugin: str) -> Surroundings:
        from actions.isolation.broker import Means
        from actions.plugins.connection import Surroundings
        from forewatch.plugins.ledger import FileLedger

        async def secrets() -> Mapping[str, str]:
            return await self._secrets(plugin)

        means = Means(self._clock, FileLedger(self._settings.home), lambda: uuid.uuid4().hex)
        return Surroundings(means, secrets)

    async def _secrets(self, plugin: str) -> Mapping[str, str]:
        if not self._settings.vault.exists():
            return {}
        if self._credentials is None:
            from forewatch.access import Credentials

            self._credentials = Credentials(self._settings, self._clock, {})
        return dict(await self._credentials.secrets(vault_account(plugin)))

    def _load(self) -> None:
        from forewatch.plugins.shelf import Shelf

        shelf = Shelf(self._settings.home)
        self._tools, self.states = {}, []
        kept: _Kept = {}
        for name, manifest in shelf.manifests():
            if isinstance(manifest, RuleError):
                self.states.append(State(name, "?", "?", "broken", (str(manifest),)))
                continue
            self.states.append(self._place(shelf, manifest, kept))
        for name, (mark, runner) in self._runners.items():
            if kept.get(name, ("", None))[0] != mark:
                self._part_with(runner, is_replaced=name in kept)
        self._runners = kept

    def _place(self, shelf: Shelf, manifest: PluginManifest, kept: _Kept) -> State:
        """Its tools, if it is on; how it stands."""
        from actions.plugins.manifests import manifests
        from actions.plugins.pin import standing
        from actions.tools.mcp import McpTool

        name, pin = manifest.plugin, shelf.pin(manifest.plugin)
        how, reasons = standing(manifest, pin, shelf.seen(name))
        if how != "on" or pin is None:
            return State(name, manifest.kind, manifest.version, how, tuple(reasons))
        try:
            made = manifests(manifest, pin)
        except ForewatchError as error:
            return State(name, manifest.kind, manifest.version, "broken", (str(error),))
        runner = self._runner(shelf, manifest, pin, kept)
        listed = {tool.name: tool for tool in pin.tools}
        for tool, each in made.items():
            agreed = manifest.tools[tool]
            self._tools[each.name] = McpTool(each, listed[tool], runner, agreed.timeout_s, agreed.seen)
        return State(name, manifest.kind, manifest.version, how, (), tuple(sorted(m.name for m in made.values())))

    def _runner(self, shelf: Shelf, manifest: PluginManifest, pin: Pin, kept: _Kept) -> Runner:
        """The live one as long as manifest and review are the same."""
        from actions.plugins.runner import Runner
        from schemas import ids

        name = manifest.plugin
        mark = ids.digest([manifest.model_dump(mode="json"), pin.model_dump(mode="json")])

        async def changed(listing: Listing) -> None:
            await asyncio.to_thread(shelf.note, name, listing)

        if (there := self._runners.get(name)) and there[0] == mark:
            kept[name] = there
        else:
            kept[name] = (mark, Runner(manifest, self.surroundings(name), pin.tools, changed))
        return kept[name][1]

    def _part_with(self, runner: Runner, *, is_replaced: bool) -> None:
        """A replaced one finishes what is under way; one that may no longer run is cut off at once."""
        if not is_replaced:
            runner.revoke()
        try:
            task = asyncio.get_running_loop().create_task(runner.retire() if is_replaced else runner.close())
        except RuntimeError:  # no loop: then nothing is alive either
            return
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


def _signature(folder: Path) -> object:
    """Another one whenever a file of the folder was written; () where there is no folder. Some microseconds."""
    try:
        with os.scandir(folder) as entries:
            return tuple(sorted((each.name, (s := each.stat()).st_mtime_ns, s.st_size) for each in entries))
    except OSError:  # not there, or changed under us: the next look sees it
        return ()
