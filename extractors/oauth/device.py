"""The device flow (RFC 8628): for a machine without a browser, the person types a code on another one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from extractors.address import parse_url
from extractors.http import Http
from extractors.oauth.client import Client
from extractors.oauth.errors import Denied
from extractors.oauth.grant import granted
from extractors.oauth.token import Token
from schemas.clock import Clock
from schemas.errors import AuthError, ConfigError, TransientError

_GRANT = "urn:ietf:params:oauth:grant-type:device_code"
_SLOWER_S = 5.0
_LONGEST_WAIT_S = 60.0
_LONGEST_LIFE_S = 1800.0


@dataclass(frozen=True, slots=True)
class DeviceCode:
    """What to tell the person: ``user_code`` to type at ``address``, or ``direct``, which holds it already."""

    user_code: str
    address: str
    direct: str
    expires_at: datetime
    interval_s: float
    device_code: str = field(repr=False)
    scopes: tuple[str, ...] = ()


async def begin(http: Http, client: Client, scopes: Sequence[str], now: datetime) -> DeviceCode:
    """ConfigError where the provider offers no device flow; otherwise errors as in ``Client.ask``."""
    if not client.endpoints.device:
        raise ConfigError(
            f"{client.title} offers no device codes", remedy="consent in a browser, here or on another machine"
        )
    wanted = tuple(dict.fromkeys([*client.provider.also, *scopes]))
    found = await client.ask(http, client.endpoints.device, {"scope": " ".join(wanted)}, now)
    code, user_code = _line(found, "device_code"), _line(found, "user_code")
    address = _line(found, "verification_uri") or _line(found, "verification_url")
    if not code or not user_code or not address:
        raise TransientError(f"{client.title} answers without a device code")
    direct = _line(found, "verification_uri_complete")
    return DeviceCode(
        user_code=user_code[:60],
        address=str(parse_url(address)),
        direct=str(parse_url(direct)) if direct else "",
        expires_at=now + timedelta(seconds=min(_number(found, "expires_in", 600), _LONGEST_LIFE_S)),
        interval_s=min(max(_number(found, "interval", 5), 1), _LONGEST_WAIT_S),
        device_code=code,
        scopes=wanted,
    )


async def wait(
    http: Http,
    client: Client,
    device: DeviceCode,
    clock: Clock,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> Token:
    """Returns when the person has consented. AuthError when they refuse or the code expires.

    ``slow_down`` makes every later wait 5 s longer; a failure to answer doubles the next wait and ends nothing.
    """
    interval_s = wait_s = device.interval_s
    while clock.now() + timedelta(seconds=wait_s) < device.expires_at:
        await sleep(wait_s)
        wait_s = interval_s
        now = clock.now()
        try:
            question = {"grant_type": _GRANT, "device_code": device.device_code}
            answer = await client.ask(http, client.endpoints.token, question, now)
            return granted(client, answer, now=now, asked=device.scopes)
        except Denied as denied:
            if denied.code == "slow_down":
                interval_s = wait_s = interval_s + _SLOWER_S
            elif denied.code != "authorization_pending":
                raise
        except TransientError as error:
            asked_s = (error.retry_at - now).total_seconds() if error.retry_at else 0
            wait_s = max(min(interval_s * 2, _LONGEST_WAIT_S), interval_s, asked_s)
    raise AuthError("the code was not typed in time", remedy="begin again")


def _line(found: Mapping[str, Any], name: str) -> str:
    """Printable, on one line: a person's terminal will show it."""
    value = found.get(name)
    return value if isinstance(value, str) and value.isprintable() and len(value) <= 4_096 else ""


def _number(found: Mapping[str, Any], name: str, default: float) -> float:
    value = found.get(name, default)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else default
