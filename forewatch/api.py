"""What a running service answers on its Unix socket: commands with their outcome, polls on request, its health."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import asdict

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from actions.memory.recall import ranked
from actions.memory.remembering import STREAM as MEMORY
from actions.policy.experience import STREAM
from actions.proposal.book import Book
from forewatch.memories import documents, index
from forewatch.watchdog import Flight
from forewatch.wiring import Service
from schemas import ids
from schemas.command import Command
from schemas.errors import ConfigError, ForewatchError, NotFound, Refused, TransientError
from schemas.journal import JournalEntry
from schemas.model import Json
from schemas.suggest import did_you_mean
from streams import ticks, topics
from streams.codec import encode
from streams.work import Output

ANSWER_WITHIN_S = 20.0

_STATUS: tuple[tuple[type[ForewatchError], int], ...] = ((ConfigError, 400), (NotFound, 404), (Refused, 409))


def create_api(service: Service, nonce: Callable[[], str]) -> Starlette:
    """``nonce`` makes each command's id its own."""
    return Starlette(routes=_routes(_Api(service, nonce)), exception_handlers={ForewatchError: _error})


def _routes(api: _Api) -> list[Route]:
    return [
        Route("/status", api.status),
        Route("/proposals/{proposal}/{verb}", api.command, methods=["POST"]),
        Route("/goals/{verb}", api.goal, methods=["POST"]),
        Route("/standing/{verb}", api.standing, methods=["POST"]),
        Route("/memory", api.memory),
        Route("/memory/{verb}", api.tell_memory, methods=["POST"]),
        Route("/accounts/{account}/poll", api.poll, methods=["POST"]),
        Route("/rules/reload", api.reload_rules, methods=["POST"]),
        Route("/plugins/reload", api.reload_plugins, methods=["POST"]),
        Route("/wake", api.wake, methods=["POST"]),
    ]


async def _error(request: Request, error: Exception) -> Response:
    assert isinstance(error, ForewatchError)
    status = next((code for kind, code in _STATUS if isinstance(error, kind)), 500)
    body = {"error": error.message, "remedy": error.remedy, "code": getattr(error, "code", "")}
    return JSONResponse(body, status_code=status)


