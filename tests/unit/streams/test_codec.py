"""The codec: what msgspec decodes is what pydantic wrote, and bad bytes are poison."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import AwareDatetime, BaseModel, JsonValue
from pydantic.fields import FieldInfo

from schemas.errors import PoisonError
from schemas.event import KINDS, Event
from schemas.fact import DueFact, Fact, InvoiceFact, Span
from schemas.money import Money
from schemas.payloads import BankPayload, Payload, RowPayload
from schemas.record import Record
from streams.codec import decode, decode_event, encode
from streams.structs import struct_of

# -- any valid model, from its annotations alone

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
_MONEY = st.builds(
    Money.of,
    st.decimals(-(10**12), 10**12, places=2, allow_nan=False),
    st.sampled_from(["EUR", "JPY", "KWD", "USD"]),
)
_TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)


def models(model: type[BaseModel]) -> st.SearchStrategy[Any]:
    if model is Money:
        return _MONEY
    fields = {name: values(info.annotation, info) for name, info in model.model_fields.items()}
    return st.builds(model, **fields)


def values(annotation: Any, info: FieldInfo | None = None) -> st.SearchStrategy[Any]:
    limits = {name: value for item in (info.metadata if info else ()) for name, value in vars_of(item)}
    origin, arguments = get_origin(annotation), get_args(annotation)
    if "pattern" in limits:
        return st.sampled_from(KINDS) if "a-z" in limits["pattern"] else st.from_regex(limits["pattern"])
    if origin is Annotated:
        return values(arguments[0])
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (Union, UnionType):
        return st.one_of([values(argument, info) for argument in arguments])
    if origin is tuple:
        return st.lists(values(arguments[0]), max_size=3).map(tuple)
    if annotation is JsonValue:
        return _JSON
    if origin is dict:
        return st.dictionaries(_TEXT, values(arguments[1]), max_size=3)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return models(annotation)
    return _PLAIN[annotation](limits)


def vars_of(item: Any) -> list[tuple[str, Any]]:
    names = ("ge", "le", "max_length", "pattern")
    return [(name, getattr(item, name)) for name in names if getattr(item, name, None) is not None]


_INSTANTS = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30)).map(lambda d: d.replace(tzinfo=UTC))  # noqa: DTZ001
_PLAIN: dict[Any, Any] = {
    str: lambda limits: _TEXT,
    int: lambda limits: st.integers(min_value=limits.get("ge")),
    float: lambda limits: st.floats(limits.get("ge"), limits.get("le"), allow_nan=False, allow_infinity=False),
    bool: lambda limits: st.booleans(),
    NoneType: lambda limits: st.none(),
    date: lambda limits: st.dates(),
    datetime: lambda limits: _INSTANTS,
    AwareDatetime: lambda limits: _INSTANTS,
}


def assert_same(struct: Any, model: Any) -> None:
    """Equal in every field, at every depth, with the same types of values."""
    if isinstance(model, BaseModel):
        assert isinstance(struct, msgspec.Struct)
        for name in type(model).model_fields:
            assert_same(getattr(struct, name), getattr(model, name))
    elif isinstance(model, tuple):
        assert isinstance(struct, tuple)
        assert len(struct) == len(model)
        for one, other in zip(struct, model, strict=True):
            assert_same(one, other)
    else:
        assert type(struct) is type(model)
        assert struct == model
        assert str(struct) == str(model)


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(models(Event))
def test_every_event_comes_back_as_it_was(event: Event) -> None:
    assert_same(decode_event(encode(event)), event)
    assert decode(Event, encode(event)) == event


_VARIANTS = [*get_args(get_args(Fact)[0]), *get_args(get_args(Payload)[0])]


@pytest.mark.parametrize("variant", _VARIANTS, ids=lambda variant: variant.__name__)
@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_every_fact_and_payload_comes_back_as_it_was(variant: type[BaseModel], data: st.DataObject) -> None:
    one = data.draw(models(variant))
    place: Any = {"facts": (one,)} if "Fact" in variant.__name__ else {"payload": one}
    event = sample(**place)
    decoded = decode_event(encode(event))
    assert_same(decoded, event)


def sample(**fields: Any) -> Event:
    return Event(
        **{
            "id": "1",
            "owner": "nora",
            "account": "a",
            "source": "bankfile",
            "kind": "bank.posted",
            "subject": "s",
            "version": "1",
            "occurred_at": datetime(2026, 1, 1, tzinfo=UTC),
            "observed_at": datetime(2026, 1, 2, 3, 4, 5, 678, tzinfo=UTC),
            **fields,
        }
    )


# -- the struct can be used like the model


def test_tags_and_methods_are_there_as_on_the_model() -> None:
    event = sample(
        amount=Money.of("-12.5", "EUR"),
        facts=(InvoiceFact(origin="text", certainty=0.9, number="R-1"),),
        payload=BankPayload(native_id="x"),
    )
    decoded = decode_event(encode(event))
    assert decoded.facts[0].kind == "invoice"
    assert decoded.payload is not None
    assert decoded.payload.type == "bank"
    assert decoded.amount is not None
    assert str(decoded.amount) == "-12.50 EUR"
    assert -decoded.amount == Money.of("12.50", "EUR")
    assert hash(decoded) == hash(decode_event(encode(event)))


def test_a_decoded_event_cannot_be_changed() -> None:
    with pytest.raises(AttributeError):
        decode_event(encode(sample())).title = "other"  # type: ignore[misc]


def test_an_annotation_without_a_msgspec_form_is_refused_at_once() -> None:
    class Odd(BaseModel):
        what: complex

    with pytest.raises(TypeError, match="no msgspec form"):
        struct_of(Odd)


# -- poison

_GOOD = encode(
    sample(
        title="t",
        amount=Money.of("1", "EUR"),
        facts=(
            DueFact(origin="text", certainty=1, on=date(2026, 1, 1), span=Span(part="t", start=1, end=2, quote="q")),
        ),
        payload=RowPayload(stream="deals", fields={"a": 1}),
    )
)


@pytest.mark.parametrize(
    "bad",
    [
        b"",
        b"null",
        b"[]",
        b"{}",
        b"\xff\xfe",
        _GOOD[:-1],
        _GOOD + b"x",
        _GOOD.replace(b'"1.00"', b'"NaN"'),
        _GOOD.replace(b'"1.00"', b'"Infinity"'),
        _GOOD.replace(b'"owner"', b'"ovner"'),
        _GOOD.replace(b'"bank.posted"', b'"Bank"'),
        _GOOD.replace(b"05.000678Z", b"05.000678"),
        _GOOD.replace(b'"kind":"due"', b'"kind":"doom"'),
        _GOOD.replace(b'"type":"record"', b'"type":"mail"'),
        _GOOD.replace(b'"EUR"', b'"eur"'),
        _GOOD.replace(b'"certainty":1.0', b'"certainty":1.5'),
        _GOOD.replace(b'"title":"t"', b'"title":"' + b"t" * 501 + b'"'),
        _GOOD.replace(b'"title":"t"', b'"title":null'),
        _GOOD.replace(b'"title":"t"', b'"title":"t\xc3"'),
        _GOOD.replace(b'{"a":1}', b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"),
    ],
    ids=range(20),
)
def test_bad_bytes_are_poison_for_both_decoders(bad: bytes) -> None:
    assert bad != _GOOD
    with pytest.raises(PoisonError, match="no valid Event"):
        decode_event(bad)
    with pytest.raises(PoisonError, match="no valid Event"):
        decode(Event, bad)


def test_poison_says_where() -> None:
    with pytest.raises(PoisonError, match=r"certainty"):
        decode_event(_GOOD.replace(b'"certainty":1.0', b'"certainty":"high"'))
    with pytest.raises(PoisonError, match=r"no valid Record: .* at "):
        decode(Record, b"{}")


@given(st.binary(max_size=60))
def test_no_bytes_at_all_raise_anything_else(data: bytes) -> None:
    with pytest.raises(PoisonError):
        decode_event(data)


def test_money_keeps_its_digits() -> None:
    event = sample(amount=Money(amount=Decimal("0.500000"), currency="EUR"))
    decoded = decode_event(encode(event))
    assert decoded.amount is not None
    assert str(decoded.amount.amount) == str(event.amount.amount if event.amount else None)
