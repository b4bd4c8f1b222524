"""Other people's MCP servers, really started in the sandbox and called as tools: published ones, and hostile ones."""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from actions.isolation.broker import Means
from actions.isolation.permissions import Files, Host, Limits, Permissions
from actions.isolation.sandbox import Mode
from actions.plugins.connection import Surroundings
from actions.plugins.listing import Listing, changes, sha
from actions.plugins.manifest import PluginManifest, PluginTool
from actions.plugins.manifests import manifests
from actions.plugins.pin import Pin, standing
from actions.plugins.runner import Runner
from actions.run.attempt import Answer, attempt
from actions.testing.egress import MemoryLedger
from actions.tools.mcp import McpTool
from schemas.clock import ManualClock
from schemas.errors import ConfigError, NotSent, StepFailed
from schemas.model import Json
from schemas.value import Integrity
from tests.peers.mcp_servers import Servers
from tests.standins.hostile_mcp import INJECTED

AT = datetime(2025, 3, 3, tzinfo=UTC)
KEY = "k" * 32
HOSTILE = Path(__file__).parents[1] / "standins" / "hostile_mcp.py"
PYTHON = os.path.realpath(sys.executable)
NODE = Limits(address_mb=1 << 20)
"""node reserves much more than it fills."""


@dataclass
class Bench:
    """Plugins that are started, called and ended again."""

    mode: Mode
    ledger: MemoryLedger = field(default_factory=MemoryLedger)
    runners: list[Runner] = field(default_factory=list)
    seen: list[Listing] = field(default_factory=list)

    def __post_init__(self) -> None:
        ids = itertools.count()
        means = Means(ManualClock(AT), self.ledger, lambda: f"e{next(ids)}")
        self.around = Surroundings(means, mode=lambda: self.mode)

    def runner(self, plugin: PluginManifest, expected: Listing | None = None) -> Runner:
        async def changed(listing: Listing) -> None:
            self.seen.append(listing)

        self.runners.append(Runner(plugin, self.around, expected, changed))
        return self.runners[-1]

    async def pinned(self, plugin: PluginManifest) -> Pin:
        """As the person reviews it: the server is started once and looked at."""
        runner = self.runner(plugin)
        tools = await runner.listed()
        await runner.retire()
        return pin(plugin, tools)

    async def tools(self, plugin: PluginManifest) -> dict[str, McpTool]:
        reviewed = await self.pinned(plugin)
        return self.made(plugin, reviewed)

    def made(self, plugin: PluginManifest, reviewed: Pin) -> dict[str, McpTool]:
        runner = self.runner(plugin, reviewed.tools)
        listed = {tool.name: tool for tool in reviewed.tools}
        return {
            name: McpTool(manifest, listed[name], runner, plugin.tools[name].timeout_s)
            for name, manifest in manifests(plugin, reviewed).items()
        }


def pin(plugin: PluginManifest, tools: Listing) -> Pin:
    return Pin(
        plugin=plugin.plugin, version=plugin.version, program=plugin.program, agreed=plugin.reach, tools=tools,
        reviewed_at=AT,
    )  # fmt: skip


@asynccontextmanager
async def bench(mode: Mode) -> AsyncIterator[Bench]:
    made = Bench(mode)
    try:
        yield made
    finally:
        await asyncio.gather(*(runner.close() for runner in made.runners))


def told(mode: Mode, story: Callable[[Bench], Awaitable[None]]) -> None:
    async def whole() -> None:
        async with bench(mode) as made:
            await story(made)

    asyncio.run(asyncio.wait_for(whole(), 300))


def tool(**more: Any) -> PluginTool:
    return PluginTool(**{"description": "Looks something up.", "says": "Look it up", **more})


async def call(tool: McpTool, args: Mapping[str, Json]) -> Answer:
    """As the executor calls."""
    return await attempt(tool, args, KEY, tool.manifest.timeout_s)


