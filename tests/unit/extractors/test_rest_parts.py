"""The pure parts of the rest connector: stamps, templates, paging, verdicts, maps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.http import Answer
from extractors.rest import paging, rows, template
from extractors.rest.definition import Definition
from extractors.rest.loader import load, parsed
from extractors.rest.mapping import Drift
from extractors.rest.pagination import Cursors, JsonLink, LinkHeader, Offsets, PageNumbers, Relay
from extractors.rest.paging import Given, Stuck
from extractors.rest.stamp import Stamps
from extractors.rest.state import Book, Entry, Walk
from extractors.rest.template import Empty, Scope
from extractors.rest.verdict import judge
from schemas.errors import AuthError, RateLimited, TransientError

UTC_ZONE, BERLIN = ZoneInfo("UTC"), ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 3, 2, 8, tzinfo=UTC)
FORMATS = ["iso", "iso_ms", "iso_us", "date", "epoch", "epoch_ms", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S.%f%z"]


@given(
    format=st.sampled_from(FORMATS),
    moment=st.datetimes(datetime(1980, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC_ZONE)),  # noqa: DTZ001
)
def test_a_bound_is_never_later_than_the_stamp_and_less_than_a_step_earlier(format: str, moment: datetime) -> None:
    stamps = Stamps(format, UTC_ZONE)
    stamp = (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    read = stamps.read(stamps.write(stamp))
    assert stamp - stamps.step < read <= stamp


def test_stamps_are_read_as_sources_print_them() -> None:
    moment = Stamps("iso", UTC_ZONE).read("2026-03-01T10:00:00Z")
    assert Stamps("iso", UTC_ZONE).read("2026-03-01T11:00:00.0000000+01:00") == moment
    assert Stamps("iso", BERLIN).read("2026-03-01T11:00:00") == moment
    assert Stamps("%d.%m.%Y %H:%M", BERLIN).read("01.03.2026 11:00") == moment
    assert Stamps("epoch", UTC_ZONE).read(1772359200) == moment
    assert Stamps("epoch_ms", UTC_ZONE).read("1772359200000") == moment
    assert Stamps("number", UTC_ZONE).read("17") == 17


@pytest.mark.parametrize("value", [None, True, [], {}, "soon", "", "9" * 80, 1e300, "2026-13-01"])
def test_what_is_no_stamp_is_refused(value: Any) -> None:
    for format in ("iso", "epoch", "number"):
        with pytest.raises((ValueError, OverflowError)):
            Stamps(format, UTC_ZONE).read(value)


def test_a_template_fills_in_names_and_nothing_else() -> None:
    scope = Scope({"id": "a/b"}, {"region": "eu"}, 17)
    assert template.render("/x/{id}/{bind.id}/{config.region}?{{}}{cursor}", scope) == "/x/a/b/a/b/eu?{}17"
    assert template.fill({"since": "{cursor}", "n": ["{id}"], "k": 1}, scope) == {"since": 17, "n": ["a/b"], "k": 1}
    assert template.fill({"since": "{cursor}", "text": "from {cursor}", "k": None}, Scope()) == {"k": None}
    with pytest.raises(Empty):
        template.render("{config.other}", scope)


@pytest.mark.parametrize(
    "text", ["{id.x}", "{id[0]}", "{id!r}", "{id:>9}", "{}", "{", "}", "{__class__}", "{a b}", "{{{x"]
)
def test_a_template_that_reaches_for_more_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        template.check(text, ("id",), (), cursor=False)


def given_answer(document: Any, rows: int = 2, **headers: str) -> Given:
    return Given(document, httpx.Headers(headers), httpx.URL("https://shop.example/api/orders?x=1"), rows)


def test_counted_pages_end_where_nothing_comes_and_not_where_less_comes() -> None:
    assert paging.following(PageNumbers(type="page", size_param="n", size=100), None, given_answer({}, 3)) == 2
    assert paging.following(PageNumbers(type="page"), 2, given_answer({}, 0)) is None
    assert paging.following(PageNumbers(type="page", pages="pages"), 2, given_answer({"pages": 2})) is None
    assert paging.following(Offsets(type="offset"), 100, given_answer({}, 20)) == 120
    assert paging.following(Offsets(type="offset", total="total"), 100, given_answer({"total": 120}, 20)) is None


@pytest.mark.parametrize("token", ["", None, False])
def test_no_token_ends_the_list(token: Any) -> None:
    assert (
        paging.following(Cursors(type="cursor", cursor="next", param="c"), "a", given_answer({"next": token})) is None
    )


@pytest.mark.parametrize("token", [{}, [1], True, 1.5, "x" * 5_000])
def test_what_is_no_token_stops_the_reading(token: Any) -> None:
    with pytest.raises(Stuck):
        paging.following(Cursors(type="cursor", cursor="next", param="c"), "a", given_answer({"next": token}))


def test_a_relay_connection_that_promises_more_without_a_cursor_is_stuck() -> None:
    relay = Relay(type="graphql", info="p")
    assert paging.following(relay, None, given_answer({"p": {"hasNextPage": True, "endCursor": "c"}})) == "c"
    assert paging.following(relay, None, given_answer({"p": {"hasNextPage": False, "endCursor": "c"}})) is None
    for info in ({"hasNextPage": True, "endCursor": None}, {"hasNextPage": True}, {}, None):
        with pytest.raises(Stuck):
            paging.following(relay, None, given_answer({"p": info}))


@pytest.mark.parametrize(
    "header",
    [
        '<https://shop.example/api/orders?page=2>; rel="next"',
        '</api/orders?page=2>; rel=next; title="a, b"',
        '<https://shop.example/first>; rel="first", </api/orders?page=2>;rel="last next"',
    ],
)
def test_the_next_link_of_a_header_is_followed(header: str) -> None:
    assert paging.following(LinkHeader(type="link_header"), None, given_answer({}, link=header)) == (
        "https://shop.example/api/orders?page=2"
    )


@pytest.mark.parametrize(
    "link",
    [
        "https://evil.example/x",
        "//evil.example/x",
        "http://shop.example/x",
        "https://shop.example:444/x",
        "javascript:x",
    ],
)
def test_a_link_to_another_place_is_not_followed(link: str) -> None:
    with pytest.raises(AuthError):
        paging.following(JsonLink(type="json_link", link="next"), None, given_answer({"next": link}))


def answer(status: int, **headers: str) -> Answer:
    return Answer(status, httpx.Headers(headers), b"", httpx.URL("https://erp.example/api/v2/invoices"))


TABLE = parsed(
    """\
