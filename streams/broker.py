"""Where the log lives and what things are called there: a broker URL, a prefix and a partition count."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qsl, unquote, urlsplit

from schemas.errors import ConfigError

Kind = Literal["embedded", "kafka"]
_OPTIONS: dict[Kind, dict[str, frozenset[str] | None]] = {
    "embedded": {"sync": frozenset({"full", "normal"})},
    "kafka": {"idempotence": frozenset({"on", "off"}), "fetch_wait_ms": None, "session_timeout_s": None},
}
_MAX_PARTITIONS = 1024


@dataclass(frozen=True, slots=True)
class Broker:
    """A parsed broker URL.

    ``embedded:///abs/path/log.db?sync=full|normal``: ``full`` survives power loss, ``normal`` the death of the
    process only. ``kafka://host:9092[;host2:9092]?idempotence=on|off&fetch_wait_ms=500&session_timeout_s=10``.
    """

    url: str
    kind: Kind
    prefix: str
    partitions: int
    path: Path
    """The file of an embedded log; empty for Kafka."""
    servers: tuple[str, ...]
    options: dict[str, str]

    def topic(self, name: str) -> str:
        """The name of a topic on the broker."""
        return f"{self.prefix}.{name}"

    def bare(self, topic: str) -> str:
        """The name that our code uses for a topic of the broker."""
        return topic.removeprefix(f"{self.prefix}.")


def parse_broker(url: str, prefix: str, partitions: int) -> Broker:
    """ConfigError says which part of the URL is wrong."""
    if not 1 <= partitions <= _MAX_PARTITIONS:
        raise ConfigError(f"partitions is {partitions}", remedy=f"use a number from 1 to {_MAX_PARTITIONS}")
    if not prefix or not all(c.isascii() and (c.isalnum() or c in "-_.") for c in prefix):
        raise ConfigError(f"prefix {prefix!r} cannot be part of a topic's name", remedy="use letters, digits, '-'")
    scheme, rest = url.split("://", 1) if "://" in url else ("", url)
    if scheme == "embedded":
        kind: Kind = "embedded"
        path, query = _path(url, rest)
        servers: tuple[str, ...] = ()
    elif scheme == "kafka":
        kind, path = "kafka", Path()
        hosts, _, query = rest.partition("?")
        servers = _servers(url, hosts)
    else:
        raise ConfigError(
            f"unknown broker {url!r}", remedy="use 'embedded:///absolute/path/log.db' or 'kafka://host:9092'"
        )
    return Broker(url, kind, prefix, partitions, path, servers, _options(url, kind, query))


def _path(url: str, rest: str) -> tuple[Path, str]:
    parts = urlsplit(f"//{rest}")
    path = Path(unquote(parts.path))
    if parts.netloc or not path.is_absolute() or path == Path("/"):
        raise ConfigError(
            f"broker {url!r} needs an absolute path", remedy="use three slashes: 'embedded:///absolute/path/log.db'"
        )
    return path, parts.query


def _servers(url: str, hosts: str) -> tuple[str, ...]:
    servers = []
    for host in hosts.rstrip("/").replace(",", ";").split(";"):
        name, _, port = host.removeprefix("kafka://").partition(":")
        if not name or not (port or "9092").isdigit():
            raise ConfigError(f"broker {url!r} has no usable host in {host!r}", remedy="use 'kafka://host:9092'")
        servers.append(f"{name}:{port or 9092}")
    return tuple(servers)


def _options(url: str, kind: Kind, query: str) -> dict[str, str]:
    options = dict(parse_qsl(query, keep_blank_values=True))
    for name, value in options.items():
        if name not in _OPTIONS[kind]:
            raise ConfigError(
                f"broker {url!r} has an unknown option {name!r}", remedy=f"known are {', '.join(_OPTIONS[kind])}"
            )
        allowed = _OPTIONS[kind][name]
        if value not in allowed if allowed else not value.isdigit():
            wanted = " or ".join(sorted(allowed)) if allowed else "a whole number"
            raise ConfigError(f"broker {url!r}: {name} is {value!r}", remedy=f"use {wanted}")
    return options
