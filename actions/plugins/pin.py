"""Pin: the listing and the permissions that the person reviewed. What differs from it is off until reviewed again."""

from __future__ import annotations

from typing import Literal

from actions.isolation.permissions import Permissions
from actions.plugins.listing import Listing, changes, sha
from actions.plugins.manifest import PluginManifest
from schemas.model import Instant, Model


class Pin(Model):
    plugin: str
    version: str
    program: str
    agreed: Permissions
    tools: Listing
    reviewed_at: Instant

    @property
    def sha(self) -> str:
        return sha(self.tools)


Standing = Literal["on", "new", "changed", "grown", "replaced"]
"""``new``: nobody reviewed it yet. ``changed``: the server lists its tools differently. ``grown``: the manifest allows
more than was agreed to. ``replaced``: another program, address or version. All but ``on`` are off."""


def standing(manifest: PluginManifest, pin: Pin | None, seen: Listing | None) -> tuple[Standing, list[str]]:
    """``seen``: a listing that differed when the server last ran. With the reasons, in words."""
    if pin is None:
        return "new", ["nobody has reviewed it yet"]
    if grown := manifest.reach.growth_over(pin.agreed):
        return "grown", grown
    if pin.program != manifest.program:
        return "replaced", ["its command or address is another one"]
    if pin.version != manifest.version:
        return "replaced", [f"version {pin.version} -> {manifest.version}"]
    if seen is not None:
        found = changes(pin.tools, seen)
        return "changed", [f"{each.tool}: {each.part}: {each.before} -> {each.after}" for each in found]
    return "on", []
