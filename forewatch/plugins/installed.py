"""Plugins that are Python packages (entry-point group ``forewatch.tools``): in this process, only where trusted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import cast

from actions.tools.tool import Tool
from schemas.errors import ConfigError

GROUP = "forewatch.tools"
"""An entry point names a callable without arguments that gives the plugin's tools."""


def installed() -> dict[str, EntryPoint]:
    return {point.name: point for point in entry_points(group=GROUP)}


def trusted_tools(trusted: Iterable[str]) -> Mapping[str, list[Tool]]:
    """By plugin. ConfigError for one that is not installed, does not load, or takes a name that is not its own."""
    wanted = list(trusted)
    if not wanted:
        return {}
    there = installed()
    return {name: _tools(name, there) for name in wanted}


def _tools(name: str, there: Mapping[str, EntryPoint]) -> list[Tool]:
    if name not in there:
        found = ", ".join(sorted(there)) or "none"
        raise ConfigError(f"trusted_plugins: no plugin {name!r} is installed", remedy=f"installed: {found}")
    try:
        make = cast("Callable[[], Iterable[Tool]]", there[name].load())
        tools = list(make())
    except Exception as error:  # the border to code that is not ours
        raise ConfigError(
            f"the plugin {name!r} does not load: {type(error).__name__}: {error}",
            remedy="take it out of trusted_plugins, or mend it",
        ) from error
    for tool in tools:
        if not tool.manifest.name.startswith(f"{name}."):
            raise ConfigError(
                f"the plugin {name!r} brings a tool {tool.manifest.name!r}", remedy=f"its tools are named '{name}....'"
            )
    return tools
