"""The executor: performs the moves of a run, up to four at once, each send between its durable intent and its result.

It keeps nothing: what to do next is always asked of the book, so a new executor on the same journal goes on where
the old one died. It never waits: ``advance`` returns when to look again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

from actions.journal import EXECUTOR, Draft, JournalPort
from actions.plain import clean
from actions.policy import permit
from actions.proposal.book import Book
from actions.proposal.state import ProposalState, StepState
from actions.run import backoff, breaker, revise, waits
from actions.run.attempt import Answer, attempt, schema_fault
from actions.run.move import Await, LookUp, Move, Record, Replan, Rest, Send, Verify, dumped, result
from actions.run.moves import REPLANNING, next_move
from actions.run.repeat import polled
from actions.run.replan import Wanted
from actions.run.resolve import label
from actions.setup import Setup
from actions.tools.tool import UNGRANTED, Receipt, Tool
from schemas import ids
from schemas.clock import Clock
from schemas.errors import NotSent
from schemas.model import Json
from schemas.plan import Retry, Step
from schemas.value import Value

log = logging.getLogger(__name__)

STALE = timedelta(seconds=5)
"""An intent older than this is not sent on (the machine slept): its settle window would be counted wrongly."""
CHECKS = 3
"""Times that a verifier may not see the effect before the step is ``unverified``."""
_PATIENCE = Retry(max=CHECKS, base_s=2.0, cap_s=60.0)


class _Turn:
    """Whose turn it is with one run: one caller at a time; ``news`` wakes the one that waits for a call to end.

    It is there as long as anybody is at the run: one that waits holds nothing.
    """

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.news = asyncio.Event()
        self.callers = 0


class Executor:
    def __init__(self, port: JournalPort, book: Book, setup: Setup, clock: Clock, rng: Random) -> None:
        self._port = port
        self._book = book
        self._setup = setup
        self._clock = clock
        self._rng = rng
        self._turns: dict[str, _Turn] = {}
        self._light: set[asyncio.Task[None]] = set()
        """What is under way and may be given up at any time: it changes nothing."""

    async def advance(self, proposal: str) -> datetime | None:
        """Do all that can be done for this run now. When to look again; None: not before something happens to it.

        Safe to call at any time, also twice at once (the second call makes the first one look again, waits, and then
        finds little to do). Commands may reach the book between any two of its appends; the next move is always
        decided on the newest state. Cancelled, it cancels what is under way: the journal tells of it like of a crash.
        """
        turn = self._turns.get(proposal) or self._turns.setdefault(proposal, _Turn())
        turn.news.set()
        turn.callers += 1
        try:
            async with turn.lock:
                return await self._take_turn(proposal, turn.news)
        finally:
            turn.callers -= 1
            if not turn.callers:
                del self._turns[proposal]

    async def _take_turn(self, proposal: str, news: asyncio.Event) -> datetime | None:
        busy: dict[str, asyncio.Task[None]] = {}
        try:
            return await self._go_on(proposal, busy, news)
        finally:
            await _cancelled(busy.values())

    async def _go_on(self, proposal: str, busy: dict[str, asyncio.Task[None]], news: asyncio.Event) -> datetime | None:
        while (state := self._book.proposals.get(proposal)) is not None:
            news.clear()
            _reap(busy)  # what ends from here on is news
            move = next_move(state, self._clock.now(), self._setup, busy.keys())
            match move:
                case Record(drafts):
                    await self._port.append(drafts)
                case Rest(until) if not busy:
                    return until
                case Rest(until):
                    await self._heard(news, until)
                case _:
                    busy[_who(move)] = task = asyncio.create_task(self._perform(state, move))
                    task.add_done_callback(lambda _: news.set())
                    if changes_nothing(move):
                        self._light.add(task)
                        task.add_done_callback(self._light.discard)
        return None

    async def _heard(self, news: asyncio.Event, until: datetime | None) -> None:
        """Until a call has ended, somebody has said something, or a timer is due beside them."""
        pause = None if until is None else max(0.0, (until - self._clock.now()).total_seconds())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause):
                await news.wait()

    def poke(self, proposal: str) -> None:
        """Something has happened to the run: whoever is at it looks again before it rests."""
        if proposal in self._turns:
            self._turns[proposal].news.set()

    def cut(self) -> None:
        """Give up what a model, and whatever else only reads, is being asked: it is asked again when a run may go on.
        A request that changes something is not called back by not listening to its answer."""
        for task in self._light:
            task.cancel()

    async def _perform(self, state: ProposalState, move: Move) -> None:
        match move:
            case Send():
                await self._send(state, move)
            case LookUp(step):
                await self._look_up(state, step)
            case Verify(step):
                await self._verify(state, step)
            case Await(_, draft):
                at = {"cursor": await self._port.position()}
                await self._port.append([replace(draft, body=draft.body | at)])
            case Replan(wanted):
                await self._replan(wanted)

    async def _replan(self, wanted: Wanted) -> None:
        """A person may have done something while the replanner thought; the answer is held against what is now."""
        assert self._setup.replanner is not None
        try:
            way = await self._setup.replanner.replan(wanted, self._setup)
        except Exception:  # the border to a model: without another way the run ends as it would have
            log.exception("the replanner broke")
            way = None
        state = self._book.proposals[wanted.state.id]
        if state.experience.stopped:  # meanwhile; it is asked again
            return
        drafts = revise.answered(state, wanted, way, self._clock.now(), self._setup)
        if drafts:
            await self._port.append(drafts)

    async def _send(self, state: ProposalState, send: Send) -> None:
        """Intent, then the effect, then its result: a death in between leaves an intent that tells of it."""
        intent = self._intent(state, send)
        if state.plan is not None and waits.needs_cursor(state.plan, send.step):
            intent.body["cursor"] = await self._port.position()
        if not await self._port.append([intent]):
            return
        live = state.steps[send.step.uid]
        held_up = self._held_up(state, send, live)
        tool = self._setup.tools.tool(send.step.tool)
        if held_up or tool is None:
            answer = Answer("not_sent", code=held_up or "denied", retry_at=self._clock.now())
        else:
            answer = await self._call(tool, send, live)
        beside = breaker.after(state, send.step, send.args, answer, self._clock.now())
        await self._port.append([self._result(state, send, answer), *beside])

    async def _call(self, tool: Tool, send: Send, live: StepState) -> Answer:
        return await attempt(tool, plain(send.args), live.key, send.step.timeout_s)

    def _intent(self, state: ProposalState, send: Send) -> Draft:
        plan, step, now = state.plan, send.step, self._clock.now()
        assert plan is not None
        body: dict[str, Json] = {
            "step": step.uid,
            "attempt": send.attempt,
            "key": ids.idempotency_key(plan.run, step.uid),
            "args": dumped(send.args),
            "binding": send.binding,
            "grant": send.grant,
            "tool": step.tool,
            "tool_version": step.tool_version,
            "class": step.effect_class,
            "sent_at": now.isoformat(),
        }
        return Draft(state.id, "step.intent", now, EXECUTOR, "", body)

    def _held_up(self, state: ProposalState, send: Send, live: StepState) -> str:
        """The world may have moved while the intent was being written: look once more, with nothing in between."""
        now = self._clock.now()
        if live.last_sent is None or now - live.last_sent > STALE:
            return "stale"
        if not permit.still(state, send.step, send.args, send.binding, now, self._setup):
            return "not_permitted"
        return ""

    def _result(self, state: ProposalState, send: Send, answer: Answer) -> Draft:
        manifest = self._setup.tools.manifest(send.step.tool)
        out = label(answer.out, send.step, send.args.values(), manifest) if manifest else {}
        if send.step.repeat and answer.outcome == "ok":
            return polled(state, send.step, send.step.repeat, out, self._clock.now())
        return result(
            state,
            send.step,
            self._clock.now(),
            answer.outcome,
            code=answer.code,
            message=answer.message,
            out=dumped(out),
            verify=send.step.effect not in UNGRANTED,
            retry_at=self._retry_at(send, answer),
        )

    def _retry_at(self, send: Send, answer: Answer) -> datetime | None:
        if answer.outcome in ("ok", "failed"):
            return None
        return answer.retry_at or self._clock.now() + backoff.delay(send.step.retry, send.attempt, self._rng)

    async def _look_up(self, state: ProposalState, step: Step) -> None:
        """``looked_at`` is taken before the question is asked: what lands meanwhile must not count as looked for."""
        live, tool = state.steps[step.uid], self._setup.tools.tool(step.tool)
        body: dict[str, Json] = {"step": step.uid, "looked_at": self._clock.now().isoformat(), "found": False}
        try:
            async with asyncio.timeout(step.timeout_s):
                out = await _there(tool).look_up(plain(live.args), live.key)
            wrong = schema_fault(_there(tool).manifest.returns, out) if out is not None else ""
        except Exception as error:  # the border to code that is not ours; a look-up that fails is asked again later
            out, wrong = None, clean(f"{type(error).__name__}: {error}")
        if wrong:
            failures = live.look.failures + 1 if live.look else 1
            wake = self._clock.now() + backoff.delay(_PATIENCE, failures, self._rng)
            body |= {"error": wrong, "retry_at": wake.isoformat()}
        elif out is not None:
            body |= {"found": True, "out": dict(out)}
        await self._port.append([Draft(state.id, "step.lookup", self._clock.now(), EXECUTOR, "", body)])

    async def _verify(self, state: ProposalState, step: Step) -> None:
        live, tool = state.steps[step.uid], self._setup.tools.tool(step.tool)
        receipt, reason = None, "the effect is not to be seen"
        try:
            async with asyncio.timeout(step.timeout_s):
                receipt = await _there(tool).verify(plain(live.args), live.key, plain(live.out))
        except Exception as error:  # the border to code that is not ours; not seen is not seen
            reason = clean(f"it could not be read back: {type(error).__name__}: {error}")
        await self._port.append([self._seen(state, step, live, receipt, reason)])

    def _seen(self, state: ProposalState, step: Step, live: StepState, receipt: Receipt | None, reason: str) -> Draft:
        body: dict[str, Json] = {"step": step.uid, "seen": receipt is not None}
        if receipt is not None:
            body |= {"receipt": receipt.model_dump(mode="json")}
        else:
            is_final = live.checks + 1 >= CHECKS
            wake = None if is_final else self._clock.now() + backoff.delay(_PATIENCE, live.checks + 1, self._rng)
            body |= {"reason": reason, "final": is_final, "retry_at": wake.isoformat() if wake else None}
        return Draft(state.id, "step.verified", self._clock.now(), EXECUTOR, "", body)


def _who(move: Move) -> str:
    """Under which name a move is under way."""
    match move:
        case Send(step=step) | LookUp(step) | Verify(step) | Await(step, _):
            return step.uid
    return REPLANNING


def changes_nothing(move: Move) -> bool:
    return isinstance(move, Replan) or (isinstance(move, Send) and move.step.effect in UNGRANTED)


def _reap(busy: dict[str, asyncio.Task[None]]) -> None:
    """Those that have ended are not under way any more; what one of them raised is raised here."""
    for uid in [uid for uid, task in busy.items() if task.done()]:
        task = busy.pop(uid)
        if not task.cancelled():
            task.result()


async def _cancelled(tasks: Iterable[asyncio.Task[None]]) -> None:
    """Nothing of a run goes on behind the back of whoever holds it."""
    left = list(tasks)
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)


def _there(tool: Tool | None) -> Tool:
    if tool is None:
        raise NotSent("the tool is not installed any more")
    return tool


def plain(args: dict[str, Value]) -> dict[str, Json]:
    """What a tool gets: the values without their labels."""
    return {name: value.v for name, value in args.items()}
