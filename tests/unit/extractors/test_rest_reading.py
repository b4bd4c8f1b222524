"""Reading a business system: what goes wrong at boundaries, between pages and under odd answers, and loses nothing."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from extractors.testing.standin import Asked, Reply, StandIn
from schemas.errors import AuthError, RateLimited, TransientError
from tests.standins.rest import Account, account

HEAD = "kind: rest\nname: shop\nbase_url: https://shop.example\nauth: {type: bearer}\n"
ORDERS = """streams:
  - name: orders
    path: /orders
    records: items
    id: id
    paginate: {type: cursor, cursor: next, param: cursor}
    incremental: {field: at, param: since, format: iso, lookback: 10m, ORDER}
    map: {title: name}
"""
SORTED = HEAD + ORDERS.replace("ORDER", "order: ascending")
UNSORTED = HEAD + ORDERS.replace(", ORDER", "")
WHOLE = (
    HEAD
    + """streams:
  - name: orders
    path: /orders
    records: items
    id: id
    paginate: {type: page}
    deletions: {full_diff: daily}
    map: {title: name}
"""
)

Opening = Callable[..., Account]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opening]:
    contexts: list[AbstractContextManager[Account]] = []

    def open_one(source: str, **options: Any) -> Account:
        context = account(source, tmp_path, **options)
        contexts.append(context)
        return context.__enter__()

    yield open_one
    for context in contexts:
        context.__exit__(None, None, None)


def at(second: int, fraction: str = "") -> str:
    return f"2026-03-01T08:{second // 60:02}:{second % 60:02}{fraction}Z"


def order(number: int, second: int | None = None, **fields: Any) -> dict[str, Any]:
    return {"id": number, "name": f"Order {number}", "at": at(number if second is None else second), **fields}


def filled(shop: Account, count: int) -> Account:
    for number in range(1, count + 1):
        shop.system.put("orders", order(number))
    return shop


def ids(result: Any) -> list[str]:
    return [upsert.native_id.removeprefix("orders/") for upsert in result.upserts]


def test_a_row_of_the_same_second_as_the_bound_is_found_and_none_comes_twice(opened: Opening) -> None:
    shop = filled(opened(SORTED), 3)
    assert ids(shop.poll()) == ["1", "2", "3"]
    shop.system.put("orders", order(4, 3))
    assert ids(shop.poll(1)) == ["4"]
    assert ids(shop.poll(2)) == []


def test_a_source_that_leaves_out_what_equals_the_bound_is_asked_one_step_earlier(opened: Opening) -> None:
    shop = filled(opened(SORTED.replace("lookback: 10m", "inclusive: false")), 3)
    shop.poll()
    shop.system.put("orders", order(4, 3))
    assert ids(shop.poll(1)) == ["4"]
    assert shop.system.asked[-1].query["since"] == at(2)


def test_a_row_that_appears_late_is_found_within_the_lookback(opened: Opening) -> None:
    shop = filled(opened(SORTED), 3)
    shop.poll()
    shop.system.put("orders", order(4, 0))
    assert ids(shop.poll(1)) == ["4"]


def test_the_bound_has_the_precision_that_the_source_prints(opened: Opening) -> None:
    shop = opened(SORTED.replace("lookback: 10m, ", ""))
    shop.system.put("orders", order(1, at=at(5, ".900")))
    shop.poll()
    shop.system.put("orders", order(2, at=at(5, ".100")))
    assert ids(shop.poll(1)) == ["2"]
    assert shop.system.asked[-1].query["since"] == at(5)


def test_a_row_dated_in_the_future_hides_nothing(opened: Opening) -> None:
    shop = filled(opened(SORTED), 2)
    shop.system.put("orders", order(9, at="2199-01-01T00:00:00Z"))
    assert ids(shop.poll()) == ["1", "2", "9"]
    shop.system.put("orders", order(3, at="2026-03-02T09:00:00Z"))
    assert ids(shop.poll(1)) == ["3"]


def test_a_row_without_a_stamp_is_taken(opened: Opening) -> None:
    shop = filled(opened(UNSORTED), 1)
    shop.system.before = lambda asked: None
    shop.system._chosen = lambda stream, rows, values: rows  # type: ignore[method-assign]
    shop.system.put("orders", order(2, at=None))
    assert ids(shop.poll()) == ["1", "2"]


def test_a_list_that_is_not_sorted_as_promised_is_read_by_its_own_pages(opened: Opening) -> None:
    shop = filled(opened(SORTED), 6)
    shop.system._chosen = lambda stream, rows, values: list(reversed(rows))  # type: ignore[method-assign]
    result = shop.poll()
    assert sorted(ids(result)) == ["1", "2", "3", "4", "5", "6"]
    assert "not sorted" in result.warnings[0]


def test_a_row_changed_back_is_told_again(opened: Opening) -> None:
    shop = filled(opened(SORTED), 1)
    first = shop.poll().upserts
    row = shop.system.rows("orders")[0]
    row.update(name="Other")
    second = shop.poll(1).upserts
    row.update(name="Order 1")
    third = shop.poll(2).upserts
    assert len({upsert.version for upsert in [*first, *second, *third]}) == 3
    assert [upsert.is_new for upsert in [*first, *second, *third]] == [True, False, False]


def test_a_row_put_back_is_new_again(opened: Opening) -> None:
    shop = filled(opened(WHOLE), 3)
    first = shop.poll().upserts
    gone = shop.system.held["orders"].pop(0)
    deleted = shop.poll(1).deletes
    shop.system.held["orders"].append(gone)
    again = shop.poll(2).upserts
    assert [change.native_id for change in [*deleted, *again]] == ["orders/1", "orders/1"]
    assert again[0].is_new
    assert again[0].version != first[0].version


def test_a_source_that_leads_in_a_circle_stops_the_reading_and_moves_nothing(opened: Opening) -> None:
    shop = filled(opened(UNSORTED), 5)
    honest = shop.system._point_on
    shop.system._point_on = lambda stream, document, *rest: document.update(next="1:2")  # type: ignore[method-assign]
    result = shop.poll()
    assert isinstance(result.error, TransientError)
    assert len(shop.system.asked) <= 4
    shop.system._point_on = honest  # type: ignore[method-assign]
    healthy = shop.poll(1)
    assert "since" not in shop.system.asked[-1].query
    assert sorted({*ids(result), *ids(healthy)}) == ["1", "2", "3", "4", "5"]


def test_a_source_that_ignores_the_page_number_stops_the_reading(opened: Opening) -> None:
    shop = filled(opened(WHOLE), 2)
    shop.system._position = lambda stream, values: 0  # type: ignore[method-assign]
    result = shop.poll()
    assert "same page" in str(result.error)
    assert result.deletes == []


def test_a_list_longer_than_the_page_cap_stops_without_moving_the_bound(opened: Opening) -> None:
    shop = filled(opened(UNSORTED.replace("    id: id\n", "    id: id\n    max_pages: 2\n")), 9)
    assert "max_pages" in str(shop.poll().error)
    shop.poll(1)
    assert all("since" not in asked.query for asked in shop.system.asked)


def test_a_long_sorted_list_goes_on_where_the_page_cap_stopped_it(opened: Opening) -> None:
    shop = filled(
        opened(SORTED.replace("    id: id\n", "    id: id\n    max_pages: 4\n").replace("lookback: 10m, ", "")), 9
    )
    found = [number for day in range(4) for number in ids(shop.poll(day))]
    assert found == [str(number) for number in range(1, 10)]


class Thief(StandIn):
    def answer(self, asked: Asked) -> Reply:
        return Reply.of({"items": []})


def test_a_next_link_to_another_place_is_not_followed(opened: Opening) -> None:
    text = WHOLE.replace("{type: page}", "{type: json_link, link: next}")
    with Thief() as thief:
        shop = filled(opened(text), 3)
        shop.system._link = lambda asked, token: f"{thief.url}/orders"  # type: ignore[method-assign]
        result = shop.poll()
        assert isinstance(result.error, AuthError)
        assert thief.asked == []


@pytest.mark.parametrize("auth", ["{type: api_key, in: header, name: X-Odd}", "{type: api_key, in: query, name: key}"])
def test_no_credential_follows_a_redirect_elsewhere(opened: Opening, auth: str) -> None:
    with Thief() as thief:
        shop = filled(opened(WHOLE.replace("{type: bearer}", auth)), 1)
        shop.system.answer = lambda asked: Reply(307, headers={"Location": f"{thief.url}/x"})  # type: ignore[method-assign]
        assert isinstance(shop.poll().error, AuthError)
        assert thief.asked == []


def test_a_redirect_to_the_same_place_is_followed(opened: Opening) -> None:
    shop = filled(opened(WHOLE), 1)
    honest = shop.system.answer

    def answer(asked: Asked) -> Reply:
        if asked.path == "/orders":
            return Reply(308, headers={"Location": f"/v2/orders?page={asked.query['page']}"})
        return honest(Asked(asked.method, "/orders", asked.query, asked.headers, asked.body))

    shop.system.answer = answer  # type: ignore[method-assign]
    assert ids(shop.poll()) == ["1"]


def test_a_key_that_the_source_repeats_in_its_links_stays_out_of_the_cursor(opened: Opening) -> None:
    text = WHOLE.replace("{type: bearer}", "{type: api_key, in: query, name: key}")
    shop = filled(opened(text.replace("{type: page}", "{type: json_link, link: next}")), 5)
    result = shop.poll()
    assert ids(result) == ["1", "2", "3", "4", "5"]
    assert "k3y" not in json.dumps([page.next_cursor for page in result.pages])
    assert all(asked.query["key"] == "k3y" for asked in shop.system.asked)


def test_an_answer_larger_than_allowed_is_refused(opened: Opening) -> None:
    shop = filled(opened(WHOLE.replace("auth:", "http: {max_body: 1000}\nauth:")), 1)
    shop.system.extra = {"padding": "x" * 2_000}
    assert "more than 1,000 bytes" in str(shop.poll().error)


def test_a_list_that_is_missing_from_the_answer_is_no_empty_list(opened: Opening) -> None:
    shop = filled(opened(WHOLE), 3)
    before = shop.poll().cursor
    shop.system.answer = lambda asked: Reply.of({"things": []})  # type: ignore[method-assign]
    result = shop.poll(1)
    assert "there are no records at 'items'" in str(result.error)
    assert (result.deletes, result.cursor) == ([], before)


def test_a_list_that_is_suddenly_empty_is_believed_the_second_time(opened: Opening) -> None:
    shop = filled(opened(WHOLE), 3)
    shop.poll()
    shop.system.held["orders"].clear()
    first = shop.poll(1)
    assert (first.deletes, len(first.warnings)) == ([], 1)
    assert len(shop.poll(2).deletes) == 3
    assert shop.poll(3).deletes == []


def test_a_row_that_slips_between_two_pages_is_not_taken_for_deleted(opened: Opening) -> None:
    shop = filled(opened(WHOLE), 6)
    shop.poll()

    def lose_the_first(asked: Asked) -> None:
        if asked.query.get("page") == "2" and len(shop.system.rows("orders")) == 6:
            shop.system.held["orders"].pop(0)

    shop.system.before = lose_the_first
    result = shop.poll(1)
    assert [delete.native_id for delete in result.deletes] == []
    assert [delete.native_id for delete in shop.poll(2).deletes] == ["orders/1"]


def test_a_row_of_the_wrong_shape_is_rejected_once_and_not_deleted(opened: Opening) -> None:
    shop = filled(opened(WHOLE), 3)
    shop.poll()
    shop.system.rows("orders")[1]["name"] = {"odd": True}
    result = shop.poll(1)
    assert [(rejected.code, result.deletes) for rejected in result.rejected] == [("drift", [])]
    assert (shop.poll(2).rejected, shop.poll(3).deletes) == ([], [])


def test_a_row_without_an_id_leaves_all_others_undeleted(opened: Opening) -> None:
    shop = filled(opened(WHOLE), 3)
    shop.poll()
    del shop.system.rows("orders")[1]["id"]
    result = shop.poll(1)
    assert (len(result.rejected), result.deletes) == (1, [])


def test_a_stream_that_may_not_be_read_does_not_hold_up_the_others(opened: Opening) -> None:
    more = "".join(f"  - {{name: {name}, path: /{name}, records: items, id: id}}\n" for name in ("secrets", "notes"))
    shop = filled(opened(WHOLE + more), 2)
    shop.system.put("notes", {"id": 1})
    honest = shop.system.answer
    refuse = Reply.of({"error": "no"}, 403)
    shop.system.answer = lambda asked: refuse if asked.path == "/secrets" else honest(asked)  # type: ignore[method-assign]
    result = shop.poll()
    assert isinstance(result.error, AuthError)
    assert "secrets" in str(result.error)
    assert [upsert.native_id for upsert in result.upserts] == ["orders/1", "orders/2", "notes/1"]
    assert not any(page.complete for page in result.pages)


def test_a_short_wait_is_waited_for_and_a_long_one_is_handed_on(opened: Opening) -> None:
    shop = filled(opened(WHOLE), 1)
    honest, limits = shop.system.answer, ["2", "600"]

    def answer(asked: Asked) -> Reply:
        return Reply.of({}, 429, **{"Retry-After": limits.pop(0)}) if limits else honest(asked)

    shop.system.answer = answer  # type: ignore[method-assign]
    result = shop.poll()
    assert shop.slept == [2]
    assert isinstance(result.error, RateLimited)
    assert result.error.retry_at is not None
    assert ids(shop.poll(1)) == ["1"]


def test_a_rate_is_kept_by_waiting(opened: Opening) -> None:
    shop = filled(opened(WHOLE.replace("auth:", "http: {rate: {calls: 2, per_s: 3600}}\nauth:")), 5)
    shop.poll()
    assert len(shop.slept) == len(shop.system.asked) - 2
    assert all(3_590 < seconds <= 7_200 for seconds in shop.slept)


def test_a_quota_keeps_the_last_call_for_the_person(opened: Opening) -> None:
    shop = filled(opened(WHOLE.replace("auth:", "http: {quota: {calls: 3, per: 1d}}\nauth:")), 9)
    assert isinstance(shop.poll().error, RateLimited)
    assert len(shop.system.asked) == 2


def test_a_place_that_the_source_forgot_is_read_again_without_telling_anything_twice(opened: Opening) -> None:
    text = UNSORTED.replace("streams:", "errors: [{status: [410], action: restart}]\nstreams:")
    shop = filled(opened(text), 5)
    killed = shop.poll(kill_after=1)
    shop.system.lose_cursors()
    resumed = shop.poll(0.1)
    assert resumed.error is None
    assert ids(killed) + ids(resumed) == ["1", "2", "3", "4", "5"]


def test_a_changed_definition_reads_everything_again_and_tells_what_looks_different(
    opened: Opening, tmp_path: Path
) -> None:
    shop = filled(opened(SORTED), 3)
    first = shop.poll()
    path = Path(shop.config.definition)
    path.write_text(SORTED.replace("map: {title: name}", "map: {title: \"join('', ['No. ', name])\"}"))
    again = shop.poll(1)
    assert ids(again) == ids(first)
    assert all(page.reset for page in again.pages if page.upserts)
    assert not any(upsert.is_new for upsert in again.upserts)
    assert shop.events(again)[0].title == "No. Order 1"


def test_a_stream_is_read_no_more_often_than_it_says(opened: Opening) -> None:
    shop = filled(opened(WHOLE.replace("    id: id\n", "    id: id\n    every: 6h\n")), 1)
    for days in (0, 0.1, 0.2, 0.3):
        shop.poll(days)
    assert len([asked for asked in shop.system.asked if asked.query["page"] == "1"]) == 2


@pytest.mark.parametrize("style", ["basic", "form"])
def test_client_credentials_are_traded_for_a_token(opened: Opening, style: str, tmp_path: Path) -> None:
    text = WHOLE.replace(
        "{type: bearer}", f"{{type: client_credentials, token_url: 'https://x.example', style: {style}}}"
    )
    shop = filled(opened(text), 3)
    path = Path(shop.config.definition)
    path.write_text(text.replace("https://x.example", f"{shop.system.url}/oauth/token"))
    assert ids(shop.poll()) == ["1", "2", "3"]
    traded = [asked for asked in shop.system.asked if asked.path == "/oauth/token"]
    assert len(traded) == 1
    assert traded[0].form()["grant_type"] == "client_credentials"
    assert ("client_secret" in traded[0].form()) == (style == "form")


def test_a_missing_secret_is_asked_for_again(opened: Opening) -> None:
    shop = filled(opened(WHOLE), 1)
    shop.key.secrets.clear()
    assert isinstance(shop.poll().error, AuthError)
    shop.key.secrets["token"] = "two\r\nlines"
    assert isinstance(shop.poll().error, AuthError)
    assert shop.system.asked == []


CHILDREN = """  - name: lines
    foreach: {stream: orders, where: "state != 'closed'", bind: {order: id}}
    path: /orders/{order}/lines
    records: items
    id: no
    paginate: {type: page}
    deletions: {full_diff: daily}
    map: {title: text}
