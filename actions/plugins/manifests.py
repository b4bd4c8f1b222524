"""The tool manifests of a plugin: the person's words and limits over the shapes that the pinned listing gives."""

from __future__ import annotations

import re

from actions.plugins import schema
from actions.plugins.listing import Listed
from actions.plugins.manifest import PluginManifest, PluginTool
from actions.plugins.pin import Pin
from actions.tools.tool import Manifest
from schemas.errors import ConfigError
from schemas.plan import Effect, EffectClass, Ref, Undo

START_S = 30.0
"""How long a server may take to start; a call may wait for that before anything is sent."""


def tool_name(plugin: str, name: str) -> str:
    """``mcp.<plugin>.<tool>``, in small letters, digits and underscores."""
    return f"mcp.{plugin}.{re.sub(r'[^a-z0-9_]+', '_', name.lower()).strip('_') or 'tool'}"


def manifests(plugin: PluginManifest, pin: Pin) -> dict[str, Manifest]:
    """By the server's own name of the tool. ConfigError where the person's words do not fit what was pinned."""
    listed = {tool.name: tool for tool in pin.tools}
    made: dict[str, Manifest] = {}
    for name, tool in plugin.tools.items():
        if name not in listed:
            raise ConfigError(f"plugin {plugin.plugin}: its server has no tool {name!r}", remedy=_there_is(listed))
        try:
            made[name] = _manifest(plugin, pin, tool, listed[name])
        except ValueError as error:
            raise ConfigError(
                f"plugin {plugin.plugin}: the tool {name!r} cannot be used: {error}", remedy="leave it out"
            ) from error
    names = [manifest.name for manifest in made.values()]
    if double := {name for name in names if names.count(name) > 1}:
        raise ConfigError(f"plugin {plugin.plugin}: two tools become {sorted(double)[0]}", remedy="leave one out")
    return made


def _there_is(listed: dict[str, Listed]) -> str:
    return f"there are: {', '.join(sorted(listed)) or 'none'}"


def _manifest(plugin: PluginManifest, pin: Pin, tool: PluginTool, listed: Listed) -> Manifest:
    effect, effect_class = raised(tool, listed)
    reach = plugin.reach
    longest = tool.timeout_s + START_S
    return Manifest(
        name=tool_name(plugin.plugin, listed.name),
        version=f"{plugin.version}+{pin.sha[:12]}",
        description=tool.description,
        says=tool.says,
        args=schema.arguments(listed.input_schema, tool.args, goes_out=bool(reach.hosts)),
        returns=schema.returns(listed.output_schema),
        effect=effect,
        effect_class=effect_class,
        settle_s=0.0 if effect_class == "pure" else longest * 2,
        timeout_s=longest,
        reversible="yes" if effect == "read" else tool.reversible,
        undo=_undo(plugin, tool),
        permissions={
            "hosts": tuple(host.says() for host in reach.hosts),
            "files": tuple(str(place) for place in (*reach.files.read, *reach.files.write)),
            "secrets": tuple(sorted(reach.secrets)),
        },
    )


def _undo(plugin: PluginManifest, tool: PluginTool) -> Undo | None:
    if tool.undo is None:
        return None
    args = {name: Ref(step="self", field=field) for name, field in tool.undo.args.items()}
    return Undo(tool=tool_name(plugin.plugin, tool.undo.by), args=args)


def raised(tool: PluginTool, listed: Listed) -> tuple[Effect, EffectClass]:
    """The person's word, unless the server itself says that it is graver. What it says in its favour is not heard."""
    hints = listed.annotations
    effect: Effect = tool.effect
    if hints.get("readOnlyHint") is False and effect == "read":
        effect = "outbound"
    if hints.get("openWorldHint") is True and effect == "write_self":
        effect = "outbound"
    is_destructive = hints.get("destructiveHint") is True and hints.get("readOnlyHint") is not True
    if is_destructive and effect in ("read", "write_self", "outbound"):
        effect = "delete"
    return effect, (tool.effect_class if effect == tool.effect else "at_most_once")
