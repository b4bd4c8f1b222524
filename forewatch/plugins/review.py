"""Review: what a person must see before a plugin may be used, or used again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass

from actions.plain import clean
from actions.plugins.listing import Listing, changes, sha
from actions.plugins.manifest import PluginManifest
from actions.plugins.manifests import manifests
from actions.plugins.pin import Pin
from actions.plugins.runner import Runner
from actions.tools.tool import Manifest
from forewatch.plugins.house import House
from schemas.clock import Clock


@dataclass(frozen=True)
class Review:
    """``before``: the pin of the last review, if there was one. ``now`` is what the person would agree to."""

    manifest: PluginManifest
    now: Pin
    before: Pin | None

    @property
    def tools(self) -> dict[str, Manifest]:
        """ConfigError where the manifest speaks of tools that the server does not have."""
        return manifests(self.manifest, self.now)

    @property
    def is_settled(self) -> bool:
        """Is there nothing new to agree to?"""
        return self.before is not None and not list(self.differences())

    def differences(self) -> Iterator[str]:
        """Line by line, against the last review."""
        if self.before is None:
            return
        for line in self.manifest.reach.growth_over(self.before.agreed):
            yield f"it may do more: {line}"
        if self.before.program != self.now.program:
            yield "its command or address is another one"
        if self.before.version != self.now.version:
            yield f"its version: {self.before.version} -> {self.now.version}"
        for change in changes(self.before.tools, self.now.tools):
            yield f"{change.tool}, {change.part}: {change.before} -> {change.after}"

    def lines(self) -> Iterator[str]:
        """The whole of it: what it may do, what its tools are and do, and what its server says of them."""
        manifest = self.manifest
        yield f"{manifest.plugin} {manifest.version}: {manifest.url or ' '.join(manifest.command)}"
        yield from (f"  may {line}" for line in manifest.reach.says() or ["reach nobody and see no files"])
        listed = {tool.name: tool for tool in self.now.tools}
        for name, made in self.tools.items():
            yield f"  {made.name}: {made.description} ({made.effect}, {made.effect_class})"
            yield f"    its server says: {clean(listed[name].description, 300) or 'nothing'}"
        if unused := sorted(listed.keys() - self.tools.keys()):
            yield f"  not used: {', '.join(clean(name, 60) for name in unused)}"
        yield from (f"  changed: {line}" for line in self.differences())


async def look(manifest: PluginManifest, house: House) -> Listing:
    """Starts the server, as confined as it will always be, and asks what it has. NotSent or StepFailed if it fails."""

    async def nothing(listing: Listing) -> None:
        return None

    runner = Runner(manifest, house.surroundings(manifest.plugin), None, nothing)
    try:
        return await runner.listed()
    finally:
        await runner.close()
        await house.close()


def review(manifest: PluginManifest, before: Pin | None, house: House, clock: Clock) -> Review:
    """Blocks while the server starts and ends."""
    tools = asyncio.run(look(manifest, house))
    now = Pin(
        plugin=manifest.plugin,
        version=manifest.version,
        program=manifest.program,
        agreed=manifest.reach,
        tools=tools,
        reviewed_at=clock.now(),
    )
    return Review(manifest, now, before)


def fingerprint(tools: Listing) -> str:
    return sha(tools)[:16]
