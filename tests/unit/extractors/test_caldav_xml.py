"""Answers of servers that are hostile, broken or merely odd."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from extractors.caldav.xml import DAV, Unusable, is_token_refused, multistatus
from schemas.errors import TransientError
from tests.standins.caldav import Asked, CaldavStandIn, Calendar

LAUGHS = b"""<?xml version="1.0"?><!DOCTYPE m [<!ENTITY a "ha">%s]><multistatus xmlns="DAV:"><response>
<href>/&a9;</href></response></multistatus>""" % b"".join(
    b'<!ENTITY a%d "%s">' % (n, b"&a%d;" % (n - 1) * 10 if n > 1 else b"&a;" * 10) for n in range(1, 10)
)
EXTERNAL = b"""<!DOCTYPE m [<!ENTITY x SYSTEM "file:///etc/passwd">]><multistatus xmlns="DAV:"><response>
<href>&x;</href></response></multistatus>"""


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(LAUGHS, id="billion laughs"),
        pytest.param(EXTERNAL, id="external entity"),
        pytest.param(LAUGHS.decode().encode("utf-16"), id="billion laughs in UTF-16"),
        pytest.param(b'<!DOCTYPE m SYSTEM "http://127.0.0.1:1/x.dtd"><multistatus xmlns="DAV:"/>', id="external DTD"),
        pytest.param(b'<multistatus xmlns="DAV:">' + b"<a>" * 5_000, id="deep"),
        pytest.param(b'<multistatus xmlns="DAV:">' + b"<a/>" * 2_000_000 + b"</multistatus>", id="many"),
        pytest.param(b'<multistatus xmlns="DAV:"><a ' + b" ".join(b'a%d=""' % n for n in range(600_000)), id="wide"),
        pytest.param(b"<html><body>Log in to this Wi-Fi</body></html>", id="web page"),
        pytest.param(b"<error xmlns='DAV:'/>", id="error"),
        pytest.param(b"", id="nothing"),
        pytest.param(b'<multistatus xmlns="DAV:"><response><href>/a</href>', id="cut"),
    ],
)
def test_what_is_no_plain_multistatus_is_refused(body: bytes) -> None:
    tracemalloc.start()
    with pytest.raises(Unusable):
        multistatus(body, "dav.example.org")
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def test_a_response_may_name_several_resources_and_odd_lines_of_status() -> None:
    found = multistatus(
        b"""<d:multistatus xmlns:d="DAV:"><d:response><d:href>/a%20b</d:href><d:href> http://else/c </d:href>
        <d:status>HTTP/2 404</d:status></d:response><d:response><d:href>/d</d:href><d:propstat><d:prop><d:getetag>"1"
        </d:getetag></d:prop></d:propstat><d:propstat><d:prop><d:owner/></d:prop><d:status>HTTP/1.1 404 No</d:status>
        </d:propstat></d:response><d:response/><d:sync-token> t </d:sync-token></d:multistatus>""",
        "dav.example.org",
    )
    assert [(one.path, one.status) for one in found.responses] == [("/a b", 404), ("/c", 404), ("/d", 200)]
    assert found.responses[2].text(DAV + "getetag") == '"1"'
    assert DAV + "owner" not in found.responses[2].props
    assert found.sync_token == "t"


def test_a_refused_token_is_known_by_the_element_alone() -> None:
    assert is_token_refused(b'<d:error xmlns:d="DAV:"><d:valid-sync-token/></d:error>', "dav.example.org")
    assert not is_token_refused(b"<error>valid-sync-token is what they call it</error>", "dav.example.org")
    assert not is_token_refused(b"valid-sync-token", "dav.example.org")


def _answer() -> bytes:
    server = CaldavStandIn()
    server.open = True
    server.calendars["work"] = calendar = Calendar("Work")
    calendar.put("a.ics", b"BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n")
    return server.answer(Asked("PROPFIND", "/dav/calendars/nora/", {}, {"depth": "1"}, b"")).body


ANSWER = _answer()


@given(st.integers(0, len(ANSWER)), st.integers(0, 40), st.binary(max_size=20))
def test_a_damaged_answer_is_read_or_refused(at: int, cut: int, put: bytes) -> None:
    try:
        found = multistatus(ANSWER[:at] + put + ANSWER[at + cut :], "dav.example.org")
    except TransientError:
        return
    for one in found.responses:
        assert isinstance(one.path, str)
        one.hrefs(DAV + "owner")
