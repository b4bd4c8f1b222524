"""Two CalDAV servers, each started on a free port: Radicale (with passwords) and Xandikos (without)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from lxml import etree

from tests.peers.packages import fetched_pip, from_pip
from tests.peers.process import free_port, running

USER, PASSWORD = "nora", "s3cret"

_RADICALE = """[server]
hosts = 127.0.0.1:{port}
[auth]
type = htpasswd
htpasswd_filename = {folder}/users
htpasswd_encryption = plain
delay = 0
cache_logins = False
[storage]
filesystem_folder = {folder}/collections
[logging]
level = warning
"""


@dataclass(frozen=True)
class Server:
    """``url``: the bare host. ``home``: the path below which the calendars are. ``folder``: where it keeps them."""

    name: str
    url: str
    home: str
    folder: Path

    def let_in(self, *, allowed: bool) -> None:
        """Whether Radicale takes the password from now on."""
        (self.folder.parent / "users").write_text(f"{USER}:{PASSWORD if allowed else 'another'}\n")


def fetch_radicale() -> str:
    return f"Radicale 3.9.0 is in {from_pip('radicale', 'radicale==3.9.0')}"


def fetch_xandikos() -> str:
    return f"Xandikos 0.4.10 is in {from_pip('xandikos', 'xandikos==0.4.10')}"


@contextmanager
def radicale(folder: Path) -> Iterator[Server]:
    program = fetched_pip("radicale") / "radicale"
    port = free_port()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config").write_text(_RADICALE.format(port=port, folder=folder))
    server = Server("radicale", f"http://127.0.0.1:{port}", f"/{USER}/", folder / "collections")
    server.let_in(allowed=True)
    with running([str(program), "--config", str(folder / "config")], port, folder / "radicale.log"):
        yield server


@contextmanager
def xandikos(folder: Path) -> Iterator[Server]:
    program = fetched_pip("xandikos") / "xandikos"
    port = free_port()
    data = folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    listen = ["-l", "127.0.0.1", "-p", str(port), "--current-user-principal", f"/{USER}/"]
    with running([str(program), "serve", "--defaults", "--autocreate", "-d", str(data), *listen], port, folder / "log"):
        yield Server("xandikos", f"http://127.0.0.1:{port}", f"/{USER}/calendars/", data)


class Desk:
    """What a person does to the calendars on a server, by another program than ours."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.http = httpx.Client(base_url=server.url, auth=(USER, PASSWORD), trust_env=False)

    def close(self) -> None:
        self.http.close()

    def clear(self) -> None:
        """No calendar is left."""
        for path in self.calendars():
            self.send("DELETE", path)

    def calendars(self) -> list[str]:
        body = '<propfind xmlns="DAV:"><prop><resourcetype/></prop></propfind>'
        headers = {"Depth": "1", "Content-Type": "application/xml"}
        found = etree.fromstring(self.http.request("PROPFIND", self.server.home, content=body, headers=headers).content)
        return [
            urlsplit(response.findtext("{DAV:}href")).path
            for response in found.iter("{DAV:}response")
            if response.find(".//{urn:ietf:params:xml:ns:caldav}calendar") is not None
        ]

    def make(self, calendar: str, title: str = "", components: Sequence[str] = ("VEVENT", "VTODO")) -> str:
        """The path of the new calendar."""
        path = f"{self.server.home}{calendar}/"
        held = "".join(f'<c:comp name="{name}"/>' for name in components)
        body = (
            '<c:mkcalendar xmlns:c="urn:ietf:params:xml:ns:caldav" xmlns:d="DAV:"><d:set><d:prop>'
            f"<d:displayname>{title or calendar}</d:displayname>"
            f"<c:supported-calendar-component-set>{held}</c:supported-calendar-component-set>"
            "</d:prop></d:set></c:mkcalendar>"
        )
        self.send("MKCALENDAR", path, body.encode(), "application/xml")
        return path

    def put(self, path: str, ics: bytes) -> None:
        self.send("PUT", path, ics, "text/calendar; charset=utf-8")

    def delete(self, path: str) -> None:
        self.send("DELETE", path)

    def send(self, method: str, path: str, content: bytes = b"", kind: str = "") -> None:
        headers = {"Content-Type": kind} if kind else {}
        self.http.request(method, path, content=content, headers=headers).raise_for_status()