class TestPublishedServers:
    def test_the_time_server_tells_the_time(self, servers: Servers) -> None:
        plugin = PluginManifest(
            plugin="time", version="2026.10.19", command=servers.python("mcp_server_time"), parts=(servers.pip,),
            tools={"get_current_time": tool(effect="read", effect_class="pure")},
        )  # fmt: skip

        async def story(bench: Bench) -> None:
            now = (await bench.tools(plugin))["get_current_time"]
            assert now.manifest.name == "mcp.time.get_current_time"
            assert (now.manifest.effect, now.manifest.effect_class) == ("read", "pure")
            assert now.manifest.integrity_out == Integrity.UNTRUSTED
            assert now.manifest.returns == {
                "text": "Text", "timezone": "Text", "datetime": "Text", "day_of_week": "Text", "is_dst": "Bool",
            }  # fmt: skip
            answer = await call(now, {"timezone": "Europe/Berlin"})
            assert (answer.outcome, answer.out["timezone"]) == ("ok", "Europe/Berlin")
            refused = await call(now, {"timezone": "Nowhere/Town"})
            assert (refused.outcome, refused.code) == ("failed", "invalid")

        told("bwrap", story)

    def test_the_fetch_server_reaches_nobody_who_is_not_declared(self, servers: Servers) -> None:
        plugin = PluginManifest(
            plugin="fetch", version="2026.10.24", command=servers.python("mcp_server_fetch"), parts=(servers.pip,),
            permissions=Permissions(hosts=(Host(host="example.org", tunnel=True),)),
            tools={"fetch": tool(effect="read", effect_class="pure")},
        )  # fmt: skip

        async def story(bench: Bench) -> None:
            fetch = (await bench.tools(plugin))["fetch"]
            assert fetch.manifest.args["url"].role == "url"
            assert fetch.manifest.permissions["hosts"] == ("example.org:443 anything, unseen (its own TLS)",)
            for url, method in (("https://evil.example/x", "CONNECT"), ("http://evil.example/x", "GET")):
                bench.ledger.entries.clear()
                answer = await call(fetch, {"url": url})
                assert answer.outcome == "failed"
                assert f"blocked: {method} evil.example: host_undeclared" in answer.message
                assert {(e.plugin, e.host, e.phase) for e in bench.ledger.entries} == {
                    ("fetch", "evil.example", "blocked")
                }

        told("bwrap", story)

    def test_the_everything_server_sees_nothing_of_our_environment(self, servers: Servers) -> None:
        plugin = PluginManifest(
            plugin="everything", version="2026.8.31", command=servers.node("server-everything"), parts=(servers.npm,),
            permissions=Permissions(limits=NODE),
            tools={"get-sum": tool(effect="read", effect_class="pure"), "get-env": tool(effect="read")},
        )  # fmt: skip

        async def story(bench: Bench) -> None:
            tools = await bench.tools(plugin)
            assert tools["get-sum"].manifest.name == "mcp.everything.get_sum"
            answer = await call(tools["get-sum"], {"a": 19, "b": 23})
            assert "42" in str(answer.out["text"])
            seen = json.loads(str((await call(tools["get-env"], {})).out["text"]))
            assert set(seen) <= {"PATH", "LANG", "HOME", "TMPDIR", "PWD"}

        told("bwrap", story)

    def test_the_filesystem_server_sees_the_declared_folder_only(self, servers: Servers, tmp_path: Path) -> None:
        folder = tmp_path / "shared"
        folder.mkdir()
        (folder / "letter.txt").write_text("Dear Ann")
        (tmp_path / "diary.txt").write_text("private")
        plugin = PluginManifest(
            plugin="files", version="2026.8.31", parts=(servers.npm,),
            command=(*servers.node("server-filesystem"), str(folder), "/"),  # told that it may read everything
            permissions=Permissions(files=Files(write=(folder,)), limits=NODE),
            tools={"read_text_file": tool(effect="read", effect_class="pure"), "write_file": tool(effect="write_self")},
        )  # fmt: skip

        async def story(bench: Bench) -> None:
            tools = await bench.tools(plugin)
            # it says of itself that it destroys what it overwrites: graver than what we called it
            assert (tools["write_file"].manifest.effect, tools["write_file"].manifest.effect_class) == (
                "delete", "at_most_once",
            )  # fmt: skip
            read = tools["read_text_file"]
            assert (await call(read, {"path": str(folder / "letter.txt")})).out["text"] == "Dear Ann"
            for undeclared in (str(tmp_path / "diary.txt"), "/etc/passwd"):
                answer = await call(read, {"path": undeclared})
                assert (answer.outcome, "private" in answer.message) == ("failed", False)
            written = await call(tools["write_file"], {"path": str(folder / "new.txt"), "content": "hello"})
            assert (written.outcome, (folder / "new.txt").read_text()) == ("ok", "hello")

        told("bwrap", story)

    def test_a_server_over_http_is_asked_through_the_broker_with_its_own_token(
        self, servers: Servers, tmp_path: Path
    ) -> None:
        from tests.peers.process import free_port, running

        port = free_port()
        command = [*servers.node("server-everything"), "streamableHttp"]
        plugin = PluginManifest(
            plugin="remote", version="1", kind="http", url=f"http://mcp.example:{port}/mcp", secret="token",
            private=True, tools={"echo": tool()},
        )  # fmt: skip

        async def resolve(host: str, port: int) -> list[str]:
            return ["127.0.0.1"]

        async def secrets() -> dict[str, str]:
            return {"token": "tok-1"}

        async def story() -> None:
            async with bench("bwrap") as made:
                means = Means(ManualClock(AT), made.ledger, lambda: "e", resolve=resolve)
                made.around = Surroundings(means, secrets)
                echo = (await made.tools(plugin))["echo"]
                assert (echo.manifest.effect, echo.manifest.effect_class) == ("outbound", "at_most_once")
                answer = await call(echo, {"message": "hello"})
                assert (answer.outcome, answer.out["text"]) == ("ok", "Echo: hello")
                assert {(e.host, e.path, e.credential) for e in made.ledger.of("started")} == {
                    ("mcp.example", "/mcp", "token")
                }
                made.runners[-1].revoke()
                assert (await call(echo, {"message": "again"})).outcome == "not_sent"

        with running(command, port, tmp_path / "log", {"PORT": str(port)}):
            asyncio.run(asyncio.wait_for(story(), 300))


