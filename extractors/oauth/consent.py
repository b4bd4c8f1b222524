"""Asking a person for their consent, from the question to the tokens: by a browser here or elsewhere, or by a code."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from typing import Any

from extractors.http import Http
from extractors.oauth import authorize, device
from extractors.oauth.client import Client
from extractors.oauth.device import DeviceCode
from extractors.oauth.loopback import Loopback
from extractors.oauth.token import Token
from schemas.clock import Clock


async def by_browser(
    client: Client,
    scopes: Sequence[str],
    http: Http,
    clock: Clock,
    show: Callable[[str], None],
    *,
    pasted: Callable[[], Awaitable[str]] | None = None,
    hint: str = "",
    limit_s: float = 300,
) -> Token:
    """``show`` opens or prints the address of the consent page. AuthError when no consent came.

    ``pasted``: waits for the address at which a browser on another machine ended; whichever comes first counts.
    """
    async with Loopback() as listener:
        redirect_uri = client.provider.redirect.format(port=listener.port)
        question = authorize.begin(client, scopes, redirect_uri, hint=hint)
        show(question.url)
        url = await first_of(listener.answer(partial(authorize.is_answer, question), limit_s), pasted)
        code = authorize.code_of(client, question, url.strip())
        return await authorize.exchange(http, client, question, code, clock.now())


async def first_of(opened: Coroutine[Any, Any, str], pasted: Callable[[], Awaitable[str]] | None) -> str:
    """The answer that comes first: from the browser here, or pasted from a browser elsewhere."""
    ways = [asyncio.ensure_future(opened)]
    if pasted is not None:
        ways.append(asyncio.ensure_future(pasted()))
    try:
        done, _ = await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        return done.pop().result()
    finally:
        for way in ways:
            way.cancel()
        await asyncio.gather(*ways, return_exceptions=True)


async def by_device(
    client: Client,
    scopes: Sequence[str],
    http: Http,
    clock: Clock,
    show: Callable[[DeviceCode], None],
    *,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Token:
    """``show`` tells the person the code and where to type it. AuthError when no consent came."""
    asked = await device.begin(http, client, scopes, clock.now())
    show(asked)
    return await device.wait(http, client, asked, clock, sleep)
