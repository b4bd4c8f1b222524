"""task.create and task.mark: to-dos in the calendar of the owner's account."""

from __future__ import annotations

from actions.plain import clean, clean_lines
from actions.tools.agenda import Agendas
from actions.tools.kept import Kept
from actions.tools.meetings import ACCOUNT, changing, read_back
from actions.tools.tool import Arg, Args, Receipt
from schemas.errors import StepFailed
from schemas.model import Json
from schemas.plan import Fixed, Ref, Undo
from schemas.value import Integrity, Value

_PERMISSIONS = {"scopes": ("tasks:write",), "hosts": ("the calendar server of the account",)}
CREATE = changing(
    name="task.create",
    description="Put a to-do into the owner's list.",
    says="Put “{title}” on your list",
    args={
        "title": Arg(type="Text", says="what is to be done"),
        "due": Arg(type="Date", required=False, says="by when"),
        "note": Arg(type="Text", required=False, says="description"),
        "account": ACCOUNT,
    },
    returns={"task_id": "TaskId", "account": "AccountId"},
    minted=("task_id",),
    effect="write_self",
    undo=Undo(
        tool="task.mark",
        args={
            "task_id": Ref(step="self", field="task_id"),
            "status": Fixed(
                value=Value(v="cancelled", type="TaskStatus", integrity=Integrity.SYSTEM, how="planner_literal")
            ),
            "account": Ref(step="self", field="account"),
        },
    ),
    reversible="yes",
    permissions=_PERMISSIONS,
)
MARK = changing(
    name="task.mark",
    description="Mark a to-do of the owner's as done, begun, open or given up.",
    says="Mark the to-do {task_id}: {status}",
    args={
        "task_id": Arg(type="TaskId", says="which to-do"),
        "status": Arg(type="TaskStatus", says="completed, in-process, needs-action or cancelled"),
        "account": ACCOUNT,
    },
    returns={"task_id": "TaskId", "previous_status": "TaskStatus", "account": "AccountId"},
    minted=("previous_status",),
    effect="write_self",
    undo=Undo(
        tool="task.mark",
        args={
            "task_id": Ref(step="self", field="task_id"),
            "status": Ref(step="self", field="previous_status"),
            "account": Ref(step="self", field="account"),
        },
    ),
    reversible="yes",
    permissions=_PERMISSIONS,
)


class TaskCreate:
    manifest = CREATE

    def __init__(self, agendas: Agendas) -> None:
        self._agendas = agendas

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        note = clean_lines(str(args.get("note") or ""), 2000)
        async with self._agendas.tasks(_account(args)) as tasks:
            await tasks.create(_title(args), note, str(args.get("due") or ""), key)
            made = await read_back(tasks.made(key))
        return {"task_id": made.uid, "account": _account(args)}

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        async with self._agendas.tasks(_account(args)) as tasks:
            made = await tasks.made(key)
        return None if made is None else {"task_id": made.uid, "account": _account(args)}

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        async with self._agendas.tasks(_account(args)) as tasks:
            made = await tasks.made(key)
        if made is None or made.title != _title(args) or made.status == "cancelled":
            return None
        return Receipt(what="the to-do, read back", where=made.uid, details={"status": made.status})


class TaskMark:
    manifest = MARK

    def __init__(self, agendas: Agendas, kept: Kept) -> None:
        self._agendas = agendas
        self._kept = kept

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        uid, status = str(args["task_id"]), str(args["status"])
        async with self._agendas.tasks(_account(args)) as tasks:
            found = await tasks.find(uid)
            if found is None:
                raise StepFailed("the to-do is not there", code="not_found")
            told: dict[str, Json] = {"task_id": uid, "previous_status": found.status, "account": _account(args)}
            out = await self._kept.keep(key, told)
            if found.status != status:
                await tasks.mark(uid, status)
        return out

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        out = await self._kept.recall(key)
        return out if out is not None and await self._status(args) == args["status"] else None

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        status = await self._status(args)
        if status != args["status"]:
            return None
        return Receipt(what="the to-do, read back", where=str(args["task_id"]), details={"status": status})

    async def _status(self, args: Args) -> str | None:
        async with self._agendas.tasks(_account(args)) as tasks:
            found = await tasks.find(str(args["task_id"]))
        return found.status if found is not None else None


def _account(args: Args) -> str:
    return str(args.get("account") or "")


def _title(args: Args) -> str:
    return clean(str(args["title"]), 200)
