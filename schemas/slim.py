"""Slim: models that are kept by the ten thousand, without what they do not need."""

from __future__ import annotations

import sys
from typing import TypeVar

from pydantic import BaseModel

M = TypeVar("M", bound=BaseModel)

_FIELDS: dict[type[BaseModel], set[str]] = {}
SHORT = 80
"""Characters of a text that may well be the same in many models."""


def slim(model: M) -> M:
    """The same model, equal to what it was. Each kind of model shares one record of which fields were given (half of
    a plan's memory), and short texts share their bytes. Only for frozen models that nobody asks for unset fields."""
    kind = type(model)
    shared = _FIELDS.setdefault(kind, set(kind.model_fields))
    object.__setattr__(model, "__pydantic_fields_set__", shared)
    fields = model.__dict__
    for name, value in fields.items():
        fields[name] = _slim(value)
    return model


def _slim(value: object) -> object:
    if isinstance(value, BaseModel):
        return slim(value)
    if type(value) is str:
        return sys.intern(value) if len(value) <= SHORT else value
    if type(value) is tuple:
        return tuple([_slim(item) for item in value])
    if type(value) is dict:
        return {_slim(key): _slim(item) for key, item in value.items()}
    return value
