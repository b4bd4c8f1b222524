"""msgspec Structs made from pydantic models, so that there is one definition of each."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from functools import cache
from types import FunctionType, NoneType, UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

import msgspec
from pydantic import AwareDatetime, BaseModel, JsonValue
from pydantic.fields import FieldInfo

_TAGS = ("kind", "type")
_CONSTRAINTS = ("max_length", "min_length", "ge", "le", "gt", "lt", "pattern")
_PLAIN = (str, int, float, bool, NoneType, date, Decimal)


@cache
def struct_of(model: type[BaseModel]) -> type[msgspec.Struct]:
    """A frozen, closed Struct with the model's fields, constraints, defaults and methods.

    A field ``kind`` or ``type`` of one literal value becomes the tag of the union that the model is in, and is still
    there to read. TypeError for an annotation that has no msgspec form: better at start than a silent ``Any``.
    """
    tag = _tag_of(model)
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for name, info in model.model_fields.items():
        if tag is not None and name == tag[0]:
            continue
        annotation = _constrained(_type_of(info.annotation), info)
        fields.append((name, annotation) if info.is_required() else (name, annotation, _default(info)))
    return msgspec.defstruct(
        model.__name__,
        fields,
        kw_only=True,
        frozen=True,
        gc=True,
        forbid_unknown_fields=True,
        tag_field=tag[0] if tag else None,
        tag=tag[1] if tag else None,
        namespace=_namespace(model, tag),
        module=f"{model.__module__}.structs",
    )


def _tag_of(model: type[BaseModel]) -> tuple[str, str] | None:
    for name in _TAGS:
        info = model.model_fields.get(name)
        if info is not None and get_origin(info.annotation) is Literal:
            values = get_args(info.annotation)
            if len(values) == 1 and not info.is_required():
                return name, str(values[0])
    return None


def _default(info: FieldInfo) -> Any:
    """msgspec copies empty mutable defaults by itself."""
    return info.get_default(call_default_factory=True)


def _namespace(model: type[BaseModel], tag: tuple[str, str] | None) -> dict[str, Any]:
    """Methods that the model itself defines; and the tag, which msgspec does not keep as an attribute."""
    methods: dict[str, Any] = {
        name: value
        for name, value in vars(model).items()
        if isinstance(value, FunctionType) and value.__module__ == model.__module__
    }
    if any(annotation is Decimal for annotation in _annotations(model)):
        methods["__post_init__"] = _refuse_nan
    return methods | ({tag[0]: tag[1]} if tag else {})


def _annotations(model: type[BaseModel]) -> list[Any]:
    return [info.annotation for info in model.model_fields.values()]


def _refuse_nan(struct: msgspec.Struct) -> None:
    """msgspec takes "NaN" for a Decimal; pydantic does not."""
    for name in struct.__struct_fields__:
        value = getattr(struct, name)
        if isinstance(value, Decimal) and not value.is_finite():
            raise ValueError(f"{name} is not a finite number")


def _constrained(annotation: Any, info: FieldInfo) -> Any:
    """The field's limits on lengths, numbers and patterns as msgspec takes them."""
    limits: dict[str, Any] = {}
    for item in info.metadata:
        for name in _CONSTRAINTS:
            if (value := getattr(item, name, None)) is not None:
                limits[name] = value
    return _limited(annotation, limits) if limits else annotation


def _limited(annotation: Any, limits: dict[str, Any]) -> Any:
    """None needs no limits, and msgspec takes none for a Decimal."""
    if annotation in (NoneType, Decimal):
        return annotation
    if get_origin(annotation) in (Union, UnionType):
        return Union[tuple(_limited(argument, limits) for argument in get_args(annotation))]  # noqa: UP007
    return Annotated[annotation, msgspec.Meta(**limits)]


def _type_of(annotation: Any) -> Any:
    """The msgspec form of an annotation."""
    if annotation in _PLAIN or annotation is Any:
        return annotation
    if annotation is datetime or annotation is AwareDatetime:
        return Annotated[datetime, msgspec.Meta(tz=True)]
    if annotation is JsonValue:
        return Any
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return struct_of(annotation)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _type_of(arguments[0]) if arguments[0] is not AwareDatetime else _type_of(datetime)
    if origin is Literal:
        return annotation
    if origin in (Union, UnionType):
        return Union[tuple(_type_of(argument) for argument in arguments)]  # noqa: UP007  # a tuple of types
    if origin in (tuple, list, dict):
        return cast(Any, origin)[tuple(a if a is ... else _type_of(a) for a in arguments)]
    raise TypeError(f"no msgspec form for {annotation!r}")
