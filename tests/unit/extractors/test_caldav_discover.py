"""From what a person types to settings, and who is given the password."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import httpx
import pytest
from pydantic import ValidationError

from extractors.caldav import Caldav
from extractors.caldav.client import Dav
from extractors.caldav.config import CaldavConfig
from extractors.connector import NoAccess
from extractors.testing import Key, context_for, poll
from schemas.errors import AuthError
from schemas.model import Json
from tests.standins.caldav import HOME, PASSWORD, USER, CaldavStandIn, Calendar


@pytest.fixture
def server() -> Iterator[CaldavStandIn]:
    with CaldavStandIn() as running:
        running.calendars["work"] = Calendar("Work")
        yield running


@pytest.fixture
def other() -> Iterator[CaldavStandIn]:
    with CaldavStandIn() as running:
        running.calendars["work"] = Calendar("Work")
        yield running


def discover(hint: str) -> dict[str, Json]:
    async def run() -> dict[str, Json]:
        async with Key().open(context_for().now) as access:
            return await Caldav().discover(hint, replace(context_for(), access=access))

    return asyncio.run(run())


def check(config: CaldavConfig, key: Key) -> list[str]:
    async def run() -> list[str]:
        async with key.open(context_for().now) as access:
            return [*await Caldav().check(config, replace(context_for(), access=access))]

    return asyncio.run(run())


def settings(url: str, **others: Any) -> CaldavConfig:
    return CaldavConfig(url=url, username=USER, allow_private=True, **others)


KEY = Key({"password": PASSWORD})


def test_a_bare_host_leads_to_its_calendars(server: CaldavStandIn) -> None:
    found = discover(server.url)
    assert found == {"url": f"{server.url}/dav/"}
    assert all("authorization" not in asked.headers for asked in server.asked)
    server.calendars["todo"] = Calendar("Chores", components=("VTODO",))
    server.calendars["notes"] = Calendar("Notes", components=("VJOURNAL",))
    server.calendars["club"] = Calendar("Club", owner="/dav/principals/club/")
    assert check(settings(str(found["url"])), KEY) == [
        "Club: events and to-dos, of somebody else", "Chores: to-dos", "Work: events and to-dos",
    ]  # fmt: skip


def test_a_server_without_a_well_known_address_is_found_as_nextcloud(server: CaldavStandIn) -> None:
    server.well_known = "/nowhere"
    server.open = True
    answer = server.answer

    def nextcloud(asked: Any) -> Any:
        return answer(replace(asked, path="/dav/")) if asked.path == "/remote.php/dav/" else refuse(asked)

    def refuse(asked: Any) -> Any:
        reply = answer(asked)
        return reply if asked.path.startswith("/.well-known") else type(reply)(404)

    server.answer = nextcloud  # type: ignore[method-assign]
    assert discover(server.url) == {"url": f"{server.url}/remote.php/dav/"}


def test_a_mail_address_of_a_known_provider_needs_no_question() -> None:
    assert discover("Nora@me.com") == {
        "url": "https://caldav.icloud.com/",
        "username": "Nora@me.com",
        "addresses": ["nora@me.com"],
        "trusted_hosts": [".icloud.com"],
    }
    assert discover("nora@fastmail.com")["url"] == "https://caldav.fastmail.com/"


@pytest.mark.parametrize("hint", ["nora@gmail.com", "nora@outlook.com", "", "http://127.0.0.1:1/"])
def test_what_leads_nowhere_says_what_to_type_instead(hint: str) -> None:
    with pytest.raises(AuthError) as error:
        discover(hint)
    assert error.value.remedy


def test_a_wrong_password_is_an_error_that_a_person_can_mend(server: CaldavStandIn) -> None:
    with pytest.raises(AuthError, match="does not accept the credentials"):
        check(settings(server.url), Key({"password": "wrong"}))
    with pytest.raises(AuthError, match="has no password"):
        check(settings(server.url), Key())


def test_the_user_name_that_was_entered_counts_more_than_the_one_in_the_settings(server: CaldavStandIn) -> None:
    config = settings(server.url).model_copy(update={"username": "nora@example.org"})
    assert check(config, Key({"password": PASSWORD, "username": USER})) == ["Work: events and to-dos"]


def test_a_provider_is_asked_for_a_token_and_for_a_newer_one(server: CaldavStandIn) -> None:
    server.open = True
    answer, seen = server.answer, []

    def picky(asked: Any) -> Any:
        seen.append(asked.headers.get("authorization"))
        return answer(asked) if seen[-1] == "Bearer new" else type(answer(asked))(401)

    server.answer = picky  # type: ignore[method-assign]
    key = Key(tokens=lambda refused: "new" if refused else "old")
    assert check(settings(server.url, provider="fastmail"), key) == ["Work: events and to-dos"]
    assert set(seen) == {"Bearer old", "Bearer new"}


def test_calendars_on_another_host_are_read_only_where_the_person_trusts_it(
    server: CaldavStandIn, other: CaldavStandIn
) -> None:
    server.homes = [f"{other.url}{HOME}"]
    with pytest.raises(AuthError, match=f"add '127.0.0.1:{other.port}' to the account's trusted_hosts"):
        check(settings(server.url), KEY)
    assert other.asked == []
    assert check(settings(server.url, trusted_hosts=(f"127.0.0.1:{other.port}",)), KEY) == ["Work: events and to-dos"]


@pytest.mark.parametrize("trusted", [("example.org",), (".0.0.1",), ("127.0.0.1",)])
def test_another_port_is_another_host(server: CaldavStandIn, other: CaldavStandIn, trusted: tuple[str, ...]) -> None:
    server.homes = [f"{other.url}{HOME}"]
    result = poll(Caldav(), settings(server.url, trusted_hosts=trusted), None, context_for(), key=KEY)
    assert isinstance(result.error, AuthError)
    assert other.asked == []


def test_no_redirect_takes_the_password_elsewhere(server: CaldavStandIn, other: CaldavStandIn) -> None:
    server.well_known = f"{other.url}/dav/"
    with pytest.raises(AuthError, match="not trusted with the password"):
        check(settings(f"{server.url}/.well-known/caldav"), KEY)
    assert other.asked == []
    assert discover(server.url) == {"url": f"{other.url}/dav/"}
    assert all("authorization" not in asked.headers for asked in other.asked)


def test_a_server_cannot_send_us_inside_in_clear_text() -> None:
    config = CaldavConfig(url="https://dav.example.org/", trusted_hosts=("127.0.0.1",))
    dav = Dav(config, NoAccess())
    assert not dav.trusts(httpx.URL("http://127.0.0.1/"))
    assert dav.trusts(httpx.URL("https://127.0.0.1/"))
    assert not dav.trusts(httpx.URL("http://dav.example.org/"))


def test_all_hosts_of_a_domain_are_trusted_and_none_that_only_looks_like_it() -> None:
    dav = Dav(CaldavConfig(url="https://caldav.icloud.com/", trusted_hosts=(".icloud.com",)), NoAccess())
    assert dav.trusts(httpx.URL("https://p42-caldav.icloud.com/123/calendars/"))
    for other in (
        "https://evil-icloud.com/",
        "https://icloud.com.evil.example/",
        "https://p42-caldav.icloud.com:8443/",
    ):
        assert not dav.trusts(httpx.URL(other)), other


def test_an_address_of_one_calendar_watches_only_that(server: CaldavStandIn) -> None:
    server.calendars["home"] = Calendar("Home")
    assert check(settings(f"{server.url}{HOME}home/"), KEY) == ["Home: events and to-dos"]


def test_only_the_named_calendars_are_watched(server: CaldavStandIn) -> None:
    server.calendars["home"] = Calendar("Home")
    assert check(settings(server.url, calendars=("Home",)), KEY) == ["Home: events and to-dos"]
    assert check(settings(server.url, calendars=(f"{HOME}work",)), KEY) == ["Work: events and to-dos"]
    none = poll(Caldav(), settings(server.url, calendars=("Hime",)), None, context_for(), key=KEY)
    assert "correct the setting calendars" in str(none.error)


@pytest.mark.parametrize(
    "wrong",
    [
        {"url": "ftp://a.example"},
        {"url": "http://dav.example.org/"},
        {"url": "https://me:pw@a.example/"},
        {"password": "x"},
        {"trusted_hosts": ("*",)},
        {"trusted_hosts": ("https://a.example/",)},
        {"trusted_hosts": (".org.",)},
    ],
)
def test_settings_that_cannot_work_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        CaldavConfig(**{"url": "https://dav.example.org/", **wrong})


def test_a_bare_host_is_enough_although_its_first_page_is_a_web_site(server: CaldavStandIn) -> None:
    answer = server.answer

    def site(asked: Any) -> Any:
        if asked.path == "/":
            return type(answer(asked))(200, b"<!DOCTYPE html><title>Welcome</title>", {"Content-Type": "text/html"})
        return answer(asked)

    server.answer = site  # type: ignore[method-assign]
    assert check(settings(server.url), KEY) == ["Work: events and to-dos"]
    server.well_known = "/nowhere"
    with pytest.raises(AuthError, match="type the one that your provider names"):
        check(settings(f"{server.url}/nowhere"), KEY)
