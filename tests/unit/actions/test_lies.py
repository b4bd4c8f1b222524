"""Tools that lie: what they say is held against the world, and what they leave open is never taken for done."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from actions.testing.bank import BankTool, Behaviour
from actions.testing.household import Household
from actions.tools.tool import Args, Receipt
from schemas.model import Json

CLASSES = ("keyed", "reconcile", "at_most_once")


def lived(house: Household) -> Household:
    asyncio.run(house.live())
    return house


def house(effect_class: str, script: Sequence[Behaviour] = (), timeout_s: float = 5.0) -> Household:
    made = Household(effect_class, "small", {"bank.pay": script})  # type: ignore[arg-type]  # one of the classes
    tool = made.tools["bank.pay"]
    tool.manifest = tool.manifest.model_copy(update={"timeout_s": timeout_s})
    return made


def replaced(made: Household, kind: type[BankTool]) -> Household:
    old = made.tools["bank.pay"]
    made.tools["bank.pay"] = made.setup.tools._tools["bank.pay"] = kind(old.manifest, old.ledger)  # type: ignore[assignment]  # a tool
    return made


@pytest.mark.parametrize("effect_class", CLASSES)
def test_says_done_and_did_nothing(effect_class: str) -> None:
    done = lived(house(effect_class, ("lie",)))
    assert (done.state.phase, done.state.reason) == ("failed", "unverified")
    assert (done.state.step("s1").phase, done.rows("s1")) == ("unverified", 0)
    assert done.state.unseen == [done.state.step("s1").uid]


@pytest.mark.parametrize("effect_class", CLASSES)
def test_answers_with_another_schema(effect_class: str) -> None:
    done = lived(house(effect_class, ("schema",)))
    assert (done.state.phase, done.state.reason) == ("failed", "schema")
    assert "answered without 'payment_id'" in done.state.says


@pytest.mark.parametrize("effect_class", CLASSES)
def test_hangs_and_is_timed_out_then_found_out_about(effect_class: str) -> None:
    done = lived(house(effect_class, ("hang",), timeout_s=0.05))
    results = [entry.body for entry in done.log.entries if entry.type == "step.result"]
    assert (results[0]["outcome"], results[0]["code"]) == ("unknown", "timeout")
    assert (done.state.phase, done.rows("s1")) == ("done", 1)
    assert done.questions == (1 if effect_class == "at_most_once" else 0)


@pytest.mark.parametrize("effect_class", CLASSES)
def test_answers_late_and_is_reconciled(effect_class: str) -> None:
    done = lived(house(effect_class, ("slow",)))
    assert (done.state.phase, done.rows("s1")) == ("done", 1)


class Invents(BankTool):
    """Loses the request, and its look-up answers with something that was never promised."""

    async def call(self, args: Args, key: str) -> dict[str, Json]:
        self._script = iter(["lost"])
        return await super().call(args, key)

    async def look_up(self, args: Args, key: str) -> dict[str, Json] | None:
        return {"status": "fine"}


def test_a_look_up_with_another_schema_finds_nothing_and_the_person_is_asked() -> None:
    """The person says that it did not happen, so it is tried again, as often as its retries allow."""
    done = lived(replaced(house("reconcile"), Invents))
    assert (done.state.phase, done.rows("s1")) == ("failed", 0)
    assert done.questions > 0
    assert {entry.body["found"] for entry in done.log.entries if entry.type == "step.lookup"} == {False}


class Unreadable(BankTool):
    """Does it, and cannot be read back."""

    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        raise ConnectionError("no connection")


class Stuck(BankTool):
    async def verify(self, args: Args, key: str, result: Args) -> Receipt | None:
        await asyncio.Event().wait()
        return None


@pytest.mark.parametrize(("kind", "says"), [(Unreadable, "ConnectionError"), (Stuck, "TimeoutError")])
def test_what_cannot_be_read_back_is_unverified(kind: type[BankTool], says: str) -> None:
    done = lived(replaced(house("keyed", timeout_s=0.05), kind))
    assert (done.state.phase, done.state.step("s1").phase) == ("failed", "unverified")
    assert says in done.state.step("s1").message
    assert done.rows("s1") == 1