def hostile(way: str, *arguments: str, **more: Any) -> PluginManifest:
    limits = Limits(memory_mb=512, output_kb=256)
    return PluginManifest(
        **{
            "plugin": "bad", "version": "1", "command": (PYTHON, str(HOSTILE), way, *arguments),
            "parts": (HOSTILE.parent,), "permissions": Permissions(limits=limits), "tools": {"look_up": tool()}, **more,
        }
    )  # fmt: skip


WORD: Mapping[str, Json] = {"word": "x"}


class TestHostileServers:
    def test_unless_the_person_says_otherwise_a_tool_goes_out_and_happens_at_most_once(self, bwrap_mode: Mode) -> None:
        async def story(bench: Bench) -> None:
            for way in ("plain", "modest"):  # the second says of itself that it only reads
                manifest = (await bench.tools(hostile(way)))["look_up"].manifest
                assert (manifest.effect, manifest.effect_class) == ("outbound", "at_most_once")

        told(bwrap_mode, story)

    def test_what_a_server_says_of_itself_may_only_raise_the_risk(self, bwrap_mode: Mode) -> None:
        async def story(bench: Bench) -> None:
            plugin = hostile("grave", tools={"look_up": tool(effect="read", effect_class="pure")})
            manifest = (await bench.tools(plugin))["look_up"].manifest
            assert (manifest.effect, manifest.effect_class) == ("delete", "at_most_once")

        told(bwrap_mode, story)

    def test_no_word_of_a_server_gets_into_a_manifest(self, bwrap_mode: Mode) -> None:
        """A manifest is all that a planner is shown of a tool."""

        async def story(bench: Bench) -> None:
            reviewed = await bench.pinned(hostile("poison"))
            assert INJECTED in str(reviewed.tools)
            made = bench.made(hostile("poison"), reviewed)["look_up"]
            assert INJECTED not in made.manifest.model_dump_json()
            with pytest.raises(ConfigError, match="no tool 'other'"):
                manifests(hostile("poison", tools={"other": tool()}), reviewed)

        told(bwrap_mode, story)

    def test_a_listing_that_changed_since_the_review_stops_every_call(self, bwrap_mode: Mode, tmp_path: Path) -> None:
        plugin = hostile("rug", str(tmp_path), permissions=Permissions(files=Files(write=(tmp_path,))))

        async def story(bench: Bench) -> None:
            reviewed = await bench.pinned(plugin)
            made = bench.made(plugin, reviewed)["look_up"]
            answer = await call(made, WORD)
            assert (answer.outcome, answer.code) == ("failed", "denied")
            assert "differently from what you reviewed" in answer.message
            assert (await call(made, WORD)).outcome == "not_sent"
            (seen,) = bench.seen
            assert sha(seen) != reviewed.sha
            assert [(c.part, c.after) for c in changes(reviewed.tools, seen)] == [("description", INJECTED)]
            assert standing(plugin, reviewed, seen)[0] == "changed"

        told(bwrap_mode, story)

    def test_a_listing_that_changes_while_the_server_runs_stops_the_next_call(self, bwrap_mode: Mode) -> None:
        async def story(bench: Bench) -> None:
            made = (await bench.tools(hostile("shift")))["look_up"]
            assert (await call(made, WORD)).outcome == "ok"
            answer = await call(made, WORD)
            assert (answer.outcome, answer.code) == ("failed", "denied")
            assert len(bench.seen) == 1

        told(bwrap_mode, story)

    @pytest.mark.parametrize(
        ("way", "outcome", "code", "why"),
        [
            ("lie", "failed", "schema", "'count' that must be a number"),
            ("fail", "failed", "invalid", "says no"),
            ("ask", "failed", "needs_input", "asks something back"),
            ("bad_arguments", "failed", "invalid", "no such word"),
            ("broken", "unknown", "unknown", "it may have worked"),
            ("die", "unknown", "unknown", "it ended"),
            ("huge", "unknown", "unknown", ""),
            ("hang", "unknown", "unknown", "imed out"),
        ],
    )
    def test_how_a_call_ends_is_known_or_known_to_be_unknown(
        self, bwrap_mode: Mode, way: str, outcome: str, code: str, why: str
    ) -> None:
        async def story(bench: Bench) -> None:
            plugin = hostile(way, tools={"look_up": tool(timeout_s=3.0 if way == "hang" else 60.0)})
            answer = await call((await bench.tools(plugin))["look_up"], WORD)
            assert (answer.outcome, answer.code) == (outcome, code), answer
            assert why in answer.message

        told(bwrap_mode, story)

    def test_a_server_that_died_is_started_again_for_the_next_call(self, bwrap_mode: Mode) -> None:
        async def story(bench: Bench) -> None:
            made = (await bench.tools(hostile("die")))["look_up"]
            assert [(await call(made, WORD)).outcome for _ in range(2)] == ["unknown", "unknown"]

        told(bwrap_mode, story)

    def test_an_answer_is_cut_and_cleaned(self, bwrap_mode: Mode) -> None:
        async def story(bench: Bench) -> None:
            long = await call((await bench.tools(hostile("long")))["look_up"], WORD)
            assert (long.outcome, len(str(long.out["text"]))) == ("ok", 8_000)
            hidden = await call((await bench.tools(hostile("hide")))["look_up"], WORD)
            assert hidden.out["text"] == "redgnidih [31m and more"
            noisy = await call((await bench.tools(hostile("noise")))["look_up"], WORD)
            assert noisy.out["text"] == "found"

        told(bwrap_mode, story)

    def test_a_server_reads_no_file_that_is_not_declared(self, bwrap_mode: Mode, tmp_path: Path) -> None:
        (tmp_path / "vault.key").write_text("secret")
        paths = (
            "/etc/passwd",
            "/etc/shadow",
            str(tmp_path / "vault.key"),
            "/proc/self/root/etc/passwd",
            "/root/.ssh/id_rsa",
        )

        async def story(bench: Bench) -> None:
            made = (await bench.tools(hostile("peek", *paths)))["look_up"]
            said = json.loads(str((await call(made, WORD)).out["text"]))
            assert {path for path, how in said.items() if how not in ("FileNotFoundError", "PermissionError")} == set()

        told(bwrap_mode, story)

    def test_a_server_without_hosts_reaches_nobody(self, bwrap_mode: Mode) -> None:
        async def story(bench: Bench) -> None:
            made = (await bench.tools(hostile("call_home")))["look_up"]
            said = json.loads(str((await call(made, WORD)).out["text"]))
            assert "done" not in said.values()

        told(bwrap_mode, story)

    def test_calling_home_past_the_declared_hosts_is_blocked_and_comes_with_the_answer(self, bwrap_mode: Mode) -> None:
        plugin = hostile("call_home", permissions=Permissions(hosts=(Host(host="good.example"),)))

        async def story(bench: Bench) -> None:
            answer = await call((await bench.tools(plugin))["look_up"], WORD)
            said = json.loads(str(answer.out["text"]))
            assert (said["proxy"], said["metadata"]) == ("403", "403")
            assert said["socket"] != "done"
            assert said["name"] == "gaierror"
            assert answer.out["blocked"] == [
                "GET evil.example: host_undeclared", "GET 169.254.169.254: host_undeclared",
            ]  # fmt: skip
            assert [entry.host for entry in bench.ledger.of("blocked")] == ["evil.example", "169.254.169.254"]

        told(bwrap_mode, story)

    @pytest.mark.parametrize(
        ("way", "why"), [("no_start", "cannot find my configuration"), ("endless", "more than 200 tools")]
    )
    def test_a_server_that_does_not_start_well_did_nothing(self, bwrap_mode: Mode, way: str, why: str) -> None:
        async def story(bench: Bench) -> None:
            with pytest.raises((NotSent, StepFailed), match=why):
                await bench.pinned(hostile(way))

        told(bwrap_mode, story)

    def test_a_plugin_does_not_start_in_a_weaker_sandbox_than_it_needs(self) -> None:
        async def story(bench: Bench) -> None:
            with pytest.raises(StepFailed, match="needs the isolation 'bwrap', and this machine has 'landlock'"):
                await bench.pinned(hostile("plain"))

        told("landlock", story)

    def test_a_retired_runner_finishes_its_call_and_takes_no_other(self, bwrap_mode: Mode, tmp_path: Path) -> None:
        """Hot update: the new version runs beside the old one, which drains."""
        plugin = hostile("patient", str(tmp_path), permissions=Permissions(files=Files(read=(tmp_path,))))

        async def story(bench: Bench) -> None:
            made = (await bench.tools(plugin))["look_up"]
            under_way, old = asyncio.create_task(call(made, WORD)), bench.runners[-1]
            while not old.is_busy:
                await asyncio.sleep(0.01)
            retired = asyncio.create_task(old.retire())
            await asyncio.sleep(0)  # it begins
            assert (await call(made, WORD)).outcome == "not_sent"
            assert not under_way.done()
            (tmp_path / "go").write_text("")
            assert (await under_way).outcome == "ok"
            await retired

        told(bwrap_mode, story)