kind: rest
name: t
base_url: https://t.example
auth: {type: oauth2, scopes: [a.read]}
errors:
  - {status: [403], when: "error.code == 'rate_limited'", action: retry, wait: {header: X-Reset, format: epoch}}
  - {status: [403], when: "error.code == 'gone'", action: skip}
  - {status: [200], when: "errors[0].code == 'AUTH'", action: reauth, message: Log in again}
  - {status: [422], action: restart}
  - {status: [418], action: fail, message: A teapot}
streams: [{name: s, path: /s, records: r, id: id}]
""",
    "t.yaml",
)


def test_the_first_row_of_the_error_table_that_fits_wins() -> None:
    at = NOW + timedelta(minutes=5)
    limited = answer(403, **{"X-Reset": str(int(at.timestamp()))})
    found = judge(TABLE, limited, {"error": {"code": "rate_limited"}}, NOW).error
    assert isinstance(found, RateLimited)
    assert found.retry_at == at
    assert judge(TABLE, answer(403), {"error": {"code": "gone"}}, NOW).meaning == "skip"
    assert judge(TABLE, answer(422), None, NOW).meaning == "restart"
    assert isinstance(judge(TABLE, answer(200), {"errors": [{"code": "AUTH"}]}, NOW).error, AuthError)
    assert str(judge(TABLE, answer(418), None, NOW).error) == "A teapot"
    assert judge(TABLE, answer(200), {"errors": [{"code": "OTHER"}]}, NOW).meaning == "good"


def test_what_the_table_does_not_know_means_what_it_usually_does() -> None:
    missing = judge(TABLE, answer(403), None, NOW).error
    assert isinstance(missing, AuthError)
    assert "a.read" in missing.remedy
    assert isinstance(judge(TABLE, answer(401), None, NOW).error, AuthError)
    assert isinstance(judge(TABLE, answer(500), None, NOW).error, TransientError)
    for status in (429, 503):
        error = judge(TABLE, answer(status, **{"Retry-After": "90"}), None, NOW).error
        assert isinstance(error, TransientError)
        assert error.retry_at == NOW + timedelta(seconds=90)


@pytest.mark.parametrize("value", ["nan", "-5", "soon", "1e400", "", "999999999999"])
def test_a_senseless_wait_is_no_wait_or_a_bounded_one(value: str) -> None:
    limited = answer(403, **{"X-Reset": value})
    error = judge(TABLE, limited, {"error": {"code": "rate_limited"}}, NOW).error
    assert isinstance(error, RateLimited)
    assert error.retry_at is None or NOW <= error.retry_at <= NOW + timedelta(days=1)


GRAPHQL = parsed(
    "kind: graphql\nname: g\nbase_url: https://g.example\n"
    "streams: [{name: s, document: '{ s { id } }', records: data.s, id: id}]",
    "g.yaml",
)


def test_graphql_errors_come_with_a_good_status() -> None:
    def of(code: str, data: Any = None) -> Any:
        return judge(
            GRAPHQL, answer(200), {"data": data, "errors": [{"message": "m", "extensions": {"code": code}}]}, NOW
        )

    assert isinstance(of("THROTTLED").error, RateLimited)
    assert isinstance(of("unauthenticated").error, AuthError)
    assert isinstance(of("FORBIDDEN").error, AuthError)
    assert isinstance(of("BROKEN").error, TransientError)
    assert of("BROKEN", {"s": []}).note == "erp.example: m"


def shaped(definition: Definition, item: Any) -> rows.Shaped:
    return rows.shaped(definition, definition.streams[0], item, "", BERLIN)


INVOICE = {
    "id": 7,
    "number": "R-7",
    "total": 12050,
    "currency": "eur",
    "due_on": "2026-03-20",
    "updated_at": "2026-03-01T10:00:00Z",
    "supplier": {"name": "Stadtwerke", "email": "Rechnung@Stadtwerke.example"},
    "links": {"html": "https://erp.example.org/i/7"},
    "status": "open",
}


def test_a_row_is_mapped_as_the_definition_says() -> None:
    row = shaped(load("erp"), INVOICE).row
    assert (row.title, str(row.amount), row.due and row.due.text, row.url) == (
        "R-7",
        "-120.50 EUR",
        "2026-03-20",
        "https://erp.example.org/i/7",
    )


@pytest.mark.parametrize(
    "change",
    [
        {"total": "many"},
        {"total": {"value": 1}},
        {"total": True},
        {"total": 1.5},
        {"total": 10**40},
        {"currency": "euro"},
        {"currency": None},
        {"due_on": "31.12.2026"},
        {"due_on": 17},
        {"number": ["R-7"]},
        {"updated_at": "yesterday"},
        {"updated_at": {}},
        {"id": None},
        {"id": ""},
        {"id": {"a": 1}},
        {"id": "x" * 300},
    ],
)
def test_a_row_of_another_shape_is_drift(change: dict[str, Any]) -> None:
    with pytest.raises(Drift):
        shaped(load("erp"), {**INVOICE, **change})


def test_what_is_null_or_missing_in_a_row_is_left_out() -> None:
    row = shaped(load("erp"), {"id": 7, "updated_at": "2026-03-01T10:00:00Z", "total": None}).row
    assert (row.title, row.amount, row.due, row.party) == ("", None, None, None)
    assert row.fields["id"] == 7


def test_a_link_that_is_no_web_address_is_left_out() -> None:
    assert shaped(load("erp"), {**INVOICE, "links": {"html": "javascript:alert(1)"}}).row.url == ""


def test_an_id_of_several_parts_is_one_key() -> None:
    definition = load("hr")
    item = {"year": 2026, "month": 3, "total": 1}
    assert rows.shaped(definition, definition.streams[1], item, "", BERLIN).key == "2026,3"


def test_a_monstrous_number_costs_its_row_and_not_the_page() -> None:
    found: Any = rows.parse(
        b'[{"id": 1, "total": ' + b"9" * 9_000 + b'}, {"id": 2, "total": 1e999}, {"id": 3, "x": NaN}]'
    )
    assert [item["id"] for item in found] == [1, 2, 3]
    assert isinstance(found[0]["total"], str)
    for item in found[:2]:
        with pytest.raises(Drift):
            shaped(load("erp"), {**INVOICE, **item})


def test_a_row_that_is_too_large_keeps_its_short_fields() -> None:
    row = shaped(load("erp"), {**INVOICE, "blob": "x" * 300_000, "list": [1] * 100_000}).row
    assert row.cut
    assert "blob" not in row.fields
    assert row.fields["number"] == "R-7"


def test_half_a_character_does_not_break_a_row() -> None:
    row = shaped(load("erp"), {**INVOICE, "note": "a\ud800b"}).row
    assert row.fields["note"] == "a?b"
    assert row.model_dump_json()


def test_float_noise_is_not_money() -> None:
    definition = load("crm")
    item = {"id": 1, "updated_at": "2026-03-01T10:00:00Z", "amount": 120.30000000000001, "currency": "EUR"}
    assert str(shaped(definition, item).row.amount) == "120.30 EUR"


def test_state_survives_json() -> None:
    book = Book()
    state = book.stream("orders")
    entry = Entry.after(None, "a" * 12, 3)
    state.known = {"1": entry, "2": Entry.after(entry, "b" * 12, 4), "3": entry.gone(5)}
    state.walk = Walk(True, 3, NOW.isoformat(), low=5, position="token", stuck_keys=["a"])
    state.parents = {"1": ["x", 2, False]}
    assert Book.from_json(book.to_json()).to_json() == book.to_json()
    assert Book.from_json(book.to_json()).stream("orders") == state


def test_a_state_that_grows_too_large_forgets_the_oldest_rows() -> None:
    book = Book()
    for number in range(30_000):
        book.stream("orders").known[str(number)] = Entry.after(None, "a" * 12, 0)
    book.stream("few").known["1"] = Entry.after(None, "a" * 12, 0)
    stored: Any = book.to_json()
    assert len(str(stored)) < 700_000
    known = stored["streams"]["orders"]["known"]
    assert "29999" in known
    assert "0" not in known
    assert stored["streams"]["few"]["known"]
