"""ScriptedModel: the planner's model without a server, by the same scripts as the server on the loopback."""

from __future__ import annotations

from datetime import datetime
from typing import assert_never

from actions.model import by_status
from actions.planning.ask import Failure, Form, Limits, Message, Meter, Outcome, Reply, tokens_in
from actions.planning.reply import read
from actions.planning.request import build
from actions.testing.modelscript import Body, Cut, Endless, Hang, Refusal, Said, Script, Status, Text
from schemas.clock import Clock


class ScriptedModel:
    """One request for each ``ask``, on the strict rung; ``requests`` are the bodies that would have left."""

    name = "scripted"

    def __init__(self, script: Script, clock: Clock) -> None:
        self.script = script
        self.requests: list[Body] = []
        self._clock = clock

    async def ask(self, messages: tuple[Message, ...], form: Form, limits: Limits, meter: Meter) -> Outcome:
        request = build(self.name, "strict", messages, form, limits)
        forbidden = await meter.reserve(request)
        if forbidden:
            return forbidden
        self.requests.append(request.body)
        said = self.script(request.body)
        outcome = _outcome(said, form, self._clock.now())
        size = len(getattr(said, "text", "").encode())
        await meter.settle(request, Reply(outcome, request.prompt_tokens, tokens_in(size), False, size))
        return outcome


def _outcome(said: Said, form: Form, now: datetime) -> Outcome:
    match said:
        case Text(text=text, finish="stop"):
            return read(text, "strict", form)
        case Text():
            return Failure("truncated")
        case Status(code=code, error=error, retry_after=retry_after):
            return by_status(code, error, retry_after, now)
        case Hang():
            return Failure("timed_out")
        case Cut():
            return Failure("cut")
        case Endless():
            return Failure("endless")
        case Refusal():
            return Failure("refused")
    assert_never(said)
