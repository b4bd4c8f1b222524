"""What a program that is not ours may do: hosts, files, how much of the machine; the person agreed to exactly this."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from schemas.model import Model

_HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")


def _host(value: str) -> str:
    if not _HOST.fullmatch(value):
        raise ValueError("must be one host in lower case, such as api.example.org: no pattern, no port")
    return value


def _path(value: Path) -> Path:
    if not value.is_absolute() or ".." in value.parts:
        raise ValueError("must be an absolute path without '..'")
    return value


Place = Annotated[Path, AfterValidator(_path)]


class Credential(Model):
    """A header that the broker sets and the program never sees; ``{secret}`` stands for the secret's text."""

    secret: str = Field(pattern=r"^[a-z][a-z0-9_.-]{0,62}$")
    header: str = Field(default="authorization", pattern=r"^[a-z][a-z0-9-]{0,62}$")
    value: str = "Bearer {secret}"

    @model_validator(mode="after")
    def _names_the_secret(self) -> Self:
        if "{secret}" not in self.value:
            raise ValueError("value needs '{secret}', where the secret goes")
        return self


class Host(Model):
    """One host that may be asked. ``paths`` are prefixes that end at a '/', or whole paths.

    ``tunnel``: the program makes its own TLS connection, so that only the host and the port can be checked.
    ``private``: the host may lie in the person's own network.
    """

    host: Annotated[str, AfterValidator(_host)]
    port: int = Field(default=443, ge=1, le=65535)
    scheme: Literal["https", "http"] = "https"
    methods: tuple[Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"], ...] = ("GET", "HEAD")
    paths: tuple[Annotated[str, Field(pattern=r"^/[^\s?#]*$")], ...] = ("/",)
    tunnel: bool = False
    private: bool = False
    credential: Credential | None = None

    @model_validator(mode="after")
    def _can_carry_its_credential(self) -> Self:
        if self.credential and self.tunnel:
            raise ValueError("a tunnel cannot carry a credential: the broker does not see into it")
        if self.credential and self.scheme == "http" and not self.private:
            raise ValueError("a credential over plain http would be read on the way: use https")
        return self

    def says(self) -> str:
        """For the person who agrees."""
        what = "anything, unseen (its own TLS)" if self.tunnel else f"{','.join(self.methods)} {' '.join(self.paths)}"
        extra = f", with your secret {self.credential.secret!r}" if self.credential else ""
        return f"{self.host}:{self.port} {what}{extra}{', also in your own network' if self.private else ''}"


class Files(Model):
    read: tuple[Place, ...] = ()
    write: tuple[Place, ...] = ()


class Limits(Model):
    """Of each process. ``memory_mb`` is what it may fill; ``address_mb`` what it may reserve beyond (node reserves
    much and fills little)."""

    cpu_s: int = Field(default=60, ge=1, le=86_400)
    memory_mb: int = Field(default=512, ge=16, le=65_536)
    address_mb: int = Field(default=2_048, ge=0, le=1 << 24)
    processes: int = Field(default=64, ge=1, le=4_096)
    open_files: int = Field(default=256, ge=16, le=65_536)
    file_mb: int = Field(default=64, ge=0, le=65_536)
    output_kb: int = Field(default=1_024, ge=1, le=65_536)
    """Of one answer."""


class Permissions(Model):
    hosts: tuple[Host, ...] = ()
    files: Files = Files()
    limits: Limits = Limits()

    @property
    def secrets(self) -> frozenset[str]:
        return frozenset(host.credential.secret for host in self.hosts if host.credential)

    def says(self) -> list[str]:
        """One line for each thing that is allowed."""
        lines = [f"ask {host.says()}" for host in self.hosts]
        lines += [f"read {place}" for place in self.files.read]
        return lines + [f"change {place}" for place in self.files.write]

    def growth_over(self, agreed: Permissions) -> list[str]:
        """What these allow and ``agreed`` does not, in words; empty if the person has agreed to all of it."""
        grown = [f"ask {host.says()}" for host in self.hosts if not _covers(agreed.hosts, host)]
        grown += [f"read {place}" for place in self.files.read if not _is_below(place, agreed.files)]
        grown += [
            f"change {place}"
            for place in self.files.write
            if not any(place.is_relative_to(known) for known in agreed.files.write)
        ]
        now, before = self.limits.model_dump(), agreed.limits.model_dump()
        return grown + [f"{name} {before[name]} -> {now[name]}" for name in now if now[name] > before[name]]


def _is_below(place: Path, files: Files) -> bool:
    return any(place.is_relative_to(known) for known in (*files.read, *files.write))


def _covers(known: tuple[Host, ...], host: Host) -> bool:
    return any(_is_within(host, each) for each in known)


def _is_within(host: Host, known: Host) -> bool:
    same = (host.host, host.port, host.scheme, host.credential) == (
        known.host, known.port, known.scheme, known.credential,
    )  # fmt: skip
    if not same or (host.private and not known.private) or host.tunnel != known.tunnel:
        return False
    return set(host.methods) <= set(known.methods) and all(path_is_allowed(p, known.paths) for p in host.paths)


def path_is_allowed(path: str, allowed: tuple[str, ...]) -> bool:
    return any(path == each or (each.endswith("/") and path.startswith(each)) for each in allowed)
