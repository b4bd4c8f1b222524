"""Slim: models that are kept by the ten thousand, without what they do not need."""

from __future__ import annotations

import sys
from typing import TypeVar

from pydantic import BaseModel

M = TypeVar("M", bound=BaseModel)

_FIELDS: dict[type[BaseModel], set[str]] = {}
SHORT = 80
"""Characters of a text that may well be the same in many models."""
_NUMBERS: dict[BaseModel, BaseModel] = {}
VARIETY = 1000
"""Parts of a model that are all numbers (how often to try again) are few; more of them than this are not shared."""


def slim(model: M) -> M:
    """The same model, equal to what it was. Each kind of model shares one record of which fields were given (half of
    a plan's memory), short texts share their bytes, and parts that are all numbers are one and the same where they are
    equal. Only for frozen models that nobody asks for unset fields."""
    kind = type(model)
    shared = _FIELDS.setdefault(kind, set(kind.model_fields))
    object.__setattr__(model, "__pydantic_fields_set__", shared)
    fields = model.__dict__
    for name, value in fields.items():
        fields[name] = _slim(value)
    return model


def _shared(model: BaseModel) -> BaseModel:
    if not all(type(field) in (int, float, bool) for field in model.__dict__.values()):
        return model
    return _NUMBERS.setdefault(model, model) if len(_NUMBERS) < VARIETY else _NUMBERS.get(model, model)


def _slim(value: object) -> object:
    if isinstance(value, BaseModel):
        return _shared(slim(value))
    if type(value) is str:
        return sys.intern(value) if len(value) <= SHORT else value
    if type(value) is tuple:
        return tuple([_slim(item) for item in value])
    if type(value) is dict:
        return {_slim(key): _slim(item) for key, item in value.items()}
    return value
