"""PluginManifest: what the person agreed to of a plugin. Its own words never get here; these are the person's."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, model_validator

from actions.isolation.permissions import Credential, Host, Permissions, Place
from actions.isolation.sandbox import Mode
from actions.nominal import NOMINALS, Sink
from schemas import ids
from schemas.model import Model

PluginEffect = Literal["read", "write_self", "outbound", "payment", "delete", "share", "credential"]
NAME = r"^[a-z][a-z0-9_]{0,30}$"
_LINE = r"^[^\x00-\x1f]*$"


class PluginArg(Model):
    """What the person knows better than the schema: what an argument is, and what it decides."""

    type: str | None = None
    sink: Sink | None = None
    says: str = Field(default="", max_length=120, pattern=_LINE)

    @model_validator(mode="after")
    def _is_known(self) -> Self:
        if self.type is not None and self.type not in NOMINALS:
            raise ValueError(f"unknown type {self.type!r}; use one of {', '.join(NOMINALS)}")
        return self


class PluginSeen(Model):
    """How the effect of a tool is seen: another tool of the same server, given fields of the result, answers ``equals``
    in ``field``. Without it nobody takes for done what the tool did (law L9)."""

    by: str
    args: dict[str, str]
    field: str
    equals: str


class PluginUndo(Model):
    """What takes the effect back: another tool of the same server, given fields of the result."""

    by: str
    args: dict[str, str]


class PluginTool(Model):
    """One tool of a plugin. What is not said here is taken for the worst: it goes out, and happens at most once."""

    model_config = ConfigDict(populate_by_name=True)

    description: str = Field(min_length=1, max_length=160, pattern=_LINE)
    """One line, in the person's words: the only ones that a planner reads."""
    says: str = Field(min_length=1, max_length=160, pattern=_LINE)
    """The step in plain words, with ``{argument}`` places."""
    effect: PluginEffect = "outbound"
    effect_class: Literal["pure", "at_most_once"] = Field(default="at_most_once", alias="class")
    """``pure`` may be called again; no server can be trusted with more than that."""
    args: dict[str, PluginArg] = {}
    timeout_s: float = Field(default=30.0, gt=0, le=3_600)
    reversible: str = Field(default="no", max_length=60, pattern=_LINE)
    seen: PluginSeen | None = None
    undo: PluginUndo | None = None

    @model_validator(mode="after")
    def _only_reading_is_pure(self) -> Self:
        if self.effect_class == "pure" and self.effect != "read":
            raise ValueError(f"effect {self.effect!r} cannot be of class 'pure': calling it twice does it twice")
        return self


class PluginManifest(Model):
    """``kind``: ``stdio`` is a program that speaks MCP over its pipes, in the sandbox; ``http`` a server of somebody
    else's that speaks MCP over streamable HTTP, reached through the broker."""

    plugin: str = Field(pattern=NAME)
    version: str = Field(min_length=1, max_length=60, pattern=r"^[A-Za-z0-9._+-]+$")
    kind: Literal["stdio", "http"] = "stdio"
    command: tuple[str, ...] = ()
    parts: tuple[Place, ...] = ()
    """The folders that the program consists of; it sees nothing else of the machine."""
    environment: dict[str, str] = {}
    url: str = ""
    secret: str = ""
    """Of an http server: the name of its token in the vault. One token for one server."""
    private: bool = False
    """Of an http server: it may lie in the person's own network."""
    isolation: Mode = "bwrap"
    """The weakest that will do."""
    permissions: Permissions = Permissions()
    tools: dict[str, PluginTool] = {}

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        wrong = self._gap()
        if wrong:
            raise ValueError(wrong)
        return self

    def _gap(self) -> str:
        if missing := self._companion():
            return missing
        if self.kind == "stdio":
            if not self.command:
                return "a stdio plugin needs its command"
            if self.url or self.secret:
                return "url and secret belong to an http plugin; a program gets its secrets from the broker, per host"
            return self._too_weak()
        parts = urlsplit(self.url)
        if parts.scheme not in ("https", "http") or not parts.hostname or parts.username or parts.query:
            return "an http plugin needs a url such as https://mcp.example.org/mcp"
        if parts.scheme == "http" and not self.private:
            return "plain http only to a server in your own network (private: true)"
        if self.command or self.parts or self.permissions.hosts or self.permissions.files.read:
            return "an http plugin runs elsewhere: it has no command, no parts and no permissions on this machine"
        return ""

    def _companion(self) -> str:
        """A tool that another one is seen or taken back by must be agreed to as well."""
        for name, tool in self.tools.items():
            if tool.undo and tool.undo.by not in self.tools:
                return f"the tool {name!r} is taken back by {tool.undo.by!r}, which is not among the tools"
            if tool.seen and getattr(self.tools.get(tool.seen.by), "effect", "") != "read":
                return f"the tool {name!r} is seen by {tool.seen.by!r}, which is not among the tools that read"
        return ""

    def _too_weak(self) -> str:
        """Which tools are too sensitive for a mode that hides no files."""
        if self.isolation != "prlimit":
            return ""
        grave = sorted(name for name, tool in self.tools.items() if tool.effect != "read")
        if grave or self.permissions.secrets:
            what = f"the tool {grave[0]!r}" if grave else "a plugin with secrets"
            return f"{what} needs at least the isolation 'landlock'"
        return ""

    @property
    def reach(self) -> Permissions:
        """All that it may do on the network and on this machine: of an http plugin, to be asked at its one address."""
        if self.kind == "stdio":
            return self.permissions
        parts = urlsplit(self.url)
        assert parts.hostname
        scheme: Literal["http", "https"] = "https" if parts.scheme == "https" else "http"
        port = parts.port or {"https": 443, "http": 80}[scheme]
        host = Host(
            host=parts.hostname,
            port=port,
            scheme=scheme,
            methods=("GET", "POST", "DELETE"),
            paths=(parts.path or "/",),
            private=self.private,
            credential=Credential(secret=self.secret) if self.secret else None,
        )
        return Permissions(hosts=(host,), limits=self.permissions.limits)

    @property
    def program(self) -> str:
        """What is run or asked, as one word: another one is another plugin."""
        return ids.digest([self.kind, self.command, [str(part) for part in self.parts], self.environment, self.url])

    def tool_names(self) -> list[str]:
        return sorted(self.tools)

    def forbidden_places(self, home: Path) -> list[Path]:
        """Declared places from which Forewatch's own files could be read or changed."""
        files = (*self.permissions.files.read, *self.permissions.files.write, *self.parts)
        real = home.resolve()
        return [
            place for place in files if real.is_relative_to(place.resolve()) or place.resolve().is_relative_to(real)
        ]