"""


def with_lines(shop: Account) -> Account:
    for number in ("1", "2", "3"):
        shop.system.put("orders", {"id": number, "name": f"Order {number}", "state": "open"})
        for line in range(3):
            shop.system.put("lines", {"no": line, "text": f"Line {line} of {number}"}, order=number)
    return shop


def natives(changes: Any) -> list[str]:
    return sorted(change.native_id for change in changes)


def test_a_substream_is_read_for_each_row_of_its_parent(opened: Opening) -> None:
    shop = with_lines(opened(WHOLE + CHILDREN))
    first = shop.poll()
    assert len(first.upserts) == 12
    assert shop.poll(1).upserts == []
    shop.system.held["lines"][0].row["text"] = "Other"
    assert natives(shop.poll(2).upserts) == ["lines/1/0"]
    shop.system.held["lines"].pop(1)
    assert natives(shop.poll(3).deletes) == ["lines/1/1"]


def test_what_was_read_for_a_row_goes_with_it(opened: Opening) -> None:
    shop = with_lines(opened(WHOLE + CHILDREN))
    shop.poll()
    shop.system.held["orders"].pop(0)
    assert natives(shop.poll(1).deletes) == ["lines/1/0", "lines/1/1", "lines/1/2", "orders/1"]
    assert shop.poll(2).deletes == []


def test_a_row_that_stops_to_qualify_is_read_for_once_more(opened: Opening) -> None:
    shop = with_lines(opened(WHOLE + CHILDREN))
    shop.poll()
    shop.system.rows("orders")[0]["state"] = "closed"
    shop.system.held["lines"][0].row["text"] = "Last word"
    assert natives(shop.poll(1).upserts) == ["lines/1/0", "orders/1"]
    asked = len(shop.system.asked)
    shop.poll(2)
    assert not [each for each in shop.system.asked[asked:] if each.path == "/orders/1/lines"]


def test_a_parent_that_vanished_between_two_requests_changes_nothing(opened: Opening) -> None:
    shop = with_lines(opened(WHOLE + CHILDREN))
    shop.poll()
    honest = shop.system.answer
    gone = Reply.of({}, 404)
    shop.system.answer = lambda asked: gone if "/1/" in asked.path else honest(asked)  # type: ignore[method-assign]
    result = shop.poll(1)
    assert (result.error, result.deletes) == (None, [])


@pytest.mark.parametrize(
    "answer", [Reply(500), Reply.of({}, 403), Reply.of({"other": []})], ids=["500", "403", "drift"]
)
def test_one_parent_that_cannot_be_read_does_not_keep_us_from_the_others(opened: Opening, answer: Reply) -> None:
    shop = with_lines(opened(WHOLE + CHILDREN))
    shop.poll()
    honest = shop.system.answer
    shop.system.answer = lambda asked: answer if "/1/" in asked.path else honest(asked)  # type: ignore[method-assign]
    for held in shop.system.held["lines"]:
        held.row["text"] += "!"
    result = shop.poll(1)
    assert (result.error, result.deletes, len(result.warnings)) == (None, [], 1)
    assert {native.split("/")[1] for native in natives(result.upserts)} == {"2", "3"}
    shop.system.answer = honest  # type: ignore[method-assign]
    assert {native.split("/")[1] for native in natives(shop.poll(2).upserts)} == {"1"}


def test_a_substream_that_can_be_read_for_nobody_is_an_error(opened: Opening) -> None:
    shop = with_lines(opened(WHOLE + CHILDREN))
    honest, refuse = shop.system.answer, Reply.of({}, 403)
    shop.system.answer = lambda asked: refuse if "lines" in asked.path else honest(asked)  # type: ignore[method-assign]
    assert isinstance(shop.poll().error, AuthError)


def test_an_id_cannot_leave_its_place_in_the_path(opened: Opening) -> None:
    shop = opened(WHOLE + CHILDREN)
    for number in ("../admin", "a?b=c#d", "x/../../y"):
        shop.system.put("orders", {"id": number, "name": "Odd", "state": "open"})
        shop.system.put("lines", {"no": 1, "text": number}, order=number)
    result = shop.poll()
    assert result.error is None
    assert len([upsert for upsert in result.upserts if upsert.native_id.startswith("lines/")]) == 3
    assert {asked.path.count("/") for asked in shop.system.asked if asked.path != "/orders"} == {3}


def test_a_substream_killed_between_parents_goes_on(opened: Opening) -> None:
    shop = with_lines(opened(WHOLE + CHILDREN))
    whole = shop.poll()
    for pages in range(1, len(whole.pages)):
        shop.cursor = None
        killed = shop.poll(kill_after=pages)
        resumed = shop.poll()
        told = {upsert.native_id: upsert for upsert in [*killed.upserts, *resumed.upserts]}
        assert natives(told.values()) == natives(whole.upserts)
        assert resumed.cursor == whole.cursor
