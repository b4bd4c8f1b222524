"""One call of a tool, classified: it answered, it did nothing, or nobody can tell."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from actions import nominal
from actions.plain import clean
from actions.tools.tool import Args, Outcome, Tool
from schemas.errors import AuthError, NotSent, OutcomeUnknown, RateLimited, StepFailed, TransientError
from schemas.model import Json

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Answer:
    """``code`` is our own word; ``message`` may quote the other side, cleaned."""

    outcome: Outcome
    out: dict[str, Json] = field(default_factory=dict)
    code: str = ""
    message: str = ""
    retry_at: datetime | None = None


async def attempt(tool: Tool, args: Args, key: str, timeout_s: float) -> Answer:
    """Never raises for what a tool may do; only cancellation and the death of the process go through.

    NotSent, RateLimited                        -> not_sent
    StepFailed, AuthError, another schema       -> failed
    OutcomeUnknown, a time-out, anything else   -> unknown
    """
    try:
        async with asyncio.timeout(timeout_s):
            out = await tool.call(args, key)
    except NotSent as error:
        return Answer("not_sent", code="not_sent", message=clean(str(error)))
    except RateLimited as error:
        return Answer("not_sent", code="rate", message=clean(str(error)), retry_at=error.retry_at)
    except StepFailed as error:
        return Answer("failed", code=error.code, message=clean(str(error)))
    except AuthError as error:
        return Answer("failed", code="denied", message=clean(str(error)))
    except TimeoutError:
        return Answer("unknown", code="timeout", message=f"no answer within {timeout_s:g} s")
    except (OutcomeUnknown, TransientError) as error:
        return Answer("unknown", code="unknown", message=clean(str(error)))
    except Exception as error:  # the border to code that is not ours: a bug there must not repeat an effect
        log.exception("tool %s broke", tool.manifest.name)
        return Answer("unknown", code="tool_error", message=clean(f"{type(error).__name__}: {error}"))
    wrong = schema_fault(tool.manifest.returns, out)
    return Answer("failed", code="schema", message=wrong) if wrong else Answer("ok", out=dict(out))


def schema_fault(returns: Mapping[str, str], out: object) -> str:
    """How an answer differs from what the manifest promises; "" if it does not."""
    if not isinstance(out, Mapping):
        return f"answered with {type(out).__name__} where fields were promised"
    for name, type_ in returns.items():
        if name not in out:
            return f"answered without {name!r} ({type_})"
        wrong = nominal.fault(type_, out[name])
        if wrong:
            return f"answered with a {name!r} that {wrong}"
    return ""
