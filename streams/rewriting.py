"""Rewriting a log that nobody runs on: the one way to take something out of it before its time (law L10)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Protocol, Self

from streams.broker import Broker


@dataclass(frozen=True, slots=True)
class Written:
    """One record as it lies in the log; ``topic`` is the bare name, ``id`` is the log's own."""

    id: int
    topic: str
    key: bytes | None
    value: bytes | None


Verdict = Callable[[Written], bytes | None]
"""The value that a record shall have from now on; None: the record goes. Its offset stays empty."""


class Rewriter(Protocol):
    """``with rewriter(broker, account) as found``: ConfigError while a service runs on the log. Blocks."""

    @property
    def is_decided(self) -> bool:
        """An attempt that was cut off has decided what stays: ``rewrite`` ends that one and asks no verdict."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...

    def read(self, topic: str) -> Iterable[Written]:
        """Every record of a topic, partition by partition, in order."""
        ...

    def rewrite(self, names: Iterable[str], verdict: Verdict) -> None:
        """Put every record of these topics through ``verdict``. Nothing of what went is left when it returns; what is
        cut off in the middle is ended by the next attempt. LogFailed where the log cannot be written."""
        ...


def command_of(target: str) -> str:
    """What a person types to begin the erasure of this account, event or note, or to go on with it."""
    kind, _, name = target.rpartition(":")
    commands = {"event": "events erase {}", "memory": "memory forget {} --erase"}
    return f"forewatch {commands.get(kind, 'accounts remove {} --erase').format(name)}"


def rewriter(broker: Broker, account: str) -> Rewriter:
    """``account``: for whose sake (or for that of an event or note); what was begun for another must be ended first."""
    if broker.kind == "embedded":
        from streams.embedded.rewrite import EmbeddedRewriter

        return EmbeddedRewriter(broker)
    from streams.kafka.rewrite import KafkaRewriter

    return KafkaRewriter(broker, account)


def rewritten_for(broker: Broker) -> str:
    """For whose sake (an account, or an event or note) the log is being rewritten; empty where it is not. On the
    embedded log it never is: that takes one transaction."""
    if broker.kind == "embedded":
        return ""
    from streams.kafka.rewrite import rewritten_for

    return rewritten_for(broker)


def reopen(broker: Broker) -> None:
    """Everything that rests on the rewritten log was made again: others may use it. Idempotent. Blocks."""
    if broker.kind == "kafka":
        from streams.kafka.rewrite import reopen

        reopen(broker)
