"""A real GraphQL server: strawberry on uvicorn, with a connection, throttling and a field that fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.peers.packages import fetched_pip, from_pip
from tests.peers.process import free_port, running

REQUIREMENTS = ("strawberry-graphql==0.341.2", "uvicorn==0.54.0", "starlette==1.10.0")

_APP = """
import sys
from datetime import datetime, timedelta, timezone
from typing import Optional

import strawberry
import uvicorn
from graphql import GraphQLError
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Mount, Route
from strawberry.asgi import GraphQL

FIRST = datetime(2026, 3, 1, 8, tzinfo=timezone.utc)
ISSUES = {}
STATE = {"throttle": 0, "broken": ""}


@strawberry.type
class Issue:
    id: strawberry.ID
    title: str
    state: str
    updated_at: datetime

    @strawberry.field
    def due_on(self) -> Optional[str]:
        if STATE["broken"] == str(self.id):
            raise GraphQLError("the due date is lost", extensions={"code": "INTERNAL"})
        return "2026-03-20"


@strawberry.type
class PageInfo:
    has_next_page: bool
    end_cursor: Optional[str]


@strawberry.type
class Edge:
    node: Optional[Issue]
    cursor: str


@strawberry.type
class Issues:
    edges: list[Edge]
    page_info: PageInfo


@strawberry.type
class Query:
    @strawberry.field
    def issues(self, info: strawberry.Info, first: int = 3, after: Optional[str] = None,
               since: Optional[datetime] = None) -> Issues:
        request = info.context["request"]
        if request.headers.get("authorization") != "Bearer t0ken":
            raise GraphQLError("who are you?", extensions={"code": "UNAUTHENTICATED"})
        if STATE["throttle"] > 0:
            STATE["throttle"] -= 1
            info.context["response"].headers["Retry-After"] = "1"
            raise GraphQLError("too fast", extensions={"code": "THROTTLED"})
        rows = [issue for issue in ISSUES.values() if since is None or issue.updated_at >= since]
        rows.sort(key=lambda issue: issue.updated_at)
        start = int(after or 0)
        part = rows[start:start + first]
        edges = [Edge(node=row, cursor=str(start + n + 1)) for n, row in enumerate(part)]
        return Issues(edges=edges, page_info=PageInfo(
            has_next_page=start + first < len(rows), end_cursor=edges[-1].cursor if edges else None))


async def put(request):
    for key, value in (await request.json()).items():
        if key in STATE:
            STATE[key] = value
        elif value is None:
            ISSUES.pop(key, None)
        else:
            ISSUES[key] = Issue(id=key, title=value["title"], state=value.get("state", "OPEN"),
                                updated_at=FIRST + timedelta(seconds=value["second"]))
    return JSONResponse({"issues": len(ISSUES)})


app = Starlette(routes=[Route("/put", put, methods=["POST"]), Mount("/graphql", GraphQL(strawberry.Schema(Query)))])
uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
"""


def fetch_graphql() -> str:
    return f"strawberry-graphql is in {from_pip('graphql', *REQUIREMENTS).parent.name}"


@contextmanager
def graphql(folder: Path) -> Iterator[str]:
    """Gives its address. ``/put`` takes issues by id, and how often to throttle."""
    python = fetched_pip("graphql") / "python"
    program = folder / "app.py"
    program.write_text(_APP)
    port = free_port()
    with running([str(python), str(program), str(port)], port, folder / "graphql.log"):
        yield f"http://127.0.0.1:{port}"
