"""Hypothesis strategies for any model, built from its own fields, so that a new field is tested the day it is added."""

from __future__ import annotations

import types
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from hypothesis import strategies as st
from pydantic import AwareDatetime, BaseModel
from pydantic.fields import FieldInfo

M = TypeVar("M", bound=BaseModel)

_EARLIEST, _LATEST = datetime(1990, 1, 1), datetime(2090, 1, 1)  # noqa: DTZ001  # bounds, before the zone is added
_TEXT = st.characters(codec="utf-8")


def instants() -> st.SearchStrategy[datetime]:
    return st.datetimes(_EARLIEST, _LATEST, timezones=st.just(UTC))


@cache
def json_values() -> st.SearchStrategy[Any]:
    leaves = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(_TEXT, max_size=8)
    return st.recursive(leaves, lambda inner: st.lists(inner, max_size=3) | _objects(inner), max_leaves=5)


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.text(_TEXT, max_size=6), inner, max_size=3)


@cache
def models(model: type[M]) -> st.SearchStrategy[M]:
    """Valid instances of the model; each optional field is sometimes left out."""
    required: dict[str, st.SearchStrategy[Any]] = {}
    optional: dict[str, st.SearchStrategy[Any]] = {}
    for name, field in model.model_fields.items():
        strategy = _of(field.annotation, _bounds(field.metadata))
        (required if field.is_required() else optional)[name] = strategy
    return st.fixed_dictionaries(required, optional=optional).map(model.model_validate)


def _bounds(metadata: list[Any]) -> dict[str, Any]:
    """The constraints of a field by name (pattern, max_length, ge, le, gt, max_digits, decimal_places)."""
    found: dict[str, Any] = {}
    for item in metadata:
        found |= {name: value for name in _BOUNDS if (value := getattr(item, name, None)) is not None}
        found |= getattr(item, "__dict__", {})
    return found


_BOUNDS = ("pattern", "max_length", "ge", "le", "gt", "max_digits", "decimal_places")


def _of(annotation: Any, bounds: dict[str, Any]) -> st.SearchStrategy[Any]:
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *metadata = get_args(annotation)
        fields = [m for item in metadata for m in (item.metadata if isinstance(item, FieldInfo) else [item])]
        return _of(inner, bounds | _bounds(fields))
    if origin in (Union, types.UnionType):
        return st.one_of([_of(choice, bounds) for choice in get_args(annotation)])
    if origin is Literal:
        return st.sampled_from(get_args(annotation))
    if origin is tuple:
        return st.lists(_of(get_args(annotation)[0], {}), max_size=3).map(tuple)
    if origin is dict:
        return st.dictionaries(st.text(_TEXT, max_size=8), _of(get_args(annotation)[1], {}), max_size=3)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return st.deferred(lambda: models(annotation))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return st.sampled_from(list(annotation))
    return _plain(annotation, bounds)


def _plain(annotation: Any, bounds: dict[str, Any]) -> st.SearchStrategy[Any]:
    makers: dict[Any, Callable[[dict[str, Any]], st.SearchStrategy[Any]]] = {
        str: _strings,
        bytes: lambda _: st.binary(max_size=20),
        bool: lambda _: st.booleans(),
        int: lambda b: st.integers(b.get("ge", -(2**31)), b.get("le", 2**31)),
        float: lambda b: st.floats(b.get("ge", b.get("gt", -1e9)), b.get("le", 1e9), exclude_min="gt" in b),
        Decimal: lambda _: st.decimals(Decimal(-(10**9)), Decimal(10**9), places=2),
        datetime: lambda _: instants(),
        AwareDatetime: lambda _: instants(),
        date: lambda _: st.dates(_EARLIEST.date(), _LATEST.date()),
        type(None): lambda _: st.none(),
    }
    maker = makers.get(annotation)
    return maker(bounds) if maker is not None else json_values()


def _strings(bounds: dict[str, Any]) -> st.SearchStrategy[str]:
    if pattern := bounds.get("pattern"):
        return st.from_regex(pattern, fullmatch=True).filter(lambda text: not text.endswith("\n"))
    return st.text(_TEXT, max_size=min(bounds.get("max_length", 30), 30))
