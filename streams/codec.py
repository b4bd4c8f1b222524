"""Encodes and decodes what travels over the log: pydantic for all, msgspec for events, from one definition."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, TypeVar, cast

import msgspec
from pydantic import BaseModel, ValidationError

from schemas.errors import PoisonError
from streams.structs import struct_of

if TYPE_CHECKING:
    from schemas.event import Event

_M = TypeVar("_M", bound=BaseModel)
_SHOWN = 200
"""Characters of a foreign message that go into ours."""


def encode(model: BaseModel) -> bytes:
    """The JSON form: equal models have equal bytes."""
    return model.__pydantic_serializer__.to_json(model)


def decode(model: type[_M], data: bytes) -> _M:
    """Parses and checks; PoisonError says what is wrong and where."""
    try:
        return model.model_validate_json(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise PoisonError(
            f"no valid {model.__name__}: {first['msg'][:_SHOWN]}" + (f" at {where}" if where else "")
        ) from error


def decode_event(data: bytes) -> Event:
    """An event that we wrote ourselves, six times as fast as ``decode(Event, data)``.

    What comes back is a frozen msgspec Struct made from ``schemas.event.Event`` field by field: the same attributes
    with the same types, constraints checked, methods such as ``str(money)`` included. It is typed as Event because
    code that reads attributes cannot tell the difference. It is not a pydantic model: no ``model_dump``, no
    ``isinstance``, not equal to the Event of the same content, and ``encode`` does not take it.
    """
    try:
        return cast("Event", _event_decoder().decode(data))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise PoisonError(f"no valid Event: {str(error)[:_SHOWN]}") from error


@cache
def _event_decoder() -> msgspec.json.Decoder[msgspec.Struct]:
    from schemas.event import Event

    return msgspec.json.Decoder(struct_of(Event))
