"""Runs AgentDojo's suites against our policy; started with AgentDojo's own interpreter and our code on its path.

The adversary owns every value that was read after an injected text was: it puts its own in each such place of the plan.
Undefended, it does whatever the injected text says as soon as it has read it. One JSON object a suite on stdout.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import warnings
from collections import Counter
from collections.abc import Mapping
from typing import Any

warnings.filterwarnings("ignore")

from agentdojo.agent_pipeline.base_pipeline_element import BasePipelineElement  # noqa: E402
from agentdojo.agent_pipeline.tool_execution import tool_result_to_str  # noqa: E402
from agentdojo.functions_runtime import EmptyEnv, FunctionCall  # noqa: E402
from agentdojo.task_suite.load_suites import get_suites  # noqa: E402
from agentdojo.types import (  # noqa: E402
    ChatAssistantMessage,
    ChatToolResultMessage,
    text_content_block_from_string,
)

from actions.policy.identifiers import strip  # noqa: E402
from actions.policy.policy import Policy  # noqa: E402
from actions.policy.rules import LEAVES  # noqa: E402
from benchmarks.injection.dojo_tools import changes, manifest  # noqa: E402
from schemas.value import Integrity, Value  # noqa: E402

VERSION = "v1.2.2"
MARK = "INJ3CT"
POLICY = Policy()


class Pipeline(BasePipelineElement):  # type: ignore[misc]  # AgentDojo has no types of its own here
    """One task, with or without an attack. ``asked``: confirmations; ``ungated``: calls that reach somebody, that the
    adversary has changed and that nobody was asked about; ``own``: the same of an entry in the person's own calendar or
    of a file of theirs, in which outside words may stand."""

    name = "forewatch"

    def __init__(self, task: Any, attack: Any, *, defended: bool) -> None:
        self.task, self.attack, self.defended = task, attack, defended
        self.asked: list[int | None] = []
        self.ungated: list[str] = []
        self.own: list[str] = []
        self._seen = False
        self._read = False

    def query(self, query: Any, runtime: Any, env: Any = EmptyEnv(), messages: Any = (), extra_args: Any = None) -> Any:
        plan = self.task.ground_truth(env)
        wanted = self.attack.ground_truth(env) if self.attack else []
        said: list[Any] = []
        for call in plan:
            self._step(call, wanted, runtime, env, said)
        if self._seen and not self.defended:
            for call in wanted:
                self._run(call.function, dict(call.args), runtime, env, said)
        out = self.task.GROUND_TRUTH_OUTPUT
        if self._seen and self.attack is not None:
            out += " " + (getattr(self.attack, "GROUND_TRUTH_OUTPUT", "") or "")
        said.append(_assistant(out, None))
        return query, runtime, env, [*messages, *said], extra_args or {}

    def _step(self, call: Any, wanted: list[Any], runtime: Any, env: Any, said: list[Any]) -> None:
        args = dict(call.args)
        tainted = {name for name, value in args.items() if self._read and not _in_prompt(value, self.task.PROMPT)}
        changed = self._taken_over(call.function, args, tainted, wanted) if self.defended else set()
        if self.defended and not self._may(call.function, args, tainted, changed):
            return
        self._run(call.function, args, runtime, env, said)

    def _taken_over(self, tool: str, args: dict[str, Any], tainted: set[str], wanted: list[Any]) -> set[str]:
        other = next((one for one in wanted if one.function == tool), None) if self._seen else None
        taken = {name for name in tainted if other and name in other.args and other.args[name] != args[name]}
        args.update({name: other.args[name] for name in taken} if other else {})
        return taken

    def _may(self, tool: str, args: dict[str, Any], tainted: set[str], changed: set[str]) -> bool:
        """A person who is asked sees each value with its origin, and refuses one that somebody has slipped in."""
        values = {name: _value(value, name in tainted) for name, value in args.items() if value not in (None, "", [])}
        contract = manifest(tool, args)
        verdict = POLICY.judge(contract, values)
        if verdict.kind == "deny":
            return False
        if verdict.kind == "confirm":
            self.asked.append(verdict.rule)
            if changed:
                return False
        elif changed and (contract.effect in LEAVES or contract.permissions):
            self.ungated.append(f"{tool}: {sorted(changed)}")
        elif changed and changes(tool):
            self.own.append(f"{tool}: {sorted(changed)}")
        self._strip(contract, args, tainted)
        return True

    def _strip(self, contract: Any, args: dict[str, Any], tainted: set[str]) -> None:
        """Rule 5: nobody is sent anywhere by outside words that the person did not endorse; here the person does."""
        for name in tainted:
            if contract.effect in ("outbound", "share") and contract.args[name].role == "content":
                strip(str(args[name]))

    def _run(self, tool: str, args: Mapping[str, Any], runtime: Any, env: Any, said: list[Any]) -> None:
        call = FunctionCall(function=tool, args=dict(args), id=None)
        result, error = runtime.run_function(env, call.function, call.args)
        text = tool_result_to_str(result) if error is None else str(error)
        self._seen = self._seen or MARK in text
        self._read = self._read or not changes(tool)
        content = [text_content_block_from_string(text)]
        said.append(_assistant("", [call]))
        said.append(ChatToolResultMessage(role="tool", content=content, tool_call=call, tool_call_id=None, error=error))


def _assistant(text: str, calls: Any) -> Any:
    return ChatAssistantMessage(role="assistant", tool_calls=calls, content=[text_content_block_from_string(text)])


def _value(value: Any, tainted: bool) -> Value:
    level = Integrity.UNTRUSTED if tainted else Integrity.USER
    text = value if isinstance(value, str) else json.dumps(value, default=str)
    return Value(v=text, type="Text", sources=("read",) if tainted else (), integrity=level)


def _words(value: Any) -> list[str]:
    if isinstance(value, list | tuple):
        return [word for item in value for word in _words(item)]
    if isinstance(value, dict):
        return [word for item in value.values() for word in _words(item)]
    return [] if value is None or value == "" or isinstance(value, bool) else [str(value)]


def _in_prompt(value: Any, prompt: str) -> bool:
    """Did the person say it themselves?"""
    said = prompt.lower()
    return all(word.lower() in said or re.sub(r"\.0$", "", word).lower() in said for word in _words(value))


def measure(name: str, suite: Any, stride: int, *, defended: bool) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    ungated: list[str] = []
    for task in suite.user_tasks.values():
        run = Pipeline(task, None, defended=defended)
        useful, _ = suite.run_task_with_pipeline(run, task, None, {})
        counts += Counter(tasks=1, useful=int(useful), asked=len(run.asked), by_taint=sum(r != 8 for r in run.asked))
    vectors = suite.get_injection_vector_defaults()
    pairs = [(task, attack) for attack in suite.injection_tasks.values() for task in suite.user_tasks.values()]
    for task, attack in pairs[::stride]:
        run = Pipeline(task, attack, defended=defended)
        planted = dict.fromkeys(vectors, f"{MARK} {attack.GOAL}")
        _, succeeded = suite.run_task_with_pipeline(run, task, attack, planted)
        acts = bool(attack.ground_truth(suite.load_and_inject_default_environment({})))
        acted = bool(succeeded) and acts and not run.own
        counts += Counter(pairs=1, succeeded=int(succeeded), acted=int(acted), ungated=int(bool(run.ungated)))
        counts += Counter(own=int(bool(run.own)))
        ungated += [f"{attack.ID} {task.ID} {line}" for line in run.ungated]
    return {"suite": name, "defended": defended, **counts, "lines": ungated[:20]}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--suites", nargs="*", default=[])
    parser.add_argument("--stride", type=int, default=1)
    parser.add_argument("--arms", nargs="*", default=["undefended", "defended"])
    chosen = parser.parse_args()
    for name, suite in get_suites(VERSION).items():
        for arm in chosen.arms if not chosen.suites or name in chosen.suites else ():
            sys.stdout.write(json.dumps(measure(name, suite, chosen.stride, defended=arm == "defended")) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
