"""Pages, forms and lists to leave: only where the person allowed it, never inside of a network, never twice."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from actions.run.attempt import Answer, attempt
from actions.testing.cases import incoming
from actions.testing.desk import Desk
from actions.testing.laws import AT, KEY
from actions.testing.mailbox import Mail
from actions.testing.web import page
from actions.tools.kept import Kept
from actions.tools.tool import Tool
from actions.tools.web import Hosts, WebGet, WebSubmit
from actions.tools.wire import Reply
from extractors.http import Http, Limits
from extractors.testing.standin import Asked, StandIn
from extractors.testing.standin import Reply as Said
from forewatch.outgoing.http import PublicWeb
from schemas.clock import ManualClock
from schemas.errors import StepFailed
from schemas.model import Json

FORM = "https://office.example.org/form"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path.resolve(), ManualClock(AT))


def tried(desk: Desk, name: str, **args: Json) -> Answer:
    tool = desk.registry().tool(name)
    assert tool is not None
    return asyncio.run(attempt(tool, {k.replace("__", "."): v for k, v in args.items()}, KEY, 30))


def seen(desk: Desk, name: str, out: dict[str, Json], **args: Json) -> bool:
    tool = desk.registry().tool(name)
    assert tool is not None
    return asyncio.run(tool.verify(args, KEY, out)) is not None


class TestHosts:
    @pytest.mark.parametrize(
        "url",
        [
            "https://evil.example/",
            "https://office.example.org.evil.example/",
            "https://office.example.org@evil.example/",
            "https://nora:pw@office.example.org/",
            "http://office.example.org/",
            "https://OFFICE.example.org:8443/",
            "https://xoffice.example.org/",
        ],
    )
    def test_other_hosts_are_refused(self, url: str) -> None:
        with pytest.raises(StepFailed) as refused:
            Hosts(("office.example.org",)).check(url)
        assert refused.value.code == "denied"

    @pytest.mark.parametrize(
        "url", ["https://office.example.org/a?b#c", "https://a.b.example.net/", "https://example.net/"]
    )
    def test_allowed_hosts_and_what_is_below_a_point_are_not(self, url: str) -> None:
        assert Hosts(("office.example.org", ".example.net")).check(url) == url


class TestGet:
    def test_a_page_is_read_without_its_markup(self, desk: Desk) -> None:
        desk.web.pages[FORM] = page("<script>alert(1)</script><p>Fee: 5&nbsp;&euro;</p><!-- no --><b>due</b>")
        answer = tried(desk, "web.get", url=FORM)
        assert answer.out["text"] == "Fee: 5 € due"

    def test_a_redirect_is_checked_again(self, desk: Desk) -> None:
        desk.web.pages[FORM] = Reply(302, {"location": "https://evil.example/?q=secret"})
        desk.web.pages["https://evil.example/?q=secret"] = page("got it")
        answer = tried(desk, "web.get", url=FORM)
        assert (answer.outcome, answer.code) == ("failed", "denied")

    def test_a_redirect_within_the_allowed_hosts_is_followed_and_one_without_end_is_not(self, desk: Desk) -> None:
        desk.web.pages[FORM] = Reply(302, {"location": "/there"})
        desk.web.pages["https://office.example.org/there"] = page("here")
        assert tried(desk, "web.get", url=FORM).out["url"] == "https://office.example.org/there"
        desk.web.pages[FORM] = Reply(302, {"location": "/form"})
        assert tried(desk, "web.get", url=FORM).code == "invalid"

    def test_what_is_no_text_is_refused(self, desk: Desk) -> None:
        desk.web.pages[FORM] = page("x", kind="application/octet-stream")
        assert tried(desk, "web.get", url=FORM).code == "invalid"


class TestSubmit:
    def test_a_form_is_sent_as_a_browser_sends_it(self, desk: Desk) -> None:
        desk.web.pages[FORM] = page("Thank you")
        answer = tried(desk, "web.submit", url=FORM, proof="thank you", field__name="Größe & Co")
        assert desk.web.posted == [(FORM, b"name=Gr%C3%B6%C3%9Fe+%26+Co")]
        assert seen(desk, "web.submit", answer.out, url=FORM, proof="Thank  you")

    def test_an_answer_without_the_words_that_say_so_is_no_proof(self, desk: Desk) -> None:
        desk.web.pages[FORM] = page("Please fill in all fields")
        answer = tried(desk, "web.submit", url=FORM, proof="thank you")
        assert answer.outcome == "ok"
        assert not seen(desk, "web.submit", answer.out, url=FORM, proof="thank you")

    def test_a_page_after_the_form_is_read_where_it_is_allowed(self, desk: Desk) -> None:
        desk.web.pages[FORM] = Reply(303, {"location": "/thanks"})
        desk.web.pages["https://office.example.org/thanks"] = page("Thank you")
        answer = tried(desk, "web.submit", url=FORM, proof="thank you")
        assert seen(desk, "web.submit", answer.out, url=FORM, proof="thank you")


class TestUnsubscribe:
    def test_one_click_and_nothing_else_is_sent(self, desk: Desk) -> None:
        desk.mail.box.mails = [Mail(incoming())]
        desk.web.pages["https://lists.example.org/leave?u=17"] = page("bye")
        answer = tried(desk, "mail.unsubscribe", message_id="<news@example.org>")
        assert (answer.outcome, answer.out) == ("ok", {"host": "lists.example.org", "status": 200})
        assert desk.web.posted == [("https://lists.example.org/leave?u=17", b"List-Unsubscribe=One-Click")]

    @pytest.mark.parametrize(
        ("headers", "code"),
        [
            ({"List_Unsubscribe_Post": ""}, "invalid"),
            ({"List_Unsubscribe": "<mailto:leave@example.org>"}, "invalid"),
            ({"List_Unsubscribe": "<http://lists.example.org/leave>"}, "invalid"),
            ({"List_Unsubscribe": "<https://a.example/1>, <https://b.example/2>"}, "invalid"),
            ({"DKIM_Signature": ""}, "denied"),
            ({"DKIM_Signature": "v=1; d=example.org; h=From:Subject:List-Unsubscribe; b=x"}, "denied"),
            ({"Authentication_Results": "mx.example.org; dkim=fail header.d=example.org"}, "denied"),
        ],
    )
    def test_a_list_that_nobody_vouches_for_is_not_asked(self, desk: Desk, headers: dict[str, str], code: str) -> None:
        desk.mail.box.mails = [Mail(incoming(**headers))]
        answer = tried(desk, "mail.unsubscribe", message_id="<news@example.org>")
        assert (answer.outcome, answer.code) == ("failed", code)
        assert desk.web.posted == []

    def test_a_redirect_is_an_answer_and_no_way_on(self, desk: Desk) -> None:
        desk.mail.box.mails = [Mail(incoming())]
        desk.web.pages["https://lists.example.org/leave?u=17"] = Reply(302, {"location": "https://evil.example/"})
        assert tried(desk, "mail.unsubscribe", message_id="<news@example.org>").code == "denied"
        assert len(desk.web.posted) == 1


class Office(StandIn):
    def answer(self, asked: Asked) -> Said:
        if asked.path == "/away":
            return Said(302, b"", {"Location": "http://127.0.0.1:1/inside"})
        if asked.path == "/long":
            return Said(200, b"x" * 200_000, {"Content-Type": "text/plain"})
        return Said(200, b"<p>Thank you</p>", {"Content-Type": "text/html; charset=utf-8"})


def web(*, allow_private: bool, leads_to: str = "127.0.0.1") -> PublicWeb:
    async def resolve(host: str, port: int) -> Sequence[str]:
        return [leads_to]

    def make() -> Http:
        limits = Limits(body_bytes=100_000, redirects=0)
        return Http(lambda: AT, allow_private=allow_private, limits=limits, resolve=resolve)

    return PublicWeb(lambda: AT, make)


class TestInside:
    """The real client: what an address leads to is looked at once, and nothing inside of a network is ever asked."""

    @pytest.mark.parametrize(
        "inside", ["127.0.0.1", "10.0.0.5", "169.254.169.254", "::1", "fd00::1", "::ffff:10.0.0.5"]
    )
    @pytest.mark.parametrize("kind", ["get", "submit"])
    def test_a_public_name_that_leads_inside_is_not_asked(self, tmp_path: Path, inside: str, kind: str) -> None:
        client, hosts = web(allow_private=False, leads_to=inside), Hosts(("office.example.org",))
        tool: Tool = WebGet(client, hosts) if kind == "get" else WebSubmit(client, hosts, Kept(tmp_path.resolve()))
        answer = asyncio.run(attempt(tool, {"url": FORM, "proof": "x"}, KEY, 30))
        assert (answer.outcome, answer.code) == ("failed", "denied")

    def test_a_real_server_is_read_and_bounded(self) -> None:
        with Office() as office:
            place = f"127.0.0.1:{office.port}"
            tool = WebGet(web(allow_private=True), Hosts((place,)))
            good = asyncio.run(attempt(tool, {"url": f"http://{place}/form"}, KEY, 30))
            assert (good.outcome, good.out["text"]) == ("ok", "Thank you")
            away = asyncio.run(attempt(tool, {"url": f"http://{place}/away"}, KEY, 30))
            assert (away.outcome, away.code) == ("failed", "denied")
            long = asyncio.run(attempt(tool, {"url": f"http://{place}/long"}, KEY, 30))
            assert long.outcome != "ok"