class _Api:
    def __init__(self, service: Service, nonce: Callable[[], str]) -> None:
        self._service = service
        self._nonce = nonce

    async def status(self, request: Request) -> Response:
        service = self._service
        books = list(service.act.books())
        stops = [book.experience.stopped for book in books]
        await service.cursors.refresh()
        return JSONResponse(
            {
                "owner": service.settings.owner,
                "timezone": service.settings.timezone,
                "now": service.clock.now().isoformat(),
                "accounts": len(list(service.accounts)),
                "rules": service.reloader.count,
                "rules_problem": service.reloader.problem,
                "proposals_open": sum(1 for book in books for _ in book.open()),
                "stopped": "; ".join(stop.says(service.settings.zone) for stop in stops if stop),
                "runs_active": sum(1 for book in books for _ in book.active()),
                "canary": _canary(service.watchdog.flight),
                "next_due": service.ticker.next_due().isoformat(),
            }
        )

    async def reload_rules(self, request: Request) -> Response:
        """The rule files as they are now, in use from here on; 400 says what is wrong with them, nothing changed."""
        return JSONResponse(asdict(await self._service.reloader.reload()))

    async def reload_plugins(self, request: Request) -> Response:
        """The plugins' files as they are now: what was taken away is cut off before this answers."""
        tools = self._service.house.tools()
        return JSONResponse({"tools": sorted(tools)})

    async def wake(self, request: Request) -> Response:
        """Something was appended to the log from outside."""
        self._service.ticker.wake()
        return JSONResponse({})

    async def poll(self, request: Request) -> Response:
        account = request.path_params["account"]
        await self._service.accounts.refresh()
        if self._service.accounts.get(account) is None:
            raise NotFound(f"there is no account {account!r}", remedy="see 'forewatch accounts list'")
        await self._service.log.append([ticks.poll_request(account, self._service.clock.now(), "asked")])
        return JSONResponse({"account": account})

    async def command(self, request: Request) -> Response:
        """The entries that the command led to, or why it was refused (409)."""
        proposal = self._proposal(request.path_params["proposal"])
        return await self._told(self._parse(request, proposal, await _body(request)))

    async def goal(self, request: Request) -> Response:
        """A goal of the person's own: the proposal that it became is the entries' stream."""
        return await self._told(self._parse(request, "goal", await _body(request)))

    async def standing(self, request: Request) -> Response:
        """What holds for all proposals: permissions, and the stop of everything."""
        return await self._told(self._parse(request, STREAM, await _body(request)))

    async def memory(self, request: Request) -> Response:
        """What is remembered; ``query``: what fits these words, the best first."""
        book, query = self._book(), request.query_params.get("query", "")
        searched = await asyncio.to_thread(index, self._service.settings, book.memory)
        meaning = self._service.meaning
        if meaning is not None and query:
            search = await meaning.search(book, query)
        else:
            search = await asyncio.to_thread(searched.search, query)
        found = ranked(book.memory, query, None, lambda _: search) if query else list(book.memory)
        return JSONResponse(documents(book, found, self._service.settings.zone))

    async def tell_memory(self, request: Request) -> Response:
        """A word to the memory itself; what is forgotten is out of the index when this answers."""
        settings, memories = self._service.settings, self._book().memory
        await asyncio.to_thread(index, settings, memories)
        answer = await self._told(self._parse(request, MEMORY, await _body(request)))
        await asyncio.to_thread(index, settings, memories)
        return answer

    def _book(self) -> Book:
        owner = self._service.settings.owner
        return next((book for book in self._service.act.books() if book.owner == owner), None) or Book(owner)

    async def _told(self, command: Command) -> Response:
        entries = await self._decided(command)
        for entry in entries:
            if entry.type == "command.refused":
                raise _refusal(entry)
        return JSONResponse({"command": command.id, "entries": [e.model_dump(mode="json") for e in entries]})

    def _parse(self, request: Request, proposal: str, body: dict[str, Json]) -> Command:
        verb = request.path_params["verb"]
        try:
            return Command.model_validate(
                {"channel": "api", "who": self._service.settings.owner, **body}
                | {"id": ids.command_id(proposal, verb, self._nonce()), "owner": self._service.settings.owner}
                | {"verb": verb, "proposal": proposal, "at": self._service.clock.now()}
            )
        except ValidationError as error:
            fault = error.errors(include_url=False, include_input=False)[0]
            raise ConfigError(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}") from error

    def _proposal(self, wanted: str) -> str:
        """A proposal by its id or by a prefix that only one has."""
        known = [proposal for book in self._service.act.books() for proposal in book.proposals]
        return the_one(wanted, known, "proposal")

    async def _decided(self, command: Command) -> list[JournalEntry]:
        answer = self._service.act.answered(command.id)
        await self._service.log.append([Output(topics.COMMANDS, command.owner.encode(), encode(command))])
        try:
            async with asyncio.timeout(ANSWER_WITHIN_S):
                return await answer
        except TimeoutError as error:
            raise TransientError(
                "the answer is recorded but was not decided yet", remedy="look again with 'forewatch proposals show'"
            ) from error


def _canary(flight: Flight | None) -> dict[str, Json] | None:
    """Null: none was sent yet, or its rule is not in use."""
    if flight is None:
        return None
    seen = flight.seen_at.isoformat() if flight.seen_at else None
    return {"sent_at": flight.sent_at.isoformat(), "seen_at": seen, "is_lost": flight.is_lost and seen is None}


def the_one(wanted: str, known: list[str], what: str, listed: str = "") -> str:
    """The only one of ``known`` that is or starts with ``wanted``; NotFound says what is wrong with it."""
    found = [wanted] if wanted in known else [name for name in known if wanted and name.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        raise NotFound(f"{len(found)} {what}s start with {wanted!r}", remedy="give more of the id")
    near = did_you_mean(wanted, [name[: max(len(wanted), 8)] for name in known]) if wanted else ""
    remedy = near if near.startswith("did") else f"see '{listed or f'forewatch {what}s list'}'"
    raise NotFound(f"there is no {what} {wanted!r}", remedy=remedy)


def _refusal(entry: JournalEntry) -> Refused:
    body = entry.body
    return Refused(
        str(body.get("message", "refused")), code=str(body.get("code", "")), remedy=str(body.get("remedy", ""))
    )


async def _body(request: Request) -> dict[str, Json]:
    raw = await request.body()
    try:
        document = json.loads(raw) if raw else {}
    except ValueError as error:
        raise ConfigError("the body is not JSON") from error
    if not isinstance(document, dict):
        raise ConfigError("the body is not a JSON object")
    return document
