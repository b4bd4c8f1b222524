"""One request to a model as it leaves, by the way in which its server takes a schema (pure)."""

from __future__ import annotations

import json
from collections.abc import Collection

from actions.planning.ask import Form, Limits, Message, Request, Rung, tokens_in
from schemas.model import Json

QUIRKS = ("stream_options", "seed", "temperature", "max_tokens")
"""Parameters that some servers refuse; from then on they are left out, or renamed."""
_OTHER_SEED = 1000


def build(
    model: str,
    rung: Rung,
    messages: tuple[Message, ...],
    form: Form,
    limits: Limits,
    *,
    left_out: Collection[str] = (),
    again: bool = False,
) -> Request:
    """``again``: with another seed, since the same one gave no JSON."""
    body: dict[str, Json] = {
        "model": model,
        "messages": [{"role": m.role, "content": m.text} for m in _explained(rung, messages, form)],
        "stream": True,
        "stream_options": {"include_usage": True},
        "temperature": limits.temperature,
        "seed": limits.seed + _OTHER_SEED * again,
        "max_tokens": limits.max_tokens,
    }
    if "max_tokens" in left_out:
        body["max_completion_tokens"] = limits.max_tokens
    body = {name: value for name, value in body.items() if name not in left_out}
    if rung in ("strict", "flat"):
        schema = form.strict if rung == "strict" else form.flat
        shape: dict[str, Json] = {"name": form.name, "strict": True, "schema": schema}
        body["response_format"] = {"type": "json_schema", "json_schema": shape}
    elif rung == "object":
        body["response_format"] = {"type": "json_object"}
    size = len(as_sent(body))
    return Request(rung, body, size, tokens_in(size), limits.max_tokens)


def as_sent(body: dict[str, Json]) -> bytes:
    """The bytes of a request's body on the wire."""
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def _explained(rung: Rung, messages: tuple[Message, ...], form: Form) -> tuple[Message, ...]:
    """Where the server cannot hold the schema, or only a flat one, the first message tells what it lacks."""
    if rung == "strict" or (rung == "flat" and not form.flat_says):
        return messages
    told = form.flat_says if rung == "flat" else _told(form)
    return (Message(messages[0].role, f"{messages[0].text}\n{told}"), *messages[1:])


def _told(form: Form) -> str:
    schema = json.dumps(form.strict, ensure_ascii=False, separators=(",", ":"))
    return f"Reply with one JSON object only, and nothing around it. Its JSON Schema:\n{schema}"
