"""web.get and web.submit: pages of hosts that the person allowed, and forms that are sent once and never again.

What a page says is outside text. A form has no key and nothing to look up, so an answer that was lost is a question to
the person; its receipt is the site's own answer, kept, because a site cannot be asked again.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import Protocol
from urllib.parse import urlencode, urljoin, urlsplit

from actions.plain import clean
from actions.tools.document import plain
from actions.tools.extract import TEXT_CAP
from actions.tools.kept import Kept
from actions.tools.tool import Arg, Args, Manifest, Receipt
from actions.tools.wire import Reply, settled
from schemas import ids
from schemas.errors import StepFailed
from schemas.model import Json

REDIRECTS = 5
_GONE = re.compile(r"(?is)<(script|style|noscript|template)\b.*?</\1\s*>|<!--.*?-->|<[^>]+>")
_SHOWN = re.compile(r"text/(html|plain|markdown|csv|xml)|application/(json|xml|xhtml\+xml)")

GET = Manifest(
    name="web.get",
    version="1.0.0",
    description="Read a page of a host that the owner allowed.",
    says="Read the page {url}",
    args={"url": Arg(type="Url", says="which page")},
    returns={"text": "Text", "url": "Url", "status": "Number"},
    minted=("status",),
    effect="read",
    effect_class="pure",
    timeout_s=45.0,
    reversible="yes",
    permissions={"hosts": ("those in web_hosts",)},
)
SUBMIT = Manifest(
    name="web.submit",
    version="1.0.0",
    description="Send a form to a page of a host that the owner allowed; once, and never again by itself.",
    says="Send the form at {url}",
    args={
        "url": Arg(type="Url", says="where the form goes"),
        "proof": Arg(type="Text", sink="target", says="words of the answer that say it was taken"),
    },
    open_args="field.",
    returns={"status": "Number", "text": "Text", "sha256": "Text"},
    minted=("status", "sha256"),
    effect="outbound",
    effect_class="at_most_once",
    timeout_s=45.0,
    settle_s=300.0,
    hold_s=60.0,
    permissions={"hosts": ("those in web_hosts",)},
)


class Web(Protocol):
    """The public web: addresses are resolved once, checked and pinned; nothing inside of a network is ever asked."""

    async def send(
        self, method: str, url: str, *, headers: Mapping[str, str] | None = None, content: bytes | None = None
    ) -> Reply:
        """One request; redirects come back as they are. Errors as in ``wire.Http.send``, and StepFailed for an address
        that must not be asked."""
        ...


class Hosts:
    """The person's allow-list: ``example.org`` is that host alone, ``.example.org`` all below it too; over https and at
    the usual port. ``host:port`` is that one server, http too."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = tuple(name.lower() for name in names)

    def check(self, url: str) -> str:
        """The address; StepFailed where its host is not allowed."""
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        place = f"{host}:{parts.port}" if parts.port else host
        below = not parts.port and any(name.startswith(".") and f".{host}".endswith(name) for name in self._names)
        if parts.username or not host or not (place in self._names or below):
            raise StepFailed(f"the host {clean(place, 80)} is not allowed", code="denied", remedy="add it to web_hosts")
        if parts.scheme != "https" and not parts.port:
            raise StepFailed(f"{clean(place, 80)} would be asked without encryption", code="denied")
        return url


class WebGet:
    manifest = GET

    def __init__(self, web: Web, hosts: Hosts) -> None:
        self._web = web
        self._hosts = hosts

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        url = str(args["url"])
        for _ in range(REDIRECTS + 1):
            reply = await self._web.send("GET", self._hosts.check(url))
            location = reply.headers.get("location", "")
            if not 300 <= reply.status < 400 or not location:
                settled(reply)
                return {"text": words(reply), "url": url, "status": reply.status}
            url = urljoin(url, location)
        raise StepFailed("the page redirects without end", code="invalid")

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        return None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        return None


class WebSubmit:
    """A redirect after a form is an answer like any other: it is followed by reading, within the allowed hosts."""

    manifest = SUBMIT

    def __init__(self, web: Web, hosts: Hosts, kept: Kept) -> None:
        self._web = web
        self._hosts = hosts
        self._kept = kept

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        url = self._hosts.check(str(args["url"]))
        fields = {name.removeprefix("field."): plain(v) for name, v in args.items() if name.startswith("field.")}
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        reply = await self._web.send("POST", url, headers=headers, content=urlencode(fields).encode())
        if reply.status in (301, 302, 303) and reply.headers.get("location"):
            reply = await self._web.send("GET", self._hosts.check(urljoin(url, reply.headers["location"])))
        settled(reply)
        text = words(reply)
        out: dict[str, Json] = {"status": reply.status, "text": text, "sha256": ids.content_hash(reply.body)}
        return await self._kept.keep(key, out)

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        return None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        """Only where the site's answer holds the words that say so: a page that says something else is no proof."""
        said = await self._kept.recall(key)
        proof = " ".join(str(args["proof"]).lower().split())
        if said is None or said["sha256"] != result["sha256"] or not proof or proof not in str(said["text"]).lower():
            return None
        return Receipt(what=f"the site answered “{clean(str(args['proof']), 80)}”", where=str(args["url"]))


def words(reply: Reply) -> str:
    """The text of a page, without its markup. StepFailed for what is no text."""
    kind = reply.headers.get("content-type", "text/plain").partition(";")[0].strip().lower()
    if not _SHOWN.fullmatch(kind):
        raise StepFailed(f"the page is {clean(kind, 40)}, and no text", code="invalid")
    text = reply.body.decode("utf-8", "replace")
    if "html" in kind:
        text = html.unescape(_GONE.sub(" ", text))
    return clean(text, TEXT_CAP)
