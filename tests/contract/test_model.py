"""What any planner's model promises: the scripted one in the process, and the real client against a server."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2
import openai
import pytest
from pydantic import SecretStr

from actions.model import Server, ServerModel, translate
from actions.planning.ask import Answer, Failure, Form, FreeMeter, Limits, Message, Model, Outcome, Request
from actions.testing.modelscript import Mode, Said, Script, Status, Text, in_turn, script
from actions.testing.modelserver import ModelServer, model_server
from actions.testing.scriptedmodel import ScriptedModel
from schemas.clock import ManualClock
from schemas.model import Json

NOW = datetime(2025, 3, 3, 9, tzinfo=UTC)
PLAN: dict[str, Json] = {
    "steps": [{"tool": "notify", "id": "s1", "depends_on": [], "args": {"text": "Hello"}}],
    "questions": [],
}
ASKED = (Message("system", "Plan. Grüße — ✓"), Message("user", "Renew the passport."))
SHORT = Limits(max_tokens=200, timeout_s=0.3)
LONG = Limits(max_tokens=200, timeout_s=30.0)


def expand(flat: Json) -> Json:
    return {"expanded": flat}


FORM = Form("plan", {"type": "object", "title": "strict"}, {"type": "object", "title": "flat"}, expand)


Ask = Callable[..., "Talk"]


class Refusing(FreeMeter):
    """No budget is left."""

    async def reserve(self, request: Request) -> Failure | None:
        return Failure("over_budget")


@dataclass
class Talk:
    """What came of asking: outcomes, the requests that reached the model, and what the meter was told."""

    outcomes: list[Outcome]
    requests: list[dict[str, Any]]
    meter: FreeMeter
    server: ModelServer | None = None


def client(server: ModelServer, key: str = "sk-secret") -> ServerModel:
    return ServerModel(Server(server.base_url, "small", SecretStr(key)), ManualClock(NOW))


async def _asked(model: Model, limits: Limits, meter: FreeMeter, times: int) -> list[Outcome]:
    return [await model.ask(ASKED, FORM, limits, meter) for _ in range(times)]


def served(
    *said: Said, limits: Limits = LONG, meter: FreeMeter | None = None, times: int = 1, by: Script | None = None
) -> Talk:
    """Ask a server on the loopback, in whose turn ``said`` is said."""
    told = meter or FreeMeter()

    async def talk() -> Talk:
        async with model_server(by or in_turn(list(said))) as server:
            model = client(server)
            outcomes = await _asked(model, limits, told, times)
            await model.close()
            return Talk(outcomes, server.requests, told, server)

    return asyncio.run(talk())


def scripted(by: Script, limits: Limits, meter: FreeMeter | None) -> Talk:
    model, told = ScriptedModel(by, ManualClock(NOW)), meter or FreeMeter()
    return Talk(asyncio.run(_asked(model, limits, told, 1)), model.requests, told)


@pytest.fixture(params=["scripted", "server"])
def ask(request: pytest.FixtureRequest) -> Callable[..., Talk]:
    """Asks a model that follows a script, once."""

    def once(by: Script, limits: Limits = LONG, meter: FreeMeter | None = None) -> Talk:
        return scripted(by, limits, meter) if request.param == "scripted" else served(by=by, limits=limits, meter=meter)

    return once


def test_a_good_answer_is_the_json_that_the_model_wrote(ask: Ask) -> None:
    talk = ask(script("good", PLAN))
    assert talk.outcomes == [Answer(PLAN)]
    assert talk.requests == [request.body for request in talk.meter.requests]
    assert talk.requests[0]["messages"][1] == {"role": "user", "content": "Renew the passport."}


FAILS: list[tuple[Mode, str]] = [
    ("invalid-json", "invalid"), ("truncated", "truncated"), ("timeout", "timed_out"), ("cut-stream", "cut"),
    ("polite-cut", "cut"), ("endless", "endless"), ("refusal", "refused"), ("429", "rate_limited"), ("401", "denied"),
    ("500", "broken"),
]  # fmt: skip


@pytest.mark.parametrize(("mode", "code"), FAILS)
def test_each_way_to_fail_is_a_value_with_its_code(ask: Ask, mode: Mode, code: str) -> None:
    outcome = ask(script(mode, PLAN), SHORT if mode == "timeout" else LONG).outcomes[0]
    assert isinstance(outcome, Failure)
    assert outcome.code == code


@pytest.mark.parametrize("mode", [mode for mode, _ in FAILS] + ["good"])
def test_each_request_is_reserved_before_it_leaves_and_settled_once(ask: Ask, mode: Mode) -> None:
    talk = ask(script(mode, PLAN), SHORT if mode == "timeout" else LONG)
    assert len(talk.meter.requests) == len(talk.meter.replies) >= 1
    # what is given up after a third of a second may not have reached a server on a busy machine
    assert mode == "timeout" or len(talk.requests) == len(talk.meter.requests)
    assert all(request.max_tokens == 200 and request.prompt_tokens > 0 for request in talk.meter.requests)


def test_without_a_reservation_nothing_leaves(ask: Ask) -> None:
    talk = ask(script("good", PLAN), LONG, Refusing())
    assert talk.outcomes == [Failure("over_budget")]
    assert talk.requests == []


def test_a_rate_limit_says_until_when(ask: Ask) -> None:
    assert ask(script("429", PLAN)).outcomes == [Failure("rate_limited", NOW + timedelta(seconds=30), 429)]


# -- what only a server has


def ways(talk: Talk) -> list[str]:
    """How each request asked for its shape."""
    return [_way(body.get("response_format")) for body in talk.requests]


def _way(shape: dict[str, Any] | None) -> str:
    if shape is None:
        return "-"
    return str(shape["json_schema"]["schema"]["title"]) if "json_schema" in shape else str(shape["type"])


GOOD = Text(json.dumps(PLAN))
NO_SCHEMA = Status(400, "response_format json_schema is not supported")


def test_a_server_that_takes_the_strict_schema_is_asked_so_for_ever() -> None:
    talk = served(GOOD, times=2)
    assert talk.outcomes == [Answer(PLAN), Answer(PLAN)]
    assert ways(talk) == ["strict", "strict"]


@pytest.mark.parametrize(
    ("refusals", "way"), [([NO_SCHEMA], "flat"), ([NO_SCHEMA, NO_SCHEMA], "json_object"), ([NO_SCHEMA] * 3, "-")]
)
def test_the_ladder_is_climbed_down_once_and_remembered(refusals: list[Said], way: str) -> None:
    talk = served(*refusals, GOOD, times=2)
    expected = Answer({"expanded": PLAN}) if way == "flat" else Answer(PLAN)
    assert talk.outcomes == [expected, expected]
    assert ways(talk)[-2:] == [way, way]
    assert len(talk.requests) == len(refusals) + 2


def test_a_500_to_a_schema_is_no_reason_to_give_up() -> None:
    talk = served(Status(500), Status(500), GOOD)
    assert talk.outcomes == [Answer(PLAN)]
    assert ways(talk) == ["strict", "flat", "json_object"]


def test_where_a_server_holds_no_schema_the_prompt_tells_it() -> None:
    talk = served(NO_SCHEMA, NO_SCHEMA, GOOD)
    assert '"title":"strict"' in talk.requests[-1]["messages"][0]["content"]
    assert "JSON Schema" not in talk.requests[0]["messages"][0]["content"]


def test_prose_and_fences_around_an_answer_are_taken_off_where_only_text_is_had() -> None:
    fenced = Text(f"Sure!\n```json\n{json.dumps({'why': 'a } in text', 'n': 1})}\n``` {{}}")
    assert served(NO_SCHEMA, NO_SCHEMA, NO_SCHEMA, fenced).outcomes == [Answer({"why": "a } in text", "n": 1})]
    talkative = Text('Here {it} is: {"n": 1}')
    assert served(NO_SCHEMA, NO_SCHEMA, NO_SCHEMA, talkative).outcomes == [Failure("invalid")]


def test_no_json_is_asked_for_once_more_with_another_seed_before_the_next_way() -> None:
    talk = served(Text("no"), Text("no"), GOOD)
    assert talk.outcomes == [Answer({"expanded": PLAN})]
    assert ways(talk) == ["strict", "strict", "flat"]
    assert talk.requests[0]["seed"] != talk.requests[1]["seed"]


@pytest.mark.parametrize("name", ["stream_options", "seed", "temperature", "max_tokens"])
def test_a_parameter_that_the_server_refuses_is_left_out_from_then_on(name: str) -> None:
    refusal = Status(400, f"Unsupported parameter: '{name}' is not supported with this model.")
    talk = served(refusal, GOOD, times=2)
    assert talk.outcomes == [Answer(PLAN), Answer(PLAN)]
    assert [name in body for body in talk.requests] == [True, False, False]
    assert ways(talk) == ["strict"] * 3
    assert name != "max_tokens" or talk.requests[-1]["max_completion_tokens"] == 200


@pytest.mark.parametrize(
    ("said", "code", "asked"),
    [
        (Status(404, "no such model", "model_not_found"), "rejected", 4),
        (Status(302), "rejected", 4),
        (Status(429, "no money", "insufficient_quota"), "denied", 1),
        (Status(403), "denied", 1),
        (Status(408), "timed_out", 1),
        (Status(503, retry_after="Mon, 03 Mar 2025 10:00:00 GMT"), "broken", 4),
        (Text('{"a": NaN}'), "invalid", 8),
        (Text("[" * 20_000), "endless", 1),
        (Text("[" * 3_000), "invalid", 8),
        (Text('{"a":' * 60 + "1" + "}" * 60), "invalid", 8),
        (Text("{}", "content_filter"), "refused", 1),
    ],
)
def test_odd_answers_are_bounded_and_have_a_code(said: Said, code: str, asked: int) -> None:
    talk = served(said)
    assert isinstance(talk.outcomes[0], Failure)
    assert talk.outcomes[0].code == code
    assert len(talk.requests) == asked


def test_a_server_that_no_longer_takes_its_way_is_tried_anew() -> None:
    talk = served(NO_SCHEMA, GOOD, NO_SCHEMA, GOOD, times=3)
    assert [type(outcome) for outcome in talk.outcomes] == [Answer, Failure, Answer]
    assert ways(talk) == ["strict", "flat", "flat", "strict"]


def test_what_leaves_is_what_the_meter_was_told_and_nothing_of_this_machine() -> None:
    talk = served(GOOD)
    assert talk.server is not None
    assert len(talk.server.raw[0]) == talk.meter.requests[0].size
    assert json.loads(talk.server.raw[0]) == talk.meter.requests[0].body
    headers = talk.server.headers[0]
    assert headers["authorization"] == "Bearer sk-secret"
    assert headers["user-agent"] == "forewatch"
    about_us = ("-os", "arch", "runtime", "lang", "package", "async", "organization", "project")
    assert not [name for name in headers if any(word in name for word in about_us)]


def test_tokens_are_the_servers_count_and_an_estimate_where_it_gave_none() -> None:
    counted = served(GOOD).meter.replies[0]
    assert counted.is_counted
    assert (counted.prompt_tokens, counted.completion_tokens) == (500, len(json.dumps(PLAN)) // 4)
    cut = served(by=script("cut-stream", PLAN)).meter
    assert not cut.replies[0].is_counted
    assert cut.replies[0].prompt_tokens == cut.requests[0].prompt_tokens
    assert cut.replies[0].completion_tokens > 0


def test_a_server_that_is_not_there_is_unreachable() -> None:
    async def gone() -> list[Outcome]:
        async with model_server(script("good", PLAN)) as server:
            model = client(server)
        outcomes = await _asked(model, LONG, FreeMeter(), 1)
        await model.close()
        return outcomes

    assert asyncio.run(gone()) == [Failure("unreachable")]


# -- the table of failures


def _every(base: type[BaseException]) -> set[type[BaseException]]:
    return {base}.union(*(_every(kind) for kind in base.__subclasses__()))


def _example(kind: type[BaseException]) -> Exception:
    """One of this kind, without its constructor: only its class and what the table reads of it matter."""
    error: Any = kind.__new__(kind)
    response = httpx2.Response(500, request=httpx2.Request("POST", "http://127.0.0.1"))
    for name, value in {"response": response, "status_code": 500, "code": None}.items():
        if not hasattr(error, name):
            setattr(error, name, value)
    found: Exception = error
    return found


FOREIGN = [
    kind
    for base in (openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL)
    for kind in sorted(_every(base), key=lambda kind: kind.__qualname__)
]


@pytest.mark.parametrize("kind", FOREIGN, ids=lambda kind: kind.__qualname__)
def test_every_error_of_the_client_and_its_http_stack_is_a_value(kind: type[BaseException]) -> None:
    assert isinstance(translate(_example(kind), NOW), Failure)


def test_a_bug_is_no_failure_of_the_model() -> None:
    assert translate(KeyError("x"), NOW) is None
